//! Figures 14 to 16, and what 17 shares with them: the intersection of two sets, as the AND of two trees, and of two filters that
//! take the same number of bytes to send.
//!
//! ```text
//!   A --send W_A-->             AND        an item of neither:   must pass A and B by chance
//!   B --send W_B-->   receiver: A & B      an item of A alone:   is in A, must pass B by chance
//! ```
//!
//! The paper sets the same size by the smaller of W_A and W_B; here, the bytes of both together are
//! the same for trees and filters. Standard filters have the optimal number of hash functions for the
//! larger set (Eq. 3), and, as a second curve, the number with which the AND accepts the fewest
//! items of neither set, which is not known until both sets are. Compressed filters have two, as in
//! the paper, or the best of 1 to 3, and as large an array as these bytes allow once coded.

use anyhow::{Result, ensure};
use bloomgrove::{Filter, MAX_HASHES};
use bloomgrove_trees::bloom_tree::BloomTree;

use super::repeats::repeated;
use super::setup::{
    Count, FEW, INFINITE, coded, entropy, filter, hashes_for, keys, small, three_levels,
};
use super::{Effort, claim, figure, table};
use crate::{Claim, Figure, Progress, Report, Stroke, Table};

/// Absent keys to query.
const ASKED: u64 = 1_000_000;
/// Filters of more bits are not built: their rate is computed.
const MOST_BITS: f64 = (1u64 << 31) as f64;

const SHARES: [f64; 6] = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9];
const LOADS: [f64; 7] = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0];
const SKEWS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 12.0, 20.0];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let once = |seed, progress: &mut Progress<'_>| varied(effort, seed, progress);
    let mut repeated = repeated("fig14-repeats", effort, progress, once)?;
    repeated.tables.push(repeated.intervals);
    let claims = repeated.figures.iter().flat_map(claims).collect();
    Ok(Report {
        tables: repeated.tables,
        figures: repeated.figures,
        claims,
        ..Report::default()
    })
}

/// Figures 14 to 16 with one choice of keys.
fn varied(
    effort: Effort,
    seed: u64,
    progress: &mut Progress<'_>,
) -> Result<(Vec<Figure>, Vec<Table>)> {
    let most = effort.set_items;
    let mut figures = Vec::new();
    let mut all = cost_table("intersection");
    let sets = |a: f64, b: f64, common: f64| {
        let count = |share: f64| (share * most as f64).round() as u64;
        Sets::new([count(a), count(b), count(common)], seed)
    };
    let rate = ("rate, items of neither set", true);
    type Vary<'a> = (
        &'static str,
        &'static str,
        &'a [f64],
        &'a dyn Fn(f64) -> Sets,
    );
    let varied: [Vary<'_>; 3] = [
        ("fig14", "common items / set size", &SHARES, &|x| {
            sets(1.0, 1.0, x)
        }),
        (
            "fig15",
            "set size / n_max, half of it common",
            &LOADS,
            &|x| sets(x, x, x / 2.0),
        ),
        ("fig16", "skewness: size of A / size of B", &SKEWS, &|x| {
            sets(1.0, 1.0 / x, 0.5 / x)
        }),
    ];
    for (id, name, values, sets) in varied {
        let mut figure = figure(id, (name, false), rate);
        for &x in values {
            progress(&format!("{id}: {name} {x}"))?;
            for outcome in sets(x).outcomes(most, effort)? {
                outcome.draw_mean(&mut figure, x);
                outcome.draw(&mut figure, x, outcome.expected);
                outcome.row(&mut all, id, x);
            }
        }
        figures.push(figure);
    }
    Ok((figures, vec![all]))
}

pub(super) const TREE: &str = "BloomTree";
const MEAN: &str = "BloomTree, geo. mean";
pub(super) const SBF: &str = "standard filter";
const SBF_BEST: &str = "standard, best k";
const CBF: &str = "compressed, k = 1 to 3";
pub(super) const CBF_TWO: &str = "compressed, k = 2";

pub(super) fn cost_table(id: &'static str) -> Table {
    let head = [
        "figure",
        "x",
        "filter",
        "k",
        "M/n",
        "W/n",
        "geometric mean",
        "P_a, 99th percentile",
        "expected FPR",
        "measured, neither",
        "measured, one set only",
    ];
    table(id, &head)
}

