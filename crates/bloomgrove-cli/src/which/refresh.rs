//! Bringing an index up to date: what is unchanged is kept, the rest is read.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::index::{Entry, Shelf, ShelfWriter};
use bloomgrove::{Collector, Error, Filter};

use super::files::{Home, Wanted};
use super::stamp::Stamp;
use crate::output::complain;
use crate::progress::Progress;
use crate::{interrupt, keys, units};

/// The note that says at which rate the filters were built.
const FPR_NOTE: &str = "fpr";
/// Memory for the hashes of one file before they go to disk.
const MEMORY: usize = 32 << 20;

/// The rate of a new index, unless another is asked for.
const USUAL_FPR: f64 = 0.001;

pub(super) struct Options {
    /// None: that of the index there is.
    pub(super) fpr: Option<f64>,
    pub(super) save: bool,
    /// Whether files that look unchanged need not be read.
    pub(super) trust: bool,
    pub(super) explain: bool,
}

/// An index that knows the files asked about.
pub(super) struct Fresh {
    pub(super) shelf: Shelf,
    /// The path of each entry of the shelf, if it is one asked about.
    pub(super) paths: Vec<Option<PathBuf>>,
    /// Whether every file could be read; what could not has been reported.
    pub(super) complete: bool,
}

pub(super) fn refresh(home: Home, options: &Options) -> Result<Fresh> {
    let old = match options.save {
        true => open_old(&home.index),
        false => Old::Foreign,
    };
    let (old, save) = match old {
        Old::Usable(shelf) => (Some(shelf), true),
        Old::Missing => (None, true),
        Old::Foreign => (None, false),
    };
    let old_fpr = old
        .as_ref()
        .and_then(|shelf| shelf.notes().get(FPR_NOTE)?.parse::<f64>().ok());
    let fpr = options.fpr.or(old_fpr).unwrap_or(USUAL_FPR);
    let old = old.filter(|_| options.trust && old_fpr == Some(fpr));

    let known: HashMap<&[u8], &Entry> = old
        .iter()
        .flat_map(|shelf| shelf.entries())
        .map(|entry| (entry.name(), entry))
        .collect();
    let (keep, read) = plan(&home, &known);
    let gone = home.is_whole && known.keys().any(|name| !home.files.contains_key(*name));
    if options.explain {
        complain(format_args!(
            "{}: {} files known, {} to read",
            home.index.display(),
            units::grouped(keep.len() as u64),
            units::grouped(read.len() as u64)
        ));
    }
    if read.is_empty()
        && !gone
        && let Some(shelf) = old
    {
        return Ok(fresh(shelf, &home, true));
    }

    // The index tells of every file what may be in it: it is as private as the most
    // private of them, and its owner can always use it.
    let mode = home
        .files
        .values()
        .fold(0o777, |mode, file| mode & file.mode)
        | 0o600;
    let (shelf, result) = if save {
        remove_leftovers(&home.index);
        match write(&home.index, mode, &keep, &read, fpr) {
            Err(error) if is_io(&error) => {
                complain(format_args!(
                    "{error:#}: no index can be kept there, and every run will read the files; \
                     name a place for it with --index"
                ));
                write_aside(mode, &keep, &read, fpr)?
            }
            written => written?,
        }
    } else {
        write_aside(mode, &keep, &read, fpr)?
    };
    if interrupt::was_asked() {
        let kept = if save {
            "run it again to go on from there"
        } else {
            "nothing is kept"
        };
        let (done, all) = (result.read, read.len());
        bail!("interrupted with {done} of {all} files read; {kept}");
    }
    Ok(fresh(shelf, &home, result.complete))
}

/// Writes an index and returns it: that one, whatever others write under its name.
fn write(
    place: &Path,
    mode: u32,
    keep: &[&Entry],
    read: &[(&[u8], &Wanted)],
    fpr: f64,
) -> Result<(Shelf, Read)> {
    let notes = Notes::new()
        .with(FPR_NOTE, fpr)
        .with("made-by", "bloomgrove which");
    let mut writer = ShelfWriter::create_with(place, &notes)?;
    writer.restrict(mode)?;
    for entry in keep {
        writer.keep(entry)?;
    }
    let result = read_all(&mut writer, read, fpr)?;
    Ok((writer.finish()?, result))
}

/// As `write`, in a folder that goes away: the index lives on while it is mapped.
fn write_aside(
    mode: u32,
    keep: &[&Entry],
    read: &[(&[u8], &Wanted)],
    fpr: f64,
) -> Result<(Shelf, Read)> {
    let folder = tempfile::tempdir().context("making a temporary folder")?;
    write(&folder.path().join("index.grove"), mode, keep, read, fpr)
}

fn is_io(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<Error>()
        .is_some_and(|error| matches!(error.kind(), Error::Io { .. }))
}

