//! Loose: filters one after the other, queried one by one: the naive scan.
//!
//! ```text
//!   [ filter 0 ][ filter 1 ][ filter 2 ] ...
//! ```
//!
//! Cost: N filters, and two words of each if they are half full, since each bit rejects half of them. Of a
//! blocked filter, one line is read. Adding a filter is a copy. Best for few filters, for very large ones, and for those just added to a file. The
//! other shapes are tested against this one.

use super::answers::each_bit;
use super::work::Tally;
use crate::Error;
use crate::bits::{self, LINE_BITS, LINE_WORDS, Pattern, Words};
use crate::format::Store;

#[derive(Debug)]
pub(super) struct Loose {
    /// The number of bits in a filter.
    rows: usize,
    filters: Vec<Store>,
    /// Of all filters: read often, and there may be many filters.
    bytes: u64,
}

impl Loose {
    pub(super) fn new(rows: usize) -> Self {
        Self {
            rows,
            filters: Vec::new(),
            bytes: 0,
        }
    }

    /// Creates a body over filters in a mapped file.
    pub(super) fn mapped(rows: usize, filters: Vec<Store>) -> Self {
        Self {
            rows,
            bytes: filters.iter().map(Store::bytes).sum(),
            filters,
        }
    }

    pub(super) fn search(
        &self,
        positions: &[u64],
        live: &[u64],
        tally: &mut impl Tally,
        mut each: impl FnMut(usize, u64) -> bool,
    ) {
        let line = self.line(positions);
        for (at, &live) in live.iter().enumerate() {
            let filters = self.filters.get(at * 64..).unwrap_or_default();
            tally.test(&[live]);
            if let Some((line, pattern)) = line {
                tally.read((LINE_WORDS * live.count_ones() as usize) as u64);
                let mut found = 0;
                each_bit(live, |place| {
                    // None in a filter that was removed, as below.
                    let line = filters[place].as_ref().as_chunks().0.get(line);
                    found |= u64::from(line.is_some_and(|line| pattern.is_in(line))) << place;
                });
                if found != 0 && !each(at, found) {
                    break;
                }
                continue;
            }
            // Position by position, not filter by filter: then the reads do not wait for each
            // other, and no branch depends on what they find.
            let mut found = live;
            for &position in positions {
                let mut left = found;
                tally.read(u64::from(left.count_ones()));
                while left != 0 {
                    let place = left.trailing_zeros();
                    left &= left - 1;
                    // A scope does not know which filters were removed since; those have no words.
                    let words = filters[place as usize].as_ref();
                    let word = words.get((position >> 6) as usize).copied().unwrap_or(0);
                    found &= !((!word >> (position & 63) & 1) << place);
                }
                if found == 0 {
                    break;
                }
            }
            if found != 0 && !each(at, found) {
                break;
            }
        }
    }

    /// Returns the line that has all positions, if one does, as in the blocked layout, and which bits of it they are.
    #[inline]
    fn line(&self, positions: &[u64]) -> Option<(usize, Pattern)> {
        let line = positions.first()? / LINE_BITS;
        let is_whole = (line + 1) * LINE_BITS <= self.rows as u64;
        let is_only = is_whole
            && positions
                .iter()
                .all(|position| position / LINE_BITS == line);
        is_only.then(|| (line as usize, Pattern::of(positions)))
    }

    /// Prefetches what a search will read first: the line of each filter, or the first two bits, which reject
    /// three quarters of them. Only the first few filters: the cache must hold them for a batch of keys.
    pub(super) fn prefetch(&self, positions: &[u64]) {
        const FEW: usize = 8;
        if let [first, .., last] = positions
            && first / LINE_BITS == last / LINE_BITS
        {
            for filter in self.filters.iter().take(2 * FEW) {
                bits::prefetch(filter.as_ref(), (first >> 6) as usize);
            }
            return;
        }
        for filter in self.filters.iter().take(FEW) {
            for &position in positions.iter().take(2) {
                bits::prefetch(filter.as_ref(), (position >> 6) as usize);
            }
        }
    }

    pub(super) fn filter(&self, slot: usize) -> &[u64] {
        self.filters[slot].as_ref()
    }

    /// Stores a filter in a slot, which may be the one after the last.
    pub(super) fn put(&mut self, slot: usize, filter: &[u64]) -> Result<(), Error> {
        let words = Words::copy_of(filter)?;
        self.reach(slot)?;
        self.take(slot, words);
        Ok(())
    }

    /// Makes room for a slot, which may be the one after the last.
    pub(super) fn reach(&mut self, slot: usize) -> Result<(), Error> {
        if slot == self.filters.len() {
            self.filters.push(Store::zeroed(0)?);
        }
        Ok(())
    }

    /// Stores a filter in a slot, without copying it.
    pub(super) fn take(&mut self, slot: usize, words: Words) {
        let store = Store::Owned(words);
        self.bytes += store.bytes();
        self.bytes -= self.filters[slot].bytes();
        self.filters[slot] = store;
    }

    /// Removes a filter, and returns its memory.
    pub(super) fn remove(&mut self, slot: usize) -> Result<Store, Error> {
        self.bytes -= self.filters[slot].bytes();
        Ok(std::mem::replace(
            &mut self.filters[slot],
            Store::zeroed(0)?,
        ))
    }

    pub(super) fn set(&mut self, slot: usize, positions: impl Iterator<Item = u64>) {
        if let Some(words) = self.filters[slot].owned() {
            positions.for_each(|position| {
                bits::set(words, position);
            });
        }
    }

    pub(super) fn block(&self, block: usize, out: &mut [u64]) {
        // A filter that was removed has no words.
        let empty = vec![0; self.rows.div_ceil(64)];
        let filters: Vec<&[u64]> = self
            .filters
            .iter()
            .skip(block * 64)
            .take(64)
            .map(|filter| match filter.as_ref() {
                [] => &*empty,
                words => words,
            })
            .collect();
        bits::weave(&filters, out, 1, 0);
    }

    /// Appends 64 filters at once.
    pub(super) fn put_block(&mut self, block: &[u64], count: usize) -> Result<(), Error> {
        let words = self.rows.div_ceil(64);
        let mut arrays = Words::zeroed(64 * words)?;
        let mut parts: Vec<&mut [u64]> = arrays.as_mut().chunks_exact_mut(words).collect();
        bits::unweave(block, 1, 0, &mut parts);
        for part in &parts[..count] {
            self.put(self.filters.len(), part)?;
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
