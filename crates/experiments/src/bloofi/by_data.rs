//! Figures 15 and 16: disjoint sets and sets that overlap.

use anyhow::Result;

use super::by_metric::COUNTS;
use super::{Built, Data, Effort, Setup, figure};
use crate::{Progress, Report};

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let x = ("filters N", true);
    let mut cost = figure("fig15", x, ("filters checked per search", true));
    let mut time = figure("fig16", x, ("milliseconds per search", true));
    for filters in COUNTS.into_iter().filter(|&n| n <= effort.most_filters) {
        let kinds = [
            ("nonrandom", Data::Nonrandom, Built::Incremental),
            ("random", Data::Random, Built::Incremental),
            ("random, bulk, ours", Data::Random, Built::BulkFast),
        ];
        for (name, data, built) in kinds {
            progress(&format!("N = {filters}: {name}"))?;
            let setup = Setup {
                filters,
                data,
                ..Setup::default()
            };
            let mean = setup.average(built, effort.runs)?;
            cost.add(name, f64::from(filters), mean.search_cost);
            time.add(name, f64::from(filters), mean.search_time);
        }
    }
    Ok(Report {
        figures: vec![cost, time],
        ..Report::default()
    })
}
