//! A segment: filters with equal parameters in one shape, with their labels.
//!
//! ```text
//!   labels   id name ones | id name ones | ...     by slot
//!   live     1 0 1 1 ...                           a bit for each slot
//!   body     the bits, in one of the shapes
//! ```
//!
//! Filters can be added to a segment in memory and removed from it. From one in a mapped file they
//! can only be removed, by their bit in `live`.

use std::ops::Range;

use super::body::{Body, Plain, Room, Shape};
use super::file::Home;
use super::labels::{Label, Labels, New, Set};
use super::work::{Batch, Tally};
use crate::bits::{self, Words};
use crate::format::Store;
use crate::{Error, Filter, Params};

#[derive(Debug)]
pub(super) struct Segment {
    rows: usize,
    body: Body,
    labels: Labels,
    live: Vec<u64>,
    len: usize,
    /// The number of bits set in all live filters.
    ones: u64,
    /// Slots of removed filters, to be reused.
    free: Vec<usize>,
    /// Whether filters can be added.
    open: bool,
    /// Its location in the file it was opened from.
    home: Option<Home>,
}

impl Segment {
    /// Creates an empty segment in memory.
    pub(super) fn new(params: &Params, shape: Shape) -> Result<Self, Error> {
        Ok(Self {
            rows: params.bits() as usize,
            body: Body::new(params, shape)?,
            labels: Labels::new(),
            live: Vec::new(),
            len: 0,
            ones: 0,
            free: Vec::new(),
            open: shape != Shape::Sealed,
            home: None,
        })
    }

    /// Creates a segment in a mapped file. `live` has a bit for each label.
    pub(super) fn mapped(
        params: &Params,
        body: Body,
        labels: Labels,
        live: Vec<u64>,
        home: Home,
    ) -> Self {
        let mut segment = Self {
            rows: params.bits() as usize,
            body,
            labels,
            len: bits::count(&live) as usize,
            ones: 0,
            live,
            free: Vec::new(),
            open: false,
            home: Some(home),
        };
        segment.ones = segment.slots().map(|slot| segment.label(slot).ones()).sum();
        segment
    }

    pub(super) fn shape(&self) -> Shape {
        self.body.shape()
    }

    pub(super) fn body(&self) -> &Body {
        &self.body
    }

    pub(super) fn labels(&self) -> &Labels {
        &self.labels
    }

    pub(super) fn live(&self) -> &[u64] {
        &self.live
    }

    /// Returns the number of live filters.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of slots, live or not.
    pub(super) fn slot_count(&self) -> usize {
        self.labels.all().len()
    }

    pub(super) fn home(&self) -> Option<Home> {
        self.home
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Returns the number of bits set in all live filters.
    pub(super) fn ones(&self) -> u64 {
        self.ones
    }

    pub(super) fn bytes(&self) -> u64 {
        self.body.bytes()
    }

    /// Iterates over the live slots, in ascending order.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        bits::ones(&self.live).map(|slot| slot as usize)
    }

    pub(super) fn label(&self, slot: usize) -> &Label {
        &self.labels.all()[slot]
    }

    /// Returns whether the slots are in the order of their ids, and no id occurs twice.
    pub(super) fn is_ascending(&self) -> bool {
        self.labels.is_ascending()
    }

