//! Figure 2: the price that a standard filter pays for being compressible.

use anyhow::Result;

use super::setup::{Count, entropy, filter, keys};
use super::{Effort, claim, figure};
use crate::{Progress, Report, Stroke};

/// Bits per item.
const RHO: u64 = 8;
const MOST_HASHES: u32 = 16;

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let mut figure = figure(
        "fig02",
        ("hash functions k, 8 bits per item", false),
        ("ratio, rate", true),
    );
    let items = keys(effort.set_items, 1);
    let absent = keys(effort.queries.min(1_000_000), 2);
    let mut best = (0, f64::INFINITY);
    for hashes in 1..=MOST_HASHES {
        progress(&format!("figure 2: k = {hashes}"))?;
        let filter = filter(RHO * effort.set_items, hashes, &items)?;
        let fill = filter.fill();
        let posterior = fill.powi(hashes as i32);
        let x = f64::from(hashes);
        figure.draw("compressed / stored", 0, Stroke::Solid, x, entropy(fill));
        figure.draw("P_a = fill^k (Eq. 5)", 1, Stroke::Solid, x, posterior);
        let counted = Count::of(&absent, |key| filter.contains(key)).rate();
        figure.draw("measured FPR", 2, Stroke::Dotted, x, counted);
        if posterior < best.1 {
            best = (hashes, posterior);
        }
    }
    let at = |name, k| figure.value(name, k).unwrap_or(f64::NAN);
    let claims = vec![
        claim(
            "fig02",
            "k with the lowest rate at 8 bits per item",
            5.0,
            f64::from(best.0),
        ),
        claim(
            "fig02",
            "compressed / stored at that k (\"no gains\")",
            1.0,
            at("compressed / stored", f64::from(best.0)),
        ),
    ];
    Ok(Report {
        figures: vec![figure],
        claims,
        ..Report::default()
    })
}
