//! Sealed: the sliced shape without its empty words. It takes a fifth of the memory for sparse
//! filters, but nothing can be added.
//!
//! ```text
//!   row p    | rank | blocks that have p: 0 1 1 0 0 1 ... |
//!               |                           | |     |
//!               v                           v v     v
//!   codes    ... rank+0  rank+1  rank+2 ...         16 bits for each word that is not empty
//!
//!   code     0 | b: 6 bits | a: 6 bits              the word has bits a and b (or a = b only)
//!            1 | n: 15 bits                         overflow word (base of its 4096 codes) + n
//! ```
//!
//! The summary row of the sliced shape also serves as the directory of its words: the word of block
//! g is the code at rank + the number of blocks before g. At a density of 1%, half of all words of
//! 64 filters are empty, and 97% have at most two bits.
//!
//! Cost: as sliced, plus k ranks (population counts of up to N / 4096 words each) for every block
//! read. Memory at density x, for each word of 64 filters: 2 bytes unless it is empty, 8 more if it
//! has three bits or more, and 1 bit; at x = 1% this is 0.16 of the size of the filters. Filters
//! denser than about 1.2% are better left sliced.

use super::work::{Batch, Tally};
use crate::Error;
use crate::bits::{self, Rows};
use crate::format::Store;

/// The number of codes that share a base in the overflow.
const CODES_PER_BASE: usize = 4096;
const OVERFLOW: u16 = 1 << 15;
/// Ranks are below this, which keeps a damaged one from overflowing.
const RANKS: usize = usize::MAX >> 8;
/// Up to this many blocks, rank and blocks share a word if the rank fits into half of it.
const PACKED: usize = 32;

/// The sizes of the parts, which follow in this order and in whole words: rows, codes, bases,
/// overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) rows: usize,
    pub(super) blocks: usize,
    pub(super) codes: usize,
    pub(super) overflow: usize,
}

impl Sizes {
    /// Returns the words of a row: a rank, and a bit for each block.
    fn row(self) -> usize {
        if self.is_packed() {
            1
        } else {
            1 + self.blocks.div_ceil(64)
        }
    }

    /// Returns whether the rank of a row and the bits of its blocks share a word.
    fn is_packed(self) -> bool {
        self.blocks <= PACKED && u32::try_from(self.codes).is_ok()
    }

    fn code_words(self) -> usize {
        self.codes.div_ceil(4)
    }

    fn bases(self) -> usize {
        self.codes.div_ceil(CODES_PER_BASE)
    }

    /// Returns the total number of words, or `None` if they cannot be addressed.
    pub(super) fn words(self) -> Option<usize> {
        self.rows
            .checked_mul(self.row())?
            .checked_add(self.code_words())?
            .checked_add(self.bases())?
            .checked_add(self.overflow)
    }
}

/// The first word of a row is its rank.
struct AfterRank;

impl bits::Mask for AfterRank {
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        if at == 0 { 0 } else { !0 }
    }
}

#[derive(Debug)]
pub(super) struct Sealed {
    sizes: Sizes,
    words: Store,
}

