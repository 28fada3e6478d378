//! The parts of files that are sets of an index, and how they are read.
//!
//! ```text
//!   app.log         one set: app.log
//!   big.log         a set for every 8 MiB, at line ends: big.log\0 0, big.log\0 1, ...
//!   logs.tar.gz     a set for every member: logs.tar.gz:app/1.log\0 0, ...
//! ```
//!
//! A block begins after the first line feed at or after its nominal start, so each can be found
//! and read by itself, and all processors work on one large file. Compressed files are not divided:
//! they can only be read from the beginning.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};
use bloomgrove::{Collector, Filter, Layout};
use bloomgrove_keys::Extraction;

use super::files::Wanted;
use crate::shared::keys::{self, Keys, text, unpack};
use crate::shared::progress::Progress;
use crate::shared::stamp::{Extent, Part, Stamp};

/// The nominal size of a block: large enough that its filter is small beside it, small enough that
/// reading one in vain costs milliseconds.
pub(super) const BLOCK: u64 = 8 << 20;
/// Memory for the hashes of one part before they go to disk.
const MEMORY: usize = 32 << 20;

/// A file, or a block of it, to be read.
pub(super) struct Job<'h> {
    pub(super) name: &'h [u8],
    pub(super) wanted: &'h Wanted,
    block: Option<u64>,
}

/// What was read: the name of a set, what it is, and its filter.
pub(super) type Sets = Vec<(Vec<u8>, Part, Filter)>;

/// How many blocks a plain file of this size has.
pub(super) fn blocks_of(size: u64) -> u64 {
    size.div_ceil(BLOCK)
}

/// The name of a part of a file: no file has a NUL byte in its name.
pub(super) fn block_name(file: &[u8], block: u64) -> Vec<u8> {
    [file, b"\0", block.to_string().as_bytes()].concat()
}

impl<'h> Job<'h> {
    /// What there is to read of a file.
    pub(super) fn of(name: &'h [u8], wanted: &'h Wanted, keys: &Keys) -> Vec<Self> {
        let job = |block| Self {
            name,
            wanted,
            block,
        };
        // What cannot be opened is reported when it is read.
        let in_blocks = wanted.size > BLOCK
            && keys.extraction.is_searched()
            && unpack::is_plain(&wanted.path).unwrap_or(false);
        match in_blocks {
            true => (0..blocks_of(wanted.size))
                .map(|block| job(Some(block)))
                .collect(),
            false => vec![job(None)],
        }
    }

    /// Whether this is all of its file, or the first block.
    pub(super) fn is_first(&self) -> bool {
        self.block.is_none_or(|block| block == 0)
    }

    /// Reads it, and returns its sets with the stamp that the file had.
    pub(super) fn read(&self, keys: &Keys, fpr: f64, progress: &Progress) -> Result<(Stamp, Sets)> {
        let path = &self.wanted.path;
        Stamp::of_reading(path, || match self.block {
            Some(block) => {
                let set = self.read_block(block, keys, fpr, progress);
                Ok(vec![set.with_context(|| path.display().to_string())?])
            }
            None if keys.extraction.is_in_table() => {
                let mut collector = new_collector(fpr)?;
                keys::read_by(path, keys, Some(progress), |values| {
                    values
                        .iter()
                        .try_for_each(|value| Ok(collector.insert(*value)?))
                })?;
                Ok(vec![(
                    self.name.to_vec(),
                    Part::default(),
                    collector.finish()?,
                )])
            }
            None => self
                .read_texts(&keys.extraction, fpr, progress)
                .with_context(|| path.display().to_string()),
        })
    }

    fn read_texts(&self, extraction: &Extraction, fpr: f64, progress: &Progress) -> Result<Sets> {
        let mut sets = Sets::new();
        unpack::each_text(&self.wanted.path, Some(progress), &mut |member, text| {
            let (seen, filter) = filter_of(text::decoded(text), extraction, fpr)?;
            let (name, extent) = match member {
                None => (self.name.to_vec(), Extent::Whole),
                Some(member) => {
                    // The number tells it from a file of that name, and from another in the archive.
                    let name = [self.name, b":", member.name].concat();
                    let extent = Extent::Member {
                        ordinal: member.ordinal,
                    };
                    (block_name(&name, member.ordinal), extent)
                }
            };
            sets.push((
                name,
                Part {
                    extent,
                    is_binary: seen.is_binary,
                },
                filter,
            ));
            Ok(true)
        })?;
        if sets.is_empty() {
            // An archive without files: known, and without keys.
            sets.push((
                self.name.to_vec(),
                Part::default(),
                new_collector(fpr)?.finish()?,
            ));
        }
        Ok(sets)
    }

