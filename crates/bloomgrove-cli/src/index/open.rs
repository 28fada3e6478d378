//! Opening an index: to ask it, or to change it.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use bloomgrove::Error;
use bloomgrove::format::Notes;
use bloomgrove::index::{Index, IndexFile};

use super::{FPR_NOTE, KEYS_NOTE};
use crate::keys::KeyKind;

/// An index up to this size is read and checked before it is used: that takes a hundredth of
/// a second, and a damaged one would say no to keys that are there.
const CHECKED_ALWAYS: u64 = 64 << 20;
/// How long to wait for another process that is changing the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// An index to ask.
pub(crate) fn to_ask(path: &Path) -> Result<(Index, Notes), Error> {
    let size = std::fs::metadata(path).map_or(0, |about| about.len());
    if size <= CHECKED_ALWAYS {
        Index::open_checked(path)
    } else {
        Index::open_with_notes(path)
    }
}

/// An index to change; waits for others who do.
pub(crate) fn to_change(path: &Path) -> Result<IndexFile, Error> {
    let started = Instant::now();
    loop {
        match IndexFile::open(path) {
            Err(error) if matches!(error.kind(), Error::Busy) && started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return opened,
        }
    }
}

/// How the keys of an index are read.
pub(super) fn kind_of(notes: &Notes) -> KeyKind {
    match notes.get(KEYS_NOTE) {
        Some("integer") => KeyKind::Integer,
        _ => KeyKind::Text,
    }
}

/// The rate at which filters of a mixed index are built.
pub(super) fn fpr_of(notes: &Notes, default: f64) -> Result<f64> {
    match notes.get(FPR_NOTE) {
        None => Ok(default),
        Some(fpr) => match fpr.parse() {
            Ok(fpr) => Ok(fpr),
            Err(_) => bail!("the index has a note fpr={fpr}, which is no rate"),
        },
    }
}

/// Half-written indexes of runs that were killed, if nobody can be writing them any more.
pub(crate) fn remove_leftovers(index: &Path) {
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
            let path = entry.path();
            // Builds have a folder.
            let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
        }
    }
}
