//! Figure 12: a tree that fills up, and the filters that are wrong as often.

use anyhow::Result;
use bloomgrove::bloom_tree::BloomTree;

use super::setup::{best_compressed, coded, compressed, four_levels, keys, standard};
use super::{Effort, claim, figure};
use crate::{Figure, Progress, Report, Stroke};

/// n / n_max.
pub(super) const LOADS: [f64; 12] = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
/// A filter of more bits an item than this cannot be had.
const INFINITE: f64 = 1e6;

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let most = effort.set_items;
    let keys = keys(most, 1);
    let mut tree = BloomTree::new(four_levels().shape(most)?)?;
    let x = ("items by n_max", false);
    let mut rates = figure("fig12a", x, ("rate", true));
    let mut sizes = figure("fig12b", x, ("bits to send by n_max", false));
    let mut inserted = 0;
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
        let two = compressed(geometric, 2);
        size(
            "CBF, k = 2, at the geo. mean",
            2,
            Stroke::Dashed,
            load * two.1,
            two.0,
        );
        let three = compressed(real, 3);
        size(
            "CBF at the real rate",
            2,
            Stroke::Solid,
            load * best_compressed(real),
            three.0,
        );
    }
    let highest = |figure: &Figure, name: &str| {
        let series = figure.series.iter().find(|series| series.name == name);
        let points = series.into_iter().flat_map(|series| &series.points);
        let highest = points.max_by(|a, b| a.1.total_cmp(&b.1));
        highest.map_or(f64::NAN, |point| point.0)
    };
    let claims = vec![
        claim(
            "fig12b",
            "load at which the tree takes most bits",
            0.4,
            highest(&sizes, "BloomTree"),
        ),
        claim(
            "fig12b",
            "load at which the SBF takes most bits, geometric mean",
            0.5,
            highest(&sizes, "SBF at the geometric mean"),
        ),
        claim(
            "fig12b",
            "load at which the SBF takes most bits, real rate",
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
