//! Figures 8 to 12: what reconstructing a set costs, and how much of it is found.
//!
//! All with the simple functions modulo a prime, since HashInvert needs functions that can be
//! turned round. The dictionary attack and HashInvert find every name that the filter
//! accepts; what the tree finds is `recall`, and what its threshold does, `thresholds`.

use std::time::Instant;

use anyhow::{Result, ensure};
use bloomgrove::Filter;
use bloomgrove::sample::{Bits, HashInvert, Operations, SampleTree, Threshold, dictionary_attack};

use super::setup::{ACCURACIES, HASHES, Hashing, ITEMS, PAPER, Setup, Spread, short};
use super::{Effort, claim, figure, table};
use crate::{Figure, Progress, Report, Stroke, Table};

const ATTACK: &str = "dictionary attack";

/// The figures of one namespace, for both kinds of sets.
struct Namespace {
    names: u64,
    operations: [&'static str; 2],
    times: Option<[&'static str; 2]>,
}

const NAMESPACES: [Namespace; 3] = [
    Namespace {
        names: 100_000,
        operations: ["fig08-uniform", "fig08-clustered"],
        times: None,
    },
    Namespace {
        names: 1_000_000,
        operations: ["fig09-uniform", "fig09-clustered"],
        times: Some(["fig11-uniform", "fig11-clustered"]),
    },
    Namespace {
        names: 10_000_000,
        operations: ["fig10-uniform", "fig10-clustered"],
        times: Some(["fig12-uniform", "fig12-clustered"]),
    },
];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let mut report = Report::default();
    let mut recall = figure("recall", ("accuracy", false), ("share found", false));
    let namespaces = NAMESPACES
        .iter()
        .filter(|one| one.names <= effort.most_names);
    for namespace in namespaces {
        let names = namespace.names;
        let mut figures = Figures {
            operations: namespace.operations.map(|id| empty(id, "operations")),
            times: namespace
                .times
                .map(|ids| ids.map(|id| empty(id, "milliseconds"))),
        };
        for accuracy in ACCURACIES {
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
                    if names == 1_000_000.min(effort.most_names) {
                        let name = format!("{}, n = {}", spread.name(), short(items));
                        let stroke = [Stroke::Solid, Stroke::Dashed][i];
                        recall.draw(&name, color, stroke, accuracy, cost.recall);
                    }
                }
            }
        }
        report.figures.extend(figures.operations);
        report.figures.extend(figures.times.into_iter().flatten());
    }
    report.figures.push(recall);
    report.tables.push(thresholds(effort, progress)?);
    let id = "fig11-uniform";
    for (items, what) in [
        (
            10_000,
            "share of bits set by 10K elements, M = 1e6, accuracy .9",
        ),
        (1000, "the same, m chosen for 1K elements"),
    ] {
        let sized = Setup {
            names: 1_000_000,
            items,
            ..Setup::DEFAULT
        };
        let bits = sized.bits().unwrap_or(1);
        let fill = bloomgrove::tune::math::fill(bits, HASHES, 10_000);
        report.claims.push(claim(id, what, 0.5, fill));
    }
    Ok(report)
}

fn empty(id: &'static str, y: &'static str) -> Figure {
    figure(id, ("accuracy", false), (y, true))
}

/// Those figures, as they fill.
struct Figures {
    operations: [Figure; 2],
    times: Option<[Figure; 2]>,
}

impl Figures {
    fn add(&mut self, i: usize, cost: &Cost, setup: &Setup, color: usize) {
        let (items, accuracy) = (short(setup.items), setup.accuracy);
        let mut operation = |what: &str, stroke, y| {
            let name = format!("{what}, n = {items}");
            self.operations[i].draw(&name, color, stroke, accuracy, y);
        };
        operation("tree: queries", Stroke::Solid, cost.tree.memberships);
        operation(
            "tree: intersections",
            Stroke::Dotted,
            cost.tree.intersections,
        );
        operation("HashInvert: queries", Stroke::Dashed, cost.set.memberships);
        if let Some(times) = &mut self.times {
            let mut time = |what: &str, stroke, y| {
                let name = format!("{what}, n = {items}");
                times[i].draw(&name, color, stroke, accuracy, y);
            };
            time("tree", Stroke::Solid, cost.tree.milliseconds);
            time(
                "HashInvert, set bits",
                Stroke::Dashed,
                cost.set.milliseconds,
            );
            time("HashInvert, unset", Stroke::Dotted, cost.unset.milliseconds);
        }
        if setup.items == Setup::DEFAULT.items {
            let color = ITEMS.len();
            let draw = |figure: &mut Figure, y| {
                figure.draw(ATTACK, color, Stroke::Solid, accuracy, y);
            };
            draw(&mut self.operations[i], setup.names as f64);
            if let Some(times) = &mut self.times {
                draw(&mut times[i], cost.attack.milliseconds);
            }
        }
    }
}

