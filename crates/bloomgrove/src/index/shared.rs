//! One index for many threads: queries and changes at the same time, and neither waits long.
//!
//! ```text
//!   readers   |--which--|  |--which--|   |--which--||--which--|
//!   writer       copies, outside the lock    |part|  |part|  |part|
//! ```
//!
//! A change blocks readers only while one part of it is applied: a few thousand bits. Longer work
//! is either done on copies that are swapped in (growing, changing the shape), or in parts that are
//! invisible to queries: a new filter until its last part is in place, an old one before its first
//! part is cleared.
//!
//! Why not a copy for every reader: the filters of a hundred thousand sets take gigabytes in a few
//! matrices, and every change touches all rows of a matrix. There is no memory for two copies of
//! everything.
//!
//! A key that was in a set when a query began is found, whatever changes meanwhile: bits are only
//! added to a set, and a filter that replaces another is shown before the old one is removed.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{
    Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};

use super::staged::{PART, Retired, Staged};
use super::{Index, SetId};
use crate::bits::Words;
use crate::{Error, Filter};

/// The number of words of a filter that are copied at a time.
const COPY: usize = 1 << 11;
/// How many times copying a filter is retried if sets change meanwhile, before changes are locked
/// out.
const TRIES: usize = 4;
/// How many times a change yields to waiting readers between two parts.
const YIELDS: usize = 100;

/// An [`Index`] shared by threads.
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
///         index.add("north", filter)?;
///         Ok::<(), bloomgrove::Error>(())
///     });
///     scope.spawn(|| assert!(index.read().count("apple") <= 1));
/// });
/// assert_eq!(index.read().count("apple"), 1);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct SharedIndex {
    index: RwLock<Index>,
    /// Held during all parts of a change.
    changing: Mutex<()>,
    /// The number of readers that wait for a part of a change.
    waiting: AtomicUsize,
}

impl SharedIndex {
    /// Creates a shared index.
    pub fn new(index: Index) -> Self {
        Self {
            index: RwLock::new(index),
            changing: Mutex::new(()),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Locks the index for queries, by any number of threads at once. A change waits until the lock
    /// is released, and later readers wait for the change, so do a bounded amount of work at a
    /// time.
    pub fn read(&self) -> impl Deref<Target = Index> + use<'_> {
        self.try_read_lock().unwrap_or_else(|| {
            self.waiting.fetch_add(1, Relaxed);
            let index = self.index.read();
            self.waiting.fetch_sub(1, Relaxed);
            index.unwrap_or_else(PoisonError::into_inner)
        })
    }

    /// Same as [`read`](Self::read), but returns `None` instead of waiting.
    pub fn try_read(&self) -> Option<impl Deref<Target = Index> + use<'_>> {
        self.try_read_lock()
    }

    /// Same as [`Index::add`].
    pub fn add(&self, name: impl AsRef<[u8]>, filter: Filter) -> Result<SetId, Error> {
        let (name, _changing) = (name.as_ref(), self.change());
        if self.read().get(name).is_ok() {
            return Err(super::change::duplicate(name));
        }
        self.put(name, filter, None)
    }

    /// Same as [`Index::replace`]. Queries find the old filter, the new one, or both.
    pub fn replace(&self, name: impl AsRef<[u8]>, filter: Filter) -> Result<SetId, Error> {
        let (name, _changing) = (name.as_ref(), self.change());
        let id = self.read().get(name)?.id();
        self.put(name, filter, Some(id))
    }

    /// Same as [`Index::remove`].
    pub fn remove(&self, name: impl AsRef<[u8]>) -> Result<SetId, Error> {
        let _changing = self.change();
        let (id, retired, unused) = self.write().retire(name.as_ref())?;
        drop(unused);
        self.sweep(retired)?;
        Ok(id)
    }

