//! Opening a file: checked where that takes no time, and patiently where others change it.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use bloomgrove::Error;
use bloomgrove::format::{Content, content_of};
use bloomgrove::index::{Index, IndexFile};
use bloomgrove::raw::format::lock_to_replace;
use bloomgrove::raw::index::{Origin, open_checked, open_unchecked};

/// A file up to this size is checked before it is used: that takes a hundredth of a second, and
/// damage could cause false negatives.
const CHECKED_ALWAYS: u64 = 64 << 20;
/// What to do if a set is unknown.
pub(crate) const LIST_SETS: &str = "; `bloomgrove index info --sets` lists the sets of an index";
/// The same for a Bloofi tree.
pub(crate) const LIST_LEAVES: &str = "; `bloomgrove bloofi info --sets` lists the sets of a tree";
/// How long to wait for another process that is changing the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// An index to query.
pub(crate) fn to_query(path: &Path) -> Result<Index, Error> {
    to_query_from(path, Origin::Named)
}

/// The same, for one that may not have been named.
pub(crate) fn to_query_from(path: &Path, origin: Origin) -> Result<Index, Error> {
    match is_small(path) {
        true => open_checked(path, origin),
        false => open_unchecked(path, origin),
    }
}

/// Checks every checksum of a file that is small, or if `always`.
pub(crate) fn check(path: &Path, always: bool) -> Result<(), Error> {
    if always || is_small(path) {
        bloomgrove::verify(path)?;
    }
    Ok(())
}

fn is_small(path: &Path) -> bool {
    fs::metadata(path).map_or(0, |about| about.len()) <= CHECKED_ALWAYS
}

/// An index to change; waits for other processes that change it.
pub(crate) fn to_change(path: &Path) -> anyhow::Result<IndexFile> {
    exists(path, "index")?;
    Ok(patiently(|| IndexFile::open(path))?)
}

/// Ensures that there is a file to add to, or says which command creates one.
pub(crate) fn exists(path: &Path, noun: &str) -> anyhow::Result<()> {
    if matches!(path.try_exists(), Ok(false)) {
        let path = path.display();
        bail!("{path}: this file does not exist; `bloomgrove {noun} build` creates one");
    }
    Ok(())
}

/// Locks a file that is about to be replaced, if it exists; waits for processes that
/// are changing it.
pub(crate) fn to_replace(path: &Path) -> Result<Option<File>, Error> {
    let lock = || patiently(|| lock_to_replace(path));
    path.exists().then(lock).transpose()
}

/// Opens a file as soon as no other process is changing it.
pub(crate) fn patiently<T>(open: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    let started = Instant::now();
    loop {
        match open() {
            Err(error) if matches!(error.kind(), Error::Busy) && started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return opened,
        }
    }
}

/// The commands for files of a content.
pub(crate) fn noun(content: Content) -> &'static str {
    match content {
        Content::Index => "index",
        Content::Names => "sample",
        Content::Paged => "buffered",
        Content::BloomTree => "bloom-tree",
        Content::Bloofi => "bloofi",
        Content::BloomSampleTree => "bloom-sample-tree",
        // A filter; there is no other content.
        _ => "filter",
    }
}

/// Removes half-written indexes of killed runs, if no process can still be writing them. Other
/// files with such a name are not ours.
pub(crate) fn remove_leftovers(index: &Path) {
    const OLD: Duration = Duration::from_secs(24 * 60 * 60);
    let directory = match index.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_named_so = name.starts_with(".bloomgrove-") && name.ends_with(".tmp");
        // The entry itself: links are not ours.
        let Some(about) = entry.metadata().ok().filter(|_| is_named_so) else {
            continue;
        };
        let age = about.modified().ok().and_then(|time| time.elapsed().ok());
        if age.is_none_or(|age| age < OLD) {
            continue;
        }
        let path = entry.path();
        let is_index = |path: &Path| content_of(path).is_ok_and(|found| found == Content::Index);
        if about.is_file() && is_index(&path) {
            let _ = fs::remove_file(&path);
        }
        // Builds have a directory. One with anything else in it stays.
        if about.is_dir() {
            let built = path.join("index.grove");
            remove_leftovers(&built);
            if is_index(&built) {
                let _ = fs::remove_file(&built);
            }
            let _ = fs::remove_dir(&path);
        }
    }
}
