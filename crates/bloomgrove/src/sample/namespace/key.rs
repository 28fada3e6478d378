//! Names as keys of a filter, in batches.

use std::ops::Range;

use super::{Namespace, Part, Spelling};
use crate::Key;

/// Names processed together: enough for the pipeline of a batch, and few enough for the L1
/// cache.
const BATCH: usize = 512;

/// A batch of names as keys.
#[derive(Clone, Copy)]
pub(in crate::sample) enum Keys<'k> {
    Binary(&'k [u64]),
    Decimal(&'k [Decimal]),
    Text(&'k [&'k [u8]]),
}

/// The decimal digits of an integer.
#[derive(Clone, Copy)]
pub(in crate::sample) struct Decimal {
    digits: [u8; 20],
    start: u8,
}

impl Decimal {
    fn new(mut number: u64) -> Self {
        let mut digits = [b'0'; 20];
        let mut start = 20;
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        Self {
            digits,
            start: start as u8,
        }
    }
}

impl Key for Decimal {
    #[inline]
    fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        with(&self.digits[usize::from(self.start)..])
    }
}

impl Namespace {
    /// Calls `each` on the names of these ranks, in order and in batches, with the rank of the
    /// first of each batch, until it returns false.
    pub(in crate::sample) fn scan(
        &self,
        ranks: Range<u64>,
        mut each: impl FnMut(u64, Keys) -> bool,
    ) {
        let mut at = ranks.start;
        while at < ranks.end {
            let (part, first) = self.place(at);
            let end = ranks
                .end
                .min(self.start_of(part) + self.parts()[part].len());
            let count = (end - at) as usize;
            let mut rank = at;
            let mut hand_on = |keys: Keys, len: usize| {
                let go_on = each(rank, keys);
                rank += len as u64;
                go_on
            };
            let go_on = match &self.parts()[part] {
                Part::Lines(lines) => {
                    let lines = lines.from(first).take(count);
                    in_batches(lines, |batch| hand_on(Keys::Text(batch), batch.len()))
                }
                part => {
                    let numbers = (first..first + count as u64).map(|rank| part.integer(rank));
                    match self.spelling() {
                        Spelling::Decimal => in_batches(numbers.map(Decimal::new), |batch| {
                            hand_on(Keys::Decimal(batch), batch.len())
                        }),
                        _ => in_batches(numbers, |batch| hand_on(Keys::Binary(batch), batch.len())),
                    }
                }
            };
            if !go_on {
                return;
            }
            at = end;
        }
    }

    /// Calls `with` on the names of a few ranks, given in any order.
    pub(in crate::sample) fn with_keys(&self, ranks: &[u64], with: impl FnOnce(Keys)) {
        let integer = |&rank: &u64| {
            let (part, rank) = self.place(rank);
            self.parts()[part].integer(rank)
        };
        match self.spelling() {
            Spelling::Binary => {
                with(Keys::Binary(&ranks.iter().map(integer).collect::<Vec<_>>()));
            }
            Spelling::Decimal => {
                let digits = ranks.iter().map(|rank| Decimal::new(integer(rank)));
                with(Keys::Decimal(&digits.collect::<Vec<_>>()));
            }
            Spelling::Text => {
                let line = |&rank: &u64| {
                    let (part, rank) = self.place(rank);
                    match &self.parts()[part] {
                        Part::Lines(lines) => lines.get(rank),
                        _ => &[],
                    }
                };
                with(Keys::Text(&ranks.iter().map(line).collect::<Vec<_>>()));
            }
        }
    }
}

/// Calls `each` on at most [`BATCH`] of the items at a time, until it returns false. Returns
/// whether it never did.
fn in_batches<T>(mut items: impl Iterator<Item = T>, mut each: impl FnMut(&[T]) -> bool) -> bool {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        batch.clear();
        batch.extend(items.by_ref().take(BATCH));
        if batch.is_empty() {
            return true;
        }
        if !each(&batch) {
            return false;
        }
    }
}
