//! From names and numbers to places.

use std::collections::{BTreeMap, HashMap};

use super::Index;
use super::labels::SetId;

/// Where a filter lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) class: usize,
    pub(super) segment: usize,
    pub(super) slot: usize,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Directory {
    by_name: HashMap<Box<[u8]>, SetId>,
    /// By number and slice.
    places: BTreeMap<(SetId, u64), Place>,
}

impl Directory {
    pub(super) fn of(index: &Index) -> Self {
        let mut directory = Self::default();
        for (class, of_class) in index.classes.iter().enumerate() {
            for (segment, of_segment) in of_class.segments.iter().enumerate() {
                for slot in of_segment.slots() {
                    let place = Place {
                        class,
                        segment,
                        slot,
                    };
                    let set = of_segment.set(slot);
                    let slice = of_segment.label(slot).slice();
                    directory.add(set.name(), set.id(), slice, place);
                }
            }
        }
        directory
    }

    /// How many sets.
    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// How many filters: fewer than there are if two have the same number and slice.
    pub(super) fn filters(&self) -> usize {
        self.places.len()
    }

    pub(super) fn id(&self, name: &[u8]) -> Option<SetId> {
        self.by_name.get(name).copied()
    }

    /// The places of a set, by slice.
    pub(super) fn places(&self, id: SetId) -> impl Iterator<Item = (u64, Place)> + '_ {
        let places = self.places.range((id, 0)..=(id, u64::MAX));
        places.map(|(&(_, slice), &place)| (slice, place))
    }

    pub(super) fn place(&self, id: SetId, slice: u64) -> Option<Place> {
        self.places.get(&(id, slice)).copied()
    }

    /// The place of a set; of one made of slices, of its newest.
    pub(super) fn newest(&self, name: &[u8]) -> Option<Place> {
        self.places(self.id(name)?).last().map(|(_, place)| place)
    }

    pub(super) fn add(&mut self, name: &[u8], id: SetId, slice: u64, place: Place) {
        if !self.by_name.contains_key(name) {
            self.by_name.insert(name.into(), id);
        }
        self.places.insert((id, slice), place);
    }

    /// Forgets a filter, and its set with the last of its filters; true then.
    pub(super) fn remove(&mut self, name: &[u8], id: SetId, slice: u64) -> bool {
        self.places.remove(&(id, slice));
        let last = self.places(id).next().is_none();
        if last {
            self.by_name.remove(name);
        }
        last
    }

    /// All slices before a time, with their places.
    pub(super) fn before(&self, slice: u64) -> Vec<(SetId, u64, Place)> {
        let old = self.places.iter().filter(|((_, own), _)| *own < slice);
        old.map(|(&(id, own), &place)| (id, own, place)).collect()
    }
}
