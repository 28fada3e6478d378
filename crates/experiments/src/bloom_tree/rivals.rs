//! Figure 13: three trees with the same number of bits, and one filter without a tree.
//!
//! The paper says only that it used "recommended parameters" for Bloofi and for Yoon's tree. Here,
//! Yoon's tree has two children per vertex and three levels, so eight values; the value of each key
//! is chosen by hashing, and the number of functions is the one with the lowest rate when full.
//! Bloofi contains the set in equal parts, one per leaf, has order 2 and the optimal number of
//! functions for a full leaf, and accepts a key if any leaf does. Inner nodes are ORs of the leaves:
//! they take storage, but need not be sent.

use anyhow::Result;
use bloomgrove::{Filter, Params};
use bloomgrove_trees::bloofi::{self, BloofiOptions, BulkOrder};
use bloomgrove_trees::bloom_tree::{BloomTree, YoonTree};

use super::growth::LOADS;
use super::repeats::repeated;
use super::setup::{Count, coded, entropy, filter, hashes_for, keys, small, three_levels};
use super::{Effort, claim, figure, table};
use crate::{Figure, Progress, Report, Stroke, Table};

const DEGREE: u32 = 2;
const LEVELS: u32 = 3;
/// The numbers of parts that Bloofi divides the set into.
const LEAVES: [u32; 2] = [8, 64];
/// Absent keys to query.
const ASKED: u64 = 1_000_000;

/// The current state of a contender.
struct State {
    name: String,
    color: usize,
    stroke: Stroke,
    /// The rate at which absent keys are accepted, and the geometric mean if it differs.
    expected: f64,
    geometric: Option<f64>,
    stored: u64,
    coded: f64,
}

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let once = |seed, progress: &mut Progress<'_>| filling(effort, seed, progress);
    let mut repeated = repeated("fig13-repeats", effort, progress, once)?;
    let claims = claims(&repeated.figures[0], &repeated.figures[1]);
    repeated.tables.push(repeated.intervals);
    Ok(Report {
        tables: repeated.tables,
        figures: repeated.figures,
        claims,
        ..Report::default()
    })
}

/// All contenders with one set of keys.
fn filling(
    effort: Effort,
    seed: u64,
    progress: &mut Progress<'_>,
) -> Result<(Vec<Figure>, Vec<Table>)> {
    let most = effort.set_items;
    let keys = keys(most, 1 + 10 * seed);
    let mut contenders = Contenders::new(most)?;
    let x = ("items / n_max", false);
    let mut rates = figure("fig13a", x, ("rate", true));
    let mut sizes = figure("fig13b", x, ("bits to send / n_max", false));
    let mut inserted = 0;
    for load in LOADS {
        progress(&format!("figure 13: {load} of n_max"))?;
        let items = (load * most as f64) as usize;
        contenders.insert(&keys[inserted..items], inserted);
        inserted = items;
        for state in contenders.states(effort, seed)? {
            if let Some(geometric) = state.geometric {
                let name = format!("{}, geo. mean", state.name);
                rates.draw(&name, state.color, Stroke::Dashed, load, geometric);
            }
            rates.draw(&state.name, state.color, state.stroke, load, state.expected);
            let bits = state.coded / most as f64;
            // Both kinds of queries of Yoon's tree use the same array.
            if state.stroke == Stroke::Solid {
                sizes.draw(&state.name, state.color, state.stroke, load, bits);
            }
        }
    }
    progress("figure 13: counting")?;
    let absent = super::setup::keys(effort.queries.min(ASKED), 2 + 10 * seed);
    let head = [
        "filter",
        "M/n",
        "W/n",
        "geometric mean",
        "expected FPR",
        "measured FPR",
        "deviations off",
    ];
    let mut table = table("fig13-full", &head);
    let counts = contenders.count(&absent)?;
    for (state, count) in contenders.states(effort, seed)?.into_iter().zip(counts) {
        table.rows.push(vec![
            state.name,
            format!("{:.2}", state.stored as f64 / most as f64),
            format!("{:.2}", state.coded / most as f64),
            state.geometric.map_or("-".to_owned(), small),
            small(state.expected),
            small(count.rate()),
            format!("{:+.1}", count.off(state.expected)),
        ]);
    }
    Ok((vec![rates, sizes], vec![table]))
}

