//! Sliced: blocks of 64 filters with one word for each bit position, and a summary of which blocks
//! have any bit there.
//!
//! ```text
//!   summary      block 0 1 2 3 ...      row-major: the blocks that have position p
//!   position 17        0 1 0 0
//!   position 41        1 1 0 0          AND of the key's rows: only block 1 is read
//!   position 93        0 1 0 1
//!
//!   block 1      filter 64 ... 127      a word for each position
//!   position 17         0 1 ... 0
//!   position 41         0 1 ... 1       AND: filter 65
//!   position 93         1 1 ... 0
//! ```
//!
//! This is a tree of two levels, the upper one transposed so that one word stands for 64 blocks, or
//! 4096 filters. Source: the idea of the Bloofi paper (Crainiceanu, section 2: a bit that is not in
//! the union is in no member) in the layout of its flat successor. Blocks of 128 and 512 filters
//! were slower.
//!
//! Cost: N k / 4096 words of the summary, and k words for each block that has all of the key's
//! positions. At density x of the filters, a block has a position with probability 1 - (1 - x)^64.
//! At 1% that is 0.47, and its k-th power is small; at 7% it is 0.99, every block is read, and
//! [`flat`](super::flat) is better. Memory: the filters and 1/64. The bits of a removed filter are
//! cleared, and a summary bit is cleared with the last bit of its word, so the summary is always
//! exact.

use std::ops::Range;

use super::body::gather;
use super::work::{Batch, Tally};
use crate::Error;
use crate::bits::{self, LINE_WORDS, Rows};
use crate::format::Store;

/// Blocks are allocated together, up to this many words (16 MiB), so that huge pages can be used.
const CHUNK: usize = 1 << 21;

/// Up to this many blocks, a key rarely has more than one.
const FEW: usize = 512;
/// The number of blocks of one key whose words are fetched at once.
const WAITING: usize = 8;

#[derive(Debug)]
pub(super) struct Sliced {
    rows: usize,
    blocks: Blocks,
    summary: Summary,
}

/// The words of all blocks.
#[derive(Debug)]
struct Blocks {
    rows: usize,
    /// The words from one block to the next, in whole lines.
    stride: usize,
    count: usize,
    /// The binary logarithm of the number of blocks in a chunk.
    shift: u32,
    chunks: Vec<Store>,
}

impl Blocks {
    fn new(rows: usize) -> Self {
        let stride = rows.next_multiple_of(LINE_WORDS);
        Self {
            rows,
            stride,
            count: 0,
            shift: (CHUNK / stride).checked_ilog2().unwrap_or(0),
            chunks: Vec::new(),
        }
    }

    #[inline(always)]
    fn get(&self, block: usize) -> Option<&[u64]> {
        // A damaged summary may refer to a block that does not exist.
        let words = self.chunks.get(block >> self.shift)?.as_ref();
        words
            .get((block & ((1 << self.shift) - 1)) * self.stride..)?
            .get(..self.rows)
    }

    fn get_mut(&mut self, block: usize) -> Option<&mut [u64]> {
        let words = self.chunks.get_mut(block >> self.shift)?.owned()?;
        words
            .get_mut((block & ((1 << self.shift) - 1)) * self.stride..)?
            .get_mut(..self.rows)
    }

    /// Returns the first chunk with room for a block. It grows, so that small indexes stay small.
    fn room(&self, block: usize) -> Result<Option<Store>, Error> {
        if block >= 1 << self.shift {
            return Ok(None);
        }
        let wanted = (block + 1).next_power_of_two() * self.stride;
        let now = self.chunks.first().map_or(0, |chunk| chunk.as_ref().len());
        if now >= wanted {
            return Ok(None);
        }
        let mut larger = Store::zeroed(wanted)?;
        if let (Some(into), Some(from)) = (larger.owned(), self.chunks.first()) {
            into[..now].copy_from_slice(from.as_ref());
        }
        Ok(Some(larger))
    }

    fn reach(&mut self, block: usize) -> Result<(), Error> {
        if let Some(larger) = self.room(block)? {
            self.chunks = vec![larger];
        }
        while self.chunks.len() <= block >> self.shift {
            self.chunks.push(Store::zeroed(self.stride << self.shift)?);
        }
        self.count = self.count.max(block + 1);
        Ok(())
    }
}

impl Sliced {
    pub(super) fn new(rows: usize) -> Result<Self, Error> {
        Ok(Self {
            rows,
            blocks: Blocks::new(rows),
            summary: Summary::new(rows, 0)?,
        })
    }

