//! Inserting into large filters: batches so large that they are sorted by where they go first,
//! against small ones that go straight to memory.
//!
//! Each size of batch in turn, in every round, into a filter of its own that has been filled
//! before; the best round of each counts.

use std::hint::black_box;
use std::time::Instant;

use bloomgrove::{Error, Filter, Params};

/// Never sorted, in any filter measured here.
const SMALL: usize = 1 << 16;
const KEYS: u64 = 1 << 24;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Megabytes of the filter
    #[arg(long, default_values_t = [64, 128, 512])]
    size: Vec<u64>,
    /// Bits of each key
    #[arg(long, default_values_t = [3, 7])]
    hashes: Vec<u32>,
    /// Keys of a large batch
    #[arg(long, default_values_t = [1 << 20, 1 << 22, 1 << 24])]
    batch: Vec<usize>,
    /// Rounds; the best of them counts
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
        "| MB | hashes | keys in a batch | ns / key | batches of {SMALL}, ns / key | times as fast |"
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
