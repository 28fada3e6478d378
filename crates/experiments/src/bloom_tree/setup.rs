//! What all figures share: the paper's configurations and published values, trees filled with
//! random keys, and the sizes of the filters that they are compared with.

use std::fmt;

use anyhow::{Result, ensure};
pub(super) use bloomgrove::raw::math::entropy;
use bloomgrove::{Filter, MAX_HASHES, Params};
use bloomgrove_trees::bloom_tree::{BloomTree, TreeShape};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::Effort;

/// The paper's {d, rho_1, m_2.., k_1..}.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub rho: f64,
    /// m_2 and on.
    pub bits: Vec<u64>,
    /// k_1 and on.
    pub hashes: Vec<u32>,
}

impl Config {
    pub(super) fn new(rho: f64, bits: &[u64], hashes: &[u32]) -> Self {
        Self {
            rho,
            bits: bits.to_vec(),
            hashes: hashes.to_vec(),
        }
    }

    /// The same m and k on all levels but the first, as in section 7.
    pub(super) fn even(depth: usize, rho: f64, first: u32, bits: u64, hashes: u32) -> Self {
        let mut all = vec![first];
        all.resize(depth, hashes);
        Self::new(rho, &vec![bits; depth - 1], &all)
    }

    pub(super) fn depth(&self) -> usize {
        self.hashes.len()
    }

    /// The shape for at most this many items.
    pub(super) fn shape(&self, most: u64) -> Result<TreeShape> {
        Ok(TreeShape::for_items(
            most,
            self.rho,
            &self.bits,
            &self.hashes,
        )?)
    }

    /// A tree for `most` items with these keys.
    pub(super) fn build(&self, most: u64, keys: &[u64]) -> Result<BloomTree> {
        build(self.shape(most)?, keys)
    }
}

/// `3, 1, m 4 3, k 6 3 2`: depth, rho, m and k as in the rows of Table III.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, m", self.depth(), self.rho)?;
        self.bits.iter().try_for_each(|m| write!(f, " {m}"))?;
        write!(f, ", k")?;
        self.hashes.iter().try_for_each(|k| write!(f, " {k}"))
    }
}

/// The tree of figures 13 to 17, row 6 of Table III.
pub(super) fn three_levels() -> Config {
    Config::new(1.0, &[4, 3], &[6, 3, 2])
}

/// The tree of figure 12, row 7 of Table III.
pub(super) fn four_levels() -> Config {
    Config::new(1.0, &[4, 4, 5], &[6, 3, 3, 2])
}

/// A row of Table III, as printed.
pub(super) struct Row {
    pub config: Config,
    /// The geometric mean, called the mean posterior FP probability.
    pub geometric: f64,
    pub by_cbf: f64,
    pub by_sbf: f64,
    /// W / M.
    pub coded: f64,
    /// M / n.
    pub stored: f64,
    /// Hash functions, relative to the standard filter.
    pub hashes: f64,
    /// Time, relative to the standard filter: of a query according to the text, of an insertion
    /// according to the table's note.
    pub time: f64,
}

pub(super) fn table_3() -> [Row; 8] {
    let row = |rho, bits: &[u64], hashes: &[u32], printed: [f64; 7]| Row {
        config: Config::new(rho, bits, hashes),
        geometric: printed[0],
        by_cbf: printed[1],
        by_sbf: printed[2],
        coded: printed[3],
        stored: printed[4],
        hashes: printed[5],
        time: printed[6],
    };
    [
        row(
            0.5,
            &[3],
            &[6, 1],
            [0.84, 0.33, 0.39, 0.096, 1.5, 6.0, 2.36],
        ),
        row(
            0.5,
            &[4, 3],
            &[5, 3, 2],
            [0.21, 0.43, 0.55, 0.21, 8.5, 25.0, 6.20],
        ),
        row(
            0.5,
            &[5, 3, 3],
            &[6, 3, 2, 2],
            [1.02e-5, 0.67, 0.71, 0.51, 33.0, 8.25, 5.93],
        ),
        row(
            0.5,
            &[4, 4, 2, 3],
            &[6, 3, 3, 1, 2],
            [2.01e-12, 0.93, 0.90, 0.67, 74.6, 6.15, 5.46],
        ),
        row(
            1.0,
            &[4],
            &[6, 3],
            [0.38, 0.38, 0.49, 0.20, 4.88, 12.0, 3.53],
        ),
        row(
            1.0,
            &[4, 3],
            &[6, 3, 2],
            [0.0026, 0.59, 0.69, 0.50, 16.6, 7.5, 4.46],
        ),
        row(
            1.0,
            &[4, 4, 5],
            &[6, 3, 3, 2],
            [2.55e-22, 0.91, 0.85, 0.87, 98.6, 1.86, 2.50],
        ),
        row(
            1.0,
            &[2, 4, 2, 7],
            &[4, 1, 3, 1, 1],
            [5.37e-13, 1.35, 1.30, 0.55, 139.0, 1.1, 1.13],
        ),
    ]
}

