//! What has happened to the files of an index since it was built.
//!
//! A changed file may contain any key, so it is in every answer; a deleted one contains none; a new
//! one in an indexed directory is not searched. All of this is reported.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove::index::{Index, Set};
use serde_json::{Map, Value, json};

use crate::shared::output::{self, complain};
use crate::shared::sources::{Source, SourceKind};
use crate::shared::stamp::{self, FileTag, Place, Stamp};
use crate::shared::units;
use crate::shared::walk;

/// Threads that stat files. Two are enough for a local disk; a remote one needs more at a time.
const THREADS: usize = 8;
/// List the names of at most this many files.
const NAMED: usize = 3;

/// Sets of an index whose files have changed since they were read.
#[derive(Default)]
pub(super) struct Stale<'i> {
    /// Names of sets, sorted.
    pub(super) changed: Vec<&'i [u8]>,
    pub(super) deleted: HashSet<&'i [u8]>,
    /// Sets that the index does not have, in directories that it was built from.
    pub(super) new: Vec<Vec<u8>>,
    /// Sets that were read from a file.
    files: usize,
}

/// The name of a set, and what is known of its file.
type Known<'i> = (&'i [u8], Stamp, Place);

#[derive(Clone, Copy)]
enum State {
    Same,
    Changed,
    Deleted,
}

