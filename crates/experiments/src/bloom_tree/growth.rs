//! Figure 12: a tree that fills up, and filters with the same false-positive rate.

use anyhow::Result;
use bloomgrove_trees::bloom_tree::BloomTree;

use super::repeats::repeated;
use super::setup::{INFINITE, coded, compressed, four_levels, keys, standard};
use super::{Effort, claim, figure};
use crate::{Claim, Figure, Progress, Report, Stroke};

/// n / n_max.
pub(super) const LOADS: [f64; 12] = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let once =
        |seed, progress: &mut Progress<'_>| Ok((filling(effort, seed, progress)?, Vec::new()));
    let repeated = repeated("fig12-repeats", effort, progress, once)?;
    let claims = claims(&repeated.figures);
    Ok(Report {
        tables: vec![repeated.intervals],
        figures: repeated.figures,
        claims,
        ..Report::default()
    })
}

/// One tree and its sizes.
fn filling(effort: Effort, seed: u64, progress: &mut Progress<'_>) -> Result<Vec<Figure>> {
    let most = effort.set_items;
    let keys = keys(most, 1 + seed);
    let mut tree = BloomTree::new(four_levels().shape(most)?)?;
    let x = ("items / n_max", false);
    let mut rates = figure("fig12a", x, ("rate", true));
    let mut sizes = figure("fig12b", x, ("bits to send / n_max", false));
    let mut inserted = 0;
    for load in LOADS {
        progress(&format!("figure 12: {load} of n_max"))?;
        let items = (load * most as f64) as usize;
        tree.insert_batch(&keys[inserted..items]);
        inserted = items;
        let (geometric, real) = (
            tree.geometric_fpr(effort.samples, 1 + seed),
            tree.expected_fpr(),
        );
        rates.draw("geometric mean", 0, Stroke::Dashed, load, geometric);
        rates.draw("real rate (expected)", 0, Stroke::Solid, load, real);
        let mut size = |name: &str, color, stroke, bits: f64, stored: f64| {
            if stored < INFINITE {
                sizes.draw(name, color, stroke, load, bits);
            }
        };
        let most = most as f64;
        size("BloomTree", 0, Stroke::Solid, coded(&tree) / most, 0.0);
        let context: f64 = tree.context_entropy().iter().sum();
        size(
            "BloomTree, context coded",
            0,
            Stroke::Dotted,
            context / most,
            0.0,
        );
        size(
            "SBF at the geometric mean",
            1,
            Stroke::Dashed,
            load * standard(geometric),
            0.0,
        );
        size(
            "SBF at the real rate",
            1,
            Stroke::Solid,
            load * standard(real),
            0.0,
        );
        // With more hashes the array is denser, so these are the first with a finite size.
        for (name, stroke, rate) in [
            ("CBF, k = 3, at the geo. mean", Stroke::Dashed, geometric),
            ("CBF, k = 3, at the real rate", Stroke::Solid, real),
        ] {
            let (stored, coded) = compressed(rate, 3);
            size(name, 2, stroke, load * coded, stored);
        }
    }
    Ok(vec![rates, sizes])
}

fn claims(figures: &[Figure]) -> Vec<Claim> {
    let [rates, sizes] = figures else {
        unreachable!("two figures")
    };
    // The paper's compressed filters have two hash functions.
    let without_size = LOADS.iter().filter(|load| {
        let geometric = rates.value("geometric mean", **load);
        geometric.is_some_and(|geometric| compressed(geometric, 2).0 > INFINITE)
    });
    let impossible = without_size.count() as f64 / LOADS.len() as f64;
    let highest = |figure: &Figure, name: &str| {
        let series = figure.series.iter().find(|series| series.name == name);
        let points = series.into_iter().flat_map(|series| &series.points);
        let highest = points.max_by(|a, b| a.1.total_cmp(&b.1));
        highest.map_or(f64::NAN, |point| point.0)
    };
    let what = "share of loads at which a CBF, k = 2, of the geometric mean has no finite size";
    vec![
        claim(
            "fig12b",
            &format!("{what} (\"a wide range\")"),
            1.0,
            impossible,
        ),
        claim(
            "fig12b",
            "load at which the tree takes the most bits",
            0.4,
            highest(sizes, "BloomTree"),
        ),
        claim(
            "fig12b",
            "load at which the SBF takes the most bits, geometric mean",
            0.5,
            highest(sizes, "SBF at the geometric mean"),
        ),
        claim(
            "fig12b",
            "load at which the SBF takes the most bits, real rate",
            0.5,
            highest(sizes, "SBF at the real rate"),
        ),
    ]
}
