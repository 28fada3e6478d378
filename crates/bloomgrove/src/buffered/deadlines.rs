//! Deadlines: when a block must be flushed so that its first entry is not pending longer than
//! `t_max`.
//!
//! ```text
//!   begun  |----------------- t_max -----------------|
//!          |--- aim ---------------------|- margin --|
//!          |- latest ->|- blocks ahead --|
//! ```
//!
//! Many blocks may become due at about the same time, and the workers flush them one after the
//! other. So a block is flushed early enough that all blocks before it can be flushed in time,
//! too; and once as many are pending as can be flushed in time, no new block may be started
//! ([`Deadlines::admits`]).
//!
//! The time per page is measured continuously, and slow periods are remembered for a moment, since
//! the next one may come just as suddenly. Unforeseen delays make blocks late, and a late block widens
//! the margin. Both are forgotten with time, not with every block: while few blocks are admitted, few
//! are flushed. No deadline can be met if the disk stalls for longer than the margin.
//!
//! Source: Buffered Bloom Filters, section 4.2, which has a timer for each block and flushes
//! the block when the timer expires.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::blocks::{Block, Blocks};

/// Blocks are assumed to take this many times their mean in slow periods: the speed of a shared
/// disk or processor varies.
const CAUTION: f64 = 1.5;
/// The initial margin: how long a shared disk may stall.
const FIRST_MARGIN: Duration = Duration::from_millis(25);
/// The margin is at most `t_max` divided by this.
const MOST_MARGIN: u32 = 2;
/// The time in which half of the margin and of the remembered slow time is forgotten: after a stall
/// that made flushes a thousand times slower, the pace is normal again in ten times this.
const HALF_LIFE: Duration = Duration::from_millis(250);
/// How often, within `t_max`, to look for blocks that are due: examining all of them takes
/// time, too.
const GLANCES: u32 = 256;

/// Longer than any real wait, and short enough not to overflow in arithmetic.
const FAR: Duration = Duration::from_secs(1 << 30);

/// The pending blocks by age, and how long the workers need for them.
#[derive(Debug)]
pub(super) struct Deadlines {
    t_max: Duration,
    margin: Duration,
    /// The mean time of a flush in slow periods, in seconds.
    slow: f64,
    /// When the margin and the slow time were last reduced.
    forgot: Instant,
    workers: usize,
    /// The start time, the page, and the serial number of its block. Blocks flushed for other
    /// reasons remain here for a while.
    ages: VecDeque<(Instant, usize, u32)>,
    /// The last time that no block was due.
    looked: Instant,
    /// Whether all pending blocks are due.
    hurry: bool,
}

impl Deadlines {
    pub(super) fn new(t_max: Duration, workers: usize) -> Self {
        let t_max = t_max.min(FAR);
        Self {
            t_max,
            margin: FIRST_MARGIN.min(t_max / MOST_MARGIN),
            slow: 0.0,
            forgot: Instant::now(),
            workers,
            ages: VecDeque::new(),
            looked: Instant::now(),
            hurry: false,
        }
    }

    /// Makes all pending blocks due from now on.
    pub(super) fn hurry(&mut self) {
        self.hurry = true;
    }

    /// Records the current mean time of a flush, in seconds.
    pub(super) fn expect(&mut self, mean: f64, now: Instant) {
        let passed = now.saturating_duration_since(self.forgot);
        // Flushes may take microseconds, and this a tenth of one.
        if passed > HALF_LIFE / 256 {
            let kept = (-passed.div_duration_f64(HALF_LIFE)).exp2();
            self.slow *= kept;
            self.margin = self.margin.mul_f64(kept);
            self.forgot = now;
        }
        self.slow = self.slow.max(mean);
    }

    /// Records a block that was flushed; returns whether it was late, not counting the time for
    /// its own page.
    pub(super) fn learn(&mut self, block: &Block, took: Duration) -> bool {
        let waited = block.since.map_or(Duration::ZERO, |since| since.elapsed());
        let late = waited.saturating_sub(self.t_max + took);
        self.margin = (self.margin + late).min(self.t_max / MOST_MARGIN);
        !late.is_zero()
    }

    /// Records that a block was started.
    pub(super) fn begin(&mut self, page: usize, blocks: &mut Blocks) {
        let now = Instant::now();
        blocks.set_since(page, now);
        if self.ages.len() > 2 * blocks.pages() {
            self.forget_gone(blocks);
        }
        self.ages.push_back((now, page, blocks.serial(page)));
    }

    fn forget_gone(&mut self, blocks: &Blocks) {
        self.ages
            .retain(|&(_, page, serial)| blocks.serial(page) == serial && !blocks.is_empty(page));
    }

    /// Returns the time the workers need per block when all of them are working.
    fn pace(&self) -> Duration {
        Duration::from_secs_f64(CAUTION * self.slow / self.workers as f64)
    }

    fn aim(&self) -> Duration {
        self.t_max - self.margin
    }

    /// Returns whether another block can be flushed in time after `before` others.
    pub(super) fn admits(&self, before: usize) -> bool {
        before < self.workers || self.pace() * (before as u32 + 1) <= self.aim()
    }

