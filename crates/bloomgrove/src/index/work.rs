//! The work of a query, and batches of keys.

use crate::bits;

/// The work done for a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// The number of filters tested. Where 64 are tested at once, slots without a filter do not count.
    pub(super) tested: u64,
    /// The number of 64-bit words read.
    pub(super) words: u64,
}

/// Where a search reports its work. Most queries do not want to know: for `()` nothing is counted.
pub(super) trait Tally {
    /// The filters in these slots are tested.
    fn test(&mut self, live: &[u64]);
    /// This many words are read.
    fn read(&mut self, words: u64);
}

impl Tally for Work {
    fn test(&mut self, live: &[u64]) {
        self.tested += bits::count(live);
    }

    fn read(&mut self, words: u64) {
        self.words += words;
    }
}

impl Tally for () {
    #[inline(always)]
    fn test(&mut self, _: &[u64]) {}

    #[inline(always)]
    fn read(&mut self, _: u64) {}
}

/// The positions of several keys, one key after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch<'a> {
    pub(super) positions: &'a [u64],
    pub(super) hashes: usize,
}

impl<'a> Batch<'a> {
    /// Tests blocks that may have all positions of a key: `look(block, positions)` returns which of
    /// its filters do, and if any do, they are passed to `each(key, block, found)`.
    pub(super) fn look_at(
        self,
        candidates: &[(u32, u32)],
        look: impl Fn(usize, &[u64]) -> u64,
        mut each: impl FnMut(usize, usize, u64),
    ) {
        for &(key, block) in candidates {
            let (key, block) = (key as usize, block as usize);
            let found = look(block, &self.positions[key * self.hashes..][..self.hashes]);
            if found != 0 {
                each(key, block, found);
            }
        }
    }

    /// Returns the positions of a key, if there is one with this number.
    pub(super) fn key(self, key: usize) -> Option<&'a [u64]> {
        self.positions.get(key * self.hashes..)?.get(..self.hashes)
    }

    pub(super) fn keys(self) -> impl Iterator<Item = &'a [u64]> {
        self.positions.chunks_exact(self.hashes)
    }
}
