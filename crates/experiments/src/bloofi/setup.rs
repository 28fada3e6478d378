//! Table 1: one setting, its tree, and the measurements of that tree.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result};
use bloomgrove::{Filter, Params, Probe};
use bloomgrove_trees::bloofi::{Bloofi, BloofiOptions, BulkOrder, Metric};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// The number of searches that a search cost is averaged over.
const SEARCHES: usize = 1000;
/// The number of insertions, removals and updates that their costs are averaged over.
const CHANGES: u32 = 200;
/// The time of a scan is averaged over fewer searches: it takes long, and varies little.
const SCANS: usize = 100;
/// The random distribution: 100 elements from a range ten times as wide.
const SPREAD: u64 = 10;
/// Similar sets in one group.
const ALIKE: u64 = 5;

/// Which elements the sets have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Set i has the integers from 100 i to 100 i + 99.
    Nonrandom,
    /// Set i has 100 integers drawn from a range with a random start: sets overlap.
    Random,
    /// Sets in groups of five, scattered: each has 100 of its group's 200 integers.
    Similar,
}

/// How the tree is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Built {
    /// One filter after the other.
    Incremental,
    /// Sorted as in the paper: each filter after its nearest.
    Bulk,
    /// Sorted and packed our way.
    BulkFast,
    /// One after the other with half the elements, then updated with the rest.
    AfterUpdates,
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
    fn rng(&self, purpose: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed << 40 ^ purpose)
    }

    fn params(&self) -> Result<Params> {
        let builder = Params::builder(self.bits, self.hashes).seed(self.seed);
        builder.build().context("the filter of Table 1")
    }

    /// The elements of set `i`.
    fn keys(&self, i: u32) -> Vec<u64> {
        let first = u64::from(i) * self.elements;
        match self.data {
            Data::Nonrandom => (first..first + self.elements).collect(),
            Data::Random => {
                let mut rng = self.rng(1 << 33 | u64::from(i));
                let all = u64::from(self.filters) * self.elements;
                let start = rng.random_range(0..all);
                let width = SPREAD * self.elements;
                let mut draw = |_| start + rng.random_range(0..width);
                (0..self.elements).map(&mut draw).collect()
            }
            Data::Similar => {
                let mut rng = self.rng(1 << 33 | u64::from(i));
                let groups = u64::from(self.filters).div_ceil(ALIKE);
                let start = rng.random_range(0..groups) * 2 * self.elements;
                let mut all: Vec<u64> = (start..start + 2 * self.elements).collect();
                all.shuffle(&mut rng);
                all.truncate(self.elements as usize);
                all
            }
        }
    }

    fn filter(&self, params: &Params, keys: &[u64]) -> Result<Filter> {
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
            Built::Incremental => {
                let mut tree = Bloofi::new(params.clone(), options)?;
                for i in 0..self.filters {
                    tree.insert(i, &self.filter(&params, &self.keys(i))?)?;
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
    fn probes(&self, params: &Params, count: usize) -> Vec<Probe> {
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
        let probes = self.probes(tree.params(), SEARCHES);
        let mut found = Vec::new();
        let mut checked = 0;
        let start = Instant::now();
        for probe in &probes {
            found.clear();
            checked += tree.search(probe.positions(), &mut found);
            black_box(&found);
        }
        let search_time = start.elapsed().as_secs_f64() * 1e3 / SEARCHES as f64;
        let root_fpr = tree.root().map_or(0.0, |root| root.expected_fpr());
        let storage = tree.node_count() as f64 * self.bits as f64 / 8.0;
        let (insert, delete, update) = self.change(&mut tree)?;
        Ok(Measured {
            search_cost: checked as f64 / SEARCHES as f64,
            search_time,
            insert,
            delete,
            update,
            storage,
            root_fpr,
            build_seconds,
        })
    }

    /// The mean costs of an insertion, a removal and an update. New filters are
    /// inserted, old ones updated, and as many old ones removed.
    fn change(&self, tree: &mut Bloofi) -> Result<(f64, f64, f64)> {
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
            delete += tree.remove(i * (self.filters / count)).unwrap_or(0);
        }
        let mean = |sum: u64| sum as f64 / f64::from(count);
        Ok((mean(insert), mean(delete), mean(update)))
    }

    /// The baseline: every filter queried in turn. Its cost is N; this is its time, in milliseconds.
    ///
    /// # Errors
    /// Too little memory.
    pub fn scan_time(&self) -> Result<f64> {
        let params = self.params()?;
        let filters: Vec<Filter> = (0..self.filters)
            .map(|i| self.filter(&params, &self.keys(i)))
            .collect::<Result<_>>()?;
        let probes = self.probes(&params, SCANS);
        let mut least = f64::INFINITY;
        for some in probes.chunks(SCANS / 5) {
            let start = Instant::now();
            for probe in some {
                let hits = filters.iter().filter(|filter| filter.contains_probe(probe));
                black_box(hits.count());
            }
            least = least.min(start.elapsed().as_secs_f64() * 1e3 / some.len() as f64);
        }
        Ok(least)
    }

    /// The mean over runs with different seeds; for times the minimum, because noise only adds to
    /// them.
    ///
    /// # Errors
    /// Those of [`build`](Self::build).
    pub fn average(&self, built: Built, runs: u64) -> Result<Measured> {
        let mut mean = Measured {
            search_time: f64::INFINITY,
            build_seconds: f64::INFINITY,
            ..Measured::default()
        };
        for seed in 1..=runs {
            let one = Setup {
                seed,
                ..self.clone()
            };
            mean = mean.plus(&one.measure(built)?, 1.0 / runs as f64);
        }
        Ok(mean)
    }
}

impl Measured {
    fn plus(&self, other: &Self, weight: f64) -> Self {
        Self {
            search_cost: self.search_cost + other.search_cost * weight,
            search_time: self.search_time.min(other.search_time),
            insert: self.insert + other.insert * weight,
            delete: self.delete + other.delete * weight,
            update: self.update + other.update * weight,
            storage: self.storage + other.storage * weight,
            root_fpr: self.root_fpr + other.root_fpr * weight,
            build_seconds: self.build_seconds.min(other.build_seconds),
        }
    }
}
