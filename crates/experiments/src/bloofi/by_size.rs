//! Figures 11 and 12: the effect of the size of the filters.

use anyhow::Result;

use super::{Built, Effort, Setup, figure, ideal};
use crate::{Progress, Report};

/// Multiples of 64, from a hundredth of a bit to ten bits per element of all sets.
const SIZES: [u64; 8] = [
    1024, 2048, 5056, 10_112, 50_048, 100_992, 300_032, 1_000_000,
];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let x = ("bits m", true);
    let mut cost = figure("fig11", x, ("filters checked per search", true));
    let mut time = figure("fig12", x, ("milliseconds per search", true));
    for bits in SIZES {
        let at = bits as f64;
        let setup = Setup {
            bits,
            ..Setup::default()
        };
        progress(&format!("m = {bits}"))?;
        let all = f64::from(setup.filters);
        cost.add("every filter in turn", at, all);
        time.add("every filter in turn", at, setup.scan_time()?);
        let mean = setup.average(Built::Incremental, effort.runs)?;
        cost.add("incremental", at, mean.search_cost);
        time.add("incremental", at, mean.search_time);
        cost.add("ideal, 4 children each", at, ideal(4.0, setup.filters));
    }
    Ok(Report {
        figures: vec![cost, time],
        ..Report::default()
    })
}
