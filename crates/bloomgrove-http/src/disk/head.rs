//! The newest version of a file, recorded in a separate file.
//!
//! redb falls back to the previous commit if the root of the last one is damaged: acknowledged changes are
//! gone, and nothing in the file shows it. So the version is recorded in a small file after every commit. It
//! is not synced, so after a power failure it may be behind; it is never ahead.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::checksum::number;

const MAGIC: &[u8; 8] = b"bgrvhead";
const BYTES: usize = 32;

/// The recorded version of one file.
#[derive(Debug)]
pub struct Head {
    file: File,
    /// Identifies the file.
    store: u64,
}

impl Head {
    /// The path of the file with the version.
    fn path(of: &Path) -> PathBuf {
        of.with_extension("head")
    }

    /// What is wrong with a file that has this version, if a later one was recorded.
    pub fn missed(of: &Path, store: u64, version: u64) -> Option<String> {
        let noted = std::fs::read(Self::path(of)).ok()?;
        let Some((noted_store, noted)) = parse(&noted) else {
            tracing::warn!(file = ?Self::path(of), "damaged; it will be rewritten");
            return None;
        };
        (noted_store == store && noted > version).then(|| {
            format!(
                "version {noted} was acknowledged, but the newest in the file is {version}: its \
                 last commits are lost, or it is an older copy"
            )
        })
    }

    /// The version recorded for a file, whatever its store.
    pub fn noted(of: &Path) -> Option<u64> {
        let noted = std::fs::read(Self::path(of)).ok()?;
        Some(parse(&noted)?.1)
    }

    /// Removes the recorded version, before the file is replaced by one with a lower version.
    ///
    /// # Errors
    /// If writing fails.
    pub fn forget(of: &Path) -> std::io::Result<()> {
        match std::fs::remove_file(Self::path(of)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Starts recording the version of a file.
    ///
    /// # Errors
    /// If writing fails.
    pub fn open(of: &Path, store: u64, version: u64) -> Result<Self> {
        let path = Self::path(of);
        let mut options = File::options();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let open = || -> Result<Self> {
            let file = options.open(&path)?;
            let head = Self { file, store };
            head.note(version)?;
            head.file.set_len(BYTES as u64)?;
            Ok(head)
        };
        open().with_context(|| path.display().to_string())
    }

    /// Records a version that was committed.
    ///
    /// # Errors
    /// If writing fails; then less damage is detected later.
    pub fn note(&self, version: u64) -> std::io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.store.to_le_bytes());
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&bytes)
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        let _ = self.file.sync_data();
    }
}

/// Decodes the id of the store and the version.
fn parse(bytes: &[u8]) -> Option<(u64, u64)> {
    let (about, sum) = bytes.split_at_checked(BYTES - 8)?;
    let is_right = about.starts_with(MAGIC) && number(sum)? == xxh3_64(about);
    is_right.then_some((number(&about[8..16])?, number(&about[16..])?))
}
