//! Figures 8 and 18: the items and the fill of the filters of each level, and how well the usual
//! formula predicts the fill.

use anyhow::Result;
use bloomgrove_trees::bloom_tree::{BloomTree, Posterior, loads};

use super::setup::{Config, build, keys, shares_above};
use super::{Effort, claim, figure};
use crate::{Claim, Figure, Progress, Report, Stroke};

/// Points of a curve that is drawn by its quantiles.
const QUANTILES: usize = 25;
/// Filters with more items than this are not drawn.
const MOST_LOAD: u32 = 15;

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    progress("figures 8 and 18")?;
    let config = Config::even(4, 1.0, 4, 4, 2);
    let shape = config.shape(effort.items)?;
    let keys = keys(effort.items, 1);
    let tree = build(shape.clone(), &keys)?;
    let loads = loads(&shape, &keys)?;
    let ways = tree.posteriors(effort.samples, 1);
    let mut claims = Vec::new();
    for (level, printed) in [(1, 4.0), (2, 2.0)] {
        let sum: u32 = loads[level].iter().sum();
        let what = format!(
            "items per filter on level {}, mean (appendix B.4)",
            level + 1
        );
        let mean = f64::from(sum) / loads[level].len() as f64;
        claims.push(claim("fig08a", &what, printed, mean));
    }
    for (level, printed) in [(1, 0.95), (2, 4.38), (3, 40.06)] {
        let ours = variation(&ways, level);
        for (mean, ours) in ["geometric", "arithmetic"].into_iter().zip(ours) {
            let what = format!("CoV of P_a on level {}: deviation / {mean} mean", level + 1);
            claims.push(claim("fig08c", &what, printed, ours));
        }
    }
    // Figure 3 and section 5.1.
    let example = 0.36 * 0.44 * 1.0 * 0.33f64.powi(4);
    claims.push(claim(
        "fig08c",
        "P_a of the query of section 5.1, in thousandths",
        1.9,
        example * 1e3,
    ));
    let mut printed = errors(&tree, &loads, |load, m, k| (1.0 - 1.0 / m).powf(load * k));
    let mut meant = errors(&tree, &loads, |load, m, k| {
        1.0 - (1.0 - 1.0 / m).powf(load * k)
    });
    claims.extend(error_claims("as printed", &mut printed));
    claims.extend(error_claims("Eq. 1", &mut meant));
    Ok(Report {
        figures: vec![
            items(&loads),
            fills(&tree),
            products(&ways),
            error_curves("fig18", &mut meant),
            error_curves("fig18-printed", &mut printed),
        ],
        claims,
        ..Report::default()
    })
}

fn name(level: usize) -> String {
    format!("level {}", level + 1)
}

fn items(loads: &[Vec<u32>]) -> Figure {
    let mut figure = figure(
        "fig08a",
        ("items x", false),
        ("share of filters with more than x", false),
    );
    for (level, loads) in loads.iter().enumerate().skip(1) {
        let mut loads: Vec<f64> = loads.iter().map(|load| f64::from(*load)).collect();
        for (x, share) in shares_above(&mut loads, (0..=MOST_LOAD).map(f64::from)) {
            figure.draw(&name(level), level - 1, Stroke::Solid, x, share);
        }
    }
    figure
}

/// How full each filter of a level is, in filters' order.
fn filled(tree: &BloomTree, level: usize) -> Vec<f64> {
    let shape = tree.shape();
    let bits = shape.levels()[level].bits as f64;
    let fill = |filter| f64::from(tree.pattern(level, filter).count_ones()) / bits;
    (0..shape.filters(level)).map(fill).collect()
}

