//! Algorithms 1 and 2 to the letter, and with each of the two ideas of section 6 alone.
//!
//! ```text
//!   Algorithm 1   k offsets of a key wait in the block of its page       4 bytes each
//!   Algorithm 2   the record itself waits, and is hashed at the flush    8 bytes
//!
//!   sub-filters   all bits of a key are in the page that h0 chooses; otherwise anywhere
//!   buffers       accesses wait for their page; otherwise each is made at once
//! ```
//!
//! Apart from the library: one thread, one page at a time, a block of equal size for every page, every
//! page read before it is changed, no checksums. So the memory for blocks means what it means in the
//! paper. At the end, all blocks are flushed, which the algorithms leave out.
//!
//! With buffers but without sub-filters, the bits of a probe are read at different times. Its record
//! waits in a table with the number of its bits still to be read, and each access in a block names its
//! place there: the bookkeeping that section 6 predicts.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use bloomgrove::raw::bits::Walk;
use bloomgrove::raw::hash::{Digest, Hasher, Independent, Start, Xxh3Hasher, mix, scale};

use super::page_file::{Pages, SECTOR};
use super::setup::{Answers, Keys, Run, chunks};
use crate::memory::{begin_anew, resident};

/// Bytes of an offset, of a record, and of an access with its place in the table of records.
const OFFSET: u64 = size_of::<u32>() as u64;
const RECORD: u64 = size_of::<u64>() as u64;
const ACCESS: u64 = size_of::<(u32, u32)>() as u64;
/// Bytes of a place in the table, and of its number in the list of free ones.
const PLACE: u64 = size_of::<Place>() as u64 + 4;

/// What is built and probed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Literal {
    pub(super) pages: u64,
    pub(super) page_bytes: u64,
    pub(super) hashes: u32,
    /// Bytes for waiting accesses; none if accesses do not wait.
    pub(super) memory: Option<u64>,
    pub(super) sub_filters: bool,
    /// Whether the pages are in memory instead of on disk.
    pub(super) in_memory: bool,
    /// Without buffers: stop after this many seconds, and extrapolate.
    pub(super) patience: f64,
}

/// A probe whose bits are read at different times.
#[derive(Clone, Copy)]
struct Place {
    record: u64,
    left: u8,
    failed: bool,
}

impl Literal {
    pub(super) fn run(&self, path: &Path, keys: Keys) -> Result<Run> {
        let mut pages = match self.in_memory {
            true => Pages::Memory(vec![0; (self.pages * self.page_bytes) as usize]),
            false => Pages::create(path, self.pages, self.page_bytes as usize)?,
        };
        begin_anew();
        let start = Instant::now();
        let (built, build_visits) = match self.memory {
            Some(memory) => self.build(&mut pages, memory, keys)?,
            None => self.build_singly(&mut pages, keys)?,
        };
        let build = start.elapsed().as_secs_f64() / built;
        let start = Instant::now();
        let mut answers = Answers::default();
        let (probed, probe_visits) = match (self.memory, self.sub_filters) {
            (Some(memory), true) => self.probe(&mut pages, memory, keys, &mut answers)?,
            (Some(memory), false) => {
                self.probe_scattered(&mut pages, memory, keys, &mut answers)?
            }
            (None, _) => self.probe_singly(&mut pages, keys, &mut answers)?,
        };
        let probe = start.elapsed().as_secs_f64() / probed;
        let unit = match (self.in_memory, self.memory) {
            (true, _) => 0,
            (_, Some(_)) => self.page_bytes,
            (_, None) => SECTOR as u64,
        };
        // Not all keys were inserted if the build was extrapolated.
        let fpr = match built < 1.0 {
            true => f64::NAN,
            false => answers.rate(&keys)?,
        };
        Ok(Run {
            build,
            probe,
            fpr,
            resident: resident(),
            flushes: [build_visits, probe_visits],
            written: build_visits * unit,
            read: (build_visits + probe_visits) * unit,
            slowest: build + probe,
        })
    }

    fn page_bits(&self) -> u64 {
        self.page_bytes * 8
    }

    /// h0 and the k offsets of a key; the page of each differs without sub-filters.
    #[inline(always)]
    fn places(&self, key: u64) -> impl Iterator<Item = (usize, u32)> {
        let digest: Digest = Xxh3Hasher { seed: 0 }.digest(&key.to_le_bytes());
        let (bits, together) = (self.page_bits(), self.sub_filters);
        let page = scale(mix(digest.lo), self.pages);
        let range = if together { bits } else { bits * self.pages };
        let mut walk = Independent::start(digest, range);
        (0..self.hashes).map(move |_| {
            let position = walk.next(range);
            let (page, offset) = match together {
                true => (page, position),
                false => (position / bits, position % bits),
            };
            (page as usize, offset as u32)
        })
    }

