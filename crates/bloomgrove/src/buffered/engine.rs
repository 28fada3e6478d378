//! The engine that building and probing share: it fills blocks and decides which to flush when.
//!
//! Memory runs out in the middle of an insert or a probe. The caller that needs a chunk then
//! collects what the workers have done, passes them the next block, and waits only if nothing
//! is free. Blocks are passed on shortly before memory is full, so that the workers are busy
//! while the rest fills.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Error;

use super::blocks::{Block, Blocks, Strategy};
use super::deadlines::Deadlines;
use super::file::PageFile;
use super::geometry::Geometry;
use super::workers::{Done, Work, Workers};

/// Blocks are passed to the workers when less than one part in this many of the memory is free.
const RESERVE: usize = 8;
/// Blocks queued for a worker, in addition to those being worked on.
const WAITING: usize = 2;
/// The weight of the newest value in the running mean of flush times: small enough that a
/// single slow flush does not look like a slow period.
const NEWEST: f64 = 1.0 / 64.0;

/// Options for building and probing. The defaults suit a solid-state disk.
#[derive(Clone, Debug)]
pub struct BufferOptions {
    /// The memory limit in bytes for all buffers together: blocks, and the pages being worked
    /// on.
    pub memory: u64,
    /// The number of threads that read, change and write pages.
    pub workers: usize,
    /// Which blocks are flushed when the memory is full.
    pub strategy: Strategy,
    /// Whether to bypass the system's page cache, if the file system supports it.
    pub direct: bool,
    /// The longest time that a probe may be pending in its block.
    pub t_max: Option<Duration>,
}

impl Default for BufferOptions {
    fn default() -> Self {
        Self {
            memory: 32 << 20,
            workers: 3,
            strategy: Strategy::Longest,
            direct: true,
            t_max: None,
        }
    }
}

impl BufferOptions {
    fn workers(&self) -> usize {
        possible(self.workers)
    }

    /// Returns the memory left for the blocks, after the pages being worked on.
    ///
    /// # Errors
    /// [`Error::Budget`] if it is too little for the blocks.
    pub(super) fn check(&self, geometry: &Geometry) -> Result<u64, Error> {
        let buffers = self.workers() as u64 * geometry.page_bytes();
        let least = geometry.least_memory(self.workers());
        if self.memory < least {
            return Err(Error::Budget {
                given: self.memory,
                least,
            });
        }
        Ok(self.memory - buffers)
    }
}

fn possible(workers: usize) -> usize {
    workers.clamp(1, 64)
}

impl Geometry {
    /// Returns the least [`BufferOptions::memory`] for building or probing such a filter with
    /// this many workers: a page for each worker, and a little for every page of the filter.
    pub fn least_memory(&self, workers: usize) -> u64 {
        let workers = possible(workers);
        workers as u64 * self.page_bytes() + Blocks::least(self.pages() as usize, workers + WAITING)
    }
}

/// Statistics of a session so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// The number of blocks flushed to their pages.
    pub flushes: u64,
    /// The recent mean time of a flush, in seconds.
    pub flush_seconds: f64,
    /// The time of the slowest flush, in seconds.
    pub slowest_seconds: f64,
    /// How often the session had to wait for the workers.
    pub waits: u64,
    /// The number of blocks whose first entry was pending for longer than `t_max`, not counting
    /// the time for its own page.
    pub late: u64,
}

/// Blocks and workers.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) blocks: Blocks,
    workers: Workers,
    strategy: Strategy,
    reserve: usize,
    figures: Figures,
    /// Present if there is a `t_max`.
    deadlines: Option<Deadlines>,
    broken: bool,
}

impl Engine {
    /// Starts the workers. `width` is the length of an entry; `work` is applied to each block.
    pub(super) fn start(
        file: &PageFile,
        options: &BufferOptions,
        width: usize,
        work: Arc<Work>,
    ) -> Result<Self, Error> {
        let workers = options.workers();
        let spare = workers + WAITING;
        let pages = file.geometry().pages() as usize;
        let memory = options.check(file.geometry())?;
        let blocks = Blocks::new(pages, width, memory, options.strategy, spare)?;
        Ok(Self {
            reserve: (blocks.total() / RESERVE).min(blocks.total().saturating_sub(pages)),
            blocks,
            workers: Workers::start(workers, file, work)?,
            strategy: options.strategy,
            figures: Figures::default(),
            deadlines: options.t_max.map(|t_max| Deadlines::new(t_max, workers)),
            broken: false,
        })
    }

    pub(super) fn figures(&self) -> Figures {
        self.figures
    }