/// How far below the other filters the tree is according to the paper, in orders of magnitude.
fn claims(figure: &Figure) -> Vec<Claim> {
    let id = figure.id;
    // "One to two orders of magnitude" in Figure 14, "several" and "orders" in 15 and 16.
    let (published, values) = match id {
        "fig14" => (1.0, [0.1, 0.9]),
        "fig15" => (2.0, [0.6, 1.0]),
        _ => (2.0, [2.0, 20.0]),
    };
    let mut claims = Vec::new();
    for x in values {
        for rival in [SBF, CBF_TWO] {
            for (kind, name) in [("geometric mean", MEAN), ("real rate", TREE)] {
                let at = |name: &str| figure.value(name, x).unwrap_or(f64::NAN);
                let orders = (at(rival) / at(name)).log10();
                let what = format!("{id}: orders of magnitude below {rival}, {kind}, at {x}");
                if orders.is_finite() {
                    claims.push(claim(id, &what, published, orders));
                }
            }
        }
    }
    claims
}

/// Two sets: their common items, and those of each alone.
pub(super) struct Sets {
    /// Of the keys, and of the paths through trees.
    seed: u64,
    common: Vec<u64>,
    a: Vec<u64>,
    b: Vec<u64>,
}

/// Bits and hashes of a filter.
type Kind = (f64, u32);

/// The results of one kind of filter for two sets.
pub(super) struct Outcome {
    name: &'static str,
    color: usize,
    stroke: Stroke,
    hashes: String,
    /// Bits of one filter in memory, and of both together once coded, per item of A.
    stored: f64,
    coded: f64,
    /// Only for trees, because filters have a single rate.
    geometric: Option<(f64, f64)>,
    expected: f64,
    /// Counted over items of neither set, and of one set only. None if too large to build.
    counted: Option<[Count; 2]>,
}

impl Outcome {
    pub(super) fn neither(&self) -> f64 {
        self.counted
            .map_or(self.expected, |counted| counted[0].rate())
    }

    pub(super) fn one(&self) -> f64 {
        self.counted.map_or(f64::NAN, |counted| counted[1].rate())
    }

    pub(super) fn draw(&self, figure: &mut Figure, x: f64, rate: f64) {
        figure.draw(self.name, self.color, self.stroke, x, rate);
    }

    pub(super) fn draw_mean(&self, figure: &mut Figure, x: f64) {
        if let Some((geometric, _)) = self.geometric {
            figure.draw(MEAN, self.color, Stroke::Dashed, x, geometric);
        }
    }

    pub(super) fn row(&self, table: &mut Table, figure: &str, x: f64) {
        let counted = |i: usize| match self.counted {
            Some(counted) if counted[i].queries == 0 => "-".to_owned(),
            Some(counted) if counted[i].hits == 0 => format!("none of {}", counted[i].queries),
            Some(counted) => small(counted[i].rate()),
            None => "not built".to_owned(),
        };
        table.rows.push(vec![
            figure.to_owned(),
            x.to_string(),
            self.name.to_owned(),
            self.hashes.clone(),
            small(self.stored),
            format!("{:.2}", self.coded),
            self.geometric
                .map_or("-".to_owned(), |means| small(means.0)),
            self.geometric
                .map_or("-".to_owned(), |means| small(means.1)),
            small(self.expected),
            counted(0),
            counted(1),
        ]);
    }
}

impl Sets {
    /// This many items in A, in B, and in both.
    pub(super) fn new([a, b, common]: [u64; 3], seed: u64) -> Self {
        let keys = |count, number| keys(count, number + 10 * seed);
        Self {
            seed,
            common: keys(common, 1),
            a: keys(a - common, 2),
            b: keys(b - common, 3),
        }
    }

    pub(super) fn outcomes(&self, most: u64, effort: Effort) -> Result<Vec<Outcome>> {
        let absent = keys(effort.queries.min(ASKED), 4 + 10 * self.seed);
        let (tree, bits) = self.by_trees(most, &absent, effort)?;
        let by_rate = |x: &Kind, y: &Kind| self.rate(*x).total_cmp(&self.rate(*y));
        let larger = self.items().into_iter().fold(1.0, f64::max);
        let half = bits / 2.0;
        let usual = (half, hashes_for(half / larger));
        let best = (1..=MAX_HASHES).map(|k| (half, k)).min_by(by_rate);
        let sparse = |k: u32| (self.sparse_bits(bits, k), k);
        let finite = |kind: &Kind| kind.0 / larger < INFINITE;
        let few = (1..=FEW).map(sparse).filter(finite).min_by(by_rate);
        let two = Some(sparse(2)).filter(finite);
        let mut outcomes = vec![tree];
        for (name, color, stroke, kind) in [
            (SBF, 1, Stroke::Solid, Some(usual)),
            (SBF_BEST, 1, Stroke::Dotted, best),
            (CBF, 2, Stroke::Solid, few),
            (CBF_TWO, 3, Stroke::Dotted, two),
        ] {
            // A compressed filter of this many bytes may have no finite size.
            if let Some(kind) = kind {
                outcomes.push(self.by_filters(name, color, stroke, kind, &absent)?);
            }
        }
        Ok(outcomes)
    }

