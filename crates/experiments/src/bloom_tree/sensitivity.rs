//! Figure 11: one parameter at a time. Each curve is drawn twice: the paper's geometric mean, and the
//! rate at which absent keys are accepted.

use anyhow::Result;

use super::setup::{Config, rates};
use super::{Effort, claim, figure};
use crate::{Figure, Progress, Report, Stroke};

/// The paper's defaults of section 7, with this depth.
fn usual(depth: usize) -> Config {
    Config::even(depth, 0.5, 6, 4, 2)
}

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let mut sweep = Sweep { effort, progress };
    let figures = vec![
        sweep.items()?,
        sweep.depth()?,
        sweep.by_depth(
            "fig11c",
            "rho_1",
            &[0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0],
            |depth, x| Config::even(depth, x, 6, 4, 2),
        )?,
        sweep.by_depth(
            "fig11d",
            "bits m_i of a filter below the root",
            &whole(2..=10),
            |depth, x| Config::even(depth, 0.5, 6, x as u64, 2),
        )?,
        sweep.by_depth(
            "fig11e",
            "hash functions k_1 of the root",
            &whole(1..=12),
            |depth, x| Config::even(depth, 0.5, x as u32, 4, 2),
        )?,
        sweep.by_depth(
            "fig11f",
            "hash functions k_i below the root",
            &whole(1..=4),
            |depth, x| Config::even(depth, 0.5, 6, 4, x as u32),
        )?,
    ];
    let [scale, _, _, _, first, below] = &figures[..] else {
        unreachable!("six figures were made above");
    };
    let least = |figure: &Figure, name: &str| {
        let series = figure.series.iter().find(|series| series.name == name);
        let points = series.into_iter().flat_map(|series| &series.points);
        let least = points.min_by(|a, b| a.1.total_cmp(&b.1));
        least.map_or(f64::NAN, |point| point.0)
    };
    let ends = |name: &str| {
        let at = |x: Option<&f64>| x.and_then(|x| scale.value(name, *x)).unwrap_or(f64::NAN);
        let positions = scale.positions();
        at(positions.last()) / at(positions.first())
    };
    let claims = vec![
        claim(
            "fig11a",
            "geometric mean, most items relative to fewest (\"does not vary\")",
            1.0,
            ends("geometric mean, d = 4"),
        ),
        claim(
            "fig11a",
            "real rate, most items relative to fewest",
            1.0,
            ends("real rate, d = 4"),
        ),
        claim(
            "fig11b",
            "bits of a three-level filter, m = 5, relative to m_1",
            31.0,
            stored(3),
        ),
        claim(
            "fig11b",
            "bits of a four-level filter, m = 5, relative to m_1",
            146.0,
            stored(4),
        ),
        claim(
            "fig11e",
            "k_1 with the lowest geometric mean, d = 4 (4 to 6)",
            5.0,
            least(first, "geometric mean, d = 4"),
        ),
        claim(
            "fig11e",
            "k_1 with the lowest real rate, d = 4",
            5.0,
            least(first, "real rate, d = 4"),
        ),
        claim(
            "fig11e",
            "k_1 with the lowest geometric mean, d = 3 (rises steadily)",
            1.0,
            least(first, "geometric mean, d = 3"),
        ),
        claim(
            "fig11e",
            "k_1 with the lowest real rate, d = 3",
            1.0,
            least(first, "real rate, d = 3"),
        ),
        claim(
            "fig11f",
            "k_i with the lowest geometric mean, d = 4",
            2.0,
            least(below, "geometric mean, d = 4"),
        ),
        claim(
            "fig11f",
            "k_i with the lowest real rate, d = 4",
            2.0,
            least(below, "real rate, d = 4"),
        ),
    ];
    Ok(Report {
        figures,
        claims,
        ..Report::default()
    })
}

/// Bits of a tree with filters of 5 bits below the root, relative to those of the root (section 7.7).
fn stored(depth: usize) -> f64 {
    Config::even(depth, 1.0, 6, 5, 2)
        .shape(64)
        .map_or(f64::NAN, |shape| shape.bits() as f64 / 64.0)
}

fn whole(range: std::ops::RangeInclusive<u32>) -> Vec<f64> {
    range.map(f64::from).collect()
}

struct Sweep<'a, 'p> {
    effort: Effort,
    progress: &'a mut Progress<'p>,
}

impl Sweep<'_, '_> {
    fn add(
        &mut self,
        figure: &mut Figure,
        config: &Config,
        items: u64,
        color: usize,
        x: f64,
    ) -> Result<()> {
        let depth = config.depth();
        (self.progress)(&format!("figure 11: {config}, {items} items"))?;
        let rates = rates(config, items, items, self.effort)?;
        figure.draw(
            &format!("geometric mean, d = {depth}"),
            color,
            Stroke::Dashed,
            x,
            rates.geometric,
        );
        figure.draw(
            &format!("real rate, d = {depth}"),
            color,
            Stroke::Solid,
            x,
            rates.expected,
        );
        Ok(())
    }

    fn items(&mut self) -> Result<Figure> {
        let mut figure = figure("fig11a", ("items n = n_max", true), ("rate", true));
        for power in 3.. {
            let items = 10u64.pow(power);
            if items > self.effort.most_items {
                return Ok(figure);
            }
            self.add(&mut figure, &usual(4), items, 0, items as f64)?;
        }
        Ok(figure)
    }

    fn depth(&mut self) -> Result<Figure> {
        let mut figure = figure("fig11b", ("levels d", false), ("rate", true));
        for depth in 2..=self.effort.most_depth {
            let rates = {
                (self.progress)(&format!("figure 11: {depth} levels"))?;
                rates(
                    &usual(depth),
                    self.effort.items,
                    self.effort.items,
                    self.effort,
                )?
            };
            figure.draw(
                "geometric mean",
                0,
                Stroke::Dashed,
                depth as f64,
                rates.geometric,
            );
            figure.draw("real rate", 0, Stroke::Solid, depth as f64, rates.expected);
        }
        Ok(figure)
    }

    fn by_depth(
        &mut self,
        id: &'static str,
        name: &'static str,
        values: &[f64],
        config: impl Fn(usize, f64) -> Config,
    ) -> Result<Figure> {
        let mut figure = figure(id, (name, false), ("rate", true));
        for (color, depth) in [3, 4].into_iter().enumerate() {
            for &x in values {
                let items = self.effort.items;
                self.add(&mut figure, &config(depth, x), items, color, x)?;
            }
        }
        Ok(figure)
    }
}