    /// Creates a body over `count` consecutive blocks in a mapped file.
    pub(super) fn mapped(rows: usize, count: usize, blocks: Store, summary: Summary) -> Self {
        Self {
            rows,
            blocks: Blocks {
                count,
                shift: usize::BITS - 1,
                chunks: vec![blocks],
                ..Blocks::new(rows)
            },
            summary,
        }
    }

    #[inline(never)]
    pub(super) fn search(
        &self,
        positions: &[u64],
        live: &[u64],
        tally: &mut impl Tally,
        mut each: impl FnMut(usize, u64) -> bool,
    ) {
        if self.blocks.count > FEW {
            return self.search_many_blocks(positions, live, tally, each);
        }
        let mut blocks = 0;
        let words = self.summary.blocks(
            positions,
            #[inline(always)]
            |block| {
                blocks += 1;
                tally.test(live.get(block..=block).unwrap_or_default());
                let found = self.look(block, positions, live);
                found == 0 || each(block, found)
            },
        );
        tally.read(words + blocks * positions.len() as u64);
    }

    /// Same as [`search`](Self::search), where several blocks are likely: their words are fetched at once, while
    /// they wait here.
    #[inline(never)]
    fn search_many_blocks(
        &self,
        positions: &[u64],
        live: &[u64],
        tally: &mut impl Tally,
        mut each: impl FnMut(usize, u64) -> bool,
    ) {
        let mut blocks = 0;
        let mut look = |block: u32| {
            let block = block as usize;
            blocks += 1;
            tally.test(live.get(block..=block).unwrap_or_default());
            let found = self.look(block, positions, live);
            found == 0 || each(block, found)
        };
        let (mut waiting, mut count, mut go_on) = ([0; WAITING], 0, true);
        let words = self.summary.blocks(positions, |block| {
            self.prefetch(block, positions);
            waiting[count] = block as u32;
            count += 1;
            if count == WAITING {
                go_on = waiting.into_iter().all(&mut look);
                count = 0;
            }
            go_on
        });
        let _ = go_on && waiting[..count].iter().all(|&block| look(block));
        tally.read(words + blocks * positions.len() as u64);
    }

    /// Prefetches the rows of the summary.
    pub(super) fn prefetch_summary(&self, positions: &[u64]) {
        self.summary.prefetch(positions);
    }

    /// Prefetches the words of a block.
    #[inline(always)]
    fn prefetch(&self, block: usize, positions: &[u64]) {
        if let Some(words) = self.blocks.get(block) {
            for &position in positions {
                bits::prefetch(words, position as usize);
            }
        }
    }

    /// Returns which filters of a block have all positions.
    #[inline(always)]
    fn look(&self, block: usize, positions: &[u64], live: &[u64]) -> u64 {
        let (Some(words), Some(&live)) = (self.blocks.get(block), live.get(block)) else {
            return 0;
        };
        // All words are loaded at once: waiting for one costs more than reading seven.
        positions
            .iter()
            .fold(live, |found, &position| found & words[position as usize])
    }

    /// Calls `each(key, block, found)` for every key of a batch. The summary rows of all keys are
    /// prefetched before any is read, and then likewise all blocks that were found.
    pub(super) fn search_many(
        &self,
        batch: Batch<'_>,
        live: &[u64],
        candidates: &mut Vec<(u32, u32)>,
        each: impl FnMut(usize, usize, u64),
    ) {
        for positions in batch.keys() {
            self.summary.prefetch(positions);
        }
        candidates.clear();
        for (key, positions) in batch.keys().enumerate() {
            self.summary.blocks(positions, |block| {
                candidates.push((key as u32, block as u32));
                self.prefetch(block, positions);
                true
            });
        }
        batch.look_at(
            candidates,
            |block, positions| self.look(block, positions, live),
            each,
        );
    }

    pub(super) fn reach(&mut self, slot: usize) -> Result<(), Error> {
        if let Some(wider) = self.summary.room(self.rows, slot / 64)? {
            self.summary = wider;
        }
        self.blocks.reach(slot / 64)
    }

    /// Returns what [`reach`](Self::reach) would copy for this slot.
    pub(super) fn room(&self, slot: usize) -> Result<Option<Room>, Error> {
        let room = Room {
            summary: self.summary.room(self.rows, slot / 64)?,
            chunk: self.blocks.room(slot / 64)?,
        };
        Ok(Some(room).filter(|room| room.summary.is_some() || room.chunk.is_some()))
    }

    /// Installs what [`room`](Self::room) returned, and returns what is no longer used.
    pub(super) fn take_room(&mut self, room: Room) -> Room {
        Room {
            summary: (room.summary).map(|wider| std::mem::replace(&mut self.summary, wider)),
            chunk: room.chunk.and_then(|larger| {
                let old = self.blocks.chunks.pop();
                self.blocks.chunks.push(larger);
                old
            }),
        }
    }

