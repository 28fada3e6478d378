//! `bloomgrove index build` and `index add`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bloomgrove::format::{Content, Notes, check_target};
use bloomgrove::index::{Duplicates, Index, IndexFile, Set};
use bloomgrove::{Collector, Error, Filter, MappedFilter, Params, tune};
use serde_json::json;

use super::sources::{self, How, Sizing, Source, SourceKind};
use super::{FPR_NOTE, KEYS_NOTE, open};
use crate::keys::{Column, KeyKind};
use crate::output::{self, Output, complain};
use crate::progress::Progress;
use crate::stamp::{self, FileTag};
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
    check_target(&args.output, Content::Index)?;
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
        _ => Path::new("."),
    };
    let temporary = tempfile::Builder::new()
        .prefix(".bloomgrove-")
        .suffix(".tmp")
        .tempdir_in(folder)
        .with_context(|| format!("making a temporary folder in {}", folder.display()))?;
    let mut file = IndexFile::create(temporary.path().join("index.grove"), &index, notes)?;
    let memory = args.memory.unwrap_or(MEMORY);
    let mut added = Added::new(complete);
    let base = stamp::base_of(&args.output).with_context(|| args.output.display().to_string())?;
    let all_read = take_in(&mut file, &sources, &how, &base, |file, source, read| {
        let outcome = match source.kind {
            SourceKind::Index => merge(file, source, &base, memory).map(|_| ()),
            _ => file
                .add_tagged(&source.name, &read.tag, &read.filter)
                .map(|_| ()),
        };
        added.count(source, outcome)?;
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
    let base = stamp::base_of(&args.index).with_context(|| args.index.display().to_string())?;
    let taken = take_in(&mut file, &sources, &how, &base, |file, source, read| {
        let Read { tag, filter } = &read;
        let name = &source.name;
        let outcome = match (source.kind, args.slice) {
            (SourceKind::Index, None) => merge(file, source, &base, MEMORY),
            (SourceKind::Index, Some(_)) => {
                let what = "an index cannot be a slice; add its sets one by one";
                complain(format_args!("{}: {what}", source.path.display()));
                added.complete = false;
                return Ok(());
            }
            // What a file had at that time stays so, whatever becomes of the file.
            (_, Some(slice)) => file
                .add_slice(name, slice, filter)
                .map(|_| vec![name.clone()]),
            (_, None) => match file.add_tagged(name, tag, filter) {
                Err(Error::DuplicateSet { .. }) if args.replace => {
                    file.replace_tagged(name, tag, filter)
                }
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

/// What was read from a source: an index has an empty filter.
struct Read {
    tag: Vec<u8>,
    filter: Filter,
}

/// Reads all sources on all processors, and hands their filters on, tagged for an index in
/// `base`. False if one could not be read; it has been reported.
fn take_in(
    file: &mut IndexFile,
    sources: &[Source],
    how: &How,
    base: &Path,
    mut take: impl FnMut(&mut IndexFile, &Source, Read) -> Result<()>,
) -> Result<bool> {
    let progress = Progress::bytes(sources.iter().map(|source| source.size).sum(), "indexing");
    let empty = Params::builder(1, 1).build()?;
    let mut complete = true;
    let read = |source: &Source| {
        if source.kind == SourceKind::Index {
            source.check_keys(how.kind)?;
            return Ok((None, Filter::new(empty.clone())?));
        }
        source.stamped(how, &progress)
    };
    parallel::each(sources, read, |source, read| {
        match read {
            Ok((stamp, filter)) => {
                let tag = |stamp| FileTag::placed(stamp, &source.place, &source.name, base);
                let tag = stamp.map(tag).map_or(Vec::new(), |tag| tag.to_bytes());
                take(file, source, Read { tag, filter })?;
            }
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

/// Adds all sets of another index to one in `base`; returns their names.
fn merge(
    file: &mut IndexFile,
    source: &Source,
    base: &Path,
    memory: u64,
) -> Result<Vec<Vec<u8>>, Error> {
    let other = Index::open(&source.path)?;
    let there = stamp::base_of(&source.path).unwrap_or_default();
    let tag = |set: &Set<'_>| match FileTag::from_bytes(set.tag()) {
        // Their files are found from another directory now.
        Some(tag) => {
            let place = tag.place(set.name(), &there);
            FileTag::placed(tag.stamp, &place, set.name(), base).to_bytes()
        }
        None => set.tag().to_vec(),
    };
    file.merge_in_parts(&other, Duplicates::Refuse, memory, tag)?;
    let mut names: Vec<Vec<u8>> = other.sets().map(|set| set.name().to_vec()).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
