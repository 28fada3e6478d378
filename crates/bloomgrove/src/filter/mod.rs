//! One set as a Bloom filter: is this key in the set?
//!
//! ```text
//!   insert(x)     x --hash--> 3 positions    0 0 1 0 1 0 0 0 0 1   set them
//!   contains(y)   y --hash--> 3 positions        ^       ^     ^   all set?
//! ```
//!
//! "No" is certain; "yes" may be wrong, at a rate known in advance. Keys cannot be removed, and the
//! bits alone do not reveal the keys.
//!
//! Source: Spyropoulos (Bloom filters), sections 2 to 4, and its worked example:
//!
//! ```
//! use bloomgrove::{Affine, Family, Filter, Params};
//!
//! // Ten bits, h1(x) = x mod 10, h2(x) = (5x + 4) mod 10.
//! let functions = Affine::new(&[(1, 0), (5, 4)], 10)?;
//! let params = Params::builder(10, 2).family(Family::Affine(functions)).build()?;
//! let mut filter = Filter::new(params)?;
//!
//! filter.insert(&19u64);
//! assert_eq!(filter.ones().collect::<Vec<_>>(), [9]);
//! filter.insert(&132u64);
//! assert_eq!(filter.ones().collect::<Vec<_>>(), [2, 4, 9]);
//! filter.insert(&25u64);
//! assert_eq!(filter.ones().collect::<Vec<_>>(), [2, 4, 5, 9]);
//!
//! assert!(!filter.contains(&133u64)); // bit 9 is set, bit 3 is not
//! assert!(filter.contains(&25u64)); // a true positive
//! assert!(filter.contains(&24u64)); // bit 4 twice: a false positive
//! # Ok::<(), bloomgrove::Error>(())
//! ```
//!
//! Differences: each key is hashed once, and all positions are derived from that hash
//! (`hash::positions`); and there is a second layout, which keeps all bits of a key in one cache
//! line ([`Layout::Blocked`](crate::Layout::Blocked)).
//!
//! Cost: k bit accesses per key; m/8 bytes of memory. If the filter is larger than the cache, a
//! standard one costs up to k cache misses per key, a blocked one only one. Batches overlap the
//! misses of up to 64 keys.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | `Filter`: insert, contains, union, intersection |
//! | `batch.rs` | many keys: chooses the loop for the parameters |
//! | `estimate.rs` | fill, number of items, common items, expected false positives |
//! | `fold.rs` | the same set in half the bits |
//! | `concurrent.rs` | `ConcurrentFilter`: inserting from many threads |
//! | `collect.rs` | `Collector`: a filter for an unknown number of keys, even more than fit in memory |
//! | `file.rs` | save, load, map |

mod batch;
pub(crate) mod collect;
mod concurrent;
mod estimate;
pub(crate) mod file;
mod fold;

pub use collect::Collector;
pub use concurrent::ConcurrentFilter;
pub use file::MappedFilter;
pub(crate) use file::check_file;

use std::sync::Arc;

use crate::bits::{self, LINE_BITS, Size, Words};
use crate::hash::{Hasher, Key, Xxh3Hasher};
use crate::params::probe::{Positions, each_position};
use crate::params::{Probe, Route};
use crate::{Error, Params};

/// A Bloom filter over owned words, borrowed words or a memory map.
///
/// ```
/// use bloomgrove::{Filter, Params};
///
/// let mut filter = Filter::new(Params::for_items(1000, 0.01)?)?;
/// filter.insert("apple");
/// assert!(filter.contains("apple"));
/// assert!(!filter.contains("pear"));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct Filter<S = Words> {
    words: S,
    quick: Quick,
    params: Arc<Params>,
}

/// What the common routes read of the parameters for a single key. A loop that inserts keys keeps it in
/// registers, which takes a fifth to a third off their time, because its address is never passed to a
/// function that is not inlined. The parameters are passed to such functions, so they are elsewhere.
#[derive(Clone, Copy, Debug)]
struct Quick {
    size: Size,
    seed: u64,
    route: Route,
}

impl Filter {
    /// Creates an empty filter.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(params: Params) -> Result<Self, Error> {
        let words = Words::zeroed(params.words())?;
        Ok(Self::with(params.into(), words))
    }
}

impl<S> Filter<S> {
    fn with(params: Arc<Params>, words: S) -> Self {
        let quick = Quick {
            size: size(&params),
            seed: params.seed(),
            route: params.route(),
        };
        Self {
            words,
            quick,
            params,
        }
    }
}

impl<S: AsRef<[u64]>> Filter<S> {
    /// Creates a filter from existing words.
    ///
    /// # Errors
    /// [`Error::Params`] if the number of words does not match `params`, or if a bit beyond the
    /// last is set.
    pub fn from_words(params: Params, words: S) -> Result<Self, Error> {
        let found = words.as_ref();
        if found.len() != params.words() {
            return Err(Error::params(format!(
                "{} words given for a filter of {}",
                found.len(),
                params.words()
            )));
        }
        let used = params.bits() % 64;
        if used != 0 && found.last().is_some_and(|last| last >> used != 0) {
            return Err(Error::params(format!(
                "a bit beyond the last of {} is set",
                params.bits()
            )));
        }
        Ok(Self::with(params.into(), words))
    }

    /// Returns the parameters: size, hashing and layout.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the words, without the parameters.
    pub(crate) fn into_words(self) -> S {
        self.words
    }

