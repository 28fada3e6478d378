//! BloomTrees for the wire: for each depth, the one that reaches a rate in the fewest bytes.
//!
//! ```text
//!   ln rate |  *                         each family (m_2 .., k_1 ..) is a curve over rho;
//!           |    *                       find a tree or two on either side of the goal,
//!   goal    |------+-----                and interpolate linearly in logarithms
//!           |        *
//!           +------------ ln rho
//! ```
//!
//! There is no formula for the rate of a tree, but it depends only on ratios: small trees are built to
//! represent large ones. Each family is first evaluated with trees of a few thousand items, and the
//! best ones again with larger trees, which also show the size of the coder's tables.

use std::io;
use std::num::NonZero;

use super::advice::{Candidate, Goal, Limits, Structure};
use super::search::{Configuration, SearchOptions};
use crate::bloom_tree::Coding;
use bloomgrove::Error;
use bloomgrove::raw::threads::by_all;

/// Items of the trees that families are compared with, and of those that decide.
const FEW: u64 = 4_000;
const MANY: u64 = 50_000;
/// The most bits of a tree that is built here: one with fewer items represents larger ones.
const LARGE: f64 = 5e7;
/// The fewest items to evaluate a tree with.
const FEWEST: u64 = 1_000;
/// How many families of a depth are evaluated twice.
const FINAL: usize = 3;
/// The rho of the first tree, and the bounds of those that are tried.
const FIRST: f64 = 0.5;
const RHO: [f64; 2] = [1e-3, 1e5];
/// The precision, as a share of the rate or the size.
const NEAR: [f64; 2] = [0.02, 0.003];
/// The most trees built for one family.
const TREES: usize = 16;
/// How many trees with other keys are built for the best one.
const AGAIN: u32 = 6;
/// The size of the tables of a tree, until a larger one gives a better value.
const TABLES: f64 = 200.0;

