//! BloomTrees for the wire: of each depth, the one that reaches a rate in the fewest bytes.
//!
//! ```text
//!   ln rate |  *                         each family (m_2 .., k_1 ..) is a curve over rho;
//!           |    *                       a tree or two on either side of the goal, and a
//!   goal    |------+-----                straight line between them in logarithms
//!           |        *
//!           +------------ ln rho
//! ```
//!
//! No formula has the rate of a tree, but it depends on ratios alone: small trees are built, and
//! stand for large ones. Each family is first judged by trees of a few thousand items, and the
//! best of them again by larger ones, which also say what the tables of the coder take.

use super::search::{Configuration, Options};
use super::wire::{Candidate, Goal, Limits, Structure};
use super::{genetic, math};
use crate::Error;
use crate::bloom_tree::BloomTree;

/// Items of the trees that families are compared by, and of those that decide.
const FEW: u64 = 8_000;
const MANY: u64 = 60_000;
/// How many families of a depth are judged twice.
const FINAL: usize = 4;
/// The rho of the first tree, and the widest that are tried.
const FIRST: f64 = 0.5;
const RHO: [f64; 2] = [1e-3, 1e4];
/// How near, as a share of the rate or the size, is near enough.
const NEAR: [f64; 2] = [0.01, 0.001];
/// The most trees built for one family.
const TREES: usize = 14;

