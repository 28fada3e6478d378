//! A part of a namespace: a range, a list of integers, or a list of strings.

use std::ops::Range;

use super::{Integers, Lines, Name, Namespace};
use crate::Error;

/// A part of a namespace: names in one form.
#[derive(Debug)]
pub(in crate::sample) enum Part {
    Range(Range<u64>),
    Integers(Integers),
    Lines(Lines),
}

impl Part {
    pub(in crate::sample) fn len(&self) -> u64 {
        match self {
            Part::Range(range) => range.end - range.start,
            Part::Integers(integers) => integers.len(),
            Part::Lines(lines) => lines.len(),
        }
    }

    pub(in crate::sample) fn bytes(&self) -> u64 {
        match self {
            Part::Range(_) => 0,
            Part::Integers(integers) => integers.bytes(),
            Part::Lines(lines) => lines.bytes(),
        }
    }

    pub(in crate::sample) fn name(&self, rank: u64) -> Name {
        match self {
            Part::Lines(lines) => Name::Text(lines.get(rank).to_vec()),
            _ => Name::Integer(self.integer(rank)),
        }
    }

    /// Returns an integer of a range or a list; 0 for strings.
    #[inline]
    pub(in crate::sample) fn integer(&self, rank: u64) -> u64 {
        match self {
            Part::Range(range) => range.start + rank,
            Part::Integers(integers) => integers.get(rank),
            Part::Lines(_) => 0,
        }
    }

    /// Returns how many names of the part are below an integer; none for strings.
    pub(super) fn below(&self, number: u64) -> u64 {
        match self {
            Part::Range(range) => number.clamp(range.start, range.end) - range.start,
            Part::Integers(integers) => integers.below(number),
            Part::Lines(_) => 0,
        }
    }

    pub(super) fn rank_of(&self, number: u64) -> Option<u64> {
        let rank = self.below(number);
        (rank < self.len() && self.integer(rank) == number).then_some(rank)
    }

    pub(super) fn rank_of_text(&self, text: &[u8]) -> Option<u64> {
        let Part::Lines(lines) = self else {
            return None;
        };
        let rank = lines.below(text);
        (rank < lines.len() && lines.get(rank) == text).then_some(rank)
    }
}

impl Namespace {
    /// Checks that names read from a file are ascending, within bounds, and in only one part
    /// each.
    pub(in crate::sample) fn check_order(&self) -> Result<(), Error> {
        let rising = |part: &Part| match part {
            Part::Range(_) => true,
            Part::Integers(list) => (1..list.len()).all(|i| list.get(i - 1) < list.get(i)),
            Part::Lines(lines) => {
                lines.from(0).zip(lines.from(1)).all(|(a, b)| a < b)
                    && lines.from(0).count() as u64 == lines.len()
            }
        };
        if !self.parts.iter().all(rising) {
            return Err(Error::corrupt("names section", 0, "names are out of order"));
        }
        for (at, part) in self.parts.iter().enumerate() {
            let others = || self.parts[at + 1..].iter();
            let elsewhere = |rank: u64| match part.name(rank) {
                Name::Integer(number) => others().any(|other| other.rank_of(number).is_some()),
                Name::Text(text) => others().any(|other| other.rank_of_text(&text).is_some()),
            };
            if at + 1 < self.parts.len() && (0..part.len()).any(elsewhere) {
                return Err(Error::corrupt("names section", 0, "a name is in two parts"));
            }
        }
        match self.check_bounds(self) {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::corrupt(
                "names section",
                0,
                "a name is out of bounds",
            )),
        }
    }
}
