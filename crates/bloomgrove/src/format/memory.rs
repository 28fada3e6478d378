//! Growing files as bytes: to be sent, or stored outside the file system.

use std::fs::File;
use std::io::{self, Cursor, Write};
use std::path::Path;

use super::writer::Durable;
use super::{Content, Growing, Origin, Writer};
use crate::Error;

impl Durable for Cursor<Vec<u8>> {
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Writer<Cursor<Vec<u8>>> {
    /// Creates a file in memory.
    pub(crate) fn in_memory(content: Content) -> Result<Self, Error> {
        Self::begin_file(None, Cursor::default(), content)
    }

    /// Returns its bytes, all of which have been committed.
    pub(crate) fn into_bytes(self) -> Result<Vec<u8>, Error> {
        let file = self.into_inner().map_err(Error::io("writing"))?;
        Ok(file.into_inner())
    }
}

impl Growing {
    /// Copies the bytes of a file to anonymous memory, and checks every one of them.
    pub(crate) fn of_bytes(bytes: &[u8], content: Content) -> Result<Self, Error> {
        let write = || {
            let mut file = nameless()?;
            file.write_all(bytes)?;
            Ok(file)
        };
        let file = write().map_err(Error::io("copying bytes"))?;
        let file = Self::of_file(Path::new(""), file, content, Origin::Named)?;
        file.check_all()?;
        Ok(file)
    }
}

#[cfg(target_os = "linux")]
fn nameless() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("bloomgrove", MemfdFlags::CLOEXEC)?.into())
}

#[cfg(not(target_os = "linux"))]
fn nameless() -> io::Result<File> {
    tempfile::tempfile()
}
