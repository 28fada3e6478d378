//! `bloomgrove tune accuracy`: how large a filter must be to list its items accurately.

use anyhow::{Result, ensure};
use bloomgrove::sample::{NameIndex, NameIndexOptions, Namespace};
use bloomgrove::{MAX_BITS, MAX_HASHES, Params, tune};
use serde_json::json;

use crate::shared::output::Output;
use crate::shared::{Outcome, units};

/// Find the size at which a given share of the names that a filter accepts are items.
///
/// Also prints what it costs to draw an item. probes/draw is the number of names tested when names are
/// tried at random; index is the size of an index of all names (`bloomgrove sample index`), looks/draw
/// the number of its entries examined, and tests/draw the number of names then tested.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    bloomgrove tune accuracy --names 10M --items 1000 --accuracy 0.9")]
pub(crate) struct Args {
    /// The number of names, some of which are items
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    names: u64,
    /// The number of items in the filter
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    items: u64,
    /// The share of items among the names that the filter accepts
    #[arg(long, value_name = "RATE", default_value = "90%", value_parser = units::rate)]
    accuracy: f64,
    /// The number of bits that each item sets [default: 3, and the number that gives the smallest filter]
    #[arg(long, value_name = "COUNT", value_parser = units::within::<u32>(1..=64))]
    hashes: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A filter of the given accuracy, and the cost of drawing from it.
struct Choice {
    params: Params,
    fpr: f64,
    accuracy: f64,
    members: f64,
    fill: f64,
    index_bytes: u64,
}

impl Choice {
    fn new(args: &Args, hashes: u32) -> Result<Self> {
        let bits = tune::bits_for_accuracy(args.names, args.items, hashes, args.accuracy).ceil();
        ensure!(
            bits <= MAX_BITS as f64,
            "this takes a filter of {bits:.2e} bits; the largest possible has {}",
            units::grouped(MAX_BITS)
        );
        let params = Params::builder((bits as u64).max(1), hashes).build()?;
        let fill = bloomgrove::raw::math::fill(params.bits(), hashes, args.items);
        let fpr = fill.powi(hashes as i32);
        let accuracy = tune::accuracy(args.names, args.items, fpr);
        Ok(Self {
            index_bytes: NameIndex::size(
                &params,
                &Namespace::range(0..args.names)?,
                NameIndexOptions::default(),
            )?,
            members: args.items as f64 / accuracy,
            params,
            fpr,
            accuracy,
            fill,
        })
    }

    /// Names examined per draw, with an index.
    fn looks(&self, names: u64) -> f64 {
        names as f64 * self.fill / self.members
    }

    /// Of those, the ones tested: members, and others whose second bit is set.
    fn tests(&self, names: u64) -> f64 {
        1.0 + (self.looks(names) - 1.0).max(0.0) * self.fill
    }
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    ensure!(args.items > 0, "--items must be at least 1");
    ensure!(
        args.names >= args.items,
        "{} items, but only {} names; the items must be among the names",
        units::grouped(args.items),
        units::grouped(args.names)
    );
    let hashes = match args.hashes {
        Some(hashes) => vec![hashes],
        None => vec![3, best(args)],
    };
    let mut choices = hashes
        .into_iter()
        .map(|hashes| Choice::new(args, hashes))
        .collect::<Result<Vec<_>>>()?;
    choices.dedup_by_key(|choice| choice.params.hashes());
    let mut output = Output::new();
    if args.json {
        let facts = choices.iter().map(|choice| {
            json!({
                "bits": choice.params.bits(),
                "hashes": choice.params.hashes(),
                "bits_per_item": choice.params.bits() as f64 / args.items as f64,
                "fpr": choice.fpr,
                "accuracy": choice.accuracy,
                "members": choice.members,
                "probes_per_draw": args.names as f64 / choice.members,
                "index": {
                    "bytes": choice.index_bytes,
                    "looks_per_draw": choice.looks(args.names),
                    "tests_per_draw": choice.tests(args.names),
                },
            })
        });
        output.json(&json!({
            "names": args.names,
            "items": args.items,
            "target_accuracy": args.accuracy,
            "choices": facts.collect::<Vec<_>>(),
        }))?;
    } else {
        let head = [
            "hashes",
            "bits",
            "bits/item",
            "size",
            "false-positive rate",
            "members",
            "probes/draw",
            "index",
            "looks/draw",
            "tests/draw",
        ];
        let row = |choice: &Choice| {
            let bits = choice.params.bits();
            vec![
                choice.params.hashes().to_string(),
                units::grouped(bits),
                units::tenths(bits as f64 / args.items as f64),
                units::size(bits.div_ceil(8)),
                units::percent(choice.fpr),
                units::grouped(choice.members.round() as u64),
                units::tenths(args.names as f64 / choice.members),
                units::size(choice.index_bytes),
                units::tenths(choice.looks(args.names)),
                units::tenths(choice.tests(args.names)),
            ]
        };
        let rows: Vec<_> = choices.iter().map(row).collect();
        output.table(&head, &rows)?;
        let first = &choices[0].params;
        output.line("")?;
        if first.bits() == 1 {
            output.line("most names are items, so accepting every name is accurate enough")?;
        } else {
            if choices.len() > 1 {
                output.line(
                    "the first is faster if you sample or list items often; the second is smaller",
                )?;
            }
            output.line(format_args!(
                "bloomgrove filter build ITEMS -o FILE --bits {} --hashes {} (and --keys integer \
                 for integers)",
                first.bits(),
                first.hashes()
            ))?;
        }
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// The hashes that need the fewest bits.
fn best(args: &Args) -> u32 {
    let bits =
        |hashes: &u32| tune::bits_for_accuracy(args.names, args.items, *hashes, args.accuracy);
    let all = (1..=MAX_HASHES).min_by(|a, b| bits(a).total_cmp(&bits(b)));
    all.unwrap_or(3)
}
