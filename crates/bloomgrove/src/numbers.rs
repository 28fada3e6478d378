//! Numbers in text for people.

use std::fmt;

/// A number with commas between groups of three digits: `12,345,678`.
#[derive(Clone, Copy, Debug)]
pub struct Grouped(pub u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            small @ 0..1000 => write!(f, "{small}"),
            large => write!(f, "{},{:03}", Grouped(large / 1000), large % 1000),
        }
    }
}

/// A number of things, with their name in the singular: `1 hash`, `2,000 hashes`.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'t>(pub u64, pub &'t str);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, thing) = *self;
        if number == 1 {
            return write!(f, "1 {thing}");
        }
        let number = Grouped(number);
        match thing.strip_suffix('y') {
            Some(stem) if !stem.ends_with(['a', 'e', 'o']) => write!(f, "{number} {stem}ies"),
            _ if thing.ends_with("sh") => write!(f, "{number} {thing}es"),
            _ => write!(f, "{number} {thing}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular() {
        for (number, thing, text) in [
            (1, "entry", "1 entry"),
            (2000, "entry", "2,000 entries"),
            (0, "key", "0 keys"),
            (1, "hash", "1 hash"),
            (2, "hash", "2 hashes"),
        ] {
            assert_eq!(Counted(number, thing).to_string(), text);
        }
    }

    #[test]
    fn digits_are_grouped_by_three() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_002_003, "1,002,003"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(Grouped(number).to_string(), text);
        }
    }
}
