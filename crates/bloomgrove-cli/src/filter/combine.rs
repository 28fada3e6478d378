//! `bloomgrove filter union`, `intersect` and `fold`: filters from filters.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::{Error, Filter, MappedFilter};
use serde_json::json;

use super::{KEYS_NOTE, info};
use crate::output::Output;
use crate::{Outcome, interrupt, units};

/// Combine filters that were built with the same size, hashes, layout, family and seed.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove filter union north.grove south.grove -o all.grove")]
pub(crate) struct Args {
    /// Filters, two or more
    #[arg(required = true, num_args = 2.., value_name = "FILTER")]
    filters: Vec<PathBuf>,
    /// The filter to write, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print facts as JSON
    #[arg(long)]
    json: bool,
}

/// Halve a filter, keeping its keys: half the size, a higher false-positive rate.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove filter fold big.grove -o small.grove --times 2")]
pub(crate) struct FoldArgs {
    /// The filter
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    /// The filter to write, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How often to halve
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    times: u32,
    /// Print facts as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn union(args: Args) -> Result<Outcome> {
    combine(&args, |filter, other| filter.union_with(other))
}

pub(crate) fn intersect(args: Args) -> Result<Outcome> {
    combine(&args, |filter, other| filter.intersect_with(other))
}

fn combine(
    args: &Args,
    with: impl Fn(&mut Filter, &MappedFilter) -> Result<(), Error>,
) -> Result<Outcome> {
    let (first, rest) = args.filters.split_first().context("no filters")?;
    let notes = notes_of(first)?;
    let mut filter = Filter::load(first)?;
    for path in rest {
        interrupt::check()?;
        // What is combined is written out again under a right checksum, so it must
        // be sound to begin with.
        bloomgrove::verify(path)?;
        let other = MappedFilter::map(path)?;
        let other_notes = notes_of(path)?;
        if notes.get(KEYS_NOTE) != other_notes.get(KEYS_NOTE) {
            bail!(
                "{} holds {} keys and {} {} keys: they share none",
                first.display(),
                notes.get(KEYS_NOTE).unwrap_or("other"),
                path.display(),
                other_notes.get(KEYS_NOTE).unwrap_or("other"),
            );
        }
        with(&mut filter, &other)
            .with_context(|| format!("{} and {}", first.display(), path.display()))?;
    }
    write(&filter, &args.output, &notes, args.json)
}

pub(crate) fn fold(args: FoldArgs) -> Result<Outcome> {
    let mut filter = Filter::load(&args.filter)?;
    for _ in 0..args.times {
        filter = filter
            .fold()
            .with_context(|| args.filter.display().to_string())?;
    }
    write(&filter, &args.output, &notes_of(&args.filter)?, args.json)
}

/// The one note that stays true when filters are combined.
fn notes_of(path: &Path) -> Result<Notes> {
    let notes = Notes::of_file(path)?;
    Ok(match notes.get(KEYS_NOTE) {
        Some(keys) => Notes::new().with(KEYS_NOTE, keys),
        None => Notes::new(),
    })
}

fn write(filter: &Filter, path: &Path, notes: &Notes, as_json: bool) -> Result<Outcome> {
    filter.save_with(path, notes)?;
    let mut output = Output::new();
    if as_json {
        let mut facts = info::json(filter);
        facts["file"] = json!(path.to_string_lossy());
        output.json(&facts)?;
    } else {
        output.line(format_args!(
            "{}: {} keys, {}, expected false positives {}",
            path.display(),
            units::estimate(filter.estimated_items()),
            units::size(filter.params().words() as u64 * 8),
            units::percent(filter.expected_fpr()),
        ))?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}
