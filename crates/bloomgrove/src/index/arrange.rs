//! Operations on whole indexes: merging and rearranging.

use super::body::Shape;
use super::change::duplicate;
use super::directory::Place;
use super::labels::NO_SLICE;
use super::segment::Segment;
use super::{Class, Index, fresh_epoch, planner};
use crate::{Error, Filter};

/// What to do if two indexes contain a set of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// Fail without changing anything.
    Refuse,
    /// Replace both by their union.
    Unite,
}

impl Index {
    /// Adds all sets of another index. They get new numbers here.
    ///
    /// # Errors
    /// [`Error::DuplicateSet`] if a set already exists here and `duplicates` is `Refuse`, or
    /// [`Error::Incompatible`], before anything is changed. After [`Error::OutOfMemory`] some sets
    /// may have been added.
    pub fn merge(&mut self, other: &Index, duplicates: Duplicates) -> Result<(), Error> {
        self.check_merge(other, duplicates)?;
        for (class, segment) in other.all_segments() {
            segment.each_filter(|slot, words| {
                let filter = Filter::from_words(class.params.clone(), words)?;
                self.take_over(segment, slot, &filter, segment.set(slot).tag())
            })?;
        }
        Ok(())
    }

    /// Checks whether all sets of another index can be added.
    pub(super) fn check_merge(&self, other: &Index, duplicates: Duplicates) -> Result<(), Error> {
        for (class, segment) in other
            .all_segments()
            .filter(|(_, segment)| segment.len() > 0)
        {
            self.check_params(&class.params)?;
            for slot in segment.slots() {
                let (name, slice) = (segment.set(slot).name(), segment.label(slot).slice());
                let Some(id) = self.directory().id(name) else {
                    continue;
                };
                if duplicates == Duplicates::Refuse {
                    return Err(duplicate(name));
                }
                // A union requires equal parameters, and plain sets cannot be mixed with slices.
                match self.directory().place(id, slice) {
                    Some(place) => {
                        let own = &self.classes[place.class].params;
                        own.check_equal(&class.params)?;
                    }
                    None if (slice == NO_SLICE) != self.is_sliced(id) => {}
                    None => return Err(duplicate(name)),
                }
            }
        }
        Ok(())
    }

    /// Adds one filter of a segment of another index, or unites it with the existing one.
    pub(super) fn take_over<S: AsRef<[u64]>>(
        &mut self,
        segment: &Segment,
        slot: usize,
        filter: &Filter<S>,
        tag: &[u8],
    ) -> Result<(), Error> {
        let (set, slice) = (segment.set(slot), segment.label(slot).slice());
        let known = self.directory().id(set.name());
        let place = known.and_then(|id| self.directory().place(id, slice));
        if let Some(place) = place {
            // Checked again: a damaged index may contain a name twice.
            let own = &self.classes[place.class].params;
            own.check_equal(filter.params())?;
            let place = self.make_open(set.name(), place)?;
            return self.segment_mut(place).set_bits(place.slot, filter.ones());
        }
        let id = match known {
            Some(id) => id,
            None => self.fresh_id()?,
        };
        self.put(filter, id, slice, set.name(), tag)
    }

    /// Stores all filters in the shape that the planner chooses, or in `shape`. Segments in mapped
    /// files are copied into memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the index is then unchanged.
    pub fn rearrange(&mut self, shape: Option<Shape>) -> Result<(), Error> {
        // Everything is built before anything is replaced.
        let classes = self.classes.iter().map(|class| class.whole(shape));
        let wholes: Vec<Option<Segment>> = classes.collect::<Result<_, _>>()?;
        for (class, whole) in self.classes.iter_mut().zip(wholes) {
            class.segments = whole.into_iter().collect();
        }
        self.fixed = shape;
        self.epoch = fresh_epoch();
        self.directory.take();
        Ok(())
    }

    /// Compresses the index by omitting empty words, where that saves memory: about four fifths at
    /// a density of 1%. The index can still be queried and changed. What is added later is stored
    /// separately from the sealed part.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the index is then unchanged.
    pub fn seal(&mut self) -> Result<(), Error> {
        let mut wholes = Vec::new();
        for class in &self.classes {
            let Some(plain) = class.whole(None)? else {
                wholes.push(None);
                continue;
            };
            let sealed = plain.convert(&class.params, Shape::Sealed)?;
            let smaller = sealed.bytes() < plain.bytes();
            wholes.push(Some(if smaller { sealed } else { plain }));
        }
        for (class, whole) in self.classes.iter_mut().zip(wholes) {
            class.segments = whole.into_iter().collect();
        }
        self.epoch = fresh_epoch();
        self.directory.take();
        Ok(())
    }

    /// Converts the segment of a place to another shape, if its filters now need one.
    pub(super) fn replan(&mut self, place: Place) {
        if let Some(moved) = self.moved(place) {
            *self.segment_mut(place) = moved;
        }
    }

    /// Returns the segment of a place in another shape, if its filters now need one. This is
    /// considered whenever the segment has doubled in size. If there is not enough memory, the
    /// segment stays: slower, but correct. Slots do not change, so places and scopes stay valid.
    pub(super) fn moved(&self, place: Place) -> Option<Segment> {
        let class = &self.classes[place.class];
        let segment = &class.segments[place.segment];
        if self.fixed.is_some() || !segment.len().is_power_of_two() {
            return None;
        }
        let density = planner::density(&class.params, segment.len(), segment.ones());
        let shape = planner::replan(&class.params, segment.len(), density, segment.shape())?;
        segment.convert(&class.params, shape).ok()
    }

    /// Sets the shape that filters get from now on when they are stored in memory or written to a
    /// file; with `None`, the planner chooses. Filters that are already stored keep their shape:
    /// [`rearrange`](Self::rearrange) changes it in memory, and
    /// [`IndexFile::compact`](super::IndexFile::compact) in a file.
    pub fn set_shape(&mut self, shape: Option<Shape>) {
        self.fixed = shape;
    }
}

impl Class {
    /// Returns all filters in one new segment, or `None` if there are none.
    fn whole(&self, shape: Option<Shape>) -> Result<Option<Segment>, Error> {
        let sets: usize = self.segments.iter().map(Segment::len).sum();
        if sets == 0 {
            return Ok(None);
        }
        let ones: u64 = self.segments.iter().map(Segment::ones).sum();
        let density = planner::density(&self.params, sets, ones);
        let planned = planner::choose_shape(&self.params, sets, density).shape;
        let shape = shape.unwrap_or(planned);
        // A sealed segment is built from another one.
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
