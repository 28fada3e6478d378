//! Filters larger than memory: pages on disk, and buffers that make each page access
//! worthwhile.
//!
//! ```text
//!   keys --hash--> page number, entry
//!                       |
//!   memory    [ block 0 ][ block 1 ][ block 2 ] ...   pending entries of each page
//!                  |          | when long enough: one read, all its bits, one write
//!   disk      [ page 0  ][ page 1  ][ page 2  ] ...   each page is a small filter
//! ```
//!
//! A filter on disk that is queried key by key pays a random read for each key. Here, a key is
//! first assigned to a page, and its entry is buffered in memory until the page has enough
//! entries to be worth a read. Thousands of keys share one read. The page's bits are then in
//! the processor's cache, so this is no slower than a plain filter in memory, where every bit
//! is a cache miss.
//!
//! | to | use |
//! |---|---|
//! | choose sizes | [`Geometry`] |
//! | create a filter, or add keys to one | [`Builder`] |
//! | query one key immediately | [`Filter::contains`] |
//! | query millions of keys, answered in any order | [`Prober`] |
//! | query from many threads, with no probe buffered for longer than `t_max` | [`ProbeQueue`] |
//!
//! Source: Canim et al., *Buffered Bloom Filters on Solid State Storage*, sections 3 and 4. For
//! the differences, see `geometry` (what is buffered), `blocks` (which block is flushed),
//! `page` (checksums) and `build` (crashes).
//!
//! Cost: `bench-compare buffered` has the figures. Not for: filters that fit in memory, or
//! queries that must each be answered immediately, which cost one read each.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | `Filter`: open, state, one key at a time |
//! | `geometry.rs` | `Geometry`: pages, and which bits of a page belong to a key |
//! | `page.rs` | sectors with their checksums; entries to bits |
//! | `blocks.rs` | the pending entries of each page, in chunks; `Strategy` |
//! | `engine.rs` | blocks and workers together; `BufferOptions`, `Figures` |
//! | `deadlines.rs` | when a block must be flushed to meet `t_max` |
//! | `workers.rs` | the threads that read, change and write pages |
//! | `build.rs` | `Builder`: insert, sync, finish; why a crash loses nothing |
//! | `probe.rs`, `answers.rs` | `Prober`: keys with tags in; tags with answers out |
//! | `queue.rs`, `serve.rs`, `latency.rs` | `ProbeQueue`: a request queue; the thread that serves it; how long probes wait |
//! | `state.rs`, `file.rs`, `store.rs` | the state of a file; the page file; direct I/O |

mod answers;
mod blocks;
mod build;
mod deadlines;
mod engine;
mod file;
mod geometry;
mod latency;
mod page;
mod probe;
mod queue;
mod serve;
mod state;
mod store;
mod workers;

pub use blocks::Strategy;
pub use build::Builder;
pub use engine::{BufferOptions, Figures};
pub(crate) use file::check_file;
pub use geometry::{Geometry, GeometryBuilder};
pub use latency::{Latencies, Latency};
pub use probe::Prober;
pub use queue::{ProbeQueue, QueueOptions};
pub use state::Phase;

use std::path::Path;
use std::sync::Mutex;

use crate::Error;
use crate::format::Notes;
use crate::hash::{AnyHasher, Hasher, Key};

use file::PageFile;
use page::SECTOR;
use store::Buffer;

/// The state of a file: whether it is finished, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct State {
    /// Whether the file is finished, unfinished, or being changed.
    pub phase: Phase,
    /// The number of keys inserted before the last sync: all of them are found.
    pub keys: u64,
    /// The number of pages written before the last sync.
    pub written_pages: u64,
}

/// A filter in a page file, open for queries.
///
/// A file can be open any number of times, even while a [`Builder`] adds keys: all keys
/// inserted before its last [`sync`](Builder::sync) are found.
#[derive(Debug)]
pub struct Filter {
    file: PageFile,
    /// The state when the file was opened.
    state: state::State,
    /// Buffers for single probes, reused.
    spare: Mutex<Vec<Buffer>>,
}

impl Filter {
    /// Opens a file and checks everything except its pages, which are checked as they are read.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or is not a buffered filter.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, true)
    }

    /// Like [`open`](Self::open); `direct` says whether to bypass the system's page cache.
    /// Single probes of a filter that fits in memory are faster without direct I/O.
    pub fn open_with(path: impl AsRef<Path>, direct: bool) -> Result<Self, Error> {
        let (file, state) = PageFile::open(path.as_ref(), false, direct)?;
        Ok(Self {
            file,
            state,
            spare: Mutex::default(),
        })
    }

    /// Returns the sizes, hashing and pages.
    pub fn geometry(&self) -> &Geometry {
        self.file.geometry()
    }

    /// Returns the notes that the file was created with.
    pub fn notes(&self) -> &Notes {
        self.file.notes()
    }

    /// Returns whether the system's page cache is bypassed.
    pub fn is_direct(&self) -> bool {
        self.file.is_direct()
    }

    /// Returns the current state of the file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn state(&self) -> Result<State, Error> {
        let state = self.file.current_state()?;
        Ok(State {
            phase: state.phase,
            keys: state.keys,
            written_pages: state.written_pages(),
        })
    }

    /// Returns whether the key may be in the set; false is certain. Reads one sector of 4096
    /// bytes; in the standard layout, up to one sector per bit.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Corrupt`] if the sector cannot be read.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> Result<bool, Error> {
        let params = self.geometry().params();
        let (family, seed) = (params.family(), params.seed());
        let digest = key.with_bytes(|bytes| AnyHasher { family, seed }.digest(bytes));
        let (page, entry) = self.geometry().spread().place(digest);
        let (written, finished) = (
            self.state.is_written(page),
            self.state.phase == Phase::Finished,
        );
        if finished && !written {
            return Ok(false);
        }
        let spare = self.spare.lock().ok().and_then(|mut spare| spare.pop());
        let mut buffer = match spare {
            Some(buffer) => buffer,
            None => Buffer::new(SECTOR as usize)?,
        };
        let (mut have, mut failed) = (None, None);
        let found = self.file.marker().all(entry, |position| {
            let sector = position / (SECTOR * 8);
            if have != Some(sector) {
                let read = self
                    .file
                    .read_sector(page, sector, &mut buffer, written, finished);
                if let Err(error) = read {
                    failed = Some(error);
                    return false;
                }
                have = Some(sector);
            }
            crate::bits::get(buffer.words(), position % (SECTOR * 8))
        });
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(buffer);
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(found),
        }
    }

    /// Creates a prober for many keys; `sink` is called with each tag and its answer.
    ///
    /// # Errors
    /// [`Error::Budget`] if the memory limit is too small for this many pages.
    pub fn prober<S: FnMut(u64, bool)>(
        &self,
        options: &BufferOptions,
        sink: S,
    ) -> Result<Prober<S>, Error> {
        Prober::start(&self.file, self.state.clone(), options, sink)
    }

    /// Creates a queue of probes; set [`BufferOptions::t_max`] to limit how long they wait.
    ///
    /// # Errors
    /// [`Error::Budget`] if the memory limit is too small for this many pages.
    pub fn probe_queue(
        &self,
        options: &BufferOptions,
        queue: &QueueOptions,
    ) -> Result<ProbeQueue, Error> {
        ProbeQueue::start(&self.file, self.state.clone(), options, queue)
    }
}

#[cfg(test)]
mod tests;
