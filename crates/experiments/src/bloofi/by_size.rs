//! Figures 11 and 12: the effect of the size of the filters; and what the time of the baseline depends
//! on.

use anyhow::Result;

use super::{Built, Effort, FIGURES, Setup, figure, ideal};
use crate::figure::number;
use crate::paper::table;
use crate::{Progress, Report};

/// Multiples of 64, from a hundredth of a bit to ten bits per element of all sets.
const SIZES: [u64; 8] = [
    1024, 2048, 5056, 10_112, 50_048, 100_992, 300_032, 1_000_000,
];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let x = ("bits m", true);
    let mut cost = figure("fig11", x, ("filters checked per search", true));
    let mut time = figure("fig12", x, ("milliseconds per search", true));
    let head = [
        "bits m",
        "MB of all filters",
        "bits read per filter",
        "ns per filter",
        "ns per filter, hashed for each with MD5",
    ];
    let mut baseline = table(&FIGURES, "fig12-baseline", &head);
    for bits in SIZES {
        let at = bits as f64;
        let setup = Setup {
            bits,
            ..Setup::default()
        };
        progress(&format!("m = {bits}"))?;
        let all = f64::from(setup.filters);
        cost.add("every filter in turn", at, all);
        let scan = setup.scan()?;
        time.add("every filter in turn", at, scan.time);
        let name = "each filter hashes the key (MD5)";
        time.add(name, at, scan.hashing_time);
        let each = |milliseconds: f64| format!("{:.1}", milliseconds * 1e6 / all);
        baseline.rows.push(vec![
            bits.to_string(),
            number(scan.bytes / 1e6),
            number(scan.bits_read),
            each(scan.time),
            each(scan.hashing_time),
        ]);
        let mean = setup.average(Built::Incremental, effort.runs)?;
        cost.add("incremental", at, mean.search_cost);
        time.add("incremental", at, mean.search_time);
        cost.add("ideal, 4 children each", at, ideal(4.0, setup.filters));
    }
    Ok(Report {
        figures: vec![cost, time],
        tables: vec![baseline],
        ..Report::default()
    })
}
