//! The expected rate of a tree under the paper's hashing, Eq. 8 and 9.
//!
//! ```text
//!   L = lcm(m_2, m_3 ...)      below the root, (h1 + c h2) mod m depends on h1 mod L and h2 mod L only:
//!                              a key belongs to one of L^2 classes, and all keys of a class
//!                              get the same answer from a filter below the root
//!
//!   share(class, r)            of the root bits with number = r modulo L, how many lead to filters
//!                              that all accept the class; coefficients repeat with period L, too.
//!                              In a partitioned root, of those of one part
//!
//!   rate = mean over h1, h2 of the product over the k_1 root bits p of  share(class, p mod L)
//! ```
//!
//! With a handful of classes, a key that passes one filter passes many: this rate is what the paper's
//! trees have, and the recursion for independent functions ([`BloomTree::expected_fpr`]) can be orders
//! of magnitude below it. The mean over h1 and h2 is taken over pseudorandom pairs, with the same seed
//! in every run.
//!
//! Two root bits of a key that coincide count twice, which matters only for roots of a few dozen bits.

use std::ops::Range;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::{BloomTree, TreeShape};
use bloomgrove::raw::bits;
use bloomgrove::raw::threads::{by_all, processors};

/// The most shares: beyond this, they would take more memory than most trees, and there are enough
/// classes for random keys to be a fair sample.
const MOST: u64 = 1 << 20;
/// How many pairs of h1 and h2 are drawn.
const DRAWS: u64 = 1 << 20;
const SEED: u64 = 0xe98;
/// As for the recursion: the same rate with any number of threads.
const PIECES: u64 = 64;

impl<S: AsRef<[u64]> + Sync> BloomTree<S> {
    /// The rate at which absent keys are accepted under Eq. 8 and 9.
    pub(super) fn double_hashing_fpr(&self) -> f64 {
        let below = &self.shape.levels()[1..];
        let period = below.iter().fold(1, |all, level| lcm(all, level.bits));
        let root = self.shape.levels()[0];
        let part = self.shape.part_bits();
        let shares = (root.bits / part).checked_mul(period.saturating_pow(3));
        if shares.is_none_or(|shares| shares > MOST) {
            return self.count_accepted(DRAWS, SEED) as f64 / DRAWS as f64;
        }
        let shares = Classes::new(&self.shape, period).shares(self.words());
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let sum: f64 = (0..DRAWS)
            .map(|_| {
                let (first, step): (u64, u64) = random.random();
                let class = (first % period * period + step % period) as usize;
                let (mut at, step) = (first % part, step % part);
                let mut rate = 1.0;
                for function in 0..u64::from(root.hashes) {
                    let number = match self.shape.is_partitioned() {
                        true => function * part + at,
                        false => at,
                    };
                    rate *= shares[(number / part) as usize][(number % period) as usize][class];
                    at = (at + step) % part;
                }
                rate
            })
            .sum();
        sum / DRAWS as f64
    }
}

/// A set of classes.
type Set = Vec<u64>;

/// Which classes have which bits in the filters below the root.
struct Classes<'a> {
    shape: &'a TreeShape,
    period: u64,
    all: Set,
    /// By level, by the filter's first coefficient modulo m, by bit: the classes that do not have
    /// that bit.
    without: Vec<Vec<Vec<Set>>>,
}

impl<'a> Classes<'a> {
    fn new(shape: &'a TreeShape, period: u64) -> Self {
        let of = |has: &dyn Fn(u64) -> bool| {
            let mut set = vec![0; (period * period).div_ceil(64) as usize];
            for class in (0..period * period).filter(|class| has(*class)) {
                bits::set(&mut set, class);
            }
            set
        };
        let of_level = |level: &super::Level| {
            let first = |coefficient: u64| {
                let without = |bit: u64| {
                    of(&|class| {
                        let (first, step) = (class / period, class % period);
                        (coefficient..coefficient + u64::from(level.hashes))
                            .all(|c| (first + c * step) % level.bits != bit)
                    })
                };
                (0..level.bits).map(without).collect()
            };
            (0..level.bits).map(first).collect()
        };
        // The root has none of these: its bits depend on more than the class.
        let below = shape.levels()[1..].iter().map(of_level);
        Self {
            shape,
            period,
            all: of(&|_| true),
            without: std::iter::once(Vec::new()).chain(below).collect(),
        }
    }

    /// By part of the root, and by number modulo the period: which share of the root bits leads to
    /// filters that accept each class.
    fn shares(&self, words: &[u64]) -> Vec<Vec<Vec<f64>>> {
        let part = self.shape.part_bits();
        let parts = self.shape.levels()[0].bits / part;
        (0..parts)
            .map(|number| self.shares_of(words, number * part..(number + 1) * part))
            .collect()
    }

