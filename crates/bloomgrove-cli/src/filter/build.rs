//! `bloomgrove filter build`: files of keys in, a filter out.

use std::path::PathBuf;

use anyhow::{Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::{Collector, Family, Filter, Params};
use serde_json::json;

use super::info;
use crate::shared::keys::{self, KeyKind};
use crate::shared::output::Output;
use crate::shared::progress::Progress;
use crate::shared::units::Items;
use crate::shared::{Outcome, notes, params, units};

/// Build a filter from files of keys: one per line, or the values of a column.
///
/// Compressed files are decompressed; - is standard input. Without --items or --bits,
/// the distinct keys are counted first; that takes 8 bytes per key, in memory up to 64 MB and in a
/// temporary file beyond that.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove filter build users.txt -o users.grove --fpr 0.1%\n  \
    bloomgrove filter build orders.parquet --column customer_id -o customers.grove")]
pub(crate) struct Args {
    /// Files of keys
    #[arg(required = true, value_name = "KEYS")]
    inputs: Vec<PathBuf>,
    /// The filter to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    from: keys::KeysArgs,
    #[command(flatten)]
    params: params::ParamsArgs,
    /// How to interpret keys [default: text; integer for affine]
    #[arg(long, value_name = "KIND", value_enum)]
    keys: Option<KeyKind>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let kind = args.keys.unwrap_or(args.params.usual_keys());
    let decided = args.params.decided()?;
    let progress = Progress::bytes(keys::total_size(&args.inputs), "reading");
    let (filter, count) = match decided {
        Some(params) => insert_all(&args, kind, params, &progress)?,
        None => collect_all(&args, kind, &progress)?,
    };
    drop(progress);
    let mut notes = Notes::new()
        .with(notes::KEYS, kind.name())
        .with("inserted", count);
    if !args.params.has_bits() {
        notes = notes.with("target-fpr", args.params.target());
    }
    if let Some(items) = args.params.items() {
        notes = notes.with("sized-for", items);
    }
    filter.save_with(&args.output, &notes)?;

    let mut output = Output::new();
    if args.json {
        let mut facts = info::json(&filter, Items::Of(filter.estimated_items()));
        facts["file"] = json!(args.output.to_string_lossy());
        facts["inserted"] = json!(count);
        output.json(&facts)?;
    } else {
        let size = filter.params().words() as u64 * 8;
        output.line(format_args!(
            "{}: {} read, {} distinct, {}, false-positive rate {}",
            args.output.display(),
            units::counted(count, "key"),
            units::estimate(filter.estimated_items()),
            units::size(size),
            units::percent(filter.expected_fpr()),
        ))?;
        if filter.expected_fpr() > args.params.target() * 1.1 && !args.params.has_bits() {
            output.line(format_args!(
                "note: more keys than the filter was sized for; rebuild it with --items {}",
                filter.estimated_items().min(count as f64) as u64
            ))?;
        }
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

fn insert_all(
    args: &Args,
    kind: KeyKind,
    params: Params,
    progress: &Progress,
) -> Result<(Filter, u64)> {
    // Affine functions with given coefficients distinguish only keys below p.
    let below = match params.family() {
        Family::Affine(functions) if !args.params.has_coefficients() => functions.modulus(),
        _ => u64::MAX,
    };
    let mut filter = Filter::new(params)?;
    let mut count = 0;
    for input in &args.inputs {
        keys::read(input, &args.from, Some(progress), |lines| {
            count += lines.len() as u64;
            if kind == KeyKind::Text {
                filter.insert_batch(lines);
            } else {
                for line in lines {
                    let key = kind.key(line)?;
                    if key
                        .first_chunk()
                        .is_some_and(|key| u64::from_le_bytes(*key) >= below)
                    {
                        bail!(
                            "{} is not below the modulus {below}; choose a prime above all keys",
                            String::from_utf8_lossy(line)
                        );
                    }
                    filter.insert(&key);
                }
            }
            Ok(())
        })?;
    }
    Ok((filter, count))
}

fn collect_all(args: &Args, kind: KeyKind, progress: &Progress) -> Result<(Filter, u64)> {
    let mut collector = Collector::seeded(args.params.target(), args.params.seed())?;
    if let Some(layout) = args.params.layout() {
        collector = collector.layout(layout);
    }
    for input in &args.inputs {
        keys::read(input, &args.from, Some(progress), |lines| {
            for line in lines {
                if kind == KeyKind::Text {
                    collector.insert(*line)?;
                } else {
                    collector.insert(&kind.key(line)?)?;
                }
            }
            Ok(())
        })?;
    }
    let count = collector.keys();
    Ok((collector.finish()?, count))
}
