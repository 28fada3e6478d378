//! Bringing an index up to date: what is unchanged is kept, the rest is read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::ops::Deref;
use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::index::{Index, IndexFile};
use bloomgrove::raw::index::{Origin, create_from, open_checked, open_from, restrict};
use bloomgrove::{Collector, Error};

use super::Complaints;
use super::files::{Home, Wanted};
use super::parts::{Job, blocks_of};
use crate::shared::keys::Keys;
use crate::shared::output::{complain, is_gone};
use crate::shared::progress::Progress;
use crate::shared::stamp::{Extent, FileTag, Stamp};
use crate::shared::{interrupt, notes, open, parallel, units};

/// The note that tells an index of this command from one that somebody built.
const MAKER_NOTE: &str = "made-by";
const MAKER: &str = "bloomgrove which";
/// The default rate: the share of the files that a query of one word reads in vain.
const USUAL_FPR: f64 = 0.01;
/// Filters in memory before they go to disk.
const PENDING: u64 = 256 << 20;

pub(crate) struct RefreshOptions<'o> {
    /// How files become keys.
    pub(crate) keys: &'o Keys,
    /// None: that of the existing index.
    pub(crate) fpr: Option<f64>,
    pub(crate) save: bool,
    /// Whether files that look unchanged need not be read.
    pub(crate) trust: bool,
    pub(crate) explain: bool,
}

/// An index that has the files to search.
pub(crate) struct Fresh<'h> {
    index: Holder<'h>,
    pub(super) home: &'h Home,
    /// Files that changed while they were read, or could not be read to their end: the index lacks
    /// some of their keys.
    pub(super) uncertain: Vec<Vec<u8>>,
}

impl Deref for Fresh<'_> {
    type Target = Index;

    fn deref(&self) -> &Index {
        match &self.index {
            Holder::Read(index) => index,
            Holder::Trusted(index) => index,
            Holder::Changed(file) => file,
        }
    }
}

enum Holder<'h> {
    Read(Index),
    Trusted(&'h Index),
    Changed(IndexFile),
}

pub(crate) fn refresh<'h>(
    home: &'h Home,
    options: &RefreshOptions<'_>,
    complaints: &mut Complaints,
) -> Result<Fresh<'h>> {
    let keys = options.keys;
    // Files that changed while they were read must be read again.
    if let Some(index) = &home.trusted
        && options.trust
        && Changes::new(home, Some(index)).is_empty()
    {
        return Ok(Fresh {
            index: Holder::Trusted(index),
            home,
            uncertain: Vec::new(),
        });
    }
    let old = match options.save {
        true => open_old(home, keys, true)?,
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

    let changes = Changes::new(home, old.as_ref());
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
        return Ok(Fresh {
            index: Holder::Read(index),
            home,
            uncertain: Vec::new(),
        });
    }

    let mut file = open_to_change(home, save, old.is_some(), fpr, keys)?;
    // Another process may have changed it since.
    let changes = Changes::new(home, Some(&file));
    let done = apply(&mut file, changes, keys, fpr, complaints)?;
    if interrupt::was_asked() {
        let kept = if save {
            "run the command again to continue"
        } else {
            "nothing was saved"
        };
        bail!(
            "interrupted with {} of {} read; {kept}",
            done.read,
            units::counted(done.all as u64, "file")
        );
    }
    Ok(Fresh {
        index: Holder::Changed(file),
        home,
        uncertain: done.uncertain,
    })
}

fn fpr_of(notes: &Notes) -> Option<f64> {
    let fpr = notes.get(notes::FPR)?.parse().ok()?;
    Collector::new(fpr).is_ok().then_some(fpr)
}

