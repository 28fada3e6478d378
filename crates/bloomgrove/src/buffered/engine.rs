//! What building and probing share: blocks that fill, and who is flushed when.
//!
//! Memory runs out in the midst of an insert or a probe. Whoever needs a chunk then takes
//! back what the workers have done, gives them the next block, and waits only if nothing is
//! free. A block is given out a little before memory is used up, so that the workers are at
//! it while the rest fills.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Error;

use super::blocks::{Block, Blocks, Strategy};
use super::deadlines::Deadlines;
use super::file::PageFile;
use super::geometry::Geometry;
use super::workers::{Done, Work, Workers};

/// Blocks are given to the workers when less than this part of the memory is free.
const RESERVE: usize = 8;
/// Blocks that wait for a worker beside those that are with one.
const WAITING: usize = 2;
/// The weight of the newest in the running mean of a flush's time: small enough that a single
/// slow one does not count for a slow time.
const NEWEST: f64 = 1.0 / 64.0;

/// How a session works. The defaults suit a disk without moving parts.
#[derive(Clone, Debug)]
pub struct BufferOptions {
    /// The bytes that all buffers together may take: blocks, and the pages being worked on.
    pub memory: u64,
    /// Threads that read, change and write pages.
    pub workers: usize,
    /// Who is flushed when the memory is used up.
    pub strategy: Strategy,
    /// Pass by the system's cache, where the file system can.
    pub direct: bool,
    /// The longest that a probe may wait in its block.
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

    /// What the pages being worked on leave of the memory.
    ///
    /// # Errors
    /// [`Error::Budget`] when it is too little for the blocks.
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
    /// The least [`BufferOptions::memory`] that builds or probes such a filter with so many workers:
    /// a page for each, and a little for every page there is.
    pub fn least_memory(&self, workers: usize) -> u64 {
        let workers = possible(workers);
        workers as u64 * self.page_bytes() + Blocks::least(self.pages() as usize, workers + WAITING)
    }
}

/// What a session has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// Blocks brought to their pages.
    pub flushes: u64,
    /// How long one took on average, of late, in seconds.
    pub flush_seconds: f64,
    /// How long the slowest took, in seconds.
    pub slowest_seconds: f64,
    /// How often the session had to wait for the workers.
    pub waits: u64,
    /// Blocks whose first entry had waited for longer than `t_max` and its own page.
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
    /// If there is a `t_max`.
    deadlines: Option<Deadlines>,
    broken: bool,
}

impl Engine {
    /// `width` is the length of an entry; `work` is done with each block.
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

    /// Says how long a flush will take, before there was one.
    pub(super) fn expect(&mut self, took: Duration) {
        self.figures.flush_seconds = took.as_secs_f64();
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.expect(took.as_secs_f64());
        }
    }

    /// Ends the session: what was written is not sure to be on the disk, whatever a later
    /// attempt may say.
    pub(super) fn break_off(&mut self) {
        self.broken = true;
    }

    /// An error when an earlier flush has failed: keys are lost then.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.broken {
            false => Ok(()),
            true => Err(Error::io("working on pages")(std::io::Error::other(
                "an earlier write or read has failed",
            ))),
        }
    }

    /// Gives the block of a page a chunk with room. `sink` sees every block that comes back.
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

    /// Gives out the longest block, or one that is due.
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

    /// Gives out all blocks, in the order of their pages.
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

    /// Brings everything that waits to its page, and returns when all of it is there.
    pub(super) fn flush(&mut self, sink: &mut impl FnMut(&Block)) -> Result<(), Error> {
        self.check()?;
        self.sweep(sink)?;
        while self.workers.outstanding() > 0 {
            self.wait(sink)?;
        }
        Ok(())
    }

    /// Takes back what is done, without waiting.
    pub(super) fn collect(&mut self, sink: &mut impl FnMut(&Block)) -> Result<(), Error> {
        self.check()?;
        while let Some(done) = self.workers.try_take() {
            self.settle(done, sink)?;
        }
        Ok(())
    }

    /// Waits for a block to come back; false if `deadline` comes first, or none is out.
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
            deadlines.expect(self.figures.flush_seconds);
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

    /// Whether a block for this page waits already, or one more can still be flushed within
    /// `t_max`, together with all that wait or are on their way.
    pub(super) fn admits(&self, page: usize) -> bool {
        let before = self.blocks.waiting() + self.workers.outstanding();
        let deadlines = self.deadlines.as_ref();
        !self.blocks.is_empty(page) || deadlines.is_none_or(|deadlines| deadlines.admits(before))
    }

    /// When a block must go next. None without a `t_max`, or if nothing waits.
    pub(super) fn due(&mut self) -> Option<Instant> {
        let outstanding = self.workers.outstanding();
        self.deadlines.as_mut()?.due(&self.blocks, outstanding)
    }

    /// From now on, all blocks that wait are due. Without a `t_max`, flushes them instead.
    pub(super) fn hurry(&mut self, sink: &mut impl FnMut(&Block)) -> Result<(), Error> {
        match &mut self.deadlines {
            Some(deadlines) => deadlines.hurry(),
            None => self.flush(sink)?,
        }
        Ok(())
    }

    /// Whether nothing waits and nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.blocks.waiting() + self.workers.outstanding() == 0
    }

    /// Gives out the oldest blocks, as long as they are due and a worker is free.
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
