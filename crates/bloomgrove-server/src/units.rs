//! Numbers as people write them in settings: 1e6, 10M, 64MiB, 30s.

use std::time::Duration;

/// A count: digits, underscores, an exponent, or k, M, G, T for thousands.
///
/// # Errors
///
/// What to write instead.
pub fn count(text: &str) -> Result<u64, String> {
    let help = "write a whole number such as 1000000, 1_000_000, 1e6 or 1M";
    // Names may be any number of 64 bits: those that are written out are taken exactly.
    let clean = text.trim().replace('_', "");
    if let Ok(number) = clean.parse()
        && clean.starts_with(|c: char| c.is_ascii_digit())
    {
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
    whole(scaled(text, "count", &units, help)?).ok_or_else(|| help.to_owned())
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
    whole(scaled(text, "size", &units, help)?).ok_or_else(|| help.to_owned())
}

/// A length of time: 60, 60s, 5min, 1h.
///
/// # Errors
///
/// What to write instead.
pub fn duration(text: &str) -> Result<Duration, String> {
    let help = "write seconds as 60 or 60s, or 5min, 1h or 7d";
    let units = [
        ("", 1.0),
        ("s", 1.0),
        ("m", 60.0),
        ("min", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
    ];
    Duration::try_from_secs_f64(scaled(text, "time", &units, help)?).map_err(|_| help.to_owned())
}

/// A number with one of `units` (each with what it multiplies by) behind it; `kind` says what
/// the units measure.
///
/// # Errors
///
/// `help`, and the unit if that is what is wrong.
pub fn scaled(text: &str, kind: &str, units: &[(&str, f64)], help: &str) -> Result<f64, String> {
    let (number, unit) = split(text).ok_or(help)?;
    let scale = units.iter().find(|(name, _)| *name == unit);
    scale.map_or_else(
        || Err(format!("{unit:?} is no unit of {kind}; {help}")),
        |(_, scale)| Ok(number * scale),
    )
}

/// The number and what follows it.
fn split(text: &str) -> Option<(f64, &str)> {
    let clean = text.trim();
    // The longest prefix that is a number: `1e6` is one, and so is the 1 of `1GiB`.
    (1..=clean.len())
        .rev()
        .filter(|&end| clean.is_char_boundary(end))
        .find_map(|end| {
            let (number, unit) = clean.split_at(end);
            let digits = number.starts_with(|c: char| c.is_ascii_digit());
            let number = number.replace('_', "").parse().ok()?;
            digits.then_some((number, unit.trim()))
        })
}

/// The value if it is whole and fits; beyond 2^53 every float is whole.
#[must_use]
pub fn whole(value: f64) -> Option<u64> {
    (value.fract() == 0.0 && (0.0..1.8e19).contains(&value)).then_some(value as u64)
}