    pub(super) fn set(&mut self, slot: usize, positions: impl Iterator<Item = u64>) {
        let block = slot / 64;
        if let Some(words) = self.blocks.get_mut(block) {
            for position in positions {
                words[position as usize] |= 1 << (slot % 64);
                self.summary.set(position, block);
            }
        }
    }

    /// Stores filters in the empty slots from `slot` on, which have been [reached](Self::reach). The summary lacks them until
    /// [`summarize`](Self::summarize).
    pub(super) fn put_all(&mut self, slot: usize, filters: &[&[u64]]) {
        for (slot, filter) in (slot..).zip(filters) {
            if let Some(words) = self.blocks.get_mut(slot / 64) {
                bits::ones(filter).for_each(|row| words[row as usize] |= 1 << (slot % 64));
            }
        }
    }

    /// Adds to the summary what it lacks.
    pub(super) fn summarize(&mut self) {
        /// The rows of 64 blocks that are read at a time: few enough for the cache, many enough to be read in sequence.
        const ROWS: usize = 512;
        let (blocks, rows) = (&self.blocks, self.rows);
        for first in (0..blocks.count).step_by(64) {
            for start in (0..rows).step_by(ROWS) {
                let part = start..rows.min(start + ROWS);
                let mut found = [0u64; ROWS];
                for block in first..blocks.count.min(first + 64) {
                    let words = blocks.get(block).unwrap_or_default();
                    let words = words.get(part.clone()).unwrap_or_default();
                    for (found, word) in found.iter_mut().zip(words) {
                        *found |= u64::from(*word != 0) << (block - first);
                    }
                }
                for (row, found) in part.zip(found) {
                    self.summary.add(row, first, found);
                }
            }
        }
    }

    pub(super) fn clear(&mut self, slot: usize, rows: Range<usize>) {
        let (block, mask) = (slot / 64, 1 << (slot % 64));
        if let Some(words) = self.blocks.get_mut(block) {
            for (position, word) in rows.clone().zip(&mut words[rows]) {
                if *word & mask != 0 {
                    *word &= !mask;
                    if *word == 0 {
                        self.summary.clear(position as u64, block);
                    }
                }
            }
        }
    }

    pub(super) fn get(&self, slot: usize, position: u64) -> bool {
        let words = self.blocks.get(slot / 64).unwrap_or(&[]);
        words[position as usize] >> (slot % 64) & 1 != 0
    }

    /// Copies words of one filter, from this position on.
    pub(super) fn copy(&self, slot: usize, first: usize, out: &mut [u64]) {
        let words = self.blocks.get(slot / 64).unwrap_or(&[]);
        gather(out, words[first..].iter().copied(), slot % 64);
    }

    pub(super) fn put_block(&mut self, block: usize, from: &[u64]) -> Result<(), Error> {
        self.reach(block * 64)?;
        if let Some(words) = self.blocks.get_mut(block) {
            words.copy_from_slice(from);
            self.summary.add_block(block, from);
        }
        Ok(())
    }

    pub(super) fn block(&self, block: usize, out: &mut [u64]) {
        if let Some(words) = self.blocks.get(block) {
            out.copy_from_slice(words);
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.blocks.count * self.blocks.stride) as u64 * 8 + self.summary.words.bytes()
    }

    /// Returns whether the summary matches the blocks exactly.
    pub(super) fn is_exact(&self) -> bool {
        // This includes that it has no bit for a block that does not exist.
        (0..self.summary.stride).all(|block| {
            let words = self.blocks.get(block).filter(|_| block < self.blocks.count);
            (0..self.rows).all(|row| {
                let held = words.is_some_and(|words| words[row] != 0);
                held == self.summary.get(row as u64, block)
            })
        })
    }
}

/// Copies with room for another filter.
#[derive(Debug)]
pub(super) struct Room {
    summary: Option<Summary>,
    chunk: Option<Store>,
}

/// For each row, which blocks have a bit there.
///
/// Up to 64 blocks take the bits they need, rounded up to a power of two, so that rows do not cross
/// words: 1000 filters take 16 bits per row, and the summary a quarter of the cache that whole
/// words would take. More blocks take whole words.
#[derive(Debug)]
pub(super) struct Summary {
    /// The number of bits in a row.
    stride: usize,
    words: Store,
}

impl Summary {
    /// Creates a zeroed summary with room for this many blocks.
    pub(super) fn new(rows: usize, blocks: usize) -> Result<Self, Error> {
        let stride = Self::stride_for(blocks);
        Ok(Self {
            stride,
            words: Store::zeroed(Self::words_for(rows, stride).unwrap_or(usize::MAX))?,
        })
    }

