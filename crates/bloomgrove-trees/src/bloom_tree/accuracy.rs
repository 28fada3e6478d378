//! The false-positive rate of a tree: expected, as reported by the paper, and measured.
//!
//! ```text
//!   an absent key's path      probability that all its filters accept
//!   mostly                    0.000 000 1
//!   occasionally              0.3             these few are the false positives
//!
//!   arithmetic mean = the rate at which absent keys are accepted    (expected)
//!   geometric mean  = e to the power of the mean of the logarithms  (the paper's, Eq. 12)
//! ```
//!
//! The geometric mean is never above the arithmetic one, and here it is orders of magnitude below: it
//! hides the paths that matter. Do not size anything by it; it is here because the paper's tables
//! consist of it.
//!
//! The expected rate is exact for a given tree, by recursion from the leaves: the probability that a
//! filter and all below it accept an absent key, whose k positions are uniform and whose duplicates
//! count once, is
//!
//! ```text
//!   F = sum over j of  (surjections of k on j) e_j(f_1 ... f_m) / m^k
//! ```
//!
//! where f_i is that of the filter below bit i (1 in a leaf, 0 if the bit is not set) and e_j
//! the elementary symmetric polynomial. Cost: one visit of every filter below a set bit. The positions
//! of Eq. 8 and 9 are not uniform and independent; for those, see `double_hashing`.
//!
//! Source: Fu and Biersack (BloomTree), section 5. Eq. 11, taken literally, follows the positions of
//! an absent key even where its bit is not set, nearly always meets an empty filter, and gives 0. We
//! follow section 6.3.3, which comes close to the paper's figures: from filter to filter along set
//! bits only.

use std::fmt;
use std::ops::Range;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::BloomTree;
use bloomgrove::Derivation;
use bloomgrove::raw::bits;
use bloomgrove::raw::threads::{by_all, processors};

/// How many query paths the paper uses for a geometric mean (N_b of Eq. 12).
const SAMPLES: u32 = 5000;
/// Work is divided into this many pieces, so that a tree has the same rate, to the last digit, with
/// any number of threads.
const PIECES: u64 = 64;

/// The three measures of how often a tree is wrong, always together.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Accuracy {
    /// The rate at which absent keys are accepted, computed for this tree.
    pub expected: f64,
    /// The paper's geometric mean. Not a rate.
    pub geometric: f64,
    /// How many absent keys were queried.
    pub asked: u64,
    /// How many of them were accepted.
    pub accepted: u64,
}

impl Accuracy {
    /// The rate at which absent keys were accepted; `None` if none was queried.
    pub fn measured(&self) -> Option<f64> {
        (self.asked > 0).then(|| self.accepted as f64 / self.asked as f64)
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {:.3e}", self.expected)?;
        if let Some(measured) = self.measured() {
            write!(
                f,
                ", measured {measured:.3e} ({} of {})",
                self.accepted, self.asked
            )?;
        }
        write!(f, ", geometric mean {:.3e}", self.geometric)
    }
}

/// A path through a tree along set bits, and the probability that an absent key on this path is
/// accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior {
    /// The natural logarithm of the product of the probabilities of the filters of each level: Eq. 13.
    pub levels: Vec<f64>,
}

impl Posterior {
    /// The natural logarithm of the probability: Eq. 11.
    pub fn ln(&self) -> f64 {
        self.levels.iter().sum()
    }
}

impl<S: AsRef<[u64]> + Sync> BloomTree<S> {
    /// All three; `queries` absent keys are queried, none if 0.
    pub fn accuracy(&self, queries: u64, seed: u64) -> Accuracy {
        Accuracy {
            expected: self.expected_fpr(),
            geometric: self.geometric_fpr(SAMPLES, seed),
            asked: queries,
            accepted: self.count_accepted(queries, seed),
        }
    }

    /// The rate at which absent keys are accepted by this tree with its hashing: exact for
    /// [`Derivation::Independent`], and for [`Derivation::KirschMitzenmacher`] to within the error of a
    /// million samples. Uses all processors.
    pub fn expected_fpr(&self) -> f64 {
        match self.shape.root().derivation() {
            Derivation::Independent => self.ideal_fpr(),
            Derivation::KirschMitzenmacher => self.double_hashing_fpr(),
        }
    }

