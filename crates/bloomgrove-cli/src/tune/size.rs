//! `bloomgrove tune size`: the size and kind of a filter, and why.

use anyhow::Result;
use bloomgrove::raw::math;
use bloomgrove::raw::tune::{blocked, expected_fpr, first_prime, standard};
use bloomgrove::tune::{self, Recommendation};
use bloomgrove::{Layout, Params};
use serde_json::{Value, json};

use crate::shared::output::Output;
use crate::shared::{Outcome, units};

/// Find the size for a number of items and a false-positive rate, or the rate of a size.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove tune size --items 1M --fpr 1%\n  \
    bloomgrove tune size --items 1M --bits 2MB --hashes 7")]
pub(crate) struct Args {
    /// The number of keys
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    items: u64,
    /// The false-positive rate: how often an absent key is accepted
    #[arg(long, value_name = "RATE", default_value = "1%", value_parser = units::rate, conflicts_with = "bits")]
    fpr: f64,
    /// Evaluate this size instead, in bits (1e7) or bytes (32MB)
    #[arg(long, value_name = "BITS", value_parser = units::bits)]
    bits: Option<u64>,
    /// The number of hashes [default: the best]
    #[arg(long, value_name = "COUNT", requires = "bits", value_parser = units::within::<u32>(1..=64))]
    hashes: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    match args.bits {
        None => size(args),
        Some(bits) => judge(args, bits),
    }
}

fn size(args: &Args) -> Result<Outcome> {
    let best = tune::recommend(args.items, args.fpr)?;
    let mut sizes = vec![("standard", standard(args.items, args.fpr)?)];
    // Not every rate is possible with these; that is not an error.
    sizes.extend(blocked(args.items, args.fpr).map(|size| ("blocked", size)));
    sizes.extend(first_prime(args.items).map(|size| ("first prime", size)));
    let optimum = math::optimal_bits(args.items, args.fpr);

    let mut output = Output::new();
    if args.json {
        let size_json = |(kind, size): &(&str, Recommendation)| {
            let mut value = size_json(size);
            value["kind"] = json!(kind);
            value
        };
        output.json(&json!({
            "items": args.items,
            "target_fpr": args.fpr,
            "formula": { "bits": optimum, "hashes": math::optimal_hashes(args.fpr) },
            "sizes": sizes.iter().map(size_json).collect::<Vec<_>>(),
            "recommended": size_json(&("recommended", best.clone())),
            "why": best.why,
        }))?;
    } else {
        let mut rows: Vec<_> = sizes
            .iter()
            .map(|(kind, size)| row(kind, size.bits as f64, size.items, size.hashes, size.fpr))
            .collect();
        let hashes = format!("{:.2}", math::optimal_hashes(args.fpr));
        rows.push(row("formula", optimum, args.items, hashes, args.fpr));
        output.table(&HEAD, &rows)?;
        output.line("")?;
        output.line(format_args!(
            "use {}, {}, {}: {}",
            best.layout,
            units::counted(best.hashes.into(), "hash"),
            best.family,
            best.why
        ))?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

const HEAD: [&str; 6] = [
    "kind",
    "bits",
    "bits/item",
    "hashes",
    "size",
    "false-positive rate",
];

fn row(kind: &str, bits: f64, items: u64, hashes: impl ToString, fpr: f64) -> Vec<String> {
    vec![
        kind.into(),
        units::grouped(bits.ceil() as u64),
        format!("{:.2}", bits / items as f64),
        hashes.to_string(),
        units::size((bits / 8.0).ceil() as u64),
        units::percent(fpr),
    ]
}

fn size_json(size: &Recommendation) -> Value {
    json!({
        "layout": size.layout.to_string(),
        "family": size.family.to_string(),
        "bits": size.bits,
        "bits_per_item": size.bits as f64 / size.items as f64,
        "hashes": size.hashes,
        "fpr": size.fpr,
    })
}

/// The rates of a given size.
fn judge(args: &Args, bits: u64) -> Result<Outcome> {
    anyhow::ensure!(args.items > 0, "--items must be at least 1");
    let best = |layout: Layout| -> Option<(u32, f64)> {
        let rate = |hashes| expected_fpr(layout, bits, hashes, args.items);
        let possible = |hashes: &u32| {
            let params = Params::builder(bits, *hashes).layout(layout).build();
            params.is_ok()
        };
        let candidates = match args.hashes {
            Some(hashes) => hashes..=hashes,
            None => 1..=bloomgrove::MAX_HASHES,
        };
        candidates
            .filter(possible)
            .map(|hashes| (hashes, rate(hashes)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let found: Vec<(Layout, u32, f64)> = [Layout::Standard, Layout::Blocked]
        .into_iter()
        .filter_map(|layout| best(layout).map(|(hashes, fpr)| (layout, hashes, fpr)))
        .collect();
    anyhow::ensure!(
        !found.is_empty(),
        "no filter can have {} bits with these hashes; the size must be 1 to {} bits",
        units::grouped(bits),
        units::grouped(bloomgrove::MAX_BITS)
    );
    let mut output = Output::new();
    if args.json {
        let sizes: Vec<_> = found
            .iter()
            .map(|(layout, hashes, fpr)| {
                json!({ "layout": layout.to_string(), "bits": bits, "hashes": hashes, "fpr": fpr,
                        "bits_per_item": bits as f64 / args.items as f64 })
            })
            .collect();
        output.json(&json!({ "items": args.items, "sizes": sizes }))?;
    } else {
        let rows: Vec<_> = found
            .iter()
            .map(|(layout, hashes, fpr)| {
                row(&layout.to_string(), bits as f64, args.items, hashes, *fpr)
            })
            .collect();
        output.table(&HEAD, &rows)?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}
