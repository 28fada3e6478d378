//! Building: keys are buffered in the blocks of their pages, and `sync` makes them durable.
//!
//! ```text
//!   insert(x)   hash --> page, entry --> the page's block     no disk
//!   block full  read page | set bits | write page             by a worker thread
//!   sync        flush all blocks | sync disk | state | sync   on return, every key is durable
//! ```
//!
//! Source: Buffered Bloom Filters, Algorithm 1. We differ: one entry is buffered per key, not k
//! offsets; the memory is one pool (`blocks`); several blocks are flushed concurrently; and a
//! page that was never written is not read.
//!
//! Crashes. A page is overwritten in place. Until the next `sync`, each of its sectors may have
//! its old or its new contents, even after a crash of the machine. Because bits are only ever
//! set, both contain every synced key. So there is no journal, and nothing to repair. Order
//! matters only once: the state, which counts the keys, is written after their pages are
//! durable. This relies on the disk to write a sector of 4096 bytes entirely or not at all; a
//! torn sector is detected by its checksum.
//!
//! Cost: with memory for M entries, n > 3 M keys and a filter of S bytes, about S × (n / 2M +
//! 0.64) bytes are written: the first round of flushes brings 2.7 M keys to the pages, each
//! later one 2 M, and the last the rest. Reads are S less. 50 million keys, 256 MB and M = 7.7
//! million took 3.95 S; the formula gives 3.9.

use std::path::Path;
use std::sync::Arc;

use crate::Error;
use crate::format::Notes;
use crate::hash::{AnyHasher, Family, Hasher, Key, Xxh3Hasher};

use super::blocks::Block;
use super::engine::{BufferOptions, Engine, Figures};
use super::file::PageFile;
use super::geometry::{Geometry, Spread};
use super::state::{Phase, State};
use super::store::Buffer;

/// A filter in a file, open for building.
///
/// No one else can add keys to the file in the meantime. Any process can probe it, and finds
/// every key inserted before the last [`sync`](Self::sync). If the builder is dropped without
/// `sync` or [`finish`](Self::finish), the keys inserted since the last one may be lost.
///
/// ```
/// use bloomgrove::buffered::{Builder, Filter, BufferOptions, Geometry};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("orders.grove");
/// let geometry = Geometry::for_items(100_000, 0.01)?;
/// let mut builder = Builder::create(&path, &geometry, &BufferOptions::default())?;
/// builder.insert("order 17")?;
/// builder.insert_batch(&[17u64, 23, 42])?;
/// builder.finish()?;
///
/// let filter = Filter::open(&path)?;
/// assert!(filter.contains("order 17")?);
/// assert!(!filter.contains("order 18")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    file: PageFile,
    engine: Engine,
    spread: Spread,
    state: State,
    keys: u64,
    /// Whether the file is marked as being changed.
    marked: bool,
    /// A bit for each page that is known to be empty and need not be read.
    blank: Arc<Blank>,
}

impl Builder {
    /// Creates a file of the full size, reserves its space on the disk, and starts building. An
    /// existing filter is replaced.
    ///
    /// # Errors
    /// [`Error::Io`] if the disk has too little space; [`Error::Budget`] if the memory limit is
    /// too small for this many pages; [`Error::Busy`] if another process is building the old file.
    /// In all cases the old file is unchanged.
    pub fn create(
        path: impl AsRef<Path>,
        geometry: &Geometry,
        options: &BufferOptions,
    ) -> Result<Self, Error> {
        Self::create_with(path, geometry, options, &Notes::new())
    }

    /// Like [`create`](Self::create), with notes stored in the file.
    pub fn create_with(
        path: impl AsRef<Path>,
        geometry: &Geometry,
        options: &BufferOptions,
        notes: &Notes,
    ) -> Result<Self, Error> {
        // Check before anything is written.
        options.check(geometry)?;
        let (file, state) = PageFile::create(path.as_ref(), geometry, notes, options.direct)?;
        Self::start(file, state, options, true)
    }

