//! Table 1: the namespaces, sets, accuracies and hash functions, and what is built from them.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::thread;

use anyhow::{Context, Result};
use bloomgrove::raw::hash::first_prime_from;
use bloomgrove::{Affine, Family, Filter, Params, tune};
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, Threshold};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::clustered::Clustered;

/// k, everywhere.
pub const HASHES: u32 = 3;
/// n.
pub const ITEMS: [u64; 4] = [100, 1000, 10_000, 50_000];
/// The paper's accuracies. What it calls 1.0 is 0.99: only that gives the m that it prints.
pub const ACCURACIES: [f64; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.99];
/// The threshold below which an intersection counts as empty. The paper has one but does not print
/// it; half an item is the obvious choice.
pub const PAPER: Threshold = Threshold::Estimate(0.5);
/// The paper's p, of clustered sets.
pub(super) const PERCENT: f64 = 10.0;

/// The number of bits that are intersected in the time of one membership query, from which section
/// 5.4 derives the depth. A constant, so that counts are the same on every machine: with this one,
/// five of the six depths of Table 2 are as printed; Table 3 would need 500 for five of its six.
pub(super) const BITS_PER_QUERY: f64 = 222.0;

/// M, n, accuracy and depth, where Tables 2 and 3 print a depth.
const DEPTHS: [(u64, [u32; 6]); 2] = [
    (1_000_000, [10, 10, 10, 9, 9, 6]),
    (10_000_000, [13, 13, 13, 13, 12, 10]),
];

/// Which elements a query set has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Drawn uniformly without replacement.
    Uniform,
    /// Drawn close to each other (section 7.1).
    Clustered,
}

impl Spread {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Uniform, Self::Clustered];

    /// As in the captions.
    pub fn name(self) -> &'static str {
        match self {
            Spread::Uniform => "uniform",
            Spread::Clustered => "clustered",
        }
    }

    /// `items` distinct names below `names`, in ascending order.
    pub fn draw(self, names: u64, items: u64, random: &mut Xoshiro256PlusPlus) -> Vec<u64> {
        let mut all: Vec<u64> = match self {
            Spread::Uniform => {
                let mut seen = HashSet::new();
                let mut next = || random.random_range(0..names);
                let fresh = std::iter::repeat_with(&mut next).filter(|&name| seen.insert(name));
                fresh.take(items.min(names) as usize).collect()
            }
            Spread::Clustered => {
                let mut clustered = Clustered::new(names, PERCENT);
                let next = || clustered.draw(random);
                std::iter::repeat_with(next)
                    .map_while(|name| name)
                    .take(items as usize)
                    .collect()
            }
        };
        all.sort_unstable();
        all
    }
}

/// The hash families of Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashing {
    /// `((a x + b) mod p) mod m`, p the first prime above M.
    Simple,
    /// `(a x + b) mod m`, as printed.
    AsPrinted,
    /// Murmur3.
    Murmur3,
    /// MD5.
    Md5,
}

impl Hashing {
    /// All.
    pub const ALL: [Self; 4] = [Self::Murmur3, Self::Md5, Self::Simple, Self::AsPrinted];

    /// Its name in the legends.
    pub fn name(self) -> &'static str {
        match self {
            Hashing::Simple => "simple, modulo a prime",
            Hashing::AsPrinted => "simple, as printed",
            Hashing::Murmur3 => "Murmur3",
            Hashing::Md5 => "MD5",
        }
    }
}

/// One point of a figure: a namespace, the size of the sets, and their filters.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// M.
    pub names: u64,
    /// n.
    pub items: u64,
    /// The required accuracy, which determines m.
    pub accuracy: f64,
    /// The hash family.
    pub hashing: Hashing,
    /// For the hash and all random choices.
    pub seed: u64,
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (names, items, accuracy) = (short(self.names), short(self.items), self.accuracy);
        write!(f, "M = {names}, n = {items}, accuracy {accuracy}")
    }
}

/// 100, 1K, 10K, as in the legends, and powers of ten from a hundred thousand on.
pub(super) fn short(number: u64) -> String {
    match number {
        100_000.. if number.ilog10() > (number - 1).ilog10() => format!("1e{}", number.ilog10()),
        1000.. if number.is_multiple_of(1000) => format!("{}K", number / 1000),
        _ => number.to_string(),
    }
}

impl Setup {
    /// The paper's default: M = 10^7, n = 1000, accuracy 0.9.
    pub const DEFAULT: Self = Self {
        names: 10_000_000,
        items: 1000,
        accuracy: 0.9,
        hashing: Hashing::Murmur3,
        seed: 1,
    };

    /// The namespace.
    pub fn range(&self) -> Range<u64> {
        0..self.names
    }

    /// m, by section 5.4; none when a filter of any size has the accuracy.
    pub fn bits(&self) -> Option<u64> {
        let bits = tune::bits_for_accuracy(self.names, self.items, HASHES, self.accuracy);
        (bits > 0.0).then_some(bits.ceil() as u64)
    }

