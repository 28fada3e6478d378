//! Files of redb that notice damage.
//!
//! ```text
//!   entry    payload, checksum of table, key and payload     a value that changed, or moved
//!   meta     of each table: entries, sum of their checksums  entries that vanished or came back
//!   pages    redb's checksums, from the root down            what to read at all, what is lost
//!   head     a small file beside it: the newest version      commits that vanished with their root
//! ```
//!
//! redb has checksums, too, but looks at them only after a crash. Nor would they be enough: a page that
//! is damaged while the file is open gets a new, right checksum when its neighbours are changed.
//!
//! [`Pages::examine`] checks all of it without writing a byte, before redb opens the file. FORMAT.md
//! sections 17 and 18 have the layouts.

mod examine;
mod head;
mod layout;
mod pages;
mod seal;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redb::{Database, DatabaseError, StorageError};
use tempfile::NamedTempFile;

use crate::private::{TEMPORARY, open_database};

pub use examine::{Examined, Kind};
pub use head::Head;
pub use pages::{Pages, has_table, is_redb};
pub use seal::{Account, Ledger, Meta, unseal};

/// The checksum of an entry, as it is stored: for tests, here and above.
#[doc(hidden)]
#[must_use]
pub fn checksum(table: &str, key: &[u8], payload: &[u8]) -> [u8; 8] {
    seal::checksum(table, key, payload).to_le_bytes()
}

/// A file is not as it was written.
#[derive(Debug)]
pub struct Damaged {
    what: Vec<String>,
}

impl Damaged {
    /// For these reasons.
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

/// Opens a file with redb, which must be there already.
///
/// # Errors
/// [`Damaged`], or what the system says.
pub fn open(path: &Path, cache: usize) -> Result<Database> {
    let told = || path.display().to_string();
    // redb would take an empty file for a new one.
    if std::fs::metadata(path).is_ok_and(|about| about.len() == 0) {
        return Err(Damaged::one("it is empty".into())).with_context(told);
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

/// Whether an error is about what is in a file, not about the disk.
fn is_content(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, UnexpectedEof};
    matches!(error.kind(), InvalidData | UnexpectedEof)
}

/// A new file beside a path, not yet there: for its owner only, filled, and on disk.
///
/// # Errors
/// When the disk refuses; what `fill` says.
pub fn new_beside(
    path: &Path,
    cache: usize,
    fill: impl FnOnce(&Database) -> Result<()>,
) -> Result<NamedTempFile> {
    let directory = path.parent().context("a file is in a directory")?;
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

/// Waits until the name of a new file is on disk.
///
/// # Errors
/// When the disk refuses.
pub fn sync_name(path: &Path) -> Result<()> {
    let directory = path.parent().context("a file is in a directory")?;
    Ok(File::open(directory)?.sync_all()?)
}

/// Puts a new file in the place of a damaged one, which is kept under another name; gives that.
///
/// # Errors
/// When the disk refuses; then the damaged file is where it was.
pub fn replace_damaged(new: NamedTempFile, path: &Path) -> Result<PathBuf> {
    let kept = (1..)
        .map(|n| path.with_extension(format!("damaged-{n}")))
        .find(|kept| !kept.exists())
        .context("too many damaged files are kept here")?;
    std::fs::hard_link(path, &kept)?;
    new.persist(path)?;
    sync_name(path)?;
    Ok(kept)
}

#[cfg(test)]
mod tests;
