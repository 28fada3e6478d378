//! The baseline: every filter queried in turn.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use bloomgrove::{Family, Filter, Params};
use rand::RngExt;

use super::Setup;

/// The time of a scan is averaged over fewer searches: it takes long, and varies little.
const SCANS: usize = 100;
/// The scans are divided into this many passes; the fastest counts.
const PASSES: usize = 5;

/// What one search of all filters costs.
#[derive(Clone, Copy, Debug)]
pub struct Scan {
    /// Milliseconds, the key hashed once.
    pub time: f64,
    /// Milliseconds, the key hashed again for each filter, with MD5.
    pub hashing_time: f64,
    /// Bits read per filter: up to the first that is not set.
    pub bits_read: f64,
    /// Bytes of all filters.
    pub bytes: f64,
}

impl Setup {
    /// Queries every filter in turn. The cost in filters is N; these are the times.
    ///
    /// # Errors
    /// Too little memory.
    pub fn scan(&self) -> Result<Scan> {
        let params = self.params()?;
        let filters = self.all_filters(&params)?;
        let probes = self.probes(&params, SCANS);
        let time = fastest(&probes, |probe| {
            let hits = filters.iter().filter(|filter| filter.contains_probe(probe));
            black_box(hits.count());
        });
        let mut read = 0;
        for probe in &probes {
            for filter in &filters {
                let positions = probe.positions().iter();
                let set = positions.take_while(|&&bit| is_set(filter, bit)).count();
                read += (set + 1).min(probe.positions().len());
            }
        }
        drop(filters);
        Ok(Scan {
            time,
            hashing_time: self.hashing_time()?,
            bits_read: read as f64 / (SCANS as f64 * f64::from(self.filters)),
            bytes: f64::from(self.filters) * self.bits as f64 / 8.0,
        })
    }

    /// As the program of the paper does it: `contains(element)` of each filter hashes the element.
    fn hashing_time(&self) -> Result<f64> {
        let params = Params::builder(self.bits, self.hashes)
            .family(Family::Md5)
            .seed(self.seed)
            .build()?;
        let filters = self.all_filters(&params)?;
        let mut rng = self.rng(2 << 33);
        let keys: Vec<u64> = (0..SCANS)
            .map(|_| {
                let keys = self.keys(rng.random_range(0..self.filters));
                keys[rng.random_range(0..keys.len())]
            })
            .collect();
        Ok(fastest(&keys, |key| {
            let hits = filters.iter().filter(|filter| filter.contains(key));
            black_box(hits.count());
        }))
    }

    fn all_filters(&self, params: &Params) -> Result<Vec<Filter>> {
        (0..self.filters)
            .map(|i| self.filter(params, &self.keys(i)))
            .collect()
    }
}

fn is_set(filter: &Filter, bit: u64) -> bool {
    filter.words()[(bit / 64) as usize] >> (bit % 64) & 1 == 1
}

/// Milliseconds for one item, in the fastest pass.
fn fastest<T>(items: &[T], scan: impl Fn(&T)) -> f64 {
    let mut least = f64::INFINITY;
    for some in items.chunks(SCANS / PASSES) {
        let start = Instant::now();
        some.iter().for_each(&scan);
        least = least.min(start.elapsed().as_secs_f64() * 1e3 / some.len() as f64);
    }
    least
}
