//! Testing whether a sampler is uniform: Pearson's test of one run, and calibration over many.
//!
//! ```text
//!   counts of each member  -->  chi^2 = sum (count - mean)^2 / mean  -->  p
//! ```
//!
//! Over many runs of a uniform sampler, p is below 0.01 in one run of a hundred, chi^2 is on
//! average equal to its degrees of freedom, and with enough draws every member is drawn.
//!
//! A single p proves nothing: for a perfect sampler it is uniform between 0 and 1, so below
//! 0.08 in eight runs of a hundred. Source: Sengupta et al. (sampling), section 7.2, which uses
//! a single run.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// What many draws from one set say about the sampler.
///
/// ```
/// use bloomgrove::raw::sample::Uniformity;
///
/// let fair = Uniformity::of(&[98, 104, 100, 97, 101]);
/// assert!(fair.p > 0.9 && fair.never == 0);
/// let unfair = Uniformity::of(&[250, 250, 0, 0, 0]);
/// assert!(unfair.p < 1e-10 && unfair.never == 3);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Uniformity {
    /// The number of draws.
    pub draws: u64,
    /// Pearson's statistic.
    pub chi_square: f64,
    /// Its degrees of freedom: the number of members minus one.
    pub degrees: u64,
    /// The probability of a statistic at least this large if the sampler is uniform.
    pub p: f64,
    /// The number of members that were never drawn.
    pub never: u64,
    /// How often the most frequent member was drawn, divided by the mean.
    pub most: f64,
}

impl Uniformity {
    /// Computes the statistics from how often each member was drawn. With no draws or a single
    /// member, the sampler is considered uniform.
    pub fn of(counts: &[u64]) -> Self {
        let draws: u64 = counts.iter().sum();
        let mean = draws as f64 / counts.len() as f64;
        let off = |&count: &u64| (count as f64 - mean).powi(2) / mean;
        let degrees = counts.len().saturating_sub(1) as u64;
        let chi_square = match draws {
            0 => 0.0,
            _ => counts.iter().map(off).sum(),
        };
        let distribution = ChiSquared::new(degrees as f64);
        let most = counts.iter().max().copied().unwrap_or(0);
        Self {
            draws,
            chi_square,
            degrees,
            p: distribution.map_or(1.0, |distribution| distribution.sf(chi_square)),
            never: counts.iter().filter(|&&count| count == 0).count() as u64,
            most: most as f64 / mean,
        }
    }

    /// Computes the statistics from draws from `members`, which must be ascending. Draws of
    /// other names are ignored.
    pub fn of_draws(members: &[u64], draws: impl IntoIterator<Item = u64>) -> Self {
        let mut counts = vec![0; members.len()];
        for draw in draws {
            if let Ok(place) = members.binary_search(&draw) {
                counts[place] += 1;
            }
        }
        Self::of(&counts)
    }

    /// Returns the statistic divided by its degrees of freedom: 1 on average if the sampler is
    /// uniform.
    pub fn ratio(&self) -> f64 {
        self.chi_square / self.degrees as f64
    }
}

/// What many runs say about the sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Calibration {
    /// The number of runs.
    pub runs: usize,
    /// The share of runs with p below 0.01.
    pub suspicious: f64,
    /// The mean of [`Uniformity::ratio`].
    pub mean_ratio: f64,
    /// The standard deviation of that mean if the sampler is uniform.
    pub deviation: f64,
    /// Members never drawn, summed over all runs.
    pub never: u64,
}

impl Calibration {
    /// Computes the calibration from several runs, ideally a hundred or more.
    pub fn of(runs: &[Uniformity]) -> Self {
        let count = runs.len() as f64;
        let mean = |of: &dyn Fn(&Uniformity) -> f64| runs.iter().map(of).sum::<f64>() / count;
        Self {
            runs: runs.len(),
            suspicious: mean(&|run| f64::from(run.p < 0.01)),
            mean_ratio: mean(&Uniformity::ratio),
            // chi^2 of d degrees has variance 2 d.
            deviation: (mean(&|run| 2.0 / run.degrees as f64) / count).sqrt(),
            never: runs.iter().map(|run| run.never).sum(),
        }
    }
}
