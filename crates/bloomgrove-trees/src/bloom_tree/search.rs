//! The best BloomTrees: size on the wire against rate, over all configurations or by a genetic
//! search.
//!
//! ```text
//!   rho, m_2 .. m_d, k_1 .. k_d  -->  a tree of synthetic keys  -->  rate, bits per item
//!                                                                        |
//!                      all of them (d = 2), or genetic (d >= 3)          v
//!                      ----------------------------------->  those that none beats: the front
//! ```
//!
//! Rates and sizes depend only on ratios, so trees of 10,000 items represent those of any number
//! (section 7.1).
//!
//! Source: Fu and Biersack (BloomTree), sections 6.2 and 6.3; bounds C1 and C2 of 6.3.1. We differ in
//! what is minimized: by default the rate at which absent keys are accepted, and the bits of a
//! context-coded tree. The paper's objectives, the geometric mean and level-coded bits, are
//! [`Objective::Geometric`]. The paper builds 500 trees per configuration; here, the rate is exact for
//! each tree, so one is enough.
//!
//! Cost: a tree of n items per configuration: 7 * 28^(d-1) of them, or at most 1,515.

use std::fmt;
use std::num::NonZero;
use std::ops::{ControlFlow, RangeInclusive};

use super::{genetic, pareto};
use crate::bloom_tree::{BloomTree, TreeShape};
use bloomgrove::Error;
use bloomgrove::raw::hash::mix;
use bloomgrove::raw::math;
use bloomgrove::raw::numbers::Grouped;
use bloomgrove::raw::threads::by_all;

/// C1: the hash functions of the root.
pub const ROOT_HASHES: RangeInclusive<u32> = 2..=8;
/// C2: the bits of a filter below the root.
pub const FILTER_BITS: RangeInclusive<u32> = 2..=8;
/// C2: the hash functions of a filter below the root.
pub const FILTER_HASHES: RangeInclusive<u32> = 1..=4;

/// What is minimized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The false-positive rate, and the bits of a context-coded tree.
    #[default]
    Exact,
    /// The paper's: the geometric mean, which is not a rate, and the bits of a level-coded tree.
    Geometric,
}

/// The configuration of a tree, independent of the number of its items.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Bits of the root per item: rho_1.
    pub rho: f64,
    /// Bits of the filters of each level below the root: m_2 to m_d.
    pub bits: Vec<u64>,
    /// Hash functions of each level: k_1 to k_d.
    pub hashes: Vec<u32>,
}

impl Configuration {
    /// The shape for this many items.
    ///
    /// # Errors
    /// [`Error::Params`] if there is no such tree.
    pub fn shape(&self, items: u64) -> Result<TreeShape, Error> {
        TreeShape::for_items(items, self.rho, &self.bits, &self.hashes)
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: Vec<String>| numbers.join(" ");
        write!(
            f,
            "rho {:.4}, m {}, k {}",
            self.rho,
            list(self.bits.iter().map(u64::to_string).collect()),
            list(self.hashes.iter().map(u32::to_string).collect())
        )
    }
}

/// The properties of a configuration. Bits are per item.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// The configuration.
    pub configuration: Configuration,
    /// The false-positive rate.
    pub expected_fpr: f64,
    /// The paper's geometric mean. Not a rate.
    pub geometric_fpr: f64,
    /// On the wire, coded level by level as in the paper (Eq. 7).
    pub level_bits: f64,
    /// On the wire, coded by context.
    pub context_bits: f64,
    /// In memory.
    pub storage_bits: f64,
    /// How many hash functions are computed for a present key.
    pub hashes: u64,
}

impl Evaluation {
    /// Its size, coded by context, relative to the best standard filter of the same rate.
    pub fn ratio(&self) -> f64 {
        self.context_bits / math::optimal_bits(1, self.expected_fpr)
    }

    /// The paper's ratio: its size, coded by level, relative to a standard filter whose *rate* is the
    /// tree's *geometric mean*. The two are not comparable.
    pub fn published_ratio(&self) -> f64 {
        self.level_bits / math::optimal_bits(1, self.geometric_fpr)
    }

    /// The values that `objective` minimizes, as logarithms: differences are then ratios, and rates of
    /// many orders of magnitude are spread out.
    fn values(&self, objective: Objective) -> [f64; 2] {
        match objective {
            Objective::Exact => logarithms(self.expected_fpr, self.context_bits),
            Objective::Geometric => logarithms(self.geometric_fpr, self.level_bits),
        }
    }
}

/// Avoids zeros: a tree full of ones takes no bits, and a rate may be too low for a float.
fn logarithms(fpr: f64, bits: f64) -> [f64; 2] {
    [fpr.max(1e-300).ln(), bits.max(1e-6).ln()]
}

