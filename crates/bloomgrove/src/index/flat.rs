//! Flat: one row for each bit position, one column for each filter. A query computes the AND of the
//! rows of its key.
//!
//! ```text
//!                 filter 0 1 2 ... 63 | 64 ... 127 | ...     panel 0 | panel 1 | ...
//!   position 0           0 1 0 ...  0 |  0 ...   1 |
//!   position 1           1 1 0 ...  1 |  1 ...   0 |
//!   ...
//! ```
//!
//! Source: the bit-sliced variant that followed the Bloofi paper (Crainiceanu), known as
//! Flat-Bloofi. Differences: rows span all filters instead of 64, so that a query reads k long
//! runs, and skips the rest of a run of 512 filters once none of them is left; and the bits of a
//! removed filter are cleared, so that a new filter in its slot starts empty.
//!
//! Cost: at most N k / 64 words, in k streams; about a third of that if filters are so sparse that
//! two rows have little in common. Memory: the filters themselves. Adding or removing a filter
//! touches every row in which it has a bit.
//!
//! A matrix cannot grow sideways, so it is divided into panels: full ones of [`widest`] words, and
//! a last one that is copied to a wider one from time to time. The rows of fewer than 64 filters follow
//! one another without gaps, so that the matrix is as large as the filters, however few there are (but not in a
//! later panel, where that would save little):
//!
//! ```text
//!   word 0: position 0, 1, 2 ... 11, half of 12   word 1: the rest of 12, 13 ...    five filters
//! ```

use std::ops::Range;

use super::body::gather;
use super::work::{Batch, Tally};
use crate::Error;
use crate::bits::{self, Later, Rows};
use crate::format::Store;

/// The largest number of words in a panel (256 MiB), which bounds the memory needed for building.
const PANEL: usize = 1 << 25;

/// Returns the width in words of a full panel, for filters with `rows` bits.
pub(super) fn widest(rows: usize) -> usize {
    let width = (PANEL / rows).clamp(1, 1024);
    // Each row starts at a cache line.
    if width > 8 { width & !7 } else { width }
}

/// Returns the bits in a row of the panel with this number, which has `filters` filters: as few as possible, but
/// only the first has rows that share words.
pub(super) fn row_bits(panel: usize, filters: usize) -> usize {
    match (panel, filters) {
        (0, 0..64) => filters,
        _ => filters.next_multiple_of(64),
    }
}

/// Returns the words of a panel whose rows have this many bits; `None` if that is too many.
pub(super) fn panel_words(rows: usize, row_bits: usize) -> Option<usize> {
    Some(rows.checked_mul(row_bits)?.div_ceil(64))
}

/// Returns the bits in a row of a panel that must have room for `filters` filters. There are
/// somewhat more, so that the panel is not copied for each of a few filters, or for every 64 of many,
/// but few enough to cost next to nothing.
fn roomy(filters: usize, widest: usize) -> usize {
    let step = match filters {
        0..64 => filters.next_power_of_two() / 8,
        64..1024 => 64,
        1024..4096 => 4 * 64,
        _ => 8 * 64,
    };
    filters.next_multiple_of(step.max(1)).min(widest * 64)
}

#[derive(Debug)]
pub(super) struct Flat {
    rows: usize,
    panels: Vec<Panel>,
}

#[derive(Debug)]
pub(super) struct Panel {
    /// The bits in a row: fewer than 64, or a multiple of it.
    row_bits: usize,
    words: Store,
}

impl Flat {
    pub(super) fn new(rows: usize) -> Self {
        Self {
            rows,
            panels: Vec::new(),
        }
    }

    /// Creates a body over panels in a mapped file, each with the bits in a row. All but the last
    /// have [`widest`] words.
    pub(super) fn mapped(rows: usize, panels: impl IntoIterator<Item = (usize, Store)>) -> Self {
        let panels = panels
            .into_iter()
            .map(|(row_bits, words)| Panel { row_bits, words });
        Self {
            rows,
            panels: panels.collect(),
        }
    }

    pub(super) fn search(
        &self,
        positions: &[u64],
        live: &[u64],
        tally: &mut impl Tally,
        mut each: impl FnMut(usize, u64) -> bool,
    ) {
        if self.is_narrow() {
            tally.test(live);
            tally.read(positions.len() as u64);
            let found = self.panels[0].common(positions) & live.first().copied().unwrap_or(0);
            if found != 0 {
                each(0, found);
            }
            return;
        }
        self.search_panels(Rows::alone(positions), live, tally, each);
    }

