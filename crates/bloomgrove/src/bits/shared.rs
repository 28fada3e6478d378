//! Words that many threads may set bits in at once.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Words;

/// [`Words`] given over to atomic access, and taken back when all is done.
///
/// `Relaxed` is enough: bits only ever go from 0 to 1, and each is its own fact.
/// A thread that learns of an insert through any synchronisation (a join, a
/// channel, a lock) also sees its bits.
#[derive(Debug)]
pub(crate) struct SharedWords {
    len: usize,
    address: *mut u64,
    /// Keeps the memory; never touched while `self` lives, except by `into_words`.
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
        // SAFETY: `address` points at `len` initialised, aligned words that `owner`
        // keeps alive and in place (moving a `Vec` or a map moves no heap memory);
        // nothing makes a reference to them as plain words while `self` lives; and
        // `AtomicU64` has the layout of `u64`.
        unsafe { std::slice::from_raw_parts(self.address.cast::<AtomicU64>(), self.len) }
    }

    /// A bit or several of one word; true if any was not set before.
    #[inline]
    pub(crate) fn set(&self, word: usize, mask: u64) -> bool {
        let word = &self.atomics()[word];
        // Reading first spares the locked instruction, and the cache line's
        // journey between cores, when the bits are there already.
        word.load(Relaxed) & mask != mask && word.fetch_or(mask, Relaxed) & mask != mask
    }

    #[inline]
    pub(crate) fn get(&self, position: u64) -> bool {
        self.atomics()[(position >> 6) as usize].load(Relaxed) >> (position & 63) & 1 != 0
    }
}
