//! `bloomgrove filter build`: files of keys in, a filter out.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bloomgrove::format::{Notes, content_of};
use bloomgrove::{Collector, Family, Filter, MappedFilter, Params};
use serde_json::json;

use super::info;
use crate::shared::keys::{self, KeyKind};
use crate::shared::output::Output;
use crate::shared::progress::Progress;
use crate::shared::{Outcome, notes, params, units};

/// Build a filter from files of keys: one per line, or the values of a column.
///
/// Compressed files are decompressed; - is standard input. Without --items or --bits,
/// the distinct keys are counted first; that takes 8 bytes per key, in memory up to 64 MB and in a
/// temporary file beyond that.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove filter build users.txt -o users.grove --fpr 0.1%\n  \
    bloomgrove filter build orders.parquet --column customer_id -o customers.grove\n  \
    bloomgrove filter build south.txt -o south.grove --like north.grove")]
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
    /// Use the size and hashing of this filter, so that the two can be combined
    #[arg(long, value_name = "FILTER", conflicts_with_all = params::IDS)]
    like: Option<PathBuf>,
    /// How to interpret keys [default: text; integer for affine]
    #[arg(long, value_name = "KIND", value_enum)]
    keys: Option<KeyKind>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    if args.output.as_os_str() == "-" {
        bail!("-o - is not supported; pass a file name");
    }
    for input in &args.inputs {
        if let Ok(content) = content_of(input) {
            bail!(
                "{}: this is {content}, not a file of keys; `filter union` combines filters",
                input.display()
            );
        }
    }
    let like = args.like.as_deref().map(Like::read).transpose()?;
    let usual = like
        .as_ref()
        .map_or(args.params.usual_keys(), |like| like.kind);
    let kind = args.keys.unwrap_or(usual);
    let decided = match &like {
        Some(like) => Some(like.params.clone()),
        None => args.params.decided()?,
    };
    let progress = Progress::bytes(keys::total_size(&args.inputs), "reading");
    let (filter, count) = match decided {
        Some(params) => {
            // Affine functions with given coefficients distinguish only keys below p.
            let below = match params.family() {
                Family::Affine(functions) if like.is_none() && !args.params.has_coefficients() => {
                    functions.modulus()
                }
                _ => u64::MAX,
            };
            let mut filter = Filter::new(params)?;
            let column = &args.from;
            let count = insert_all(&mut filter, &args.inputs, column, kind, below, &progress)?;
            (filter, count)
        }
        None => collect_all(&args, kind, &progress)?,
    };
    drop(progress);
    let mut notes = Notes::new()
        .with(notes::KEYS, kind.name())
        .with(notes::INSERTED, count);
    notes = notes::with_extraction(notes, &args.from.lines().extraction);
    let (target, items) = match &like {
        Some(like) => (like.target, like.items),
        None if args.params.has_bits() => (None, None),
        None => (Some(args.params.target()), args.params.items()),
    };
    if let Some(target) = target {
        notes = notes.with(notes::TARGET_FPR, target);
    }
    if let Some(items) = items {
        notes = notes.with(notes::SIZED_FOR, items);
    }
    filter.save_with(&args.output, &notes)?;
    report(&args.output, &filter, &notes, count, args.json)?;
    Ok(Outcome::Yes)
}

/// What another filter says of the one to be built.
struct Like {
    params: Params,
    kind: KeyKind,
    target: Option<f64>,
    items: Option<u64>,
}

impl Like {
    fn read(path: &Path) -> Result<Self> {
        let (filter, notes) = (MappedFilter::map(path)?, Notes::of_file(path)?);
        Ok(Self {
            params: filter.params().clone(),
            kind: notes::key_kind_of(&filter, &notes),
            target: notes::number(&notes, notes::TARGET_FPR),
            items: notes::number(&notes, notes::SIZED_FOR),
        })
    }
}

/// What a filter is like after `count` keys were read.
pub(super) fn report(
    path: &Path,
    filter: &Filter,
    notes: &Notes,
    count: u64,
    as_json: bool,
) -> Result<()> {
    let fpr = filter.expected_fpr();
    let items = notes::items(filter.estimated_items(), notes);
    let mut output = Output::new();
    if as_json {
        let mut facts = info::json(filter, items);
        facts["file"] = json!(path.to_string_lossy());
        facts["inserted"] = json!(count);
        output.json(&facts)?;
        return output.finish();
    }
    let is_full = filter.estimated_items().is_infinite();
    let (distinct, full) = match is_full {
        true => (String::new(), " (every bit is set)"),
        false => (format!(", {} distinct", items.number()), ""),
    };
    let rate = match is_full {
        true => "100%".to_owned(),
        false => units::percent(fpr),
    };
    output.line(format_args!(
        "{}: {} read{distinct}, {}, false-positive rate {rate}{full}",
        path.display(),
        units::counted(count, "key"),
        units::size(filter.params().words() as u64 * 8),
    ))?;
    let target: Option<f64> = notes::number(notes, notes::TARGET_FPR);
    if target.is_some_and(|target| fpr > target * 1.1) {
        let inserted: u64 = notes::number(notes, notes::INSERTED).unwrap_or(count);
        output.line(format_args!(
            "note: the filter has more keys than it was sized for; rebuild it with --items {}",
            filter.estimated_items().min(inserted as f64) as u64
        ))?;
    }
    output.finish()
}

/// Inserts the keys of all files, which must be below `below` if they are integers; returns how many there were.
pub(super) fn insert_all(
    filter: &mut Filter,
    inputs: &[PathBuf],
    from: &keys::KeysArgs,
    kind: KeyKind,
    below: u64,
    progress: &Progress,
) -> Result<u64> {
    let mut count = 0;
    for input in inputs {
        keys::read(input, from, Some(progress), |lines| {
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
                        bail!(keys::NotBelow {
                            line: line.to_vec(),
                            modulus: below,
                        });
                    }
                    filter.insert(&key);
                }
            }
            Ok(())
        })?;
    }
    Ok(count)
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
