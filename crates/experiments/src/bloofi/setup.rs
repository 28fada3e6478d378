//! Table 1: one setting, its tree, and the measurements of that tree.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result};
use bloomgrove::{Filter, Params, Probe};
use bloomgrove_trees::bloofi::{Bloofi, BloofiOptions, BulkOrder, Metric};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::Data;

/// The number of searches that a search cost is averaged over.
const SEARCHES: usize = 1000;
/// The number of insertions, removals and updates that their costs are averaged over.
const CHANGES: u32 = 200;
/// How often the searches are repeated for their time, which is that of the fastest pass.
const PASSES: usize = 5;

type Search = fn(&Bloofi, &[u64], &mut Vec<u32>) -> u64;

/// How the tree is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Built {
    /// One filter after the other.
    Incremental,
    /// Sorted as in the paper: each filter after its nearest.
    Bulk,
    /// Each filter after the last one, as in `Bulk`, but not sorted.
    BulkUnsorted,
    /// Sorted and packed our way.
    BulkFast,
    /// One after the other with half the elements, then updated with the rest.
    AfterUpdates,
}

/// Which child of a node is the closest to a new filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closest {
    /// The one at the least distance, the first if there are several: Algorithm 2, line 8.
    Least,
    /// As in the author's public program: a later child also replaces the best one by chance, once in as
    /// many cases as the node has children, if the best is not farther away by 0.00001 or more. This
    /// looks like a tie-break, but it applies to every child that is farther away than the best.
    OrByChance,
}

/// One column of Table 1.
#[derive(Clone, Debug)]
pub struct Setup {
    /// N.
    pub filters: u32,
    /// d.
    pub order: usize,
    /// Closeness of filters.
    pub metric: Metric,
    /// Where a new filter is inserted.
    pub closest: Closest,
    /// Whether saturated nodes are split, as in the paper's figures but not in its section 3.4.
    pub split_full: bool,
    /// The elements.
    pub data: Data,
    /// m.
    pub bits: u64,
    /// k.
    pub hashes: u32,
    /// Elements in each filter.
    pub elements: u64,
    /// For the hash and all random choices.
    pub seed: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            filters: 1000,
            order: 2,
            metric: Metric::Hamming,
            closest: Closest::Least,
            split_full: true,
            data: Data::Nonrandom,
            bits: 100_992,
            hashes: 7,
            elements: 100,
            seed: 1,
        }
    }
}

/// The measurements of one tree, or their averages over several.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Nodes checked in a search.
    pub search_cost: f64,
    /// Milliseconds of a search.
    pub search_time: f64,
    /// Milliseconds of a search branch by branch, as Algorithm 1 is printed.
    pub printed_time: f64,
    /// Filters found by a search.
    pub found: f64,
    /// Edges from the root to a leaf.
    pub height: f64,
    /// Nodes accessed by an insertion.
    pub insert: f64,
    /// Nodes accessed by a removal.
    pub delete: f64,
    /// Nodes accessed by an update.
    pub update: f64,
    /// Bytes of all values: nodes times the size of a filter.
    pub storage: f64,
    /// The false-positive rate of the root.
    pub root_fpr: f64,
    /// Seconds to build the tree, including the filters.
    pub build_seconds: f64,
}

