//! One set as bits: is x in it?
//!
//! ```text
//!   insert(x)     x --hash--> 3 positions    0 0 1 0 1 0 0 0 0 1   set them
//!   contains(y)   y --hash--> 3 positions        ^       ^     ^   all set?
//! ```
//!
//! "No" is certain; "yes" may be wrong, at a rate known beforehand. Nothing can
//! be taken out again, and a bit array tells nothing of the keys by itself.
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
//! Where we differ: each key is hashed once and all positions derived from that
//! (`hash::positions`), and there is a second layout that keeps a key's bits in
//! one cache line ([`Layout::Blocked`](crate::Layout::Blocked)).
//!
//! Cost: k bit accesses a key; memory m/8 bytes. A standard filter larger than
//! the cache pays up to k misses a key, a blocked one pays one. Batches overlap
//! the misses of up to 64 keys.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | `Filter`: insert, contains, union, intersection |
//! | `batch.rs` | many keys: chooses the loop for the parameters |
//! | `estimate.rs` | fill, number of items, common items, expected false positives |
//! | `fold.rs` | the same set in half the bits |
//! | `concurrent.rs` | `ConcurrentFilter`: inserting from many threads |
//! | `collect.rs` | `Collector`: a filter for keys whose number is not known, larger than memory |
//! | `file.rs` | save, load, map |

mod batch;
mod collect;
mod concurrent;
mod estimate;
pub(crate) mod file;
mod fold;

pub use collect::Collector;
pub use concurrent::ConcurrentFilter;
pub use file::MappedFilter;
pub(crate) use file::check_file;

use crate::bits::{self, LINE_BITS, Words};
use crate::hash::Key;
use crate::params::Probe;
use crate::params::probe::Positions;
use crate::{Error, Params};

/// A Bloom filter over its own words, borrowed words or a memory map.
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
    params: Params,
    words: S,
}

impl Filter {
    /// An empty filter.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(params: Params) -> Result<Self, Error> {
        let words = Words::zeroed(params.words())?;
        Ok(Self { params, words })
    }
}

impl<S: AsRef<[u64]>> Filter<S> {
    /// A filter over words made elsewhere, taken as they are.
    ///
    /// # Errors
    /// [`Error::Params`] when the words are not as many as `params` says, or a bit
    /// beyond the last is set.
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
        Ok(Self { params, words })
    }

    /// Size, hashing and layout.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The words, without the parameters.
    pub(crate) fn into_words(self) -> S {
        self.words
    }

    /// The bits, lowest first.
    #[inline]
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// May the key be in the set? False is certain.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let words = self.words();
        key.with_bytes(|bytes| match Positions::new(&self.params, bytes) {
            Positions::Blocked(slot) => bits::contains_line(words, self.params.hashes(), slot),
            positions => positions.all(&self.params, |position| bits::get(words, position)),
        })
    }

    /// As [`contains`](Self::contains), for a key hashed before.
    ///
    /// # Panics
    /// If the probe was made with other `Params`: the answer would mean nothing.
    #[inline]
    pub fn contains_probe(&self, probe: &Probe) -> bool {
        assert!(
            probe.is_of(&self.params),
            "a probe asked of a filter with other parameters"
        );
        let words = self.words();
        probe.positions().iter().all(|&p| bits::get(words, p))
    }

    /// The numbers of the set bits, rising.
    pub fn ones(&self) -> impl Iterator<Item = u64> + '_ {
        bits::ones(self.words())
    }

    /// A copy with words of its own.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<Filter, Error> {
        Ok(Filter {
            params: self.params.clone(),
            words: Words::copy_of(self.words())?,
        })
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Filter<S> {
    /// Adds a key. True if it was certainly new; false if it may have been there.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let words = self.words.as_mut();
        let params = &self.params;
        key.with_bytes(|bytes| match Positions::new(params, bytes) {
            Positions::Blocked(slot) => bits::insert_line(words, params.hashes(), slot),
            positions => positions.any_of_all(params, |position| bits::set(words, position)),
        })
    }

    /// The bits, to be changed; those beyond the last stay zero.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.words.as_mut()
    }

    /// Empties the filter.
    pub fn clear(&mut self) {
        self.words.as_mut().fill(0);
    }

    /// Makes this the filter of the union. Exactly what inserting both sets into
    /// one filter would have made.
    ///
    /// # Errors
    /// [`Error::Incompatible`] when the parameters differ.
    pub fn union_with<T: AsRef<[u64]>>(&mut self, other: &Filter<T>) -> Result<(), Error> {
        self.params.check_equal(&other.params)?;
        bits::or_assign(self.words.as_mut(), other.words());
        Ok(())
    }

    /// Keeps the bits that both have. Holds every common key, and is wrong more
    /// often than a filter built from the common keys alone.
    ///
    /// # Errors
    /// [`Error::Incompatible`] when the parameters differ.
    pub fn intersect_with<T: AsRef<[u64]>>(&mut self, other: &Filter<T>) -> Result<(), Error> {
        self.params.check_equal(&other.params)?;
        bits::and_assign(self.words.as_mut(), other.words());
        Ok(())
    }
}

/// The same filter over borrowed words.
impl<'f, S: AsRef<[u64]>> From<&'f Filter<S>> for Filter<&'f [u64]> {
    fn from(filter: &'f Filter<S>) -> Self {
        Filter {
            params: filter.params.clone(),
            words: filter.words(),
        }
    }
}

/// Equal parameters and equal bits.
impl<S: AsRef<[u64]>, T: AsRef<[u64]>> PartialEq<Filter<T>> for Filter<S> {
    fn eq(&self, other: &Filter<T>) -> bool {
        self.params == other.params && self.words() == other.words()
    }
}

/// How many lines a blocked filter of these parameters has.
fn lines(params: &Params) -> u64 {
    params.bits() / LINE_BITS
}