/// One way to reconstruct: means over sets.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    intersections: f64,
    memberships: f64,
    milliseconds: f64,
    found: f64,
}

impl Way {
    /// Runs a way, which reports what it found, and adds it with a weight.
    fn add(
        &mut self,
        weight: f64,
        run: impl FnOnce(&mut Operations, &mut u64) -> Result<()>,
    ) -> Result<u64> {
        let (mut work, mut found) = (Operations::default(), 0);
        let start = Instant::now();
        run(&mut work, &mut found)?;
        self.milliseconds += weight * start.elapsed().as_secs_f64() * 1e3;
        self.intersections += weight * work.intersections as f64;
        self.memberships += weight * work.memberships as f64;
        self.found += weight * found as f64;
        Ok(found)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    tree: Way,
    set: Way,
    unset: Way,
    attack: Way,
    recall: f64,
}

fn measure(setup: &Setup, tree: &SampleTree, spread: Spread, effort: Effort) -> Result<Cost> {
    // Sets of large namespaces take long, and are alike.
    let sets = (effort.sets * 1_000_000 / setup.names).clamp(1, effort.sets);
    let weight = 1.0 / sets as f64;
    let mut cost = Cost::default();
    for set in 0..sets {
        let query = Setup::query(tree.params(), &setup.set(spread, set))?;
        let found = cost.tree.add(weight, |work, found| {
            Ok(tree.reconstruct(&query, PAPER, work, |_| *found += 1)?)
        })?;
        let invert = HashInvert::new(&query, setup.range())?;
        let all = cost.set.add(weight, |work, found| {
            Ok(invert.reconstruct(Bits::Set, work, |_| *found += 1)?)
        })?;
        let same = cost.unset.add(weight, |work, found| {
            Ok(invert.reconstruct(Bits::Unset, work, |_| *found += 1)?)
        })?;
        ensure!(all == same, "{setup}: {all} names found, and {same}");
        cost.recall += weight * found as f64 / all as f64;
        if setup.items == Setup::DEFAULT.items {
            let same = attack(setup, &query, &mut cost.attack, weight)?;
            ensure!(all == same, "{setup}: {all} names found, and {same}");
        }
    }
    Ok(cost)
}

fn attack(setup: &Setup, query: &Filter, way: &mut Way, weight: f64) -> Result<u64> {
    way.add(weight, |work, found| {
        dictionary_attack(query, setup.range(), work, |_| *found += 1);
        Ok(())
    })
}

fn thresholds(effort: Effort, progress: &mut Progress<'_>) -> Result<Table> {
    let head = [
        "M",
        "empty when",
        "intersections",
        "queries",
        "ms",
        "found, %",
    ];
    let mut table = table("thresholds", &head);
    let namespaces = NAMESPACES.iter().map(|one| one.names);
    for names in namespaces.filter(|&names| names <= effort.most_names) {
        let setup = Setup {
            names,
            hashing: Hashing::Simple,
            ..Setup::DEFAULT
        };
        progress(&format!("{setup}: thresholds"))?;
        let tree = setup.tree()?;
        let query = Setup::query(tree.params(), &setup.set(Spread::Uniform, 0))?;
        let mut all = Way::default();
        attack(&setup, &query, &mut all, 1.0)?;
        let mut row = |name: &str, way: &Way| {
            table.rows.push(vec![
                short(names),
                name.to_owned(),
                format!("{:.0}", way.intersections),
                format!("{:.0}", way.memberships),
                format!("{:.2}", way.milliseconds),
                format!("{:.1}", 100.0 * way.found / all.found),
            ]);
        };
        for (name, threshold) in [
            ("estimate < 2", Threshold::Estimate(2.0)),
            ("estimate < .5", PAPER),
            ("estimate <= 0", Threshold::Estimate(0.0)),
            ("too few common bits", Threshold::Safe),
            ("no common bit", Threshold::NoCommonBit),
        ] {
            let mut way = Way::default();
            way.add(1.0, |work, found| {
                Ok(tree.reconstruct(&query, threshold, work, |_| *found += 1)?)
            })?;
            row(name, &way);
        }
        row("(dictionary attack)", &all);
    }
    Ok(table)
}