    /// For these root bits.
    fn shares_of(&self, words: &[u64], roots: Range<u64>) -> Vec<Vec<f64>> {
        let piece = (roots.end - roots.start).div_ceil(PIECES);
        let pieces = (roots.end - roots.start).div_ceil(piece) as usize;
        let classes = (self.period * self.period) as usize;
        // How many there are, and how many of them accept each class.
        let empty = vec![(0u64, vec![0u64; classes]); self.period as usize];
        let counted = by_all(pieces, processors(), |number| {
            let mut counts = empty.clone();
            let mut sets = vec![self.all.clone(); self.shape.depth()];
            let first = roots.start + number as u64 * piece;
            for bit in first..(first + piece).min(roots.end) {
                let (all, accepted) = &mut counts[(bit % self.period) as usize];
                *all += 1;
                if bits::get(words, bit) {
                    self.accepted(words, 1, bit, &mut sets);
                    for class in bits::ones(&sets[0]) {
                        accepted[class as usize] += 1;
                    }
                }
            }
            counts
        });
        let of_residue = |residue: usize| {
            let all: u64 = counted.iter().map(|counts| counts[residue].0).sum();
            let share = |class: usize| {
                let accepted = counted.iter().map(|counts| counts[residue].1[class]);
                accepted.sum::<u64>() as f64 / all.max(1) as f64
            };
            (0..classes).map(share).collect()
        };
        (0..self.period as usize).map(of_residue).collect()
    }

    /// Writes the classes that a filter and all below it accept to the first of `sets`; the others are
    /// scratch space, one for each level below.
    fn accepted(&self, words: &[u64], level: usize, filter: u64, sets: &mut [Set]) {
        let Some((accepted, scratch)) = sets.split_first_mut() else {
            return;
        };
        accepted.copy_from_slice(&self.all);
        if level == self.shape.depth() {
            return;
        }
        let bits = self.shape.levels()[level].bits;
        let pattern = super::field(words, self.shape.offset(level, filter), bits);
        let coefficient = self.shape.coefficient(level, filter) % bits;
        let without = &self.without[level][coefficient as usize];
        for (bit, without) in without.iter().enumerate() {
            let is_set = pattern >> bit & 1 == 1;
            if is_set && level + 1 == self.shape.depth() {
                continue;
            }
            if is_set {
                self.accepted(words, level + 1, filter * bits + bit as u64, scratch);
                let below = accepted.iter_mut().zip(without).zip(&scratch[0]);
                below.for_each(|((word, without), below)| *word &= without | below);
            } else {
                let kept = accepted.iter_mut().zip(without);
                kept.for_each(|(word, without)| *word &= without);
            }
            if accepted.iter().all(|word| *word == 0) {
                return;
            }
        }
    }
}

fn lcm(a: u64, b: u64) -> u64 {
    let gcd = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    a / gcd(a, b) * b
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloomgrove::Derivation;

    fn tree(items: u64, rho: f64, bits: &[u64], hashes: &[u32], partitioned: bool) -> BloomTree {
        let shape = TreeShape::for_items(items, rho, bits, hashes).unwrap();
        let shape = shape
            .with_derivation(Derivation::KirschMitzenmacher)
            .unwrap();
        let shape = match partitioned {
            true => shape.partitioned().unwrap(),
            false => shape,
        };
        let mut tree = BloomTree::new(shape).unwrap();
        tree.insert_batch(&(0..items).collect::<Vec<_>>());
        tree
    }

    #[test]
    fn the_rate_expected_under_the_papers_hashing_is_the_measured_one() {
        const QUERIES: u64 = 300_000;
        // Roots with and without a factor in common with the filters below, of every kind of rate:
        // with independent functions, the fourth would accept 1 in 10^10. The last has a long period.
        for (items, rho, bits, hashes, partitioned) in [
            (20_000, 1.0, &[4, 3][..], &[6, 3, 2][..], false),
            (20_011, 1.0, &[4, 3], &[6, 3, 2], false),
            (20_000, 1.0, &[4, 3], &[6, 3, 2], true),
            (8_000, 1.0, &[4, 4, 5], &[6, 3, 3, 2], false),
            (8_000, 1.0, &[2, 4, 2, 7], &[4, 1, 3, 1, 1], false),
            (20_000, 8.0, &[], &[5], false),
            (20_000, 1.0, &[13, 8], &[3, 2, 2], false),
        ] {
            let tree = tree(items, rho, bits, hashes, partitioned);
            let accuracy = tree.accuracy(QUERIES, 7);
            let sigma = (accuracy.expected * (1.0 - accuracy.expected) / QUERIES as f64).sqrt();
            let off = accuracy.measured().unwrap() - accuracy.expected;
            // One percent for the samples, and for the root's positions.
            assert!(
                off.abs() < 4.0 * sigma + 0.01 * accuracy.expected,
                "{}: {accuracy}",
                tree.shape()
            );
        }
    }

    #[test]
    fn an_empty_tree_and_a_full_one() {
        let mut tree = tree(100, 1.0, &[3], &[2, 2], false);
        tree.clear();
        assert_eq!(tree.expected_fpr(), 0.0);
        let words = tree.words().len();
        let mut full = vec![u64::MAX; words];
        let last = tree.shape().bits() % 64;
        full[words - 1] = (1 << last) - 1;
        let full = BloomTree::from_words(tree.shape().clone(), full).unwrap();
        assert_eq!(full.expected_fpr(), 1.0);
    }
}
