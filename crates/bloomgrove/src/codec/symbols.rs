//! Tables of small alphabets: the share of each symbol, by which the arithmetic coder (`range`) codes it.
//!
//! ```text
//!   counts  5 2 1      table  0 ......... a ..... b .. 65536      the share of each symbol
//! ```
//!
//! A table takes about twenty bytes per symbol. Tables are computed in integer arithmetic only, so they
//! are the same on every machine.

use super::varint;
use crate::Error;

/// The share of each symbol of an alphabet, in units of 1/65536.
pub type Table = Parts<16>;

/// The share of each symbol of an alphabet, in units of 2^-P.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts<const P: usize> {
    /// The start of each symbol's interval, followed by 2^P.
    starts: Box<[u32]>,
    /// For equal stretches of the range, the symbol at the start of the stretch. There are at least
    /// four times as many stretches as symbols, sixteen times for small alphabets. So, whatever the
    /// table, a search from there rarely takes a step, which the processor would not predict.
    first: Box<[u8]>,
    /// The shift that converts a place to its stretch.
    shift: u32,
    /// The interval of the most likely symbol.
    pub(super) heaviest: Interval,
}

/// The interval of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) start: u32,
    pub(super) size: u32,
    pub(super) symbol: u8,
}

impl<const P: usize> Parts<P> {
    /// Creates a table from the shares themselves, which must sum to 2^P.
    fn new(parts: impl Iterator<Item = u32>) -> Self {
        let mut starts = vec![0];
        let mut heaviest = Interval {
            symbol: 0,
            start: 0,
            size: 0,
        };
        for (symbol, size) in parts.enumerate() {
            let start = starts[symbol];
            if size > heaviest.size {
                let symbol = symbol as u8;
                heaviest = Interval {
                    symbol,
                    start,
                    size,
                };
            }
            starts.push(start + size);
        }
        debug_assert!(starts.last() == Some(&(1 << P)) && starts.len() <= 257);
        let stretches = ((starts.len() - 1).next_power_of_two() * 16).min(1024);
        let shift = P as u32 - stretches.ilog2();
        let mut symbol = 0;
        let first = (0..stretches as u32).map(|stretch| {
            while starts[symbol + 1] <= stretch << shift {
                symbol += 1;
            }
            symbol as u8
        });
        Self {
            first: first.collect(),
            starts: starts.into(),
            shift,
            heaviest,
        }
    }

    /// Creates a nearly optimal table for symbols that occur in proportion to `weights`. A
    /// symbol of weight 0 cannot be coded; if all weights are 0, only the first symbol can, and
    /// it takes no bits.
    ///
    /// # Panics
    /// If there are more than 256 symbols.
    pub fn from_counts(weights: &[u64]) -> Self {
        assert!(weights.len() <= 256, "{} symbols", weights.len());
        let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        if total == 0 {
            return Self::new([1 << P].into_iter());
        }
        // One unit for every symbol that may occur, the rest in proportion to weight, and the
        // rounding remainder for the heaviest, which it changes least.
        let used = weights.iter().filter(|&&weight| weight > 0).count();
        let rest = (1u128 << P) - used as u128;
        let part = |weight: u64| match weight {
            0 => 0,
            _ => 1 + (u128::from(weight) * rest / total) as u32,
        };
        let left = (1u32 << P) - weights.iter().map(|&weight| part(weight)).sum::<u32>();
        let heaviest = (0..weights.len()).rev().max_by_key(|&i| weights[i]);
        Self::new(
            weights
                .iter()
                .enumerate()
                .map(|(i, &weight)| part(weight) + if Some(i) == heaviest { left } else { 0 }),
        )
    }

    /// Returns the number of symbols, including those that cannot occur.
    pub fn symbols(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the share of a symbol, out of 2^P.
    pub fn part(&self, symbol: u8) -> u32 {
        self.interval(symbol).size
    }

    /// Returns the interval of a symbol. It is empty if the symbol cannot occur.
    #[inline(always)]
    pub(super) fn interval(&self, symbol: u8) -> Interval {
        let at = usize::from(symbol);
        let (start, size) = match self.starts.get(at..at + 2) {
            Some(&[start, end]) => (start, end - start),
            _ => (0, 0),
        };
        Interval {
            symbol,
            start,
            size,
        }
    }

    /// Returns the interval that contains a place, which is less than 2^P.
    #[inline(always)]
    pub(super) fn find(&self, place: u32) -> Interval {
        let mut symbol = self.first[(place >> self.shift) as usize];
        // This terminates within the table, because the last end is 2^P.
        loop {
            let [start, end] = [0, 1].map(|next| self.starts[usize::from(symbol) + next]);
            if place < end {
                let size = end - start;
                return Interval {
                    start,
                    size,
                    symbol,
                };
            }
            symbol += 1;
        }
    }

    /// Appends the table to `out`: the number of symbols and their shares, one to three bytes
    /// each; the share of the last symbol is the remainder.
    pub fn write(&self, out: &mut Vec<u8>) {
        varint::put(out, self.symbols() as u64);
        for pair in self.starts.windows(2).take(self.symbols() - 1) {
            varint::put(out, u64::from(pair[1] - pair[0]));
        }
    }

    /// Reads a table from the front of `bytes`.
    ///
    /// # Errors
    /// [`Error::Message`] if there is none.
    pub fn read(bytes: &mut &[u8]) -> Result<Self, Error> {
        let wrong = || Error::message(0, "invalid table of symbols");
        let len = varint::take(bytes)?;
        if !(1..=256).contains(&len) {
            return Err(wrong());
        }
        let mut parts = Vec::with_capacity(len as usize);
        let mut left = 1u64 << P;
        for _ in 1..len {
            let part = varint::take(bytes)?;
            left = left.checked_sub(part).ok_or_else(wrong)?;
            parts.push(part as u32);
        }
        parts.push(left as u32);
        Ok(Self::new(parts.into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_sum_up_and_follow_the_counts() {
        for (counts, parts) in [
            (&[1u64, 1][..], &[32768u32, 32768][..]),
            (&[3, 0, 1], &[49152, 0, 16384]),
            (&[u64::MAX, 1], &[65535, 1]),
            (&[0, 7], &[0, 65536]),
            (&[0, 0], &[65536]),
            (&[], &[65536]),
        ] {
            let table = Table::from_counts(counts);
            let found: Vec<u32> = (0..table.symbols()).map(|i| table.part(i as u8)).collect();
            assert_eq!(found, parts, "{counts:?}");
        }
        let even = Table::from_counts(&[9; 256]);
        assert!((0..=255).all(|symbol| even.part(symbol) == 256));
    }

    proptest! {
        #[test]
        fn tables_come_back(counts in prop::collection::vec(0u64..1000, 0..257)) {
            let table = Table::from_counts(&counts);
            let mut bytes = Vec::new();
            table.write(&mut bytes);
            bytes.push(77);
            let mut left = &bytes[..];
            prop_assert_eq!(Table::read(&mut left).unwrap(), table);
            prop_assert_eq!(left, [77]);
        }
    }
}
