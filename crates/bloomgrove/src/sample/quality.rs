//! Is a sampler uniform? Pearson's test of one run, and the judgement over many.
//!
//! ```text
//!   counts of each member  -->  chi^2 = sum (count - mean)^2 / mean  -->  p
//!
//!   many runs: of a uniform sampler p is below .01 in one of a hundred, chi^2 is on average its
//!   degrees of freedom, and with enough draws no member is never drawn
//! ```
//!
//! One p proves nothing: that of a perfect sampler is anything between 0 and 1, and below .08 in
//! eight runs of a hundred. Source: Sengupta et al. (sampling), section 7.2, which judges by one run.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// What many draws from one set say of the sampler.
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
    /// How many draws there were.
    pub draws: u64,
    /// Pearson's statistic.
    pub chi_square: f64,
    /// Its degrees of freedom: one less than there are members.
    pub degrees: u64,
    /// The chance of as large a statistic, if the sampler is uniform.
    pub p: f64,
    /// How many members no draw gave.
    pub never: u64,
    /// How often the commonest member came, by the mean.
    pub most: f64,
}

impl Uniformity {
    /// Of how often each member was drawn. Without draws, or with one member, nothing speaks
    /// against the sampler.
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

    /// Of draws from `members`, which rise; those of anything else do not count.
    pub fn of_draws(members: &[u64], draws: impl IntoIterator<Item = u64>) -> Self {
        let mut counts = vec![0; members.len()];
        for draw in draws {
            if let Ok(place) = members.binary_search(&draw) {
                counts[place] += 1;
            }
        }
        Self::of(&counts)
    }

    /// The statistic by its degrees of freedom: 1 on average, if the sampler is uniform.
    pub fn ratio(&self) -> f64 {
        self.chi_square / self.degrees as f64
    }
}

/// What many runs say of the sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Calibration {
    /// How many runs.
    pub runs: usize,
    /// The share of them with p below .01.
    pub suspicious: f64,
    /// The mean of [`Uniformity::ratio`].
    pub mean_ratio: f64,
    /// By how much that mean varies by chance: its standard deviation, if the sampler is uniform.
    pub deviation: f64,
    /// Members never drawn, in all runs together.
    pub never: u64,
}

impl Calibration {
    /// Of several runs, best a hundred or more.
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
