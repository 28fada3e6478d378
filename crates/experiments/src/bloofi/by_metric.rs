//! Figures 13 and 14: the effect of the distance metric.

use anyhow::Result;
use bloomgrove_trees::bloofi::Metric;

use super::{Built, Effort, Setup, figure};
use crate::{Progress, Report};

pub(super) const COUNTS: [u32; 5] = [100, 300, 1000, 3000, 10_000];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let x = ("filters N", true);
    let mut cost = figure("fig13", x, ("filters checked per search", true));
    let mut time = figure("fig14", x, ("milliseconds per search", true));
    for filters in COUNTS.into_iter().filter(|&n| n <= effort.most_filters) {
        for metric in [Metric::Hamming, Metric::Jaccard, Metric::Cosine] {
            progress(&format!("N = {filters}: {}", metric.name()))?;
            let setup = Setup {
                filters,
                metric,
                ..Setup::default()
            };
            let mean = setup.average(Built::Incremental, effort.runs)?;
            cost.add(metric.name(), f64::from(filters), mean.search_cost);
            time.add(metric.name(), f64::from(filters), mean.search_time);
        }
    }
    Ok(Report {
        figures: vec![cost, time],
        ..Report::default()
    })
}