    fn items(&self) -> [f64; 2] {
        [&self.a, &self.b].map(|own| (own.len() + self.common.len()) as f64)
    }

    /// Both trees and their AND, and the bits to send both.
    fn by_trees(&self, most: u64, absent: &[u64], effort: Effort) -> Result<(Outcome, f64)> {
        let config = three_levels();
        let build = |own: &[u64]| -> Result<BloomTree> {
            let mut tree = config.build(most, &self.common)?;
            tree.insert_batch(own);
            Ok(tree)
        };
        let (mut both, b) = (build(&self.a)?, build(&self.b)?);
        let bits = coded(&both) + coded(&b);
        both.intersect_with(&b)?;
        let found = both.contains_batch(&self.common);
        ensure!(found.iter().all(|found| *found), "a common key was lost");
        let counted = |keys: &[u64]| Count::of(keys, |key| both.contains(key));
        let counted = [counted(absent), counted(&self.a).and(counted(&self.b))];
        let expected = both.expected_fpr();
        // The AND has set bits above empty filters; a path that meets one would make the geometric
        // mean 0. Without those bits, it accepts the same keys.
        both.prune();
        let mut ways: Vec<f64> = both
            .posteriors(effort.samples, 1 + self.seed)
            .iter()
            .map(|way| way.ln())
            .collect();
        ways.sort_by(f64::total_cmp);
        let geometric = (ways.iter().sum::<f64>() / ways.len() as f64).exp();
        let tail = ways.get(ways.len() * 99 / 100).map_or(0.0, |way| way.exp());
        let items = self.items()[0];
        let outcome = Outcome {
            name: TREE,
            color: 0,
            stroke: Stroke::Solid,
            hashes: config
                .hashes
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(" "),
            stored: both.shape().bits() as f64 / items,
            coded: bits / 2.0 / items,
            geometric: Some((geometric, tail)),
            expected,
            counted: Some(counted),
        };
        Ok((outcome, bits))
    }

    fn by_filters(
        &self,
        name: &'static str,
        color: usize,
        stroke: Stroke,
        (stored, hashes): Kind,
        absent: &[u64],
    ) -> Result<Outcome> {
        let items = self.items();
        let mut outcome = Outcome {
            name,
            color,
            stroke,
            hashes: hashes.to_string(),
            stored: stored / items[0],
            coded: match name {
                // Sent uncompressed.
                SBF | SBF_BEST => stored / items[0],
                _ => self.coded((stored, hashes)) / 2.0 / items[0],
            },
            geometric: None,
            expected: self.rate((stored, hashes)),
            counted: None,
        };
        if stored > MOST_BITS {
            return Ok(outcome);
        }
        let build = |own: &[u64]| -> Result<Filter> {
            let mut filter = filter(stored as u64, hashes, &self.common)?;
            filter.insert_batch(own);
            Ok(filter)
        };
        let (mut both, b) = (build(&self.a)?, build(&self.b)?);
        both.intersect_with(&b)?;
        outcome.expected = both.fill().powi(hashes as i32);
        let counted = |keys: &[u64]| Count::of(keys, |key| both.contains(key));
        outcome.counted = Some([counted(absent), counted(&self.a).and(counted(&self.b))]);
        Ok(outcome)
    }

    /// The rate of the AND of two filters with these bits and hashes: a bit is set by a common item,
    /// or by one item of each set.
    fn rate(&self, (bits, hashes): Kind) -> f64 {
        let fill = |own: &[u64]| filled(bits, hashes, own.len() as f64);
        let common = fill(&self.common);
        let both = common + (1.0 - common) * fill(&self.a) * fill(&self.b);
        both.powi(hashes as i32)
    }

    /// The size of two filters together, once coded.
    fn coded(&self, (bits, hashes): Kind) -> f64 {
        let coded = |items: f64| bits * entropy(filled(bits, hashes, items));
        self.items().map(coded).iter().sum()
    }

    /// The size of a filter with this many hashes that takes, for both sets together, this many bits
    /// once coded.
    fn sparse_bits(&self, coded: f64, hashes: u32) -> f64 {
        let (mut low, mut high) = (1f64, 2f64.powi(200));
        while high / low > 1.0 + 1e-9 {
            let middle = (low * high).sqrt();
            match self.coded((middle, hashes)) < coded {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }
}

fn filled(bits: f64, hashes: u32, items: f64) -> f64 {
    -(-f64::from(hashes) * items / bits).exp_m1()
}
