//! A file that grows: an index or a name index, to which each change is appended.
//!
//! ```text
//!   | header | sections | MANIFEST | COMMIT | sections | MANIFEST | COMMIT | torn ...
//!                             ^-------'                     ^-------'
//!                                               the last whole commit is the state
//! ```
//!
//! Bytes before the last commit never change, so a memory map of them stays valid while another
//! process appends. Whatever follows the last commit was never completed, and is ignored.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use zerocopy::FromBytes;

use super::header::{self, Commit, Section, UNIT};
use super::map::{FileMap, MappedBytes};
use super::reader::{Report, check_padding};
#[cfg(unix)]
use super::whole::restrict;
use super::whole::{Origin, open_file};
use super::{Content, Kind, MappedWords, Writer};
use crate::Error;

/// The length of a COMMIT section with its head.
const COMMIT_LEN: u64 = 2 * UNIT;

/// An index file as of its last commit.
#[derive(Clone, Debug)]
pub(crate) struct Growing {
    path: PathBuf,
    origin: Origin,
    file: Arc<File>,
    map: FileMap,
    content: Content,
    /// The offset at which the last commit ends.
    end: u64,
    commit: Commit,
}

impl Growing {
    pub(crate) fn open(path: &Path, content: Content, origin: Origin) -> Result<Self, Error> {
        open_file(path, File::options().read(true), origin)
            .and_then(|file| Self::of_file(path, file, content, origin))
            .map_err(Error::in_file(path))
    }

    /// Opens a file for appending. No other process can while it is open.
    pub(crate) fn open_to_change(
        path: &Path,
        content: Content,
        origin: Origin,
    ) -> Result<Self, Error> {
        let open = || {
            let file = open_locked(path, File::options().read(true).write(true), origin)?;
            Self::of_file(path, file, content, origin)
        };
        open().map_err(Error::in_file(path))
    }