const TREE: &str = "BloomTree";
const YOON: &str = "Yoon's tree";

fn claims(rates: &Figure, sizes: &Figure) -> Vec<crate::Claim> {
    let mut claims = Vec::new();
    let bloofi = bloofi_name(LEAVES[1]);
    let at = |figure: &Figure, name: &str, x| figure.value(name, x).unwrap_or(f64::NAN);
    let mean = format!("{TREE}, geo. mean");
    for (rival, published) in [(YOON, [2.0, 5.0]), (bloofi.as_str(), [3.0, 7.0])] {
        for (load, published) in [(1.0, published[0]), (0.2, published[1])] {
            for (what, name) in [("geometric mean", mean.as_str()), ("real rate", TREE)] {
                let orders = (at(rates, rival, load) / at(rates, name, load)).log10();
                let what = format!("orders of magnitude below {rival}, {what}, load {load}");
                claims.push(claim("fig13a", &what, published, orders));
            }
        }
        let ratio = at(sizes, TREE, 1.0) / at(sizes, rival, 1.0);
        let what = format!("bits to send relative to {rival}, load 1 (2 to 3)");
        claims.push(claim("fig13b", &what, 2.5, ratio));
    }
    claims
}

fn bloofi_name(leaves: u32) -> String {
    format!("Bloofi, {leaves} leaves")
}

struct Contenders {
    tree: BloomTree,
    yoon: YoonTree,
    yoon_hashes: u32,
    bloofi: Vec<Bloofi>,
    flat: Filter,
}

impl Contenders {
    fn new(most: u64) -> Result<Self> {
        let tree = BloomTree::new(three_levels().shape(most)?)?;
        let bits = tree.shape().bits();
        let per_item = bits as f64 / most as f64;
        let yoon_hashes = yoon_hashes(per_item);
        Ok(Self {
            yoon: YoonTree::new(bits, DEGREE, LEVELS, yoon_hashes)?,
            yoon_hashes,
            bloofi: LEAVES
                .into_iter()
                .map(|leaves| Bloofi::new(bits, leaves, most))
                .collect::<Result<_>>()?,
            flat: filter(bits, hashes_for(per_item), &[])?,
            tree,
        })
    }

    /// Inserts keys; this many were inserted before.
    fn insert(&mut self, keys: &[u64], before: usize) {
        self.tree.insert_batch(keys);
        self.flat.insert_batch(keys);
        for (i, key) in keys.iter().enumerate() {
            self.yoon.insert_key(key);
            for bloofi in &mut self.bloofi {
                let leaf = (before + i) % bloofi.leaves.len();
                bloofi.leaves[leaf].insert(key);
            }
        }
    }

