//! Time windows, and the names of their sets.
//!
//! ```text
//!   galway/ids/all                       without windows
//!   galway/ids/2026-11-16                windows of days: the day on which a window starts
//!   galway/ids/2026-11-16T13             windows of hours
//!   galway/ids/2026-11-16T13:45:00Z      other windows
//! ```
//!
//! An id belongs to the window in which it was recorded, by the clock of the site, in UTC. What happens to a document
//! later adds its id to later windows, too. A window that has ended is kept for a while; then its set expires at the
//! coordinator, and the site is no longer queried for ids that are only in it.

use std::time::Duration;

use bloomgrove_client::api::sets_of_site;
use jiff::Timestamp;

/// Seconds per hour and per day.
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// The longest time for which a set can be kept: a century.
const LONGEST: u64 = 36_500 * DAY;

/// Maximum number of sets of a site at a time: every query to the coordinator searches all of them.
const MOST_SETS: u64 = 1000;

/// How ids are divided by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The length of a window, in whole seconds.
    pub length: Duration,
    /// How long its set is kept after its end.
    pub keep: Duration,
}

impl Window {
    /// Checks the lengths.
    ///
    /// # Errors
    /// What is wrong, and what to do about it.
    pub fn check(&self) -> Result<(), String> {
        let (length, keep) = (self.length.as_secs(), self.keep.as_secs());
        if length == 0 || self.length.subsec_nanos() != 0 {
            return Err(format!(
                "the window is {:?}; it must be a whole number of seconds, and should be as long as 1h or 24h",
                self.length
            ));
        }
        if length > LONGEST || keep > LONGEST {
            return Err(
                "a window can be at most 100 years long, and kept for at most 100 years".into(),
            );
        }
        if keep == 0 {
            return Err("a window must be kept for at least one second after its end".into());
        }
        let sets = (length + keep).div_ceil(length);
        if sets > MOST_SETS {
            return Err(format!(
                "windows of {length} s that are kept for {keep} s need {sets} sets at a time, and \
                 the maximum is {MOST_SETS}; make them longer, or keep them for less time"
            ));
        }
        Ok(())
    }

    /// The start of the window that a second belongs to.
    #[must_use]
    pub fn begin(&self, second: u64) -> u64 {
        let length = self.length.as_secs().max(1);
        second / length * length
    }

    /// When the set of a window expires.
    #[must_use]
    pub fn end(&self, begin: u64) -> u64 {
        begin
            .saturating_add(self.length.as_secs())
            .saturating_add(self.keep.as_secs())
    }

    /// The last part of the name of its set.
    fn label(&self, begin: u64) -> String {
        let of = |length: u64| self.length.as_secs().is_multiple_of(length);
        match (of(DAY), of(HOUR)) {
            (true, _) => written(begin, "%F"),
            (false, true) => written(begin, "%FT%H"),
            (false, false) => timestamp(begin),
        }
    }
}

/// The name of the set of a window, or of all.
#[must_use]
pub fn set_name(site: &str, window: Option<&Window>, begin: u64) -> String {
    let label = window.map_or_else(|| "all".to_owned(), |window| window.label(begin));
    format!("{}{label}", sets_of_site(site))
}

/// Seconds since 1970 as `2026-11-16T09:30:00Z`.
#[must_use]
pub fn timestamp(second: u64) -> String {
    written(second, "%FT%TZ")
}

/// Seconds since 1970 in UTC; times after the year 9999 are clamped to it.
fn written(second: u64, format: &str) -> String {
    let second = i64::try_from(second).ok();
    let time = second.and_then(|second| Timestamp::from_second(second).ok());
    time.unwrap_or(Timestamp::MAX).strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(length: u64, keep: u64) -> Window {
        Window {
            length: Duration::from_secs(length * HOUR),
            keep: Duration::from_secs(keep * HOUR),
        }
    }

    #[test]
    fn seconds_have_their_dates() {
        for (second, wanted) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_763_285_400, "2025-11-16T09:30:00Z"),
            (1_794_821_400, "2026-11-16T09:30:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(timestamp(second), wanted);
        }
        // Each day follows the one before.
        let mut last = timestamp(0);
        for day in 1..60_000 {
            let next = timestamp(day * DAY);
            assert!(next > last, "{next} after {last}");
            last = next;
        }
    }

    #[test]
    fn windows_have_names_and_ends() {
        let (day, hour) = (hours(24, 48), hours(1, 2));
        let now = 1_794_821_400;
        assert_eq!(
            set_name("galway", Some(&day), day.begin(now)),
            "galway/ids/2026-11-16"
        );
        assert_eq!(
            set_name("galway", Some(&hour), hour.begin(now)),
            "galway/ids/2026-11-16T09"
        );
        assert_eq!(set_name("galway", None, 0), "galway/ids/all");
        assert_eq!(hour.begin(now), now - 30 * 60);
        assert_eq!(hour.end(hour.begin(now)), now + 150 * 60);
        assert_eq!(hour.begin(hour.begin(now) + HOUR - 1), hour.begin(now));
        assert_eq!(hour.begin(hour.begin(now) + HOUR), hour.begin(now) + HOUR);
        for wrong in [
            hours(0, 1),
            hours(1, 0),
            Window {
                length: Duration::from_millis(90_500),
                ..hour
            },
            hours(24 * 365 * 101, 1),
            hours(1, 1000),
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        assert_eq!(day.check(), Ok(()));
        assert_eq!(hours(1, 999).check(), Ok(()));
        let odd = Window {
            length: Duration::from_secs(90),
            ..hour
        };
        assert_eq!(odd.check(), Ok(()));
        let name = set_name("galway", Some(&odd), odd.begin(now));
        assert_eq!(name, "galway/ids/2026-11-16T09:30:00Z");
    }
}
