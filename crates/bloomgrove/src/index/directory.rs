//! A map from names and numbers to places.

use std::collections::{BTreeMap, HashMap};

use super::Index;
use super::labels::SetId;

/// The place where a filter is stored.
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

    /// Returns the number of sets.
    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns the number of filters; two with the same number and slice count as one.
    pub(super) fn filters(&self) -> usize {
        self.places.len()
    }

    pub(super) fn id(&self, name: &[u8]) -> Option<SetId> {
        self.by_name.get(name).copied()
    }

    /// Returns the places of a set, by slice.
    pub(super) fn places(&self, id: SetId) -> impl Iterator<Item = (u64, Place)> + '_ {
        let places = self.places.range((id, 0)..=(id, u64::MAX));
        places.map(|(&(_, slice), &place)| (slice, place))
    }

    pub(super) fn place(&self, id: SetId, slice: u64) -> Option<Place> {
        self.places.get(&(id, slice)).copied()
    }

    /// Returns the place of a set, or of its newest slice.
    pub(super) fn newest(&self, name: &[u8]) -> Option<Place> {
        self.places(self.id(name)?).last().map(|(_, place)| place)
    }

    pub(super) fn add(&mut self, name: &[u8], id: SetId, slice: u64, place: Place) {
        if !self.by_name.contains_key(name) {
            self.by_name.insert(name.into(), id);
        }
        self.places.insert((id, slice), place);
    }

    /// Removes a filter, and with the last filter of a set also the set. Returns whether the set
    /// was removed.
    pub(super) fn remove(&mut self, name: &[u8], id: SetId, slice: u64) -> bool {
        self.places.remove(&(id, slice));
        let last = self.places(id).next().is_none();
        if last {
            self.by_name.remove(name);
        }
        last
    }

    /// Returns all slices before a time, with their places.
    pub(super) fn before(&self, slice: u64) -> Vec<(SetId, u64, Place)> {
        let old = self.places.iter().filter(|((_, own), _)| *own < slice);
        old.map(|(&(id, own), &place)| (id, own, place)).collect()
    }
}
