//! Buffer blocks: the pending entries of each page, in memory divided into chunks.
//!
//! ```text
//!   page 0   [chunk][chunk][chun..     the last one is being filled
//!   page 1   [chunk][ch..
//!   page 2   (nothing pending)         free: [chunk][chunk] ...
//! ```
//!
//! The paper gives every page a block of equal size and flushes a block when it is full, so at
//! any moment half of the memory is empty. Here pages take chunks from one pool, and when it is
//! exhausted, the longest block is flushed. After a while the blocks have all lengths up to
//! twice the mean, and a flush brings twice as many keys to the page for the same memory.
//! Replacement selection does the same for sorted runs.

use std::mem;
use std::time::Instant;

use crate::Error;

/// The minimum and maximum size of a chunk in bytes.
const SMALLEST: usize = 256;
const LARGEST: usize = 8192;
/// Chunks in the pool per page, if memory allows; on average, half a chunk per page is empty.
const PER_PAGE: usize = 16;
/// Bytes after the last entry of a chunk that a write may touch but must not go beyond.
pub(super) const SLACK: usize = 16;
/// The overhead of a chunk: its slot in two lists that may be half empty, and the allocator's
/// overhead.
const CHUNK_COST: usize = 88;
/// The memory cost of a page, whether or not it has pending entries.
const PAGE_COST: usize = size_of::<Open>() + size_of::<Page>();

pub(super) type Chunk = Box<[u8]>;

/// How the memory is divided among pages, and which blocks are flushed when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// One pool; the longest block is flushed. The fastest strategy on solid-state disks.
    Longest,
    /// Every page has a separate block of equal size, which is flushed when it is full: the
    /// paper's Algorithms 1 and 2.
    Equal,
    /// One pool; all blocks are flushed in page order, in one sweep over the filter. For disks
    /// that must seek. The paper's section 4.3.
    Sweep,
}

/// The pending entries of one page, on their way to it.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) page: usize,
    /// When its first entry was added, if that is recorded.
    pub(super) since: Option<Instant>,
    chunks: Vec<Chunk>,
    /// Bytes used in each chunk but the last, and in the last.
    full: usize,
    last: usize,
}

impl Block {
    /// Returns the entries, chunk by chunk.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let last = self.chunks.len().saturating_sub(1);
        let used = move |i| if i == last { self.last } else { self.full };
        let chunks = self.chunks.iter().enumerate();
        chunks.map(move |(i, chunk)| &chunk[..used(i)])
    }

    pub(super) fn parts_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let last = self.chunks.len().saturating_sub(1);
        let (full, end) = (self.full, self.last);
        let used = move |i| if i == last { end } else { full };
        let chunks = self.chunks.iter_mut().enumerate();
        chunks.map(move |(i, chunk)| &mut chunk[..used(i)])
    }
}

/// The chunk of a page that is being filled; stored separately, so that filling touches little
/// memory.
#[derive(Debug, Default)]
struct Open {
    chunk: Chunk,
    at: usize,
    /// The number that [`Blocks::memo`] returns.
    memo: u64,
}

#[derive(Debug)]
struct Page {
    full: Vec<Chunk>,
    since: Option<Instant>,
    /// The number of its blocks that have been taken.
    taken: u32,
    /// Whether one of its blocks is being flushed.
    busy: bool,
}

/// All blocks, and the free chunks.
#[derive(Debug)]
pub(super) struct Blocks {
    open: Vec<Open>,
    pages: Vec<Page>,
    free: Vec<Chunk>,
    /// The number of chunks that may still be allocated.
    unmade: usize,
    chunk_bytes: usize,
    /// Bytes per entry, and bytes of all entries in a full chunk.
    width: usize,
    full: usize,
    total: usize,
    /// The number of pages with pending entries.
    waiting: usize,
}

impl Blocks {
    /// Creates blocks for `pages` pages that never take more than `memory` bytes.
    pub(super) fn new(
        pages: usize,
        width: usize,
        memory: u64,
        strategy: Strategy,
        spare: usize,
    ) -> Result<Self, Error> {
        let least = Self::least(pages, spare);
        let too_little = || Error::Budget {
            given: memory,
            least,
        };
        if memory < least {
            return Err(too_little());
        }
        let pool = (memory as usize) - pages * PAGE_COST;
        let chunk_bytes = match strategy {
            Strategy::Equal => pool / (pages + spare) - CHUNK_COST,
            _ => (pool / (pages * PER_PAGE)).clamp(SMALLEST, LARGEST),
        };
        let total = pool / (chunk_bytes + CHUNK_COST);
        let page = || Page {
            full: Vec::new(),
            since: None,
            taken: 0,
            busy: false,
        };
        Ok(Self {
            open: (0..pages).map(|_| Open::default()).collect(),
            pages: (0..pages).map(|_| page()).collect(),
            free: Vec::new(),
            unmade: total,
            chunk_bytes,
            width,
            full: ((chunk_bytes - SLACK) / width + 1) * width,
            total,
            waiting: 0,
        })
    }

