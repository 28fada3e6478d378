//! Changes in parts: what [`SharedIndex`](super::SharedIndex) does each time it locks the index.
//!
//! ```text
//!   room      copies with room for one more filter       made outside the lock, then swapped in
//!   staged    a slot that no query reads yet             filled part by part, then shown
//!   retired   a slot that no query reads any more        cleared part by part, then freed
//! ```
//!
//! No part takes longer than setting or clearing [`PART`] bits, however large the filter is. Only
//! one such change may be in progress at a time, and segments must not be moved meanwhile.

use super::Index;
use super::body::Room;
use super::directory::Place;
use super::labels::{NO_SLICE, New, SetId};
use super::segment::Segment;
use super::{fresh_epoch, unknown};
use crate::bits::Words;
use crate::format::Store;
use crate::{Error, Filter, Params};

/// The number of bits set or cleared at a time: about half a millisecond if the memory is not
/// cached.
pub(super) const PART: usize = 8192;

/// A filter being added to the index.
#[derive(Debug)]
pub(super) struct Staged {
    place: Place,
    id: SetId,
    filter: Words,
    /// The word to continue with.
    next: usize,
}

impl Staged {
    pub(super) fn id(&self) -> SetId {
        self.id
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }
}

/// A filter being removed.
#[derive(Debug)]
pub(super) struct Retired {
    place: Place,
    /// The bit to continue with.
    next: usize,
}

/// Memory that is no longer used. Freeing it takes time, so it is dropped outside the lock.
#[derive(Debug, Default)]
#[expect(dead_code, reason = "only to be dropped")]
pub(super) struct Unused(Vec<Segment>, Option<Store>);

impl Index {
    /// Returns copies with room for a filter with these parameters, if its segment must be copied
    /// to grow.
    pub(super) fn room(&self, params: &Params) -> Result<Option<Room>, Error> {
        let class = self.class_of(params);
        let segment = class.and_then(|class| self.classes[class].segments.last());
        match segment.filter(|segment| segment.is_open()) {
            Some(segment) => segment.room(),
            None => Ok(None),
        }
    }

    /// Installs what [`room`](Self::room) returned for these parameters, and returns what is no
    /// longer used.
    pub(super) fn take_room(&mut self, params: &Params, room: Room) -> Option<Room> {
        let class = self.class_of(params)?;
        let segment = self.classes[class].segments.last_mut()?;
        Some(segment.take_room(room))
    }

    /// Reserves a place for a filter, under this number or a new one.
    pub(super) fn stage(
        &mut self,
        filter: Filter,
        ones: u64,
        id: Option<SetId>,
        name: &[u8],
        tag: &[u8],
    ) -> Result<Staged, Error> {
        let id = match id {
            Some(id) => id,
            None => self.fresh_id()?,
        };
        let (class, segment) = self.open_segment(filter.params())?;
        let new = New {
            id,
            slice: NO_SLICE,
            ones,
            name,
            tag,
        };
        let slot = self.classes[class].segments[segment].reserve(new)?;
        let place = Place {
            class,
            segment,
            slot,
        };
        Ok(Staged {
            place,
            id,
            filter: filter.into_words(),
            next: 0,
        })
    }

    /// Stores the next part of a filter. Returns true if that was the last.
    pub(super) fn fill(&mut self, staged: &mut Staged) -> Result<bool, Error> {
        let all = staged.filter.as_ref().len();
        // The number of words with this many bits, if all of them are set.
        let words = staged.next..all.min(staged.next + PART / 64);
        let segment = self.segment_mut(staged.place);
        staged.next = segment.fill(staged.place.slot, &mut staged.filter, words)?;
        Ok(staged.next >= all)
    }

    /// Makes a staged filter visible to queries, as the set of this name, and hides the previous
    /// filters of that set.
    pub(super) fn show(&mut self, staged: &Staged, name: &[u8]) -> (Vec<Retired>, Unused) {
        let old: Vec<_> = self.directory().places(staged.id).collect();
        // First, so that the class does not appear to be empty.
        self.segment_mut(staged.place).show(staged.place.slot);
        let gone = self.retire_all(name, staged.id, old);
        self.list(name, staged.id, NO_SLICE, staged.place);
        self.epoch = fresh_epoch();
        gone
    }

    /// Abandons a staged filter.
    pub(super) fn abandon(&mut self, staged: &Staged) -> Retired {
        Retired {
            place: staged.place,
            next: 0,
        }
    }

    /// Hides the filters of a set from queries, and removes its name.
    pub(super) fn retire(&mut self, name: &[u8]) -> Result<(SetId, Vec<Retired>, Unused), Error> {
        let id = self.directory().id(name).ok_or_else(|| unknown(name))?;
        let places: Vec<_> = self.directory().places(id).collect();
        let (retired, unused) = self.retire_all(name, id, places);
        self.epoch = fresh_epoch();
        Ok((id, retired, unused))
    }

    fn retire_all(
        &mut self,
        name: &[u8],
        id: SetId,
        places: Vec<(u64, Place)>,
    ) -> (Vec<Retired>, Unused) {
        let (mut retired, mut unused) = (Vec::new(), Unused::default());
        for (slice, place) in places {
            self.segment_mut(place).retire(place.slot);
            self.unlist(name, id, slice);
            retired.push(Retired { place, next: 0 });
        }
        let mut classes: Vec<usize> = retired.iter().map(|retired| retired.place.class).collect();
        classes.dedup();
        for class in classes {
            let segments = self.drop_empty(class);
            if !segments.is_empty() {
                // A filter that has already been dropped needs no clearing.
                retired.retain(|retired| retired.place.class != class);
                unused.0.extend(segments);
            }
        }
        (retired, unused)
    }

    /// Clears the next part of a retired filter. Returns true if that was the last.
    pub(super) fn sweep(&mut self, retired: &mut Retired) -> Result<(bool, Unused), Error> {
        let Retired { place, next } = *retired;
        let segment = self.segment_mut(place);
        let (next, unused) = segment.sweep(place.slot, next, PART)?;
        retired.next = next.unwrap_or_default();
        Ok((next.is_none(), Unused(Vec::new(), unused)))
    }
}
