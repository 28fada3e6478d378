//! Bringing an index up to date: what is unchanged is kept, the rest is read.

use std::collections::BTreeMap;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::index::{Index, IndexFile};
use bloomgrove::raw::index::{Origin, create_from, open_checked, open_from, restrict};
use bloomgrove::{Collector, Error, Filter};

use super::files::{Home, Wanted};
use crate::shared::output::complain;
use crate::shared::progress::Progress;
use crate::shared::sizing::USUAL_FPR;
use crate::shared::stamp::{FileTag, Stamp};
use crate::shared::{interrupt, keys, notes, open, parallel, units};

/// The note that tells an index of this command from one that somebody built.
const MAKER_NOTE: &str = "made-by";
const MAKER: &str = "bloomgrove which";
/// Memory for the hashes of one file before they go to disk.
const MEMORY: usize = 32 << 20;
/// Filters in memory before they go to disk.
const PENDING: u64 = 256 << 20;

pub(super) struct RefreshOptions {
    /// None: that of the existing index.
    pub(super) fpr: Option<f64>,
    pub(super) save: bool,
    /// Whether files that look unchanged need not be read.
    pub(super) trust: bool,
    pub(super) explain: bool,
}

/// An index that has the files to search.
pub(super) struct Fresh {
    index: Holder,
    /// The path of each set that is part of this query.
    pub(super) paths: BTreeMap<Vec<u8>, PathBuf>,
    /// Whether every file could be read; failures have been reported.
    pub(super) complete: bool,
}

impl Deref for Fresh {
    type Target = Index;

    fn deref(&self) -> &Index {
        match &self.index {
            Holder::Read(index) => index,
            Holder::Changed(file) => file,
        }
    }
}

enum Holder {
    Read(Index),
    Changed(IndexFile),
}

pub(super) fn refresh(home: Home, options: &RefreshOptions) -> Result<Fresh> {
    let old = match options.save {
        true => open_old(&home),
        false => Old::Foreign,
    };
    let (old, save) = match old {
        Old::Usable(index) => (Some(index), true),
        Old::Missing => (None, true),
        Old::Foreign => (None, false),
    };
    let old_fpr = old.as_ref().and_then(|index| fpr_of(index.notes()));
    let fpr = options.fpr.or(old_fpr).unwrap_or(USUAL_FPR);
    let old = old.filter(|_| options.trust && old_fpr == Some(fpr));

    let changes = Changes::new(&home, old.as_ref());
    if options.explain {
        complain(format_args!(
            "{}: {} indexed, {} to read",
            home.index.display(),
            units::counted(changes.known as u64, "file"),
            units::grouped(changes.read.len() as u64)
        ));
    }
    if changes.is_empty()
        && let Some(index) = old
    {
        return Ok(Fresh::new(Holder::Read(index), &home, true));
    }

    let mut file = open_to_change(&home, save, old.is_some(), fpr)?;
    // Another process may have changed it since.
    let changes = Changes::new(&home, Some(&file));
    let done = apply(&mut file, &changes, fpr)?;
    if interrupt::was_asked() {
        let kept = if save {
            "run the command again to continue"
        } else {
            "nothing was saved"
        };
        let all = changes.read.len();
        bail!("interrupted with {} of {all} files read; {kept}", done.read);
    }
    Ok(Fresh::new(Holder::Changed(file), &home, done.complete))
}

impl Fresh {
    fn new(index: Holder, home: &Home, complete: bool) -> Self {
        let files = home.files.iter();
        Self {
            index,
            paths: files
                .map(|(name, file)| (name.clone(), file.path.clone()))
                .collect(),
            complete,
        }
    }
}

fn fpr_of(notes: &Notes) -> Option<f64> {
    let fpr = notes.get(notes::FPR)?.parse().ok()?;
    Collector::new(fpr).is_ok().then_some(fpr)
}

/// The index of a home, or a new one; or one in a temporary directory, if nothing can or
/// should be kept.
fn open_to_change(home: &Home, save: bool, keep_old: bool, fpr: f64) -> Result<IndexFile> {
    // The index reveals what every file may contain: it is as private as the most private of
    // them, and its owner can always use it.
    let modes = home.files.values().map(|file| file.mode);
    let mode = modes.fold(0o777, |mode, file| mode & file) | 0o600;
    let create = |path: &Path| {
        let notes = Notes::new().with(notes::FPR, fpr).with(MAKER_NOTE, MAKER);
        let mut index = Index::mixed();
        index.set_notes(notes);
        create_from(path, &index, origin(home.is_implicit && save), Some(mode))
    };
    let open = || {
        let file = open_from(&home.index, origin(home.is_implicit))?;
        restrict(&file, mode)?;
        Ok(file)
    };
    if save {
        open::remove_leftovers(&home.index);
        let opened = if keep_old {
            open::patiently(open)
        } else {
            create(&home.index)
        };
        match opened {
            Ok(file) => return Ok(file),
            Err(error) if matches!(error.kind(), Error::Busy) => {
                complain(format_args!("{error}; searching without an index"))
            }
            Err(error) if is_refused(&error) => complain(format_args!(
                "{error}: the index cannot be saved there, so every run reads all files; \
                 choose another place with --index"
            )),
            Err(error) => return Err(error.into()),
        }
    }
    let folder = tempfile::tempdir().context("creating a temporary directory")?;
    // It exists as long as it is open.
    Ok(create(&folder.path().join("index.grove"))?)
}

fn origin(is_implicit: bool) -> Origin {
    match is_implicit {
        true => Origin::Implicit,
        false => Origin::Named,
    }
}

