//! Owned words: zeroed, aligned to the cache line, on huge pages when large.

use std::fmt;

use memmap2::MmapMut;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::Error;

/// From this size on, words live in their own anonymous map with huge pages
/// advised: with 4 KiB pages a filter of 120 MB misses the TLB on nearly every
/// probe. The size of one huge page on x86-64.
const LARGE: usize = 2 << 20;

/// One cache line, so that a vector of them is aligned like one.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
struct Line([u64; super::LINE_WORDS]);

/// An owned, zeroed array of words, aligned to 64 bytes.
///
/// Making one checks for memory instead of aborting, and large ones cost
/// nothing until touched.
pub struct Words {
    len: usize,
    memory: Memory,
}

enum Memory {
    Small(Vec<Line>),
    Large(MmapMut),
}

impl Words {
    /// `len` words, all zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the machine will not give that much.
    pub fn zeroed(len: usize) -> Result<Self, Error> {
        let too_large = || Error::OutOfMemory {
            bytes: (len as u64).saturating_mul(8),
        };
        let bytes = len
            .checked_next_multiple_of(super::LINE_WORDS)
            .and_then(|words| words.checked_mul(8))
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(too_large)?;
        let memory = if bytes < LARGE {
            Memory::Small(Line::new_vec_zeroed(bytes / 64).map_err(|_| too_large())?)
        } else {
            let map = MmapMut::map_anon(bytes).map_err(|_| too_large())?;
            #[cfg(target_os = "linux")]
            // Advice only: a kernel without huge pages is slower, not wrong.
            let _ = map.advise(memmap2::Advice::HugePage);
            Memory::Large(map)
        };
        Ok(Self { len, memory })
    }

    /// A copy of `words`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], as [`Words::zeroed`].
    pub fn copy_of(words: &[u64]) -> Result<Self, Error> {
        let mut copy = Self::zeroed(words.len())?;
        copy.as_mut().copy_from_slice(words);
        Ok(copy)
    }

    /// The address of the first word, for [`super::SharedWords`].
    pub(super) fn address(&mut self) -> *mut u64 {
        match &mut self.memory {
            Memory::Small(lines) => lines.as_mut_ptr().cast(),
            Memory::Large(map) => map.as_mut_ptr().cast(),
        }
    }
}

impl AsRef<[u64]> for Words {
    #[inline]
    fn as_ref(&self) -> &[u64] {
        let bytes = match &self.memory {
            Memory::Small(lines) => lines.as_bytes(),
            Memory::Large(map) => map,
        };
        // SAFETY: both memories are aligned to 64 bytes, initialised, and hold at
        // least `len` words (`zeroed` rounds up); the borrow is that of `self`.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), self.len) }
    }
}

impl AsMut<[u64]> for Words {
    #[inline]
    fn as_mut(&mut self) -> &mut [u64] {
        let len = self.len;
        // SAFETY: as in `as_ref`, and the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.address(), len) }
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({} words)", self.len)
    }
}