/// Half-written indexes of runs that were killed, if nobody can be writing them any more.
fn remove_leftovers(index: &Path) {
    const OLD: Duration = Duration::from_secs(24 * 60 * 60);
    let folder = match index.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = name.starts_with(".bloomgrove-") && name.ends_with(".tmp");
        let age = |about: Metadata| about.modified().ok()?.elapsed().ok();
        if ours
            && entry
                .metadata()
                .ok()
                .and_then(age)
                .is_some_and(|age| age > OLD)
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn fresh(shelf: Shelf, home: &Home, complete: bool) -> Fresh {
    let paths = shelf
        .entries()
        .iter()
        .map(|entry| home.files.get(entry.name()).map(|file| file.path.clone()))
        .collect();
    Fresh {
        shelf,
        paths,
        complete,
    }
}

/// What lies where the index should be.
enum Old {
    Usable(Shelf),
    /// Nothing, or something damaged: the files are all there to make it again.
    Missing,
    /// Something that is not ours to replace; it has been reported.
    Foreign,
}

fn open_old(index: &Path) -> Old {
    let error = match Shelf::map(index) {
        Ok(shelf) => return Old::Usable(shelf),
        Err(error) => error,
    };
    match error.kind() {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Old::Missing,
        Error::Corrupt { .. } if std::fs::metadata(index).is_ok_and(|about| about.is_file()) => {
            complain(format_args!("{error}; building the index again"));
            Old::Missing
        }
        _ => {
            complain(format_args!(
                "{error}; it is left alone, and every run will read the files: remove it, or \
                 name a place for the index with --index"
            ));
            Old::Foreign
        }
    }
}

/// Entries to keep, and files to read.
fn plan<'a>(
    home: &'a Home,
    known: &HashMap<&[u8], &'a Entry>,
) -> (Vec<&'a Entry>, Vec<(&'a [u8], &'a Wanted)>) {
    let mut keep: Vec<&Entry> = Vec::new();
    let mut read = Vec::new();
    for (name, wanted) in &home.files {
        match known.get(name.as_slice()) {
            Some(entry) if is_current(entry, wanted) => keep.push(entry),
            _ => read.push((name.as_slice(), wanted)),
        }
    }
    if !home.is_whole {
        let others = known
            .iter()
            .filter(|(name, _)| !home.files.contains_key(**name))
            .map(|(_, entry)| *entry);
        keep.extend(others.filter(|entry| entry.is_sound()));
    }
    (keep, read)
}

fn is_current(entry: &Entry, wanted: &Wanted) -> bool {
    Stamp::from_bytes(entry.tag()).is_some_and(|stamp| stamp.covers(&wanted.stamp))
        && entry.is_sound()
}

struct Read {
    complete: bool,
    read: usize,
}

/// Reads files on all processors and puts their filters on the shelf as they come.
fn read_all(writer: &mut ShelfWriter, files: &[(&[u8], &Wanted)], fpr: f64) -> Result<Read> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let total = files.iter().map(|(_, wanted)| wanted.size).sum();
    let progress = Progress::bytes(total, "indexing");
    let next = AtomicUsize::new(0);
    let mut result = Read {
        complete: true,
        read: 0,
    };
    std::thread::scope(|scope| {
        // Bounded, so that finished filters do not pile up before a slow disk.
        let (sender, receiver) = mpsc::sync_channel(2 * threads);
        for _ in 0..threads.min(files.len()) {
            let (sender, next, progress) = (sender.clone(), &next, &progress);
            scope.spawn(move || {
                while let Some((name, wanted)) = files.get(next.fetch_add(1, Relaxed)) {
                    if interrupt::was_asked() {
                        return;
                    }
                    // The receiver is gone when writing failed: nothing more to do.
                    if sender
                        .send((*name, read_one(wanted, fpr, progress)))
                        .is_err()
                    {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (name, outcome) in receiver {
            match outcome {
                Ok((stamp, filter)) => {
                    writer.add(name, &stamp.to_bytes(), &filter)?;
                    result.read += 1;
                }
                // What was being read when Ctrl-C came is not worth a message, and a file
                // that went away since it was listed is not there to be asked.
                Err(_) if interrupt::was_asked() => {}
                Err(error) if is_gone(&error) => {}
                Err(error) => {
                    complain(format_args!("{error:#}"));
                    result.complete = false;
                }
            }
        }
        Ok(result)
    })
}

fn is_gone(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn read_one(wanted: &Wanted, fpr: f64, progress: &Progress) -> Result<(Stamp, Filter)> {
    let look = || -> Result<Stamp> {
        let about =
            std::fs::metadata(&wanted.path).with_context(|| wanted.path.display().to_string())?;
        Ok(Stamp::now(&about))
    };
    let before = look()?;
    let mut collector = Collector::new(fpr)?.memory(MEMORY);
    keys::read(&wanted.path, None, Some(progress), |lines| {
        for line in lines {
            collector.insert(*line)?;
        }
        Ok(())
    })?;
    let filter = collector.finish()?;
    // A file that is being written is answered for as far as it was read, and read
    // again next time.
    let stamp = if look()?.same_file(&before) {
        before
    } else {
        before.never()
    };
    Ok((stamp, filter))
}