    #[inline]
    pub(super) fn set(&self, slot: usize) -> Set<'_> {
        self.labels.set(slot)
    }

    /// Returns the content of a label, to be copied to another place.
    pub(super) fn described(&self, slot: usize) -> New<'_> {
        let (set, label) = (self.set(slot), self.label(slot));
        New {
            id: set.id(),
            slice: label.slice(),
            ones: label.ones(),
            name: set.name(),
            tag: set.tag(),
        }
    }

    /// Same as [`Body::search`].
    #[inline]
    pub(super) fn search(
        &self,
        positions: &[u64],
        live: &[u64],
        tally: &mut impl Tally,
        each: impl FnMut(usize, u64) -> bool,
    ) {
        self.body.search(positions, live, tally, each)
    }

    /// Same as [`Body::search_many`].
    pub(super) fn search_many(
        &self,
        batch: Batch<'_>,
        live: &[u64],
        scratch: &mut Vec<(u32, u32)>,
        each: impl FnMut(usize, usize, u64),
    ) {
        self.body.search_many(batch, live, scratch, each);
    }

    /// Adds a filter, and returns its slot.
    pub(super) fn add(&mut self, filter: &[u64], new: New<'_>) -> Result<usize, Error> {
        let slot = self.next_slot();
        // Steps that can fail come first, and change nothing if they do.
        new.check()?;
        self.change()?.put(slot, filter)?;
        self.labels.put(slot, new);
        self.free.pop();
        if self.live.len() <= slot / 64 {
            self.live.push(0);
        }
        bits::set(&mut self.live, slot as u64);
        self.len += 1;
        self.ones += new.ones;
        Ok(slot)
    }

    /// Adds filters after the last slot, and returns the first of theirs. Queries may not find them before
    /// [`summarize`](Self::summarize).
    pub(super) fn append(
        &mut self,
        filters: &[&[u64]],
        labels: &[New<'_>],
    ) -> Result<usize, Error> {
        let first = self.slot_count();
        labels.iter().try_for_each(New::check)?;
        self.change()?.put_all(first, filters)?;
        for (slot, new) in (first..).zip(labels) {
            self.labels.put(slot, *new);
            if self.live.len() <= slot / 64 {
                self.live.push(0);
            }
            bits::set(&mut self.live, slot as u64);
            self.ones += new.ones;
        }
        self.len += labels.len();
        Ok(first)
    }

    /// Completes what [`append`](Self::append) has left out.
    pub(super) fn summarize(&mut self) {
        if let Body::Plain(Plain::Sliced(body)) = &mut self.body {
            body.summarize();
        }
    }

    pub(super) fn remove(&mut self, slot: usize) -> Result<(), Error> {
        self.retire(slot);
        if self.open {
            let rows = self.rows;
            self.change()?.clear_rows(slot, 0..rows)?;
            self.free.push(slot);
        }
        Ok(())
    }

    /// Returns copies with room for another filter, if the body must be copied to grow.
    pub(super) fn room(&self) -> Result<Option<Room>, Error> {
        match &self.body {
            Body::Plain(body) => body.room(self.next_slot()),
            Body::Sealed(_) => Ok(None),
        }
    }

    /// Installs what [`room`](Self::room) returned, and returns what is no longer used.
    pub(super) fn take_room(&mut self, room: Room) -> Room {
        match &mut self.body {
            Body::Plain(body) => body.take_room(room),
            Body::Sealed(_) => room,
        }
    }

    /// Reserves a slot for a filter that comes in parts. No query finds it until it is
    /// [shown](Self::show).
    pub(super) fn reserve(&mut self, new: New<'_>) -> Result<usize, Error> {
        new.check()?;
        let slot = self.next_slot();
        self.change()?.reach(slot)?;
        self.labels.put(slot, new);
        self.free.pop();
        if self.live.len() <= slot / 64 {
            self.live.push(0);
        }
        Ok(slot)
    }

    /// Same as [`Plain::fill`].
    pub(super) fn fill(
        &mut self,
        slot: usize,
        filter: &mut Words,
        words: Range<usize>,
    ) -> Result<usize, Error> {
        self.change()?.fill(slot, filter, words)
    }

    /// Makes a filter that came in parts visible to queries.
    pub(super) fn show(&mut self, slot: usize) {
        bits::set(&mut self.live, slot as u64);
        self.len += 1;
        self.ones += self.label(slot).ones();
    }

    /// Hides a filter from queries. Its bits remain, and its slot is not free yet.
    pub(super) fn retire(&mut self, slot: usize) {
        bits::clear(&mut self.live, slot as u64);
        self.len -= 1;
        self.ones -= self.label(slot).ones();
    }

    /// Clears the bits `from..` of a retired filter, at most `count` of them, and frees its slot
    /// with the last. Returns where to continue, and memory that is no longer used.
    pub(super) fn sweep(
        &mut self,
        slot: usize,
        from: usize,
        count: usize,
    ) -> Result<(Option<usize>, Option<Store>), Error> {
        if !self.open {
            return Ok((None, None));
        }
        let end = self.rows.min(from + count);
        let unused = self.change()?.clear_rows(slot, from..end)?;
        if end < self.rows && unused.is_none() {
            return Ok((Some(end), None));
        }
        self.free.push(slot);
        Ok((None, unused))
    }

    /// Changes the name and tag of a filter. Returns false if its labels are in a file.
    pub(super) fn relabel(&mut self, slot: usize, name: &[u8], tag: &[u8]) -> Result<bool, Error> {
        if !self.open {
            return Ok(false);
        }
        let label = self.label(slot);
        let new = New {
            id: label.id(),
            slice: label.slice(),
            ones: label.ones(),
            name,
            tag,
        };
        new.check()?;
        self.labels.put(slot, new);
        Ok(true)
    }

    /// Returns the slot of the next filter.
    fn next_slot(&self) -> usize {
        self.free.last().copied().unwrap_or(self.slot_count())
    }

    /// Returns the bits for modification.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if they are sealed or in a file. Callers move filters first
    /// ([`Index::make_open`](super::Index::make_open)).
    fn change(&mut self) -> Result<&mut Plain, Error> {
        match &mut self.body {
            Body::Plain(body) if self.open => Ok(body),
            _ => Err(Error::Unsupported {
                what: "filters that are sealed or in a file cannot be changed; copy them first",
            }),
        }
    }

    /// Returns which of these bits a filter does not have, in ascending order and without
    /// duplicates.
    pub(super) fn missing(
        &self,
        slot: usize,
        positions: impl Iterator<Item = u64>,
    ) -> Result<Vec<u64>, Error> {
        let mut missing: Vec<u64> = match &self.body {
            Body::Plain(body) => positions
                .filter(|&position| !body.get(slot, position))
                .collect(),
            // Single bits cannot be read.
            Body::Sealed(_) => {
                let words = self.filter(slot)?;
                let has = |&position: &u64| bits::get(words.as_ref(), position);
                positions.filter(|position| !has(position)).collect()
            }
        };
        missing.sort_unstable();
        missing.dedup();
        Ok(missing)
    }

    /// Sets bits of a filter, in a segment that is open.
    pub(super) fn set_bits(
        &mut self,
        slot: usize,
        positions: impl Iterator<Item = u64>,
    ) -> Result<(), Error> {
        let fresh = self.missing(slot, positions)?;
        self.change()?.set(slot, &fresh);
        let added = fresh.len() as u64;
        self.labels.set_ones(slot, self.label(slot).ones() + added);
        self.ones += added;
        Ok(())
    }

    /// Returns the bits of one filter.
    pub(super) fn filter(&self, slot: usize) -> Result<Words, Error> {
        self.body.filter(slot, self.rows)
    }

    /// Returns the body, if single words of a filter can be read from it; otherwise a filter must
    /// be read as a whole.
    pub(super) fn plain(&self) -> Option<&Plain> {
        match &self.body {
            Body::Plain(body) => Some(body),
            Body::Sealed(_) => None,
        }
    }

    /// Returns 64 slots as one word for each position. Slots that are not live are zero.
    pub(super) fn block(&self, block: usize, out: &mut [u64]) {
        self.body.block(block, out);
        if self.live[block] != !0 {
            out.iter_mut().for_each(|word| *word &= self.live[block]);
        }
    }

    /// Calls `each` with every live filter, with 64 of them in memory at a time.
    pub(super) fn each_filter(
        &self,
        mut each: impl FnMut(usize, &[u64]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.len == 0 {
            return Ok(());
        }
        if let Body::Plain(Plain::Loose(body)) = &self.body {
            // The bits of a mapped file are not checked when it is opened.
            let beyond = |words: &[u64]| {
                let used = self.rows % 64;
                used != 0 && words.last().is_some_and(|last| last >> used != 0)
            };
            return self.slots().try_for_each(|slot| match body.filter(slot) {
                words if beyond(words) => {
                    let what = "a bit beyond the last of a filter is set";
                    Err(Error::corrupt("bits section", 0, what))
                }
                words => each(slot, words),
            });
        }
        if let Body::Plain(Plain::Flat(body)) = &self.body
            && body.is_narrow()
        {
            // One by one: 64 would take many times the memory of these.
            let mut slots = self.slots();
            return slots.try_for_each(|slot| each(slot, self.filter(slot)?.as_ref()));
        }
        let words = self.rows.div_ceil(64);
        let mut rows = Words::zeroed(self.rows)?;
        let mut arrays = Words::zeroed(64 * words)?;
        for block in (0..self.live.len()).filter(|&block| self.live[block] != 0) {
            self.block(block, rows.as_mut());
            let mut parts: Vec<&mut [u64]> = arrays.as_mut().chunks_exact_mut(words).collect();
            bits::unweave(rows.as_ref(), 1, 0, &mut parts);
            for place in bits::ones(&self.live[block..=block]) {
                each(block * 64 + place as usize, parts[place as usize])?;
            }
        }
        Ok(())
    }

    /// Returns the same filters in another shape, in memory. Slots do not change.
    pub(super) fn convert(&self, params: &Params, shape: Shape) -> Result<Self, Error> {
        let mut other = Self::new(params, shape)?;
        if shape == Shape::Flat && self.slot_count() < 64 {
            // One by one: 64 would take many times the memory of these. A slot that is not live may still
            // have to be cleared, so there must be room for all.
            if let Some(last) = self.slot_count().checked_sub(1) {
                other.change()?.reach(last)?;
            }
            self.each_filter(|slot, words| other.change()?.put(slot, words))?;
        } else {
            other.body = Body::of_blocks(params, shape, self.slot_count(), |block, out| {
                self.block(block, out);
            })?;
        }
        for slot in 0..self.slot_count() {
            other.labels.put(slot, self.described(slot));
        }
        other.free = (0..self.slot_count())
            .filter(|&slot| !bits::get(&self.live, slot as u64))
            .collect();
        other.live = self.live.clone();
        (other.len, other.ones) = (self.len, self.ones);
        Ok(other)
    }

    /// Checks the invariants of the bits, as far as the shape can tell: for `verify` and tests.
    pub(super) fn check(&self, params: &Params) -> Result<(), String> {
        self.body.check()?;
        let mut wrong = None;
        let mut ones = 0;
        let look = self.each_filter(|slot, words| {
            let filter = Filter::from_words(params.clone(), words)?;
            ones += filter.count_ones();
            if filter.count_ones() != self.label(slot).ones() {
                wrong.get_or_insert(slot);
            }
            Ok(())
        });
        look.map_err(|error| error.to_string())?;
        if let Some(slot) = wrong {
            let name = self.set(slot).name().escape_ascii();
            return Err(format!(
                "the number of bits set in {name} differs from its label"
            ));
        }
        if ones != self.ones || self.len as u64 != bits::count(&self.live) {
            return Err("its counts are wrong".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slot at the end is retired, the segment gets another shape, and only then the slot is cleared.
    #[test]
    fn clearing_a_retired_slot_leaves_the_others_alone() -> Result<(), Error> {
        let params = Params::builder(333, 3).build()?;
        let mut segment = Segment::new(&params, Shape::Loose)?;
        let mut filters = Vec::new();
        for set in 0..10u64 {
            let mut filter = Filter::new(params.clone())?;
            filter.insert_batch(&Vec::from_iter(set * 50..set * 50 + 50));
            let new = New {
                id: set.into(),
                slice: super::super::labels::NO_SLICE,
                ones: filter.count_ones(),
                name: b"x",
                tag: b"",
            };
            segment.add(filter.words(), new)?;
            filters.push(filter);
        }
        segment.retire(9);
        segment.retire(8);
        let mut flat = segment.convert(&params, Shape::Flat)?;
        assert_eq!(flat.sweep(9, 0, 333)?.0, None);
        for (slot, filter) in filters[..8].iter().enumerate() {
            assert_eq!(flat.filter(slot)?.as_ref(), filter.words());
        }
        Ok(())
    }
}
