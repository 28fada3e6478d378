//! The pages of a redb file, read and checked without redb.
//!
//! ```text
//!   header     two commit slots, each with its checksum; the newer one counts
//!     slot     root of the data, root of redb's internal tables: page and checksum
//!       branch page and checksum of every child
//!         leaf keys and values
//! ```
//!
//! redb verifies these checksums only after a crash, and then silently falls back to the older slot; on
//! damaged pages it may panic. So a file is read here first, from the root down: no page is used before its
//! checksum is verified, and nothing is written. Lost pages are reported at their position, so that everything
//! around them can be kept.
//!
//! Source: redb's `docs/design.md`, file format 3. Other versions are rejected.
//!
//! Cost: every page in use is read and hashed (XXH3-128) once.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Result, bail};
use xxhash_rust::xxh3::xxh3_128;

use super::Damaged;
use super::layout::{
    Branch, Leaf, PAGE, REGION, Root, SLOT, Slot, Table, place, slot, table, u32_at,
};

const MAGIC: &[u8; 9] = b"redb\x1a\x0a\xa9\x0d\x0a";
const HEADER: usize = 320;
const SLOTS: [usize; 2] = [64, 192];
const LEAF: u8 = 1;
const BRANCH: u8 = 2;
/// The maximum depth of a tree: each node has at least two children.
const DEEPEST: usize = 64;

/// Whether a file starts like a redb file, or at least has its extension.
///
/// # Errors
/// If it cannot be read.
pub fn is_redb(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?
        .take(MAGIC.len() as u64)
        .read_to_end(&mut start)?;
    Ok(start == MAGIC
        || path
            .extension()
            .is_some_and(|extension| extension == "redb"))
}

