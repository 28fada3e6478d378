//! Section 8 repeats its experiments ten times and gives 95 % confidence intervals: the same here,
//! each time with other keys.

use anyhow::{Context, Result, ensure};

use super::setup::small;
use super::{Effort, table};
use crate::{Figure, Progress, Series, Table};

/// A mean, and half the width of its 95 % confidence interval by Student's t distribution; 0 for a
/// single value.
pub(super) fn interval(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return (mean, 0.0);
    }
    let squares = values.iter().map(|value| (value - mean).powi(2));
    let deviation = (squares.sum::<f64>() / (count - 1.0)).sqrt();
    (mean, quantile(values.len() - 1) * deviation / count.sqrt())
}

/// The 97.5 % quantile of Student's t distribution.
fn quantile(freedom: usize) -> f64 {
    use statrs::distribution::{ContinuousCDF, StudentsT};
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::NAN, |t| t.inverse_cdf(0.975))
}

/// The mean of several runs.
pub(super) struct Repeated {
    /// The figures of the first run, with the means of all.
    pub figures: Vec<Figure>,
    /// The tables of the first run.
    pub tables: Vec<Table>,
    /// The interval of every point.
    pub intervals: Table,
}

/// Runs `once` with as many seeds as the effort says; each run makes the same figures. `id` names the
/// table of the intervals.
pub(super) fn repeated(
    id: &'static str,
    effort: Effort,
    progress: &mut Progress<'_>,
    mut once: impl FnMut(u64, &mut Progress<'_>) -> Result<(Vec<Figure>, Vec<Table>)>,
) -> Result<Repeated> {
    ensure!(effort.repeats > 0, "the effort must include a run");
    let mut runs = Vec::new();
    for seed in 0..effort.repeats {
        let mut step =
            |what: &str| progress(&format!("run {} of {}: {what}", seed + 1, effort.repeats));
        runs.push(once(seed, &mut step)?);
    }
    let head = [
        "figure",
        "curve",
        "x",
        "mean",
        "95 % interval, +-",
        "+-, %",
        "least",
        "most",
        "runs",
    ];
    let mut intervals = table(id, &head);
    let mut runs = runs.into_iter();
    let (mut figures, tables) = runs.next().context("no run")?;
    let others: Vec<Vec<Figure>> = runs.map(|run| run.0).collect();
    for (at, figure) in figures.iter_mut().enumerate() {
        for Series { name, points, .. } in &mut figure.series {
            for (x, y) in points {
                // A compressed filter may have a finite size in some runs only.
                let same = others.iter().filter_map(|run| run[at].value(name, *x));
                let values: Vec<f64> = std::iter::once(*y).chain(same).collect();
                let (mean, half) = interval(&values);
                let edge = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
                intervals.rows.push(vec![
                    figure.id.to_owned(),
                    name.clone(),
                    x.to_string(),
                    small(mean),
                    small(half),
                    format!("{:.1}", 100.0 * half / mean),
                    small(edge(f64::min).unwrap_or(mean)),
                    small(edge(f64::max).unwrap_or(mean)),
                    values.len().to_string(),
                ]);
                *y = mean;
            }
        }
    }
    Ok(Repeated {
        figures,
        tables,
        intervals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_values_have_the_interval_of_the_table() {
        // t with 9 degrees of freedom is 2.262; the deviation of 1 to 10 is 3.0277.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let (mean, half) = interval(&values);
        assert!((mean - 5.5).abs() < 1e-12);
        assert!(
            (half - 2.262 * 3.0277 / 10f64.sqrt()).abs() < 1e-3,
            "{half}"
        );
        assert_eq!(interval(&[3.0]), (3.0, 0.0));
    }
}
