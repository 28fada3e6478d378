//! Numbers in messages for people.

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

#[cfg(test)]
mod tests {
    use super::*;

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
