//! One filter, with many threads inserting.

use std::sync::Arc;

use super::Filter;
use crate::bits::{LINE_WORDS, Pattern, SharedWords};
use crate::hash::Key;
use crate::params::probe::Positions;
use crate::{Error, Params};

/// A filter that any number of threads can insert into and query at the same time, without locks:
/// each bit is set by one atomic operation.
///
/// A key is found by every thread that knows, through any form of synchronization, that its insert
/// has returned. A query that runs during the insert may return either answer.
///
/// ```
/// use bloomgrove::{ConcurrentFilter, Params};
///
/// let filter = ConcurrentFilter::new(Params::for_items(1000, 0.01)?)?;
/// std::thread::scope(|scope| {
///     for thread in 0..4u64 {
///         let filter = &filter;
///         scope.spawn(move || (0..250).for_each(|i| _ = filter.insert(&(thread * 250 + i))));
///     }
/// });
/// let filter = filter.into_filter();
/// assert!((0..1000u64).all(|key| filter.contains(&key)));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct ConcurrentFilter {
    params: Arc<Params>,
    words: SharedWords,
}

impl ConcurrentFilter {
    /// Creates an empty filter.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(params: Params) -> Result<Self, Error> {
        Filter::new(params).map(Self::from)
    }

    /// Returns the parameters: size, hashing and layout.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Inserts a key. Returns true if it was certainly not in the filter before. If two threads
    /// insert the same new key at the same time, one or both get true.
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        let hashes = self.params.hashes();
        key.with_bytes(|bytes| match Positions::new(&self.params, bytes) {
            Positions::Blocked(slot) => {
                let line = slot.line as usize * LINE_WORDS;
                Pattern::new(slot.hash, hashes)
                    .lanes()
                    .into_iter()
                    .enumerate()
                    .fold(false, |fresh, (lane, mask)| {
                        self.words.set(line + lane, mask) | fresh
                    })
            }
            positions => positions.any_of_all(&self.params, |position| {
                self.words
                    .set((position / 64) as usize, 1 << (position % 64))
            }),
        })
    }

    /// Returns whether the key may be in the set. False is certain.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        key.with_bytes(|bytes| {
            Positions::new(&self.params, bytes).all(&self.params, |p| self.words.get(p))
        })
    }

    /// Converts this into a [`Filter`], without copying, once the threads are done.
    pub fn into_filter(self) -> Filter {
        Filter::with(self.params, self.words.into_words())
    }
}

impl From<Filter> for ConcurrentFilter {
    fn from(filter: Filter) -> Self {
        Self {
            params: filter.params,
            words: SharedWords::new(filter.words),
        }
    }
}