fn fills(tree: &BloomTree) -> Figure {
    let mut figure = figure(
        "fig08b",
        ("fill x", false),
        ("share of filters with a fill of at least x", false),
    );
    for level in 1..tree.shape().depth() {
        let mut fills = filled(tree, level);
        let bits = tree.shape().levels()[level].bits as u32;
        // Fills are multiples of 1 / m, so "more than just below x".
        let limits = (0..=bits).map(|ones| f64::from(ones) / f64::from(bits) - 1e-9);
        for (x, share) in shares_above(&mut fills, limits) {
            let x = (x + 1e-9).max(0.0);
            figure.draw(&name(level), level - 1, Stroke::Solid, x, share);
        }
    }
    figure
}

fn products(ways: &[Posterior]) -> Figure {
    let mut figure = figure("fig08c", ("P_a", true), ("share of queries above", false));
    let levels = ways.first().map_or(0, |way| way.levels.len());
    for level in 1..=levels {
        let logarithm = |way: &Posterior| match level {
            level if level == levels => way.ln(),
            level => way.levels[level],
        };
        let mut values: Vec<f64> = ways.iter().map(logarithm).collect();
        values.sort_by(f64::total_cmp);
        let name = if level == levels {
            "all levels".to_owned()
        } else {
            name(level)
        };
        for i in 0..=QUANTILES {
            let share = i as f64 / QUANTILES as f64;
            let value = values[((values.len() - 1) as f64 * share) as usize].exp();
            figure.draw(&name, level - 1, Stroke::Solid, value, 1.0 - share);
        }
    }
    figure
}

/// The standard deviation divided by the geometric mean, as in the paper, and by the arithmetic
/// one, as is usual.
fn variation(ways: &[Posterior], level: usize) -> [f64; 2] {
    let count = ways.len() as f64;
    let logarithm = ways.iter().map(|way| way.levels[level]).sum::<f64>() / count;
    let mean = ways.iter().map(|way| way.levels[level].exp()).sum::<f64>() / count;
    let square = |way: &Posterior| (way.levels[level].exp() - mean).powi(2);
    let deviation = (ways.iter().map(square).sum::<f64>() / count).sqrt();
    [deviation / logarithm.exp(), deviation / mean]
}

/// By level, |estimated - real| / real for every filter with items.
fn errors(
    tree: &BloomTree,
    loads: &[Vec<u32>],
    estimate: impl Fn(f64, f64, f64) -> f64,
) -> Vec<Vec<f64>> {
    let of_level = |level: usize| {
        let own = tree.shape().levels()[level];
        let fills = filled(tree, level);
        let filters = fills.into_iter().zip(&loads[level]);
        let error = |(fill, load): (f64, &u32)| {
            let guess = estimate(f64::from(*load), own.bits as f64, f64::from(own.hashes));
            (guess - fill).abs() / fill
        };
        filters.filter(|(fill, _)| *fill > 0.0).map(error).collect()
    };
    (1..tree.shape().depth()).map(of_level).collect()
}

fn error_curves(id: &'static str, errors: &mut [Vec<f64>]) -> Figure {
    let mut figure = figure(
        id,
        ("relative error x of the fill", false),
        ("share of filters above", false),
    );
    for (i, errors) in errors.iter_mut().enumerate() {
        for (x, share) in shares_above(errors, (0..=20).map(|x| f64::from(x) / 20.0)) {
            figure.draw(&name(i + 1), i, Stroke::Solid, x, share);
        }
    }
    figure
}

fn error_claims(how: &str, errors: &mut [Vec<f64>]) -> Vec<Claim> {
    let mut above =
        |level: usize, limit: f64| shares_above(&mut errors[level], std::iter::once(limit))[0].1;
    let figure = if how == "as printed" {
        "fig18-printed"
    } else {
        "fig18"
    };
    [
        (
            "bottom filters with an error above 0.1, share (over)",
            0.9,
            above(2, 0.1),
        ),
        (
            "filters of level 3 with an error above 0.4, share (over)",
            0.6,
            above(1, 0.4),
        ),
        (
            "filters of level 2 with an error above 0.4, share (over)",
            0.6,
            above(0, 0.4),
        ),
    ]
    .map(|(what, paper, ours)| claim(figure, &format!("{what}, {how}"), paper, ours))
    .to_vec()
}
