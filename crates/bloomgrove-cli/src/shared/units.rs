//! Numbers as people write them: 1e6, 10M, 1_000_000, 32MB, 4GiB.

// What the settings of the server are written in, too.
pub(crate) use bloomgrove_server::units::{bytes, count, duration};
use bloomgrove_server::units::{scaled, whole};

/// A number of bits, said in bits (10M, 1e7, 4Gbit) or in bytes (32MB, 4GiB, 100B).
pub(crate) fn bits(text: &str) -> Result<u64, String> {
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
    whole(scaled(text, "size", &units, help)?).ok_or_else(|| help.to_owned())
}

/// A rate: a fraction such as 0.01 or 1e-4, or a percentage such as 1%.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let help = "write a rate above 0 and below 1, such as 0.01, 1e-4 or 1%";
    let rate = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|rate| rate / 100.0),
        None => text.parse(),
    };
    rate.ok()
        .filter(|rate| *rate > 0.0 && *rate < 1.0)
        .ok_or_else(|| help.to_owned())
}

/// `12345678` as `12,345,678`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 key`, `2,000 keys`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped(number))
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
        "0 %".into()
    } else if rate < 1e-5 {
        format!("{rate:.2e}")
    } else {
        // Three figures. A hair more than the rate, so that 0.99999 counts as 1.
        let digits = (2.0 - (rate * 100.05).log10().floor()).clamp(1.0, 6.0) as usize;
        format!("{:.digits$} %", rate * 100.0)
    }
}

/// Seconds since 1970, as `2026-11-16T09:30:00Z`.
pub(crate) fn moment(seconds: u64) -> anyhow::Result<String> {
    let time = jiff::Timestamp::from_second(i64::try_from(seconds)?)?;
    Ok(time.to_string())
}

/// An estimate, rounded; or that there is none.
pub(crate) fn estimate(value: f64) -> String {
    if value.is_infinite() {
        "any number: every bit is set".into()
    } else {
        format!("about {}", grouped(value.round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn counts_as_people_write_them() {
        for (text, value) in [
            ("0", 0),
            ("1000", 1000),
            ("1_000_000", 1_000_000),
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
            "", "-1", "+1", "1.5", "ten", "1MB", "1e30", "1e-3", "NaN", "inf",
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
            ("5min", 300.0),
            ("1 h", 3600.0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_secs_f64(seconds)));
        }
        for text in ["", "-1", "soon", "1 year", "1e300"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_250_000), "1.2 MB");
        assert_eq!(percent(0.01), "1.00 %");
        assert_eq!(percent(0.009_999_9), "1.00 %");
        assert_eq!(percent(0.000_123), "0.0123 %");
        assert_eq!(percent(1e-7), "1.00e-7");
        assert_eq!(moment(1_794_821_400).unwrap(), "2026-11-16T09:30:00Z");
        assert!(moment(u64::MAX).is_err());
    }
}
