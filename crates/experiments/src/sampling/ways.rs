//! The methods of reconstructing a set, each timed and counted, on one processor.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;
use bloomgrove::Filter;
use bloomgrove::sample::{Names, Reconstruction, SampleOptions, Way};
use bloomgrove_trees::bloom_sample_tree::{
    Bits, BloomSampleTree, HashInvert, Operations, Threshold, dictionary_attack,
};

use super::setup::Setup;

/// The number of rounds; the shortest time counts.
const ROUNDS: u32 = 3;

/// The cost of a reconstruction, and how many names it found; or means of these.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub(super) intersections: f64,
    pub(super) queries: f64,
    pub(super) milliseconds: f64,
    pub(super) found: f64,
}

impl Cost {
    /// Measures a function that returns its operations and how many names it found. It runs a few
    /// times, of which the shortest counts, because noise only adds to it.
    fn of(mut run: impl FnMut(&mut Operations, &mut u64) -> Result<()>) -> Result<Self> {
        let mut cost = Self {
            milliseconds: f64::INFINITY,
            ..Self::default()
        };
        for _ in 0..ROUNDS {
            let (mut work, mut found) = (Operations::default(), 0);
            let start = Instant::now();
            run(&mut work, &mut found)?;
            let milliseconds = start.elapsed().as_secs_f64() * 1e3;
            cost = Self {
                milliseconds: milliseconds.min(cost.milliseconds),
                intersections: work.intersections as f64,
                queries: work.memberships as f64,
                found: found as f64,
            };
        }
        Ok(cost)
    }

    /// Adds another with a weight.
    pub(super) fn add(&mut self, weight: f64, other: &Self) {
        self.intersections += weight * other.intersections;
        self.queries += weight * other.queries;
        self.milliseconds += weight * other.milliseconds;
        self.found += weight * other.found;
    }
}

/// With the paper's tree (section 6).
pub(super) fn by_tree(
    tree: &BloomSampleTree,
    query: &Filter,
    threshold: Threshold,
) -> Result<Cost> {
    Cost::of(|work, found| Ok(tree.reconstruct(query, threshold, work, |_| *found += 1)?))
}

/// With the paper's HashInvert (section 4).
pub(super) fn by_hash_invert(setup: &Setup, query: &Filter, from: Bits) -> Result<Cost> {
    let invert = HashInvert::new(query, setup.range())?;
    Cost::of(|work, found| Ok(invert.reconstruct(from, work, |_| *found += 1)?))
}

/// By testing every name.
pub(super) fn by_attack(setup: &Setup, query: &Filter) -> Result<Cost> {
    Cost::of(|work, found| {
        dictionary_attack(query, setup.range(), work, |_| *found += 1);
        Ok(())
    })
}

/// With our reconstruction.
pub(super) fn by_ours<'a>(
    query: &'a Filter,
    names: impl Into<Names<'a>>,
    way: Way,
) -> Result<Cost> {
    let options = SampleOptions {
        way: Some(way),
        threads: Some(1),
        ..SampleOptions::default()
    };
    let names = names.into();
    Cost::of(|work, found| {
        let all = Reconstruction::with(query, names, &options)?;
        let done = all.run(|some| {
            *found += some.names().len() as u64;
            ControlFlow::Continue(())
        });
        work.memberships = done.tests;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use bloomgrove::sample::{NameIndex, NameIndexOptions, Namespace};

    use super::super::setup::{Hashing, PAPER, Spread};
    use super::*;

    #[test]
    fn all_exact_ways_find_the_same() -> Result<()> {
        let setup = Setup {
            names: 20_000,
            items: 300,
            accuracy: 0.7,
            hashing: Hashing::Simple,
            ..Setup::DEFAULT
        };
        let tree = setup.tree()?;
        let names = Namespace::range(setup.range())?;
        let index = NameIndex::build(tree.params(), names, NameIndexOptions::default())?;
        for spread in Spread::ALL {
            let query = Setup::query(tree.params(), &setup.set(spread, 0))?;
            let all = by_attack(&setup, &query)?;
            assert_eq!(all.queries, 20_000.0);
            let others = [
                by_hash_invert(&setup, &query, Bits::Set)?,
                by_hash_invert(&setup, &query, Bits::Unset)?,
                by_tree(&tree, &query, Threshold::Safe)?,
                by_tree(&tree, &query, Threshold::NoCommonBit)?,
                by_ours(&query, &index, Way::Index)?,
                by_ours(&query, index.namespace(), Way::Invert)?,
                by_ours(&query, index.namespace(), Way::Scan)?,
            ];
            for other in others {
                assert_eq!(other.found, all.found);
            }
            assert!(by_tree(&tree, &query, PAPER)?.found <= all.found);
        }
        Ok(())
    }
}
