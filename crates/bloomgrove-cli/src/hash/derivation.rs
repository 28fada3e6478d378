//! `bloomgrove hash derivation`: independent positions against double hashing.
//!
//! With `g_i = h1 + i h2 (mod m)`, a key whose h2 has a small order in Z_m repeats its own
//! positions and sets fewer bits; if h2 is 0, only one. How often that happens depends on the
//! divisors of m, so sizes of many kinds are tried.

use anyhow::Result;
use bloomgrove::{Derivation, Filter, Params};
use serde_json::json;

use super::scatter;
use crate::shared::output::Output;
use crate::shared::{Outcome, interrupt, units};

const HASHES: u32 = 7;
/// A key with no more distinct positions than this is accepted far too easily.
const DEGENERATE: usize = 3;
/// 2^k and its neighbours, primes, products of small numbers, round numbers.
const SIZES: [u64; 10] = [60, 64, 67, 960, 1000, 1009, 1024, 10_080, 100_003, 1 << 20];

/// Compare double hashing (Kirsch-Mitzenmacher) with independent positions.
///
/// For filters of several sizes, with 10 bits per key and 7 hashes: the share of keys whose 7
/// positions fall on 3 or fewer distinct bits, and the false-positive rate relative to theory.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove hash derivation --queries 1e6")]
pub(crate) struct Args {
    /// The number of absent keys to check, for each size and derivation
    #[arg(long, value_name = "COUNT", default_value = "4M", value_parser = units::count)]
    queries: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

struct Row {
    bits: u64,
    theory: f64,
    /// Share of degenerate keys, and rate: independent, then double.
    degenerate: [f64; 2],
    rate: [f64; 2],
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    anyhow::ensure!(
        (10_000..=1_000_000_000).contains(&args.queries),
        "--queries must be from 10,000 to 1,000,000,000: fewer are not significant, and more take hours"
    );
    let mut rows = Vec::new();
    for bits in SIZES {
        interrupt::check()?;
        rows.push(measure(bits, args.queries)?);
    }
    let mut output = Output::new();
    if args.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({ "bits": row.bits, "theory": row.theory,
                        "degenerate_keys": { "independent": row.degenerate[0], "double": row.degenerate[1] },
                        "fpr": { "independent": row.rate[0], "double": row.rate[1] } })
            })
            .collect();
        output.json(&json!({ "hashes": HASHES, "queries": args.queries, "sizes": rows }))?;
    } else {
        let table: Vec<_> = rows
            .iter()
            .map(|row| {
                vec![
                    units::grouped(row.bits),
                    units::percent(row.theory),
                    format!("{:.3}%", row.degenerate[0] * 100.0),
                    format!("{:.3}%", row.degenerate[1] * 100.0),
                    format!("{:.3}", row.rate[0] / row.theory),
                    format!("{:.3}", row.rate[1] / row.theory),
                ]
            })
            .collect();
        let head = [
            "bits",
            "theory",
            "degenerate: indep.",
            "double",
            "rate / theory: indep.",
            "double",
        ];
        output.table(&head, &table)?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

fn measure(bits: u64, queries: u64) -> Result<Row> {
    let items = bits / 10;
    let derivations = [Derivation::Independent, Derivation::KirschMitzenmacher];
    let (mut degenerate, mut rate) = ([0.0; 2], [0.0; 2]);
    for (which, derivation) in derivations.into_iter().enumerate() {
        let params = Params::builder(bits, HASHES)
            .derivation(derivation)
            .build()?;
        let sample = 1_000_000.min(queries);
        let short = (0..sample).filter(|&i| {
            let probe = params.probe(&scatter(i));
            let mut positions = probe.positions().to_vec();
            positions.sort_unstable();
            positions.dedup();
            positions.len() <= DEGENERATE
        });
        degenerate[which] = short.count() as f64 / sample as f64;
        rate[which] = rate_of(&params, items, queries);
    }
    Ok(Row {
        bits,
        theory: bloomgrove::raw::math::standard_fpr(bits, HASHES, items),
        degenerate,
        rate,
    })
}

/// The mean rate over many filters of other keys, so that one filter's luck does not
/// decide: at least 20, and 2000 of the smallest.
fn rate_of(params: &Params, items: u64, queries: u64) -> f64 {
    let filters = (2_000_000 / params.bits()).clamp(20, 2000);
    let each = (queries / filters).max(1);
    let mut accepted = 0u64;
    for filter_no in 0..filters {
        let Ok(mut filter) = Filter::new(params.clone()) else {
            continue;
        };
        let key = |i: u64| scatter(i | filter_no << 44);
        let inside: Vec<u64> = (0..items).map(key).collect();
        filter.insert_batch(&inside);
        let asked: Vec<u64> = (0..each).map(|i| key(i | 1 << 43)).collect();
        let mut found = vec![false; asked.len()];
        filter.contains_batch(&asked, &mut found);
        accepted += found.iter().filter(|&&yes| yes).count() as u64;
    }
    accepted as f64 / (filters * each) as f64
}
