//! How long probes waited: in the request queue, in their block, and in total.
//!
//! A histogram whose classes grow by an eighth of a power of two, so percentiles are accurate
//! to 9% in a few kilobytes, for any number of probes. Mean and maximum are exact.

use std::time::Duration;

/// Classes per power of two.
const STEPS: u64 = 8;
/// Enough for centuries in nanoseconds.
const CLASSES: usize = 64 * STEPS as usize;

/// Statistics on how long probes waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latency {
    /// The number of probes timed.
    pub probes: u64,
    /// The mean.
    pub mean: Duration,
    /// The median, accurate to 9%.
    pub p50: Duration,
    /// The 99th percentile, accurate to 9%.
    pub p99: Duration,
    /// The maximum.
    pub max: Duration,
}

/// The waiting times of a probe in its two stages and in total: the curves of the paper's
/// Figure 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latencies {
    /// From being submitted to being added to a block.
    pub queue: Latency,
    /// From being added to a block to the answer.
    pub block: Latency,
    /// From being submitted to the answer.
    pub total: Latency,
}

/// Counts of waiting times.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    probes: u64,
    sum: u128,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; CLASSES],
            probes: 0,
            sum: 0,
            max: 0,
        }
    }
}

impl Histogram {
    pub(super) fn add(&mut self, waited: Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.counts[class_of(nanos)] += 1;
        self.probes += 1;
        self.sum += u128::from(nanos);
        self.max = self.max.max(nanos);
    }

    pub(super) fn latency(&self) -> Latency {
        let mean = self.sum / u128::from(self.probes.max(1));
        Latency {
            probes: self.probes,
            mean: Duration::from_nanos(mean as u64),
            p50: self.percentile(50),
            p99: self.percentile(99),
            max: Duration::from_nanos(self.max),
        }
    }

    /// Returns the upper bound of the class that contains the percentile, but at most the
    /// maximum.
    fn percentile(&self, percent: u64) -> Duration {
        let rank = (self.probes * percent).div_ceil(100);
        let mut seen = 0;
        let class = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        let end = class.map_or(self.max, |class| start_of(class + 1));
        Duration::from_nanos(end.min(self.max))
    }
}

/// The exponent of the power of two, and the three bits after the leading one.
fn class_of(nanos: u64) -> usize {
    if nanos < STEPS {
        return nanos as usize;
    }
    let power = u64::from(nanos.ilog2());
    let step = (nanos >> (power - 3)) % STEPS;
    ((power - 2) * STEPS + step) as usize
}

fn start_of(class: usize) -> u64 {
    let class = class as u64;
    if class < STEPS {
        return class;
    }
    let (power, step) = (class / STEPS + 2, class % STEPS);
    (STEPS + step)
        .checked_shl(power as u32 - 3)
        .unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_one_another_and_hold_their_numbers() {
        for nanos in (0..2000).chain((3..60).flat_map(|p| [(1 << p) - 1, 1 << p, (1 << p) + 1])) {
            let class = class_of(nanos);
            assert!(
                start_of(class) <= nanos && nanos < start_of(class + 1),
                "{nanos}"
            );
        }
    }

    #[test]
    fn percentiles_are_right_to_an_eighth() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|micros| histogram.add(Duration::from_micros(micros)));
        let latency = histogram.latency();
        assert_eq!(latency.max, Duration::from_micros(1000));
        assert_eq!(latency.mean, Duration::from_nanos(500_500));
        let near = |found: Duration, micros: f64| {
            let ratio = found.as_secs_f64() * 1e6 / micros;
            assert!((1.0..1.126).contains(&ratio), "{found:?}");
        };
        near(latency.p50, 500.0);
        near(latency.p99, 990.0 / 1.0);
    }
}
