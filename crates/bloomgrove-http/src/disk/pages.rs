//! The pages of a redb file, read and checked without redb.
//!
//! ```text
//!   header     two commit slots, each with its checksum; the newer one counts
//!     slot     root of the data, root of what redb keeps for itself: page and checksum
//!       branch page and checksum of every child
//!         leaf keys and values
//! ```
//!
//! redb verifies these checksums only after a crash, and then falls back to the older slot without a
//! word; on damaged pages it may panic. So a file is read here first: from the root down, no page
//! is believed before its checksum was right, and none is written. What is lost is told where it
//! would have been, so that everything around it can be kept.
//!
//! Source: redb's `docs/design.md`, file format 3. Another version is refused.
//!
//! Cost: every used page is read once and hashed (XXH3-128).

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
/// No tree is deeper: each level has two children at least for each node.
const DEEPEST: usize = 64;

/// Whether a file begins as those of redb do, or is at least called like one.
///
/// # Errors
/// When it cannot be read.
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

/// Whether a file has a table of this name.
///
/// # Errors
/// [`Damaged`]; a file that another process has open.
pub fn has_table(path: &Path, name: &str) -> Result<bool> {
    let pages = Pages::open(path)?;
    for slot in &pages.slots {
        if pages.tables(slot, true)?.0.contains_key(name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A redb file, and the states that its commit slots name.
#[derive(Debug)]
pub struct Pages {
    file: File,
    length: u64,
    /// In the order in which redb would take them.
    pub(super) slots: Vec<Slot>,
    /// What is wrong with the header, if the first state can be read.
    pub(super) fault: Option<&'static str>,
}

/// What is found on the way through a table, in the order of its keys.
#[derive(Debug)]
pub(super) enum Row<'a> {
    Entry(&'a [u8], &'a [u8]),
    /// Entries were here, in the page at this offset or below it.
    Lost(u64),
}

impl Pages {
    /// Opens a file to be read. Nobody can open it for writing meanwhile.
    ///
    /// # Errors
    /// [`Damaged`] if its header is; a file that another process has open.
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
            return Err(Damaged::one(format!("it is cut short: {length} bytes")));
        };
        pages.read_header(&header)?;
        Ok(pages)
    }

    fn read_header(&mut self, header: &[u8]) -> Result<()> {
        if header[..MAGIC.len()] != *MAGIC {
            return Err(Damaged::one("it does not begin as a redb file does".into()));
        }
        let number = |at: usize| u64::from(u32_at(header, at).unwrap_or_default());
        if [number(12), number(16), number(20)] != [PAGE, 0, REGION] {
            return Err(Damaged::one("the sizes in its header are wrong".into()));
        }
        let wanted = PAGE * (1 + number(24) * REGION + number(28));
        if self.length < wanted {
            let length = self.length;
            let what = format!("it is cut short: {length} of {wanted} bytes");
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
        // Both are in one sector, and written together.
        if primary.is_none() || other.is_none() {
            self.fault = Some("one of the two commit slots in its header is damaged");
        }
        // A file that was closed names the newer one, unless redb did not come to the end of its repair
        // after a crash. Then the newer is torn, or the repair's own commit, with the same data. Else
        // this is damage.
        let was_repaired = newer.map(|newer| newer.data) == primary.map(|primary| primary.data);
        if !is_open && newer.is_some() && !was_repaired {
            self.fault = Some("its header names the older of the two commit slots");
        }
        // After a crash the newer one is tried first, unless the disk was waited for in between.
        let is_settled = newer.is_none() || is_open && was_ordered || !is_open && was_repaired;
        let order = match primary.is_some() && is_settled {
            true => [primary, other],
            false => [other, primary],
        };
        self.slots = order.into_iter().flatten().collect();
        if self.slots.is_empty() {
            return Err(Damaged::one("both commit slots are damaged".into()));
        }
        // Only where redb falls back, too, or has.
        if is_settled && (!is_open || was_ordered) {
            self.slots.truncate(1);
        }
        Ok(())
    }

    /// Bytes of the file; none if it ends before.
    fn read(&self, offset: u64, bytes: usize) -> Result<Option<Vec<u8>>> {
        let end = offset.checked_add(bytes as u64);
        if end.is_none_or(|end| end > self.length) {
            return Ok(None);
        }
        let mut read = vec![0; bytes];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))?;
        match file.read_exact(&mut read) {
            // As of a sector that the disk cannot read any more.
            Err(error) if error.raw_os_error().is_some() => {
                tracing::warn!(offset, "cannot be read: {error}");
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            read_all => read_all.map(|()| Some(read)).map_err(Into::into),
        }
    }

    /// The tables of a state by name: ours, or those that redb keeps for itself. Whether all of the
    /// list could be read, too.
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

    /// Calls `each` with all entries of a table, and where some are lost.
    ///
    /// # Errors
    /// A disk that cannot be read; what `each` says.
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