impl<'i> Stale<'i> {
    /// Checks the file of every set whose name begins with `prefix`.
    pub(super) fn look(index: &'i Index, path: &Path, prefix: &[u8]) -> Result<Self> {
        let base = stamp::base_of(path).with_context(|| path.display().to_string())?;
        let place = |set: Set<'i>| {
            let tag = FileTag::from_bytes(set.tag())?;
            let place = tag.place(set.name(), &base);
            Some((set.name(), tag.stamp, place))
        };
        let files: Vec<Known<'_>> = index.sets().filter_map(place).collect();
        let is_asked = |name: &[u8]| name.starts_with(prefix);
        let asked: Vec<_> = files.iter().filter(|file| is_asked(file.0)).collect();
        let mut stale = Self {
            files: asked.len(),
            ..Self::default()
        };
        let Some(first) = asked.first() else {
            return Ok(stale);
        };
        let states: Vec<State> = std::thread::scope(|scope| {
            let new = scope.spawn(|| new_files(index, &files, prefix));
            let shares: Vec<_> = asked
                .chunks(asked.len().div_ceil(THREADS))
                .map(|share| {
                    let look = |(_, stamp, place): &&Known<'_>| state_of(stamp, &place.path);
                    scope.spawn(move || share.iter().map(look).collect::<Vec<_>>())
                })
                .collect();
            stale.new = joined(new);
            shares.into_iter().flat_map(joined).collect()
        });
        for ((name, ..), state) in asked.iter().zip(states) {
            match state {
                State::Same => {}
                State::Changed => stale.changed.push(name),
                State::Deleted => {
                    stale.deleted.insert(name);
                }
            }
        }
        stale.changed.sort_unstable();
        let all = index.sets().filter(|set| is_asked(set.name())).count();
        if stale.deleted.len() == all {
            bail!(
                "{}: none of the {} that it was built from can be found ({}, for example); move \
                 the index back to its files, rebuild it, or pass --trust to answer without \
                 checking them",
                path.display(),
                units::counted(all as u64, "file"),
                first.2.path.display(),
            );
        }
        Ok(stale)
    }

    fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.deleted.is_empty() && self.new.is_empty()
    }

    /// Turns the index's answer for a key into the sorted names of sets that may contain it;
    /// returns those that would, had their files not been deleted.
    pub(super) fn correct(&self, names: &mut Vec<&'i [u8]>) -> Vec<&'i [u8]> {
        let is_deleted = |name: &mut &[u8]| self.deleted.contains(*name);
        let deleted = match self.deleted.is_empty() {
            true => Vec::new(),
            false => names.extract_if(.., is_deleted).collect(),
        };
        names.extend(&self.changed);
        names.sort_unstable();
        if !self.changed.is_empty() {
            names.dedup();
        }
        deleted
    }

    /// What a program should know about an answer; nothing if no file has changed.
    pub(super) fn json(&self, deleted: &[&[u8]]) -> Map<String, Value> {
        let mut said = Map::new();
        if self.is_empty() {
            return said;
        }
        let list = |names: &[&[u8]]| names.iter().map(|name| output::json_bytes(name)).collect();
        said.insert("changed".into(), list(&self.changed));
        said.insert("deleted".into(), list(deleted));
        said.insert("not_searched".into(), json!(self.new.len()));
        said
    }

    /// The same for sets that contain many of `keys` keys.
    pub(super) fn counted(
        &self,
        mut found: Vec<(&'i [u8], usize)>,
        least: usize,
        keys: usize,
    ) -> Vec<(&'i [u8], usize)> {
        if self.is_empty() {
            return found;
        }
        let is_changed = |name: &[u8]| self.changed.binary_search(&name).is_ok();
        found.retain(|(name, _)| !self.deleted.contains(name) && !is_changed(name));
        if keys >= least {
            found.extend(self.changed.iter().map(|&name| (name, keys)));
        }
        found.sort_unstable_by_key(|&(name, count)| (Reverse(count), name));
        found
    }

    /// Reports what has changed.
    pub(super) fn warn(&self, index: &Path) {
        let all = self.files as u64;
        let mut said = Vec::new();
        let shown = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        // `one` and `many` say what has become of one file or several.
        let mut say =
            |count: usize, names: &mut dyn Iterator<Item = String>, (one, many): (&str, &str)| {
                if count == 0 {
                    return;
                }
                let mut names: Vec<String> = names.take(NAMED).collect();
                if count > NAMED {
                    names.push("...".into());
                }
                let what = if count == 1 { one } else { many };
                let count = units::grouped(count as u64);
                said.push(format!("{count} {what} ({})", names.join(", ")));
            };
        let of = format!("of its {}", units::counted(all, "file"));
        say(
            self.changed.len(),
            &mut self.changed.iter().map(|name| shown(name)),
            (
                &format!("{of} has changed since it was indexed and is listed for every key"),
                &format!("{of} have changed since they were indexed and are listed for every key"),
            ),
        );
        let deleted: BTreeSet<&[u8]> = self.deleted.iter().copied().collect();
        say(
            deleted.len(),
            &mut deleted.iter().map(|name| shown(name)),
            (
                &format!("{of} has been deleted and is not listed"),
                &format!("{of} have been deleted and are not listed"),
            ),
        );
        say(
            self.new.len(),
            &mut self.new.iter().map(|name| shown(name)),
            (
                "file is not in the index and was not searched",
                "files are not in the index and were not searched",
            ),
        );
        if said.is_empty() {
            return;
        }
        complain(format_args!(
            "{}: {}; run `bloomgrove index sync` to update the index, or pass --trust to skip this \
             check",
            index.display(),
            said.join("; "),
        ));
    }
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn state_of(stamp: &Stamp, path: &Path) -> State {
    match fs::metadata(path) {
        Ok(about) if about.is_file() && Stamp::of(&about) == *stamp => State::Same,
        Ok(_) => State::Changed,
        Err(error) if is_gone(&error) => State::Deleted,
        // It may be there.
        Err(_) => State::Changed,
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// What `index build` would take now, of the directories that it was given, and the index does
/// not have.
fn new_files(index: &Index, files: &[Known<'_>], prefix: &[u8]) -> Vec<Vec<u8>> {
    let places = || files.iter().map(|(.., place)| place);
    let known: HashSet<&OsStr> = places().map(|place| place.path.as_os_str()).collect();
    let roots: BTreeSet<&Path> = places().filter_map(|place| place.root.as_deref()).collect();
    let mut new = Vec::new();
    for root in roots {
        // A directory that cannot be listed: its files count as changed.
        for entry in walk::files(root, walk::is_data).flatten() {
            if known.contains(entry.path().as_os_str()) {
                continue;
            }
            let inside = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let name = match Source::found(inside, entry.path(), root, 0) {
                // A filter has no stamp; it is identified by its name.
                Ok(Some(source))
                    if source.kind != SourceKind::Keys && index.get(&source.name).is_ok() =>
                {
                    continue;
                }
                Ok(None) => continue,
                Ok(Some(source)) => source.name,
                // Unreadable, but it exists.
                Err(_) => inside.as_os_str().as_bytes().to_vec(),
            };
            if name.starts_with(prefix) {
                new.push(name);
            }
        }
    }
    new
}