    /// Returns the bits as words, lowest bit first.
    #[inline]
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// Returns whether the key may be in the set. False is certain.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let words = self.words.as_ref();
        let quick @ Quick { size, route, .. } = self.quick;
        match route {
            Route::Standard(fast) => bits::contains_walk(fast, words, size, quick.hash(key)),
            Route::Blocked(fast) => bits::contains_line(fast, words, size, quick.hash(key)),
            Route::Other => key.with_bytes(|bytes| contains_other(&self.params, words, bytes)),
        }
    }

    /// Same as [`contains`](Self::contains), for a key that has already been hashed.
    ///
    /// # Panics
    /// If the probe was made with different `Params`, since the answer would be meaningless.
    #[inline]
    pub fn contains_probe(&self, probe: &Probe) -> bool {
        assert!(
            probe.is_of(&self.params),
            "the probe and the filter have different parameters"
        );
        let words = self.words();
        probe.positions().iter().all(|&p| bits::get(words, p))
    }

    /// Returns the numbers of the bits that are set, in ascending order.
    pub fn ones(&self) -> impl Iterator<Item = u64> + '_ {
        bits::ones(self.words())
    }

    /// Returns a copy that owns its words.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<Filter, Error> {
        let words = Words::copy_of(self.words())?;
        Ok(Filter::with(self.params.clone(), words))
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Filter<S> {
    /// Inserts a key. Returns true if it was certainly not in the filter before, false if it may
    /// have been.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let words = self.words.as_mut();
        let quick @ Quick { size, route, .. } = self.quick;
        match route {
            Route::Standard(fast) => bits::insert_walk(fast, words, size, quick.hash(key)),
            Route::Blocked(fast) => bits::insert_line(fast, words, size, quick.hash(key)),
            Route::Other => key.with_bytes(|bytes| insert_other(&self.params, words, bytes)),
        }
    }

    /// Returns the bits for modification; those beyond the last must stay zero.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.words.as_mut()
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.words.as_mut().fill(0);
    }

    /// Turns this into the filter of the union: exactly the filter that results from inserting both
    /// sets into one.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if the parameters differ.
    pub fn union_with<T: AsRef<[u64]>>(&mut self, other: &Filter<T>) -> Result<(), Error> {
        self.params.check_equal(&other.params)?;
        bits::or_assign(self.words.as_mut(), other.words());
        Ok(())
    }

    /// Keeps the bits that are set in both. The result contains every common key, but has a higher
    /// false-positive rate than a filter built from the common keys alone.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if the parameters differ.
    pub fn intersect_with<T: AsRef<[u64]>>(&mut self, other: &Filter<T>) -> Result<(), Error> {
        self.params.check_equal(&other.params)?;
        bits::and_assign(self.words.as_mut(), other.words());
        Ok(())
    }
}

impl Quick {
    /// Returns the hash of a key by the default family.
    #[inline(always)]
    fn hash<K: Key + ?Sized>(self, key: &K) -> u64 {
        let hasher = Xxh3Hasher { seed: self.seed };
        key.with_bytes(
            #[inline(always)]
            |bytes| hasher.digest(bytes).lo,
        )
    }
}

#[inline(never)]
fn contains_other(params: &Params, words: &[u64], bytes: &[u8]) -> bool {
    each_position(params, bytes, |position| bits::get(words, position))
}

#[inline(never)]
fn insert_other(params: &Params, words: &mut [u64], bytes: &[u8]) -> bool {
    let set = |position| bits::set(words, position);
    Positions::new(params, bytes).any_of_all(params, set)
}

/// Borrows the words of a filter.
impl<'f, S: AsRef<[u64]>> From<&'f Filter<S>> for Filter<&'f [u64]> {
    fn from(filter: &'f Filter<S>) -> Self {
        Filter::with(filter.params.clone(), filter.words())
    }
}

/// Equal parameters and equal bits.
impl<S: AsRef<[u64]>, T: AsRef<[u64]>> PartialEq<Filter<T>> for Filter<S> {
    fn eq(&self, other: &Filter<T>) -> bool {
        self.params == other.params && self.words() == other.words()
    }
}

/// Returns the number of lines of a blocked filter with these parameters.
fn lines(params: &Params) -> u64 {
    params.bits() / LINE_BITS
}

fn size(params: &Params) -> Size {
    Size {
        bits: params.bits(),
        hashes: params.hashes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    /// The route of processors without AVX2 and BMI, which this machine would not take.
    fn without_fast(params: &Params) -> Result<Filter, Error> {
        let mut filter = Filter::new(params.clone())?;
        filter.quick.route = Route::Other;
        Ok(filter)
    }

    #[test]
    fn every_route_finds_the_same_bits() -> Result<(), Error> {
        for (layout, most) in [(Layout::Standard, 20), (Layout::Blocked, 16)] {
            for (bits, hashes) in (1..=most).map(|hashes| (512 * u64::from(hashes), hashes)) {
                let params = Params::builder(bits, hashes).layout(layout).seed(bits);
                let params = params.build()?;
                let (mut usual, mut other) = (Filter::new(params.clone())?, without_fast(&params)?);
                for key in 0..200u64 {
                    let text = "k".repeat(key as usize);
                    assert_eq!(usual.insert(&key), other.insert(&key), "{params}: {key}");
                    assert_eq!(usual.insert(&text), other.insert(&text), "{params}: {text}");
                }
                assert!(usual == other, "{params}");
                for key in 0..1000u64 {
                    let text = key.to_string();
                    assert_eq!(
                        usual.contains(&key),
                        other.contains(&key),
                        "{params}: {key}"
                    );
                    assert_eq!(
                        usual.contains(&text),
                        other.contains(&text),
                        "{params}: {text}"
                    );
                    assert!(
                        key >= 200 || other.contains(&key),
                        "{params}: {key} was lost"
                    );
                }
            }
        }
        Ok(())
    }
}
