//! Figures 5, 6 and 7: what grows with the number of filters; and storage, which the paper describes.

use anyhow::Result;

use super::{Built, Closest, Effort, Measured, Setup, figure, ideal};
use crate::paper::claim;
use crate::{Claim, Figure, Progress, Report, Stroke};

const COUNTS: [u32; 7] = [100, 300, 1000, 3000, 10_000, 30_000, 100_000];

/// N, and the search cost with and without the no-split rule of section 3.4.
const PUBLISHED: [(u32, f64, f64); 2] = [(10_000, 103.16, 111.27), (100_000, 885.66, 969.80)];

const SPLIT: &str = "incremental";
const NO_SPLIT: &str = "incremental, no-split rule";
const BY_CHANCE: &str = "author's closest child";
const NO_SPLIT_BY_CHANCE: &str = "no-split rule, author's closest child";

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let x = ("filters N", true);
    let mut cost = figure("fig05", x, ("filters checked per search", true));
    let mut time = figure("fig06", x, ("milliseconds per search", true));
    let mut change = figure("fig07", x, ("nodes accessed", false));
    let mut storage = figure("storage", x, ("megabytes", true));
    let mut claims = Vec::new();
    for filters in COUNTS.into_iter().filter(|&n| n <= effort.most_filters) {
        let at = f64::from(filters);
        let setup = Setup {
            filters,
            ..Setup::default()
        };
        progress(&format!("N = {filters}: every filter in turn"))?;
        let scan = setup.scan()?;
        cost.add("every filter in turn", at, at);
        time.add("every filter in turn", at, scan.time);
        storage.add("filters alone", at, scan.bytes / 1e6);
        for (name, mean) in measure(&setup, effort, progress)? {
            // The author's trees have the colors of those by the letter.
            match name {
                BY_CHANCE => cost.draw(name, 1, Stroke::Dashed, at, mean.search_cost),
                NO_SPLIT_BY_CHANCE => cost.draw(name, 2, Stroke::Dashed, at, mean.search_cost),
                _ => {
                    cost.add(name, at, mean.search_cost);
                    time.add(name, at, mean.search_time);
                    storage.add(name, at, mean.storage / 1e6);
                }
            }
            if name == SPLIT {
                time.add("incremental, as printed", at, mean.printed_time);
                change.add("insert", at, mean.insert);
                change.add("delete, our shortcut", at, mean.delete);
                change.add("update", at, mean.update);
                claims.extend(claims_of(filters, &mean));
            } else if name == NO_SPLIT {
                change.add("insert, no-split rule", at, mean.insert);
            }
        }
        progress(&format!("N = {filters}: delete as printed"))?;
        let delete = setup.printed_delete(Built::Incremental, effort.runs)?;
        change.add("delete, as printed", at, delete);
        let least = ideal(4.0, filters);
        cost.draw("ideal, 4 children each", 6, Stroke::Dotted, at, least);
        let order = setup.order as f64;
        change.add("2 d log_2d N", at, ideal(2.0 * order, filters) - 1.0);
    }
    claims.extend(published_costs(&cost));
    Ok(Report {
        figures: vec![cost, time, change, storage],
        claims,
        ..Report::default()
    })
}

/// All trees of one size, measured in turn.
fn measure(
    setup: &Setup,
    effort: Effort,
    progress: &mut Progress<'_>,
) -> Result<Vec<(&'static str, Measured)>> {
    let with = |split_full, closest| Setup {
        split_full,
        closest,
        ..setup.clone()
    };
    let names = [
        SPLIT,
        NO_SPLIT,
        "after updates",
        "bulk, ours",
        BY_CHANCE,
        NO_SPLIT_BY_CHANCE,
    ];
    let trees = [
        (setup.clone(), Built::Incremental),
        (with(false, Closest::Least), Built::Incremental),
        (setup.clone(), Built::AfterUpdates),
        (with(false, Closest::Least), Built::BulkFast),
        (with(true, Closest::OrByChance), Built::Incremental),
        (with(false, Closest::OrByChance), Built::Incremental),
    ];
    let step = format!("N = {}: all trees in turn", setup.filters);
    let means = Setup::compare(&trees, effort.runs, || progress(&step))?;
    let mut measured: Vec<_> = names.into_iter().zip(means).collect();
    if setup.filters <= effort.most_chained {
        progress(&format!("N = {}: bulk, the paper's", setup.filters))?;
        let mean = setup.average(Built::Bulk, effort.runs)?;
        measured.insert(3, ("bulk, the paper's", mean));
    }
    Ok(measured)
}

fn claims_of(filters: u32, mean: &Measured) -> Option<Claim> {
    match filters {
        1000 => {
            let what = "probf of the root, N = 1000";
            Some(claim("fig05", what, 0.993, mean.root_fpr))
        }
        100_000 => {
            let what = "minutes to build, N = 100,000 (Java, 2010)";
            Some(claim("fig05", what, 15.0, mean.build_seconds / 60.0))
        }
        _ => None,
    }
}

/// The four search costs that the paper gives, by the letter and by the author's program.
fn published_costs(cost: &Figure) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (filters, with, without) in PUBLISHED {
        let names = [
            (NO_SPLIT, with),
            (NO_SPLIT_BY_CHANCE, with),
            (SPLIT, without),
            (BY_CHANCE, without),
        ];
        for (name, paper) in names {
            if let Some(ours) = cost.value(name, f64::from(filters)) {
                let what = format!("search cost, N = {filters}, {name}");
                claims.push(claim("fig05", &what, paper, ours));
            }
        }
    }
    claims
}
