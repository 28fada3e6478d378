//! Where pages lie: a file, read and written past the system's own cache if it can be.
//!
//! Direct I/O keeps the promise of a memory budget honest: with ordinary I/O the system would
//! keep as much of the filter in memory as it has room for, and writing would be a copy. It
//! wants memory, offsets and lengths at multiples of 4096, which everything behind the head of a page
//! file is.

use std::fmt;
use std::fs::File;
use std::io;

use memmap2::MmapMut;
use zerocopy::FromBytes;

use crate::Error;

/// What pages are read from and written to. Tests have others.
pub(super) trait Store: Send + Sync + fmt::Debug {
    /// Fills `buffer` from `offset` on.
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `bytes` at `offset`.
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Returns when all that was written has reached the disk.
    fn sync(&self) -> io::Result<()>;
    /// Whether the system's cache is passed by.
    fn is_direct(&self) -> bool;
    /// Whether somebody else has the file open to change it.
    fn is_locked(&self) -> bool;
}

/// An ordinary file.
#[derive(Debug)]
pub(super) struct FileStore {
    file: File,
    direct: bool,
}

impl FileStore {
    /// Takes a file over; its head has been read or written by ordinary I/O before.
    pub(super) fn new(file: File, direct: bool) -> Self {
        let direct = direct && go_direct(&file);
        Self { file, direct }
    }
}

/// Switches direct I/O on, if the file system has it.
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
    // Some file systems say yes and refuse every read.
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

/// Reserves `len` bytes on the disk, so that it cannot fill up halfway. File systems that
/// cannot reserve get a file with holes.
pub(super) fn reserve(file: &File, len: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
        use rustix::io::Errno;
        // A file system may fill itself up before it finds that there is too little.
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

/// Memory for a page or a part of one, aligned as direct I/O wants it.
pub(super) struct Buffer(MmapMut);

impl Buffer {
    /// `len` bytes, a multiple of 4096, all zero.
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
        // A map begins at a page of memory, so it is aligned; empty is unreachable.
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