    fn search_panels(
        &self,
        rows: Rows<'_, impl Later>,
        live: &[u64],
        tally: &mut impl Tally,
        mut each: impl FnMut(usize, u64) -> bool,
    ) {
        let mut first = 0;
        let mut go_on = true;
        for panel in &self.panels {
            let width = panel.row_bits / 64;
            tally.read(bits::common(
                panel.words.as_ref(),
                width,
                rows,
                live.get(first..).unwrap_or_default(),
                |at, found| {
                    go_on = each(first + at, found);
                    go_on
                },
            ));
            first += width;
            if !go_on {
                break;
            }
        }
        tally.test(&live[..first.min(live.len())]);
    }

    /// Calls `each(key, word, bits)` for every key of a batch. The rows of later keys are prefetched: of as
    /// many as the cache has room for.
    pub(super) fn search_many(
        &self,
        batch: Batch<'_>,
        live: &[u64],
        mut each: impl FnMut(usize, usize, u64),
    ) {
        /// A part of the innermost cache, in words.
        const ROOM: usize = 2 << 10;
        let widths = self.panels.iter().map(|panel| panel.row_bits.div_ceil(64));
        let ahead = ROOM / (batch.hashes * widths.sum::<usize>()).max(1);
        if self.is_narrow() {
            self.prefetch(batch.positions);
        } else {
            for positions in batch.keys().take(ahead) {
                for panel in &self.panels {
                    let width = panel.row_bits / 64;
                    bits::prefetch_rows(panel.words.as_ref(), width, positions, width);
                }
            }
        }
        for (key, positions) in batch.keys().enumerate() {
            let mut each = |word, found| {
                each(key, word, found);
                true
            };
            if ahead == 0 || self.is_narrow() {
                self.search(positions, live, &mut (), each);
            } else {
                let later = batch.key(key + ahead).unwrap_or_default();
                self.search_panels(Rows::before(positions, later), live, &mut (), &mut each);
            }
        }
    }

    /// Prefetches what a search will read first.
    #[inline]
    pub(super) fn prefetch(&self, positions: &[u64]) {
        // Of several panels, less each: the cache must hold what is fetched until it is searched.
        let words = bits::ROW_AHEAD / self.panels.len().max(1);
        for panel in &self.panels {
            match panel.row_bits {
                0..64 => {
                    for &position in positions {
                        let first = position as usize * panel.row_bits / 64;
                        bits::prefetch(panel.words.as_ref(), first);
                    }
                }
                bits => bits::prefetch_rows(panel.words.as_ref(), bits / 64, positions, words),
            }
        }
    }

    /// Returns the panel of a slot, and its column in the panel.
    fn place(&self, slot: usize) -> (usize, usize) {
        let widest = widest(self.rows) * 64;
        (slot / widest, slot % widest)
    }

    /// Makes room for a slot.
    pub(super) fn reach(&mut self, slot: usize) -> Result<(), Error> {
        let widest = widest(self.rows) * 64;
        let (panel, _) = self.place(slot);
        while self.panels.len() <= panel {
            // All panels but the last are full.
            if let Some(last) = self.panels.last_mut()
                && last.row_bits < widest
            {
                *last = last.widened(self.rows, widest)?;
            }
            let words = Store::zeroed(0)?;
            self.panels.push(Panel { row_bits: 0, words });
        }
        if let Some(wider) = self.room(slot)? {
            self.panels[panel] = wider;
        }
        Ok(())
    }

    /// Returns a copy of the panel of this slot with room for it, if there is no room yet: the copy
    /// that [`reach`](Self::reach) would make.
    pub(super) fn room(&self, slot: usize) -> Result<Option<Panel>, Error> {
        let (at, column) = self.place(slot);
        let narrow = |panel: &&Panel| panel.row_bits <= column;
        let Some(panel) = self.panels.get(at).filter(narrow) else {
            return Ok(None);
        };
        let needed = row_bits(at, roomy(column + 1, widest(self.rows)));
        panel.widened(self.rows, needed).map(Some)
    }

    /// Installs a panel from [`room`](Self::room), and returns what is no longer used.
    pub(super) fn take_room(&mut self, slot: usize, panel: Panel) -> Panel {
        let (at, _) = self.place(slot);
        std::mem::replace(&mut self.panels[at], panel)
    }

    pub(super) fn set(&mut self, slot: usize, positions: impl Iterator<Item = u64>) {
        let (panel, column) = self.place(slot);
        let Panel { row_bits, words } = &mut self.panels[panel];
        if let Some(words) = words.owned() {
            for position in positions {
                bits::set(words, position * *row_bits as u64 + column as u64);
            }
        }
    }

    pub(super) fn clear(&mut self, slot: usize, rows: Range<usize>) {
        let (panel, column) = self.place(slot);
        let Panel { row_bits, words } = &mut self.panels[panel];
        if let Some(words) = words.owned() {
            for row in rows {
                bits::clear(words, (row * *row_bits + column) as u64);
            }
        }
    }

