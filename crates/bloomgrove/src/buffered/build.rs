//! Building: keys wait in the blocks of their pages, and `sync` makes them sure.
//!
//! ```text
//!   insert(x)   hash --> page, entry --> the page's block     no disk
//!   block full  read page | set bits | write page             one of the workers
//!   sync        flush all blocks | sync disk | state | sync   returns: every key is found, for ever
//! ```
//!
//! Source: Buffered Bloom Filters, Algorithm 1. We differ: one entry waits for each key, not k
//! offsets; the memory is one pool (`blocks`); several blocks are under way at once; and a page that was
//! never written is not read.
//!
//! Crashes. A page is written over in place. Until the next `sync` any of its sectors may
//! be the old or the new one, after a crash of the machine too; as bits are only ever set, both have
//! every key synced. So there is no journal, and nothing to repair: what would be repaired is there.
//! The order matters once: the state that counts keys is written after their pages are sure.
//! What we rely on is that a disk writes a sector of 4096 bytes whole or not at all, and a sector that is
//! neither is noticed by its sum.
//!
//! Cost: with memory for M entries, n > 3 M keys and a filter of S bytes, about
//! S × (n / 2M + 0.64) is written: the first round of flushes takes 2.7 M keys to the pages,
//! each later one 2 M, and the last what is left. Reading is one S less. 50 million keys, 256 MB
//! and M = 7.7 million took 3.95 S, where this says 3.9.

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

/// A filter in a file, being built.
///
/// Nobody else can add to the file meanwhile; anybody can probe it, and finds every key
/// that was in before the last [`sync`](Self::sync). Dropped without `sync` or
/// [`finish`](Self::finish), keys since the last one may be lost.
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
    /// Whether the file says that it is being changed.
    marked: bool,
    /// A bit for each page that is certainly empty, so need not be read.
    blank: Arc<Blank>,
}

impl Builder {
    /// Makes a new file of the full size, reserved on the disk, and begins to build. A filter that
    /// was there is replaced.
    ///
    /// # Errors
    /// [`Error::Io`] when the disk has no room; [`Error::Budget`] when the memory is too little
    /// for so many pages; [`Error::Busy`] when another process is building the old file. In all
    /// cases that file is as it was.
    pub fn create(
        path: impl AsRef<Path>,
        geometry: &Geometry,
        options: &BufferOptions,
    ) -> Result<Self, Error> {
        Self::create_with(path, geometry, options, &Notes::new())
    }

    /// As [`create`](Self::create), with notes for whoever opens the file.
    pub fn create_with(
        path: impl AsRef<Path>,
        geometry: &Geometry,
        options: &BufferOptions,
        notes: &Notes,
    ) -> Result<Self, Error> {
        // Before anything is written.
        options.check(geometry)?;
        let (file, state) = PageFile::create(path.as_ref(), geometry, notes, options.direct)?;
        Self::start(file, state, options, true)
    }

    /// Opens a file that is not finished, to add more keys. See [`Filter::state`](super::Filter::state)
    /// for how far it was.
    ///
    /// # Errors
    /// [`Error::Finished`] when it is finished, [`Error::Busy`] when somebody else is building
    /// it, [`Error::Budget`] when the memory is too little for its pages.
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

    /// Sizes, hashing and pages.
    pub fn geometry(&self) -> &Geometry {
        self.file.geometry()
    }

    /// How many keys were inserted, in this session and before.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// How many of them are sure: those of the last [`sync`](Self::sync).
    pub fn synced_keys(&self) -> u64 {
        self.state.keys
    }

    /// Adds a key. It is found from the next [`sync`](Self::sync) on, and maybe earlier.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Corrupt`] when a page could not be read or written. The session is
    /// then of no more use; the file has every key of the last sync.
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

    /// Adds many keys; the same as [`insert`](Self::insert) for each, faster.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
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
        // The room just made may have gone with a flush of this very page.
        loop {
            self.engine.make_room(page, &mut |_| {})?;
            if self.engine.blocks.push(page, entry) {
                return Ok(());
            }
        }
    }

    /// Says in the file that it is being changed, once between two syncs.
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

    /// A state counts when it is written, and not before.
    fn write_state(&mut self, mut next: State) -> Result<(), Error> {
        next.number += 1;
        self.file
            .write_state(&next)
            .inspect_err(|_| self.engine.break_off())?;
        self.state = next;
        Ok(())
    }

    /// Only once: a system that fails to write forgets what it could not, and says yes when it
    /// is asked again.
    fn sync_disk(&mut self) -> Result<(), Error> {
        self.file.sync().inspect_err(|_| self.engine.break_off())
    }

    /// Makes every key inserted so far sure: when this returns, they are found whatever
    /// happens to this process or to the machine.
    ///
    /// # Errors
    /// As [`insert`](Self::insert). Only the keys of the sync before are then sure.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.engine.flush(&mut |_| {})?;
        if self.marked {
            self.sync_as(Phase::Synced)?;
        }
        Ok(())
    }

    fn sync_as(&mut self, phase: Phase) -> Result<(), Error> {
        // First the pages, then the word that they are there.
        self.sync_disk()?;
        let before = self.state.keys;
        let mut next = self.state.clone();
        self.blank.written_into(&mut next);
        (next.keys, next.phase) = (self.keys, phase);
        self.write_state(next)?;
        // Nobody can say what is sure if this fails, but no more than before is.
        self.sync_disk().inspect_err(|_| self.state.keys = before)?;
        self.marked = false;
        Ok(())
    }

    /// Syncs, and finishes the file: it takes no more keys. Returns what the
    /// session has done.
    ///
    /// # Errors
    /// As [`sync`](Self::sync). The file is then not finished.
    pub fn finish(mut self) -> Result<Figures, Error> {
        self.engine.flush(&mut |_| {})?;
        self.sync_as(Phase::Finished)?;
        Ok(self.engine.figures())
    }
}

/// One flush: Algorithm 1, lines 8 to 13.
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

    /// A page is worked on by one worker at a time, and the channels between them order what
    /// they see: no more than `Relaxed` is needed.
    #[derive(Debug)]
    pub(super) struct Blank(Vec<AtomicU8>);

    impl Blank {
        pub(super) fn new(state: &State, pages: usize, fresh: bool) -> Self {
            // A crash may have come between a page and the state that speaks of it.
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