/// The index of a home, or a new one; or one in a temporary directory, if nothing can or
/// should be kept.
fn open_to_change(
    home: &Home,
    save: bool,
    keep_old: bool,
    fpr: f64,
    keys: &Keys,
) -> Result<IndexFile> {
    // The index reveals what every file may contain: it is as private as the most private of
    // them, and its owner can always use it.
    let modes = home.files.values().map(|file| file.mode);
    let mode = modes.fold(0o777, |mode, file| mode & file) | 0o600;
    let create = |path: &Path| {
        let notes = Notes::new()
            .with(notes::EXTRACTION, keys)
            .with(notes::FPR, fpr)
            .with(MAKER_NOTE, MAKER);
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
            Err(error) if is_refused(&error) => {
                let (index, why) = (home.index.display(), reason(&error));
                complain(format_args!(
                    "{index}: the index cannot be saved ({why}), so every run reads all files; \
                     choose another place with --index"
                ));
            }
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

/// The words of the system, where there are any.
fn reason(error: &Error) -> String {
    match error.kind() {
        Error::Io { source, .. } if source.raw_os_error().is_none() => {
            io::Error::from(source.kind()).to_string()
        }
        Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// Whether the directory is the problem, and not the index.
fn is_refused(error: &Error) -> bool {
    matches!(error.kind(), Error::Io { .. } | Error::WouldReplace { .. })
}

impl Fresh<'_> {
    /// How many files it is queried about.
    pub(crate) fn files(&self) -> usize {
        self.home.files.len()
    }
}

/// What is found where the index should be.
pub(super) enum Old {
    Usable(Index),
    /// Nothing, or something damaged: the index can be built again from the files.
    Missing,
    /// Something that must not be replaced; it has been reported.
    Foreign,
}

pub(super) fn open_old(home: &Home, keys: &Keys, check: bool) -> Result<Old> {
    let path = &home.index;
    let shown = path.display();
    let foreign = |what: &str| {
        if !home.is_implicit {
            bail!("{shown}: {what}, so it cannot be used with --index; pass another file name");
        }
        complain(format_args!(
            "{shown}: {what}; it was left alone, so every run reads all files; choose another place \
             for the index with --index"
        ));
        Ok(Old::Foreign)
    };
    let opened = match home.is_implicit {
        true if check => open_checked(path, Origin::Implicit),
        is_implicit => open::to_query_from(path, origin(is_implicit)),
    };
    let is_ours = |index: &Index| {
        let notes = index.notes();
        notes.get(MAKER_NOTE) == Some(MAKER) && fpr_of(notes).is_some() && index.is_mixed()
    };
    let error = match opened {
        // One with other keys was made by an earlier version, or named with --index.
        Ok(index) if is_ours(&index) => {
            let same = index.notes().get(notes::EXTRACTION) == Some(&keys.to_string());
            return Ok(if same {
                Old::Usable(index)
            } else {
                Old::Missing
            });
        }
        Ok(_) => return foreign("not an index made by `which` or `grep`"),
        Err(error) => error,
    };
    match error.kind() {
        Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Ok(Old::Missing),
        Error::Corrupt { what, .. } => {
            complain(format_args!(
                "{shown}: damaged ({what}); the index is being rebuilt"
            ));
            Ok(Old::Missing)
        }
        Error::NotGrove { empty: true } => {
            complain(format_args!(
                "{shown}: the file is empty; the index is being rebuilt"
            ));
            Ok(Old::Missing)
        }
        Error::NotGrove { empty: false } => foreign("not an index"),
        _ if path.is_dir() => foreign("this is a directory"),
        Error::WrongContent { found, .. } => foreign(&format!("contains {found}, not an index")),
        // The directory cannot be read, which has been reported.
        Error::Io { .. } if home.is_implicit && home.files.is_empty() => Ok(Old::Foreign),
        other => foreign(&other.to_string()),
    }
}

/// What has changed since the index was written.
struct Changes<'h> {
    known: usize,
    read: Vec<(&'h [u8], &'h Wanted)>,
    /// Sets whose file is gone or has changed.
    old_sets: Vec<Vec<u8>>,
}

/// What an index has of one file.
struct Known {
    stamp: Stamp,
    /// How many of its blocks, if it was read in blocks.
    blocks: u64,
}

impl<'h> Changes<'h> {
    fn new(home: &'h Home, index: Option<&Index>) -> Self {
        let sets = index.map_or(0, |index| index.len());
        let mut known: HashMap<Cow<'_, [u8]>, Known> = HashMap::with_capacity(sets);
        let tags = || {
            let sets = index.iter().flat_map(|index| index.sets());
            sets.filter_map(|set| Some((set.name(), FileTag::from_bytes(set.tag())?)))
        };
        for (name, tag) in tags() {
            let stamp = tag.stamp;
            let is_block = matches!(tag.part.extent, Extent::Block { .. });
            let file = known
                .entry(tag.into_path(name))
                .or_insert(Known { stamp, blocks: 0 });
            file.blocks += u64::from(is_block);
            if file.stamp != stamp {
                file.stamp = Stamp::default();
            }
        }
        let is_current = |name: &[u8], wanted: &Wanted| {
            known.get(name).is_some_and(|file| {
                let is_complete = file.blocks == 0 || file.blocks == blocks_of(wanted.size);
                file.stamp == wanted.stamp && is_complete
            })
        };
        let files = home.files.iter().map(|(name, file)| (&**name, file));
        let read: Vec<_> = files
            .filter(|(name, file)| !is_current(name, file))
            .collect();
        let is_old = |path: &[u8]| match home.files.get(path) {
            Some(wanted) => !is_current(path, wanted),
            None => home.is_whole,
        };
        let old_sets = match index {
            // Nothing has changed, most of the time.
            Some(_) if read.is_empty() && known.len() == home.files.len() => Vec::new(),
            _ => tags()
                .filter(|(name, tag)| is_old(tag.path(name)))
                .map(|(name, _)| name.to_vec())
                .collect(),
        };
        Self {
            known: home.files.len() - read.len(),
            read,
            old_sets,
        }
    }

    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.old_sets.is_empty()
    }
}

struct Done {
    read: usize,
    all: usize,
    uncertain: Vec<Vec<u8>>,
}

/// Reads files on all processors and adds their filters to the index in order.
fn apply(
    file: &mut IndexFile,
    changes: Changes<'_>,
    keys: &Keys,
    fpr: f64,
    complaints: &mut Complaints,
) -> Result<Done> {
    for name in &changes.old_sets {
        file.remove(name)?;
    }
    let total = changes.read.iter().map(|(_, wanted)| wanted.size).sum();
    let progress = Progress::bytes(total, "indexing");
    let mut done = Done {
        read: 0,
        all: changes.read.len(),
        uncertain: Vec::new(),
    };
    let jobs: Vec<Job<'_>> = changes
        .read
        .iter()
        .flat_map(|(name, wanted)| Job::of(name, wanted, keys))
        .collect();
    let mut can_save = true;
    parallel::each(
        &jobs,
        |job| job.read(keys, fpr, &progress),
        |job, outcome| {
            match outcome {
                Ok((stamp, sets)) => {
                    for (name, part, filter) in sets {
                        let tag = FileTag::part_of(job.name, stamp, part).to_bytes();
                        file.add_tagged(&name, &tag, &filter)?;
                    }
                    if stamp != job.wanted.stamp {
                        done.uncertain.push(job.name.to_vec());
                    }
                    done.read += usize::from(job.is_first());
                    if file.pending_bytes() > PENDING && can_save {
                        can_save = commit(file)?;
                    }
                }
                // A read that Ctrl-C interrupted needs no message, and neither does a file that was
                // deleted since it was listed.
                Err(_) if interrupt::was_asked() => {}
                Err(error) if is_gone(&error) => {}
                Err(error) => {
                    complaints.add_file(&job.wanted.path, &error);
                    done.uncertain.push(job.name.to_vec());
                }
            }
            Ok(())
        },
    )?;
    if can_save {
        commit(file)?;
    }
    Ok(done)
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
