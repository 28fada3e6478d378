//! Words in which many threads can set bits concurrently.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Words;

/// [`Words`] under atomic access, which can be converted back at the end.
///
/// `Relaxed` is enough: bits only ever change from 0 to 1, and each is independent of the
/// others. A thread that learns of an insert through any synchronization (a join, a channel, a
/// lock) also sees its bits.
#[derive(Debug)]
pub(crate) struct SharedWords {
    len: usize,
    address: *mut u64,
    /// Owns the memory; not accessed while `self` exists, except by `into_words`.
    owner: Words,
}

// SAFETY: all access through `&self` is atomic, and the memory is owned.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    pub(crate) fn new(mut owner: Words) -> Self {
        Self {
            len: owner.as_ref().len(),
            address: owner.address(),
            owner,
        }
    }

    pub(crate) fn into_words(self) -> Words {
        self.owner
    }

    fn atomics(&self) -> &[AtomicU64] {
        // SAFETY: `address` points at `len` initialized, aligned words that `owner`
        // keeps alive and in place (moving a `Vec` or a map moves no heap memory);
        // no reference to them as plain words is created while `self` exists; and
        // `AtomicU64` has the layout of `u64`.
        unsafe { std::slice::from_raw_parts(self.address.cast::<AtomicU64>(), self.len) }
    }

    /// Sets one or more bits of a word; returns true if any was not set before.
    #[inline]
    pub(crate) fn set(&self, word: usize, mask: u64) -> bool {
        let word = &self.atomics()[word];
        // Reading first avoids the locked instruction, and moving the cache line between cores,
        // if the bits are already set.
        word.load(Relaxed) & mask != mask && word.fetch_or(mask, Relaxed) & mask != mask
    }

    #[inline]
    pub(crate) fn get(&self, position: u64) -> bool {
        self.atomics()[(position >> 6) as usize].load(Relaxed) >> (position & 63) & 1 != 0
    }
}
