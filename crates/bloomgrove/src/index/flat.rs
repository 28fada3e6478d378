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
//! a last one that is copied to a wider one from time to time.

use std::ops::Range;

use super::work::Tally;
use crate::Error;
use crate::bits;
use crate::format::Store;

/// The largest number of words in a panel (256 MiB), which bounds the memory needed for building.
const PANEL: usize = 1 << 25;

/// Returns the width in words of a full panel, for filters with `rows` bits.
pub(super) fn widest(rows: usize) -> usize {
    let width = (PANEL / rows).clamp(1, 1024);
    // Each row starts at a cache line.
    if width > 8 { width & !7 } else { width }
}

/// Returns the width of a panel that must have at least `width` words. It is somewhat larger, so
/// that the panel is not copied for every 64 filters, but small enough to cost next to nothing.
fn roomy(width: usize, widest: usize) -> usize {
    let step = match width {
        0..16 => 1,
        16..64 => 4,
        _ => 8,
    };
    width.next_multiple_of(step).min(widest)
}

#[derive(Debug)]
pub(super) struct Flat {
    rows: usize,
    panels: Vec<Panel>,
}

#[derive(Debug)]
pub(super) struct Panel {
    width: usize,
    words: Store,
}

impl Flat {
    pub(super) fn new(rows: usize) -> Self {
        Self {
            rows,
            panels: Vec::new(),
        }
    }

    /// Creates a body over panels in a mapped file. All but the last have [`widest`] words.
    pub(super) fn mapped(rows: usize, panels: impl IntoIterator<Item = (usize, Store)>) -> Self {
        let panels = panels
            .into_iter()
            .map(|(width, words)| Panel { width, words });
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
        let mut first = 0;
        let mut go_on = true;
        for panel in &self.panels {
            tally.read(bits::common(
                panel.words.as_ref(),
                panel.width,
                positions,
                live.get(first..).unwrap_or_default(),
                |at, found| {
                    go_on = each(first + at, found);
                    go_on
                },
            ));
            first += panel.width;
            if !go_on {
                break;
            }
        }
        tally.test(&live[..first.min(live.len())]);
    }

    /// Prefetches what a search will read first.
    #[inline]
    pub(super) fn prefetch(&self, positions: &[u64]) {
        for panel in &self.panels {
            for &position in positions {
                bits::prefetch(panel.words.as_ref(), position as usize * panel.width);
            }
        }
    }

    /// Returns the panel of a slot, and its word in the panel.
    fn place(&self, slot: usize) -> (usize, usize) {
        let widest = widest(self.rows);
        (slot / 64 / widest, slot / 64 % widest)
    }

    /// Makes room for a slot.
    pub(super) fn reach(&mut self, slot: usize) -> Result<(), Error> {
        let widest = widest(self.rows);
        let (panel, _) = self.place(slot);
        while self.panels.len() <= panel {
            // All panels but the last are full.
            if let Some(last) = self.panels.last_mut()
                && last.width < widest
            {
                *last = last.widened(self.rows, widest)?;
            }
            let words = Store::zeroed(0)?;
            self.panels.push(Panel { width: 0, words });
        }
        if let Some(wider) = self.room(slot)? {
            self.panels[panel] = wider;
        }
        Ok(())
    }

    /// Returns a copy of the panel of this slot with room for it, if there is no room yet: the copy
    /// that [`reach`](Self::reach) would make.
    pub(super) fn room(&self, slot: usize) -> Result<Option<Panel>, Error> {
        let (panel, at) = self.place(slot);
        let Some(panel) = self.panels.get(panel).filter(|panel| panel.width <= at) else {
            return Ok(None);
        };
        let needed = roomy(at + 1, widest(self.rows));
        panel.widened(self.rows, needed).map(Some)
    }

    /// Installs a panel from [`room`](Self::room), and returns what is no longer used.
    pub(super) fn take_room(&mut self, slot: usize, panel: Panel) -> Panel {
        let (at, _) = self.place(slot);
        std::mem::replace(&mut self.panels[at], panel)
    }

    pub(super) fn set(&mut self, slot: usize, positions: impl Iterator<Item = u64>) {
        let (panel, at) = self.place(slot);
        let Panel { width, words } = &mut self.panels[panel];
        if let Some(words) = words.owned() {
            for position in positions {
                words[position as usize * *width + at] |= 1 << (slot % 64);
            }
        }
    }

    pub(super) fn clear(&mut self, slot: usize, rows: Range<usize>) {
        let (panel, at) = self.place(slot);
        let Panel { width, words } = &mut self.panels[panel];
        if let Some(words) = words.owned() {
            let rows = &mut words[rows.start * *width..rows.end * *width];
            for word in rows.iter_mut().skip(at).step_by(*width) {
                *word &= !(1 << (slot % 64));
            }
        }
    }

    pub(super) fn get(&self, slot: usize, position: u64) -> bool {
        let (panel, at) = self.place(slot);
        let Panel { width, words } = &self.panels[panel];
        words.as_ref()[position as usize * width + at] >> (slot % 64) & 1 != 0
    }

    pub(super) fn put_block(&mut self, block: usize, from: &[u64]) -> Result<(), Error> {
        self.reach(block * 64)?;
        let (panel, at) = self.place(block * 64);
        let Panel { width, words } = &mut self.panels[panel];
        if let Some(words) = words.owned() {
            let column = words.iter_mut().skip(at).step_by(*width);
            for (word, from) in column.zip(from) {
                *word = *from;
            }
        }
        Ok(())
    }

    pub(super) fn block(&self, block: usize, out: &mut [u64]) {
        let (panel, at) = self.place(block * 64);
        let Panel { width, words } = &self.panels[panel];
        let column = words.as_ref().iter().skip(at).step_by(*width);
        for (out, word) in out.iter_mut().zip(column) {
            *out = *word;
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.panels.iter().map(|panel| panel.words.bytes()).sum()
    }
}

impl Panel {
    /// Returns a copy that has at least this width.
    fn widened(&self, rows: usize, width: usize) -> Result<Self, Error> {
        let width = width.max(self.width);
        let mut words = Store::zeroed(rows * width)?;
        if let Some(into) = words.owned()
            && self.width > 0
        {
            let from = self.words.as_ref().chunks_exact(self.width);
            for (into, from) in into.chunks_exact_mut(width).zip(from) {
                into[..from.len()].copy_from_slice(from);
            }
        }
        Ok(Self { width, words })
    }
}
