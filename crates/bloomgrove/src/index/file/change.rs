//! Changes of an index in a file: those of the [`Index`], one by one.
//!
//! An [`IndexFile`] does not hand its index out to be changed. Two of them could be swapped, and a
//! commit would then write where the filters lie in the other file.

use super::IndexFile;
use crate::index::{Duplicates, Index, SetId, Shape};
use crate::{Error, Filter, Key};

impl IndexFile {
    /// As [`Index::add`].
    pub fn add<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        self.index.add(name, filter)
    }

    /// As [`Index::add_tagged`].
    pub fn add_tagged<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        tag: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        self.index.add_tagged(name, tag, filter)
    }

    /// As [`Index::add_slice`].
    pub fn add_slice<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        slice: u64,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        self.index.add_slice(name, slice, filter)
    }

    /// As [`Index::remove`].
    pub fn remove(&mut self, name: impl AsRef<[u8]>) -> Result<SetId, Error> {
        self.index.remove(name)
    }

    /// As [`Index::expire`].
    pub fn expire(&mut self, before: u64) -> Result<usize, Error> {
        self.index.expire(before)
    }

    /// As [`Index::replace`].
    pub fn replace<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<SetId, Error> {
        self.index.replace(name, filter)
    }

    /// As [`Index::rename`].
    pub fn rename(
        &mut self,
        name: impl AsRef<[u8]>,
        new: impl AsRef<[u8]>,
    ) -> Result<SetId, Error> {
        self.index.rename(name, new)
    }

    /// As [`Index::set_tag`].
    pub fn set_tag(
        &mut self,
        name: impl AsRef<[u8]>,
        tag: impl AsRef<[u8]>,
    ) -> Result<SetId, Error> {
        self.index.set_tag(name, tag)
    }

    /// As [`Index::update`].
    pub fn update<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<(), Error> {
        self.index.update(name, filter)
    }

    /// As [`Index::insert`].
    pub fn insert<K: Key + ?Sized>(
        &mut self,
        name: impl AsRef<[u8]>,
        key: &K,
    ) -> Result<(), Error> {
        self.index.insert(name, key)
    }

    /// As [`Index::merge`]; see also [`merge_in_parts`](Self::merge_in_parts).
    pub fn merge(&mut self, other: &Index, duplicates: Duplicates) -> Result<(), Error> {
        self.index.merge(other, duplicates)
    }

    /// As [`Index::rearrange`].
    pub fn rearrange(&mut self, shape: Option<Shape>) -> Result<(), Error> {
        self.index.rearrange(shape)
    }

    /// As [`Index::seal`].
    pub fn seal(&mut self) -> Result<(), Error> {
        self.index.seal()
    }

    /// As [`Index::set_shape`].
    pub fn set_shape(&mut self, shape: Option<Shape>) {
        self.index.set_shape(shape);
    }
}
