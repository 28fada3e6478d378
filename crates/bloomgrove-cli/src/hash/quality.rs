//! `bloomgrove hash test`: nanoseconds per key, and a chi-square test of the positions.
//!
//! Source: Spyropoulos (Bloom filters), section 5: hash functions should be fast, and their
//! uniformity can be measured by the chi-square test.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result};
use bloomgrove::raw::hash::{AnyHasher, Hasher, first_prime_from};
use bloomgrove::{Affine, Family, Params};
use serde_json::json;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::scatter;
use crate::shared::output::Output;
use crate::shared::{Outcome, interrupt, units};

/// Positions fall into this many cells: a filter of as many bits.
const CELLS: u64 = 4096;
const HASHES: u32 = 4;
/// Three kinds of keys are held in memory, up to 36 bytes each.
const MOST_ITEMS: u64 = 50_000_000;
/// The speed is that of the best of this many rounds.
const ROUNDS: usize = 25;

/// Measure the speed and uniformity of every hash family, with sequential, random and UUID keys.
///
/// Each key sets 4 positions out of 4,096; Pearson's chi-square test compares the counts with a
/// uniform distribution. A good family gives p-values spread evenly over 0 to 1: one below 0.0001 is
/// "uneven", one above 0.9999 is "too even" (a pattern instead of a hash).
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove hash test --items 1e5")]
pub(crate) struct Args {
    /// The number of keys of each kind
    #[arg(long, value_name = "COUNT", default_value = "1M", value_parser = units::count)]
    items: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Keys of one length, one behind the other, so that reading them costs nothing.
struct Keys {
    kind: &'static str,
    bytes: Vec<u8>,
    width: usize,
}

impl Keys {
    fn new(kind: &'static str, keys: impl Iterator<Item = Vec<u8>>) -> Self {
        let mut bytes = Vec::new();
        let mut width = 1;
        for key in keys {
            width = key.len();
            bytes.extend(key);
        }
        Self { kind, bytes, width }
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.width)
    }
}

struct Row {
    family: String,
    keys: &'static str,
    nanos: f64,
    chi_square: f64,
    p: f64,
    /// Counts over 24 groups of neighbouring cells.
    shape: Vec<u64>,
}