    /// Opens an unfinished file to add more keys. See [`Filter::state`](super::Filter::state)
    /// for how many it has.
    ///
    /// # Errors
    /// [`Error::Finished`] if it is finished, [`Error::Busy`] if another process is building
    /// it, [`Error::Budget`] if the memory limit is too small for its pages.
    pub fn open(path: impl AsRef<Path>, options: &BufferOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        let (file, state) = PageFile::open(path, true, options.direct)?;
        if state.phase == Phase::Finished {
            return Err(Error::in_file(path)(Error::Finished));
        }
        Self::start(file, state, options, false)
    }

    pub(super) fn start(
        file: PageFile,
        state: State,
        options: &BufferOptions,
        fresh: bool,
    ) -> Result<Self, Error> {
        let blank = Arc::new(Blank::new(&state, file.geometry().pages() as usize, fresh));
        let shared = Arc::clone(&blank);
        let work = move |file: &PageFile, buffer: &mut Buffer, block: &mut Block| {
            apply(file, buffer, block, &shared)
        };
        let width = file.geometry().entry_bytes() as usize;
        let options = BufferOptions {
            t_max: None,
            ..options.clone()
        };
        let engine = Engine::start(&file, &options, width, Arc::new(work))?;
        Ok(Self {
            spread: file.geometry().spread(),
            engine,
            keys: state.keys,
            state,
            file,
            marked: false,
            blank,
        })
    }

    /// Returns the sizes, hashing and pages.
    pub fn geometry(&self) -> &Geometry {
        self.file.geometry()
    }

    /// Returns the number of keys inserted, in this session and before.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Returns the number of keys that are durable: those inserted before the last
    /// [`sync`](Self::sync).
    pub fn synced_keys(&self) -> u64 {
        self.state.keys
    }

    /// Inserts a key. It is found after the next [`sync`](Self::sync), and possibly earlier.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Corrupt`] if a page could not be read or written. The builder
    /// is then unusable; the file contains every key inserted before the last sync.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), Error> {
        let params = self.file.geometry().params();
        let (family, seed) = (params.family(), params.seed());
        let digest = key.with_bytes(|bytes| match family {
            Family::Xxh3 => Xxh3Hasher { seed }.digest(bytes),
            family => AnyHasher { family, seed }.digest(bytes),
        });
        let (page, entry) = self.spread.place(digest);
        self.put(page, entry)?;
        self.keys += 1;
        Ok(())
    }

    /// Inserts many keys. Equivalent to calling [`insert`](Self::insert) for each, but faster.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<(), Error> {
        let params = self.file.geometry().params().clone();
        let (family, seed) = (params.family(), params.seed());
        match family {
            Family::Xxh3 => self.insert_by(Xxh3Hasher { seed }, keys),
            family => self.insert_by(AnyHasher { family, seed }, keys),
        }
    }

    fn insert_by<K: Key>(&mut self, hasher: impl Hasher, keys: &[K]) -> Result<(), Error> {
        let spread = self.spread;
        for key in keys {
            let (page, entry) = spread.place(key.with_bytes(|bytes| hasher.digest(bytes)));
            self.put(page, entry)?;
        }
        self.keys += keys.len() as u64;
        Ok(())
    }

    #[inline(always)]
    fn put(&mut self, page: usize, entry: u64) -> Result<(), Error> {
        if self.engine.blocks.push(page, entry) {
            return Ok(());
        }
        self.put_anew(page, entry)
    }

    #[cold]
    #[inline(never)]
    fn put_anew(&mut self, page: usize, entry: u64) -> Result<(), Error> {
        self.mark()?;
        // The chunk just added may be gone again, if making room flushed this very page.
        loop {
            self.engine.make_room(page, &mut |_| {})?;
            if self.engine.blocks.push(page, entry) {
                return Ok(());
            }
        }
    }

    /// Marks the file as being changed, once between two syncs.
    fn mark(&mut self) -> Result<(), Error> {
        if !self.marked {
            self.engine.check()?;
            let mut next = self.state.clone();
            next.phase = Phase::Building;
            self.write_state(next)?;
            self.marked = true;
        }
        Ok(())
    }

    /// A state takes effect only once it is written.
    fn write_state(&mut self, mut next: State) -> Result<(), Error> {
        next.number += 1;
        self.file
            .write_state(&next)
            .inspect_err(|_| self.engine.break_off())?;
        self.state = next;
        Ok(())
    }

    /// Syncs only once: after a failed sync, the system discards what it could not write, and
    /// reports success on the next call.
    fn sync_disk(&mut self) -> Result<(), Error> {
        self.file.sync().inspect_err(|_| self.engine.break_off())
    }

    /// Makes every key inserted so far durable: after this returns, they are found even if this
    /// process or the machine crashes.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert). Only the keys of the previous sync are then durable.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.engine.flush(&mut |_| {})?;
        if self.marked {
            self.sync_as(Phase::Synced)?;
        }
        Ok(())
    }

    fn sync_as(&mut self, phase: Phase) -> Result<(), Error> {
        // First the pages, then the state that refers to them.
        self.sync_disk()?;
        let before = self.state.keys;
        let mut next = self.state.clone();
        self.blank.written_into(&mut next);
        (next.keys, next.phase) = (self.keys, phase);
        self.write_state(next)?;
        // If this fails, it is unknown which of the new keys are durable, so they do not count.
        self.sync_disk().inspect_err(|_| self.state.keys = before)?;
        self.marked = false;
        Ok(())
    }

    /// Syncs and finishes the file, which then accepts no more keys. Returns the statistics of the
    /// session.
    ///
    /// # Errors
    /// As for [`sync`](Self::sync). The file is then not finished.
    pub fn finish(mut self) -> Result<Figures, Error> {
        self.engine.flush(&mut |_| {})?;
        self.sync_as(Phase::Finished)?;
        Ok(self.engine.figures())
    }
}

