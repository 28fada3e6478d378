//! `bloomgrove index build`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::format::{Content, Notes};
use bloomgrove::index::{Index, IndexFile};
use bloomgrove::raw::format::check_target;
use bloomgrove::{Error, Filter, MappedFilter};

use super::take_in::{Added, MEMORY, merge, take_in};
use crate::shared::output::{self, complain};
use crate::shared::read_sets::SetArgs;
use crate::shared::sizing::{self, Sizing};
use crate::shared::sources::{self, Source, SourceKind};
use crate::shared::{Outcome, interrupt, notes, open, stamp, units};

const FPR_HELP: &str = "The false-positive rate: how often a set without the key is listed [default: \
                        0.1 divided by the number of sets, at most 1%; with --items, 0.1%]";

/// Build an index of many sets.
///
/// Each file is a set, and each of its lines is a key. With --extract, keys are the words of a log
/// or the values of JSON lines; with --column, those of a .csv, .tsv or .parquet file. Compressed
/// files are decompressed, and each file in a tar or zip archive is a set. A .grove file
/// is a filter, or an index, all of whose sets are added. Directories are read recursively,
/// except for hidden files and indexes.
///
/// If one directory is given, a set is named by its path below it; otherwise by its path as given.
/// A set added from a .grove filter is named after the file, without its extension.
///
/// Without --items or --bits, each filter is as large as its set needs for --fpr. Filters of one
/// size, large enough for the largest set, can be combined with others of that size later; each
/// additional size adds a few microseconds to each query.
#[derive(clap::Args)]
#[command(
    mut_arg("fpr", |fpr| fpr.help(FPR_HELP)),
    after_help = "Examples:\n  \
    bloomgrove index build logs/ --extract tokens -o logs.grove\n  \
    bloomgrove index build orders/*.parquet --column customer_id -o orders.grove --items 100k")]
pub(crate) struct Args {
    #[command(flatten)]
    sets: SetArgs,
    /// The index to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Write the index even if some sets cannot be read
    #[arg(long)]
    partial: bool,
    /// How much memory filters may use before they are written to disk [default: 256MiB]
    #[arg(long, value_parser = units::bytes, value_name = "SIZE")]
    memory: Option<u64>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    // Fail before hours of work.
    check_target(&args.output, Content::Index)?;
    open::remove_leftovers(&args.output);
    let (sources, complete) = sources::find(&args.sets.paths);
    sources::check_names(&sources)?;
    if complete && sources.is_empty() {
        let paths = args
            .sets
            .paths
            .iter()
            .map(|path| path.display().to_string());
        let paths: Vec<String> = paths.collect();
        bail!("{}: no files; no index was written", paths.join(", "));
    }
    let sizing = sizing(&args.sets.size, &sources)?;
    let mut notes = Notes::new().with(notes::KEYS, args.sets.keys.name());
    notes = notes::with_extraction(notes, &args.sets.from.lines().extraction);
    let mut index = match &sizing {
        Sizing::Equal(params) => {
            // If not even one fits, report that once.
            Filter::new(params.clone())?;
            Index::new(params.clone())
        }
        Sizing::Own(fpr) => {
            notes = notes.with(notes::FPR, fpr);
            Index::mixed()
        }
    };
    index.set_notes(notes);
    let how = args.sets.how(sizing);
    // Next to the index, so that it can be renamed into place once it is complete.
    let folder = match args.output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let temporary = tempfile::Builder::new()
        .prefix(".bloomgrove-")
        .suffix(".tmp")
        .tempdir_in(folder)
        .with_context(|| format!("creating a temporary directory in {}", folder.display()))?;
    let mut file = IndexFile::create(temporary.path().join("index.grove"), &index)?;
    let memory = args.memory.unwrap_or(MEMORY);
    let mut added = Added::new(complete);
    let base = stamp::base_of(&args.output).with_context(|| args.output.display().to_string())?;
    let all_read = take_in(&mut file, &sources, &how, &base, |file, source, read| {
        let outcome = match source.kind {
            SourceKind::Index => merge(file, source, &base, memory).map(|_| ()),
            _ => file
                .add_tagged(&read.name, &read.tag, &read.filter)
                .map(|_| ()),
        };
        match outcome {
            Err(Error::DuplicateSet { name }) => {
                complain(format_args!(
                    "{name}: two inputs have this set name; pass each file only once"
                ));
                added.complete = false;
            }
            outcome => added.count(source, outcome)?,
        }
        added.look_at(&read.filter);
        if file.pending_bytes() > memory {
            file.commit()?;
        }
        Ok(())
    })?;
    if interrupt::was_asked() {
        bail!("interrupted; no index was written");
    }
    added.complete &= all_read;
    if !added.complete && !args.partial {
        bail!("some sets could not be added, so no index was written; --partial leaves them out");
    }
    added.warn_of_overfull();
    // One piece, in however many it was written.
    file.save(&args.output)?;
    let index = Index::open(&args.output)?;

    let facts = args.json.then(|| super::info::json(&index));
    output::summary(&args.output, facts, || {
        let sets = units::counted(index.len() as u64, "set");
        format!("{sets}, {}", units::size(index.bytes()))
    })?;
    Ok(added.outcome())
}

/// How large the filters of a new index are.
fn sizing(size: &sizing::SizeArgs, sources: &[Source]) -> Result<Sizing> {
    // If all sources are filters of one size, that is the size.
    let is_filter = |source: &Source| source.kind == SourceKind::Filter;
    if size.is_empty() && sources.iter().all(is_filter) {
        let mut all = sources.iter().map(|source| MappedFilter::map(&source.path));
        if let Some(first) = all.next().transpose()?
            && all.all(|other| other.is_ok_and(|other| other.params() == first.params()))
        {
            return Ok(Sizing::Equal(first.params().clone()));
        }
    }
    size.sizing_for(sources.len())
}
