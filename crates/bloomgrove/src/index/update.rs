//! Adding to a set: a key, all of a filter, or missing bits.
//!
//! Bits are only ever set, so applying an update twice is harmless.

use super::Index;
use crate::{Error, Filter, Key};

impl Index {
    /// Adds all of a filter to a set (the update of the Bloofi paper), or to its newest slice.
    ///
    /// # Errors
    /// [`Error::UnknownSet`], [`Error::Incompatible`], [`Error::OutOfMemory`].
    pub fn update<S: AsRef<[u64]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        filter: &Filter<S>,
    ) -> Result<(), Error> {
        let name = name.as_ref();
        let place = self.newest(name)?;
        self.classes[place.class]
            .params
            .check_equal(filter.params())?;
        let place = self.make_open(name, place)?;
        self.segment_mut(place).set_bits(place.slot, filter.ones())
    }

    /// Inserts one key into a set, or into its newest slice.
    ///
    /// # Errors
    /// [`Error::UnknownSet`], [`Error::OutOfMemory`].
    pub fn insert<K: Key + ?Sized>(
        &mut self,
        name: impl AsRef<[u8]>,
        key: &K,
    ) -> Result<(), Error> {
        let name = name.as_ref();
        let place = self.newest(name)?;
        let place = self.make_open(name, place)?;
        let probe = self.classes[place.class].params.probe(key);
        let positions = probe.positions().iter().copied();
        self.segment_mut(place).set_bits(place.slot, positions)
    }

    /// Returns which of these bits the set (or its newest slice) does not have, in ascending order
    /// and without duplicates: what an update would change.
    ///
    /// # Errors
    /// [`Error::UnknownSet`]; [`Error::Params`] if a bit is beyond the last of the filter.
    pub fn missing_bits(
        &self,
        name: impl AsRef<[u8]>,
        positions: impl IntoIterator<Item = u64>,
    ) -> Result<Vec<u64>, Error> {
        let place = self.newest(name.as_ref())?;
        let class = &self.classes[place.class];
        let bits = class.params.bits();
        let mut beyond = None;
        let positions = positions.into_iter().filter(|&position| {
            if position >= bits {
                beyond = Some(position);
            }
            position < bits
        });
        let missing = class.segments[place.segment].missing(place.slot, positions)?;
        match beyond {
            Some(position) => Err(no_bit(position, bits)),
            None => Ok(missing),
        }
    }

    /// Sets bits of the filter of a set, or of its newest slice.
    ///
    /// # Errors
    /// [`Error::UnknownSet`]; [`Error::Params`] if a bit is beyond the last of the filter;
    /// [`Error::OutOfMemory`].
    pub fn set_bits(&mut self, name: impl AsRef<[u8]>, positions: &[u64]) -> Result<(), Error> {
        let name = name.as_ref();
        let place = self.newest(name)?;
        let bits = self.classes[place.class].params.bits();
        if let Some(&position) = positions.iter().find(|&&position| position >= bits) {
            return Err(no_bit(position, bits));
        }
        let place = self.make_open(name, place)?;
        let positions = positions.iter().copied();
        self.segment_mut(place).set_bits(place.slot, positions)
    }
}

fn no_bit(position: u64, bits: u64) -> Error {
    Error::params(format!(
        "bit {position} is beyond the {bits} bits of the filter"
    ))
}