    /// Creates a summary over words in a mapped file, with `stride` bits per row.
    pub(super) fn mapped(stride: usize, words: Store) -> Self {
        Self { stride, words }
    }

    /// Returns the number of bits in a row for this many blocks.
    pub(super) fn stride_for(blocks: usize) -> usize {
        match blocks {
            0..=64 => blocks.max(1).next_power_of_two(),
            _ => blocks.next_multiple_of(64),
        }
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the number of words in a summary, or `None` if they cannot be addressed.
    pub(super) fn words_for(rows: usize, stride: usize) -> Option<usize> {
        if stride < 64 {
            Some(rows.div_ceil(64 / stride))
        } else {
            rows.checked_mul(stride / 64)
        }
    }

    pub(super) fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// Calls `each` for every block that has all positions, until it returns false. Returns the
    /// number of words read.
    #[inline(always)]
    fn blocks(&self, positions: &[u64], mut each: impl FnMut(usize) -> bool) -> u64 {
        let mut all = |at: usize, mut found: u64| {
            while found != 0 {
                if !each(at * 64 + found.trailing_zeros() as usize) {
                    return false;
                }
                found &= found - 1;
            }
            true
        };
        let words = self.words.as_ref();
        let width = self.stride / 64;
        // Rows of a few words are intersected in registers, before anything is done with the blocks.
        let mut few = [0; 4];
        match width {
            0 => few[0] = bits::common_of_narrow(words, self.stride, positions),
            1 => few[..1].copy_from_slice(&bits::common_of_few::<1>(words, positions)),
            2 => few[..2].copy_from_slice(&bits::common_of_few::<2>(words, positions)),
            3 => few[..3].copy_from_slice(&bits::common_of_few::<3>(words, positions)),
            4 => few = bits::common_of_few(words, positions),
            _ => return bits::common(words, width, Rows::alone(positions), (), all),
        }
        for (at, found) in few.into_iter().take(width.max(1)).enumerate() {
            if !all(at, found) {
                break;
            }
        }
        (positions.len() * width.max(1)) as u64
    }

    #[inline]
    fn prefetch(&self, positions: &[u64]) {
        let words = self.words.as_ref();
        let width = self.stride / 64;
        for &position in positions {
            let first = position as usize * self.stride / 64;
            bits::prefetch(words, first);
            if width > 1 {
                for line in (LINE_WORDS..width).step_by(LINE_WORDS) {
                    bits::prefetch(words, first + line);
                }
                // It may be in another line.
                bits::prefetch(words, first + width - 1);
            }
        }
    }

    fn get(&self, row: u64, block: usize) -> bool {
        bits::get(self.words.as_ref(), row * self.stride as u64 + block as u64)
    }

    pub(super) fn set(&mut self, row: u64, block: usize) {
        let bit = row * self.stride as u64 + block as u64;
        if let Some(words) = self.words.owned() {
            bits::set(words, bit);
        }
    }

    /// Records which of the blocks `first..first + 64` have a bit in a row; `first` is a multiple of 64.
    fn add(&mut self, row: usize, first: usize, found: u64) {
        let bit = row * self.stride + first;
        if let Some(words) = self.words.owned() {
            words[bit / 64] |= found << (bit % 64);
        }
    }

    /// Records where a new block has bits.
    pub(super) fn add_block(&mut self, block: usize, words: &[u64]) {
        for (row, _) in words.iter().enumerate().filter(|(_, word)| **word != 0) {
            self.set(row as u64, block);
        }
    }

    fn clear(&mut self, row: u64, block: usize) {
        let bit = row * self.stride as u64 + block as u64;
        if let Some(words) = self.words.owned() {
            bits::clear(words, bit);
        }
    }

    /// Returns a wider copy with room for a block, if this one has none.
    pub(super) fn room(&self, rows: usize, block: usize) -> Result<Option<Self>, Error> {
        if block < self.stride {
            return Ok(None);
        }
        // An eighth more than needed: this is cheap, since the summary is 1/64 of the filters,
        // while copying for every 64 blocks is not.
        let mut wider = Self::new(rows, (block + 1).max(block / 8 * 9))?;
        if self.stride >= 64
            && let Some(into) = wider.words.owned()
        {
            let from = self.words.as_ref().chunks_exact(self.stride / 64);
            for (into, from) in into.chunks_exact_mut(wider.stride / 64).zip(from) {
                into[..from.len()].copy_from_slice(from);
            }
        } else {
            for row in 0..rows as u64 {
                self.blocks(&[row], |block| {
                    wider.set(row, block);
                    true
                });
            }
        }
        Ok(Some(wider))
    }
}
