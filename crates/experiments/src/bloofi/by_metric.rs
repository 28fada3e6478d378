//! Figures 13 and 14: the effect of the distance metric; and the heights that the paper explains them
//! with.

use anyhow::Result;
use bloomgrove_trees::bloofi::Metric;

use super::{Built, Effort, Setup, figure};
use crate::{Progress, Report};

pub(super) const COUNTS: [u32; 5] = [100, 300, 1000, 3000, 10_000];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let x = ("filters N", true);
    let mut cost = figure("fig13", x, ("filters checked per search", true));
    let mut time = figure("fig14", x, ("milliseconds per search", true));
    let mut height = figure("heights", x, ("edges from the root to a leaf", false));
    for filters in COUNTS.into_iter().filter(|&n| n <= effort.most_filters) {
        let trees = [Metric::Hamming, Metric::Jaccard, Metric::Cosine].map(|metric| {
            let setup = Setup {
                filters,
                metric,
                ..Setup::default()
            };
            (setup, Built::Incremental)
        });
        let step = format!("N = {filters}: three metrics in turn");
        let means = Setup::compare(&trees, effort.runs, || progress(&step))?;
        for ((setup, _), mean) in trees.iter().zip(means) {
            let (name, at) = (setup.metric.name(), f64::from(filters));
            cost.add(name, at, mean.search_cost);
            time.add(name, at, mean.search_time);
            time.add(&format!("{name}, as printed"), at, mean.printed_time);
            // A mean of integers, without the rounding error of its summands.
            height.add(name, at, (mean.height * 100.0).round() / 100.0);
        }
    }
    Ok(Report {
        figures: vec![cost, time, height],
        ..Report::default()
    })
}
