//! Geometric mean and real rate: the paths of queries through a tree, by the probability that an
//! absent key on the path is accepted.
//!
//! The mean of these probabilities is the rate at which absent keys are accepted (paths along set
//! bits are drawn as often as absent keys get that far, and the probabilities account for that).
//! The paper uses the mean of their logarithms instead.

use anyhow::Result;
use bloomgrove_trees::bloom_tree::Posterior;

use super::setup::{Config, keys, small, three_levels};
use super::{Effort, figure, table};
use crate::{Progress, Report, Stroke};

/// Paths to draw, which are grouped by powers of ten.
const WAYS: u32 = 40;

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "d, rho, m, k",
        "probability P_a of a path",
        "paths, %",
        "share of the real rate, %",
    ];
    let mut table = table("means", &head);
    let mut figure = figure(
        "means-share",
        ("probability P_a of a path", true),
        ("% of paths, % of the rate", false),
    );
    let trees = [three_levels(), Config::new(0.5, &[5, 3, 3], &[6, 3, 2, 2])];
    for (color, config) in trees.into_iter().enumerate() {
        progress(&format!("means: {config}"))?;
        let tree = config.build(effort.set_items, &keys(effort.set_items, 1))?;
        let ways = tree.posteriors(effort.samples.saturating_mul(WAYS), 1);
        let count = ways.len() as f64;
        let sum: f64 = ways.iter().map(|way| way.ln().exp()).sum();
        let power = |way: &Posterior| (way.ln() / std::f64::consts::LN_10).floor() as i32;
        let first = ways.iter().map(power).min().unwrap_or(0);
        for decade in first..0 {
            let within = ways.iter().filter(|way| power(way) == decade);
            let chances: Vec<f64> = within.map(|way| way.ln().exp()).collect();
            let share = 100.0 * chances.len() as f64 / count;
            let part = 100.0 * chances.iter().sum::<f64>() / sum;
            table.rows.push(vec![
                config.to_string(),
                format!("1e{decade} to 1e{}", decade + 1),
                format!("{share:.3}"),
                format!("{part:.3}"),
            ]);
            let (x, depth) = (10f64.powf(f64::from(decade) + 0.5), config.depth());
            figure.draw(
                &format!("paths, d = {depth}"),
                color,
                Stroke::Dashed,
                x,
                share,
            );
            figure.draw(&format!("rate, d = {depth}"), color, Stroke::Solid, x, part);
        }
        let logarithm = ways.iter().map(Posterior::ln).sum::<f64>() / count;
        for (name, value) in [
            ("geometric mean of these", logarithm.exp()),
            ("arithmetic mean of these", sum / count),
            ("expected FPR, by recursion", tree.expected_fpr()),
        ] {
            let empty = String::new;
            table.rows.push(vec![
                config.to_string(),
                format!("{name}: {}", small(value)),
                empty(),
                empty(),
            ]);
        }
    }
    Ok(Report {
        tables: vec![table],
        figures: vec![figure],
        ..Report::default()
    })
}