    /// Returns when the oldest block must be flushed so that it and each one after it is done
    /// in time, while `outstanding` blocks are being flushed. `None` if nothing is pending.
    pub(super) fn due(&mut self, blocks: &Blocks, outstanding: usize) -> Option<Instant> {
        if self.hurry {
            // Only the first matters: examining all of them for each flush would take too long.
            while let Some(&(since, page, serial)) = self.ages.front() {
                if blocks.serial(page) == serial && !blocks.is_empty(page) {
                    return Some(since);
                }
                self.ages.pop_front();
            }
            return None;
        }
        self.forget_gone(blocks);
        let (aim, pace) = (self.aim(), self.pace());
        let mut ahead = pace * outstanding as u32;
        let mut due: Option<Instant> = None;
        for &(since, ..) in &self.ages {
            let latest = (since + aim).checked_sub(ahead).unwrap_or(since);
            due = Some(due.map_or(latest, |due| due.min(latest)));
            ahead += pace;
        }
        due
    }

    /// Returns the page whose block must be flushed now, if there is one.
    pub(super) fn next_due(&mut self, blocks: &Blocks, outstanding: usize) -> Option<usize> {
        let now = Instant::now();
        if !self.hurry && now - self.looked < self.t_max / GLANCES {
            return None;
        }
        if self.due(blocks, outstanding).is_none_or(|due| due > now) {
            self.looked = now;
            return None;
        }
        self.ages.pop_front().map(|(_, page, _)| page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffered::blocks::Strategy;

    const MS: Duration = Duration::from_millis(1);

    fn begun(deadlines: &mut Deadlines, blocks: &mut Blocks, page: usize) {
        assert!(blocks.extend(page));
        deadlines.begin(page, blocks);
        assert!(blocks.push(page, 1));
    }

    fn blocks() -> Blocks {
        Blocks::new(16, 4, 1 << 20, Strategy::Longest, 4).unwrap()
    }

    #[test]
    fn many_blocks_must_go_earlier_than_one() {
        let (mut blocks, mut deadlines) = (blocks(), Deadlines::new(1000 * MS, 1));
        deadlines.expect(0.010, Instant::now());
        let first = Instant::now();
        begun(&mut deadlines, &mut blocks, 3);
        let alone = deadlines.due(&blocks, 0).unwrap();
        assert!(alone >= first + 975 * MS);
        (4..16).for_each(|page| begun(&mut deadlines, &mut blocks, page));
        let crowded = deadlines.due(&blocks, 0).unwrap();
        assert!(alone - crowded > 100 * MS, "{:?}", alone - crowded);
        // A block that has been taken does not count.
        blocks.take(3);
        assert!(deadlines.due(&blocks, 0).unwrap() > crowded);
    }

    #[test]
    fn no_more_are_admitted_than_can_be_flushed() {
        let mut deadlines = Deadlines::new(100 * MS, 2);
        deadlines.expect(0.010, Instant::now());
        // 75 ms at 7.5 ms per block.
        assert!(deadlines.admits(9) && !deadlines.admits(10));
        assert!(
            Deadlines::new(Duration::ZERO, 2).admits(1),
            "one per worker"
        );
    }

    #[test]
    fn being_late_widens_the_margin_up_to_half() {
        let (mut blocks, mut deadlines) = (blocks(), Deadlines::new(MS, 1));
        begun(&mut deadlines, &mut blocks, 0);
        std::thread::sleep(3 * MS);
        let block = blocks.take(0);
        assert!(deadlines.learn(&block, Duration::ZERO));
        assert_eq!(deadlines.margin, MS / 2);
        assert!(!deadlines.learn(&block, Duration::from_secs(60)));
        deadlines.expect(0.0, Instant::now() + HALF_LIFE);
        assert!(deadlines.margin <= MS / 4);
    }

    /// While hardly any block is admitted, hardly any is flushed: a stall must not be remembered for
    /// a number of blocks.
    #[test]
    fn a_stall_is_forgotten_in_seconds() {
        let mut deadlines = Deadlines::new(100 * MS, 2);
        let start = Instant::now();
        deadlines.expect(0.1, start);
        assert!(!deadlines.admits(2));
        for tenths in 1..=30 {
            deadlines.expect(0.0001, start + 100 * MS * tenths);
        }
        // 75 ms and more at 75 us per block.
        assert!(deadlines.admits(900));
    }

    #[test]
    fn in_a_hurry_the_oldest_goes_first() {
        let (mut blocks, mut deadlines) = (blocks(), Deadlines::new(1000 * MS, 1));
        [5, 2, 9]
            .into_iter()
            .for_each(|page| begun(&mut deadlines, &mut blocks, page));
        assert_eq!(deadlines.next_due(&blocks, 0), None);
        deadlines.hurry();
        for page in [5, 2, 9] {
            assert_eq!(deadlines.next_due(&blocks, 0), Some(page));
            blocks.take(page);
        }
        assert_eq!(deadlines.next_due(&blocks, 0), None);
    }
}
