//! Figure 4: coding each filter separately, each level, or each filter given the filters above it.

use anyhow::Result;
use bloomgrove_trees::bloom_tree::{BloomTree, TreeShape};

use super::setup::{coded, keys};
use super::{Effort, claim, figure};
use crate::{Claim, Figure, Progress, Report, Stroke};

/// n_max, and m_1 in both trees.
const MOST: u64 = 10_000;

pub(super) fn run(_: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let three = TreeShape::new(&[(MOST, 6), (4, 3), (3, 3)])?;
    let four = TreeShape::new(&[(MOST, 6), (4, 4), (4, 3), (5, 2)])?;
    let figures = vec![
        curves("fig04a", &three, progress)?,
        curves("fig04b", &four, progress)?,
    ];
    let at = |figure: &Figure, items: f64| figure.value(BY_LEVEL, items).unwrap_or(f64::NAN);
    let claim = |what: &str, paper, ours| -> Claim { claim("fig04a", what, paper, ours) };
    let mut claims = vec![
        claim(
            "compressed / stored, d = 3, by level, n = 2,000",
            0.9,
            at(&figures[0], 2e3),
        ),
        claim(
            "compressed / stored, d = 3, by level, n = 10,000",
            0.4,
            at(&figures[0], 1e4),
        ),
    ];
    let least = (4..=10).map(|thousands| at(&figures[1], f64::from(thousands) * 1e3));
    let mut four = claim(
        "compressed / stored, d = 4, by level, minimum from n = 4,000 (larger than)",
        0.8,
        least.fold(f64::INFINITY, f64::min),
    );
    four.figure = "fig04b";
    claims.push(four);
    Ok(Report {
        figures,
        claims,
        ..Report::default()
    })
}

const BY_LEVEL: &str = "by level (ByLevel)";

fn curves(id: &'static str, shape: &TreeShape, progress: &mut Progress<'_>) -> Result<Figure> {
    progress(&format!("figure 4, d = {}", shape.depth()))?;
    let mut figure = figure(id, ("items n", false), ("compressed / stored", false));
    let keys = keys(MOST, 1);
    let mut tree = BloomTree::new(shape.clone())?;
    for thousands in 1..=10 {
        tree.insert_batch(&keys[(thousands - 1) * 1000..thousands * 1000]);
        if thousands == 1 {
            continue;
        }
        let stored = shape.bits() as f64;
        let mut draw = |name, color, bits: f64| {
            figure.draw(
                name,
                color,
                Stroke::Solid,
                thousands as f64 * 1e3,
                bits / stored,
            );
        };
        draw(BY_LEVEL, 0, coded(&tree));
        draw(
            "by filter (ByBF), no delimiters",
            1,
            tree.filter_entropy().iter().sum(),
        );
        draw("by context (ours)", 2, tree.context_entropy().iter().sum());
    }
    Ok(figure)
}