/// Performs one flush: Algorithm 1, lines 8 to 13.
fn apply(
    file: &PageFile,
    buffer: &mut Buffer,
    block: &mut Block,
    blank: &Blank,
) -> Result<(), Error> {
    let page = block.page;
    if blank.is_blank(page) {
        buffer.bytes_mut().fill(0);
    } else {
        file.read_page(page, buffer, blank.is_written(page), true)?;
    }
    let width = file.geometry().entry_bytes() as usize;
    for part in block.parts() {
        file.marker().insert(buffer.words_mut(), part, width);
    }
    file.write_page(page, buffer)?;
    blank.set_written(page);
    Ok(())
}

use blank::Blank;

/// Which pages have been written, shared with the workers.
mod blank {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

    use crate::buffered::state::State;

    const UNKNOWN: u8 = 0;
    const BLANK: u8 = 1;
    const WRITTEN: u8 = 2;

    /// Only one worker at a time works on a page, and the channels between them order what they
    /// see, so `Relaxed` is enough.
    #[derive(Debug)]
    pub(super) struct Blank(Vec<AtomicU8>);

    impl Blank {
        pub(super) fn new(state: &State, pages: usize, fresh: bool) -> Self {
            // A crash may have happened between writing a page and writing the state that
            // refers to it.
            let other = if fresh { BLANK } else { UNKNOWN };
            let first = |page| match state.is_written(page) {
                true => WRITTEN,
                false => other,
            };
            let pages = (0..pages).map(|page| AtomicU8::new(first(page)));
            Self(pages.collect())
        }

        pub(super) fn is_blank(&self, page: usize) -> bool {
            self.0[page].load(Relaxed) == BLANK
        }

        pub(super) fn is_written(&self, page: usize) -> bool {
            self.0[page].load(Relaxed) == WRITTEN
        }

        pub(super) fn set_written(&self, page: usize) {
            self.0[page].store(WRITTEN, Relaxed);
        }

        pub(super) fn written_into(&self, state: &mut State) {
            for page in 0..self.0.len() {
                if self.is_written(page) {
                    state.set_written(page);
                }
            }
        }
    }
}
