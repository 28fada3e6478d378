//! How much a site is queried for at once, and how much it may return, so that no site takes the share of others.
//!
//! ```text
//!   answer too large   an eighth of the links, a sixteenth of the ids; the rest is queried later
//!   answer small       more again, by as much as would surely fit
//!   too few links      for an id with many, when fewer were requested: again, for this id alone
//! ```
//!
//! A site may use half of what the others have left of a trace's bytes: a single one half of all, and however many flood,
//! there is something left for those that come later. Answers that are too large are not kept, only counted.

use std::collections::HashMap;

use bloomgrove_client::api::MOST_LINKS;

use super::graph::{MOST_QUERIED, SiteNo};
use super::pool::ANSWER;

/// Maximum size of all answers that one trace keeps.
const MOST_BYTES: u64 = 64 << 20;
/// If an answer is too large, the number of links requested is divided by this, down to about this many; and the number of
/// ids, down to one.
const FEWER_LINKS: u64 = 8;
const FEWEST_LINKS: u64 = 64;
const FEWER_IDS: usize = 16;
/// A site is given up when this many more of its answers were too large than were not.
const TOO_LARGE: u32 = 8;

/// How much to query a site for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) links: u64,
    pub(super) ids: usize,
    too_large: u32,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            links: MOST_LINKS,
            ids: MOST_QUERIED,
            too_large: 0,
        }
    }
}

impl Size {
    /// The answer to this many ids was too large: returns whether a smaller query is possible.
    pub(super) fn shrink(&mut self, ids: usize) -> bool {
        self.too_large += 1;
        if self.too_large > TOO_LARGE || (self.links < FEWEST_LINKS && ids <= 1) {
            return false;
        }
        if self.links >= FEWEST_LINKS {
            self.links /= FEWER_LINKS;
        }
        self.ids = (ids.min(self.ids) / FEWER_IDS).max(1);
        true
    }

    /// Whether fewer links are requested than a site could return.
    pub(super) fn is_fewer_links(&self) -> bool {
        self.links < MOST_LINKS
    }

    /// One id, and all its links.
    pub(super) fn alone(self) -> Self {
        Self {
            links: MOST_LINKS,
            ids: 1,
            ..self
        }
    }

    /// An answer had this many bytes.
    fn grow(&mut self, bytes: u64) {
        let times = (ANSWER / 2 / bytes.max(1)).clamp(1, FEWER_LINKS);
        self.links = (self.links * times).min(MOST_LINKS);
        self.ids = (self.ids * times as usize).min(MOST_QUERIED);
        self.too_large = self.too_large.saturating_sub(1);
    }
}

/// What each site has returned so far.
#[derive(Debug, Default)]
pub(super) struct Shares {
    sites: HashMap<SiteNo, (Size, u64)>,
    bytes: u64,
}

impl Shares {
    /// How much to query this site for.
    pub(super) fn size(&self, site: SiteNo) -> Size {
        let known = self.sites.get(&site);
        known.map(|(size, _)| *size).unwrap_or_default()
    }

    /// A site has returned this many bytes to a query of this size.
    ///
    /// # Errors
    /// If that is more than its share: the answer must not be kept.
    pub(super) fn take(&mut self, site: SiteNo, mut size: Size, bytes: u64) -> Result<(), String> {
        size.grow(bytes);
        let (known, own) = self.sites.entry(site).or_default();
        *known = size;
        let of_others = self.bytes - *own;
        let share = MOST_BYTES.saturating_sub(of_others) / 2;
        if *own + bytes > share {
            return Err(format!(
                "it returned more than {:.1} MiB, half of what other sites have left of the {} MiB for a trace",
                share as f64 / f64::from(1 << 20),
                MOST_BYTES >> 20
            ));
        }
        *own += bytes;
        self.bytes += bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_shrink_to_one_id_and_grow_again() {
        let mut size = Size::default();
        let mut ids = MOST_QUERIED;
        let mut tries = 0;
        while size.shrink(ids) {
            ids = ids.min(size.ids);
            tries += 1;
        }
        assert_eq!((size.links, size.ids, tries), (19, 1, 4));
        for _ in 0..20 {
            size.grow(ANSWER / 2 + 1);
        }
        assert_eq!(
            (size.links, size.ids),
            (19, 1),
            "nearly too large is enough"
        );
        for _ in 0..20 {
            size.grow(1000);
        }
        assert_eq!(size, Size::default());
    }

    #[test]
    fn a_site_that_is_too_large_again_and_again_is_given_up() {
        let mut size = Size::default();
        for _ in 0..TOO_LARGE {
            assert!(size.shrink(MOST_QUERIED));
            size.links = MOST_LINKS;
        }
        assert!(!size.shrink(MOST_QUERIED));
    }

    #[test]
    fn nobody_takes_all_the_room() {
        let mut shares = Shares::default();
        for site in 0..5 {
            // As much as it gets.
            while shares.take(site, Size::default(), 1 << 18).is_ok() {}
        }
        assert!(shares.bytes <= MOST_BYTES);
        assert_eq!(shares.take(9, Size::default(), 1 << 19), Ok(()));
        let one = &mut Shares::default();
        assert_eq!(one.take(0, Size::default(), MOST_BYTES / 2), Ok(()));
        assert!(one.take(0, Size::default(), 1).is_err());
    }
}
