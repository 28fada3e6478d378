//! A filter larger than memory: pages on disk, and buffers that make each visit worth it.
//!
//! ```text
//!   keys --hash--> page number, entry
//!                       |
//!   memory    [ block 0 ][ block 1 ][ block 2 ] ...   what waits for each page
//!                  |          | long enough: one read, all its bits, one write
//!   disk      [ page 0  ][ page 1  ][ page 2  ] ...   each page a small filter of its own
//! ```
//!
//! A filter on disk, asked key by key, pays a random read for each. Here a key first chooses
//! a page; what must be done there waits in memory until there is enough of it to be worth a
//! visit. Thousands of keys share one read. As the page's bits then lie in the processor's cache,
//! it is not slower than a plain filter in memory, whose every bit is a cache miss.
//!
//! | to | use |
//! |---|---|
//! | choose sizes | [`Geometry`] |
//! | make a filter, or add to one | [`Builder`] |
//! | ask for one key, now | [`Filter::contains`] |
//! | ask for millions, in any order | [`Prober`] |
//! | ask from many threads, no probe waiting for longer than `t_max` for others of its page | [`ProbeQueue`] |
//!
//! Source: Canim et al., *Buffered Bloom Filters on Solid State Storage*,
//! sections 3 and 4. Where we differ: see `geometry` (what waits), `blocks` (whose turn it is),
//! `page` (sums) and `build` (crashes).
//!
//! Cost: `bench-compare buffered` has the figures. Not for: filters that fit in memory, or
//! questions that must be answered one by one at once, which cost a read each.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | `Filter`: open, state, one key at a time |
//! | `geometry.rs` | `Geometry`: pages, and where in them a key goes |
//! | `page.rs` | sectors with their sums; entries to bits |
//! | `blocks.rs` | what waits for each page, in chunks; `Strategy` |
//! | `engine.rs` | blocks and workers together; `BufferOptions`, `Figures` |
//! | `deadlines.rs` | when a block must go to be back by `t_max` |
//! | `workers.rs` | the threads that read, change and write pages |
//! | `build.rs` | `Builder`: insert, sync, finish; why a crash loses nothing |
//! | `probe.rs` | `Prober`: keys with tags in, tags with answers out |
//! | `queue.rs`, `serve.rs`, `latency.rs` | `ProbeQueue`: a request queue; the thread behind it; how long probes wait |
//! | `state.rs`, `file.rs`, `store.rs` | how far a file is; the page file; direct I/O |

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

/// How far a file is, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct State {
    /// Finished, or not, or being changed.
    pub phase: Phase,
    /// How many keys were inserted before the last sync: all of them are found.
    pub keys: u64,
    /// How many pages had been written by then.
    pub written_pages: u64,
}

/// A filter in a file of pages, to be asked.
///
/// Any number may be open at once, also while a [`Builder`] adds keys: all keys of its last
/// [`sync`](Builder::sync) are found.
#[derive(Debug)]
pub struct Filter {
    file: PageFile,
    /// As of when the file was opened.
    state: state::State,
    /// Memory for single probes, used in turn.
    spare: Mutex<Vec<Buffer>>,
}

impl Filter {
    /// Opens a file and checks all but its pages, which are checked as they are read.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or holds something else.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, true)
    }

    /// As [`open`](Self::open); `direct` says whether to pass by the system's cache. Single
    /// probes of a filter that fits in memory are faster without.
    pub fn open_with(path: impl AsRef<Path>, direct: bool) -> Result<Self, Error> {
        let (file, state) = PageFile::open(path.as_ref(), false, direct)?;
        Ok(Self {
            file,
            state,
            spare: Mutex::default(),
        })
    }

    /// Sizes, hashing and pages.
    pub fn geometry(&self) -> &Geometry {
        self.file.geometry()
    }

    /// The notes the file was made with.
    pub fn notes(&self) -> &Notes {
        self.file.notes()
    }

    /// Whether the system's cache is passed by.
    pub fn is_direct(&self) -> bool {
        self.file.is_direct()
    }

    /// How far the file is now.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn state(&self) -> Result<State, Error> {
        let state = self.file.current_state()?;
        Ok(State {
            phase: state.phase,
            keys: state.keys,
            written_pages: state.written_pages(),
        })
    }

    /// May the key be in the set? False is certain. Reads one sector of 4096 bytes; in the
    /// standard layout up to one for each bit.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Corrupt`] when it cannot be read.
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

    /// Begins to ask for many keys; `sink` is called with each tag and its answer.
    ///
    /// # Errors
    /// [`Error::Budget`] when the memory is too little for so many pages.
    pub fn prober<S: FnMut(u64, bool)>(
        &self,
        options: &BufferOptions,
        sink: S,
    ) -> Result<Prober<S>, Error> {
        Prober::start(&self.file, self.state.clone(), options, sink)
    }

    /// Begins to answer questions from a queue; set [`BufferOptions::t_max`] for answers in time.
    ///
    /// # Errors
    /// [`Error::Budget`] when the memory is too little for so many pages.
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
