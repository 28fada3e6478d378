//! redb files that detect damage.
//!
//! ```text
//!   entry    payload, checksum of table, key and payload     detects values that changed or moved
//!   meta     per table: entries, sum of their checksums      detects entries that vanished or came back
//!   pages    redb's checksums, from the root down            show what is readable and what is lost
//!   head     a separate small file: the newest version       detects commits that vanished with their root
//! ```
//!
//! redb has checksums, too, but verifies them only after a crash. Nor would they be enough: a page that is
//! damaged while the file is open gets a new, valid checksum when its neighbours change.
//!
//! [`Pages::examine`] checks all of this without writing a byte, before redb opens the file. FORMAT.md
//! describes the layouts in sections 17 and 18.

mod checksum;
mod examine;
mod head;
mod layout;
mod pages;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redb::{Database, DatabaseError, StorageError};
use tempfile::NamedTempFile;

use crate::private::{TEMPORARY, open_database};

pub use checksum::{Account, Ledger, Meta, verified};
pub use examine::{Examined, Kind};
pub use head::Head;
pub use pages::{Pages, has_table, is_redb};

/// The checksum of an entry as it is stored, for tests here and in other crates.
#[doc(hidden)]
#[must_use]
pub fn checksum(table: &str, key: &[u8], payload: &[u8]) -> [u8; 8] {
    checksum::checksum(table, key, payload).to_le_bytes()
}

/// The contents of a file are not what was written.
#[derive(Debug)]
pub struct Damaged {
    what: Vec<String>,
}

impl Damaged {
    /// Damage for these reasons.
    #[must_use]
    pub fn of(what: Vec<String>) -> anyhow::Error {
        Self { what }.into()
    }

    pub(crate) fn one(what: String) -> anyhow::Error {
        Self::of(vec![what])
    }
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 8;
        let told = &self.what[..self.what.len().min(MOST)];
        write!(f, "damaged: {}", told.join("; "))?;
        match self.what.len() - told.len() {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for Damaged {}

/// Opens an existing file with redb.
///
/// # Errors
/// [`Damaged`], or an error of the system.
pub fn open(path: &Path, cache: usize) -> Result<Database> {
    let told = || path.display().to_string();
    // redb would take an empty file for a new one.
    if std::fs::metadata(path).is_ok_and(|about| about.len() == 0) {
        return Err(Damaged::one("the file is empty".into())).with_context(told);
    }
    let open = || open_database(path, cache);
    // Some damage makes redb panic.
    let opened = std::panic::catch_unwind(open);
    let opened = opened
        .map_err(|_| Damaged::one("redb cannot open it".into()))
        .with_context(told)?;
    opened
        .map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => anyhow::anyhow!(
                "another process has this data directory open; stop that process, or use another \
                 directory"
            ),
            DatabaseError::Storage(StorageError::Io(error)) if !is_content(&error) => error.into(),
            error => Damaged::one(error.to_string()),
        })
        .with_context(told)
}

/// Whether an error concerns the contents of a file, not the disk.
fn is_content(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, UnexpectedEof};
    matches!(error.kind(), InvalidData | UnexpectedEof)
}

/// Creates a temporary file in the directory of `path`, readable by its owner only, fills it, and syncs it to
/// disk.
///
/// # Errors
/// If writing fails; the errors of `fill`.
pub fn new_beside(
    path: &Path,
    cache: usize,
    fill: impl FnOnce(&Database) -> Result<()>,
) -> Result<NamedTempFile> {
    let directory = path.parent().context("the path has no parent directory")?;
    let file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(directory)?;
    let database = Database::builder()
        .set_cache_size(cache)
        .create_file(file.reopen()?)?;
    fill(&database)?;
    drop(database);
    file.as_file().sync_all()?;
    Ok(file)
}

/// Syncs the directory, so that the name of a new file is on disk.
///
/// # Errors
/// If writing fails.
pub fn sync_name(path: &Path) -> Result<()> {
    let directory = path.parent().context("the path has no parent directory")?;
    Ok(File::open(directory)?.sync_all()?)
}

/// Replaces a damaged file by a new one, keeping the damaged file under another name, which is returned.
///
/// # Errors
/// If writing fails; then the damaged file stays in place.
pub fn replace_damaged(new: NamedTempFile, path: &Path) -> Result<PathBuf> {
    let kept = (1..)
        .map(|n| path.with_extension(format!("damaged-{n}")))
        .find(|kept| !kept.exists())
        .context("the directory contains too many damaged files")?;
    std::fs::hard_link(path, &kept)?;
    new.persist(path)?;
    sync_name(path)?;
    Ok(kept)
}

#[cfg(test)]
mod tests;