/// Whether the directory is the problem, and not the index.
fn is_refused(error: &Error) -> bool {
    matches!(error.kind(), Error::Io { .. } | Error::WouldReplace { .. })
}

/// What is found where the index should be.
enum Old {
    Usable(Index),
    /// Nothing, or something damaged: the index can be built again from the files.
    Missing,
    /// Something that must not be replaced; it has been reported.
    Foreign,
}

fn open_old(home: &Home) -> Old {
    let path = &home.index;
    let foreign = |what: &dyn std::fmt::Display| {
        complain(format_args!(
            "{what}; it was left alone, so every run reads all files; remove it, or choose \
             another place for the index with --index"
        ));
        Old::Foreign
    };
    let opened = match home.is_implicit {
        true => open_checked(path, Origin::Implicit),
        false => open::to_query(path),
    };
    let is_ours = |index: &Index| {
        let notes = index.notes();
        notes.get(MAKER_NOTE) == Some(MAKER) && fpr_of(notes).is_some() && index.is_mixed()
    };
    let error = match opened {
        Ok(index) if is_ours(&index) => return Old::Usable(index),
        Ok(_) => {
            return foreign(&format_args!(
                "{}: not an index made by `which`",
                path.display()
            ));
        }
        Err(error) => error,
    };
    match error.kind() {
        Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Old::Missing,
        Error::Corrupt { .. } | Error::NotGrove { .. } => {
            complain(format_args!("{error}; rebuilding the index"));
            Old::Missing
        }
        _ => foreign(&error),
    }
}

/// What has changed since the index was written.
struct Changes<'h> {
    known: usize,
    read: Vec<(&'h [u8], &'h Wanted)>,
    /// Sets whose file is gone.
    gone: Vec<Vec<u8>>,
}

impl<'h> Changes<'h> {
    fn new(home: &'h Home, index: Option<&Index>) -> Self {
        let known: BTreeMap<&[u8], &[u8]> = index
            .iter()
            .flat_map(|index| index.sets())
            .map(|set| (set.name(), set.tag()))
            .collect();
        let is_current = |name: &[u8], wanted: &Wanted| {
            let tag = known.get(name).and_then(|tag| FileTag::from_bytes(tag));
            tag.is_some_and(|tag| tag.stamp == wanted.stamp)
        };
        let files = home.files.iter().map(|(name, file)| (&**name, file));
        let read: Vec<_> = files
            .filter(|(name, file)| !is_current(name, file))
            .collect();
        let gone = |name: &&&[u8]| home.is_whole && !home.files.contains_key(**name);
        Self {
            known: home.files.len() - read.len(),
            read,
            gone: known
                .keys()
                .filter(gone)
                .map(|name| name.to_vec())
                .collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty()
    }
}

struct Done {
    complete: bool,
    read: usize,
}

/// Reads files on all processors and adds their filters to the index in order.
fn apply(file: &mut IndexFile, changes: &Changes<'_>, fpr: f64) -> Result<Done> {
    for name in &changes.gone {
        file.remove(name)?;
    }
    let total = changes.read.iter().map(|(_, wanted)| wanted.size).sum();
    let progress = Progress::bytes(total, "indexing");
    let mut done = Done {
        complete: true,
        read: 0,
    };
    let mut can_save = true;
    let read = |(_, wanted): &(&[u8], &Wanted)| read_one(wanted, fpr, &progress);
    parallel::each(&changes.read, read, |(name, _), outcome| {
        match outcome {
            Ok((stamp, filter)) => {
                put(file, name, &FileTag::named(stamp).to_bytes(), &filter)?;
                done.read += 1;
                if file.pending_bytes() > PENDING && can_save {
                    can_save = commit(file)?;
                }
            }
            // A read that Ctrl-C interrupted needs no message, and neither does a file that was
            // deleted since it was listed.
            Err(_) if interrupt::was_asked() => {}
            Err(error) => {
                // What the index has of it is out of date.
                match file.remove(name) {
                    Err(error) if !matches!(error, Error::UnknownSet { .. }) => {
                        return Err(error.into());
                    }
                    _ => {}
                }
                if !is_gone(&error) {
                    complain(format_args!("{error:#}"));
                    done.complete = false;
                }
            }
        }
        Ok(())
    })?;
    if can_save {
        commit(file)?;
    }
    Ok(done)
}

fn put(file: &mut IndexFile, name: &[u8], tag: &[u8], filter: &Filter) -> Result<(), Error> {
    match file.add_tagged(name, tag, filter) {
        Err(Error::DuplicateSet { .. }) => {
            file.replace(name, filter)?;
            file.set_tag(name, tag)
        }
        added => added,
    }?;
    Ok(())
}

/// Saves the index. An index that cannot be written can still be queried: false then, and there
/// is no use in trying again.
fn commit(file: &mut IndexFile) -> Result<bool, Error> {
    match file.commit() {
        Err(error) if is_refused(&error) => {
            complain(format_args!(
                "{error}; the index was not saved, so the next run reads these files again"
            ));
            Ok(false)
        }
        // Another run created one at the same time: it lacks our files, and the next run
        // reads them.
        Err(error) if matches!(error.kind(), Error::Replaced) => Ok(false),
        done => done.map(|()| true),
    }
}

fn is_gone(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn read_one(wanted: &Wanted, fpr: f64, progress: &Progress) -> Result<(Stamp, Filter)> {
    Stamp::of_reading(&wanted.path, || {
        let mut collector = Collector::new(fpr)?.memory(MEMORY).in_steps();
        keys::read(&wanted.path, None, Some(progress), |lines| {
            for line in lines {
                collector.insert(*line)?;
            }
            Ok(())
        })?;
        Ok(collector.finish()?)
    })
}
