//! The bits of a segment in any shape, and what each shape can do.

use std::ops::Range;

use super::flat::{self, Flat};
use super::loose::Loose;
use super::sealed::Sealed;
use super::sliced::{self, Sliced};
use super::work::{Batch, Tally};
use crate::bits::{self, Words};
use crate::format::Store;
use crate::{Error, Params};

/// How the filters of an index are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// One after the other, queried one by one: for few or very large filters.
    Loose,
    /// One row for each bit position: for dense filters.
    Flat,
    /// Blocks of 64 filters with a summary: for sparse filters.
    Sliced,
    /// Like sliced, without the empty words: a fifth of the memory, but nothing can be added.
    Sealed,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Shape; 4] = [Shape::Loose, Shape::Flat, Shape::Sliced, Shape::Sealed];

    /// Returns the name used on the command line and in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Shape::Loose => "loose",
            Shape::Flat => "flat",
            Shape::Sliced => "sliced",
            Shape::Sealed => "sealed",
        }
    }
}

display_as_name!(Shape);

/// The bits of a segment.
#[derive(Debug)]
pub(super) enum Body {
    Plain(Plain),
    Sealed(Sealed),
}

/// Bits in a shape that can be changed, unless they are in a mapped file.
#[derive(Debug)]
pub(super) enum Plain {
    Loose(Loose),
    Flat(Flat),
    Sliced(Sliced),
}

/// Copies of parts of a body, with room for another filter.
#[derive(Debug)]
pub(super) enum Room {
    /// For this slot.
    Flat(usize, flat::Panel),
    Sliced(sliced::Room),
}

impl Body {
    /// Creates an empty body in memory.
    pub(super) fn new(params: &Params, shape: Shape) -> Result<Self, Error> {
        Self::of_blocks(params, shape, 0, |_, _| {})
    }

    /// Builds a body of `slots` slots from blocks: `fetch(block, out)` returns one word for each
    /// position.
    pub(super) fn of_blocks(
        params: &Params,
        shape: Shape,
        slots: usize,
        mut fetch: impl FnMut(usize, &mut [u64]),
    ) -> Result<Self, Error> {
        let (rows, blocks) = (params.bits() as usize, slots.div_ceil(64));
        let mut plain = match shape {
            Shape::Loose => Plain::Loose(Loose::new(rows)),
            Shape::Flat => Plain::Flat(Flat::new(rows)),
            Shape::Sliced => Plain::Sliced(Sliced::new(rows)?),
            Shape::Sealed => return Ok(Body::Sealed(Sealed::build(rows, blocks, fetch)?)),
        };
        let mut words = Words::zeroed(if blocks > 0 { rows } else { 0 })?;
        for block in 0..blocks {
            fetch(block, words.as_mut());
            let (words, count) = (words.as_ref(), (slots - block * 64).min(64));
            match &mut plain {
                Plain::Loose(body) => body.put_block(words, count)?,
                Plain::Flat(body) => body.put_block(block, words, count)?,
                Plain::Sliced(body) => body.put_block(block, words)?,
            }
        }
        Ok(Body::Plain(plain))
    }

    pub(super) fn shape(&self) -> Shape {
        match self {
            Body::Plain(Plain::Loose(_)) => Shape::Loose,
            Body::Plain(Plain::Flat(_)) => Shape::Flat,
            Body::Plain(Plain::Sliced(_)) => Shape::Sliced,
            Body::Sealed(_) => Shape::Sealed,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Body::Plain(Plain::Loose(body)) => body.bytes(),
            Body::Plain(Plain::Flat(body)) => body.bytes(),
            Body::Plain(Plain::Sliced(body)) => body.bytes(),
            Body::Sealed(body) => body.bytes(),
        }
    }

    /// Calls `each(word, bits)` for the slots in `live` whose filter has all positions set, until
    /// it returns false.
    #[inline]
    pub(super) fn search(
        &self,
        positions: &[u64],
        live: &[u64],
        tally: &mut impl Tally,
        each: impl FnMut(usize, u64) -> bool,
    ) {
        match self {
            Body::Plain(Plain::Loose(body)) => body.search(positions, live, tally, each),
            Body::Plain(Plain::Flat(body)) => body.search(positions, live, tally, each),
            Body::Plain(Plain::Sliced(body)) => body.search(positions, live, tally, each),
            Body::Sealed(body) => body.search(positions, live, tally, each),
        }
    }

