//! Probing: queries are buffered in the blocks of their pages, and answered page by page.
//!
//! ```text
//!   submit(x, tag)   hash --> page, entry --> the page's block: | entry | tag | entry | tag | ...
//!   block full       read page | test each entry | answers replace the entries
//!   back             (tag, yes or no) for each, passed to the sink
//! ```
//!
//! Source: Buffered Bloom Filters, Algorithm 2 and section 4.2. We differ: an entry is
//! buffered, not the record; answers carry the caller's tag, since there is no record; and a
//! tag is stored as the difference from the previous one, in two bytes. A difference too large
//! for that takes additional entries, which contain the tag in pieces: ascending tags cost two
//! bytes, others up to 8 + 2 × the pieces.
//!
//! Cost: the same as building, without the writes.

use std::sync::Arc;
use std::time::Instant;

use crate::Error;
use crate::hash::{AnyHasher, Digest, Family, Hasher, Key, Xxh3Hasher};

use super::answers::{self, LAST_PIECE, PIECES, TAG, answer, piece_mask};
use super::blocks::Block;
use super::engine::{BufferOptions, Engine, Figures};
use super::file::PageFile;
use super::geometry::Spread;
use super::state::State;
use super::store::Buffer;

/// Many concurrent probes of one filter, answered out of order.
///
/// The sink passed to [`Filter::prober`](super::Filter::prober) is called with each tag and its
/// answer, on this thread, from within the methods below.
///
/// ```
/// use bloomgrove::buffered::{Builder, Filter, BufferOptions, Geometry};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("orders.grove");
/// # let mut builder = Builder::create(&path, &Geometry::for_items(1000, 0.001)?, &BufferOptions::default())?;
/// # builder.insert_batch(&[17u64, 23, 42])?;
/// # builder.finish()?;
/// let filter = Filter::open(&path)?;
/// let mut found = Vec::new();
/// let mut prober = filter.prober(&BufferOptions::default(), |tag, yes| {
///     if yes {
///         found.push(tag);
///     }
/// })?;
/// for (row, order) in [17u64, 18, 42, 43].iter().enumerate() {
///     prober.submit(order, row as u64)?;
/// }
/// prober.finish()?;
/// found.sort();
/// assert_eq!(found, [0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Prober<S: FnMut(u64, bool)> {
    file: PageFile,
    engine: Engine,
    spread: Spread,
    entry_bytes: usize,
    sink: S,
}

impl<S: FnMut(u64, bool)> std::fmt::Debug for Prober<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Prober({:?})", self.engine.figures())
    }
}

impl<S: FnMut(u64, bool)> Prober<S> {
    pub(super) fn start(
        file: &PageFile,
        state: State,
        options: &BufferOptions,
        sink: S,
    ) -> Result<Self, Error> {
        let entry_bytes = file.geometry().entry_bytes() as usize;
        let work = move |file: &PageFile, buffer: &mut Buffer, block: &mut Block| {
            answers::test(file, buffer, block, &state)
        };
        let mut engine = Engine::start(file, options, entry_bytes + TAG, Arc::new(work))?;
        if options.t_max.is_some() {
            // The time of a flush must be known before the first is due.
            let began = Instant::now();
            let mut buffer = Buffer::new(file.geometry().page_bytes() as usize)?;
            file.read_page(0, &mut buffer, false, false)?;
            engine.expect(began.elapsed());
        }
        Ok(Self {
            spread: file.geometry().spread(),
            file: file.clone(),
            engine,
            entry_bytes,
            sink,
        })
    }

    /// Returns the statistics of the session.
    pub(super) fn figures(&self) -> Figures {
        self.engine.figures()
    }