impl Sealed {
    /// Creates a body over words in a mapped file, whose number must match `sizes`. Ranks are
    /// checked, so that no search can leave its part.
    pub(super) fn mapped(sizes: Sizes, words: Store) -> Result<Self, &'static str> {
        let sealed = Self { sizes, words };
        if sizes.words() != Some(sealed.words.as_ref().len()) {
            return Err("the sizes of its parts do not add up");
        }
        Ok(sealed)
    }

    /// Checks all ranks and codes, so that every search stays within its part.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let mut rank = 0;
        for row in 0..self.sizes.rows {
            let (said, blocks) = self.row(row as u64);
            if said != rank {
                return Err("a rank is wrong");
            }
            rank += blocks.map(|word| word.count_ones() as usize).sum::<usize>();
        }
        if rank != self.sizes.codes {
            return Err("the number of codes does not match the blocks");
        }
        let mut overflow = 0;
        for index in 0..self.sizes.codes {
            let code = self.code(index);
            if code & OVERFLOW == 0 {
                continue;
            }
            if self.overflow_at(index, code) != overflow {
                return Err("a code points to the wrong overflow word");
            }
            overflow += 1;
        }
        if overflow != self.sizes.overflow {
            return Err("there are overflow words that no code refers to");
        }
        Ok(())
    }

    /// Seals blocks: `fetch(block, out)` returns the words of a block, and is called twice for
    /// each.
    pub(super) fn build(
        rows: usize,
        blocks: usize,
        mut fetch: impl FnMut(usize, &mut [u64]),
    ) -> Result<Self, Error> {
        let mut block = bits::Words::zeroed(rows)?;
        let mut codes_before = bits::Words::zeroed(rows)?;
        let counts = codes_before.as_mut();
        let mut overflow = 0;
        for b in 0..blocks {
            fetch(b, block.as_mut());
            for (count, word) in counts.iter_mut().zip(block.as_ref()) {
                *count += u64::from(*word != 0);
                overflow += usize::from(word.count_ones() > 2);
            }
        }
        let mut codes = 0;
        for count in counts.iter_mut() {
            codes += std::mem::replace(count, codes);
        }
        let sizes = Sizes {
            rows,
            blocks,
            codes: codes as usize,
            overflow,
        };
        let len = sizes
            .words()
            .ok_or(Error::OutOfMemory { bytes: u64::MAX })?;
        let mut words = bits::Words::zeroed(len)?;
        let (row_words, rest) = words.as_mut().split_at_mut(rows * sizes.row());
        let (code_words, rest) = rest.split_at_mut(sizes.code_words());
        let (bases, overflow_words) = rest.split_at_mut(sizes.bases());

        // The ranks, and the position of each row's next code.
        let next = codes_before.as_mut();
        for (row, &rank) in row_words.chunks_exact_mut(sizes.row()).zip(&*next) {
            row[0] = if sizes.is_packed() { rank << 32 } else { rank };
        }
        // The words come block by block, but the overflow must be in the order of the codes: it is
        // collected and sorted.
        let mut spilled: Vec<(u64, u64)> = Vec::new();
        for b in 0..blocks {
            fetch(b, block.as_mut());
            let lines = row_words.chunks_exact_mut(sizes.row());
            for ((line, next), &word) in lines.zip(next.iter_mut()).zip(block.as_ref()) {
                if word == 0 {
                    continue;
                }
                if sizes.is_packed() {
                    line[0] |= 1 << b;
                } else {
                    line[1 + b / 64] |= 1 << (b % 64);
                }
                let index = *next;
                *next += 1;
                let code = if word.count_ones() > 2 {
                    spilled.push((index, word));
                    OVERFLOW
                } else {
                    let (a, b) = (word.trailing_zeros(), 63 - word.leading_zeros());
                    (a | b << 6) as u16
                };
                code_words[index as usize / 4] |= u64::from(code) << (index % 4 * 16);
            }
        }
        spilled.sort_unstable();
        let mut chunk = 0;
        for (at, ((index, word), out)) in spilled.iter().zip(overflow_words).enumerate() {
            *out = *word;
            let own = *index as usize / CODES_PER_BASE;
            while chunk <= own {
                bases[chunk] = at as u64;
                chunk += 1;
            }
            let number = at as u64 - bases[own];
            code_words[*index as usize / 4] |= number << (index % 4 * 16);
        }
        bases[chunk..].fill(spilled.len() as u64);
        Ok(Self {
            sizes,
            words: Store::Owned(words),
        })
    }

    pub(super) fn sizes(&self) -> Sizes {
        self.sizes
    }

    pub(super) fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// Returns the rank of a row, and the words of its blocks.
    fn row(&self, row: u64) -> (usize, impl Iterator<Item = u64>) {
        let width = self.sizes.row();
        let words = &self.words.as_ref()[row as usize * width..][..width];
        let (rank, first) = match width {
            1 => (words[0] >> 32, Some(words[0] & 0xffff_ffff)),
            _ => (words[0], None),
        };
        (
            rank as usize,
            first.into_iter().chain(words[1..].iter().copied()),
        )
    }

    /// Returns the number of the code for a block that has this row.
    // Always inlined, like `word`: as calls, the two cost 30 to 80 % more instructions per query.
    #[inline(always)]
    fn index(&self, row: u64, block: usize) -> usize {
        let words = self.words.as_ref();
        let before = |word: u64, place: usize| (word & ((1 << place) - 1)).count_ones() as usize;
        if self.sizes.is_packed() {
            let word = words[row as usize];
            return (word >> 32) as usize + before(word, block.min(PACKED));
        }
        let width = self.sizes.row();
        let line = &words[row as usize * width..][..width];
        let whole = &line[1..1 + block / 64];
        let whole: u32 = whole.iter().map(|word| word.count_ones()).sum();
        (line[0] as usize & RANKS) + whole as usize + before(line[1 + block / 64], block % 64)
    }

    fn codes_at(&self) -> usize {
        self.sizes.rows * self.sizes.row()
    }

    #[inline]
    fn code(&self, index: usize) -> u16 {
        (self.at(self.codes_at() + index / 4) >> (index % 4 * 16)) as u16
    }

    /// Returns a word of any part. The bits of a mapped file are not checked when it is opened, and
    /// a damaged rank must not cause a panic.
    #[inline(always)]
    fn at(&self, index: usize) -> u64 {
        self.words.as_ref().get(index).copied().unwrap_or(!0)
    }

    fn overflow_at(&self, index: usize, code: u16) -> usize {
        let bases = self.codes_at() + self.sizes.code_words();
        let base = self.at(bases + index / CODES_PER_BASE) as usize;
        base.saturating_add(usize::from(code & !OVERFLOW))
    }

    /// Returns the word that a code stands for.
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        let code = self.code(index);
        if code & OVERFLOW == 0 {
            return 1 << (code & 63) | 1 << (code >> 6 & 63);
        }
        let at = self.codes_at() + self.sizes.code_words() + self.sizes.bases();
        self.at(at.saturating_add(self.overflow_at(index, code)))
    }

    /// Calls `each` for every block that has all positions.
    #[inline]
    fn blocks(&self, positions: &[u64], mut each: impl FnMut(usize) -> bool) -> u64 {
        let words = self.words.as_ref();
        if self.sizes.is_packed() {
            let mut found = positions
                .iter()
                .fold(0xffff_ffff, |found, &p| found & words[p as usize]);
            while found != 0 && each(found.trailing_zeros() as usize) {
                found &= found - 1;
            }
            return positions.len() as u64;
        }
        bits::common(
            words,
            self.sizes.row(),
            Rows::alone(positions),
            AfterRank,
            |at, mut found| {
                while found != 0 {
                    if !each((at - 1) * 64 + found.trailing_zeros() as usize) {
                        return false;
                    }
                    found &= found - 1;
                }
                true
            },
        )
    }

    /// Returns which filters of a block have all positions; the block has a word for each.
    #[inline]
    fn look(&self, block: usize, positions: &[u64], live: &[u64]) -> u64 {
        let live = live.get(block).copied().unwrap_or(0);
        positions.iter().fold(live, |found, &position| {
            found & self.word(self.index(position, block))
        })
    }

    pub(super) fn search(
        &self,
        positions: &[u64],
        live: &[u64],
        tally: &mut impl Tally,
        mut each: impl FnMut(usize, u64) -> bool,
    ) {
        let mut blocks = 0;
        let words = self.blocks(positions, |block| {
            blocks += 1;
            tally.test(live.get(block..=block).unwrap_or_default());
            match self.look(block, positions, live) {
                0 => true,
                found => each(block, found),
            }
        });
        tally.read(words + blocks * positions.len() as u64);
    }

    /// Same as [`Sliced::search_many`](super::sliced::Sliced::search_many).
    pub(super) fn search_many(
        &self,
        batch: Batch<'_>,
        live: &[u64],
        candidates: &mut Vec<(u32, u32)>,
        each: impl FnMut(usize, usize, u64),
    ) {
        let (words, width) = (self.words.as_ref(), self.sizes.row());
        for &position in batch.positions {
            let first = position as usize * width;
            for line in (first..first + width).step_by(8) {
                bits::prefetch(words, line);
            }
            bits::prefetch(words, first + width - 1);
        }
        candidates.clear();
        let codes = self.codes_at();
        for (key, positions) in batch.keys().enumerate() {
            self.blocks(positions, |block| {
                candidates.push((key as u32, block as u32));
                for &position in positions {
                    bits::prefetch(words, codes + self.index(position, block) / 4);
                }
                true
            });
        }
        batch.look_at(
            candidates,
            |block, positions| self.look(block, positions, live),
            each,
        );
    }

    pub(super) fn block(&self, block: usize, out: &mut [u64]) {
        let (at, place) = (block / 64, block % 64);
        for (row, out) in out.iter_mut().enumerate() {
            let (_, mut blocks) = self.row(row as u64);
            let has = blocks.nth(at).is_some_and(|word| word >> place & 1 != 0);
            *out = if has {
                self.word(self.index(row as u64, block))
            } else {
                0
            };
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.words.bytes()
    }
}