    fn states(&self, effort: Effort, seed: u64) -> Result<Vec<State>> {
        let state = |name: &str, color, expected, stored, coded| State {
            name: name.to_owned(),
            color,
            stroke: Stroke::Solid,
            expected,
            geometric: None,
            stored,
            coded,
        };
        let stored = self.tree.shape().bits();
        let mut states = vec![State {
            geometric: Some(self.tree.geometric_fpr(effort.samples, 1 + seed)),
            ..state(TREE, 0, self.tree.expected_fpr(), stored, coded(&self.tree))
        }];
        let levels = self.yoon.levels();
        let fill = |&(bits, ones): &(u64, u64)| ones as f64 / bits as f64;
        let yoon_coded = levels
            .iter()
            .map(|level| level.0 as f64 * entropy(fill(level)))
            .sum();
        let way: f64 = levels.iter().map(fill).product();
        let yoon = |name, expected| state(name, 1, expected, self.yoon.bits(), yoon_coded);
        states.push(yoon(YOON, self.yoon.expected_fpr()));
        states.push(State {
            stroke: Stroke::Dotted,
            ..yoon(
                "Yoon's tree, value known",
                way.powi(self.yoon_hashes as i32),
            )
        });
        for (i, bloofi) in self.bloofi.iter().enumerate() {
            let fills = bloofi.leaves.iter().map(Filter::fill);
            let bits = bloofi.params.bits() as f64;
            let hashes = bloofi.params.hashes() as i32;
            let no = fills.clone().map(|fill| (-fill.powi(hashes)).ln_1p());
            let rate = -no.sum::<f64>().exp_m1();
            let coded = fills.map(|fill| bits * entropy(fill)).sum();
            let name = bloofi_name(bloofi.leaves.len() as u32);
            states.push(state(
                &name,
                2 + i,
                rate,
                bloofi.nodes * bloofi.params.bits(),
                coded,
            ));
        }
        let fill = self.flat.fill();
        let hashes = self.flat.params().hashes() as i32;
        let bits = self.flat.params().bits();
        states.push(state(
            "standard filter",
            6,
            fill.powi(hashes),
            bits,
            bits as f64 * entropy(fill),
        ));
        Ok(states)
    }

    /// How many of these keys are accepted, in the order of the states.
    fn count(&self, absent: &[u64]) -> Result<Vec<Count>> {
        let mut counts = vec![
            Count::of(absent, |key| self.tree.contains(key)),
            Count::of(absent, |key| self.yoon.contains(key)),
            Count::of(absent, |key| self.yoon.contains_drawn(key)),
        ];
        for bloofi in &self.bloofi {
            let tree = bloofi.tree()?;
            let params = tree.params().clone();
            counts.push(Count::of(absent, |key| {
                !tree.which(&params.probe(key)).is_empty()
            }));
        }
        counts.push(Count::of(absent, |key| self.flat.contains(key)));
        Ok(counts)
    }
}

/// The number of functions with which Yoon's tree has the lowest rate when full.
fn yoon_hashes(per_item: f64) -> u32 {
    let rate = |hashes: u32| {
        let level = per_item / f64::from(LEVELS);
        let fill = 1.0 - (-f64::from(hashes) / level).exp();
        let set = fill.powi(hashes as i32);
        (0..LEVELS).fold(1.0, |below, _| {
            1.0 - (1.0 - set * below).powi(DEGREE as i32)
        })
    };
    let all = (1..=16).map(|hashes| (hashes, rate(hashes)));
    let best = all.min_by(|a, b| a.1.total_cmp(&b.1));
    best.map_or(1, |best| best.0)
}

struct Bloofi {
    params: Params,
    leaves: Vec<Filter>,
    /// Of the whole tree, including inner nodes.
    nodes: u64,
}

impl Bloofi {
    /// A tree whose nodes take this many bits.
    fn new(bits: u64, leaves: u32, most: u64) -> Result<Self> {
        let of = |params: Params| -> Result<Self> {
            let made = (0..leaves).map(|_| Filter::new(params.clone()));
            Ok(Self {
                leaves: made.collect::<Result<_, _>>()?,
                params,
                nodes: 0,
            })
        };
        // The number of nodes does not depend on their size.
        let nodes = of(Params::builder(64, 1).build()?)?.tree()?.node_count() as u64;
        let share = bits / nodes;
        let hashes = hashes_for(share as f64 * f64::from(leaves) / most as f64);
        let bloofi = of(Params::builder(share.max(64), hashes).build()?)?;
        Ok(Self { nodes, ..bloofi })
    }

    fn tree(&self) -> Result<bloofi::Bloofi> {
        let filters = self.leaves.iter().enumerate();
        let filters = filters.map(|(slot, leaf)| (slot as u32, Filter::from(leaf)));
        let options = BloofiOptions::default();
        Ok(bloofi::Bloofi::bulk(
            self.params.clone(),
            options,
            filters,
            BulkOrder::Fast,
        )?)
    }
}
