//! The bytes of redb's slots, tables and pages; all accesses are checked.

use xxhash_rust::xxh3::xxh3_128;

pub(super) const PAGE: u64 = 4096;
/// Pages of a region; redb never uses another number.
pub(super) const REGION: u64 = 1 << 20;
/// Bytes of a commit slot.
pub(super) const SLOT: usize = 128;
const FILE_FORMAT: u8 = 3;

/// One state of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) transaction: u64,
    pub(super) data: Option<Root>,
    pub(super) system: Option<Root>,
}

/// A page, and the checksum that it must have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Root {
    pub(super) page: u64,
    pub(super) checksum: u128,
}

/// A table of a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) root: Option<Root>,
    /// Lengths of keys and of values, if they are fixed.
    pub(super) widths: [Option<usize>; 2],
}

/// A slot of the header, if its checksum is right.
pub(super) fn slot(bytes: &[u8]) -> Option<Slot> {
    let (about, checksum) = bytes.split_at_checked(SLOT - 16)?;
    if bytes[0] != FILE_FORMAT || u128_at(checksum, 0)? != xxh3_128(about) {
        return None;
    }
    let root = |is_there: usize, at: usize| match bytes[is_there] {
        0 => Some(None),
        _ => Some(Some(root(bytes, at)?)),
    };
    Some(Slot {
        data: root(1, 8)?,
        system: root(2, 40)?,
        transaction: u64_at(bytes, 104)?,
    })
}

fn root(bytes: &[u8], at: usize) -> Option<Root> {
    Some(Root {
        page: u64_at(bytes, at)?,
        checksum: u128_at(bytes, at + 8)?,
    })
}

/// The root of a table, and the lengths of its keys and values.
pub(super) fn table(about: &[u8]) -> Option<Table> {
    const PLAIN: u8 = 3;
    let width = |at: usize| match about.get(at)? {
        0 => Some(None),
        _ => Some(Some(u32_at(about, at + 1)? as usize)),
    };
    let is_plain = *about.first()? == PLAIN;
    is_plain.then_some(Table {
        root: match about.get(9)? {
            0 => None,
            _ => Some(root(about, 10)?),
        },
        widths: [width(42)?, width(47)?],
    })
}

/// Offset and size of a page, from its index in its region, the region, and the exponent of its size.
pub(super) fn place(page: u64) -> (u64, usize) {
    let order = page >> 59;
    let bytes = PAGE << order.min(20);
    let index = page & (0xf_ffff >> order.min(20));
    let region = (page >> 20) & 0xf_ffff;
    let offset = PAGE + region * REGION * PAGE + index * bytes;
    (offset, bytes as usize)
}

/// Keys and values, sorted by keys.
pub(super) struct Leaf<'a> {
    page: &'a [u8],
    widths: [Option<usize>; 2],
    pub(super) pairs: usize,
}

impl<'a> Leaf<'a> {
    pub(super) fn new(page: &'a [u8], widths: [Option<usize>; 2]) -> Self {
        let pairs = usize::from(u16_at(page, 2).unwrap_or(0));
        Self {
            page,
            widths,
            pairs,
        }
    }

    fn key_end(&self, n: usize) -> Option<usize> {
        let lists = self.widths.iter().filter(|width| width.is_none()).count();
        match self.widths[0] {
            Some(width) => Some(4 + 4 * self.pairs * lists + width * (n + 1)),
            None => Some(u32_at(self.page, 4 + 4 * n)? as usize),
        }
    }

    fn value_end(&self, n: usize) -> Option<usize> {
        let skipped = if self.widths[0].is_none() {
            self.pairs
        } else {
            0
        };
        match self.widths[1] {
            Some(width) => Some(self.key_end(self.pairs.checked_sub(1)?)? + width * (n + 1)),
            None => Some(u32_at(self.page, 4 + 4 * (skipped + n))? as usize),
        }
    }

    pub(super) fn end(&self) -> Option<usize> {
        self.value_end(self.pairs.checked_sub(1)?)
    }

    pub(super) fn entry(&self, n: usize) -> Option<(&'a [u8], &'a [u8])> {
        let lists = self.widths.iter().filter(|width| width.is_none()).count();
        let (key, value) = match n.checked_sub(1) {
            None => (4 + 4 * self.pairs * lists, self.key_end(self.pairs - 1)?),
            Some(before) => (self.key_end(before)?, self.value_end(before)?),
        };
        let key = self.page.get(key..self.key_end(n)?)?;
        Some((key, self.page.get(value..self.value_end(n)?)?))
    }
}

/// Children, and the keys between them.
pub(super) struct Branch<'a> {
    page: &'a [u8],
    width: Option<usize>,
    pub(super) keys: usize,
}

impl<'a> Branch<'a> {
    pub(super) fn new(page: &'a [u8], width: Option<usize>) -> Self {
        let keys = usize::from(u16_at(page, 2).unwrap_or(0));
        Self { page, width, keys }
    }

    pub(super) fn end(&self) -> Option<usize> {
        let last = self.keys.checked_sub(1)?;
        let children = 8 + 24 * (self.keys + 1);
        match self.width {
            Some(width) => Some(children + width * self.keys),
            None => Some(u32_at(self.page, children + 4 * last)? as usize),
        }
    }

    pub(super) fn child(&self, n: usize) -> Option<Root> {
        Some(Root {
            checksum: u128_at(self.page, 8 + 16 * n)?,
            page: u64_at(self.page, 8 + 16 * (self.keys + 1) + 8 * n)?,
        })
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u128_at(bytes: &[u8], at: usize) -> Option<u128> {
    Some(u128::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
