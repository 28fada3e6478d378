//! Numbers as people write them in settings and on the command line: 1e6, 10M, 64MiB, 30s, 1%.

use std::time::Duration;

/// A count: digits, with optional underscores or commas between groups of three, an exponent or one of k, M, G, T.
///
/// # Errors
///
/// What to write instead.
pub fn count(text: &str) -> Result<u64, String> {
    let help = "write a whole number such as 1000000, 1_000_000, 1e6 or 1M";
    // Integers may use all 64 bits, so those without a unit or exponent are parsed exactly.
    if let Some(number) = digits(text.trim()).and_then(|number| number.parse().ok()) {
        return Ok(number);
    }
    let units = [
        ("", 1.0),
        ("k", 1e3),
        ("K", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
    ];
    whole(scaled(text, "count", &units, help)?, help)
}

/// Like [`count`], for a number of things in memory.
///
/// # Errors
///
/// What to write instead.
pub fn many(text: &str) -> Result<usize, String> {
    usize::try_from(count(text)?).map_err(|_| "write a smaller number".to_owned())
}

/// A number of bytes: 500MB, 1GiB, 1e9.
///
/// # Errors
///
/// What to write instead.
pub fn bytes(text: &str) -> Result<u64, String> {
    let help = "write bytes as 1e9, 500MB or 1GiB";
    let units = [
        ("", 1.0),
        ("B", 1.0),
        ("k", 1e3),
        ("kB", 1e3),
        ("KB", 1e3),
        ("M", 1e6),
        ("MB", 1e6),
        ("G", 1e9),
        ("GB", 1e9),
        ("T", 1e12),
        ("TB", 1e12),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("TiB", 1_099_511_627_776.0),
    ];
    whole(scaled(text, "size", &units, help)?, help)
}

/// A number of bits, given in bits (10M, 1e7, 4Gbit) or in bytes (32MB, 4GiB, 100B).
///
/// # Errors
///
/// What to write instead.
pub fn bits(text: &str) -> Result<u64, String> {
    let help = "write bits as 1e7 or 10Mbit, or bytes as 100B, 32MB or 4GiB";
    let units = [
        ("", 1.0),
        ("bit", 1.0),
        ("bits", 1.0),
        ("k", 1e3),
        ("kbit", 1e3),
        ("M", 1e6),
        ("Mbit", 1e6),
        ("G", 1e9),
        ("Gbit", 1e9),
        ("B", 8.0),
        ("kB", 8e3),
        ("KB", 8e3),
        ("MB", 8e6),
        ("GB", 8e9),
        ("TB", 8e12),
        ("KiB", 8.0 * 1024.0),
        ("MiB", 8.0 * 1_048_576.0),
        ("GiB", 8.0 * 1_073_741_824.0),
        ("TiB", 8.0 * 1_099_511_627_776.0),
    ];
    whole(scaled(text, "size", &units, help)?, help)
}

/// A rate: a fraction such as 0.01 or 1e-4, or a percentage such as 1%.
///
/// # Errors
///
/// What to write instead.
pub fn rate(text: &str) -> Result<f64, String> {
    let help = "write a rate above 0 and below 1, such as 0.01, 1e-4 or 1%";
    let rate = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|rate| rate / 100.0),
        None => text.parse(),
    };
    rate.ok()
        .filter(|rate| *rate > 0.0 && *rate < 1.0)
        .ok_or_else(|| help.to_owned())
}

