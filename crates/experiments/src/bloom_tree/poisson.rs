//! Appendix B: the items of the filters of each level, against the Poisson model of Eq. 21 to 25.
//!
//! ```text
//!   Eq. 22, 25   lambda_2 = n k_1 / m_1,   lambda_(a+1) = lambda_a k_a / m_a
//!   meant        an item whose k functions hit j < k distinct bits is in j filters below, not k:
//!                lambda_(a+1) = lambda_a (1 - (1 - 1/m_a)^k_a)
//! ```
//!
//! Each item of a filter is in a given filter below it with the same probability, independently of
//! the others. That thins a Poisson distribution into another one, so the model is right on every
//! level if its lambda is.

use anyhow::Result;
use bloomgrove_trees::bloom_tree::loads;
use statrs::distribution::{Discrete, Poisson};

use super::setup::{Config, keys};
use super::{Effort, claim, table};
use crate::{Progress, Report};

/// The largest number of items in the table of the distribution.
const MOST: u32 = 12;

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    progress("appendix B")?;
    let config = Config::even(4, 1.0, 4, 4, 2);
    let shape = config.shape(effort.items)?;
    let keys = keys(effort.items, 1);
    let loads = loads(&shape, &keys)?;
    let mut summary = table(
        "poisson",
        &[
            "level",
            "filters",
            "lambda, Eq. 22 and 25",
            "lambda, duplicates once",
            "mean",
            "mean / Eq. 25",
            "variance",
            "variance / Eq. 25",
            "distance from Poisson, Eq. 25",
            "distance, duplicates once",
            "distance expected by chance",
            "parents with more than Eq. 23",
        ],
    );
    let mut shares = table(
        "poisson-shares",
        &[
            "level",
            "items",
            "share of filters",
            "Eq. 21 and 24",
            "duplicates once",
        ],
    );
    let mut claims = Vec::new();
    let (mut printed, mut meant) = (effort.items as f64, effort.items as f64);
    for level in 1..shape.depth() {
        let above = shape.levels()[level - 1];
        let (m, k) = (above.bits as f64, f64::from(above.hashes));
        printed *= k / m;
        meant *= 1.0 - (1.0 - 1.0 / m).powf(k);
        let own = &loads[level];
        let count = own.len() as f64;
        let mean = own.iter().map(|load| f64::from(*load)).sum::<f64>() / count;
        let squares = own.iter().map(|load| (f64::from(*load) - mean).powi(2));
        let variance = squares.sum::<f64>() / count;
        let most = own.iter().copied().max().unwrap_or(0).max(MOST);
        let share = |x: u32| own.iter().filter(|load| **load == x).count() as f64 / count;
        let measured: Vec<f64> = (0..=most).map(share).collect();
        let models = [Poisson::new(printed)?, Poisson::new(meant)?];
        let distance = |model: &Poisson| {
            let apart = |x: u32| (measured[x as usize] - model.pmf(x.into())).abs();
            let beyond = 1.0 - (0..=most).map(|x| model.pmf(x.into())).sum::<f64>();
            ((0..=most).map(apart).sum::<f64>() + beyond.max(0.0)) / 2.0
        };
        // A sample of this many filters is this far from its own distribution: the mean of |z| is
        // sqrt(2 / pi).
        let chance = |x: u32| {
            let p = models[1].pmf(x.into());
            (p * (1.0 - p) / count * 2.0 / std::f64::consts::PI).sqrt() / 2.0
        };
        let chance: f64 = (0..=most).map(chance).sum();
        // Eq. 23: the filters below one filter have at most its items times k.
        let below = own
            .chunks(above.bits as usize)
            .map(|children| children.iter().sum::<u32>());
        let too_many = below
            .zip(&loads[level - 1])
            .filter(|(sum, parent)| *sum > *parent * above.hashes);
        let number = |value: f64| format!("{value:.3}");
        summary.rows.push(vec![
            (level + 1).to_string(),
            own.len().to_string(),
            number(printed),
            number(meant),
            number(mean),
            number(mean / printed),
            number(variance),
            number(variance / printed),
            format!("{:.4}", distance(&models[0])),
            format!("{:.4}", distance(&models[1])),
            format!("{chance:.4}"),
            too_many.count().to_string(),
        ]);
        for x in 0..=MOST {
            let cell = |share: f64| format!("{share:.4}");
            shares.rows.push(vec![
                (level + 1).to_string(),
                x.to_string(),
                cell(measured[x as usize]),
                cell(models[0].pmf(x.into())),
                cell(models[1].pmf(x.into())),
            ]);
        }
        let what = format!("items per filter on level {}, variance (Eq. 25)", level + 1);
        claims.push(claim("poisson", &what, printed, variance));
    }
    Ok(Report {
        tables: vec![summary, shares],
        claims,
        ..Report::default()
    })
}