    /// A block for each page with room for its share of the memory.
    fn blocks<T>(&self, memory: u64, bytes: u64) -> (Vec<Vec<T>>, usize) {
        let room = (memory / self.pages / bytes).max(1) as usize;
        let block = |_| Vec::with_capacity(room);
        ((0..self.pages).map(block).collect(), room)
    }

    /// Algorithm 1. Like all of these, returns the share of the keys that was done, and page visits.
    fn build(&self, pages: &mut Pages, memory: u64, keys: Keys) -> Result<(f64, u64)> {
        let (mut blocks, room) = self.blocks::<u32>(memory, OFFSET);
        let mut visits = 0;
        let mut flush = |pages: &mut Pages, page: usize, block: &mut Vec<u32>| {
            visits += 1;
            pages.visit(page, self.page_bytes as usize, true, |bytes| {
                for offset in block.drain(..) {
                    bytes[offset as usize / 8] |= 1 << (offset % 8);
                }
            })
        };
        chunks(0, keys.build, |keys| {
            for key in keys {
                for (page, offset) in self.places(*key) {
                    blocks[page].push(offset);
                    if blocks[page].len() == room {
                        flush(pages, page, &mut blocks[page])?;
                    }
                }
            }
            Ok(())
        })?;
        for (page, block) in blocks.iter_mut().enumerate() {
            if !block.is_empty() {
                flush(pages, page, block)?;
            }
        }
        pages.sync()?;
        Ok((1.0, visits))
    }

    /// Algorithm 2.
    fn probe(
        &self,
        pages: &mut Pages,
        memory: u64,
        keys: Keys,
        answers: &mut Answers,
    ) -> Result<(f64, u64)> {
        let (mut blocks, room) = self.blocks::<u64>(memory, RECORD);
        let mut visits = 0;
        let mut flush = |pages: &mut Pages, page: usize, block: &mut Vec<u64>| {
            visits += 1;
            pages.visit(page, self.page_bytes as usize, false, |bytes| {
                for record in block.drain(..) {
                    let found = self.places(record).all(|(_, offset)| is_set(bytes, offset));
                    answers.take(&keys, record, found);
                }
            })
        };
        chunks(keys.first(), keys.probe, |records| {
            for record in records {
                let page = self.places(*record).next().map_or(0, |(page, _)| page);
                blocks[page].push(*record);
                if blocks[page].len() == room {
                    flush(pages, page, &mut blocks[page])?;
                }
            }
            Ok(())
        })?;
        for (page, block) in blocks.iter_mut().enumerate() {
            if !block.is_empty() {
                flush(pages, page, block)?;
            }
        }
        Ok((1.0, visits))
    }

    /// Algorithm 2 as section 6 adapts it to bits anywhere. A waiting probe has a place in the table
    /// for as long as one of its accesses waits; on average three quarters of two accesses do, so the
    /// memory is divided accordingly.
    fn probe_scattered(
        &self,
        pages: &mut Pages,
        memory: u64,
        keys: Keys,
        answers: &mut Answers,
    ) -> Result<(f64, u64)> {
        let share = ACCESS as f64 / (ACCESS as f64 + 0.75 * PLACE as f64);
        let (mut blocks, room) = self.blocks::<(u32, u32)>((memory as f64 * share) as u64, ACCESS);
        let (mut table, mut free): (Vec<Place>, Vec<u32>) = Default::default();
        let mut visits = 0;
        let mut flush = |pages: &mut Pages,
                         page: usize,
                         block: &mut Vec<(u32, u32)>,
                         table: &mut [Place],
                         free: &mut Vec<u32>| {
            visits += 1;
            pages.visit(page, self.page_bytes as usize, false, |bytes| {
                for (number, offset) in block.drain(..) {
                    let place = &mut table[number as usize];
                    place.failed |= !is_set(bytes, offset);
                    place.left -= 1;
                    if place.left == 0 {
                        answers.take(&keys, place.record, !place.failed);
                        free.push(number);
                    }
                }
            })
        };
        chunks(keys.first(), keys.probe, |records| {
            for record in records {
                let place = Place {
                    record: *record,
                    left: self.hashes as u8,
                    failed: false,
                };
                let number = match free.pop() {
                    Some(number) => {
                        table[number as usize] = place;
                        number
                    }
                    None => {
                        table.push(place);
                        table.len() as u32 - 1
                    }
                };
                for (page, offset) in self.places(*record) {
                    blocks[page].push((number, offset));
                    if blocks[page].len() == room {
                        flush(pages, page, &mut blocks[page], &mut table, &mut free)?;
                    }
                }
            }
            Ok(())
        })?;
        for (page, block) in blocks.iter_mut().enumerate() {
            if !block.is_empty() {
                flush(pages, page, block, &mut table, &mut free)?;
            }
        }
        Ok((1.0, visits))
    }

