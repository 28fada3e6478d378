//! Bringing an index up to date: what is unchanged is kept, the rest is read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;

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

pub(super) struct Options {
    pub(super) fpr: f64,
    pub(super) save: bool,
    pub(super) explain: bool,
}

/// An index that knows the files asked about.
pub(super) struct Fresh {
    pub(super) shelf: Shelf,
    /// The path of each entry of the shelf, if it is one asked about.
    pub(super) paths: Vec<Option<PathBuf>>,
    /// Whether every file could be read; what could not has been reported.
    pub(super) complete: bool,
    /// Keeps an index that was not to be saved until it has been asked.
    _temporary: Option<tempfile::TempDir>,
}

pub(super) fn refresh(home: Home, options: &Options) -> Result<Fresh> {
    let old = if options.save {
        open_old(&home.index, options.fpr)?
    } else {
        None
    };
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
        return Ok(fresh(shelf, &home, true, None));
    }

    let (place, temporary) = place_to_write(&home.index, options.save)?;
    let notes = Notes::new()
        .with(FPR_NOTE, options.fpr)
        .with("made-by", "bloomgrove which");
    let mut writer = ShelfWriter::create_with(&place, &notes)?;
    for entry in &keep {
        writer.keep(entry)?;
    }
    let result = read_all(&mut writer, &read, options.fpr)?;
    writer.finish()?;
    if interrupt::was_asked() {
        let kept = if temporary.is_some() {
            "nothing is kept"
        } else {
            "run it again to go on from there"
        };
        bail!(
            "interrupted with {} of {} files read; {kept}",
            result.read,
            read.len()
        );
    }
    let shelf = Shelf::map(&place)?;
    Ok(fresh(shelf, &home, result.complete, temporary))
}

fn fresh(shelf: Shelf, home: &Home, complete: bool, temporary: Option<tempfile::TempDir>) -> Fresh {
    let paths = shelf
        .entries()
        .iter()
        .map(|entry| home.files.get(entry.name()).map(|file| file.path.clone()))
        .collect();
    Fresh {
        shelf,
        paths,
        complete,
        _temporary: temporary,
    }
}

/// The index as it is, if it can serve. A damaged one is replaced, since the files
/// are all there to make it again; one from a later version is somebody's, and stays.
fn open_old(index: &Path, fpr: f64) -> Result<Option<Shelf>> {
    let open = || -> Result<_, Error> {
        let notes = Notes::of_file(index)?;
        Ok((notes, Shelf::map(index)?))
    };
    match open() {
        Ok((notes, shelf)) => {
            let same_rate = notes.get(FPR_NOTE) == Some(&fpr.to_string());
            Ok(same_rate.then_some(shelf))
        }
        Err(error) => match error.kind() {
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Error::Corrupt { .. } => {
                complain(format_args!("{error}; building the index again"));
                Ok(None)
            }
            Error::WrongContent { .. } => {
                bail!("{error}; name another file with --index")
            }
            _ => Err(error).context("keep the index elsewhere with --index, or remove it"),
        },
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

/// Beside the data; or, where nothing may be kept there, in a folder that goes away.
fn place_to_write(index: &Path, save: bool) -> Result<(PathBuf, Option<tempfile::TempDir>)> {
    if save {
        let folder = index.parent().filter(|folder| *folder != Path::new(""));
        match tempfile::tempfile_in(folder.unwrap_or(Path::new("."))) {
            Ok(_) => return Ok((index.to_owned(), None)),
            Err(error) => complain(format_args!(
                "{}: cannot keep an index here ({error}): every run will read the files; \
                 --index keeps it elsewhere",
                index.display()
            )),
        }
    }
    let folder = tempfile::tempdir().context("making a temporary folder")?;
    Ok((folder.path().join("index.grove"), Some(folder)))
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
                // What was being read when Ctrl-C came is not worth a message.
                Err(_) if interrupt::was_asked() => {}
                Err(error) => {
                    complain(format_args!("{error:#}"));
                    result.complete = false;
                }
            }
        }
        Ok(result)
    })
}

fn read_one(wanted: &Wanted, fpr: f64, progress: &Progress) -> Result<(Stamp, Filter)> {
    let look = || -> Result<Stamp> {
        let about =
            std::fs::metadata(&wanted.path).with_context(|| wanted.path.display().to_string())?;
        Ok(Stamp::now(&about))
    };
    let before = look()?;
    let mut collector = Collector::new(fpr)?.memory(MEMORY);
    keys::read_lines(&wanted.path, Some(progress), |lines| {
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
