//! What building and probing share: blocks that fill, and who is flushed when.
//!
//! Memory runs out in the midst of an insert or a probe. Whoever needs a chunk then takes
//! back what the workers have done, gives them the next block, and waits only if nothing is
//! free. A block is given out a little before memory is used up, so that the workers are at
//! it while the rest fills.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Error;

use super::blocks::{Block, Blocks, Strategy};
use super::file::PageFile;
use super::plan::Plan;
use super::workers::{Done, Work, Workers};

/// Blocks are given to the workers when less than this part of the memory is free.
const RESERVE: usize = 8;
/// Blocks that wait for a worker beside those that are with one.
const WAITING: usize = 2;
/// Blocks are reckoned to take so many times their mean, and so many mean deviations more: a
/// disk or a processor that others use, too, is not always the same.
const CAUTION: (f64, f64) = (1.5, 3.0);
/// The weight of the newest in the running mean of a flush's time.
const NEWEST: f64 = 0.125;

/// How a session works. The defaults suit a disk without moving parts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
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

impl Default for Options {
    fn default() -> Self {
        Self {
            memory: 32 << 20,
            workers: 2,
            strategy: Strategy::Longest,
            direct: true,
            t_max: None,
        }
    }
}

impl Options {
    /// The defaults, with so many bytes of memory.
    pub fn with_memory(memory: u64) -> Self {
        Self {
            memory,
            ..Self::default()
        }
    }

    fn workers(&self) -> usize {
        possible(self.workers)
    }

    /// What the pages being worked on leave of the memory.
    ///
    /// # Errors
    /// [`Error::Budget`] when it is too little for the blocks.
    pub(super) fn check(&self, plan: &Plan) -> Result<u64, Error> {
        let buffers = self.workers() as u64 * plan.page_bytes();
        let least = plan.least_memory(self.workers());
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

impl Plan {
    /// The least [`Options::memory`] that builds or probes such a filter with so many workers:
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
    /// How often the session had to wait for the workers.
    pub waits: u64,
}

/// Blocks and workers.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) blocks: Blocks,
    workers: Workers,
    strategy: Strategy,
    reserve: usize,
    figures: Figures,
    /// The running mean of how far a flush's time is from the mean, in seconds.
    deviation: f64,
    /// Blocks in the order of their first entries, while anybody asks for their age.
    ages: Option<VecDeque<(Instant, usize, u32)>>,
    broken: bool,
}

impl Engine {
    /// `width` is the length of an entry; `work` is done with each block.
    pub(super) fn start(
        file: &PageFile,
        options: &Options,
        width: usize,
        work: Arc<Work>,
    ) -> Result<Self, Error> {
        let workers = options.workers();
        let spare = workers + WAITING;
        let pages = file.plan().pages() as usize;
        let memory = options.check(file.plan())?;
        let blocks = Blocks::new(pages, width, memory, options.strategy, spare)?;
        Ok(Self {
            reserve: (blocks.total() / RESERVE).min(blocks.total().saturating_sub(pages)),
            blocks,
            workers: Workers::start(workers, file, work)?,
            strategy: options.strategy,
            figures: Figures::default(),
            deviation: 0.0,
            ages: options.t_max.map(|_| VecDeque::new()),
            broken: false,
        })
    }

    pub(super) fn figures(&self) -> Figures {
        self.figures
    }

    /// Says how long a flush will take, before there was one.
    pub(super) fn expect(&mut self, took: Duration) {
        self.figures.flush_seconds = took.as_secs_f64();
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
        if let Some(ages) = &mut self.ages
            && self.blocks.is_empty(page)
        {
            let blocks = &self.blocks;
            // Those of blocks that went when they were full are still there.
            if ages.len() > 2 * blocks.pages() {
                ages.retain(|&(_, page, serial)| blocks.serial(page) == serial);
            }
            ages.push_back((Instant::now(), page, blocks.serial(page)));
        }
        Ok(())
    }

    fn give_longest(&mut self) {
        if self.workers.outstanding() < self.workers.count() + WAITING
            && let Some(page) = self.blocks.longest()
        {
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
        let off = (took - self.figures.flush_seconds).abs();
        self.deviation = self.deviation * (1.0 - NEWEST) + off * NEWEST;
        let mean = &mut self.figures.flush_seconds;
        *mean = match *mean {
            0.0 => took,
            mean => mean * (1.0 - NEWEST) + took * NEWEST,
        };
        self.figures.flushes += 1;
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

    /// How long the workers need for one block, all of them at work.
    fn pace(&self) -> Duration {
        let (means, deviations) = CAUTION;
        let one = self.figures.flush_seconds * means + self.deviation * deviations;
        Duration::from_secs_f64(one / self.workers.count() as f64)
    }

    /// Whether a block for this page waits already, or one more can still be flushed within
    /// `t_max`, together with all that wait or are on their way.
    pub(super) fn admits(&self, page: usize, t_max: Duration) -> bool {
        let before = self.blocks.waiting() + self.workers.outstanding();
        !self.blocks.is_empty(page)
            || before < self.workers.count()
            || self.pace() * (before as u32 + 1) <= t_max
    }

    /// When the oldest block must go so that it, and each behind it, is with a worker when
    /// its first entry has waited for `t_max`. Only if ages are kept.
    pub(super) fn due(&mut self, t_max: Duration) -> Option<Instant> {
        let (blocks, pace) = (&self.blocks, self.pace());
        let ages = self.ages.as_mut()?;
        ages.retain(|&(_, page, serial)| blocks.serial(page) == serial && !blocks.is_empty(page));
        let mut ahead = pace * self.workers.outstanding() as u32;
        let mut due: Option<Instant> = None;
        for &(since, ..) in ages.iter() {
            let latest = (since + t_max).checked_sub(ahead).unwrap_or(since);
            due = Some(due.map_or(latest, |due| due.min(latest)));
            ahead += pace;
        }
        due
    }

    /// Gives out the oldest blocks, as long as they are due and a worker is free.
    pub(super) fn give_due(&mut self, t_max: Duration) {
        while self.workers.outstanding() <= self.workers.count()
            && self.due(t_max).is_some_and(|due| due <= Instant::now())
        {
            let oldest = self.ages.as_mut().and_then(VecDeque::pop_front);
            let Some((_, page, _)) = oldest else { return };
            self.give(page);
        }
    }
}