    /// Returns the least memory for this many pages: a small chunk for each, and some being
    /// flushed.
    pub(super) fn least(pages: usize, spare: usize) -> u64 {
        (pages as u64) * (PAGE_COST as u64)
            + (pages + spare) as u64 * (SMALLEST + CHUNK_COST) as u64
    }

    pub(super) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Returns the number of pages with pending entries.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Appends an entry, the lowest bytes of `entry`, to the block of a page if its chunk has
    /// room for it.
    #[inline(always)]
    pub(super) fn push(&mut self, page: usize, entry: u64) -> bool {
        let open = &mut self.open[page];
        let room = open.chunk.get_mut(open.at..open.at + SLACK);
        let Some(room) = room.and_then(|room| room.first_chunk_mut()) else {
            return false;
        };
        *room = entry.to_le_bytes();
        open.at += self.width;
        true
    }

    /// Like [`push`](Self::push), for entries of up to 16 bytes.
    #[inline(always)]
    pub(super) fn push_wide(&mut self, page: usize, entry: u128) -> bool {
        let open = &mut self.open[page];
        let room = open.chunk.get_mut(open.at..open.at + SLACK);
        let Some(room) = room.and_then(|room| room.first_chunk_mut()) else {
            return false;
        };
        *room = entry.to_le_bytes();
        open.at += self.width;
        true
    }

    /// Returns whether the page's chunk has room for another entry.
    #[inline(always)]
    pub(super) fn has_room(&self, page: usize) -> bool {
        let open = &self.open[page];
        open.at + SLACK <= open.chunk.len()
    }

    /// Returns a number stored with the block of a page; 0 when the block is started.
    #[inline(always)]
    pub(super) fn memo(&mut self, page: usize) -> &mut u64 {
        &mut self.open[page].memo
    }

    /// Returns whether this page has no pending entries.
    pub(super) fn is_empty(&self, page: usize) -> bool {
        self.bytes(page) == 0
    }

    fn bytes(&self, page: usize) -> usize {
        self.pages[page].full.len() * self.full + self.open[page].at
    }

    /// Returns the number of free chunks.
    pub(super) fn free(&self) -> usize {
        self.free.len() + self.unmade
    }

    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Gives the page a new chunk to fill; returns false if none is free.
    pub(super) fn extend(&mut self, page: usize) -> bool {
        let chunk = match self.free.pop() {
            Some(chunk) => chunk,
            None if self.unmade > 0 => {
                self.unmade -= 1;
                vec![0; self.chunk_bytes].into_boxed_slice()
            }
            None => return false,
        };
        let open = &mut self.open[page];
        open.at = 0;
        let old = mem::replace(&mut open.chunk, chunk);
        match old.is_empty() {
            true => self.waiting += 1,
            false => self.pages[page].full.push(old),
        }
        true
    }

    /// Returns the page with the longest block that is not being flushed, if any has pending
    /// entries.
    pub(super) fn longest(&self) -> Option<usize> {
        let waiting = (0..self.pages.len()).filter(|&page| !self.pages[page].busy);
        let longest = waiting.max_by_key(|&page| self.bytes(page))?;
        (!self.is_empty(longest)).then_some(longest)
    }

    pub(super) fn is_busy(&self, page: usize) -> bool {
        self.pages[page].busy
    }

    /// Records when the first entry of the page's block was added.
    pub(super) fn set_since(&mut self, page: usize, since: Instant) {
        self.pages[page].since = Some(since);
    }

    /// Returns the serial number of the page's block that is being filled.
    pub(super) fn serial(&self, page: usize) -> u32 {
        self.pages[page].taken
    }

    /// Takes the block of a page, and marks the page as busy.
    pub(super) fn take(&mut self, page: usize) -> Block {
        let Open { chunk, at, .. } = mem::take(&mut self.open[page]);
        self.waiting -= usize::from(!chunk.is_empty());
        let own = &mut self.pages[page];
        own.busy = true;
        own.taken = own.taken.wrapping_add(1);
        let since = own.since.take();
        let mut chunks = mem::take(&mut own.full);
        let last = if at == 0 {
            self.free.extend((!chunk.is_empty()).then_some(chunk));
            self.full
        } else {
            chunks.push(chunk);
            at
        };
        Block {
            page,
            since,
            chunks,
            full: self.full,
            last,
        }
    }

    /// Returns the memory of a flushed block to the pool.
    pub(super) fn free_block(&mut self, mut block: Block) {
        self.pages[block.page].busy = false;
        self.free.append(&mut block.chunks);
    }
}