/// Bits of the filters below the root, and hash functions of all levels, in all combinations.
type Families = &'static [(&'static [&'static [u64]], &'static [&'static [u32]])];

/// Families that were best at some rate when many more were tried. With one hash function in every
/// filter below the root, a tree is a standard filter, so each has two somewhere. Those with many
/// are for high rates, those with few for low ones.
const FAMILIES: [Families; 3] = [
    &[
        (
            &[&[8], &[12], &[16]],
            &[&[8, 2], &[16, 2], &[12, 3], &[16, 3]],
        ),
        (&[&[4], &[8]], &[&[1, 2], &[2, 2], &[3, 2]]),
    ],
    &[
        (
            &[&[8, 4], &[12, 4], &[12, 6], &[16, 6]],
            &[&[8, 2, 1], &[8, 3, 1], &[6, 3, 2]],
        ),
        (&[&[8, 4], &[8, 8]], &[&[1, 1, 2], &[2, 1, 2], &[3, 1, 2]]),
    ],
    &[
        (&[&[8, 4, 2], &[8, 8, 4]], &[&[4, 2, 2, 1], &[3, 3, 2, 1]]),
        (&[&[8, 4, 2], &[8, 8, 4]], &[&[1, 1, 1, 2], &[2, 1, 1, 2]]),
    ],
];

/// The best tree of each depth.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(super) fn trees(items: u64, goal: Goal, limits: &Limits) -> Result<Vec<Candidate>, Error> {
    let mut found = Vec::new();
    for (depth, families) in (2..=limits.depth).zip(FAMILIES) {
        let mut all = Vec::new();
        for (bits, hashes) in families {
            for bits in *bits {
                for hashes in *hashes {
                    all.push(Configuration {
                        rho: FIRST,
                        bits: bits.to_vec(),
                        hashes: hashes.to_vec(),
                    });
                }
            }
        }
        found.extend(best(items, goal, limits, &all)?);
        debug_assert_eq!(all[0].hashes.len(), depth);
    }
    Ok(found)
}

/// The best tree of these families.
fn best(
    items: u64,
    goal: Goal,
    limits: &Limits,
    families: &[Configuration],
) -> Result<Option<Candidate>, Error> {
    let few = Judge::new(items, FEW, limits, NEAR[0]);
    let many = Judge::new(items, MANY, limits, NEAR[1]);
    let judge = |judge: &Judge, families: &[Configuration]| -> Result<Vec<Sample>, Error> {
        let solve = |at: usize| judge.solve(&families[at], goal);
        let solved = by_all(families.len(), judge.threads, solve);
        let solved: Vec<_> = solved.into_iter().collect::<Result<_, _>>()?;
        let mut solved: Vec<Sample> = solved.into_iter().flatten().collect();
        solved.sort_by(|a, b| a.other(goal).total_cmp(&b.other(goal)));
        Ok(solved)
    };
    // Those within the limits, if there are any; the others are useless.
    let mut first = judge(&few, families)?;
    let within =
        |sample: &Sample| sample.hashes <= limits.hashes && sample.memory <= limits.memory as f64;
    if first.iter().any(within) {
        first.retain(within);
    }
    let first = first.into_iter().take(FINAL);
    let first: Vec<_> = first.map(|sample| sample.configuration).collect();
    let Some(best) = judge(&many, &first)?.into_iter().next() else {
        return Ok(None);
    };
    // Again with other keys: the mean is more accurate, and shows the variation.
    let others = by_all(AGAIN as usize, many.threads, |at| {
        many.sample(best.configuration.clone(), 1 + at as u32)
    });
    let others = others.into_iter().collect::<Result<Vec<_>, _>>()?;
    let all: Vec<Sample> = others.into_iter().flatten().collect();
    let mean = |of: fn(&Sample) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let (fpr, bytes) = (mean(|sample| sample.fpr), mean(|sample| sample.bytes));
    let off = all
        .iter()
        .map(|sample| (sample.bytes / bytes - 1.0).powi(2));
    let deviation = (off.sum::<f64>() / (all.len() - 1) as f64).sqrt();
    // A larger tree varies less.
    let spread = deviation * (all[0].items as f64 / items as f64).sqrt();
    let family = bloomgrove::raw::tune::default_family(items, fpr).0;
    let shape = best.configuration.shape(items)?.with_family(family)?;
    let structure = Structure::Tree(shape);
    Ok(Some(Candidate::new(
        structure,
        bytes.ceil() as u64,
        spread,
        fpr,
    )))
}

/// A tree, and its properties with all items.
struct Sample {
    configuration: Configuration,
    fpr: f64,
    bytes: f64,
    memory: f64,
    hashes: u64,
    /// How many items it was built with.
    items: u64,
}

impl Sample {
    /// The distance from the goal, as a logarithm; above 0 if the root has too few bits.
    fn off(&self, goal: Goal) -> f64 {
        match goal {
            Goal::Fpr(fpr) => (self.fpr / fpr).ln(),
            Goal::Bytes(bytes) => (bytes as f64 / self.bytes).ln(),
        }
    }

    /// What is minimized.
    fn other(&self, goal: Goal) -> f64 {
        match goal {
            Goal::Fpr(_) => self.bytes,
            Goal::Bytes(_) => self.fpr,
        }
    }
}

struct Judge {
    /// How many items the trees represent, and how many they have at most.
    items: u64,
    sample: u64,
    /// The most bits per item.
    most: f64,
    near: f64,
    threads: NonZero<usize>,
}

impl Judge {
    fn new(items: u64, sample: u64, limits: &Limits, near: f64) -> Self {
        // Half as much again as allowed, to report that it is too much.
        let most = limits.memory as f64 * 8.0 * 1.5 / items as f64;
        Self {
            items,
            sample: sample.min(items),
            most: most.min(LARGE / FEWEST.min(items) as f64),
            near,
            threads: SearchOptions::default().threads,
        }
    }

    /// The tree of this family that meets the goal, if there is one that is not far too large. Its rho
    /// is found by linear interpolation in logarithms.
    fn solve(&self, family: &Configuration, goal: Goal) -> Result<Option<Sample>, Error> {
        // ln rho, and the distance from the goal: for trees with too few bits, too many, and the last.
        let [mut low, mut high, mut last]: [Option<[f64; 2]>; 3] = [None; 3];
        let mut at = family.rho.ln();
        for _ in 0..TREES {
            let rho = at.exp();
            if !(RHO[0]..=RHO[1]).contains(&rho) {
                return Ok(None);
            }
            let configuration = Configuration {
                rho,
                ..family.clone()
            };
            let Some(sample) = self.sample(configuration, 0)? else {
                return Ok(None);
            };
            let off = sample.off(goal);
            if off.abs() <= self.near {
                return Ok(Some(sample));
            }
            let this = Some([at, off]);
            match off > 0.0 {
                true => low = this,
                false => high = this,
            }
            at = match (low, high, last) {
                (Some(low), Some(high), _) => {
                    let edge = 0.05 * (high[0] - low[0]);
                    // Not too close to the ends, or convergence on a curve is slow.
                    meet(low, high).clamp(low[0] + edge, high[0] - edge)
                }
                // Beyond where the line through the last two meets the goal, but not too far.
                (_, _, Some(last)) => {
                    let step = 1.2 * (meet(last, [at, off]) - at);
                    at + step.abs().clamp(0.2, 2.0).copysign(off)
                }
                _ => at + 0.7f64.copysign(off),
            };
            last = this;
        }
        Ok(None)
    }

    /// Builds one tree, unless it is too large.
    fn sample(&self, configuration: Configuration, instance: u32) -> Result<Option<Sample>, Error> {
        let Ok(shape) = configuration.shape(FEWEST) else {
            return Ok(None);
        };
        let by_item = shape.bits() as f64 / FEWEST as f64;
        if by_item > self.most {
            return Ok(None);
        }
        let options = SearchOptions {
            items: self.sample.min((LARGE / by_item) as u64).max(1),
            ..SearchOptions::default()
        };
        let tree = options.tree(&configuration, instance)?;
        let coded = tree.context_entropy().iter().sum::<f64>() / 8.0;
        let tables = match self.sample > FEW || self.sample == self.items {
            true => tree.compress(Coding::Context, io::sink())? as f64 - coded,
            false => TABLES,
        };
        let scale = self.items as f64 / options.items as f64;
        Ok(Some(Sample {
            fpr: tree.expected_fpr(),
            bytes: tables + coded * scale,
            memory: by_item * self.items as f64 / 8.0,
            hashes: shape.hashes(),
            items: options.items,
            configuration,
        }))
    }
}

/// The zero of the line through two points.
fn meet(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] + (b[0] - a[0]) * a[1] / (a[1] - b[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloomgrove::raw::math;

    #[test]
    fn a_tree_of_single_hashes_is_a_standard_filter() {
        for (rho, bits, hashes) in [(4.0, &[8][..], &[2, 1][..]), (2.0, &[4, 4], &[3, 1, 1])] {
            let options = SearchOptions {
                items: 20_000,
                ..SearchOptions::default()
            };
            let configuration = Configuration {
                rho,
                bits: bits.to_vec(),
                hashes: hashes.to_vec(),
            };
            let tree = options.tree(&configuration, 0).unwrap();
            let leaves = tree.shape().level_bits(tree.shape().depth() - 1);
            let fpr = math::standard_fpr(leaves, hashes[0], options.items);
            let coded = math::compressed_bits(leaves, hashes[0], options.items);
            let context: f64 = tree.context_entropy().iter().sum();
            assert!((tree.expected_fpr() / fpr - 1.0).abs() < 0.03);
            assert!((context / coded - 1.0).abs() < 0.01, "{context} {coded}");
        }
    }

    #[test]
    fn trees_meet_what_was_asked_for() {
        for goal in [Goal::Fpr(0.2), Goal::Fpr(1e-4), Goal::Bytes(60_000)] {
            let found = trees(50_000, goal, &Limits::default()).unwrap();
            assert_eq!(found.len(), 2);
            for tree in found {
                let off = match goal {
                    Goal::Fpr(fpr) => tree.fpr / fpr,
                    Goal::Bytes(bytes) => tree.wire_bytes as f64 / bytes as f64,
                };
                assert!((off - 1.0).abs() < 0.02, "{goal:?}: {tree:?}");
            }
        }
        // Deeper ones if requested.
        let limits = Limits {
            depth: 4,
            ..Limits::default()
        };
        assert_eq!(trees(20_000, Goal::Fpr(0.3), &limits).unwrap().len(), 3);
    }
}
