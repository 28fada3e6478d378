//! Whole indexes: merging them, and laying them out anew.

use super::body::Shape;
use super::change::duplicate;
use super::directory::Place;
use super::labels::NO_SLICE;
use super::segment::Segment;
use super::{Class, Index, fresh_epoch, planner};
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
        self.check_merge(other, duplicates)?;
        for (class, segment) in other.all_segments() {
            segment.each_filter(|slot, words| {
                let filter = Filter::from_words(class.params.clone(), words)?;
                self.take_over(segment, slot, &filter, segment.set(slot).tag())
            })?;
        }
        Ok(())
    }

    /// Whether all sets of another index can be added.
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
                // To be or-ed they must be equal, and plain sets and slices do not mix.
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

    /// Adds one filter of a segment of another index, or unites it with the one that is here.
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
            // Again: a damaged index may have a name twice.
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

    /// Lays all filters out as the planner says, or as `shape` does: segments in mapped
    /// files are copied into memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the index is then as it was.
    pub fn rearrange(&mut self, shape: Option<Shape>) -> Result<(), Error> {
        // All of it before any of it counts.
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

    /// Leaves out what is empty, where that saves memory: at a density of 1 % four fifths.
    /// The index can still be asked and changed; what is added lies beside the sealed part.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the index is then as it was.
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

    /// Moves the segment of a place to another layout, if its filters have come to need it.
    pub(super) fn replan(&mut self, place: Place) {
        if let Some(moved) = self.moved(place) {
            *self.segment_mut(place) = moved;
        }
    }

    /// The segment of a place in another layout, if its filters have come to need it: looked at
    /// whenever it has doubled. If there is no room for that, it stays: slower, and as right as before.
    /// Slots stay, so places and scopes do.
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

    /// Decides the layout that filters get from now on, when they are laid out or written to
    /// a file; None leaves it to the planner. What lies somewhere stays as it is:
    /// [`rearrange`](Self::rearrange) moves that in memory, and
    /// [`IndexFile::compact`](super::IndexFile::compact) in a file.
    pub fn set_shape(&mut self, shape: Option<Shape>) {
        self.fixed = shape;
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
        let density = planner::density(&self.params, sets, ones);
        let planned = planner::choose_shape(&self.params, sets, density).shape;
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
