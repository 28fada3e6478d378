//! Changes to an index in a file: those of [`Index`], one by one.
//!
//! An [`IndexFile`] does not give mutable access to its index. Otherwise two of them could be
//! swapped, and a commit would then record the places of filters in the wrong file.

use super::IndexFile;
use crate::index::{Duplicates, Index, SetId, Shape};
use crate::{Error, Filter, Key};

impl IndexFile {
    /// Same as [`Index::add`].
    pub fn add<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        self.index.add(name, filter)
    }

    /// Same as [`Index::add_tagged`].
    pub fn add_tagged<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        tag: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        self.index.add_tagged(name, tag, filter)
    }

    /// Same as [`Index::add_slice`].
    pub fn add_slice<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        slice: u64,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        self.index.add_slice(name, slice, filter)
    }

    /// Same as [`Index::remove`].
    pub fn remove(&mut self, name: impl AsRef<[u8]>) -> Result<SetId, Error> {
        self.index.remove(name)
    }

    /// Same as [`Index::expire`].
    pub fn expire(&mut self, before: u64) -> Result<usize, Error> {
        self.index.expire(before)
    }

    /// Same as [`Index::replace`].
    pub fn replace<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        self.index.replace(name, filter)
    }

    /// Same as [`Index::rename`].
    pub fn rename(
        &mut self,
        name: impl AsRef<[u8]>,
        new: impl AsRef<[u8]>,
    ) -> Result<SetId, Error> {
        self.index.rename(name, new)
    }

    /// Same as [`Index::set_tag`].
    pub fn set_tag(
        &mut self,
        name: impl AsRef<[u8]>,
        tag: impl AsRef<[u8]>,
    ) -> Result<SetId, Error> {
        self.index.set_tag(name, tag)
    }

    /// Same as [`Index::update`].
    pub fn update<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<(), Error> {
        self.index.update(name, filter)
    }

    /// Same as [`Index::insert`].
    pub fn insert<K: Key + ?Sized>(
        &mut self,
        name: impl AsRef<[u8]>,
        key: &K,
    ) -> Result<(), Error> {
        self.index.insert(name, key)
    }

    /// Same as [`Index::merge`]; see also [`merge_in_parts`](Self::merge_in_parts).
    pub fn merge(&mut self, other: &Index, duplicates: Duplicates) -> Result<(), Error> {
        self.index.merge(other, duplicates)
    }

    /// Same as [`Index::rearrange`].
    pub fn rearrange(&mut self, shape: Option<Shape>) -> Result<(), Error> {
        self.index.rearrange(shape)
    }

    /// Same as [`Index::seal`].
    pub fn seal(&mut self) -> Result<(), Error> {
        self.index.seal()
    }

    /// Same as [`Index::set_shape`].
    pub fn set_shape(&mut self, shape: Option<Shape>) {
        self.index.set_shape(shape);
    }
}
