//! The keys of one side, as a Bloom filter: in memory if it fits, else on disk.
//!
//! ```text
//!   hashes --> Collector: how many are distinct? --> a filter of the right size
//!                                                       |            |
//!                                                    Filter     buffered::Filter
//!   rows of the other side ---------------------> a bit for each, in order
//! ```
//!
//! What is inserted is the 64-bit hash of a key, not its text: eight bytes per key wait in a
//! temporary file until the number of keys is known. Two keys with the same hash add a false
//! positive, once in 2^64 / keys rows.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::{Context, Result};
use bloomgrove::buffered::{self, BufferOptions, Geometry, Prober};
use bloomgrove::raw::filter::{Hashes, insert_hash};
use bloomgrove::{Collector, Filter, tune};
use tempfile::TempDir;

use super::mask::Mask;
use super::table::Table;
use crate::shared::{interrupt, units};

/// What the process takes whatever the filter: its code, pages of the columns that are read, and
/// what the writer of a Parquet file keeps of a column.
const BASE: u64 = 32 << 20;

/// How much memory the parts of the work may take.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    /// For a filter, in memory or the buffers of one on disk.
    filter: u64,
    /// For hashes, until they go to a temporary file.
    hashes: u64,
}

impl Budget {
    /// Of all the memory; in both directions, the keys of one side are collected while the filter
    /// of the other is used.
    pub(super) fn of(memory: u64, both: bool) -> Result<Self> {
        let rest = memory.saturating_sub(BASE);
        anyhow::ensure!(
            rest >= 4 << 20,
            "--memory {} is not enough; pass at least {}MB",
            units::size(memory),
            (BASE + (4 << 20)).div_ceil(1_000_000)
        );
        Ok(Self {
            filter: if both { rest / 2 } else { rest },
            hashes: rest / 2,
        })
    }
}

/// Keys on their way into a filter.
pub(super) struct Keys {
    collector: Collector,
    fpr: f64,
    budget: Budget,
}

impl Keys {
    pub(super) fn new(fpr: f64, budget: Budget) -> Result<Self> {
        let room = usize::try_from(budget.hashes).unwrap_or(usize::MAX);
        Ok(Self {
            collector: Collector::new(fpr)?.memory(room),
            fpr,
            budget,
        })
    }

    pub(super) fn insert(&mut self, hash: u64) -> Result<()> {
        Ok(insert_hash(&mut self.collector, hash)?)
    }

    pub(super) fn finish(self) -> Result<Members> {
        let mut hashes = Hashes::of(self.collector)?;
        let distinct = hashes.distinct();
        let params = tune::recommend(distinct.max(1), self.fpr)?.params()?;
        let set = if params.bits().div_ceil(8) <= self.budget.filter {
            let mut filter = Filter::new(params)?;
            hashes.for_each_chunk(|hashes| {
                filter.insert_batch(hashes);
                interrupt::check()
            })?;
            Set::Memory(filter)
        } else {
            Set::Disk(Box::new(OnDisk::build(
                hashes,
                self.fpr,
                self.budget.filter,
            )?))
        };
        Ok(Members { distinct, set })
    }
}

/// The keys of one side.
pub(super) struct Members {
    /// How many different ones there are.
    pub(super) distinct: u64,
    set: Set,
}

enum Set {
    Memory(Filter),
    Disk(Box<OnDisk>),
}

impl Members {
    pub(super) fn is_on_disk(&self) -> bool {
        matches!(self.set, Set::Disk(_))
    }

    /// The size of the filter in bytes.
    pub(super) fn bytes(&self) -> u64 {
        match &self.set {
            Set::Memory(filter) => 8 * filter.words().len() as u64,
            Set::Disk(disk) => disk.filter.geometry().bytes(),
        }
    }

    /// How often a row is kept whose key is not among them.
    pub(super) fn fpr(&self) -> f64 {
        match &self.set {
            _ if self.distinct == 0 => 0.0,
            Set::Memory(filter) => filter.expected_fpr(),
            Set::Disk(disk) => disk.filter.geometry().expected_fpr(self.distinct),
        }
    }

    /// The filter, if it answers at once.
    pub(super) fn in_memory(&self) -> Option<&Filter> {
        match &self.set {
            Set::Memory(filter) => Some(filter),
            Set::Disk(_) => None,
        }
    }

