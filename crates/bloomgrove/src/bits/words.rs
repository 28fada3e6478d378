//! Owned words: zeroed, aligned to the cache line, on huge pages when large.

use std::fmt;
use std::ptr::NonNull;

use memmap2::MmapMut;
use zerocopy::FromZeros;

use crate::Error;

/// From this size on, words are in a separate anonymous map with huge pages advised: with 4 KiB
/// pages, a filter of 120 MB misses the TLB on nearly every probe. This is the size of one huge
/// page on x86-64.
const LARGE: usize = 2 << 20;

/// The size of a cache line in bytes.
const LINE: usize = super::LINE_WORDS * 8;

/// An owned, zeroed array of words, aligned to 64 bytes.
///
/// Allocation returns an error instead of aborting if memory is short, and large arrays use no
/// memory until they are touched.
pub struct Words {
    /// In `_memory`. Computing it for every key would take seven more instructions.
    first: NonNull<u64>,
    len: usize,
    /// Owns the words; accessed only through `first`.
    _memory: Memory,
}

/// The fields are never read, only dropped.
#[allow(dead_code)]
enum Memory {
    /// A few more words than needed, so that they can start at a cache line. Requesting that
    /// alignment from the allocator instead costs a server with 100,000 filters a second copy
    /// of them all: a freed block is a few bytes too small to be reused (glibc before 2.38).
    Small(Vec<u64>),
    Large(MmapMut),
}

// SAFETY: the words are owned, and changed only through `&mut self`.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// Allocates `len` words, all zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the memory cannot be allocated.
    pub fn zeroed(len: usize) -> Result<Self, Error> {
        let too_large = || Error::OutOfMemory {
            bytes: (len as u64).saturating_mul(8),
        };
        let bytes = len
            .checked_next_multiple_of(super::LINE_WORDS)
            .and_then(|words| words.checked_mul(8))
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(too_large)?;
        let (first, memory) = if bytes < LARGE {
            let spare = super::LINE_WORDS - 1;
            let mut words = u64::new_vec_zeroed(bytes / 8 + spare).map_err(|_| too_large())?;
            let start = words.as_ptr().addr().wrapping_neg() % LINE / 8;
            (words[start..].as_mut_ptr(), Memory::Small(words))
        } else {
            // Linux aligns a map to huge pages only if it is a multiple of them; otherwise two of them
            // may be lost, which are all of a map of 4 MB.
            let whole = bytes.checked_next_multiple_of(LARGE).unwrap_or(bytes);
            let mut map = MmapMut::map_anon(whole).map_err(|_| too_large())?;
            #[cfg(target_os = "linux")]
            // Only a hint: a kernel without huge pages is slower, but correct. Not for the last, which
            // would take memory that nobody uses.
            let _ = map.advise_range(memmap2::Advice::HugePage, 0, bytes / LARGE * LARGE);
            (map.as_mut_ptr().cast(), Memory::Large(map))
        };
        let first = NonNull::new(first).ok_or_else(too_large)?;
        Ok(Self {
            first,
            len,
            _memory: memory,
        })
    }

    /// Copies `words`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], as for [`Words::zeroed`].
    pub fn copy_of(words: &[u64]) -> Result<Self, Error> {
        let mut copy = Self::zeroed(words.len())?;
        copy.as_mut().copy_from_slice(words);
        Ok(copy)
    }

    /// Returns the address of the first word, for [`super::SharedWords`].
    pub(super) fn address(&mut self) -> *mut u64 {
        self.first.as_ptr()
    }
}

impl AsRef<[u64]> for Words {
    #[inline]
    fn as_ref(&self) -> &[u64] {
        // SAFETY: `first` is aligned to 64 bytes and followed by at least `len` initialized words
        // (`zeroed` rounds up), which `_memory` keeps alive and in place (moving a `Vec` or a map
        // moves no heap memory); the borrow is that of `self`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl AsMut<[u64]> for Words {
    #[inline]
    fn as_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `as_ref`, and the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({} words)", self.len)
    }
}
