//! Batches of keys: hash ahead, prefetch, and test once the cache lines have arrived.
//!
//! This file chooses the loop for the parameters; `bits::pipeline` contains the loops.

use super::{Filter, lines, size};
use crate::bits::{self, Slot};
use crate::hash::{
    AnyHasher, Derivation, Family, Hashed, Hasher, Independent, Key, KirschMitzenmacher,
    SplitBlock, Start, Xxh3Hasher, slot,
};
use crate::{Layout, Params};

/// Compiles `$body` once for the default family and once for all others, through [`AnyHasher`]. The
/// affine family has no hasher and must be handled before.
macro_rules! with_hasher {
    ($params:expr, $hasher:ident => $body:expr) => {
        match $params.family() {
            Family::Xxh3 => {
                let $hasher = Xxh3Hasher {
                    seed: $params.seed(),
                };
                $body
            }
            family => {
                let $hasher = AnyHasher {
                    family,
                    seed: $params.seed(),
                };
                $body
            }
        }
    };
}

impl<S: AsRef<[u64]>> Filter<S> {
    /// Tests many keys at once. `found[i]` is set to the result of [`contains`](Self::contains) for
    /// `keys[i]`.
    ///
    /// ```
    /// # use bloomgrove::{Filter, Params};
    /// let mut filter = Filter::new(Params::for_items(1000, 0.01)?)?;
    /// filter.insert_batch(&[1u64, 2, 3]);
    /// let mut found = [false; 2];
    /// filter.contains_batch(&[2u64, 3], &mut found);
    /// assert_eq!(found, [true, true]);
    /// # Ok::<(), bloomgrove::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `keys` and `found` differ in length.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        if matches!(self.params.family(), Family::Affine(_)) {
            for (key, found) in keys.iter().zip(found) {
                *found = self.contains(key);
            }
            return;
        }
        with_hasher!(self.params, h => self.contains_batch_by(h, keys, found));
    }

    fn contains_batch_by<K: Key>(&self, hasher: impl Hasher, keys: &[K], found: &mut [bool]) {
        let (params, words) = (&self.params, self.words());
        let size = size(params);
        match (params.layout(), params.derivation()) {
            (Layout::Blocked, _) => {
                let slot = slot_of(params, hasher);
                bits::contains_lines(words, size.hashes, keys, slot, found);
            }
            (Layout::SplitBlock, _) => {
                let walk = walk_of::<SplitBlock, K>(params, hasher);
                bits::contains_walks(words, size, keys, walk, found);
            }
            (Layout::Standard, Derivation::Independent) => {
                let walk = walk_of::<Independent, K>(params, hasher);
                bits::contains_walks(words, size, keys, walk, found);
            }
            (Layout::Standard, Derivation::KirschMitzenmacher) => {
                let walk = walk_of::<KirschMitzenmacher, K>(params, hasher);
                bits::contains_walks(words, size, keys, walk, found);
            }
        }
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Filter<S> {
    /// Inserts many keys. Equivalent to calling [`insert`](Self::insert) for each, but faster.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) {
        if matches!(self.params.family(), Family::Affine(_)) {
            for key in keys {
                self.insert(key);
            }
            return;
        }
        let params = self.params.clone();
        with_hasher!(params, h => self.insert_batch_by(h, keys));
    }

    /// Inserts keys that have already been hashed, by XXH3 with the seed of this filter.
    pub(super) fn insert_hashed(&mut self, hashes: &[u64]) {
        debug_assert_eq!(*self.params.family(), Family::Xxh3);
        self.insert_batch_by(Hashed, hashes);
    }

    fn insert_batch_by<K: Key>(&mut self, hasher: impl Hasher, keys: &[K]) {
        let words = self.words.as_mut();
        let params = &self.params;
        let size = size(params);
        match (params.layout(), params.derivation()) {
            (Layout::Blocked, _) => {
                bits::insert_lines(words, size.hashes, keys, slot_of(params, hasher));
            }
            (Layout::SplitBlock, _) => {
                let walk = walk_of::<SplitBlock, K>(params, hasher);
                bits::insert_many_walks(words, size, keys, walk);
            }
            (Layout::Standard, Derivation::Independent) => {
                let walk = walk_of::<Independent, K>(params, hasher);
                bits::insert_many_walks(words, size, keys, walk);
            }
            (Layout::Standard, Derivation::KirschMitzenmacher) => {
                let walk = walk_of::<KirschMitzenmacher, K>(params, hasher);
                bits::insert_many_walks(words, size, keys, walk);
            }
        }
    }
}

/// Returns the slot of a key, in the form that `bits::contains_lines` and `insert_lines` need.
fn slot_of<K: Key>(params: &Params, hasher: impl Hasher) -> impl Fn(&K) -> Slot {
    let lines = lines(params);
    #[inline(always)]
    move |key| slot(key.with_bytes(|bytes| hasher.digest(bytes)), lines)
}

/// Returns the walk of a key, in the form that `bits::contains_walks` and `insert_many_walks` need.
fn walk_of<W: Start, K: Key>(params: &Params, hasher: impl Hasher) -> impl Fn(&K) -> W + Copy {
    let bits = params.bits();
    #[inline(always)]
    move |key| W::start(key.with_bytes(|bytes| hasher.digest(bytes)), bits)
}
