//! Which elements the sets have.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::Setup;

/// Narrow ranges: 100 elements from a range ten times as wide.
const SPREAD: u64 = 10;
/// Wide ranges: both ends are drawn from 0 to this.
const WIDEST: u64 = 100_000_000;
/// Similar sets in one group.
const ALIKE: u64 = 5;
/// Where elements that belong to one set only begin, beyond those of all groups.
const OWN: u64 = 1 << 40;

/// Which elements the sets have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Set i has the integers from 100 i to 100 i + 99.
    Nonrandom,
    /// Set i has 100 integers drawn from a range of 1000 with a random start: sets overlap.
    NarrowRanges,
    /// Set i has 100 integers drawn from a range whose two ends are drawn from 0 to 10^8.
    WideRanges,
    /// Sets in groups of five, scattered: each has 100 of its group's 200 integers.
    Similar,
    /// Each set has 50 integers of its own, and then 50 of its group's 100: similar only later.
    Converging,
}

impl Setup {
    /// The elements of set `i`.
    pub(super) fn keys(&self, i: u32) -> Vec<u64> {
        let first = u64::from(i) * self.elements;
        let mut rng = self.rng(1 << 33 | u64::from(i));
        // `most` of the integers of a random group, which has twice as many.
        let mut of_group = |most: u64| {
            let groups = u64::from(self.filters).div_ceil(ALIKE);
            let start = rng.random_range(0..groups) * 2 * most;
            let mut all: Vec<u64> = (start..start + 2 * most).collect();
            all.shuffle(&mut rng);
            all.truncate(most as usize);
            all
        };
        match self.data {
            Data::Nonrandom => (first..first + self.elements).collect(),
            Data::Similar => of_group(self.elements),
            Data::Converging => {
                let own = self.elements / 2;
                let start = OWN + first;
                let group = of_group(self.elements - own);
                (start..start + own).chain(group).collect()
            }
            Data::NarrowRanges => {
                let all = u64::from(self.filters) * self.elements;
                let start = rng.random_range(0..all);
                let width = SPREAD * self.elements;
                let draw = |_| start + rng.random_range(0..width);
                (0..self.elements).map(draw).collect()
            }
            Data::WideRanges => {
                let mut end = || rng.random_range(0..WIDEST);
                let (a, b) = (end(), end());
                let draw = |_| rng.random_range(a.min(b)..=a.max(b));
                (0..self.elements).map(draw).collect()
            }
        }
    }
}