    /// Same as [`Index::rename`].
    pub fn rename(&self, name: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Result<SetId, Error> {
        let _changing = self.change();
        self.write().rename(name, new)
    }

    /// Same as [`Index::set_bits`]. A query meanwhile may find some of the bits and not others.
    ///
    /// # Errors
    /// Same as for [`Index::set_bits`]; some bits may have been set then.
    pub fn set_bits(&self, name: impl AsRef<[u8]>, positions: &[u64]) -> Result<(), Error> {
        let (name, _changing) = (name.as_ref(), self.change());
        for part in positions.chunks(PART) {
            self.write().set_bits(name, part)?;
            self.pause();
        }
        Ok(())
    }

    /// Same as [`Index::filter`]. The result contains every bit that was set before the call, and
    /// possibly some that are set during it.
    pub fn filter(&self, name: impl AsRef<[u8]>) -> Result<Filter, Error> {
        let name = name.as_ref();
        for _ in 0..TRIES {
            if let Some(filter) = self.copy(name)? {
                return Ok(filter);
            }
        }
        // Nothing is moved while this is locked.
        let _changing = self.change();
        self.read().filter(name)
    }

    /// Copies a filter part by part. Returns `None` if sets were added or removed meanwhile, or if
    /// the filter is not in one place.
    fn copy(&self, name: &[u8]) -> Result<Option<Filter>, Error> {
        let (place, params, epoch) = {
            let index = self.read();
            let place = index.newest(name)?;
            if index.is_sliced(index.at(place).id()) {
                return Ok(None);
            }
            (
                place,
                index.classes[place.class].params.clone(),
                index.epoch,
            )
        };
        let mut words = Words::zeroed(params.words())?;
        let len = words.as_ref().len();
        for start in (0..len).step_by(COPY) {
            let part = start..len.min(start + COPY);
            let index = self.read();
            if index.epoch != epoch {
                return Ok(None);
            }
            let segment = &index.classes[place.class].segments[place.segment];
            let Some(body) = segment.plain() else {
                return Ok(None);
            };
            body.copy(place.slot, part.clone(), &mut words.as_mut()[part]);
        }
        Filter::from_words(params, words).map(Some)
    }

    /// Stores a filter part by part, and then removes the old filter of the set, if there is one.
    fn put(&self, name: &[u8], filter: Filter, old: Option<SetId>) -> Result<SetId, Error> {
        let room = self.read().room(filter.params())?;
        if let Some(room) = room {
            let unused = self.write().take_room(filter.params(), room);
            drop(unused);
        }
        let tag = match old {
            Some(_) => self.read().get(name)?.tag().to_vec(),
            None => Vec::new(),
        };
        // Counted before any reader has to wait for it.
        let ones = filter.count_ones();
        let staged = self.write().stage(filter, ones, old, name, &tag)?;
        self.show(name, staged)
    }

    fn show(&self, name: &[u8], mut staged: Staged) -> Result<SetId, Error> {
        loop {
            let filled = self.write().fill(&mut staged);
            match filled {
                Ok(true) => break,
                Ok(false) => self.pause(),
                Err(error) => {
                    let retired = self.write().abandon(&staged);
                    self.sweep(vec![retired])?;
                    return Err(error);
                }
            }
        }
        let (retired, unused) = self.write().show(&staged, name);
        drop(unused);
        self.sweep(retired)?;
        // Readers continue meanwhile, with the old segment.
        let moved = self.read().moved(staged.place());
        if let Some(moved) = moved {
            let unused = std::mem::replace(self.write().segment_mut(staged.place()), moved);
            drop(unused);
        }
        Ok(staged.id())
    }

    fn sweep(&self, retired: Vec<Retired>) -> Result<(), Error> {
        for mut retired in retired {
            loop {
                let (done, unused) = self.write().sweep(&mut retired)?;
                drop(unused);
                if done {
                    break;
                }
                self.pause();
            }
        }
        Ok(())
    }

    /// Lets waiting readers in. Otherwise they would wake up to find the lock taken again.
    fn pause(&self) {
        for _ in 0..YIELDS {
            if self.waiting.load(Relaxed) == 0 {
                break;
            }
            std::thread::yield_now();
        }
    }

    fn try_read_lock(&self) -> Option<RwLockReadGuard<'_, Index>> {
        match self.index.try_read() {
            Ok(index) => Some(index),
            // Nothing in here panics on data. If it did, the index would still be consistent.
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}