    /// Reads a file that is already open. Errors do not contain its path.
    pub(crate) fn of_file(
        path: &Path,
        file: File,
        content: Content,
        origin: Origin,
    ) -> Result<Self, Error> {
        let (end, commit) = last_commit(&file, content)?;
        // Map no more than that: what follows may be truncated by another process at any time.
        let map = FileMap::of_start(&file, end)?;
        Ok(Self {
            path: path.to_owned(),
            origin,
            file: Arc::new(file),
            map,
            content,
            end,
            commit,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// Denies access to all users to whom `mode` does not grant it.
    #[cfg(unix)]
    pub(crate) fn restrict(&self, mode: u32) -> Result<(), Error> {
        restrict(&self.file, mode)
            .map_err(Error::io("changing its permissions"))
            .map_err(Error::in_file(&self.path))
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of commits before the last.
    pub(crate) fn number(&self) -> u64 {
        self.commit.number.get()
    }

    /// Extends the map to `end`, where a new commit ends.
    pub(crate) fn advance(&mut self, end: u64, number: u64) -> Result<(), Error> {
        // First of all: even if the rest fails, these bytes must never be overwritten.
        self.end = end;
        self.commit.number = number.into();
        self.map = FileMap::of_start(&self.file, end)?;
        Ok(())
    }

    /// Returns whether the path still refers to this file.
    pub(crate) fn is_current(&self) -> bool {
        is_at(&self.file, &self.path, self.origin)
    }

    /// Returns a writer that appends after the last commit. Whatever a failed or interrupted change
    /// has left there is cut off.
    pub(crate) fn append(&self) -> Result<Writer<File>, Error> {
        let open = || {
            self.file.set_len(self.end)?;
            self.file.try_clone()
        };
        let file = open()
            .map_err(Error::io("removing an incomplete change"))
            .map_err(Error::in_file(&self.path))?;
        Writer::append_to(&self.path, file, self.end)
    }

    pub(crate) fn manifest(&self) -> Result<MappedBytes, Error> {
        self.small(self.commit.manifest.get(), Kind::Manifest)
    }

    fn section(&self, head: u64, kind: Kind) -> Result<Section, Error> {
        let section = Section::decode(self.map.bytes(), head)?;
        if section.kind != kind {
            let what = format!("expected a {} here", kind.name());
            return Err(Error::corrupt(section.kind.name(), head, what));
        }
        Ok(section)
    }

    /// Returns a payload other than bits, its checksum verified.
    pub(crate) fn small(&self, head: u64, kind: Kind) -> Result<MappedBytes, Error> {
        let section = self.section(head, kind)?;
        let bytes = MappedBytes::new(&self.map, section.offset, section.len);
        section.check(bytes.as_ref())?;
        Ok(bytes)
    }

    /// Returns words of bits, unchecked.
    pub(crate) fn words(&self, head: u64) -> Result<MappedWords, Error> {
        let section = self.section(head, Kind::Bits)?;
        MappedWords::new(&self.map, section.offset, section.len)
    }

    /// Returns names, unchecked.
    pub(crate) fn names(&self, head: u64) -> Result<MappedBytes, Error> {
        let section = self.section(head, Kind::Names)?;
        Ok(MappedBytes::new(&self.map, section.offset, section.len))
    }

    /// Advises the system that the bits will be read in random order.
    pub(crate) fn expect_jumps(&self) {
        self.map.expect_jumps();
    }

    /// Checks every byte up to the last commit, including those no longer in use.
    pub(crate) fn check_all(&self) -> Result<Report, Error> {
        let bytes = self.map.bytes();
        let mut sections = Vec::new();
        let mut since = 0;
        let mut commits = 0;
        let mut at = UNIT;
        while at < self.end {
            let section = Section::decode(bytes, at)?;
            if !self.content.may_have(section.kind) {
                let what = format!("not allowed in {}", self.content.name());
                return Err(Error::corrupt(section.kind.name(), at, what));
            }
            if section.read(&self.file, |_| {})? != section.checksum {
                return Err(section.damaged());
            }
            check_padding(bytes, at, &section)?;
            if section.kind == Kind::Commit {
                let payload = &bytes[section.offset as usize..][..section.len as usize];
                check_commit(payload, at, &section, &sections[since..], commits)?;
                commits += 1;
                since = sections.len() + 1;
            }
            at = section.end();
            sections.push(section);
        }
        let mut report = Report::of(self.content, &sections);
        let len = self
            .file
            .metadata()
            .map_err(Error::io("reading its metadata"))?
            .len();
        report.unfinished = len.saturating_sub(self.end);
        Ok(report)
    }
}

/// Returns the last complete commit and the offset of its end. Uses ordinary reads: if another
/// process truncates what follows the commit, reading it through a map would kill this process.
fn last_commit(file: &File, wanted: Content) -> Result<(u64, Commit), Error> {
    let content = header::decode_file(&read_at(file, 0, UNIT)?)?;
    if content != wanted {
        return Err(Error::WrongContent {
            found: content.name(),
            wanted: wanted.name(),
        });
    }
    let len = file
        .metadata()
        .map_err(Error::io("reading its metadata"))?
        .len();
    let section_at = |at: u64| Section::decode_head(&read_at(file, at, UNIT)?, at, len);
    // It is nearly always at the end of the file.
    let last = len.checked_sub(COMMIT_LEN);
    if let Some(at) = last.filter(|at| at.is_multiple_of(UNIT) && *at >= UNIT)
        && let Ok(section) = section_at(at)
        && section.end() == len
        && section.kind == Kind::Commit
        && let Some(commit) = commit_of(&section.read_small(file)?, &section)
    {
        return Ok((len, commit));
    }
    // A change was interrupted: search for the last complete one.
    let mut found = None;
    let mut since = Vec::new();
    let mut at = UNIT;
    let mut commits = 0;
    while let Ok(section) = section_at(at) {
        let head = at;
        at = section.end();
        if section.kind != Kind::Commit {
            since.push(section);
            continue;
        }
        let payload = section.read_small(file)?;
        if check_commit(&payload, head, &section, &since, commits).is_err() {
            break;
        }
        found = commit_of(&payload, &section).map(|commit| (at, commit));
        commits += 1;
        since.clear();
    }
    found.ok_or_else(|| Error::corrupt("file", 0, "it contains no complete commit"))
}

/// Reads up to `len` bytes at offset `at`; fewer at the end of the file.
fn read_at(mut file: &File, at: u64, len: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))
        .and_then(|_| file.take(len).read_to_end(&mut bytes))
        .map_err(Error::io("reading"))?;
    Ok(bytes)
}

impl Section {
    /// Returns the payload of a section that is always small; nothing if it is not.
    fn read_small(&self, file: &File) -> Result<Vec<u8>, Error> {
        if self.len > UNIT {
            return Ok(Vec::new());
        }
        read_at(file, self.offset, self.len)
    }
}

fn commit_of(payload: &[u8], section: &Section) -> Option<Commit> {
    let commit = Commit::read_from_bytes(payload).ok()?;
    (section.kind == Kind::Commit && section.check(payload).is_ok()).then_some(commit)
}

/// Checks that a commit matches the sections since the previous one.
fn check_commit(
    payload: &[u8],
    head: u64,
    section: &Section,
    since: &[Section],
    commits: u64,
) -> Result<(), Error> {
    let corrupt = |what: &'static str| Error::corrupt(Kind::Commit.name(), head, what);
    let commit =
        commit_of(payload, section).ok_or_else(|| corrupt("its checksum does not match"))?;
    if commit != Commit::of(commit.manifest.get(), commits, since) {
        return Err(corrupt("it does not match the sections before it"));
    }
    if since.last().is_none_or(|last| last.kind != Kind::Manifest) {
        return Err(corrupt("there is no manifest before it"));
    }
    Ok(())
}

/// Opens a file and locks out other writers until it is dropped.
fn open_locked(path: &Path, options: &OpenOptions, origin: Origin) -> Result<File, Error> {
    loop {
        let file = open_file(path, options, origin)?;
        lock(&file)?;
        // It may have been replaced before we acquired the lock.
        if is_at(&file, path, origin) {
            return Ok(file);
        }
    }
}

/// Locks out other writers from a file that is read, changed and replaced as a whole. Dropping the
/// returned file releases the lock.
///
/// # Errors
/// [`Error::Busy`] if another process is changing it; [`Error::Io`].
pub fn lock_to_replace(path: impl AsRef<Path>) -> Result<File, Error> {
    let path = path.as_ref();
    open_locked(path, File::options().read(true), Origin::Named).map_err(Error::in_file(path))
}

/// Locks out other writers from a file that is about to be replaced, if it exists. Dropping the
/// returned file releases the lock.
pub(crate) fn lock_target(path: &Path, origin: Origin) -> Result<Option<File>, Error> {
    match open_file(path, File::options().read(true), origin) {
        Ok(file) => lock(&file).map(|()| Some(file)),
        // Other errors are reported when the file is replaced.
        Err(_) => Ok(None),
    }
}

/// Locks out other writers.
pub(super) fn lock(file: &File) -> Result<(), Error> {
    for attempt in 1.. {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            // A process that only tests the lock has it for a moment.
            Err(TryLockError::WouldBlock) if attempt < LOCK_ATTEMPTS => sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => break,
            Err(TryLockError::Error(error)) => return Err(Error::io("locking")(error)),
        }
    }
    Err(Error::Busy)
}

const LOCK_ATTEMPTS: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Returns whether the path refers to this file now.
pub(super) fn is_at(file: &File, path: &Path, origin: Origin) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (Ok(one), Ok(two)) = (file.metadata(), origin.look_at(path)) else {
            return true;
        };
        (one.dev(), one.ino()) == (two.dev(), two.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path, origin);
        true
    }
}
