//! `bloomgrove filter union`, `intersect` and `fold`: filters from filters.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use bloomgrove::format::Notes;
use bloomgrove::{Error, Filter, Layout, MappedFilter};

use super::info;
use crate::shared::output;
use crate::shared::units::{self, Items};
use crate::shared::{Outcome, interrupt, notes};

/// Combine filters that were built with the same size, hashes, layout, family and seed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Filters, two or more
    #[arg(required = true, num_args = 2.., value_name = "FILTER")]
    filters: Vec<PathBuf>,
    /// The filter to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print the summary as JSON
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
    /// The filter to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The number of times to halve it
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = units::within::<u32>(1..=64))]
    times: u32,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn union(args: Args) -> Result<Outcome> {
    let (filter, notes, _) = combine(&args, |filter, other| filter.union_with(other))?;
    let items = Items::Of(filter.estimated_items());
    write(&filter, &args.output, &notes, items, args.json)
}

pub(crate) fn intersect(args: Args) -> Result<Outcome> {
    // Bits that two filters share by chance look like keys. So the number of common keys is
    // estimated first, from the fill of both filters and of their union.
    let mut common = Vec::new();
    let (filter, notes, by_chance) = combine(&args, |filter, other| {
        common.push(filter.estimated_common_items(other)?);
        filter.intersect_with(other)
    })?;
    let items = match common[..] {
        [of_two] if !by_chance => Items::Common(of_two),
        _ => Items::CommonAtMost(filter.estimated_items()),
    };
    let notes = notes::of_intersection(notes, args.filters.len(), items);
    write(&filter, &args.output, &notes, items, args.json)
}

/// All filters combined into the first by `with`, the notes of the result, and whether any of the
/// filters is itself an intersection, which has bits by chance.
fn combine(
    args: &Args,
    mut with: impl FnMut(&mut Filter, &MappedFilter) -> Result<(), Error>,
) -> Result<(Filter, Notes, bool)> {
    let (first, rest) = args.filters.split_first().context("no filters")?;
    let notes = notes_of(first, &[notes::KEYS])?;
    let is_intersection = |path: &Path| -> Result<bool> {
        Ok(Notes::of_file(path)?.get(notes::INTERSECTION).is_some())
    };
    let mut by_chance = is_intersection(first)?;
    let mut filter = Filter::load(first)?;
    for path in rest {
        interrupt::check()?;
        // The result gets valid checksums, so the inputs must be undamaged.
        bloomgrove::verify(path)?;
        let other = MappedFilter::map(path)?;
        let other_notes = notes_of(path, &[notes::KEYS])?;
        if notes.get(notes::KEYS) != other_notes.get(notes::KEYS) {
            bail!(
                "{} contains {} keys, but {} contains {} keys, so they cannot be combined; build both \
                 with the same --keys",
                first.display(),
                notes.get(notes::KEYS).unwrap_or("other"),
                path.display(),
                other_notes.get(notes::KEYS).unwrap_or("other"),
            );
        }
        by_chance |= is_intersection(path)?;
        with(&mut filter, &other)
            .with_context(|| format!("{} and {}", first.display(), path.display()))?;
    }
    Ok((filter, notes, by_chance))
}

pub(crate) fn fold(args: FoldArgs) -> Result<Outcome> {
    let mut filter = Filter::load(&args.filter)?;
    for done in 0..args.times {
        let folded = filter.fold().map_err(|error| match done {
            0 => anyhow!(error),
            done => anyhow!(
                "this filter cannot be folded {} times: after {} it has {} bits, an odd number{}; pass \
                 --times {done} or less",
                args.times,
                units::counted(done.into(), "time"),
                units::grouped(filter.params().bits()),
                match filter.params().layout() {
                    Layout::Standard => "",
                    _ => " of blocks",
                }
            ),
        });
        filter = folded.with_context(|| args.filter.display().to_string())?;
    }
    let kept = [notes::KEYS, notes::INTERSECTION, notes::COMMON];
    let notes = notes_of(&args.filter, &kept)?;
    let items = notes::items(filter.estimated_items(), &notes);
    write(&filter, &args.output, &notes, items, args.json)
}

/// The notes of a file that are also true of what is made from it.
fn notes_of(path: &Path, kept: &[&str]) -> Result<Notes> {
    let notes = Notes::of_file(path)?;
    Ok(kept
        .iter()
        .fold(Notes::new(), |kept, name| match notes.get(name) {
            Some(value) => kept.with(name, value),
            None => kept,
        }))
}

fn write(
    filter: &Filter,
    path: &Path,
    notes: &Notes,
    items: Items,
    as_json: bool,
) -> Result<Outcome> {
    filter.save_with(path, notes)?;
    let facts = as_json.then(|| info::json(filter, items));
    output::summary(path, facts, || info::line(filter, items))?;
    Ok(Outcome::Yes)
}
