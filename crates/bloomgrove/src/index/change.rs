//! Adding, removing and replacing sets; `update.rs` adds keys to a set.
//!
//! A filter that is sealed or in a mapped file cannot be changed in place. It is moved to the open
//! segment in memory, and its old slot is no longer live.

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
    /// [`Error::OutOfMemory`]. After any error, the index is unchanged; this applies to all methods
    /// here.
    pub fn add<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        self.add_tagged(name, [], filter)
    }

    /// Same as [`add`](Self::add), with a tag: bytes that are stored with the set for the caller's
    /// use, such as the tenant it belongs to.
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

    /// Adds a time slice to a set, which is created if it does not exist: the moving window of the
    /// Bloofi paper. The set contains what any of its slices contains, and [`expire`](Self::expire) drops
    /// old slices. The caller numbers slices, in ascending order of time.
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
    /// Same as for [`add`](Self::add); [`Error::DuplicateSet`] also if the slice exists, or if the
    /// set does not consist of slices.
    pub fn add_slice<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        slice: u64,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        let name = name.as_ref();
        if slice == NO_SLICE {
            return Err(Error::params(format!(
                "the number of a slice must be below {NO_SLICE}"
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

    /// Drops every slice before this one, and sets that then have none left. Returns the number of
    /// dropped slices.
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

    /// Replaces the filter of a set. The new one may have different parameters if the index is mixed.
    /// The number and tag of the set stay the same.
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

    /// Renames a set. Its number stays the same.
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

    /// Changes the tag of a set.
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
            return Err(Error::params("the index has used all set numbers"));
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

    /// Stores a filter in the open segment of its class, and adds it to the directory.
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
            // The slot contained another filter, which scopes may still refer to.
            self.epoch = fresh_epoch();
        }
        Ok(Place {
            class,
            segment,
            slot,
        })
    }

    /// Returns the class of these parameters and its open segment. Creates them if they do not
    /// exist.
    pub(super) fn open_segment(&mut self, params: &Params) -> Result<(usize, usize), Error> {
        self.check_params(params)?;
        let class = match self.class_of(params) {
            Some(class) => class,
            None => {
                let class = Class {
                    params: params.clone(),
                    segments: Vec::new(),
                };
                // A class that has lost all its sets can be reused.
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
                // A segment can only be sealed once it is complete.
                Some(Shape::Sealed) | None => Shape::Loose,
                Some(shape) => shape,
            };
            segments.push(Segment::new(params, shape)?);
        }
        Ok((class, segments.len() - 1))
    }

    pub(super) fn list(&mut self, name: &[u8], id: SetId, slice: u64, place: Place) {
        self.next_id = self.next_id.max(id.0 + 1);
        // Every change looks up the name first, so it exists.
        if let Some(directory) = self.directory.get_mut() {
            directory.add(name, id, slice, place);
            self.len = directory.len();
        }
    }

    /// Removes a filter from its place.
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

    /// Drops the segments of a class that has lost all its filters. Otherwise, sets with
    /// ever-changing parameters would leave their memory behind.
    pub(super) fn drop_empty(&mut self, class: usize) -> Vec<Segment> {
        let segments = &mut self.classes[class].segments;
        let unused = |segment: &Segment| segment.len() == 0 && segment.is_open();
        if segments.is_empty() || !segments.iter().all(unused) {
            return Vec::new();
        }
        self.epoch = fresh_epoch();
        std::mem::take(&mut self.classes[class].segments)
    }

    /// Moves a filter to an open segment, unless it is in one.
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
                    // Undo everything: no other code knows of these places yet.
                    for (_, place) in moved {
                        self.segment_mut(place).remove(place.slot)?;
                    }
                    return Err(error);
                }
            }
        }
        // All old ones are removed before any new one is listed, because a name is removed with its
        // last filter.
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

    /// Same as [`relabel`](Self::relabel), for filters that need not be moved.
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
        // A scope may depend on names or tags.
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
