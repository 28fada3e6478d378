//! The bytes of a Parquet file: in a local file, or somewhere else that returns ranges of them.
//!
//! A request to an object store takes milliseconds, so what is needed together is fetched together:
//! the end of the file, where the footer is and often the Bloom filters, and then whole column chunks.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use ::parquet::errors::Result as Decoded;
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::{Buf, Bytes};

/// How much is fetched from the end of a remote file at first.
const TAIL: u64 = 64 << 10;

/// A place that returns ranges of a file. All of them are of one version, or it is an error.
pub(crate) trait Ranges: Send + Sync {
    fn get(&self, range: Range<u64>) -> io::Result<Bytes>;
}

#[derive(Clone)]
pub(crate) struct Source(Arc<Inner>);

enum Inner {
    File(File, u64),
    Remote {
        ranges: Box<dyn Ranges>,
        size: u64,
        /// What has been fetched: the tail, and the latest chunk.
        fetched: Mutex<[Option<Fetched>; 2]>,
    },
}

#[derive(Clone)]
struct Fetched {
    start: u64,
    bytes: Bytes,
}

impl Source {
    pub(crate) fn file((file, size): (File, u64)) -> Self {
        Self(Arc::new(Inner::File(file, size)))
    }

    /// A file of `size` bytes somewhere else.
    #[cfg_attr(not(feature = "s3"), allow(dead_code))]
    pub(crate) fn remote(ranges: Box<dyn Ranges>, size: u64) -> io::Result<Self> {
        let start = size.saturating_sub(TAIL);
        let bytes = ranges.get(start..size)?;
        let tail = Some(Fetched { start, bytes });
        Ok(Self(Arc::new(Inner::Remote {
            ranges,
            size,
            fetched: Mutex::new([tail, None]),
        })))
    }

    pub(super) fn size(&self) -> u64 {
        match *self.0 {
            Inner::File(_, size) | Inner::Remote { size, .. } => size,
        }
    }

    /// Prepares to read this range, in pieces.
    pub(super) fn fetch(&self, range: Range<u64>) -> io::Result<()> {
        let Inner::Remote {
            ranges, fetched, ..
        } = &*self.0
        else {
            return Ok(());
        };
        if self.find(range.start, range.end - range.start).is_none() {
            let bytes = ranges.get(range.clone())?;
            let start = range.start;
            let mut fetched = fetched.lock().unwrap_or_else(PoisonError::into_inner);
            fetched[1] = Some(Fetched { start, bytes });
        }
        Ok(())
    }

    pub(super) fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        match &*self.0 {
            Inner::File(file, _) => file.read_exact_at(into, at),
            Inner::Remote { .. } => {
                let bytes = self.get(at, into.len() as u64)?;
                into.copy_from_slice(&bytes);
                Ok(())
            }
        }
    }

    /// A range of a remote file, if it has been fetched.
    fn find(&self, start: u64, len: u64) -> Option<Bytes> {
        let Inner::Remote { fetched, .. } = &*self.0 else {
            return None;
        };
        let fetched = fetched.lock().unwrap_or_else(PoisonError::into_inner);
        fetched.iter().flatten().find_map(|one| {
            let from = usize::try_from(start.checked_sub(one.start)?).ok()?;
            let to = from.checked_add(usize::try_from(len).ok()?)?;
            (to <= one.bytes.len()).then(|| one.bytes.slice(from..to))
        })
    }

    fn get(&self, start: u64, len: u64) -> io::Result<Bytes> {
        let Inner::Remote { ranges, size, .. } = &*self.0 else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let end = start.checked_add(len).filter(|end| end <= size);
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        match self.find(start, len) {
            Some(bytes) => Ok(bytes),
            None => ranges.get(start..end),
        }
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.size()
    }
}

impl ChunkReader for Source {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Decoded<Self::T> {
        match &*self.0 {
            Inner::File(file, _) => Ok(Box::new(file.get_read(start)?)),
            // The headers of pages are read in this way; a few bytes each.
            Inner::Remote { fetched, size, .. } => {
                let fetched = fetched.lock().unwrap_or_else(PoisonError::into_inner);
                let has = |one: &&Fetched| {
                    (one.start..one.start + one.bytes.len() as u64).contains(&start)
                };
                let found = fetched.iter().flatten().find(has).cloned();
                drop(fetched);
                let bytes = match found {
                    Some(one) => one.bytes.slice((start - one.start) as usize..),
                    None => self.get(start, (size.saturating_sub(start)).min(TAIL))?,
                };
                Ok(Box::new(bytes.reader()))
            }
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Decoded<Bytes> {
        match &*self.0 {
            Inner::File(file, _) => file.get_bytes(start, length),
            Inner::Remote { .. } => Ok(self.get(start, length as u64)?),
        }
    }
}