    /// No buffers: every bit is read, changed and written at once.
    fn build_singly(&self, pages: &mut Pages, keys: Keys) -> Result<(f64, u64)> {
        let mut visits = 0;
        let done = self.until(0, keys.build, |key| {
            for (page, offset) in self.places(key) {
                visits += 1;
                let at = page as u64 * self.page_bytes + u64::from(offset) / 8;
                pages.access(at, true, |byte| *byte |= 1 << (offset % 8))?;
            }
            Ok(())
        })?;
        Ok((done, visits))
    }

    fn probe_singly(
        &self,
        pages: &mut Pages,
        keys: Keys,
        answers: &mut Answers,
    ) -> Result<(f64, u64)> {
        let mut visits = 0;
        let done = self.until(keys.first(), keys.probe, |key| {
            let mut found = true;
            for (page, offset) in self.places(key) {
                visits += 1;
                let at = page as u64 * self.page_bytes + u64::from(offset) / 8;
                pages.access(at, false, |byte| found = *byte >> (offset % 8) & 1 == 1)?;
                if !found {
                    break;
                }
            }
            answers.take(&keys, key, found);
            Ok(())
        })?;
        Ok((done, visits))
    }

    /// Calls `each` with keys; on disk, until patience is exhausted. Returns the share that was done.
    fn until(
        &self,
        first: u64,
        count: u64,
        mut each: impl FnMut(u64) -> Result<()>,
    ) -> Result<f64> {
        let start = Instant::now();
        for done in 0..count {
            let is_late = || start.elapsed().as_secs_f64() > self.patience;
            if !self.in_memory && done % 64 == 0 && done > 0 && is_late() {
                return Ok(done as f64 / count as f64);
            }
            // Scattered, so that a part is like the whole: half of the keys are absent.
            let key = match self.in_memory {
                true => first + done,
                false => first + done.wrapping_mul(0x9e37_79b9_7f4a_7c15) % count,
            };
            each(key)?;
        }
        Ok(1.0)
    }
}

#[inline(always)]
fn is_set(bytes: &[u8], offset: u32) -> bool {
    bytes[offset as usize / 8] >> (offset % 8) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter of 64 KB with 40,000 keys: two bits for each, 13 bits per key.
    fn small(memory: Option<u64>, sub_filters: bool, in_memory: bool) -> Run {
        let folder = tempfile::tempdir().unwrap();
        let filter = Literal {
            pages: 8,
            page_bytes: 8192,
            hashes: 2,
            memory,
            sub_filters,
            in_memory,
            patience: 1e9,
        };
        // An error if a key is lost.
        let run = filter.run(&folder.path().join("filter"), Keys::both(40_000));
        run.unwrap()
    }

    #[test]
    fn every_way_finds_its_keys_and_has_the_same_rate() {
        let expected = (1.0 - (-2.0 * 40_000.0 / 524_288.0f64).exp()).powi(2);
        for sub_filters in [true, false] {
            for memory in [Some(8192), Some(100), None] {
                for in_memory in [true, false] {
                    if memory.is_none() && !in_memory {
                        continue;
                    }
                    let run = small(memory, sub_filters, in_memory);
                    assert!((run.fpr / expected - 1.0).abs() < 0.1, "{run:?} {expected}");
                }
            }
        }
    }

    #[test]
    fn a_block_is_flushed_when_it_is_full() {
        // 8 blocks of 1 KB: 256 offsets, so 128 keys; and 128 records. Remainders come on top.
        let run = small(Some(8192), true, false);
        assert!((313..=313 + 8).contains(&run.flushes[0]), "{run:?}");
        assert!((305..=313 + 8).contains(&run.flushes[1]), "{run:?}");
        assert_eq!(run.written, run.flushes[0] * 8192);
        assert_eq!(run.read, (run.flushes[0] + run.flushes[1]) * 8192);
    }
}