impl Setup {
    pub(super) fn rng(&self, purpose: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed << 40 ^ purpose)
    }

    pub(super) fn params(&self) -> Result<Params> {
        let builder = Params::builder(self.bits, self.hashes).seed(self.seed);
        builder.build().context("the filter of Table 1")
    }

    pub(super) fn filter(&self, params: &Params, keys: &[u64]) -> Result<Filter> {
        let mut filter = Filter::new(params.clone())?;
        filter.insert_batch(keys);
        Ok(filter)
    }

    /// Builds the tree.
    ///
    /// # Errors
    /// Too little memory, or an invalid setup.
    pub fn build(&self, built: Built) -> Result<Bloofi> {
        let params = self.params()?;
        let options = BloofiOptions::default()
            .order(self.order)
            .metric(self.metric)
            .split_full(self.split_full);
        let bulk = |order| {
            // The first filter that cannot be created ends the build, and is reported.
            let mut failed = None;
            let filters = (0..self.filters).map_while(|i| {
                let filter = self.filter(&params, &self.keys(i));
                filter
                    .map_err(|error| failed = Some(error))
                    .ok()
                    .map(|filter| (i, filter))
            });
            let tree = Bloofi::bulk(params.clone(), options, filters, order)?;
            failed.map_or(Ok(tree), Err)
        };
        match built {
            Built::Bulk => bulk(BulkOrder::PaperChain),
            Built::BulkFast => bulk(BulkOrder::Fast),
            Built::BulkUnsorted => {
                let mut tree = Bloofi::new(params.clone(), options)?;
                for i in 0..self.filters {
                    let filter = self.filter(&params, &self.keys(i))?;
                    tree.insert_by(i, &filter, |_, _, _| true)?;
                }
                Ok(tree)
            }
            Built::Incremental => {
                let mut tree = Bloofi::new(params.clone(), options)?;
                let mut rng = self.rng(4 << 33);
                let mut closer = |least, distance, children| match self.closest {
                    Closest::Least => distance < least,
                    Closest::OrByChance => {
                        distance < least
                            || (least - distance < 1e-5 && rng.random_range(0..children) == 0)
                    }
                };
                for i in 0..self.filters {
                    let filter = self.filter(&params, &self.keys(i))?;
                    tree.insert_by(i, &filter, &mut closer)?;
                }
                Ok(tree)
            }
            Built::AfterUpdates => {
                let mut tree = Bloofi::new(params.clone(), options)?;
                let half = self.elements as usize / 2;
                for i in 0..self.filters {
                    tree.insert(i, &self.filter(&params, &self.keys(i)[..half])?)?;
                }
                for i in 0..self.filters {
                    tree.update(i, &self.filter(&params, &self.keys(i)[half..])?)?;
                }
                Ok(tree)
            }
        }
    }

    /// Keys that are in some set, hashed.
    pub(super) fn probes(&self, params: &Params, count: usize) -> Vec<Probe> {
        let mut rng = self.rng(2 << 33);
        let mut probe = |_| {
            let keys = self.keys(rng.random_range(0..self.filters));
            params.probe(&keys[rng.random_range(0..keys.len())])
        };
        (0..count).map(&mut probe).collect()
    }

    /// Builds the tree and measures everything.
    ///
    /// # Errors
    /// Those of [`build`](Self::build).
    pub fn measure(&self, built: Built) -> Result<Measured> {
        let start = Instant::now();
        let mut tree = self.build(built)?;
        let build_seconds = start.elapsed().as_secs_f64();
        let searched = self.search(&tree);
        let (insert, delete, update) = self.change(&mut tree, Bloofi::remove)?;
        Ok(Measured {
            insert,
            delete,
            update,
            build_seconds,
            ..searched
        })
    }

    /// Measures searches, and the tree itself.
    pub fn search(&self, tree: &Bloofi) -> Measured {
        // Other keys in every pass: the words of the last ones are still in the cache.
        let probes = self.probes(tree.params(), (1 + 2 * PASSES) * SEARCHES);
        let (first, others) = probes.split_at(SEARCHES);
        let mut slots = Vec::new();
        let mut pass = |search: Search, probes: &[Probe]| {
            let (mut checked, mut found) = (0, 0);
            let start = Instant::now();
            for probe in probes {
                slots.clear();
                checked += search(tree, probe.positions(), &mut slots);
                found += black_box(&slots).len();
            }
            let time = start.elapsed().as_secs_f64() * 1e3 / SEARCHES as f64;
            (time, checked, found)
        };
        let (_, checked, found) = pass(Bloofi::search, first);
        let mut passes = others.chunks(SEARCHES);
        let (mut search_time, mut printed_time) = (f64::INFINITY, f64::INFINITY);
        while let (Some(one), Some(other)) = (passes.next(), passes.next()) {
            search_time = search_time.min(pass(Bloofi::search, one).0);
            printed_time = printed_time.min(pass(Bloofi::find_matches, other).0);
        }
        Measured {
            search_cost: checked as f64 / SEARCHES as f64,
            search_time,
            printed_time,
            found: found as f64 / SEARCHES as f64,
            height: f64::from(tree.height()),
            storage: tree.node_count() as f64 * tree.params().bits() as f64 / 8.0,
            root_fpr: tree.root().map_or(0.0, |root| root.expected_fpr()),
            ..Measured::default()
        }
    }

    /// The mean cost of a removal that recomputes all values up to the root, as Algorithm 4 is printed,
    /// over runs with different seeds: of the same filters, and in the same trees, as that of
    /// [`average`](Self::average).
    ///
    /// # Errors
    /// Those of [`build`](Self::build).
    pub fn printed_delete(&self, built: Built, runs: u64) -> Result<f64> {
        let mut sum = 0.0;
        for seed in 1..=runs {
            let one = Setup {
                seed,
                ..self.clone()
            };
            let (_, delete, _) = one.change(&mut one.build(built)?, Bloofi::remove_as_printed)?;
            sum += delete;
        }
        Ok(sum / runs as f64)
    }

    /// The mean costs of an insertion, a removal and an update. New filters are
    /// inserted, old ones updated, and as many old ones removed.
    fn change(
        &self,
        tree: &mut Bloofi,
        remove: fn(&mut Bloofi, u32) -> Option<u64>,
    ) -> Result<(f64, f64, f64)> {
        let count = CHANGES.min(self.filters / 2);
        let params = tree.params().clone();
        let (mut insert, mut delete, mut update) = (0, 0, 0);
        let mut rng = self.rng(3 << 33);
        for i in 0..count {
            let fresh = self.filter(&params, &self.keys(self.filters + i))?;
            insert += tree.insert(self.filters + i, &fresh)?.unwrap_or(0);
            let old = rng.random_range(0..self.filters);
            let more = self.filter(&params, &self.keys(2 * self.filters + i)[..1])?;
            update += tree.update(old, &more)?.unwrap_or(0);
        }
        // Every (filters / count)-th, so that the removals spread over the tree.
        for i in 0..count {
            delete += remove(tree, i * (self.filters / count)).unwrap_or(0);
        }
        let mean = |sum: u64| sum as f64 / f64::from(count);
        Ok((mean(insert), mean(delete), mean(update)))
    }

    /// The mean over runs with different seeds; for times the minimum, because noise only adds to
    /// them.
    ///
    /// # Errors
    /// Those of [`build`](Self::build).
    pub fn average(&self, built: Built, runs: u64) -> Result<Measured> {
        let [mean] = Self::compare(&[(self.clone(), built)], runs, || Ok(()))?;
        Ok(mean)
    }

    /// Like [`average`](Self::average) for several trees in turn, so that their times are measured under
    /// the same conditions. `before` is called before each one; its error ends the comparison.
    ///
    /// # Errors
    /// Those of [`build`](Self::build), and those of `before`.
    pub fn compare<const N: usize>(
        trees: &[(Self, Built); N],
        runs: u64,
        mut before: impl FnMut() -> Result<()>,
    ) -> Result<[Measured; N]> {
        let mut means = [Measured {
            search_time: f64::INFINITY,
            printed_time: f64::INFINITY,
            build_seconds: f64::INFINITY,
            ..Measured::default()
        }; N];
        for seed in 1..=runs {
            for (mean, (setup, built)) in means.iter_mut().zip(trees) {
                before()?;
                let one = Setup {
                    seed,
                    ..setup.clone()
                };
                *mean = mean.plus(&one.measure(*built)?, 1.0 / runs as f64);
            }
        }
        Ok(means)
    }
}

impl Measured {
    fn plus(&self, other: &Self, weight: f64) -> Self {
        Self {
            search_cost: self.search_cost + other.search_cost * weight,
            search_time: self.search_time.min(other.search_time),
            printed_time: self.printed_time.min(other.printed_time),
            found: self.found + other.found * weight,
            height: self.height + other.height * weight,
            insert: self.insert + other.insert * weight,
            delete: self.delete + other.delete * weight,
            update: self.update + other.update * weight,
            storage: self.storage + other.storage * weight,
            root_fpr: self.root_fpr + other.root_fpr * weight,
            build_seconds: self.build_seconds.min(other.build_seconds),
        }
    }
}
