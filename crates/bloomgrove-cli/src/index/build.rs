//! `bloomgrove index build` and `index add`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bloomgrove::format::{Content, Notes, check_target, content_of};
use bloomgrove::index::{Duplicates, Index, IndexFile};
use bloomgrove::{Collector, Error, Filter, MappedFilter, Params, tune};
use serde_json::json;

use super::sources::{self, How, Sizing, Source, SourceKind};
use super::{FPR_NOTE, KEYS_NOTE, open};
use crate::keys::{Column, KeyKind};
use crate::output::{self, Output, complain};
use crate::progress::Progress;
use crate::{Outcome, interrupt, parallel, units};

/// The rate of filters, unless another is asked for.
pub(crate) const USUAL_FPR: f64 = 0.001;
/// Filters in memory before they go to disk, unless more or less is asked for.
const MEMORY: u64 = 256 << 20;
/// Added sets are made safe, and reported, as often as takes no more than a tenth of the time.
const SHARE: u32 = 10;

/// Make an index of many sets.
///
/// Every file is a set and every line of it a key; with --column, every value of that column
/// of a .csv, .tsv or .parquet file. Files ending in .gz or .zst are unpacked. A .grove file is
/// a filter, or an index of which all sets are taken. Of a folder, all files in and below it,
/// except hidden ones and indexes.
///
/// A file named by itself is called as it was written, one found in a folder by its path in
/// there, and a filter without its ending.
///
/// Without --items or --bits, every filter is as large as its set needs at the rate --fpr.
/// Filters of one size, large enough for the largest set, can be combined with others of
/// that size later; several sizes cost a question some microseconds.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove index build logs/ -o logs.grove\n  \
    bloomgrove index build orders/*.parquet --column customer_id -o orders.grove --items 100k")]
pub(crate) struct Build {
    /// Files of keys, filters, indexes, or folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The index to write, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How often a set that does not hold a key may be named [default: 0.001]
    #[arg(long, value_parser = units::rate, conflicts_with = "bits")]
    fpr: Option<f64>,
    /// Make all filters large enough for this many keys
    #[arg(long, value_parser = units::count, conflicts_with = "bits")]
    items: Option<u64>,
    /// Make all filters this large, in bits (1e7) or bytes (32MB); then --hashes too
    #[arg(long, value_parser = units::bits, requires = "hashes")]
    bits: Option<u64>,
    /// How many bits each key sets
    #[arg(long, requires = "bits")]
    hashes: Option<u32>,
    #[command(flatten)]
    column: Option<Column>,
    /// How a line is read
    #[arg(long, value_enum, default_value = "text")]
    keys: KeyKind,
    /// Write an index also if not all sets can be read
    #[arg(long)]
    partial: bool,
    /// Filters in memory before they go to disk
    #[arg(long, value_parser = units::bytes, value_name = "BYTES")]
    memory: Option<u64>,
    /// Print facts as JSON
    #[arg(long)]
    json: bool,
}

/// Add sets to an index.
///
/// Takes what `index build` takes. Filters are made as large as those that are there. Every
/// set is named when it is safely on disk; a crash loses nothing that was named, and nothing
/// that was there before.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove index add logs.grove today.log\n  \
    bloomgrove index add sites.grove north.txt --slice 20261115")]
pub(crate) struct Add {
    /// The index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Files of keys, filters, indexes, or folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Call the set this, if it is only one
    #[arg(long)]
    name: Option<String>,
    /// Replace sets that are there, instead of refusing
    #[arg(long, conflicts_with = "slice")]
    replace: bool,
    /// Add as a slice of time, numbered as you like but rising: a set holds what any of its
    /// slices holds, and `index remove --before` drops old ones
    #[arg(long, value_name = "NUMBER")]
    slice: Option<u64>,
    #[command(flatten)]
    column: Option<Column>,
    /// Print one JSON object for each set
    #[arg(long)]
    json: bool,
}

pub(crate) fn build(args: Build) -> Result<Outcome> {
    // Before hours of work.
    check_target(&args.output)?;
    if content_of(&args.output).is_ok_and(|content| content == Content::Filter) {
        bail!(
            "{}: this is a filter, and would be replaced by an index; name another file",
            args.output.display()
        );
    }
    open::remove_leftovers(&args.output);
    let (sources, complete) = sources::find(&args.paths);
    let sizing = sizing(&args, &sources)?;
    let mut notes = Notes::new().with(KEYS_NOTE, args.keys.name());
    let index = match &sizing {
        Sizing::Equal(params) => {
            // If not even one fits, say so once.
            Filter::new(params.clone())?;
            Index::new(params.clone())
        }
        Sizing::Own(fpr) => {
            notes = notes.with(FPR_NOTE, fpr);
            Index::mixed()
        }
    };
    let how = How {
        sizing,
        kind: args.keys,
        column: args.column,
    };
    // Beside the index, so that it can take its place; nobody sees it before it is whole.
    let folder = match args.output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => std::path::Path::new("."),
    };
    let temporary = tempfile::Builder::new()
        .prefix(".bloomgrove-")
        .suffix(".tmp")
        .tempdir_in(folder)
        .with_context(|| format!("making a temporary folder in {}", folder.display()))?;
    let mut file = IndexFile::create(temporary.path().join("index.grove"), &index, notes)?;
    let memory = args.memory.unwrap_or(MEMORY);
    let mut added = Added::new(complete);
    let all_read = take_in(&mut file, &sources, &how, |file, source, filter| {
        let outcome = match source.kind {
            SourceKind::Index => merge(file, source, memory).map(|_| ()),
            _ => file.add(&source.name, filter).map(|_| ()),
        };
        added.count(source, outcome)?;
        added.look_at(filter);
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
        bail!("no index was written, since not all sets could be read; --partial leaves them out");
    }
    added.warn_of_overfull();
    // All in one piece, however many it was written in.
    file.save_with(&args.output, file.notes())?;
    let (index, _) = Index::open_with_notes(&args.output)?;

    let mut output = Output::new();
    if args.json {
        let mut facts = super::info::json(&index);
        facts["file"] = json!(args.output.to_string_lossy());
        output.json(&facts)?;
    } else {
        output.line(format_args!(
            "{}: {}, {}, {}",
            args.output.display(),
            units::counted(index.len() as u64, "set"),
            units::size(index.bytes()),
            super::info::layouts(&index),
        ))?;
    }
    output.finish()?;
    Ok(added.outcome())
}

/// How large the filters of a new index are.
fn sizing(args: &Build, sources: &[Source]) -> Result<Sizing> {
    if let (Some(bits), Some(hashes)) = (args.bits, args.hashes) {
        return Ok(Sizing::Equal(Params::builder(bits, hashes).build()?));
    }
    let fpr = args.fpr.unwrap_or(USUAL_FPR);
    if let Some(items) = args.items {
        return Ok(Sizing::Equal(tune::recommend(items, fpr)?.params()?));
    }
    // Before anything is read or written.
    Collector::new(fpr)?;
    // Filters alone bring their size with them, if it is the same.
    if args.fpr.is_none()
        && sources
            .iter()
            .all(|source| source.kind == SourceKind::Filter)
    {
        let mut all = sources.iter().map(|source| MappedFilter::map(&source.path));
        if let Some(first) = all.next().transpose()?
            && all.all(|other| other.is_ok_and(|other| other.params() == first.params()))
        {
            return Ok(Sizing::Equal(first.params().clone()));
        }
    }
    Ok(Sizing::Own(fpr))
}

pub(crate) fn add(args: Add) -> Result<Outcome> {
    let (mut sources, complete) = sources::find(&args.paths);
    let mut file = open::to_change(&args.index)?;
    if let Some(name) = args.name {
        match &mut sources[..] {
            [one] if one.kind != SourceKind::Index => one.name = name.into_bytes(),
            _ => bail!("--name is for one set, and {} were given", sources.len()),
        }
    }
    let how = How {
        sizing: Sizing::of(&file, USUAL_FPR)?,
        kind: open::kind_of(file.notes()),
        column: args.column,
    };
    let mut output = Output::new();
    let mut added = Added::new(complete);
    let mut last = Instant::now();
    let mut pause = Duration::ZERO;
    let mut waiting: Vec<Vec<u8>> = Vec::new();
    let mut report = |names: &mut Vec<Vec<u8>>| -> Result<()> {
        for name in names.drain(..) {
            if args.json {
                output.json_line(&json!({ "added": output::json_bytes(&name) }))?;
            } else {
                output.bytes(&[b"added ", &name, b"\n"])?;
            }
        }
        output.flush()
    };
    let taken = take_in(&mut file, &sources, &how, |file, source, filter| {
        let name = &source.name;
        let outcome = match (source.kind, args.slice) {
            (SourceKind::Index, None) => merge(file, source, MEMORY),
            (SourceKind::Index, Some(_)) => {
                let what = "an index cannot be a slice; add its sets one by one";
                complain(format_args!("{}: {what}", source.path.display()));
                added.complete = false;
                return Ok(());
            }
            (_, Some(slice)) => file
                .add_slice(name, slice, filter)
                .map(|_| vec![name.clone()]),
            (_, None) => match file.add(name, filter) {
                Err(Error::DuplicateSet { .. }) if args.replace => file.replace(name, filter),
                done => done,
            }
            .map(|_| vec![name.clone()]),
        };
        match outcome {
            Ok(names) => {
                waiting.extend(names);
                added.look_at(filter);
            }
            Err(error) => added.count(source, Err(error))?,
        }
        if file.pending_bytes() > MEMORY || last.elapsed() >= pause {
            let started = Instant::now();
            file.commit()?;
            report(&mut waiting)?;
            (last, pause) = (Instant::now(), started.elapsed() * SHARE);
        }
        Ok(())
    });
    // What was taken in before it failed, or was interrupted, is worth keeping.
    file.commit()?;
    report(&mut waiting)?;
    added.complete &= taken?;
    if interrupt::was_asked() {
        bail!("interrupted; what was named as added is there");
    }
    added.warn_of_overfull();
    output.finish()?;
    Ok(added.outcome())
}

/// What became of the sources.
struct Added {
    complete: bool,
    /// Sets whose filter is too full to be of use.
    overfull: u64,
}

/// Filters are made to be half full; much more of their bits are set only by mistake.
pub(crate) const OVERFULL: f64 = 0.75;

impl Added {
    fn new(complete: bool) -> Self {
        Self {
            complete,
            overfull: 0,
        }
    }

    fn look_at(&mut self, filter: &Filter) {
        self.overfull += u64::from(filter.fill() > OVERFULL && filter.params().bits() > 1);
    }

    fn warn_of_overfull(&self) {
        if self.overfull > 0 {
            complain(format_args!(
                "{} more keys than the filters are made for, and will often be named by mistake: \
                 build the index with more --items or --bits",
                match self.overfull {
                    1 => "1 set has".to_owned(),
                    sets => format!("{} sets have", units::grouped(sets)),
                }
            ));
        }
    }

    /// A set that cannot be added is reported, and the others still are.
    fn count(&mut self, source: &Source, outcome: Result<(), Error>) -> Result<()> {
        match outcome {
            Ok(()) => Ok(()),
            Err(
                error @ (Error::DuplicateSet { .. }
                | Error::Incompatible { .. }
                | Error::Params { .. }
                | Error::InFile { .. }),
            ) => {
                complain(format_args!("{}: {error}", source.path.display()));
                self.complete = false;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn outcome(&self) -> Outcome {
        if self.complete {
            Outcome::Yes
        } else {
            Outcome::Incomplete
        }
    }
}

/// Reads all sources on all processors, and hands their filters on (an index has an empty
/// one). False if one could not be read; it has been reported.
fn take_in(
    file: &mut IndexFile,
    sources: &[Source],
    how: &How,
    mut take: impl FnMut(&mut IndexFile, &Source, &Filter) -> Result<()>,
) -> Result<bool> {
    let progress = Progress::bytes(sources.iter().map(|source| source.size).sum(), "indexing");
    let empty = Filter::new(Params::builder(1, 1).build()?)?;
    let mut complete = true;
    let read = |source: &Source| match source.kind {
        SourceKind::Index => source.check_keys(how.kind).map(|()| None),
        _ => source.filter(how, &progress).map(Some),
    };
    parallel::each(sources, read, |source, filter| {
        match filter {
            Ok(filter) => take(file, source, filter.as_ref().unwrap_or(&empty))?,
            Err(_) if interrupt::was_asked() => {}
            Err(error) => {
                complain(format_args!("{error:#}"));
                complete = false;
            }
        }
        Ok(())
    })?;
    Ok(complete)
}

/// Adds all sets of another index; returns their names.
fn merge(file: &mut IndexFile, source: &Source, memory: u64) -> Result<Vec<Vec<u8>>, Error> {
    let other = Index::open(&source.path)?;
    file.merge_in_parts(&other, Duplicates::Refuse, memory)?;
    let mut names: Vec<Vec<u8>> = other.sets().map(|set| set.name().to_vec()).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