    /// The rate with uniform and independent hash functions: the mean over all paths.
    fn ideal_fpr(&self) -> f64 {
        let root = self.shape.levels()[0];
        let (parts, hashes) = match self.shape.is_partitioned() {
            true => (root.hashes, 1),
            false => (1, root.hashes),
        };
        let part = self.shape.part_bits();
        let recursion = Recursion::of(self);
        let rate = |number: u32| {
            let first = u64::from(number) * part;
            let sums = recursion.sums(first..first + part, hashes);
            from_sums(&sums, part as f64)
        };
        (0..parts).map(rate).product()
    }

    /// The paper's Eq. 12 over this many paths: the geometric mean, which is not a rate. 0 if a path
    /// meets an empty filter, which happens after an intersection that was not
    /// [pruned](Self::prune).
    pub fn geometric_fpr(&self, samples: u32, seed: u64) -> f64 {
        let ways = self.posteriors(samples, seed);
        let sum: f64 = ways.iter().map(Posterior::ln).sum();
        (sum / f64::from(samples.max(1))).exp()
    }

    /// Random paths through the tree along set bits, with the probability that each filter on them
    /// accepts.
    pub fn posteriors(&self, samples: u32, seed: u64) -> Vec<Posterior> {
        let mut draw = Draw::of(self, seed);
        (0..samples).map(|_| draw.way()).collect()
    }

    /// How many of `queries` random 64-bit keys the tree accepts. They are assumed to be absent: the
    /// probability that one of n items is among them is n queries / 2^64.
    pub fn count_accepted(&self, queries: u64, seed: u64) -> u64 {
        let share = queries.div_ceil(PIECES).max(1);
        let pieces = queries.div_ceil(share) as usize;
        let counts = by_all(pieces, processors(), |number| {
            let from = number as u64 * share;
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xab5e_0000 ^ from);
            let keys = (from..(from + share).min(queries)).map(|_| random.random::<u64>());
            keys.filter(|key| self.contains(key)).count() as u64
        });
        counts.iter().sum()
    }
}

/// The rate of the filters of one level by how many bits they have set, and the factors of the sum.
struct Recursion<'a> {
    words: &'a [u64],
    shape: &'a super::TreeShape,
    /// For leaves: (c / m)^k by c.
    leaf: Vec<f64>,
}

/// `e_0` to `e_k` of f / m.
type Sums = Vec<f64>;

impl<'a> Recursion<'a> {
    fn of<S: AsRef<[u64]>>(tree: &'a BloomTree<S>) -> Self {
        let leaf = tree.shape.levels()[tree.shape.depth() - 1];
        let most = leaf.bits.min(super::MAX_FILTER_BITS);
        let rate = |ones: u64| (ones as f64 / leaf.bits as f64).powi(leaf.hashes as i32);
        Self {
            words: tree.words(),
            shape: &tree.shape,
            leaf: (0..=most).map(rate).collect(),
        }
    }

    /// For the root bits in `range`, on all processors.
    fn sums(&self, range: Range<u64>, hashes: u32) -> Sums {
        let bits = (range.end - range.start) as f64;
        let piece = (range.end - range.start).div_ceil(PIECES).max(1);
        let pieces = (range.end - range.start).div_ceil(piece) as usize;
        let done = by_all(pieces, processors(), |number| {
            let first = range.start + number as u64 * piece;
            let mut sums = none(hashes);
            for bit in first..(first + piece).min(range.end) {
                if bits::get(self.words, bit) {
                    add(&mut sums, self.below(1, bit) / bits);
                }
            }
            sums
        });
        let none = none(hashes);
        done.iter().fold(none, |sums, piece| product(&sums, piece))
    }

    /// The probability that filter number `filter` of a level, and all below it, accept.
    fn below(&self, level: usize, filter: u64) -> f64 {
        let Some(&super::Level { bits, hashes }) = self.shape.levels().get(level) else {
            return 1.0;
        };
        let mut pattern = super::field(self.words, self.shape.offset(level, filter), bits);
        if level + 1 == self.shape.depth() {
            return self.leaf[pattern.count_ones() as usize];
        }
        let mut sums = [0.0; super::MAX_FILTER_HASHES as usize + 1];
        let sums = &mut sums[..=hashes as usize];
        sums[0] = 1.0;
        while pattern != 0 {
            let child = filter * bits + u64::from(pattern.trailing_zeros());
            add(sums, self.below(level + 1, child) / bits as f64);
            pattern &= pattern - 1;
        }
        from_sums(sums, bits as f64)
    }
}

/// The sums of no values.
fn none(hashes: u32) -> Sums {
    let mut sums = vec![0.0; hashes as usize + 1];
    sums[0] = 1.0;
    sums
}

/// Adds one value to `e_0 ... e_k`.
#[inline(always)]
fn add(sums: &mut [f64], value: f64) {
    for j in (1..sums.len()).rev() {
        sums[j] += sums[j - 1] * value;
    }
}