    /// Prefetches what a search for a key will read first.
    #[inline]
    pub(super) fn prefetch(&self, positions: &[u64]) {
        match self {
            Body::Plain(Plain::Loose(body)) => body.prefetch(positions),
            Body::Plain(Plain::Flat(body)) => body.prefetch(positions),
            Body::Plain(Plain::Sliced(body)) => body.prefetch_summary(positions),
            Body::Sealed(_) => {}
        }
    }

    /// Calls `each(key, word, bits)` for every key of a batch, in the order of the keys.
    pub(super) fn search_many(
        &self,
        batch: Batch<'_>,
        live: &[u64],
        scratch: &mut Vec<(u32, u32)>,
        mut each: impl FnMut(usize, usize, u64),
    ) {
        match self {
            Body::Plain(Plain::Sliced(body)) => {
                return body.search_many(batch, live, scratch, each);
            }
            Body::Sealed(body) => return body.search_many(batch, live, scratch, each),
            Body::Plain(Plain::Flat(body)) => return body.search_many(batch, live, each),
            Body::Plain(Plain::Loose(body)) => batch.keys().for_each(|key| body.prefetch(key)),
        }
        for (key, positions) in batch.keys().enumerate() {
            self.search(positions, live, &mut (), |word, found| {
                each(key, word, found);
                true
            });
        }
    }

    /// Returns the bits of one filter of `rows` bits.
    pub(super) fn filter(&self, slot: usize, rows: usize) -> Result<Words, Error> {
        let mut words = Words::zeroed(rows.div_ceil(64))?;
        match self {
            Body::Plain(body) => body.copy(slot, 0..rows.div_ceil(64), words.as_mut()),
            Body::Sealed(body) => {
                let mut block = Words::zeroed(rows)?;
                body.block(slot / 64, block.as_mut());
                gather(words.as_mut(), block.as_ref().iter().copied(), slot % 64);
            }
        }
        Ok(words)
    }

    /// Returns 64 slots as one word for each position.
    pub(super) fn block(&self, block: usize, out: &mut [u64]) {
        match self {
            Body::Plain(Plain::Loose(body)) => body.block(block, out),
            Body::Plain(Plain::Flat(body)) => body.block(block, out),
            Body::Plain(Plain::Sliced(body)) => body.block(block, out),
            Body::Sealed(body) => body.block(block, out),
        }
    }

    /// Checks the invariants of the bits, as far as the shape can tell.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        match self {
            Body::Plain(Plain::Sliced(body)) if !body.is_exact() => {
                Err("the summary does not match the blocks")
            }
            Body::Sealed(body) => body.check(),
            Body::Plain(_) => Ok(()),
        }
    }
}

impl Plain {
    /// Stores a filter in an empty slot, or in the one after the last. If this fails, nothing has
    /// changed.
    pub(super) fn put(&mut self, slot: usize, filter: &[u64]) -> Result<(), Error> {
        match self {
            Plain::Loose(body) => body.put(slot, filter)?,
            Plain::Flat(body) => {
                body.reach(slot)?;
                body.set(slot, bits::ones(filter));
            }
            Plain::Sliced(body) => {
                body.reach(slot)?;
                body.set(slot, bits::ones(filter));
            }
        }
        Ok(())
    }

    /// Stores filters in the slots from `slot` on, the one after the last. If this fails, no bits have changed that a query
    /// can find.
    pub(super) fn put_all(&mut self, slot: usize, filters: &[&[u64]]) -> Result<(), Error> {
        if let (Plain::Sliced(body), Some(last)) = (&mut *self, filters.len().checked_sub(1)) {
            body.reach(slot + last)?;
            body.put_all(slot, filters);
            return Ok(());
        }
        (slot..)
            .zip(filters)
            .try_for_each(|(slot, filter)| self.put(slot, filter))
    }

