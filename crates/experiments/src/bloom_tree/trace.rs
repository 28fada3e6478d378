//! Figure 17: the intersection of two sets of packets, in section 8.2.5; random keys replace the packets
//! of a data center.

use anyhow::Result;

use super::intersection::{CBF_TWO, SBF, Sets, TREE, cost_table};
use super::repeats::repeated;
use super::{Effort, claim, figure};
use crate::{Claim, Figure, Progress, Report, Table};

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let once = |seed, progress: &mut Progress<'_>| traced(effort, seed, progress);
    let mut repeated = repeated("fig17-repeats", effort, progress, once)?;
    repeated.tables.push(repeated.intervals);
    let claims = claims(&repeated.figures);
    Ok(Report {
        tables: repeated.tables,
        figures: repeated.figures,
        claims,
        ..Report::default()
    })
}

/// Figure 17 with one choice of keys.
fn traced(
    effort: Effort,
    seed: u64,
    progress: &mut Progress<'_>,
) -> Result<(Vec<Figure>, Vec<Table>)> {
    let x = ("common items / set size", false);
    let mut neither = figure("fig17", x, ("rate, items of neither set", true));
    let mut one = figure("fig17-one", x, ("rate, items of one set only", true));
    let mut table = cost_table("fig17-cost");
    let items = effort.trace_items;
    for share in [0.1, 0.3, 0.5, 0.7, 0.9] {
        progress(&format!("figure 17: {share} common"))?;
        let common = (items as f64 * share) as u64;
        let sets = Sets::new([items, items, common], seed);
        for outcome in sets.outcomes(items, effort)? {
            outcome.draw_mean(&mut neither, share);
            outcome.draw(&mut neither, share, outcome.neither());
            outcome.draw(&mut one, share, outcome.one());
            outcome.row(&mut table, "fig17", share);
        }
    }
    Ok((vec![neither, one], vec![table]))
}

fn claims(figures: &[Figure]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for figure in figures {
        for (rival, published) in [(SBF, [0.5, 2.0]), (CBF_TWO, [3.0, 3.0])] {
            for (share, published) in [(0.9, published[0]), (0.1, published[1])] {
                let at = |name| figure.value(name, share).unwrap_or(f64::NAN);
                let what = format!(
                    "orders of magnitude below the {rival}, {}, {share} common",
                    figure.y.name
                );
                claims.push(claim(
                    figure.id,
                    &what,
                    published,
                    (at(rival) / at(TREE)).log10(),
                ));
            }
        }
    }
    claims
}
