//! Ranges of integers as people write them.

use std::ops::Range;

use super::units;

/// A range as people write it: `0..10M` without its end, `0..=9` with it.
pub(crate) fn parse(text: &str) -> Result<Range<u64>, String> {
    let help = "write a range of integers as 0..10M, or 0..=9, including its end";
    let (start, end) = text.split_once("..").ok_or(help)?;
    let start = match start.trim() {
        "" => 0,
        start => units::count(start)?,
    };
    let end = match end.strip_prefix('=') {
        Some(last) => units::count(last)?
            .checked_add(1)
            .ok_or("the largest possible name is 2^64 - 2")?,
        None if end.trim().is_empty() => return Err(help.into()),
        None => units::count(end)?,
    };
    match start < end {
        true => Ok(start..end),
        false => Err(format!("the range {text} is empty")),
    }
}

/// Whether this can only be meant as a range, valid or not.
pub(crate) fn is_range(text: &str) -> bool {
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    text.split_once("..").is_some_and(|(start, end)| {
        let end = end.trim_start_matches(['=', ' ']);
        (number(start) && (end.is_empty() || number(end))) || (start.is_empty() && number(end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_people_write_them() {
        for (text, value) in [
            ("0..10", 0..10),
            ("0..=9", 0..10),
            ("..1k", 0..1000),
            ("1_000..10M", 1000..10_000_000),
            (
                "9007199254740993..9007199254740995",
                9_007_199_254_740_993..9_007_199_254_740_995,
            ),
        ] {
            assert_eq!(parse(text), Ok(value), "{text}");
            assert!(is_range(text), "{text}");
        }
        for text in [
            "5..",
            "5..5",
            "9..3",
            "0..x",
            "0...5",
            "0..=18446744073709551615",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in ["../names.txt", "a..b", "names.txt", "..", "1.txt"] {
            assert!(!is_range(text), "{text}");
        }
        assert!(is_range("5..") && is_range("0..1x"));
    }
}
