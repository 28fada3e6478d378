//! Whole indexes: merging them, and laying them out anew.

use super::body::Shape;
use super::change::duplicate;
use super::directory::Place;
use super::labels::NO_SLICE;
use super::segment::Segment;
use super::{Class, Index, planner};
use crate::{Error, Filter};

/// What to do when two indexes have a set of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// Refuse to merge them, and change nothing.
    Refuse,
    /// Make one set of both.
    Unite,
}

impl Index {
    /// Adds all sets of another index, which get new numbers here.
    ///
    /// # Errors
    /// [`Error::DuplicateSet`] if one is here already and `duplicates` says to refuse,
    /// [`Error::Incompatible`]: before anything is changed. [`Error::OutOfMemory`]: then some
    /// sets may have been added.
    pub fn merge(&mut self, other: &Index, duplicates: Duplicates) -> Result<(), Error> {
        for (class, segment) in other.segments().filter(|(_, segment)| segment.len() > 0) {
            self.check_params(&class.params)?;
            for slot in segment.slots() {
                let (name, slice) = (segment.set(slot).name(), segment.label(slot).slice());
                let Some(id) = self.directory().id(name) else {
                    continue;
                };
                if duplicates == Duplicates::Refuse {
                    return Err(duplicate(name));
                }
                // To be or-ed they must be equal, and plain sets and slices do not mix.
                match self.directory().place(id, slice) {
                    Some(place) => {
                        self.classes[place.class]
                            .params
                            .check_equal(&class.params)?;
                    }
                    None if (slice == NO_SLICE) != self.is_sliced(id) => {}
                    None => return Err(duplicate(name)),
                }
            }
        }
        for (class, segment) in other.segments() {
            segment.each_filter(|slot, words| {
                let (set, slice) = (segment.set(slot), segment.label(slot).slice());
                let filter = Filter::from_words(class.params.clone(), words)?;
                let known = self.directory().id(set.name());
                let place = known.and_then(|id| self.directory().place(id, slice));
                if let Some(place) = place {
                    let place = self.make_open(set.name(), place)?;
                    return self.segment_mut(place).set_bits(place.slot, filter.ones());
                }
                let id = match known {
                    Some(id) => id,
                    None => self.fresh_id()?,
                };
                self.put(&filter, id, slice, set.name(), set.tag())?;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Lays all filters out as the planner says, or as `shape` does: segments in mapped
    /// files are copied into memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the index is then as it was.
    pub fn rearrange(&mut self, shape: Option<Shape>) -> Result<(), Error> {
        for class in &mut self.classes {
            let whole = class.whole(shape)?;
            class.segments.clear();
            class.segments.extend(whole);
        }
        self.fixed = shape;
        self.epoch += 1;
        self.directory.take();
        Ok(())
    }

    /// Leaves out what is empty, where that saves memory: at a density of 1 % four fifths.
    /// The index can still be asked and changed; what is added lies beside the sealed part.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the index is then as it was.
    pub fn seal(&mut self) -> Result<(), Error> {
        for class in &mut self.classes {
            let Some(plain) = class.whole(None)? else {
                class.segments.clear();
                continue;
            };
            let sealed = plain.convert(&class.params, Shape::Sealed)?;
            class.segments.clear();
            let smaller = sealed.bytes() < plain.bytes();
            class.segments.push(if smaller { sealed } else { plain });
        }
        self.epoch += 1;
        self.directory.take();
        Ok(())
    }

    /// Moves the segment of a place to another layout, if its filters have come to need it:
    /// looked at whenever it has doubled.
    pub(super) fn replan(&mut self, place: Place) -> Result<(), Error> {
        let class = &mut self.classes[place.class];
        let segment = &mut class.segments[place.segment];
        if self.fixed.is_some() || !segment.len().is_power_of_two() {
            return Ok(());
        }
        let density = segment.ones() as f64 / (segment.len() as f64 * class.params.bits() as f64);
        let now = segment.shape();
        if let Some(shape) = planner::replan(&class.params, segment.len(), density, now) {
            // Slots stay, so places and scopes do.
            *segment = segment.convert(&class.params, shape)?;
        }
        Ok(())
    }
}

impl Class {
    /// All filters in one new segment; None if there are none.
    fn whole(&self, shape: Option<Shape>) -> Result<Option<Segment>, Error> {
        let sets: usize = self.segments.iter().map(Segment::len).sum();
        if sets == 0 {
            return Ok(None);
        }
        let ones: u64 = self.segments.iter().map(Segment::ones).sum();
        let density = ones as f64 / (sets as f64 * self.params.bits() as f64);
        let planned = planner::plan(&self.params, sets, density).shape;
        let shape = shape.unwrap_or(planned);
        // A sealed one is made of another.
        let first = if shape == Shape::Sealed {
            Shape::Sliced
        } else {
            shape
        };
        let mut whole = Segment::new(&self.params, first)?;
        for segment in &self.segments {
            segment
                .each_filter(|slot, words| whole.add(words, segment.described(slot)).map(|_| ()))?;
        }
        if shape == Shape::Sealed {
            whole = whole.convert(&self.params, shape)?;
        }
        Ok(Some(whole))
    }
}
