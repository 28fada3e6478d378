//! Memory maps of files, and words in them.

#![allow(unsafe_code)]

use std::fmt;
use std::fs::File;
use std::sync::Arc;

use memmap2::{Mmap, MmapOptions};

use crate::Error;

/// Up to this size, read-ahead soon brings the whole file into memory.
const READ_AHEAD_HELPS: usize = 1 << 30;

/// A read-only map of a whole file, shared by all that borrow from it.
#[derive(Clone)]
pub(super) struct FileMap(Arc<Mmap>);

impl FileMap {
    pub(super) fn of(file: &File) -> Result<Self, Error> {
        Self::new(file, &MmapOptions::new())
    }

    /// Maps the first `len` bytes of a file.
    pub(super) fn of_start(file: &File, len: u64) -> Result<Self, Error> {
        let len = usize::try_from(len).map_err(|_| Error::OutOfMemory { bytes: len })?;
        Self::new(file, MmapOptions::new().len(len))
    }

    fn new(file: &File, options: &MmapOptions) -> Result<Self, Error> {
        // SAFETY: sound as long as no process changes the file in place, which we cannot prevent.
        // This is the accepted price of opening files of any size instantly. Our own files are only
        // ever replaced by renaming (see `writer`) or extended after the mapped part (see
        // `growing`), FORMAT.md requires the same of other programs, and every function that maps a
        // file documents it.
        let map = unsafe { options.map(file) }.map_err(Error::io("mapping"))?;
        Ok(Self(Arc::new(map)))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Advises the system that reads will be random, if the file is so large that read-ahead would
    /// load data that is never used: with read-ahead, the first query of a cold file of 4 GB took
    /// 17 ms per key.
    pub(super) fn expect_jumps(&self) {
        #[cfg(unix)]
        if self.0.len() > READ_AHEAD_HELPS {
            // Advice only.
            let _ = self.0.advise(memmap2::Advice::Random);
        }
    }
}

impl fmt::Debug for FileMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileMap({} bytes)", self.0.len())
    }
}

/// Words of a filter in a mapped file. Cheap to clone; the file stays mapped as long as any clone
/// exists.
#[derive(Clone)]
pub struct MappedWords {
    /// Keeps `words` valid.
    map: FileMap,
    words: *const u64,
    len: usize,
}

// SAFETY: the words are only read, and the map that contains them is kept alive.
unsafe impl Send for MappedWords {}
// SAFETY: as above.
unsafe impl Sync for MappedWords {}

impl MappedWords {
    /// Returns `len` bytes at `offset` as words. The caller has checked that they are within the
    /// file.
    pub(super) fn new(map: &FileMap, offset: u64, len: u64) -> Result<Self, Error> {
        let corrupt = |what: &'static str| Error::corrupt("bits section", offset, what);
        if cfg!(target_endian = "big") {
            return Err(Error::Unsupported {
                what: "files cannot be mapped on a big-endian machine; load them instead",
            });
        }
        let bytes = &map.bytes()[offset as usize..][..len as usize];
        if !len.is_multiple_of(8) || bytes.as_ptr().align_offset(8) != 0 {
            return Err(corrupt("its length is not a multiple of 8"));
        }
        Ok(Self {
            map: map.clone(),
            words: bytes.as_ptr().cast(),
            len: bytes.len() / 8,
        })
    }

    /// Advises the system that all words are about to be read in order.
    pub(crate) fn expect_scan(&self) {
        #[cfg(unix)]
        // Advice only.
        let _ = self.map.0.advise(memmap2::Advice::Sequential);
    }

    /// Returns part of these words, in the same map.
    pub(crate) fn part(&self, start: usize, len: usize) -> Option<Self> {
        let part = self.as_ref().get(start..start.checked_add(len)?)?;
        Some(Self {
            map: self.map.clone(),
            words: part.as_ptr(),
            len,
        })
    }
}

impl AsRef<[u64]> for MappedWords {
    #[inline]
    fn as_ref(&self) -> &[u64] {
        // SAFETY: `new` and `part` took the pointer from a slice of the map with room
        // for `len` words, aligned to 8; `map` keeps it mapped; any bytes are a u64.
        unsafe { std::slice::from_raw_parts(self.words, self.len) }
    }
}

impl fmt::Debug for MappedWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MappedWords({} words)", self.len)
    }
}

/// Bytes in a mapped file. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct MappedBytes {
    map: FileMap,
    start: usize,
    end: usize,
}

impl MappedBytes {
    /// Maps all bytes of a file that is not in our format. It must not be changed in place
    /// meanwhile.
    pub(crate) fn of_file(file: &File) -> Result<Self, Error> {
        let map = FileMap::of(file)?;
        let end = map.bytes().len();
        Ok(Self { map, start: 0, end })
    }

    /// Returns `len` bytes at `offset`. The caller has checked that they are within the file.
    pub(super) fn new(map: &FileMap, offset: u64, len: u64) -> Self {
        Self {
            map: map.clone(),
            start: offset as usize,
            end: (offset + len) as usize,
        }
    }
}

impl AsRef<[u8]> for MappedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.map.bytes()[self.start..self.end]
    }
}