/// A length of time: 60, 60s, 5min, 1h.
///
/// # Errors
///
/// What to write instead.
pub fn duration(text: &str) -> Result<Duration, String> {
    let help = "write seconds as 60 or 60s, or 50ms, 5min, 1h or 7d";
    let units = [
        ("", 1.0),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("min", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
    ];
    Duration::try_from_secs_f64(scaled(text, "time", &units, help)?).map_err(|_| help.to_owned())
}

/// Parses a number followed by one of `units`, each with its factor; `kind` is what the units measure. The
/// error is `help`, and names the unit if it is unknown.
fn scaled(text: &str, kind: &str, units: &[(&str, f64)], help: &str) -> Result<f64, String> {
    let (number, unit) = split(text).ok_or(help)?;
    let scale = units.iter().find(|(name, _)| *name == unit);
    scale.map_or_else(
        || Err(format!("unknown unit {unit:?} for a {kind}; {help}")),
        |(_, scale)| Ok(number * scale),
    )
}

/// Splits a text into a number and the rest.
fn split(text: &str) -> Option<(f64, &str)> {
    let clean = text.trim();
    // The longest prefix that is a number: all of `1e6`, but only the 1 of `1GiB`.
    (1..=clean.len())
        .rev()
        .filter(|&end| clean.is_char_boundary(end))
        .find_map(|end| {
            let (number, unit) = clean.split_at(end);
            Some((digits(number)?.parse().ok()?, unit.trim()))
        })
}

/// A number without underscores and commas, if it begins with a digit and the commas are between
/// groups of three digits.
fn digits(number: &str) -> Option<String> {
    let whole = number.split(['.', 'e', 'E']).next()?;
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let grouped = whole == first || (1..=3).contains(&first.len());
    let is_group = |group: &str| group.len() == 3 && group.bytes().all(|c| c.is_ascii_digit());
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && grouped
        && groups.all(is_group)
        && !number[whole.len()..].contains(',');
    is_number.then(|| number.replace(['_', ','], ""))
}

/// The value, if it is an integer that fits; above 2^53 every float is one.
fn whole(value: f64, help: &str) -> Result<u64, String> {
    match value {
        value if value >= 1.8e19 => Err(format!("the number is too large; {help}")),
        value if value.fract() == 0.0 && value >= 0.0 => Ok(value as u64),
        _ => Err(help.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_as_people_write_them() {
        for (text, value) in [
            ("0", 0),
            ("1000", 1000),
            ("1_000_000", 1_000_000),
            ("1,000,000", 1_000_000),
            ("12,345", 12_345),
            ("1,000k", 1_000_000),
            ("1,234.5k", 1_234_500),
            ("1e6", 1_000_000),
            ("2.5M", 2_500_000),
            ("10k", 10_000),
            ("3 G", 3_000_000_000),
            ("9007199254740993", 9_007_199_254_740_993),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(count(text), Ok(value), "{text}");
        }
        for text in [
            "",
            "-1",
            "+1",
            "1.5",
            "ten",
            "1MB",
            "1e30",
            "1e-3",
            "NaN",
            "inf",
            "1,00",
            "1,0000",
            "1000,000",
            ",100",
            "1,,000",
            "1,000,",
            "1.000,000",
        ] {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_in_bits_and_bytes() {
        for (text, value) in [
            ("1e7", 10_000_000),
            ("10Mbit", 10_000_000),
            ("100B", 800),
            ("32MB", 256_000_000),
            ("4GiB", 8 << 32),
            ("1 KiB", 8192),
        ] {
            assert_eq!(bits(text), Ok(value), "{text}");
        }
        for (text, value) in [("100", 100), ("500MB", 500_000_000), ("1GiB", 1 << 30)] {
            assert_eq!(bytes(text), Ok(value), "{text}");
        }
        assert!(bytes("1 bit").is_err());
        assert!(bits("4 gigs").unwrap_err().contains("gigs"));
    }

    #[test]
    fn rates_as_fractions_and_percentages() {
        assert_eq!(rate("0.01"), Ok(0.01));
        assert_eq!(rate("1%"), Ok(0.01));
        assert_eq!(rate("1e-4"), Ok(1e-4));
        for text in ["0", "1", "1.5", "150%", "-0.1", "low", "NaN"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lengths_of_time() {
        for (text, seconds) in [
            ("60", 60.0),
            ("0.5s", 0.5),
            ("250ms", 0.25),
            ("5min", 300.0),
            ("1 h", 3600.0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_secs_f64(seconds)));
        }
        for text in ["", "-1", "soon", "1 year", "1e300"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
