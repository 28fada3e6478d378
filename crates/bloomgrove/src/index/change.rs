//! Adding, removing and replacing sets; `update.rs` adds to one.
//!
//! A filter that lies in a mapped file, or sealed, cannot change where it is: it moves to
//! the open segment in memory, and its old place dies.

use super::body::Shape;
use super::directory::Place;
use super::labels::{NO_SLICE, New, SetId};
use super::segment::Segment;
use super::{Class, Index, fresh_epoch, unknown};
use crate::{Error, Filter, Params};

impl Index {
    /// Adds a set.
    ///
    /// # Errors
    /// [`Error::DuplicateSet`], [`Error::Incompatible`] (unless the index is mixed),
    /// [`Error::OutOfMemory`]. The index is then as it was, as after every error here.
    pub fn add<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        self.add_tagged(name, [], filter)
    }

    /// As [`add`](Self::add). The tag is kept with the set for the caller's own use, such as
    /// the tenant it belongs to.
    pub fn add_tagged<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        tag: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        let name = name.as_ref();
        if self.directory().id(name).is_some() {
            return Err(duplicate(name));
        }
        let id = self.fresh_id()?;
        self.put(filter, id, NO_SLICE, name, tag.as_ref())?;
        Ok(id)
    }

    /// Adds a slice of time to a set, which is made if it is not there: the moving window of
    /// the paper. The set holds what any of its slices holds, and [`expire`](Self::expire)
    /// drops old ones. Slices are numbered by the caller, rising with time.
    ///
    /// ```
    /// # use bloomgrove::{Filter, Params, index::Index};
    /// # let params = Params::for_items(100, 0.01)?;
    /// # let day = |item: &str| -> Result<Filter, bloomgrove::Error> {
    /// #     let mut filter = Filter::new(params.clone())?;
    /// #     filter.insert(item);
    /// #     Ok(filter)
    /// # };
    /// let mut index = Index::new(params.clone());
    /// index.add_slice("north", 1, &day("apple")?)?;
    /// index.add_slice("north", 2, &day("pear")?)?;
    /// assert_eq!(index.count("apple"), 1);
    ///
    /// index.expire(2)?; // everything before slice 2
    /// assert_eq!(index.count("apple"), 0);
    /// assert_eq!(index.count("pear"), 1);
    /// # Ok::<(), bloomgrove::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`add`](Self::add); [`Error::DuplicateSet`] for a slice that is there, and for a
    /// set that is not made of slices.
    pub fn add_slice<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        slice: u64,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        let name = name.as_ref();
        if slice == NO_SLICE {
            return Err(Error::params(format!(
                "slices are numbered below {NO_SLICE}"
            )));
        }
        let directory = self.directory();
        let id = match directory.id(name) {
            None => self.fresh_id()?,
            Some(id) => {
                let taken = |slice| directory.place(id, slice).is_some();
                if taken(NO_SLICE) {
                    return Err(duplicate(name));
                }
                if taken(slice) {
                    let what = format!("{} (slice {slice})", name.escape_ascii());
                    return Err(Error::DuplicateSet { name: what });
                }
                id
            }
        };
        self.put(filter, id, slice, name, &[])?;
        Ok(id)
    }

    /// Removes a set.
    ///
    /// # Errors
    /// [`Error::UnknownSet`].
    pub fn remove(&mut self, name: impl AsRef<[u8]>) -> Result<SetId, Error> {
        let name = name.as_ref();
        let id = self.directory().id(name).ok_or_else(|| unknown(name))?;
        let places: Vec<_> = self.directory().places(id).collect();
        for (slice, place) in places {
            self.take(name, id, slice, place)?;
        }
        Ok(id)
    }

    /// Drops every slice before this one, and sets that then have none. Returns how many
    /// slices.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn expire(&mut self, before: u64) -> Result<usize, Error> {
        let old = self.directory().before(before);
        for &(id, slice, place) in &old {
            let name = self.at(place).name().to_vec();
            self.take(&name, id, slice, place)?;
        }
        Ok(old.len())
    }

    /// Gives a set another filter, which may have other parameters if the index is mixed.
    /// Its number and tag stay.
    ///
    /// # Errors
    /// [`Error::UnknownSet`], [`Error::Incompatible`], [`Error::OutOfMemory`].
    pub fn replace<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        let name = name.as_ref();
        let id = self.directory().id(name).ok_or_else(|| unknown(name))?;
        let tag = self.get(name)?.tag().to_vec();
        let old: Vec<_> = self.directory().places(id).collect();
        // The new one first: if there is no room for it, the old one stays.
        let place = self.put_unlisted(filter, id, NO_SLICE, name, &tag)?;
        for (slice, place) in old {
            self.take(name, id, slice, place)?;
        }
        self.list(name, id, NO_SLICE, place);
        self.epoch = fresh_epoch();
        self.replan(place);
        Ok(id)
    }

    /// Gives a set another name. Its number stays.
    ///
    /// # Errors
    /// [`Error::UnknownSet`], [`Error::DuplicateSet`], [`Error::OutOfMemory`].
    pub fn rename(
        &mut self,
        name: impl AsRef<[u8]>,
        new: impl AsRef<[u8]>,
    ) -> Result<SetId, Error> {
        let (name, new) = (name.as_ref(), new.as_ref());
        let id = self.directory().id(name).ok_or_else(|| unknown(name))?;
        if self.directory().id(new).is_some() {
            return Err(duplicate(new));
        }
        let tag = self.get(name)?.tag().to_vec();
        self.relabel(id, name, new, &tag)?;
        Ok(id)
    }

    /// Gives a set another tag.
    ///
    /// # Errors
    /// [`Error::UnknownSet`], [`Error::OutOfMemory`].
    pub fn set_tag(
        &mut self,
        name: impl AsRef<[u8]>,
        tag: impl AsRef<[u8]>,
    ) -> Result<SetId, Error> {
        let name = name.as_ref();
        let id = self.directory().id(name).ok_or_else(|| unknown(name))?;
        self.relabel(id, name, name, tag.as_ref())?;
        Ok(id)
    }

    pub(super) fn fresh_id(&self) -> Result<SetId, Error> {
        if self.next_id == u64::MAX {
            return Err(Error::params("the index has used up all numbers for sets"));
        }
        Ok(SetId(self.next_id))
    }

    pub(super) fn newest(&self, name: &[u8]) -> Result<Place, Error> {
        self.directory().newest(name).ok_or_else(|| unknown(name))
    }

    pub(super) fn is_sliced(&self, id: SetId) -> bool {
        self.directory().place(id, NO_SLICE).is_none()
    }

    pub(super) fn check_params(&self, params: &Params) -> Result<(), Error> {
        match self.classes.first() {
            Some(class) if !self.mixed => class.params.check_equal(params),
            _ => Ok(()),
        }
    }

    /// Puts a filter into the open segment of its class, and into the directory.
    pub(super) fn put<S: AsRef<[u64]>>(
        &mut self,
        filter: &Filter<S>,
        id: SetId,
        slice: u64,
        name: &[u8],
        tag: &[u8],
    ) -> Result<(), Error> {
        let place = self.put_unlisted(filter, id, slice, name, tag)?;
        self.list(name, id, slice, place);
        self.replan(place);
        Ok(())
    }

    fn put_unlisted<S: AsRef<[u64]>>(
        &mut self,
        filter: &Filter<S>,
        id: SetId,
        slice: u64,
        name: &[u8],
        tag: &[u8],
    ) -> Result<Place, Error> {
        let (class, segment) = self.open_segment(filter.params())?;
        let segments = &mut self.classes[class].segments;
        let new = New {
            id,
            slice,
            ones: filter.count_ones(),
            name,
            tag,
        };
        let before = segments[segment].slot_count();
        let slot = segments[segment].add(filter.words(), new)?;
        if slot < before {
            // A slot that had another filter: scopes may still mean that.
            self.epoch = fresh_epoch();
        }
        Ok(Place {
            class,
            segment,
            slot,
        })
    }

    /// The class of these parameters and its segment that takes filters, made if there is none.
    pub(super) fn open_segment(&mut self, params: &Params) -> Result<(usize, usize), Error> {
        self.check_params(params)?;
        let class = match self.class_of(params) {
            Some(class) => class,
            None => {
                let class = Class {
                    params: params.clone(),
                    segments: Vec::new(),
                };
                // One that has lost all its sets makes room for another.
                let empty = |class: &Class| class.segments.is_empty();
                match self.classes.iter().position(empty) {
                    Some(at) => {
                        self.classes[at] = class;
                        at
                    }
                    None => {
                        self.classes.push(class);
                        self.classes.len() - 1
                    }
                }
            }
        };
        let segments = &mut self.classes[class].segments;
        if !segments.last().is_some_and(Segment::is_open) {
            let shape = match self.fixed {
                // It can only be sealed when it is complete.
                Some(Shape::Sealed) | None => Shape::Loose,
                Some(shape) => shape,
            };
            segments.push(Segment::new(params, shape)?);
        }
        Ok((class, segments.len() - 1))
    }

    pub(super) fn list(&mut self, name: &[u8], id: SetId, slice: u64, place: Place) {
        self.next_id = self.next_id.max(id.0 + 1);
        // Every change looks a name up first, so it is there.
        if let Some(directory) = self.directory.get_mut() {
            directory.add(name, id, slice, place);
            self.len = directory.len();
        }
    }

    /// Takes a filter out of its place.
    fn take(&mut self, name: &[u8], id: SetId, slice: u64, place: Place) -> Result<(), Error> {
        self.segment_mut(place).remove(place.slot)?;
        self.unlist(name, id, slice);
        self.drop_empty(place.class);
        Ok(())
    }

    pub(super) fn unlist(&mut self, name: &[u8], id: SetId, slice: u64) {
        if let Some(directory) = self.directory.get_mut() {
            directory.remove(name, id, slice);
            self.len = directory.len();
        }
    }

    /// Gives up the segments of a class that has lost all its filters: sets of ever other parameters
    /// that come and go must not leave their memory behind.
    pub(super) fn drop_empty(&mut self, class: usize) -> Vec<Segment> {
        let segments = &mut self.classes[class].segments;
        let unused = |segment: &Segment| segment.len() == 0 && segment.is_open();
        if segments.is_empty() || !segments.iter().all(unused) {
            return Vec::new();
        }
        self.epoch = fresh_epoch();
        std::mem::take(&mut self.classes[class].segments)
    }

    /// Moves a filter to where it can change, unless it is there.
    pub(super) fn make_open(&mut self, name: &[u8], place: Place) -> Result<Place, Error> {
        let class = &self.classes[place.class];
        let segment = &class.segments[place.segment];
        if segment.is_open() {
            return Ok(place);
        }
        let (id, slice) = (
            segment.set(place.slot).id(),
            segment.label(place.slot).slice(),
        );
        let tag = segment.set(place.slot).tag().to_vec();
        let filter = Filter::from_words(class.params.clone(), segment.filter(place.slot)?)?;
        let moved = self.put_unlisted(&filter, id, slice, name, &tag)?;
        self.take(name, id, slice, place)?;
        self.list(name, id, slice, moved);
        self.epoch = fresh_epoch();
        self.replan(moved);
        Ok(moved)
    }

    fn relabel(&mut self, id: SetId, name: &[u8], new: &[u8], tag: &[u8]) -> Result<(), Error> {
        let old: Vec<_> = self.directory().places(id).collect();
        if old
            .iter()
            .all(|(_, place)| self.classes[place.class].segments[place.segment].is_open())
        {
            return self.relabel_in_place(id, name, new, tag, &old);
        }
        let mut moved = Vec::new();
        for &(slice, place) in &old {
            let class = &self.classes[place.class];
            let put = class.segments[place.segment]
                .filter(place.slot)
                .and_then(|words| Filter::from_words(class.params.clone(), words))
                .and_then(|filter| self.put_unlisted(&filter, id, slice, new, tag));
            match put {
                Ok(place) => moved.push((slice, place)),
                Err(error) => {
                    // As if nothing had been: nobody knows of these yet.
                    for (_, place) in moved {
                        self.segment_mut(place).remove(place.slot)?;
                    }
                    return Err(error);
                }
            }
        }
        // All old ones go before any new one is listed: a name goes with its last filter.
        for (slice, place) in old {
            self.take(name, id, slice, place)?;
        }
        for (slice, place) in moved {
            self.list(new, id, slice, place);
            self.replan(place);
        }
        self.epoch = fresh_epoch();
        Ok(())
    }

    /// As [`relabel`](Self::relabel), of filters that need not move for it.
    fn relabel_in_place(
        &mut self,
        id: SetId,
        name: &[u8],
        new: &[u8],
        tag: &[u8],
        places: &[(u64, Place)],
    ) -> Result<(), Error> {
        for &(slice, place) in places {
            self.segment_mut(place).relabel(place.slot, new, tag)?;
            self.unlist(name, id, slice);
        }
        for &(slice, place) in places {
            self.list(new, id, slice, place);
        }
        // A scope may be of names or tags.
        self.epoch = fresh_epoch();
        Ok(())
    }

    pub(super) fn class_of(&self, params: &Params) -> Option<usize> {
        self.classes
            .iter()
            .position(|class| class.params == *params)
    }

    pub(super) fn segment_mut(&mut self, place: Place) -> &mut Segment {
        &mut self.classes[place.class].segments[place.segment]
    }
}

pub(super) fn duplicate(name: &[u8]) -> Error {
    Error::DuplicateSet {
        name: name.escape_ascii().to_string(),
    }
}
