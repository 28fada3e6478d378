//! Figure 1: the cost of one bit, by the size of the filter.
//!
//! One hash function; keys are inserted and queried one by one. The cost of the rest (generating
//! and hashing keys) is measured separately and subtracted, as in the paper. Batches are shown with
//! it, because there hashing overlaps with memory accesses and cannot be separated. The figure also
//! has the paper's probability of a cache miss, (f - c) / f, scaled so that 1 is the cost of a
//! probe in the largest filter.

use std::fs;
use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use bloomgrove::raw::hash::{AnyHasher, Hasher};
use bloomgrove::{Family, Filter, Key, Params};
use statrs::statistics::Statistics;

use super::setup::{CHUNK, Task, chunks};
use super::{claim, figure};
use crate::{Progress, Report, Stroke};

/// Kilobytes. The paper stops at 64 MB, and has finer steps from 1 to 4 MB, around its cache of
/// 2 MB; ours are around 32 MB.
const SIZES: [u64; 18] = [
    4,
    16,
    64,
    256,
    512,
    1 << 10,
    2 << 10,
    4 << 10,
    8 << 10,
    16 << 10,
    24 << 10,
    32 << 10,
    48 << 10,
    64 << 10,
    128 << 10,
    256 << 10,
    512 << 10,
    1 << 20,
];

/// What is timed.
const WAYS: [&str; 4] = [
    "build",
    "probe",
    "build, batches, with hashing",
    "probe, batches, with hashing",
];
/// A point takes a tenth of a second, so noise affects it more than a long run, and more rounds
/// cost little.
const ROUNDS: usize = 3;

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    let effort = task.effort;
    let keys = effort.bit_keys;
    let sizes = SIZES.into_iter().filter(|&kb| kb <= effort.most_bits << 10);
    let sizes: Vec<u64> = sizes.collect();
    let mut best = vec![[f64::INFINITY; 4]; sizes.len()];
    let mut rest = f64::INFINITY;
    for round in 0..ROUNDS * effort.rounds {
        for (&kb, best) in sizes.iter().zip(&mut best) {
            progress(&format!("one bit in {kb} KB (round {})", round + 1))?;
            rest = rest.min(without_bits(keys)?);
            for (best, time) in best.iter_mut().zip(time(kb, keys)?) {
                *best = best.min(time);
            }
        }
    }
    let mut figure = figure("fig01", ("filter, KB", true), ("ns per key", false));
    for (&kb, times) in sizes.iter().zip(&best) {
        for (i, (way, time)) in WAYS.into_iter().zip(times).enumerate() {
            let stroke = [Stroke::Solid, Stroke::Dashed][i / 2];
            let cost = [(time - rest).max(0.0), *time][i / 2];
            figure.draw(way, i % 2, stroke, kb as f64, cost);
        }
    }
    let mut claims = Vec::new();
    if let (Some(cache), Some(last)) = (last_level_cache(), sizes.last()) {
        let most = figure.value(WAYS[1], *last as f64).unwrap_or(0.0);
        for &kb in &sizes {
            let scaled = miss(kb, cache) * most;
            figure.draw("(f - c) / f, scaled", 6, Stroke::Dotted, kb as f64, scaled);
        }
        let what = "cache misses per 16 accesses: a filter of 16 MB, a cache of 2 MB";
        claims.push(claim("fig01", what, 14.0, 16.0 * miss(16 << 10, 2 << 10)));
        let misses: Vec<f64> = sizes.iter().map(|&kb| miss(kb, cache)).collect();
        for (i, way) in WAYS.into_iter().enumerate().take(2) {
            let costs: Vec<f64> = best.iter().map(|times| times[i]).collect();
            let what = format!(
                "correlation of cost and (f - c) / f, c = {} MB, {way} (\"precisely parallel\")",
                cache >> 10
            );
            claims.push(claim("fig01", &what, 1.0, correlation(&costs, &misses)));
        }
    }
    Ok(Report {
        figures: vec![figure],
        claims,
        ..Report::default()
    })
}

/// The paper's probability that an access misses the cache; sizes in kilobytes.
fn miss(filter: u64, cache: u64) -> f64 {
    filter.saturating_sub(cache) as f64 / filter as f64
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    a.covariance(b) / (a.std_dev() * b.std_dev())
}

/// Nanoseconds per key without the bit operation: generating the key and hashing it.
fn without_bits(keys: u64) -> Result<f64> {
    let family = &Family::Xxh3;
    let (hasher, mut sum) = (AnyHasher { family, seed: 0 }, 0);
    let start = Instant::now();
    chunks(0, keys, |keys| {
        for key in keys {
            sum ^= key.with_bytes(|bytes| hasher.digest(bytes).lo);
        }
        Ok(())
    })?;
    black_box(sum);
    Ok(start.elapsed().as_secs_f64() * 1e9 / keys as f64)
}

/// Nanoseconds per key, in the order of [`WAYS`].
fn time(kb: u64, keys: u64) -> Result<[f64; 4]> {
    let params = Params::builder(kb << 13, 1).build()?;
    let mut filter = Filter::new(params)?;
    // The first access to a page of memory costs more than any bit, so the first build is not timed.
    chunks(0, keys, |keys| {
        filter.insert_batch(keys);
        Ok(())
    })?;
    let mut times = [0.0; 4];
    let mut found = [false; CHUNK as usize];
    for (way, time) in times.iter_mut().enumerate() {
        let mut yes = 0;
        let start = Instant::now();
        chunks(0, keys, |keys| {
            let found = &mut found[..keys.len()];
            match way {
                0 => keys.iter().for_each(|key| _ = filter.insert(key)),
                1 => yes += keys.iter().filter(|key| filter.contains(*key)).count() as u64,
                2 => filter.insert_batch(keys),
                _ => {
                    filter.contains_batch(keys, found);
                    yes += found.iter().filter(|found| **found).count() as u64;
                }
            }
            Ok(())
        })?;
        *time = start.elapsed().as_secs_f64() * 1e9 / keys as f64;
        ensure!(way % 2 == 0 || yes == keys, "{} keys were lost", keys - yes);
    }
    Ok(times)
}

/// The largest cache of the first processor in kilobytes, if the system reports it.
fn last_level_cache() -> Option<u64> {
    let caches = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let sizes = caches.filter_map(|cache| {
        let size = fs::read_to_string(cache.ok()?.path().join("size")).ok()?;
        size.trim().strip_suffix('K')?.parse::<u64>().ok()
    });
    sizes.max().filter(|&size| size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_are_as_in_the_papers_example() {
        assert_eq!(miss(16 << 10, 2 << 10), 14.0 / 16.0);
        assert_eq!(miss(4, 2 << 10), 0.0, "it fits");
    }

    #[test]
    fn what_rises_together_is_correlated() {
        let rising = [1.0, 2.0, 3.0, 5.0];
        assert!((correlation(&rising, &rising) - 1.0).abs() < 1e-12);
        assert!(correlation(&rising, &[5.0, 3.0, 2.0, 1.0]) < -0.9);
    }
}