    /// Makes room for a filter in a slot, which may be the one after the last. Copies that are
    /// needed for this can be made in advance ([`room`](Self::room)).
    pub(super) fn reach(&mut self, slot: usize) -> Result<(), Error> {
        match self {
            Plain::Loose(body) => body.reach(slot),
            Plain::Flat(body) => body.reach(slot),
            Plain::Sliced(body) => body.reach(slot),
        }
    }

    /// Returns copies with room for a filter in this slot, if the shape must be copied to grow.
    pub(super) fn room(&self, slot: usize) -> Result<Option<Room>, Error> {
        Ok(match self {
            Plain::Flat(body) => body.room(slot)?.map(|panel| Room::Flat(slot, panel)),
            Plain::Sliced(body) => body.room(slot)?.map(Room::Sliced),
            Plain::Loose(_) => None,
        })
    }

    /// Installs what [`room`](Self::room) returned, and returns what is no longer used.
    pub(super) fn take_room(&mut self, room: Room) -> Room {
        match (self, room) {
            (Plain::Flat(body), Room::Flat(slot, panel)) => {
                Room::Flat(slot, body.take_room(slot, panel))
            }
            (Plain::Sliced(body), Room::Sliced(room)) => Room::Sliced(body.take_room(room)),
            // It has another shape, so it is useless now.
            (_, room) => room,
        }
    }

    /// Stores the words `from..to` of a filter in a slot that has been [reached](Self::reach), or
    /// all of them at once if they are contiguous. Returns where to continue.
    pub(super) fn fill(
        &mut self,
        slot: usize,
        filter: &mut Words,
        words: Range<usize>,
    ) -> Result<usize, Error> {
        if let Plain::Loose(body) = self {
            let all = filter.as_ref().len();
            body.take(slot, std::mem::replace(filter, Words::zeroed(0)?));
            return Ok(all);
        }
        let first = words.start as u64 * 64;
        let ones = bits::ones(&filter.as_ref()[words.clone()]);
        let ones: Vec<u64> = ones.map(|bit| first + bit).collect();
        self.set(slot, &ones);
        Ok(words.end)
    }

    /// Clears these bits of a filter, or removes all of it if it is stored separately. Returns its
    /// memory, since freeing it takes time.
    pub(super) fn clear_rows(
        &mut self,
        slot: usize,
        rows: Range<usize>,
    ) -> Result<Option<Store>, Error> {
        match self {
            Plain::Loose(body) => return body.remove(slot).map(Some),
            Plain::Flat(body) => body.clear(slot, rows),
            Plain::Sliced(body) => body.clear(slot, rows),
        }
        Ok(None)
    }

    /// Sets these bits of a filter.
    pub(super) fn set(&mut self, slot: usize, positions: &[u64]) {
        let each = positions.iter().copied();
        match self {
            Plain::Loose(body) => body.set(slot, each),
            Plain::Flat(body) => body.set(slot, each),
            Plain::Sliced(body) => body.set(slot, each),
        }
    }

    /// Returns whether this bit of a filter is set.
    pub(super) fn get(&self, slot: usize, position: u64) -> bool {
        match self {
            Plain::Loose(body) => bits::get(body.filter(slot), position),
            Plain::Flat(body) => body.get(slot, position),
            Plain::Sliced(body) => body.get(slot, position),
        }
    }

    /// Copies some words of one filter.
    pub(super) fn copy(&self, slot: usize, words: Range<usize>, out: &mut [u64]) {
        match self {
            Plain::Loose(body) => out.copy_from_slice(&body.filter(slot)[words]),
            Plain::Flat(body) => body.copy(slot, words.start * 64, out),
            Plain::Sliced(body) => body.copy(slot, words.start * 64, out),
        }
    }
}

/// Fills words with one bit of each row, given the words that contain it.
pub(super) fn gather(out: &mut [u64], mut rows: impl Iterator<Item = u64>, bit: usize) {
    for word in out {
        let rows = rows.by_ref().take(64).enumerate();
        *word = rows.fold(0, |word, (at, row)| word | (row >> bit & 1) << at);
    }
}