/// The sums over both sets of values.
fn product(a: &[f64], b: &[f64]) -> Sums {
    (0..a.len())
        .map(|j| (0..=j).map(|i| a[i] * b[j - i]).sum())
        .collect()
}

/// The rate of a filter of `bits` bits from `e_0 ... e_k` of f / m.
fn from_sums(sums: &[f64], bits: f64) -> f64 {
    let hashes = sums.len() - 1;
    // The number of ways in which k functions can hit exactly j given bits: S(k, j) = j (S(k-1, j) + S(k-1, j-1)).
    let mut ways = [0.0; bloomgrove::MAX_HASHES as usize + 1];
    ways[0] = 1.0;
    for _ in 0..hashes {
        for j in (1..=hashes).rev() {
            ways[j] = j as f64 * (ways[j] + ways[j - 1]);
        }
        ways[0] = 0.0;
    }
    (1..=hashes)
        .map(|j| ways[j] * sums[j] * bits.powi(j as i32 - hashes as i32))
        .sum()
}

/// Draws paths along set bits.
struct Draw<'a> {
    words: &'a [u64],
    shape: &'a super::TreeShape,
    random: Xoshiro256PlusPlus,
    /// The logarithm of the root's probability.
    root: f64,
    /// The set bits of each part of the root, if they are too few to be found by guessing.
    ones: Vec<Option<Vec<u64>>>,
}

impl<'a> Draw<'a> {
    fn of<S: AsRef<[u64]>>(tree: &'a BloomTree<S>, seed: u64) -> Self {
        let (shape, words) = (&tree.shape, tree.words());
        let hashes = shape.levels()[0].hashes;
        let parts = if shape.is_partitioned() { hashes } else { 1 };
        let part = shape.part_bits();
        let mut root = 0.0;
        let mut ones = Vec::new();
        for number in 0..u64::from(parts) {
            let (first, last) = (number * part, (number + 1) * part);
            let set = super::count_between(words, first, last);
            root += f64::from(hashes / parts) * (set as f64 / part as f64).ln();
            let listed = set < u64::from(hashes) || set < part / 64;
            ones.push(listed.then(|| (first..last).filter(|bit| bits::get(words, *bit)).collect()));
        }
        Self {
            words,
            shape,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            root,
            ones,
        }
    }

    fn way(&mut self) -> Posterior {
        let depth = self.shape.depth();
        let mut levels = vec![0.0; depth];
        levels[0] = self.root;
        let mut filters = self.roots();
        for (level, chance) in levels.iter_mut().enumerate().skip(1) {
            let super::Level { bits, hashes } = self.shape.levels()[level];
            let mut children = Vec::new();
            for &filter in &filters {
                let pattern = super::field(self.words, self.shape.offset(level, filter), bits);
                let ones = pattern.count_ones();
                *chance += f64::from(hashes) * (f64::from(ones) / bits as f64).ln();
                if ones == 0 || level + 1 == depth {
                    continue;
                }
                let mut taken = 0u64;
                for _ in 0..hashes {
                    let number = self.random.random_range(0..ones);
                    let bit = nth_one(pattern, number);
                    if taken >> bit & 1 == 0 {
                        taken |= 1 << bit;
                        children.push(filter * bits + u64::from(bit));
                    }
                }
            }
            filters = children;
        }
        Posterior { levels }
    }

    /// As many distinct set bits of the root as it has hash functions, or all of them; one per part
    /// of a partitioned root.
    fn roots(&mut self) -> Vec<u64> {
        let hashes = self.shape.levels()[0].hashes as usize;
        let part = self.shape.part_bits();
        let of_each = hashes / self.ones.len();
        let mut found = Vec::with_capacity(hashes);
        for (number, ones) in self.ones.iter().enumerate() {
            let first = number as u64 * part;
            let wanted = ones
                .as_ref()
                .map_or(of_each, |ones| of_each.min(ones.len()));
            let until = found.len() + wanted;
            while found.len() < until {
                let bit = match ones {
                    Some(ones) => ones[self.random.random_range(0..ones.len())],
                    None => first + self.random.random_range(0..part),
                };
                if bits::get(self.words, bit) && !found.contains(&bit) {
                    found.push(bit);
                }
            }
        }
        found
    }
}

/// The position of set bit number `number`, from the lowest.
fn nth_one(mut pattern: u64, number: u32) -> u32 {
    for _ in 0..number {
        pattern &= pattern - 1;
    }
    pattern.trailing_zeros()
}