/// Keys drawn from all 64-bit numbers, as in section 6.3.3.
pub(super) fn keys(count: u64, seed: u64) -> Vec<u64> {
    let mut rng = StdRng::seed_from_u64(seed);
    (0..count).map(|_| rng.random()).collect()
}

pub(super) fn build(shape: TreeShape, keys: &[u64]) -> Result<BloomTree> {
    let mut tree = BloomTree::new(shape)?;
    tree.insert_batch(keys);
    Ok(tree)
}

/// A standard filter with these keys.
pub(super) fn filter(bits: u64, hashes: u32, keys: &[u64]) -> Result<Filter> {
    let mut filter = Filter::new(Params::builder(bits.max(64), hashes).build()?)?;
    filter.insert_batch(keys);
    Ok(filter)
}

/// Means over several trees of one configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    /// The paper's mean (Eq. 12), the geometric one also over the trees.
    pub geometric: f64,
    /// The rate at which absent keys are accepted, by recursion.
    pub expected: f64,
    /// Bits to send, coded by level as in the paper.
    pub coded: f64,
}

/// Trees of this configuration for `most` items with `items` in them, each with different keys: as
/// many as the effort says.
pub(super) fn rates(config: &Config, most: u64, items: u64, effort: Effort) -> Result<Rates> {
    ensure!(effort.trees > 0, "the effort must include trees");
    let mut sums = [0.0; 3];
    for seed in 0..effort.trees {
        let tree = config.build(most, &keys(items, seed))?;
        sums[0] += tree.geometric_fpr(effort.samples, seed).ln();
        sums[1] += tree.expected_fpr();
        sums[2] += coded(&tree);
    }
    let [geometric, expected, coded] = sums.map(|sum| sum / effort.trees as f64);
    Ok(Rates {
        geometric: geometric.exp(),
        expected,
        coded,
    })
}

/// W: the bits of a tree once each level is coded (Eq. 7, as intended).
pub(super) fn coded(tree: &BloomTree) -> f64 {
    tree.level_entropy().iter().sum()
}

/// Bits per item in a standard filter of this rate (Eq. 14).
pub(super) fn standard(fpr: f64) -> f64 {
    fpr.ln() / 0.6185f64.ln()
}

/// Hashes of that filter.
pub(super) fn standard_hashes(fpr: f64) -> u32 {
    (-fpr.log2()).round().max(1.0) as u32
}

/// The optimal number of hashes for this many bits per item (Eq. 3).
pub(super) fn hashes_for(bits: f64) -> u32 {
    let best = (bits * std::f64::consts::LN_2).round();
    best.clamp(1.0, f64::from(MAX_HASHES)) as u32
}

/// Bits per item of a compressed filter of this rate, in memory and coded.
pub(super) fn compressed(fpr: f64, hashes: u32) -> (f64, f64) {
    let fill = fpr.powf(1.0 / f64::from(hashes));
    let stored = f64::from(hashes) / -(-fill).ln_1p();
    (stored, stored * entropy(fill))
}

/// A filter with more bits per item than this counts as impossible.
pub(super) const INFINITE: f64 = 1e6;

/// The most hashes of a compressed filter: with few, its array is sparse. The paper uses two.
pub(super) const FEW: u32 = 3;

/// The fewest coded bits per item of a compressed filter of this rate, with 1 to 3 hashes.
pub(super) fn best_compressed(fpr: f64) -> f64 {
    let sizes = (1..=FEW).map(|hashes| compressed(fpr, hashes).1);
    sizes.fold(f64::INFINITY, f64::min)
}

/// How many keys were accepted, of how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    pub hits: u64,
    pub queries: u64,
}

impl Count {
    pub(super) fn of(keys: &[u64], accepts: impl Fn(&u64) -> bool) -> Self {
        Self {
            hits: keys.iter().filter(|key| accepts(key)).count() as u64,
            queries: keys.len() as u64,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            hits: self.hits + other.hits,
            queries: self.queries + other.queries,
        }
    }

    pub(super) fn rate(self) -> f64 {
        self.hits as f64 / self.queries as f64
    }

    /// The distance from this rate, in standard deviations.
    pub(super) fn off(self, rate: f64) -> f64 {
        let queries = self.queries as f64;
        (self.hits as f64 - rate * queries) / (rate * (1.0 - rate) * queries).sqrt()
    }
}

/// A rate or a probability, however small, or a size.
pub(super) fn small(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        huge if huge >= 1e5 => format!("{value:.1e}"),
        large if large >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}

/// The shares of `values` above each of an ascending list of limits: a complementary distribution.
pub(super) fn shares_above(
    values: &mut [f64],
    limits: impl Iterator<Item = f64>,
) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let above = |limit: f64| {
        let below = values.partition_point(|&value| value <= limit);
        (limit, (values.len() - below) as f64 / values.len() as f64)
    };
    limits.map(above).collect()
}
