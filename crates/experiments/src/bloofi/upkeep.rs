//! The two remedies that the paper describes and does not measure: a tree rebuilt after updates
//! (section 3.3), and one whose filters are made larger once the root is saturated (section 3.4).

use std::time::Instant;

use anyhow::Result;
use bloomgrove_trees::bloofi::{Bloofi, BulkOrder};

use super::{Built, Data, Effort, FIGURES, Setup};
use crate::paper::table;
use crate::{Progress, Report};

const FILTERS: u32 = 10_000;
/// How many times as many bits.
const FACTORS: [u64; 4] = [2, 3, 5, 10];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "sets",
        "tree",
        "filters checked per search",
        "height",
        "MB",
        "seconds",
    ];
    let mut rebuilt = table(&FIGURES, "rebuild", &head);
    let kinds = [
        ("disjoint", Data::Nonrandom),
        ("similar", Data::Similar),
        ("similar only after the updates", Data::Converging),
    ];
    for (name, data) in kinds {
        progress(&format!("rebuild, {name}"))?;
        let setup = Setup {
            filters: FILTERS.min(effort.most_filters),
            data,
            ..Setup::default()
        };
        let all_at_once = setup.build(Built::Incremental)?;
        rebuilt
            .rows
            .push(row(&setup, name, "incremental", &all_at_once, None));
        drop(all_at_once);
        let mut tree = setup.build(Built::AfterUpdates)?;
        rebuilt
            .rows
            .push(row(&setup, name, "after updates", &tree, None));
        let orders = [
            (
                "rebuilt, the paper's bulk construction",
                BulkOrder::PaperChain,
            ),
            ("rebuilt, ours", BulkOrder::Fast),
        ];
        for (how, order) in orders {
            if order == BulkOrder::PaperChain && setup.filters > effort.most_chained {
                continue;
            }
            progress(&format!("{how}, {name}"))?;
            let start = Instant::now();
            tree.rebuild(order)?;
            let seconds = start.elapsed().as_secs_f64();
            rebuilt
                .rows
                .push(row(&setup, name, how, &tree, Some(seconds)));
        }
    }
    Ok(Report {
        tables: vec![rebuilt, widened(effort, progress)?],
        ..Report::default()
    })
}

fn row(setup: &Setup, sets: &str, what: &str, tree: &Bloofi, seconds: Option<f64>) -> Vec<String> {
    let mut row = vec![sets.to_owned(), what.to_owned()];
    row.extend(numbers(setup, tree, seconds));
    row
}

/// Search cost, height, storage, and the time that something took.
fn numbers(setup: &Setup, tree: &Bloofi, seconds: Option<f64>) -> [String; 4] {
    let measured = setup.search(tree);
    [
        format!("{:.2}", measured.search_cost),
        format!("{}", measured.height),
        format!("{:.0}", measured.storage / 1e6),
        seconds.map_or(String::new(), |seconds| format!("{seconds:.2}")),
    ]
}

/// The no-split rule is on: it is the other remedy of the same section.
fn widened(effort: Effort, progress: &mut Progress<'_>) -> Result<crate::Table> {
    let head = [
        "bits m",
        "tree",
        "probf of the root",
        "filters checked per search",
        "height",
        "MB",
        "seconds",
    ];
    let mut found = table(&FIGURES, "widen", &head);
    let setup = Setup {
        filters: FILTERS.min(effort.most_filters),
        split_full: false,
        ..Setup::default()
    };
    let mut add = |what: &str, tree: &Bloofi, seconds| {
        let fpr = tree.root().map_or(0.0, |root| root.expected_fpr());
        let start = [
            tree.params().bits().to_string(),
            what.to_owned(),
            format!("{fpr:.4}"),
        ];
        let row = start.into_iter().chain(numbers(&setup, tree, seconds));
        found.rows.push(row.collect());
    };
    progress("widen")?;
    let mut tree = setup.build(Built::Incremental)?;
    add("incremental, no-split rule", &tree, None);
    let start = Instant::now();
    tree.rebuild(BulkOrder::Fast)?;
    add("rebuilt, ours", &tree, Some(start.elapsed().as_secs_f64()));
    for factor in FACTORS {
        progress(&format!("widen, {factor} times as many bits"))?;
        let params = tree.params().with_bits(setup.bits * factor)?;
        let start = Instant::now();
        tree.widen(params, |slot, filter| {
            filter.insert_batch(&setup.keys(slot));
            Ok(())
        })?;
        add("widened", &tree, Some(start.elapsed().as_secs_f64()));
    }
    Ok(found)
}
