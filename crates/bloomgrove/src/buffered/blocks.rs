//! Buffer blocks: what waits for each page, in memory cut into chunks.
//!
//! ```text
//!   page 0   [chunk][chunk][chun..     the last one is being filled
//!   page 1   [chunk][ch..
//!   page 2   (nothing waits)           free: [chunk][chunk] ...
//! ```
//!
//! The paper gives every page a block of equal size and flushes a block when it is full: at
//! any moment half of the memory is empty. Here pages draw chunks from one pool and, when it
//! runs dry, the longest block goes: after a while the blocks are of all lengths up to twice
//! the mean, and a flush takes twice as many keys to the page, for the same memory. It is
//! what replacement selection does for sorted runs.

use std::mem;
use std::time::Instant;

use crate::Error;

/// The least and the most bytes of a chunk.
const SMALLEST: usize = 256;
const LARGEST: usize = 8192;
/// Chunks that the pool has for each page, if it can: half a chunk of each page is empty.
const PER_PAGE: usize = 16;
/// Bytes behind the last entry of a chunk that a write may touch, and may not pass.
pub(super) const SLACK: usize = 16;
/// What a chunk costs beside its bytes: its place in two lists that may be half empty, and the
/// allocator's own.
const CHUNK_COST: usize = 88;
/// What a page costs, waiting or not.
const PAGE_COST: usize = size_of::<Open>() + size_of::<Page>();

pub(super) type Chunk = Box<[u8]>;

/// How the memory is shared out, and who is flushed when it is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// One pool; the longest block is flushed. The fastest on disks without moving parts.
    Longest,
    /// Every page has its own block of equal size, flushed when it is full: the paper's
    /// Algorithms 1 and 2.
    Equal,
    /// One pool; all blocks are flushed, in the order of their pages: one sweep over the
    /// filter, for disks that must seek. The paper's section 4.3.
    Sweep,
}

/// What waited for one page, on its way to it.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) page: usize,
    /// Since when its first entry waits, if anybody asks.
    pub(super) since: Option<Instant>,
    chunks: Vec<Chunk>,
    /// Bytes used of each chunk but the last, and of that.
    full: usize,
    last: usize,
}

impl Block {
    /// The entries, chunk by chunk.
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

/// The chunk of a page that is being filled; apart, so that filling touches little memory.
#[derive(Debug, Default)]
struct Open {
    chunk: Chunk,
    at: usize,
    /// For [`Blocks::memo`].
    memo: u64,
}

#[derive(Debug)]
struct Page {
    full: Vec<Chunk>,
    since: Option<Instant>,
    /// How many of its blocks have been taken.
    taken: u32,
    /// A block of it is on its way.
    busy: bool,
}

/// All blocks, and the free chunks.
#[derive(Debug)]
pub(super) struct Blocks {
    open: Vec<Open>,
    pages: Vec<Page>,
    free: Vec<Chunk>,
    /// Chunks that may still be allocated.
    unmade: usize,
    chunk_bytes: usize,
    /// Bytes of an entry, and of all entries in a full chunk.
    width: usize,
    full: usize,
    total: usize,
    /// Pages for which something waits.
    waiting: usize,
}

impl Blocks {
    /// Blocks for so many pages that never take more than `memory` bytes.
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

    /// The least memory for so many pages: a small chunk for each, and some on their way.
    pub(super) fn least(pages: usize, spare: usize) -> u64 {
        (pages as u64) * (PAGE_COST as u64)
            + (pages + spare) as u64 * (SMALLEST + CHUNK_COST) as u64
    }

    pub(super) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// For how many pages something waits.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Adds an entry, the lowest bytes of `entry`, to the block of a page, if its chunk has
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

    /// As [`push`](Self::push), for entries of up to 16 bytes.
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

    /// Whether the page's chunk has room for one more.
    #[inline(always)]
    pub(super) fn has_room(&self, page: usize) -> bool {
        let open = &self.open[page];
        open.at + SLACK <= open.chunk.len()
    }

    /// A number kept for the block of a page; 0 when the block begins.
    #[inline(always)]
    pub(super) fn memo(&mut self, page: usize) -> &mut u64 {
        &mut self.open[page].memo
    }

    /// Whether nothing waits for this page.
    pub(super) fn is_empty(&self, page: usize) -> bool {
        self.bytes(page) == 0
    }

    fn bytes(&self, page: usize) -> usize {
        self.pages[page].full.len() * self.full + self.open[page].at
    }

    /// How many chunks are free.
    pub(super) fn free(&self) -> usize {
        self.free.len() + self.unmade
    }

    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Gives the page a new chunk to fill; false if none is free.
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

    /// The page with the longest block whose turn it is, if anything waits anywhere.
    pub(super) fn longest(&self) -> Option<usize> {
        let waiting = (0..self.pages.len()).filter(|&page| !self.pages[page].busy);
        let longest = waiting.max_by_key(|&page| self.bytes(page))?;
        (!self.is_empty(longest)).then_some(longest)
    }

    pub(super) fn is_busy(&self, page: usize) -> bool {
        self.pages[page].busy
    }

    /// Says since when the first entry of the page's block waits.
    pub(super) fn set_since(&mut self, page: usize, since: Instant) {
        self.pages[page].since = Some(since);
    }

    /// Which of the page's blocks is being filled.
    pub(super) fn serial(&self, page: usize) -> u32 {
        self.pages[page].taken
    }

    /// Takes the block of a page, which then counts as busy.
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

    /// Takes back the memory of a block that is done.
    pub(super) fn free_block(&mut self, mut block: Block) {
        self.pages[block.page].busy = false;
        self.free.append(&mut block.chunks);
    }
}