    /// Queries a key. The sink receives the answer later, at the latest during
    /// [`finish`](Self::finish).
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Corrupt`] if a page could not be read. The prober is then
    /// unusable.
    pub fn submit<K: Key + ?Sized>(&mut self, key: &K, tag: u64) -> Result<(), Error> {
        let params = self.file.geometry().params();
        let (family, seed) = (params.family(), params.seed());
        let digest = key.with_bytes(|bytes| match family {
            Family::Xxh3 => Xxh3Hasher { seed }.digest(bytes),
            family => AnyHasher { family, seed }.digest(bytes),
        });
        self.submit_digest(digest, tag)
    }

    /// Queries many keys, tagged with consecutive numbers from `first` on.
    ///
    /// # Errors
    /// As for [`submit`](Self::submit).
    pub fn submit_batch<K: Key>(&mut self, keys: &[K], first: u64) -> Result<(), Error> {
        let params = self.file.geometry().params().clone();
        let (family, seed) = (params.family(), params.seed());
        match family {
            Family::Xxh3 => self.submit_by(Xxh3Hasher { seed }, keys, first),
            family => self.submit_by(AnyHasher { family, seed }, keys, first),
        }
    }

    fn submit_by<K: Key>(
        &mut self,
        hasher: impl Hasher,
        keys: &[K],
        first: u64,
    ) -> Result<(), Error> {
        for (i, key) in keys.iter().enumerate() {
            let digest = key.with_bytes(|bytes| hasher.digest(bytes));
            self.submit_digest(digest, first.wrapping_add(i as u64))?;
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn submit_digest(&mut self, digest: Digest, tag: u64) -> Result<(), Error> {
        let (page, entry) = self.spread.place(digest);
        if self.engine.blocks.has_room(page) {
            let memo = self.engine.blocks.memo(page);
            let distance = tag.wrapping_sub(*memo);
            if distance < PIECES {
                *memo = tag;
                let wide = u128::from(entry) | u128::from(distance) << (8 * self.entry_bytes);
                self.engine.blocks.push_wide(page, wide);
                return Ok(());
            }
        }
        self.submit_slowly(page, entry, tag)
    }

    /// The slow path: with a new chunk, a tag far from the previous one, or both.
    #[cold]
    #[inline(never)]
    fn submit_slowly(&mut self, page: usize, entry: u64, tag: u64) -> Result<(), Error> {
        let bits = 8 * self.entry_bytes as u32;
        loop {
            // A flush of this very page takes the new chunk with it, and resets the memo.
            while !self.engine.blocks.has_room(page) {
                let (sink, bytes) = (&mut self.sink, self.entry_bytes);
                self.engine
                    .make_room(page, &mut |block| answer(block, bytes, sink))?;
            }
            let memo = self.engine.blocks.memo(page);
            let distance = tag.wrapping_sub(*memo);
            let (entry, distance) = if distance < PIECES {
                *memo = tag;
                (entry, distance)
            } else {
                // The lowest piece that differs.
                let piece = (tag ^ *memo).trailing_zeros() / bits;
                let mask = piece_mask(piece, bits);
                *memo = *memo & !mask | tag & mask;
                (
                    (tag & mask) >> (piece * bits),
                    LAST_PIECE - u64::from(piece),
                )
            };
            let wide = u128::from(entry) | u128::from(distance) << bits;
            self.engine.blocks.push_wide(page, wide);
            if distance < PIECES {
                return Ok(());
            }
        }
    }

    /// Collects available answers, and flushes the blocks that are due: those whose first entry
    /// has been pending for `t_max`, and those that would become late if all blocks before them
    /// took their time. Does not block. Call it regularly if `t_max` is set.
    ///
    /// # Errors
    /// As for [`submit`](Self::submit).
    pub fn poll(&mut self) -> Result<(), Error> {
        let (sink, bytes) = (&mut self.sink, self.entry_bytes);
        self.engine
            .collect(&mut |block| answer(block, bytes, sink))?;
        self.engine.give_due();
        Ok(())
    }

    /// Returns when a block must be flushed next so that none is pending for longer than
    /// `t_max`.
    pub fn next_deadline(&mut self) -> Option<Instant> {
        self.engine.due()
    }

    /// Returns the number of blocks being flushed.
    pub(super) fn outstanding(&self) -> usize {
        self.engine.outstanding()
    }

    pub(super) fn page_of(&self, digest: Digest) -> usize {
        self.spread.place(digest).0
    }

    /// Returns whether a probe of this page may be added to its block now, if all blocks are to
    /// be flushed in time.
    pub(super) fn admits(&self, page: usize) -> bool {
        self.engine.admits(page)
    }

    /// From now on, flushes everything that is pending, oldest first, as fast as the workers
    /// can.
    pub(super) fn hurry(&mut self) -> Result<(), Error> {
        let (sink, bytes) = (&mut self.sink, self.entry_bytes);
        self.engine.hurry(&mut |block| answer(block, bytes, sink))
    }

    /// Returns whether everything submitted has been answered.
    pub(super) fn is_idle(&self) -> bool {
        self.engine.is_idle()
    }

    /// Waits until a page has been read or the deadline has passed.
    pub(super) fn wait_until(&mut self, deadline: Instant) -> Result<(), Error> {
        let (sink, bytes) = (&mut self.sink, self.entry_bytes);
        self.engine
            .wait_until(deadline, &mut |block| answer(block, bytes, sink))?;
        Ok(())
    }

    /// Answers everything submitted so far.
    ///
    /// # Errors
    /// As for [`submit`](Self::submit).
    pub fn flush(&mut self) -> Result<(), Error> {
        let (sink, bytes) = (&mut self.sink, self.entry_bytes);
        self.engine.flush(&mut |block| answer(block, bytes, sink))
    }

    /// Answers everything submitted, and returns the statistics of the session.
    ///
    /// # Errors
    /// As for [`submit`](Self::submit).
    pub fn finish(mut self) -> Result<Figures, Error> {
        self.flush()?;
        Ok(self.engine.figures())
    }
}
