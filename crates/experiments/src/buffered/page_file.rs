//! Pages of a filter, in memory or in a file with direct I/O: the storage of `literal`.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result};

/// Direct I/O requires buffers at multiples of this; also what a single access reads.
pub(super) const SECTOR: usize = 4096;

/// The pages of the filter.
pub(super) enum Pages {
    Memory(Vec<u8>),
    Disk { file: File, buffer: Aligned },
}

impl Pages {
    /// A file of zeros, with direct I/O if possible; all of it is written, so that reading it is real.
    pub(super) fn create(path: &Path, pages: u64, page_bytes: usize) -> Result<Self> {
        let named = || path.display().to_string();
        let mut buffer = Aligned::new(page_bytes);
        let open = |flags: i32| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(true);
            options.custom_flags(flags).open(path)
        };
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let file = match open(direct) {
            // Some file systems accept the flag and reject the first write.
            Ok(file) if file.write_all_at(buffer.bytes(), 0).is_ok() => file,
            _ => open(0).with_context(named)?,
        };
        for page in 0..pages {
            file.write_all_at(buffer.bytes(), page * page_bytes as u64)
                .with_context(named)?;
        }
        file.sync_all().with_context(named)?;
        Ok(Self::Disk { file, buffer })
    }

    /// Reads a page and calls `work` with it; writes it back if it was changed.
    pub(super) fn visit(
        &mut self,
        page: usize,
        bytes: usize,
        changed: bool,
        work: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        match self {
            Pages::Memory(all) => work(&mut all[page * bytes..(page + 1) * bytes]),
            Pages::Disk { file, buffer } => {
                let offset = (page * bytes) as u64;
                file.read_exact_at(buffer.bytes(), offset)?;
                work(buffer.bytes());
                if changed {
                    file.write_all_at(buffer.bytes(), offset)?;
                }
            }
        }
        Ok(())
    }

    /// The same for one byte, of which a sector is read.
    pub(super) fn access(
        &mut self,
        at: u64,
        changed: bool,
        work: impl FnOnce(&mut u8),
    ) -> Result<()> {
        match self {
            Pages::Memory(all) => work(&mut all[at as usize]),
            Pages::Disk { file, buffer } => {
                let (sector, place) = (at / SECTOR as u64 * SECTOR as u64, at as usize % SECTOR);
                let buffer = &mut buffer.bytes()[..SECTOR];
                file.read_exact_at(buffer, sector)?;
                work(&mut buffer[place]);
                if changed {
                    file.write_all_at(buffer, sector)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn sync(&self) -> Result<()> {
        if let Pages::Disk { file, .. } = self {
            file.sync_all()?;
        }
        Ok(())
    }
}

/// Bytes at a multiple of a sector.
pub(super) struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(length: usize) -> Self {
        let bytes = vec![0; length.max(SECTOR) + SECTOR];
        Self {
            start: bytes.as_ptr().align_offset(SECTOR),
            length: length.max(SECTOR),
            bytes,
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}