    pub(super) fn get(&self, slot: usize, position: u64) -> bool {
        let (panel, column) = self.place(slot);
        let Panel { row_bits, words } = &self.panels[panel];
        bits::get(words.as_ref(), position * *row_bits as u64 + column as u64)
    }

    /// Copies words of one filter, from this position on.
    pub(super) fn copy(&self, slot: usize, first: usize, out: &mut [u64]) {
        let (panel, column) = self.place(slot);
        let panel = &self.panels[panel];
        match panel.row_bits {
            0..64 => {
                let rows = first as u64..self.rows as u64;
                gather(out, rows.map(|row| panel.row(row)), column);
            }
            bits => {
                let rows = panel.words.as_ref().chunks_exact(bits / 64).skip(first);
                gather(out, rows.map(|row| row[column / 64]), column % 64);
            }
        }
    }

    /// Appends 64 filters at once, or the last `count`.
    pub(super) fn put_block(
        &mut self,
        block: usize,
        from: &[u64],
        count: usize,
    ) -> Result<(), Error> {
        self.reach(block * 64 + count.saturating_sub(1))?;
        let (panel, column) = self.place(block * 64);
        let Panel { row_bits, words } = &mut self.panels[panel];
        if let Some(words) = words.owned() {
            match *row_bits {
                0..64 => pack(from.iter().copied(), *row_bits, words),
                bits => {
                    let column = words.iter_mut().skip(column / 64).step_by(bits / 64);
                    column.zip(from).for_each(|(word, from)| *word = *from);
                }
            }
        }
        Ok(())
    }

    pub(super) fn block(&self, block: usize, out: &mut [u64]) {
        let (panel, column) = self.place(block * 64);
        let Panel { row_bits, words } = &self.panels[panel];
        match *row_bits {
            0..64 => {
                let panel = &self.panels[panel];
                for (row, out) in out.iter_mut().enumerate() {
                    *out = panel.row(row as u64);
                }
            }
            bits => {
                let column = words.as_ref().iter().skip(column / 64).step_by(bits / 64);
                out.iter_mut()
                    .zip(column)
                    .for_each(|(out, word)| *out = *word);
            }
        }
    }

    /// Returns whether several rows share a word.
    pub(super) fn is_narrow(&self) -> bool {
        matches!(&self.panels[..], [panel] if panel.row_bits < 64)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.panels.iter().map(|panel| panel.words.bytes()).sum()
    }
}

impl Panel {
    /// Returns a row of fewer than 64 bits.
    #[inline(always)]
    fn row(&self, position: u64) -> u64 {
        let first = position as usize * self.row_bits;
        let word = |at: usize| self.words.as_ref().get(at).copied().unwrap_or(0);
        let start = word(first / 64) >> (first % 64);
        // Shifted twice, as a word cannot be shifted by 64.
        let rest = word(first / 64 + 1) << 1 << (63 - first % 64);
        (start | rest) & ((1 << self.row_bits) - 1)
    }

    /// Returns what these rows of fewer than 64 bits have in common.
    #[inline(always)]
    fn common(&self, positions: &[u64]) -> u64 {
        positions
            .iter()
            .fold(!0, |found, &position| found & self.row(position))
    }

    /// Returns a copy whose rows have at least this many bits.
    fn widened(&self, rows: usize, row_bits: usize) -> Result<Self, Error> {
        let row_bits = row_bits.max(self.row_bits);
        let len = panel_words(rows, row_bits).ok_or(Error::OutOfMemory { bytes: u64::MAX })?;
        let mut words = Store::zeroed(len)?;
        if let Some(into) = words.owned() {
            match self.row_bits {
                0 => {}
                1..64 if row_bits < 64 => {
                    pack((0..rows as u64).map(|row| self.row(row)), row_bits, into);
                }
                1..64 => {
                    for (row, into) in into.chunks_exact_mut(row_bits / 64).enumerate() {
                        into[0] = self.row(row as u64);
                    }
                }
                bits => {
                    let from = self.words.as_ref().chunks_exact(bits / 64);
                    for (into, from) in into.chunks_exact_mut(row_bits / 64).zip(from) {
                        into[..from.len()].copy_from_slice(from);
                    }
                }
            }
        }
        Ok(Self { row_bits, words })
    }
}

/// Writes rows of `row_bits` bits, fewer than 64, one after the other.
fn pack(rows: impl Iterator<Item = u64>, row_bits: usize, into: &mut [u64]) {
    into.fill(0);
    for (row, first) in rows.zip((0..).step_by(row_bits)) {
        into[first / 64] |= row << (first % 64);
        if first % 64 + row_bits > 64 {
            into[first / 64 + 1] |= row >> (64 - first % 64);
        }
    }
}