/// The bits and hashes of the levels below the root that were found good, by depth.
type Families = &'static [(&'static [&'static [u64]], &'static [&'static [u32]])];

/// With one hash function in each filter below the root a tree is a standard filter, so there
/// are two in one at least. Those with many were found good for high rates, with few for low.
const FAMILIES: [Families; 3] = [
    &[
        (
            &[&[8], &[12], &[16]],
            &[&[6, 2], &[8, 2], &[12, 2], &[16, 2], &[12, 3], &[16, 3]],
        ),
        (
            &[&[4], &[8], &[16]],
            &[&[1, 2], &[2, 2], &[3, 2], &[4, 2], &[6, 3]],
        ),
    ],
    &[
        (
            &[&[8, 2], &[8, 4], &[12, 4], &[12, 6], &[16, 6]],
            &[
                &[5, 3, 1],
                &[8, 2, 1],
                &[8, 3, 1],
                &[6, 2, 2],
                &[5, 3, 2],
                &[6, 3, 2],
            ],
        ),
        (
            &[&[8, 4], &[8, 8]],
            &[&[1, 2, 1], &[2, 2, 1], &[3, 2, 1], &[1, 1, 2], &[2, 1, 2]],
        ),
    ],
    &[(
        &[&[8, 4, 2], &[4, 4, 4], &[8, 8, 4]],
        &[
            &[1, 2, 1, 1],
            &[2, 2, 1, 1],
            &[4, 2, 1, 1],
            &[4, 2, 2, 1],
            &[3, 3, 2, 1],
        ],
    )],
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
        let solved = genetic::by_all(families.len(), judge.options.threads, solve);
        let solved: Vec<_> = solved.into_iter().collect::<Result<_, _>>()?;
        let mut solved: Vec<Sample> = solved.into_iter().flatten().collect();
        solved.sort_by(|a, b| a.other(goal).total_cmp(&b.other(goal)));
        Ok(solved)
    };
    // Within the limits, if any are: the others are of no use.
    let mut first = judge(&few, families)?;
    let within = |sample: &Sample| sample.hashes <= limits.hashes;
    if first.iter().any(within) {
        first.retain(within);
    }
    let first = first.into_iter().take(FINAL);
    let first: Vec<_> = first.map(|sample| sample.configuration).collect();
    let Some(best) = judge(&many, &first)?.into_iter().next() else {
        return Ok(None);
    };
    let family = super::default_family(items, best.fpr).0;
    let shape = best.configuration.shape(items)?.with_family(family)?;
    let structure = Structure::Tree(shape);
    Ok(Some(Candidate::new(
        structure,
        best.bytes.ceil() as u64,
        best.fpr,
    )))
}

/// A tree, and what it would come to with all items.
struct Sample {
    configuration: Configuration,
    fpr: f64,
    bytes: f64,
    hashes: u64,
}

impl Sample {
    /// What was asked for, by what there is; above 1 if the root has too few bits.
    fn off(&self, goal: Goal) -> f64 {
        match goal {
            Goal::Fpr(fpr) => self.fpr / fpr,
            Goal::Bytes(bytes) => bytes as f64 / self.bytes,
        }
    }

    /// What is to be made small.
    fn other(&self, goal: Goal) -> f64 {
        match goal {
            Goal::Fpr(_) => self.bytes,
            Goal::Bytes(_) => self.fpr,
        }
    }
}

struct Judge {
    options: Options,
    items: u64,
    /// The most bits of a tree of the options' items.
    most_bits: f64,
    near: f64,
}

impl Judge {
    fn new(items: u64, sample: u64, limits: &Limits, near: f64) -> Self {
        let options = Options {
            items: sample.min(items),
            ..Options::default()
        };
        // A little more than allowed, to tell that it is too much.
        let by_item = limits.memory as f64 * 8.0 * 1.5 / items as f64;
        Self {
            most_bits: (by_item * options.items as f64).min(1e9),
            items,
            options,
            near,
        }
    }

    /// The tree of this family that meets the goal: its rho is found by lines through the
    /// logarithms. None if there is none, or only one far too large.
    fn solve(&self, family: &Configuration, goal: Goal) -> Result<Option<Sample>, Error> {
        // ln rho of a tree with too few bits and of one with too many, each with how far it is off.
        let (mut low, mut high): (Option<[f64; 2]>, Option<[f64; 2]>) = (None, None);
        let mut ln_rho = family.rho.ln();
        for _ in 0..TREES {
            if !(RHO[0].ln()..=RHO[1].ln()).contains(&ln_rho) {
                return Ok(None);
            }
            let configuration = Configuration {
                rho: ln_rho.exp(),
                ..family.clone()
            };
            let Some(sample) = self.sample(configuration)? else {
                return Ok(None);
            };
            let off = sample.off(goal).ln();
            if off.abs() <= self.near {
                return Ok(Some(sample));
            }
            match off > 0.0 {
                true => low = Some([ln_rho, off]),
                false => high = Some([ln_rho, off]),
            }
            ln_rho = match (low, high) {
                (Some([at, _]), None) => at + 0.7,
                (None, Some([at, _])) => at - 0.7,
                (Some([a, off_a]), Some([b, off_b])) => {
                    let line = a + (b - a) * off_a / (off_a - off_b);
                    // Never at the very ends, or a bent curve is crept up to.
                    line.clamp(a + 0.05 * (b - a), b - 0.05 * (b - a))
                }
                (None, None) => return Ok(None),
            };
        }
        Ok(None)
    }

    /// Builds one tree, unless it is too large.
    fn sample(&self, configuration: Configuration) -> Result<Option<Sample>, Error> {
        let Ok(shape) = configuration.shape(self.options.items) else {
            return Ok(None);
        };
        if shape.bits() as f64 > self.most_bits {
            return Ok(None);
        }
        let hashes = shape.hashes();
        let tree = self.options.tree(&configuration, 0)?;
        let (coded, fixed) = size(&tree);
        Ok(Some(Sample {
            fpr: tree.expected_fpr(),
            bytes: fixed + coded * self.items as f64 / self.options.items as f64,
            hashes,
            configuration,
        }))
    }
}

/// The bytes of a tree that grow with it, and those that do not.
fn size(tree: &BloomTree) -> (f64, f64) {
    let coded = tree.context_entropy().iter().sum::<f64>() / 8.0;
    (coded, 200.0)
}
