//! One index for many threads: all may ask while one changes it.
//!
//! ```text
//!   readers   |--ask--|  |--ask--|      |--ask--||--ask--|
//!   writer         prepares ......... |put in|
//! ```
//!
//! Readers run side by side. A change keeps them waiting only while it is put in place:
//! some tens of microseconds for a filter of 100,000 bits. What
//! takes long ([`rearrange`](Index::rearrange), [`seal`](Index::seal), moving to
//! another layout when filters have become many) does keep them waiting; do it when it is
//! quiet, or on a copy.

use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{Index, IndexFile};

/// An [`Index`] or [`IndexFile`] shared by threads.
///
/// ```
/// use bloomgrove::{Filter, Params};
/// use bloomgrove::index::{Index, SharedIndex};
///
/// let params = Params::for_items(100, 0.01)?;
/// let index = SharedIndex::new(Index::new(params.clone()));
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let mut filter = Filter::new(params.clone())?;
///         filter.insert("apple");
///         index.write().add("north", &filter)?;
///         Ok::<(), bloomgrove::Error>(())
///     });
///     scope.spawn(|| assert!(index.read().count("apple") <= 1));
/// });
/// assert_eq!(index.read().count("apple"), 1);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct SharedIndex<T = Index>(RwLock<T>);

impl SharedIndex<Index> {
    /// Shares an index in memory.
    pub fn new(index: Index) -> Self {
        Self(RwLock::new(index))
    }
}

impl SharedIndex<IndexFile> {
    /// Shares an index in a file.
    pub fn of_file(file: IndexFile) -> Self {
        Self(RwLock::new(file))
    }
}

impl<T> SharedIndex<T> {
    /// To ask; any number of threads at once.
    pub fn read(&self) -> impl Deref<Target = T> + use<'_, T> {
        // Nothing in here panics on data; should it, the index is as good as it was before.
        let guard: RwLockReadGuard<'_, T> = self.0.read().unwrap_or_else(PoisonError::into_inner);
        guard
    }

    /// To change; one thread, and nobody asks meanwhile.
    pub fn write(&self) -> impl DerefMut<Target = T> + use<'_, T> {
        let guard: RwLockWriteGuard<'_, T> = self.0.write().unwrap_or_else(PoisonError::into_inner);
        guard
    }

    /// The index, no longer shared.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
