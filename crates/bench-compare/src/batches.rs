//! Inserting into large filters: batches large enough to be sorted by position first, against
//! small ones that are written to memory directly.
//!
//! Each batch size takes its turn in every round, with a filter that was filled
//! beforehand; the best round of each counts.

use std::hint::black_box;
use std::time::Instant;

use bloomgrove::{Error, Filter, Params};

/// Never sorted, in any filter measured here.
const SMALL: usize = 1 << 16;
const KEYS: u64 = 1 << 24;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The size of the filter, in megabytes
    #[arg(long, default_values_t = [64, 128, 512])]
    size: Vec<u64>,
    /// The number of bits per key
    #[arg(long, default_values_t = [3, 7])]
    hashes: Vec<u32>,
    /// The number of keys in a large batch
    #[arg(long, default_values_t = [1 << 20, 1 << 22, 1 << 24])]
    batch: Vec<usize>,
    /// The number of rounds; the best counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let keys: Vec<u64> = (0..KEYS).collect();
    println!(
        "\n### {KEYS} keys into the standard layout ({}; best of {} interleaved rounds)\n",
        crate::machine(),
        args.rounds
    );
    println!(
        "| MB | hashes | keys per batch | ns / key | batches of {SMALL}, ns / key | speedup |"
    );
    println!("|---|---|---|---|---|---|");
    for (&size, &hashes) in args
        .size
        .iter()
        .flat_map(|s| args.hashes.iter().map(move |h| (s, h)))
    {
        let mut filter = Filter::new(Params::builder(size << 23, hashes).build()?)?;
        filter.insert_batch(&keys);
        let batches: Vec<usize> = [SMALL]
            .into_iter()
            .chain(args.batch.iter().copied())
            .collect();
        let mut best = vec![f64::INFINITY; batches.len()];
        for _ in 0..args.rounds {
            for (&batch, best) in batches.iter().zip(&mut best) {
                let start = Instant::now();
                for keys in black_box(&keys).chunks(batch) {
                    filter.insert_batch(keys);
                }
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
        let nanos = |seconds: f64| seconds * 1e9 / KEYS as f64;
        for (batch, &seconds) in batches.iter().zip(&best).skip(1) {
            println!(
                "| {size} | {hashes} | {batch} | {:.1} | {:.1} | {:.2} |",
                nanos(seconds),
                nanos(best[0]),
                best[0] / seconds
            );
        }
    }
    Ok(())
}