    fn read_block(
        &self,
        block: u64,
        keys: &Keys,
        fpr: f64,
        progress: &Progress,
    ) -> Result<(Vec<u8>, Part, Filter)> {
        let file = File::open(&self.wanted.path)?;
        let (start, end) = bounds(&file, block, self.wanted.size)?;
        let bytes = Bytes {
            file: &file,
            at: start,
            end,
        };
        let (seen, filter) = match block {
            // Only the beginning of a file has a byte-order mark.
            0 => filter_of(text::decoded(bytes), &keys.extraction, fpr)?,
            _ => filter_of(bytes, &keys.extraction, fpr)?,
        };
        progress.add(end - start);
        let extent = Extent::Block {
            start,
            end,
            lines: seen.line_feeds,
        };
        let part = Part {
            extent,
            is_binary: seen.is_binary,
        };
        Ok((block_name(self.name, block), part, filter))
    }
}

/// Standard filters: in an index the bits of many filters lie next to each other, so that a blocked
/// one would take more space and be no faster.
fn new_collector(fpr: f64) -> Result<Collector> {
    let collector = Collector::new(fpr)?.memory(MEMORY).in_steps();
    Ok(collector.layout(Layout::Standard))
}

fn filter_of(text: impl Read, extraction: &Extraction, fpr: f64) -> Result<(text::Seen, Filter)> {
    let mut collector = new_collector(fpr)?;
    let seen = text::extract(text, extraction, &mut |key| Ok(collector.insert(key)?))?;
    Ok((seen, collector.finish()?))
}

/// Where a block begins and ends. A block in which no line begins is empty.
fn bounds(file: &File, block: u64, size: u64) -> Result<(u64, u64)> {
    let nominal = |block: u64| (block * BLOCK).min(size);
    let start = match block {
        0 => Some(0),
        _ => after_feed(file, nominal(block) - 1, nominal(block + 1))?,
    };
    let Some(start) = start.filter(|&start| start < nominal(block + 1)) else {
        return Ok((size.min(nominal(block + 1)), size.min(nominal(block + 1))));
    };
    let end = match nominal(block + 1) == size {
        true => size,
        false => after_feed(file, nominal(block + 1) - 1, size)?.unwrap_or(size),
    };
    Ok((start, end))
}

/// The position after the first line feed in a range.
fn after_feed(file: &File, from: u64, to: u64) -> Result<Option<u64>> {
    let mut buffer = vec![0; 1 << 14];
    let mut bytes = Bytes {
        file,
        at: from,
        end: to,
    };
    loop {
        let before = bytes.at;
        let read = bytes.read(&mut buffer).context("reading")?;
        if read == 0 {
            return Ok(None);
        }
        if let Some(at) = memchr::memchr(b'\n', &buffer[..read]) {
            return Ok(Some(before + at as u64 + 1));
        }
    }
}

/// A range of a file.
pub(super) struct Bytes<'f> {
    pub(super) file: &'f File,
    pub(super) at: u64,
    pub(super) end: u64,
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer
            .len()
            .min(usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX));
        let read = self.file.read_at(&mut buffer[..len], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The name of a member, from that of its set.
pub(super) fn member_name(file: &[u8], set: &[u8]) -> Vec<u8> {
    let member = set.get(file.len() + 1..).unwrap_or(set);
    let end = memchr::memchr(0, member).unwrap_or(member.len());
    member[..end].to_vec()
}

/// A file or a member of it, as it is printed.
pub(super) fn shown(path: &Path, member: Option<&[u8]>) -> std::path::PathBuf {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let Some(member) = member else {
        return path.to_owned();
    };
    let bytes = [path.as_os_str().as_bytes(), b":", member].concat();
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Every byte is in exactly one block, and blocks begin after line feeds.
    #[test]
    fn blocks_cover_a_file_line_by_line() {
        let line = |len: usize| [vec![b'x'; len], b"\n".to_vec()].concat();
        let block = BLOCK as usize;
        for lines in [
            vec![line(100); block / 50],
            vec![line(3 * block), line(10), line(10)],
            vec![line(block - 1), line(block - 1), line(5)],
            vec![vec![b'x'; 2 * block + 7]],
            vec![line(block), vec![b'y'; block]],
        ] {
            let text = lines.concat();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&text).unwrap();
            let size = text.len() as u64;
            let mut at = 0;
            for number in 0..blocks_of(size) {
                let (start, end) = bounds(&file, number, size).unwrap();
                if start == end {
                    continue;
                }
                assert_eq!(start, at);
                assert!(start == 0 || text[start as usize - 1] == b'\n');
                at = end;
            }
            assert_eq!(at, size);
        }
    }
}
