//! Figure 12: a tree that fills up, and filters with the same false-positive rate.

use anyhow::Result;
use bloomgrove_trees::bloom_tree::BloomTree;

use super::setup::{INFINITE, coded, compressed, four_levels, keys, standard};
use super::{Effort, claim, figure};
use crate::{Figure, Progress, Report, Stroke};

/// n / n_max.
pub(super) const LOADS: [f64; 12] = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let most = effort.set_items;
    let keys = keys(most, 1);
    let mut tree = BloomTree::new(four_levels().shape(most)?)?;
    let x = ("items / n_max", false);
    let mut rates = figure("fig12a", x, ("rate", true));
    let mut sizes = figure("fig12b", x, ("bits to send / n_max", false));
    let (mut inserted, mut impossible) = (0, 0.0);
    for load in LOADS {
        progress(&format!("figure 12: {load} of n_max"))?;
        let items = (load * most as f64) as usize;
        tree.insert_batch(&keys[inserted..items]);
        inserted = items;
        let (geometric, real) = (tree.geometric_fpr(effort.samples, 1), tree.expected_fpr());
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
        // The paper's.
        let two = compressed(geometric, 2).0;
        impossible += f64::from(u8::from(two > INFINITE)) / LOADS.len() as f64;
    }
    let highest = |figure: &Figure, name: &str| {
        let series = figure.series.iter().find(|series| series.name == name);
        let points = series.into_iter().flat_map(|series| &series.points);
        let highest = points.max_by(|a, b| a.1.total_cmp(&b.1));
        highest.map_or(f64::NAN, |point| point.0)
    };
    let what = "share of loads at which a CBF, k = 2, of the geometric mean has no finite size";
    let claims = vec![
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
            highest(&sizes, "BloomTree"),
        ),
        claim(
            "fig12b",
            "load at which the SBF takes the most bits, geometric mean",
            0.5,
            highest(&sizes, "SBF at the geometric mean"),
        ),
        claim(
            "fig12b",
            "load at which the SBF takes the most bits, real rate",
            0.5,
            highest(&sizes, "SBF at the real rate"),
        ),
    ];
    Ok(Report {
        figures: vec![rates, sizes],
        claims,
        ..Report::default()
    })
}
