//! Figures 8 to 12: the cost of reconstructing a set, and how much of it is found.
//!
//! All use the simple functions modulo a prime, because HashInvert needs functions that can be
//! inverted: on the set bits here, on the unset ones in `compared`. The dictionary attack
//! and HashInvert find every name that the filter accepts; what the tree finds is `recall`.
//! Our inversion (of the first function only) is not in the paper.

use anyhow::Result;
use bloomgrove::raw::math;
use bloomgrove::sample::{Namespace, Way};
use bloomgrove_trees::bloom_sample_tree::{Bits, BloomSampleTree};

use super::setup::{ACCURACIES, HASHES, Hashing, ITEMS, PAPER, Setup, Spread, short};
use super::ways::{Cost, by_attack, by_hash_invert, by_ours, by_tree};
use super::{Effort, claim, figure};
use crate::{Figure, Progress, Report, Stroke};

const ATTACK: &str = "dictionary attack";

/// The figures of one namespace, for both kinds of sets.
struct Captions {
    names: u64,
    operations: [&'static str; 2],
    times: Option<[&'static str; 2]>,
}

const CAPTIONS: [Captions; 3] = [
    Captions {
        names: 100_000,
        operations: ["fig08-uniform", "fig08-clustered"],
        times: None,
    },
    Captions {
        names: 1_000_000,
        operations: ["fig09-uniform", "fig09-clustered"],
        times: Some(["fig11-uniform", "fig11-clustered"]),
    },
    Captions {
        names: 10_000_000,
        operations: ["fig10-uniform", "fig10-clustered"],
        times: Some(["fig12-uniform", "fig12-clustered"]),
    },
];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let mut report = Report::default();
    let mut recall = figure("recall", ("accuracy", false), ("found, %", false));
    let namespaces = CAPTIONS.iter().filter(|one| one.names <= effort.most_names);
    for namespace in namespaces {
        let names = namespace.names;
        let mut figures = Figures {
            operations: namespace.operations.map(|id| empty(id, "operations")),
            times: namespace
                .times
                .map(|ids| ids.map(|id| empty(id, "milliseconds"))),
        };
        for accuracy in ACCURACIES {
            let mut attack = [0.0; 2];
            for (color, items) in ITEMS.into_iter().enumerate() {
                let setup = Setup {
                    names,
                    items,
                    accuracy,
                    hashing: Hashing::Simple,
                    ..Setup::DEFAULT
                };
                if setup.bits().is_none() {
                    continue;
                }
                progress(&format!("{setup}: reconstruction"))?;
                let tree = setup.tree()?;
                for (i, spread) in Spread::ALL.into_iter().enumerate() {
                    let cost = measure(&setup, &tree, spread, effort)?;
                    figures.add(i, &cost, &setup, color);
                    if items == Setup::DEFAULT.items {
                        attack[i] = cost.attack.milliseconds;
                    }
                    if names == 1_000_000.min(effort.most_names) {
                        let name = format!("{}, n = {}", spread.name(), short(items));
                        let stroke = [Stroke::Solid, Stroke::Dashed][i];
                        recall.draw(&name, color, stroke, accuracy, 100.0 * cost.recall);
                    }
                }
            }
            figures.add_attack(names, accuracy, attack);
        }
        report.figures.extend(figures.operations);
        report.figures.extend(figures.times.into_iter().flatten());
    }
    report.figures.push(recall);
    let id = "fig11-uniform";
    for (items, accuracy, what) in [
        (
            10_000,
            0.9,
            "share of bits set by 10K elements, M = 1e6, accuracy 0.9",
        ),
        (1000, 0.9, "the same, m chosen for 1K elements"),
        (
            1000,
            0.8,
            "the same, m chosen for 1K elements, accuracy 0.8",
        ),
    ] {
        let sized = Setup {
            names: 1_000_000,
            items,
            accuracy,
            ..Setup::DEFAULT
        };
        let bits = sized.bits().unwrap_or(1);
        let fill = math::fill(bits, HASHES, 10_000);
        report.claims.push(claim(id, what, 0.5, fill));
    }
    Ok(report)
}

fn empty(id: &'static str, y: &'static str) -> Figure {
    figure(id, ("accuracy", false), (y, true))
}

/// Those figures, while they are filled.
struct Figures {
    operations: [Figure; 2],
    times: Option<[Figure; 2]>,
}

impl Figures {
    fn add(&mut self, i: usize, cost: &Costs, setup: &Setup, color: usize) {
        let (items, accuracy) = (short(setup.items), setup.accuracy);
        let mut operation = |what: &str, stroke, y| {
            let name = format!("{what}, n = {items}");
            self.operations[i].draw(&name, color, stroke, accuracy, y);
        };
        operation("tree: queries", Stroke::Solid, cost.tree.queries);
        operation(
            "tree: intersections",
            Stroke::Dotted,
            cost.tree.intersections,
        );
        operation("HashInvert: queries", Stroke::Dashed, cost.invert.queries);
        if let Some(times) = &mut self.times {
            let mut time = |what: &str, stroke, y| {
                let name = format!("{what}, n = {items}");
                times[i].draw(&name, color, stroke, accuracy, y);
            };
            time("tree", Stroke::Solid, cost.tree.milliseconds);
            time(
                "HashInvert, set bits",
                Stroke::Dashed,
                cost.invert.milliseconds,
            );
            time("our inversion", Stroke::Dotted, cost.exact.milliseconds);
        }
    }

    /// The dictionary attack, after all others in the legend.
    fn add_attack(&mut self, names: u64, accuracy: f64, milliseconds: [f64; 2]) {
        let draw = |figure: &mut Figure, y| {
            figure.draw(ATTACK, ITEMS.len(), Stroke::Solid, accuracy, y);
        };
        for figure in &mut self.operations {
            draw(figure, names as f64);
        }
        for (figure, time) in self.times.iter_mut().flatten().zip(milliseconds) {
            draw(figure, time);
        }
    }
}

/// The cost of each method: means over sets.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    tree: Cost,
    invert: Cost,
    exact: Cost,
    attack: Cost,
    /// The share of the accepted names that the tree finds.
    recall: f64,
}

fn measure(setup: &Setup, tree: &BloomSampleTree, spread: Spread, effort: Effort) -> Result<Costs> {
    // Sets of large namespaces take long, and differ little.
    let sets = (effort.sets * 1_000_000 / setup.names).clamp(1, effort.sets);
    let weight = 1.0 / sets as f64;
    let names = Namespace::range(setup.range())?;
    let mut costs = Costs::default();
    for set in 0..sets {
        let query = Setup::query(tree.params(), &setup.set(spread, set))?;
        let found = by_tree(tree, &query, PAPER)?;
        costs.tree.add(weight, &found);
        let invert = by_hash_invert(setup, &query, Bits::Set)?;
        costs.invert.add(weight, &invert);
        let exact = by_ours(&query, &names, Way::Invert)?;
        costs.exact.add(weight, &exact);
        costs.recall += weight * found.found / exact.found;
        if setup.items == Setup::DEFAULT.items {
            costs.attack.add(weight, &by_attack(setup, &query)?);
        }
    }
    Ok(costs)
}
