//! Numbers as people write them (`bloomgrove_units`), and as they read them: 12,345, 1.2 MB, 1%.

use std::ops::RangeInclusive;

use bloomgrove::raw::numbers::{Counted, Grouped};
pub(crate) use bloomgrove_units::{bits, bytes, count, duration, many, rate};

/// `12345678` as `12,345,678`.
pub(crate) fn grouped(number: u64) -> String {
    Grouped(number).to_string()
}

/// A parser for whole numbers in a range.
pub(crate) fn within<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = count(text)?;
        let fits = range.contains(&number).then_some(number);
        fits.and_then(|number| number.try_into().ok())
            .ok_or_else(|| {
                let (start, end) = (Grouped(*range.start()), Grouped(*range.end()));
                format!("write a whole number from {start} to {end}")
            })
    }
}

/// A number with or without a fraction.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    let number = text
        .trim()
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "write a number such as 2 or 0.5".to_owned())
}

/// A number of things: `1 key`, `2,000 keys`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    Counted(number, thing).to_string()
}

/// A size in bytes, in the largest unit that leaves at least one of it.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    for (scale, unit) in units {
        if bytes as f64 >= scale {
            return format!("{:.1} {unit}", bytes as f64 / scale);
        }
    }
    format!("{bytes} B")
}

/// A rate as a percentage, or in powers of ten when that is too small to read.
pub(crate) fn percent(rate: f64) -> String {
    if rate == 0.0 {
        "0%".into()
    } else if rate < 1e-5 {
        format!("{rate:.2e}")
    } else {
        // Three figures. A hair more than the rate, so that 0.99999 counts as 1.
        let digits = (2.0 - (rate * 100.05).log10().floor()).clamp(1.0, 6.0) as usize;
        format!("{:.digits$}%", rate * 100.0)
    }
}

/// A rate that was asked for, without the zeros of one that was measured: `1%`.
pub(crate) fn target(rate: f64) -> String {
    let text = percent(rate);
    match text.strip_suffix('%').filter(|number| number.contains('.')) {
        Some(number) => format!("{}%", number.trim_end_matches('0').trim_end_matches('.')),
        None => text,
    }
}

/// A short time: `18.5 µs`.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1e-6 => format!("{:.0} ns", seconds * 1e9),
        seconds if seconds < 1e-3 => format!("{:.1} µs", seconds * 1e6),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}

/// A mean number of things, to a tenth: `9,000.0`.
pub(crate) fn tenths(number: f64) -> String {
    let tenths = (number * 10.0).round();
    format!("{}.{}", grouped((tenths / 10.0) as u64), tenths as u64 % 10)
}

/// Seconds since 1970, as `2026-11-16T09:30:00Z`.
pub(crate) fn moment(seconds: u64) -> anyhow::Result<String> {
    let time = jiff::Timestamp::from_second(i64::try_from(seconds)?)?;
    Ok(time.to_string())
}

/// An estimate, rounded; or that there is none.
pub(crate) fn estimate(value: f64) -> String {
    if value.is_infinite() {
        "an unknown number (every bit is set)".into()
    } else {
        format!("about {}", grouped(value.round() as u64))
    }
}

/// A number of items, as the bits of filters show it.
#[derive(Clone, Copy)]
pub(crate) enum Items {
    Of(f64),
    Common(f64),
    CommonAtMost(f64),
}

impl Items {
    /// The number alone, for a line that says what it counts.
    pub(crate) fn number(self) -> String {
        match self {
            Items::Of(value) => estimate(value),
            Items::Common(value) => format!("{} in common", estimate(value)),
            Items::CommonAtMost(value) => format!("at most {} in common", estimate(value)),
        }
    }

    /// The name in JSON, and the value: null if every bit is set.
    pub(crate) fn json(self) -> (&'static str, serde_json::Value) {
        let (name, value) = match self {
            Items::Of(value) => ("estimated_items", value),
            Items::Common(value) => ("common_items", value),
            Items::CommonAtMost(value) => ("common_items_at_most", value),
        };
        (name, value.is_finite().then_some(value).into())
    }
}

impl std::fmt::Display for Items {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (lead, value, thing) = match *self {
            Items::Of(value) => ("about", value, "item"),
            Items::Common(value) => ("about", value, "common item"),
            Items::CommonAtMost(value) => ("at most", value, "common item"),
        };
        match value.is_finite() {
            true => write!(f, "{lead} {}", counted(value.round() as u64, thing)),
            false => write!(f, "unknown number of {thing}s (every bit is set)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused_with_the_range() {
        let parse = within::<u16>(2..=65_535);
        assert_eq!(parse("1,000"), Ok(1000));
        for text in ["1", "65536", "1e9"] {
            let error = parse(text).unwrap_err();
            assert_eq!(error, "write a whole number from 2 to 65,535", "{text}");
        }
        assert!(parse("x").unwrap_err().contains("such as 1000000"));
        assert_eq!(number("0.5"), Ok(0.5));
        assert!(number("half").unwrap_err().contains("such as 2 or 0.5"));
        assert!(number("inf").is_err());
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_250_000), "1.2 MB");
        assert_eq!(percent(0.01), "1.00%");
        assert_eq!(percent(0.009_999_9), "1.00%");
        assert_eq!(percent(0.000_123), "0.0123%");
        assert_eq!(percent(1e-7), "1.00e-7");
        assert_eq!(target(0.01), "1%");
        assert_eq!(target(0.1), "10%");
        assert_eq!(target(0.1 / 12.0), "0.833%");
        assert_eq!(target(1e-7), "1.00e-7");
        assert_eq!(tenths(9000.04), "9,000.0");
        assert_eq!(tenths(9.96), "10.0");
        assert_eq!(moment(1_794_821_400).unwrap(), "2026-11-16T09:30:00Z");
        assert!(moment(u64::MAX).is_err());
    }
}
