//! Figures 15 and 16: disjoint sets and sets that overlap.

use anyhow::Result;

use super::by_metric::COUNTS;
use super::{Built, Data, Effort, Setup, figure};
use crate::{Progress, Report};

const KINDS: [(&str, Data, Built); 4] = [
    ("nonrandom", Data::Nonrandom, Built::Incremental),
    ("random, wide ranges", Data::WideRanges, Built::Incremental),
    (
        "random, ranges of 1000",
        Data::NarrowRanges,
        Built::Incremental,
    ),
    (
        "random, ranges of 1000, bulk, ours",
        Data::NarrowRanges,
        Built::BulkFast,
    ),
];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let x = ("filters N", true);
    let mut cost = figure("fig15", x, ("filters checked per search", true));
    let mut time = figure("fig16", x, ("milliseconds per search", true));
    let mut found = figure("results", x, ("filters found per search", true));
    for filters in COUNTS.into_iter().filter(|&n| n <= effort.most_filters) {
        let trees = KINDS.map(|(_, data, built)| {
            let setup = Setup {
                filters,
                data,
                ..Setup::default()
            };
            (setup, built)
        });
        let step = format!("N = {filters}: all distributions in turn");
        let means = Setup::compare(&trees, effort.runs, || progress(&step))?;
        for ((name, _, built), mean) in KINDS.into_iter().zip(means) {
            let at = f64::from(filters);
            cost.add(name, at, mean.search_cost);
            time.add(name, at, mean.search_time);
            if built == Built::Incremental {
                found.add(name, at, mean.found);
            }
        }
    }
    Ok(Report {
        figures: vec![cost, time, found],
        ..Report::default()
    })
}