    /// Sets the expected time of a flush, before the first one.
    pub(super) fn expect(&mut self, took: Duration) {
        self.figures.flush_seconds = took.as_secs_f64();
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.expect(took.as_secs_f64(), Instant::now());
        }
    }

    /// Ends the session: it is unknown whether what was written has reached the disk, whatever
    /// a later attempt may report.
    pub(super) fn break_off(&mut self) {
        self.broken = true;
    }

    /// Returns an error if an earlier flush failed, because keys are then lost.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.broken {
            false => Ok(()),
            true => Err(Error::io("working on pages")(std::io::Error::other(
                "an earlier read or write of this session failed; open the file again",
            ))),
        }
    }

    /// Adds a chunk with room to the block of a page. `sink` receives every block that comes
    /// back.
    #[cold]
    pub(super) fn make_room(
        &mut self,
        page: usize,
        sink: &mut impl FnMut(&Block),
    ) -> Result<(), Error> {
        self.check()?;
        while let Some(done) = self.workers.try_take() {
            self.settle(done, sink)?;
        }
        if self.strategy == Strategy::Equal && !self.blocks.is_empty(page) {
            while self.blocks.is_busy(page) {
                self.wait(sink)?;
            }
            self.give(page);
        }
        while !self.blocks.extend(page) {
            match self.strategy {
                Strategy::Sweep if self.workers.outstanding() == 0 => self.sweep(sink)?,
                Strategy::Longest => self.give_longest(),
                _ => {}
            }
            self.wait(sink)?;
        }
        if self.strategy == Strategy::Longest && self.blocks.free() < self.reserve {
            self.give_longest();
        }
        if let Some(deadlines) = &mut self.deadlines
            && self.blocks.is_empty(page)
        {
            deadlines.begin(page, &mut self.blocks);
        }
        Ok(())
    }

    /// Passes the longest block to the workers, or one that is due.
    fn give_longest(&mut self) {
        let outstanding = self.workers.outstanding();
        if outstanding >= self.workers.count() + WAITING {
            return;
        }
        let deadlines = self.deadlines.as_mut();
        let due = deadlines.and_then(|deadlines| deadlines.next_due(&self.blocks, outstanding));
        if let Some(page) = due.or_else(|| self.blocks.longest()) {
            self.give(page);
        }
    }

    fn give(&mut self, page: usize) {
        let block = self.blocks.take(page);
        self.workers.give(block);
    }

    /// Passes all blocks to the workers, in page order.
    fn sweep(&mut self, sink: &mut impl FnMut(&Block)) -> Result<(), Error> {
        for page in 0..self.blocks.pages() {
            if self.blocks.is_empty(page) {
                continue;
            }
            while self.blocks.is_busy(page) {
                self.wait(sink)?;
            }
            self.give(page);
        }
        Ok(())
    }

    /// Flushes everything that is pending, and returns once all of it has been written.
    pub(super) fn flush(&mut self, sink: &mut impl FnMut(&Block)) -> Result<(), Error> {
        self.check()?;
        self.sweep(sink)?;
        while self.workers.outstanding() > 0 {
            self.wait(sink)?;
        }
        Ok(())
    }

    /// Collects finished blocks without waiting.
    pub(super) fn collect(&mut self, sink: &mut impl FnMut(&Block)) -> Result<(), Error> {
        self.check()?;
        while let Some(done) = self.workers.try_take() {
            self.settle(done, sink)?;
        }
        Ok(())
    }

    /// Waits for a block to come back; returns false if `deadline` passes first, or if none is
    /// outstanding.
    pub(super) fn wait_until(
        &mut self,
        deadline: Instant,
        sink: &mut impl FnMut(&Block),
    ) -> Result<bool, Error> {
        if self.workers.outstanding() == 0 {
            return Ok(false);
        }
        match self.workers.take(Some(deadline))? {
            Some(done) => self.settle(done, sink).map(|()| true),
            None => Ok(false),
        }
    }

    fn wait(&mut self, sink: &mut impl FnMut(&Block)) -> Result<(), Error> {
        self.figures.waits += 1;
        if let Some(done) = self.workers.take(None)? {
            self.settle(done, sink)?;
        }
        Ok(())
    }

    fn settle(&mut self, done: Done, sink: &mut impl FnMut(&Block)) -> Result<(), Error> {
        let took = done.took.as_secs_f64();
        let mean = &mut self.figures.flush_seconds;
        *mean = match *mean {
            0.0 => took,
            mean => mean * (1.0 - NEWEST) + took * NEWEST,
        };
        self.figures.flushes += 1;
        self.figures.slowest_seconds = self.figures.slowest_seconds.max(took);
        if let Some(deadlines) = &mut self.deadlines {
            self.figures.late += u64::from(deadlines.learn(&done.block, done.took));
            deadlines.expect(self.figures.flush_seconds, Instant::now());
        }
        match done.outcome {
            Ok(()) => sink(&done.block),
            Err(error) => {
                self.broken = true;
                return Err(error);
            }
        }
        self.blocks.free_block(done.block);
        Ok(())
    }

    pub(super) fn outstanding(&self) -> usize {
        self.workers.outstanding()
    }

    /// Returns whether a block for this page is already pending, or another can still be
    /// flushed within `t_max`, together with all that are pending or being flushed.
    pub(super) fn admits(&self, page: usize) -> bool {
        let before = self.blocks.waiting() + self.workers.outstanding();
        let deadlines = self.deadlines.as_ref();
        !self.blocks.is_empty(page) || deadlines.is_none_or(|deadlines| deadlines.admits(before))
    }

    /// Returns when a block must be flushed next. `None` without a `t_max`, or if nothing is
    /// pending.
    pub(super) fn due(&mut self) -> Option<Instant> {
        let outstanding = self.workers.outstanding();
        self.deadlines.as_mut()?.due(&self.blocks, outstanding)
    }

    /// Makes all pending blocks due from now on. Without a `t_max`, flushes them instead.
    pub(super) fn hurry(&mut self, sink: &mut impl FnMut(&Block)) -> Result<(), Error> {
        match &mut self.deadlines {
            Some(deadlines) => deadlines.hurry(),
            None => self.flush(sink)?,
        }
        Ok(())
    }

    /// Returns whether nothing is pending or being flushed.
    pub(super) fn is_idle(&self) -> bool {
        self.blocks.waiting() + self.workers.outstanding() == 0
    }

    /// Passes the oldest blocks to the workers, as long as they are due and a worker is free.
    pub(super) fn give_due(&mut self) {
        let Some(deadlines) = &mut self.deadlines else {
            return;
        };
        while self.workers.outstanding() <= self.workers.count()
            && let Some(page) = deadlines.next_due(&self.blocks, self.workers.outstanding())
        {
            self.workers.give(self.blocks.take(page));
        }
    }
}