/// Whether a file has a table with this name.
///
/// # Errors
/// [`Damaged`]; or if another process has the file open.
pub fn has_table(path: &Path, name: &str) -> Result<bool> {
    let pages = Pages::open(path)?;
    for slot in &pages.slots {
        if pages.tables(slot, true)?.0.contains_key(name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A redb file, and the states in its commit slots.
#[derive(Debug)]
pub struct Pages {
    file: File,
    length: u64,
    /// In the order in which redb would try them.
    pub(super) slots: Vec<Slot>,
    /// What is wrong with the header, if the first state is readable.
    pub(super) fault: Option<&'static str>,
}

/// What is found while walking a table, in the order of its keys.
#[derive(Debug)]
pub(super) enum Row<'a> {
    Entry(&'a [u8], &'a [u8]),
    /// Entries are lost here, in the page at this offset or below it.
    Lost(u64),
}

impl Pages {
    /// Opens a file for reading; no process can open it for writing meanwhile.
    ///
    /// # Errors
    /// [`Damaged`] if its header is; or if another process has the file open.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => bail!(
                "another process has this file open; stop that process first, or use another \
                 data directory"
            ),
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(error.into());
            }
            _ => {}
        }
        let length = file.metadata()?.len();
        let mut pages = Self {
            file,
            length,
            slots: Vec::new(),
            fault: None,
        };
        let Some(header) = pages.read(0, HEADER)? else {
            return Err(Damaged::one(format!(
                "the file is truncated: {length} bytes"
            )));
        };
        pages.read_header(&header)?;
        Ok(pages)
    }

    fn read_header(&mut self, header: &[u8]) -> Result<()> {
        if header[..MAGIC.len()] != *MAGIC {
            return Err(Damaged::one("it does not start like a redb file".into()));
        }
        let number = |at: usize| u64::from(u32_at(header, at).unwrap_or_default());
        if [number(12), number(16), number(20)] != [PAGE, 0, REGION] {
            return Err(Damaged::one("the sizes in its header are wrong".into()));
        }
        let wanted = PAGE * (1 + number(24) * REGION + number(28));
        if self.length < wanted {
            let length = self.length;
            let what = format!("the file is truncated: {length} of {wanted} bytes");
            return Err(Damaged::one(what));
        }
        let slots = SLOTS.map(|at| slot(&header[at..at + SLOT]));
        let flags = header[9];
        let (is_open, was_ordered) = (flags & 2 != 0, flags & 4 != 0);
        let (primary, other) = match flags & 1 {
            0 => (slots[0], slots[1]),
            _ => (slots[1], slots[0]),
        };
        let newer = match (primary, other) {
            (Some(primary), Some(other)) if other.transaction > primary.transaction => Some(other),
            _ => None,
        };
        // Both are in one sector, and are written together.
        if primary.is_none() || other.is_none() {
            self.fault = Some("one of the two commit slots in its header is damaged");
        }
        // A file that was closed names the newer slot, unless redb did not finish its repair after a crash. Then the
        // newer one is torn, or is the repair's own commit with the same data. Otherwise this is damage.
        let was_repaired = newer.map(|newer| newer.data) == primary.map(|primary| primary.data);
        if !is_open && newer.is_some() && !was_repaired {
            self.fault = Some("its header names the older of the two commit slots");
        }
        // After a crash the newer one is tried first, unless the disk was synced in between.
        let is_settled = newer.is_none() || is_open && was_ordered || !is_open && was_repaired;
        let order = match primary.is_some() && is_settled {
            true => [primary, other],
            false => [other, primary],
        };
        self.slots = order.into_iter().flatten().collect();
        if self.slots.is_empty() {
            return Err(Damaged::one("both commit slots are damaged".into()));
        }
        // Only where redb falls back, too, or has done so.
        if is_settled && (!is_open || was_ordered) {
            self.slots.truncate(1);
        }
        Ok(())
    }

    /// Reads bytes of the file; none if it ends before.
    fn read(&self, offset: u64, bytes: usize) -> Result<Option<Vec<u8>>> {
        let end = offset.checked_add(bytes as u64);
        if end.is_none_or(|end| end > self.length) {
            return Ok(None);
        }
        let mut read = vec![0; bytes];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))?;
        match file.read_exact(&mut read) {
            // For example a sector that the disk can no longer read.
            Err(error) if error.raw_os_error().is_some() => {
                tracing::warn!(offset, "cannot read a page: {error}");
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            read_all => read_all.map(|()| Some(read)).map_err(Into::into),
        }
    }

    /// The tables of a state by name: ours, or redb's internal ones. Also whether the whole list could be
    /// read.
    pub(super) fn tables(
        &self,
        slot: &Slot,
        ours: bool,
    ) -> Result<(BTreeMap<String, Table>, bool)> {
        let (mut tables, mut whole) = (BTreeMap::new(), true);
        let list = Table {
            root: if ours { slot.data } else { slot.system },
            widths: [None, None],
        };
        self.rows(&list, |row| {
            match row {
                Row::Entry(name, about) => {
                    let name = String::from_utf8_lossy(name).into_owned();
                    match table(about) {
                        Some(table) => drop(tables.insert(name, table)),
                        None => whole = false,
                    }
                }
                Row::Lost(_) => whole = false,
            }
            Ok(())
        })?;
        Ok((tables, whole))
    }

    /// Calls `each` with every entry of a table, and where entries are lost.
    ///
    /// # Errors
    /// If the disk cannot be read; the errors of `each`.
    pub(super) fn rows(
        &self,
        table: &Table,
        mut each: impl FnMut(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        match table.root {
            Some(root) => self.descend(root, table.widths, DEEPEST, &mut each),
            None => Ok(()),
        }
    }

    fn descend(
        &self,
        root: Root,
        widths: [Option<usize>; 2],
        deeper: usize,
        each: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let (offset, bytes) = place(root.page);
        let page = match self.read(offset, bytes)? {
            Some(page) if deeper > 0 => page,
            _ => return each(Row::Lost(offset)),
        };
        let is_right = |end: Option<usize>| {
            let used = end.and_then(|end| page.get(..end));
            used.is_some_and(|used| xxh3_128(used) == root.checksum)
        };
        match page.first() {
            Some(&LEAF) => {
                let leaf = Leaf::new(&page, widths);
                if !is_right(leaf.end()) {
                    return each(Row::Lost(offset));
                }
                for n in 0..leaf.pairs {
                    match leaf.entry(n) {
                        Some((key, value)) => each(Row::Entry(key, value))?,
                        None => each(Row::Lost(offset))?,
                    }
                }
                Ok(())
            }
            Some(&BRANCH) => {
                let branch = Branch::new(&page, widths[0]);
                if !is_right(branch.end()) {
                    return each(Row::Lost(offset));
                }
                for n in 0..=branch.keys {
                    match branch.child(n) {
                        Some(child) => self.descend(child, widths, deeper - 1, each)?,
                        None => each(Row::Lost(offset))?,
                    }
                }
                Ok(())
            }
            _ => each(Row::Lost(offset)),
        }
    }
}