/// How configurations are evaluated.
#[derive(Clone, Debug)]
pub struct SearchOptions {
    /// The number of items of a tree.
    pub items: u64,
    /// The number of trees to evaluate each configuration with.
    pub instances: u32,
    /// The number of paths for a geometric mean (N_b of Eq. 12).
    pub samples: u32,
    /// What is minimized.
    pub objective: Objective,
    /// The random seed of the keys.
    pub seed: u64,
    /// The number of configurations to evaluate concurrently.
    pub threads: NonZero<usize>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            items: 10_000,
            instances: 1,
            samples: 5000,
            objective: Objective::default(),
            seed: 1,
            threads: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
        }
    }
}

impl SearchOptions {
    /// A tree of synthetic keys: distinct 64-bit numbers.
    pub(super) fn tree(
        &self,
        configuration: &Configuration,
        instance: u32,
    ) -> Result<BloomTree, Error> {
        let mut tree = BloomTree::new(configuration.shape(self.items)?)?;
        let first = mix(self.seed).wrapping_add(u64::from(instance).wrapping_mul(self.items));
        for number in 0..self.items {
            tree.insert(&mix(first.wrapping_add(number)));
        }
        Ok(tree)
    }

    /// The mean of `measure` over the trees.
    fn mean<const N: usize>(
        &self,
        configuration: &Configuration,
        measure: impl Fn(&BloomTree) -> [f64; N],
    ) -> Result<[f64; N], Error> {
        let instances = self.instances.max(1);
        let mut sums = [0.0; N];
        for instance in 0..instances {
            let found = measure(&self.tree(configuration, instance)?);
            for (sum, found) in sums.iter_mut().zip(found) {
                *sum += found;
            }
        }
        Ok(sums.map(|sum| sum / f64::from(instances)))
    }

    fn by_item(&self, levels: &[f64]) -> f64 {
        levels.iter().sum::<f64>() / self.items as f64
    }

    /// Evaluates a configuration.
    ///
    /// # Errors
    /// [`Error::Params`] if there is no such tree, [`Error::OutOfMemory`].
    pub fn evaluate(&self, configuration: &Configuration) -> Result<Evaluation, Error> {
        let shape = configuration.shape(self.items)?;
        let [expected_fpr, ln_geometric, level_bits, context_bits] =
            self.mean(configuration, |tree| {
                [
                    tree.expected_fpr(),
                    tree.geometric_fpr(self.samples, self.seed).ln(),
                    self.by_item(&tree.level_entropy()),
                    self.by_item(&tree.context_entropy()),
                ]
            })?;
        Ok(Evaluation {
            configuration: configuration.clone(),
            expected_fpr,
            geometric_fpr: ln_geometric.exp(),
            level_bits,
            context_bits,
            storage_bits: shape.bits() as f64 / self.items as f64,
            hashes: shape.hashes(),
        })
    }

    /// Only the [`Evaluation::values`] of [`evaluate`](Self::evaluate).
    fn values(&self, configuration: &Configuration) -> Result<[f64; 2], Error> {
        Ok(match self.objective {
            Objective::Exact => {
                let [fpr, bits] = self.mean(configuration, |tree| {
                    [tree.expected_fpr(), self.by_item(&tree.context_entropy())]
                })?;
                logarithms(fpr, bits)
            }
            Objective::Geometric => {
                let [ln_fpr, bits] = self.mean(configuration, |tree| {
                    let fpr = tree.geometric_fpr(self.samples, self.seed);
                    [fpr.ln(), self.by_item(&tree.level_entropy())]
                })?;
                logarithms(ln_fpr.exp(), bits)
            }
        })
    }
}

/// The result of a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Front {
    /// The configurations that none beats, in ascending order of rates.
    pub evaluations: Vec<Evaluation>,
    /// The number of configurations evaluated.
    pub tried: u64,
    /// The number of all configurations.
    pub possible: u64,
    /// The number of rounds of a genetic search.
    pub rounds: Option<u32>,
}

impl Front {
    /// How far this front lags behind the other: 0.02 if nothing here comes closer than 2% to the rate
    /// and the size of some configuration of the other.
    pub fn lag(&self, other: &Front, objective: Objective) -> f64 {
        let values = |front: &Front| -> Vec<[f64; 2]> {
            let of = |evaluation: &Evaluation| evaluation.values(objective);
            front.evaluations.iter().map(of).collect()
        };
        pareto::lag(&values(self), &values(other)).exp_m1()
    }
}

/// The configurations of a depth, as genes: which rho, m_2 to m_d, k_1 to k_d.
struct Space<'a> {
    depth: usize,
    rhos: &'a [f64],
}