    /// The filters.
    ///
    /// # Errors
    /// An accuracy that requires no filter.
    pub fn params(&self) -> Result<Params> {
        let bits = self
            .bits()
            .with_context(|| format!("{self}: no filter is needed"))?;
        self.params_of(bits)
    }

    /// Filters of another size.
    ///
    /// # Errors
    /// A size that filters cannot have.
    pub fn params_of(&self, bits: u64) -> Result<Params> {
        let builder = Params::builder(bits, HASHES);
        let affine = |functions| Params::builder(bits, HASHES).family(Family::Affine(functions));
        let builder = match self.hashing {
            Hashing::Murmur3 => builder.family(Family::Murmur3).seed(self.seed),
            Hashing::Md5 => builder.family(Family::Md5).seed(self.seed),
            Hashing::Simple => {
                let prime = first_prime_from(self.names).context("no prime is large enough")?;
                affine(Affine::seeded(prime, HASHES, self.seed)?)
            }
            Hashing::AsPrinted => {
                let mut random = self.random(0);
                let mut pair = |_| (random.random_range(1..bits), random.random_range(0..bits));
                let pairs: Vec<_> = (0..HASHES).map(&mut pair).collect();
                affine(Affine::new(&pairs, bits)?)
            }
        };
        builder.build().with_context(|| self.to_string())
    }

    /// The depth of the tree: as printed, or else by section 5.4 with `BITS_PER_QUERY`.
    pub fn depth(&self) -> u32 {
        self.published_depth().unwrap_or_else(|| {
            let bits = self.bits().unwrap_or(1) as f64;
            let leaf = bloomgrove::raw::tune::leaf_size(bits / BITS_PER_QUERY, 1.0);
            bloomgrove::raw::tune::tree_depth(self.names, leaf)
        })
    }

    /// As in Tables 2 and 3.
    pub fn published_depth(&self) -> Option<u32> {
        let (_, depths) = DEPTHS.iter().find(|(names, _)| *names == self.names)?;
        let place = ACCURACIES.iter().position(|&one| one == self.accuracy)?;
        (self.items == 1000).then_some(depths[place])
    }

    /// The tree.
    ///
    /// # Errors
    /// Those of [`params`](Self::params), or too little memory.
    pub fn tree(&self) -> Result<BloomSampleTree> {
        BloomSampleTree::complete(&self.params()?, self.range(), self.depth())
            .with_context(|| self.to_string())
    }

    /// The elements of query set `i`.
    pub fn set(&self, spread: Spread, i: u64) -> Vec<u64> {
        spread.draw(self.names, self.items, &mut self.random(1 + i))
    }

    /// The filter of some elements.
    ///
    /// # Errors
    /// Too little memory.
    pub fn query(params: &Params, set: &[u64]) -> Result<Filter> {
        let mut query = Filter::new(params.clone())?;
        query.insert_batch(set);
        Ok(query)
    }

    /// A separate random generator for each purpose.
    pub fn random(&self, purpose: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.seed << 32 ^ self.items << 40 ^ purpose)
    }
}

/// Runs `work` for each of `items`, on all processors; the results are in order. Not for timing.
pub(super) fn parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(threads).max(1);
    let run = |share: &[T]| share.iter().map(&work).collect::<Result<Vec<R>>>();
    thread::scope(|scope| {
        let shares: Vec<_> = items
            .chunks(share)
            .map(|share| scope.spawn(move || run(share)))
            .collect();
        let mut all = Vec::new();
        for share in shares {
            match share.join() {
                Ok(done) => all.extend(done?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_tables_2_and_3() {
        // The printed 46000 is a misprint: Table 4 has 46090.
        let published = [
            (1_000_000, [28_465, 32_808, 38_259, 46_090, 60_870, 137_230]),
            (
                10_000_000,
                [63_120, 72_475, 84_215, 101_090, 132_933, 297_485],
            ),
        ];
        for (names, sizes) in published {
            for (accuracy, size) in ACCURACIES.into_iter().zip(sizes) {
                let setup = Setup {
                    names,
                    accuracy,
                    ..Setup::DEFAULT
                };
                let bits = setup.bits().expect("a size");
                assert!(bits.abs_diff(size) <= 2, "{setup}: {bits} {size}");
            }
        }
    }

    #[test]
    fn sets_are_distinct_rising_and_inside() {
        for spread in Spread::ALL {
            let setup = Setup {
                names: 1000,
                items: 500,
                ..Setup::DEFAULT
            };
            let set = setup.set(spread, 0);
            assert_eq!(set.len(), 500);
            assert!(set.is_sorted_by(|a, b| a < b) && set[499] < 1000);
            assert_ne!(set, setup.set(spread, 1));
            assert_eq!(set, setup.set(spread, 0));
        }
    }

    #[test]
    fn numbers_are_short() {
        let all = [100, 1000, 10_000, 50_000, 100_000, 10_000_000].map(short);
        assert_eq!(all, ["100", "1K", "10K", "50K", "1e5", "1e7"]);
    }
}
