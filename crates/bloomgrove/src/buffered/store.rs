//! Storage for pages: a file, read and written with direct I/O if possible.
//!
//! Direct I/O makes the memory budget meaningful: with buffered I/O, the system would cache as
//! much of the filter as it has room for, and a write would be a copy to that cache. It
//! requires memory, offsets and lengths to be multiples of 4096, which they are for everything
//! after the head of a page file.

use std::fmt;
use std::fs::File;
use std::io;

use memmap2::MmapMut;
use zerocopy::FromBytes;

use crate::Error;

/// The storage that pages are read from and written to. Tests have other implementations.
pub(super) trait Store: Send + Sync + fmt::Debug {
    /// Fills `buffer` with the bytes at `offset`.
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `bytes` at `offset`.
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Returns once all that was written has reached the disk.
    fn sync(&self) -> io::Result<()>;
    /// Returns whether the system's page cache is bypassed.
    fn is_direct(&self) -> bool;
    /// Returns whether another process has the file open for changes.
    fn is_locked(&self) -> bool;
}

/// A regular file.
#[derive(Debug)]
pub(super) struct FileStore {
    file: File,
    direct: bool,
}

impl FileStore {
    /// Takes over a file, whose head has already been read or written with ordinary I/O.
    pub(super) fn new(file: File, direct: bool) -> Self {
        let direct = direct && go_direct(&file);
        Self { file, direct }
    }
}

/// Enables direct I/O, if the file system supports it.
#[cfg(target_os = "linux")]
fn go_direct(file: &File) -> bool {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let switch = |on: bool| {
        fcntl_getfl(file).and_then(|flags| {
            let mut flags = flags;
            flags.set(OFlags::DIRECT, on);
            fcntl_setfl(file, flags)
        })
    };
    if switch(true).is_err() {
        return false;
    }
    // Some file systems accept the flag and then reject every read.
    let works = Buffer::new(4096).is_ok_and(|mut buffer| {
        std::os::unix::fs::FileExt::read_at(file, buffer.bytes_mut(), 0).is_ok()
    });
    works || switch(false).is_err()
}

#[cfg(not(target_os = "linux"))]
fn go_direct(_: &File) -> bool {
    false
}

impl Store for FileStore {
    #[cfg(unix)]
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset)
    }

    #[cfg(unix)]
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset)
    }

    #[cfg(windows)]
    fn read(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            let done = std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)?;
            if done == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer = &mut buffer[done..];
            offset += done as u64;
        }
        Ok(())
    }

    #[cfg(windows)]
    fn write(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let done = std::os::windows::fs::FileExt::seek_write(&self.file, bytes, offset)?;
            bytes = &bytes[done..];
            offset += done as u64;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn is_direct(&self) -> bool {
        self.direct
    }

    fn is_locked(&self) -> bool {
        match self.file.try_lock_shared() {
            Ok(()) => self.file.unlock().is_err(),
            Err(_) => true,
        }
    }
}

/// Reserves `len` bytes on the disk, so that it cannot fill up in the middle of the work. On
/// file systems that cannot reserve space, the file is sparse.
pub(super) fn reserve(file: &File, len: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
        use rustix::io::Errno;
        // A file system may fill up entirely before it reports that there is too little space.
        if fstatvfs(file).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < len) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        match fallocate(file, FallocateFlags::empty(), 0, len) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            other => return Ok(other?),
        }
    }
    file.set_len(len)
}

/// Memory for a page or part of one, aligned for direct I/O.
pub(super) struct Buffer(MmapMut);

impl Buffer {
    /// Allocates `len` zeroed bytes; `len` is a multiple of 4096.
    pub(super) fn new(len: usize) -> Result<Self, Error> {
        let no_room = |_| Error::OutOfMemory { bytes: len as u64 };
        MmapMut::map_anon(len).map(Self).map_err(no_room)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    pub(super) fn words(&self) -> &[u64] {
        // A map starts at a memory page, so it is aligned; the empty case is unreachable.
        <[u64]>::ref_from_bytes(&self.0).unwrap_or(&[])
    }

    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        <[u64]>::mut_from_bytes(&mut self.0).unwrap_or(&mut [])
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.0.len())
    }
}