    /// A bit for each row of a table. `tested` counts the rows, and those with a key.
    pub(super) fn mark(&self, table: &Table, what: &'static str) -> Result<(Mask, Tested)> {
        let mut mask = Mask::new();
        let mut tested = Tested::default();
        match &self.set {
            Set::Memory(filter) => {
                let (mut keys, mut found) = (Vec::new(), Vec::new());
                let mut bits = Bits::default();
                table.scan(what, &mut |rows| {
                    tested.count(rows);
                    keys.clear();
                    keys.extend(rows.iter().flatten().copied());
                    found.clear();
                    found.resize(keys.len(), false);
                    filter.contains_batch(&keys, &mut found);
                    let mut found = found.iter();
                    for row in rows {
                        let kept = row.is_some() && found.next() == Some(&true);
                        if let Some(word) = bits.push(kept) {
                            mask.push(word)?;
                        }
                    }
                    Ok(())
                })?;
                mask.push(bits.word)?;
            }
            Set::Disk(disk) => {
                let mut round = disk.round()?;
                table.scan(what, &mut |rows| {
                    tested.count(rows);
                    rows.iter().try_for_each(|row| round.push(*row, &mut mask))
                })?;
                round.end(&mut mask)?;
            }
        }
        Ok((mask, tested))
    }
}

/// How many rows there were, and how many had a key and held.
#[derive(Clone, Copy, Default)]
pub(super) struct Tested {
    pub(super) rows: u64,
    pub(super) keys: u64,
}

impl Tested {
    pub(super) fn count(&mut self, rows: &[Option<u64>]) {
        self.rows += rows.len() as u64;
        self.keys += rows.iter().flatten().count() as u64;
    }
}

/// Bits on their way to a word.
#[derive(Default)]
struct Bits {
    word: u64,
    count: u32,
}

impl Bits {
    /// Adds a bit; returns the word that it completes.
    fn push(&mut self, bit: bool) -> Option<u64> {
        self.word |= u64::from(bit) << self.count;
        self.count = (self.count + 1) % 64;
        (self.count == 0).then(|| std::mem::take(&mut self.word))
    }
}

/// A filter in a temporary file.
struct OnDisk {
    filter: buffered::Filter,
    options: BufferOptions,
    /// The rows whose answers are awaited together.
    round: u64,
    _directory: TempDir,
}

impl OnDisk {
    fn build(mut hashes: Hashes, fpr: f64, memory: u64) -> Result<Self> {
        let trouble = "keeping the filter in the temporary directory (TMPDIR can name another)";
        let directory = TempDir::with_prefix("bloomgrove-").context(trouble)?;
        let path = directory.path().join("keys.grove");
        let geometry = Geometry::for_items(hashes.distinct(), fpr)?;
        // An eighth is for the answers, one bit per row of a round.
        let options = BufferOptions {
            memory: memory - memory / 8,
            ..BufferOptions::default()
        };
        let least = geometry.least_memory(options.workers);
        anyhow::ensure!(
            options.memory >= least,
            "the filter of {} has {} on disk, and needs {} of buffers; pass --memory {}MB",
            units::counted(hashes.distinct(), "key"),
            units::size(geometry.bytes()),
            units::size(least),
            (BASE + 2 * least * 8 / 7).div_ceil(1_000_000)
        );
        let mut builder = buffered::Builder::create(&path, &geometry, &options).context(trouble)?;
        hashes.for_each_chunk(|hashes| {
            builder.insert_batch(hashes)?;
            interrupt::check()
        })?;
        builder.finish()?;
        Ok(Self {
            filter: buffered::Filter::open(&path)?,
            options,
            round: memory,
            _directory: directory,
        })
    }

    fn round(&self) -> Result<Round> {
        let answers = Rc::new(RefCell::new(Vec::new()));
        let sink: Box<dyn FnMut(u64, bool)> = {
            let answers = Rc::clone(&answers);
            Box::new(move |row: u64, found: bool| {
                answers.borrow_mut()[row as usize / 64] |= u64::from(found) << (row % 64);
            })
        };
        Ok(Round {
            prober: self.filter.prober(&self.options, sink)?,
            answers,
            rows: 0,
            limit: self.round.next_multiple_of(64),
        })
    }
}

/// Rows whose answers are awaited together. Each round visits all pages of the filter.
struct Round {
    prober: Prober<Box<dyn FnMut(u64, bool)>>,
    answers: Rc<RefCell<Vec<u64>>>,
    rows: u64,
    limit: u64,
}

impl Round {
    fn push(&mut self, hash: Option<u64>, mask: &mut Mask) -> Result<()> {
        if self.rows == self.limit {
            self.end(mask)?;
        }
        if self.rows.is_multiple_of(64) {
            self.answers.borrow_mut().push(0);
        }
        if let Some(hash) = hash {
            self.prober.submit(&hash, self.rows)?;
        }
        self.rows += 1;
        Ok(())
    }

    fn end(&mut self, mask: &mut Mask) -> Result<()> {
        self.prober.flush()?;
        let mut answers = self.answers.borrow_mut();
        answers.drain(..).try_for_each(|word| mask.push(word))?;
        self.rows = 0;
        Ok(())
    }
}