impl Row {
    fn verdict(&self) -> &'static str {
        if self.p < 1e-4 {
            "uneven"
        } else if self.p > 0.9999 {
            "too even"
        } else {
            "fair"
        }
    }
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    anyhow::ensure!(
        args.items >= 10 * CELLS,
        "--items must be at least {} for the test to be significant",
        units::grouped(10 * CELLS)
    );
    anyhow::ensure!(
        args.items <= MOST_ITEMS,
        "--items must be at most {}: the keys of each kind are kept in memory",
        units::grouped(MOST_ITEMS)
    );
    let items = 0..args.items;
    let kinds = [
        Keys::new(
            "sequential",
            items.clone().map(|i| i.to_le_bytes().to_vec()),
        ),
        Keys::new(
            "random",
            items.clone().map(|i| scatter(i).to_le_bytes().to_vec()),
        ),
        Keys::new("uuid", items.map(uuid)),
    ];
    let mut rows = Vec::new();
    for (name, params) in families()? {
        for keys in &kinds {
            // Affine functions take integers; a UUID would be one of 288 bits.
            if name.starts_with("affine") && keys.kind == "uuid" {
                continue;
            }
            interrupt::check()?;
            rows.push(measure(&name, &params, keys)?);
        }
    }

    let mut output = Output::new();
    if args.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({ "family": row.family, "keys": row.keys, "nanoseconds": row.nanos,
                        "chi_square": row.chi_square, "degrees": CELLS - 1, "p": row.p,
                        "verdict": row.verdict() })
            })
            .collect();
        output.json(&json!({ "items": args.items, "cells": CELLS, "families": rows }))?;
    } else {
        print(&mut output, &rows)?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

fn print(output: &mut Output, rows: &[Row]) -> Result<()> {
    let slowest = rows.iter().map(|row| row.nanos).fold(0.0, f64::max);
    let table: Vec<_> = rows
        .iter()
        .map(|row| {
            let bar = "#".repeat((row.nanos / slowest * 20.0).ceil() as usize);
            vec![
                row.family.clone(),
                row.keys.into(),
                format!("{:.1}", row.nanos),
                bar,
                format!("{:.3}", row.chi_square / (CELLS - 1) as f64),
                format!("{:.4}", row.p),
                row.verdict().into(),
                sparkline(&row.shape),
            ]
        })
        .collect();
    let head = [
        "family", "keys", "ns/key", "", "chi2/dof", "p", "verdict", "spread",
    ];
    output.table(&head, &table)
}

/// Every family, and the affine one in both forms of the sampling paper.
fn families() -> Result<Vec<(String, Params)>> {
    let hashed = [
        Family::Xxh3,
        Family::Xxh3Wide,
        Family::Murmur3,
        Family::Md5,
        Family::SipHash { key: [7; 16] },
    ];
    let mut families: Vec<(String, Family)> = hashed
        .into_iter()
        .map(|family| (family.to_string().to_owned(), family))
        .collect();
    let pairs: Vec<_> = (0..u64::from(HASHES))
        .map(|i| ((scatter(i) % 1_000_000) | 1, scatter(i + 99) % 1_000_000))
        .collect();
    let prime = first_prime_from(1 << 61).context("a prime")?;
    families.push((
        "affine mod bits".into(),
        Family::Affine(Affine::new(&pairs, CELLS)?),
    ));
    families.push((
        "affine mod p".into(),
        Family::Affine(Affine::seeded(prime, HASHES, 1)?),
    ));
    families
        .into_iter()
        .map(|(name, family)| Ok((name, Params::builder(CELLS, HASHES).family(family).build()?)))
        .collect()
}

fn measure(family: &str, params: &Params, keys: &Keys) -> Result<Row> {
    let mut counts = vec![0u64; CELLS as usize];
    for key in keys.iter() {
        for &position in params.probe(key).positions() {
            counts[position as usize] += 1;
        }
    }
    let expected = (keys.iter().len() as u64 * u64::from(HASHES)) as f64 / CELLS as f64;
    let chi_square: f64 = counts
        .iter()
        .map(|&count| (count as f64 - expected).powi(2) / expected)
        .sum();
    let p = ChiSquared::new((CELLS - 1) as f64)?.sf(chi_square);
    Ok(Row {
        family: family.to_owned(),
        keys: keys.kind,
        nanos: speed(params, keys),
        chi_square,
        p,
        shape: counts
            .chunks(CELLS as usize / 24)
            .take(24)
            .map(|group| group.iter().sum())
            .collect(),
    })
}

/// Nanoseconds for the hash of a key; for affine functions, for all positions.
fn speed(params: &Params, keys: &Keys) -> f64 {
    // Few enough to stay in the cache.
    let count = keys.iter().len().min(10_000);
    let round = || {
        let start = Instant::now();
        for key in keys.iter().take(count) {
            match params.family() {
                Family::Affine(_) => drop(black_box(params.probe(key))),
                family => {
                    let seed = params.seed();
                    black_box(AnyHasher { family, seed }.digest(key));
                }
            }
        }
        start.elapsed().as_nanos() as f64 / count as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// The groups as bars between their least and greatest.
fn sparkline(groups: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let mean = groups.iter().sum::<u64>() as f64 / groups.len() as f64;
    // Three standard deviations of a fair count fill the height.
    let height = 6.0 * mean.sqrt();
    groups
        .iter()
        .map(|&count| {
            let level = ((count as f64 - mean) / height + 0.5) * 8.0;
            BARS[level.clamp(0.0, 7.0) as usize]
        })
        .collect()
}

fn uuid(i: u64) -> Vec<u8> {
    let hex = format!("{:016x}{:016x}", scatter(i), scatter(!i));
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-").into_bytes()
}