impl<'a> Space<'a> {
    fn new(depth: usize, rhos: &'a [f64]) -> Result<Self, Error> {
        if !(2..=6).contains(&depth) {
            return Err(Error::params(format!(
                "a search over trees of {depth} levels; use 2 to 6"
            )));
        }
        let wrong = rhos.iter().find(|rho| !(**rho > 0.0 && rho.is_finite()));
        if let Some(wrong) = wrong {
            return Err(Error::params(format!(
                "a root of {wrong} bits per item; rho must be above 0"
            )));
        }
        if rhos.is_empty() {
            return Err(Error::params("a search without a rho; pass at least one"));
        }
        Ok(Self { depth, rhos })
    }

    fn bounds(&self) -> Vec<RangeInclusive<u32>> {
        let mut bounds = vec![0..=self.rhos.len() as u32 - 1];
        bounds.extend(vec![FILTER_BITS; self.depth - 1]);
        bounds.push(ROOT_HASHES);
        bounds.extend(vec![FILTER_HASHES; self.depth - 1]);
        bounds
    }

    fn size(&self) -> u64 {
        let wide = |bound: &RangeInclusive<u32>| u64::from(bound.end() - bound.start() + 1);
        self.bounds().iter().map(wide).product()
    }

    fn configuration(&self, genes: &[u32]) -> Configuration {
        let (bits, hashes) = genes[1..].split_at(self.depth - 1);
        Configuration {
            rho: self.rhos[genes[0] as usize],
            bits: bits.iter().map(|&bits| bits.into()).collect(),
            hashes: hashes.to_vec(),
        }
    }

    /// Configuration `number` of all.
    fn genes(&self, mut number: u64) -> Vec<u32> {
        let gene = |bound: &RangeInclusive<u32>| {
            let wide = u64::from(bound.end() - bound.start() + 1);
            let gene = bound.start() + (number % wide) as u32;
            number /= wide;
            gene
        };
        self.bounds().iter().map(gene).collect()
    }
}

/// The most configurations of an exhaustive search.
pub const MOST: u64 = 100_000;

/// Evaluates every configuration of a depth within C1 and C2, with each of `rhos`. `each_step` is
/// called with the number evaluated and the total; a break ends the search.
///
/// # Errors
/// [`Error::Params`] for an invalid depth, or one with more than [`MOST`] configurations;
/// [`Error::Interrupted`]; [`Error::OutOfMemory`].
pub fn exhaustive(
    depth: usize,
    rhos: &[f64],
    options: &SearchOptions,
    mut each_step: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Front, Error> {
    let space = Space::new(depth, rhos)?;
    let possible = space.size();
    if possible > MOST {
        return Err(Error::params(format!(
            "all {} configurations of {depth} levels are too many to evaluate; use the \
             genetic search",
            Grouped(possible)
        )));
    }
    let mut values = Vec::new();
    let step = 4 * options.threads.get() as u64;
    while (values.len() as u64) < possible {
        let first = values.len() as u64;
        let count = step.min(possible - first);
        let judged = by_all(count as usize, options.threads, |at| {
            let genes = space.genes(first + at as u64);
            options.values(&space.configuration(&genes))
        });
        for value in judged {
            values.push(value?);
        }
        if each_step(values.len() as u64, possible).is_break() {
            return Err(Error::Interrupted);
        }
    }
    let best = pareto::front(&values).into_iter();
    let genes: Vec<_> = best.map(|at| space.genes(at as u64)).collect();
    finish(&space, options, &genes, possible, None)
}

/// Runs a genetic search over the configurations of a depth within C1 and C2, with any of `rhos`.
/// `each_round` is called with the number of finished rounds and the maximum; a break ends the
/// search.
///
/// # Errors
/// [`Error::Params`] for an invalid depth; [`Error::Interrupted`]; [`Error::OutOfMemory`].
pub fn bred(
    depth: usize,
    rhos: &[f64],
    options: &SearchOptions,
    how: &genetic::GeneticOptions,
    mut each_round: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Front, Error> {
    let space = Space::new(depth, rhos)?;
    let judge = |genes: &[u32]| {
        let values = options.values(&space.configuration(genes))?;
        Ok(values.to_vec())
    };
    let most = u64::from(how.rounds);
    let found = genetic::minimise(&space.bounds(), how, judge, |round| {
        each_round(round.into(), most)
    })?;
    let genes: Vec<_> = found.front.into_iter().map(|found| found.genome).collect();
    finish(
        &space,
        options,
        &genes,
        found.evaluations,
        Some(found.rounds),
    )
}

/// Evaluates the best in full.
fn finish(
    space: &Space<'_>,
    options: &SearchOptions,
    genes: &[Vec<u32>],
    tried: u64,
    rounds: Option<u32>,
) -> Result<Front, Error> {
    let evaluate = |at: usize| options.evaluate(&space.configuration(&genes[at]));
    let evaluations = by_all(genes.len(), options.threads, evaluate);
    Ok(Front {
        evaluations: evaluations.into_iter().collect::<Result<_, _>>()?,
        tried,
        possible: space.size(),
        rounds,
    })
}

#[cfg(test)]
mod tests;
