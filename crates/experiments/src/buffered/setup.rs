//! What the experiments share: the paper's Table 2, the build and probe of a contender, and how
//! they are measured.
//!
//! Keys are numbers: those below the number of inserted keys are present. A probe queries as many
//! absent keys as present ones, as far as there are enough. Every answer is checked: a present key
//! that is not found ends the run.
//!
//! Resident memory is the peak during build and probe, minus that of the process when it started its
//! first contender. Memory that earlier contenders have freed counts, so it may be too high, but
//! never too low.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bloomgrove::buffered::{self, BufferOptions, Builder, Geometry, Strategy};
use bloomgrove::{Filter, Layout, Params};
use tempfile::TempDir;

use super::Effort;
use super::literal::Literal;
use crate::Progress;
use crate::memory::{begin_anew, resident};

/// Table 2, in megabytes.
pub(super) const ON_DISK: u64 = 256;
pub(super) const PAGE: u64 = 2;
pub(super) const PLAIN: u64 = 128;
/// Table 2: bits per key on disk, and in memory.
const HASHES: u32 = 2;
const PLAIN_HASHES: u32 = 3;
/// Of our filter.
const OUR_HASHES: u32 = 8;
/// A contender that takes longer than this many seconds is not run again.
const LONG: f64 = 12.0;
/// Keys generated at a time: enough for batches, and small compared with any budget.
pub(super) const CHUNK: u64 = 4096;

/// What to measure, and where files may be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<'a> {
    pub(super) effort: Effort,
    pub(super) directory: &'a Path,
}

impl Task<'_> {
    /// A directory for filter files, which is removed when dropped.
    pub(super) fn scratch(&self) -> Result<Scratch> {
        let made = tempfile::Builder::new()
            .prefix("bloomgrove-paper-")
            .tempdir_in(self.directory);
        made.map(Scratch)
            .with_context(|| self.directory.display().to_string())
    }

    pub(super) fn bytes(&self, megabytes: u64) -> u64 {
        megabytes * self.effort.megabyte
    }

    /// Table 2: 256 MB, two bits per key anywhere in a page of 2 MB.
    pub(super) fn paper_geometry(&self) -> Result<Geometry> {
        Ok(Geometry::builder(self.bytes(ON_DISK), HASHES)
            .layout(Layout::Standard)
            .page_bytes(self.bytes(PAGE))
            .build()?)
    }

    /// The same size with our defaults: pages of half a megabyte, and the bits of a key in one
    /// line.
    pub(super) fn our_geometry(&self) -> Result<Geometry> {
        Ok(Geometry::builder(self.bytes(ON_DISK), OUR_HASHES)
            .page_bytes(self.effort.megabyte / 2)
            .build()?)
    }

    pub(super) fn options(&self, megabytes: u64, strategy: Strategy) -> BufferOptions {
        BufferOptions {
            memory: self.bytes(megabytes),
            strategy,
            ..BufferOptions::default()
        }
    }

    /// The paper's filter with this many megabytes of buffers, flushed this way.
    pub(super) fn paper(&self, megabytes: u64, strategy: Strategy) -> Result<Contender> {
        Ok(Contender::Buffered(
            self.paper_geometry()?,
            self.options(megabytes, strategy),
        ))
    }

    /// The paper's filter by Algorithms 1 and 2 to the letter, with this many megabytes for what waits.
    pub(super) fn literal(&self, megabytes: u64) -> Contender {
        Contender::Literal(Literal {
            pages: ON_DISK / PAGE,
            page_bytes: self.bytes(PAGE),
            hashes: HASHES,
            memory: Some(self.bytes(megabytes)),
            sub_filters: true,
            in_memory: false,
            patience: self.effort.patience,
        })
    }

    pub(super) fn ours(&self, megabytes: u64) -> Result<Contender> {
        Ok(Contender::Buffered(
            self.our_geometry()?,
            self.options(megabytes, Strategy::Longest),
        ))
    }

    /// The filter in memory that the paper compares with: three bits per key, anywhere.
    pub(super) fn plain(&self, megabytes: u64, batches: bool) -> Result<Contender> {
        let params = Params::builder(self.bytes(megabytes) * 8, PLAIN_HASHES).build()?;
        Ok(Contender::Plain { params, batches })
    }
}

/// A directory that is removed with its contents.
#[derive(Debug)]
pub(super) struct Scratch(TempDir);

impl Scratch {
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn file(&self) -> PathBuf {
        self.0.path().join("filter.grove")
    }

    /// Frees the disk space before the next filter is created.
    pub(super) fn clear(&self) {
        let _ = fs::remove_file(self.file());
    }
}

/// How many keys are inserted, and how many queried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) build: u64,
    pub(super) probe: u64,
}

impl Keys {
    /// The same number of both.
    pub(super) fn both(keys: u64) -> Self {
        Self {
            build: keys,
            probe: keys,
        }
    }

    /// The first key that is queried.
    pub(super) fn first(&self) -> u64 {
        self.build - self.build.min(self.probe / 2)
    }

    fn absent(&self) -> u64 {
        self.first() + self.probe - self.build
    }
}

/// The answers so far.
#[derive(Debug, Default)]
pub(super) struct Answers {
    lost: u64,
    wrong: u64,
}

impl Answers {
    #[inline(always)]
    pub(super) fn take(&mut self, keys: &Keys, key: u64, found: bool) {
        self.lost += u64::from(key < keys.build && !found);
        self.wrong += u64::from(key >= keys.build && found);
    }

    /// The share of absent keys that were found.
    pub(super) fn rate(&self, keys: &Keys) -> Result<f64> {
        ensure!(self.lost == 0, "{} keys were lost", self.lost);
        Ok(self.wrong as f64 / keys.absent().max(1) as f64)
    }
}

/// A contender.
#[derive(Clone, Debug)]
pub(super) enum Contender {
    Plain { params: Params, batches: bool },
    Buffered(Geometry, BufferOptions),
    Literal(Literal),
}

/// One build and probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Seconds.
    pub(super) build: f64,
    pub(super) probe: f64,
    /// The share of absent keys that were found.
    pub(super) fpr: f64,
    /// Peak megabytes, if the system reports them.
    pub(super) resident: Option<f64>,
    /// Blocks flushed to pages while building, and while probing.
    pub(super) flushes: [u64; 2],
    /// Bytes of pages.
    pub(super) written: u64,
    pub(super) read: u64,
    /// Seconds of the slowest round.
    pub(super) slowest: f64,
}

impl Run {
    pub(super) fn total(&self) -> f64 {
        self.build + self.probe
    }

    /// Whether it takes too long to be run again.
    pub(super) fn is_long(&self) -> bool {
        self.total() > LONG
    }

    /// The faster of this run and a later one; resident memory is that of the first, because later
    /// ones include what others have freed.
    pub(super) fn better(self, later: Self) -> Self {
        let faster = if later.total() < self.total() {
            later
        } else {
            self
        };
        Self {
            resident: self.resident,
            slowest: self.slowest.max(later.slowest),
            ..faster
        }
    }
}

impl Contender {
    pub(super) fn run(&self, scratch: &Scratch, keys: Keys) -> Result<Run> {
        match self {
            Contender::Plain { params, batches } => plain(params, *batches, keys),
            Contender::Buffered(geometry, options) => {
                scratch.clear();
                on_disk(&scratch.file(), geometry, options, keys)
            }
            Contender::Literal(literal) => {
                scratch.clear();
                literal.run(&scratch.file(), keys)
            }
        }
    }
}

/// Runs all contenders in turn, in every round, and keeps the best round of each. One that takes
/// long runs only once, because noise is a small part of its time. Resident memory is that of the first
/// round.
pub(super) fn race(
    task: Task<'_>,
    contenders: &[(String, Contender)],
    keys: Keys,
    progress: &mut Progress<'_>,
) -> Result<Vec<Run>> {
    let scratch = task.scratch()?;
    let mut best: Vec<Run> = Vec::new();
    for round in 0..task.effort.rounds {
        for (i, (name, contender)) in contenders.iter().enumerate() {
            if best.get(i).is_some_and(Run::is_long) {
                continue;
            }
            progress(&format!("{name} (round {})", round + 1))?;
            let run = contender.run(&scratch, keys)?;
            match best.get_mut(i) {
                None => best.push(run),
                Some(kept) => *kept = kept.better(run),
            }
        }
    }
    Ok(best)
}

/// Calls `each` with `count` keys from `from` on, in chunks.
pub(super) fn chunks(
    from: u64,
    count: u64,
    mut each: impl FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    let mut keys = Vec::with_capacity(CHUNK as usize);
    for start in (from..from + count).step_by(CHUNK as usize) {
        keys.clear();
        keys.extend(start..(start + CHUNK).min(from + count));
        each(black_box(&keys))?;
    }
    Ok(())
}

/// Builds a filter in a file; returns the seconds, the flushes, and how many pages were written.
pub(super) fn build(
    path: &Path,
    geometry: &Geometry,
    options: &BufferOptions,
    keys: u64,
) -> Result<(f64, u64, u64)> {
    let start = Instant::now();
    let mut builder = Builder::create(path, geometry, options)?;
    chunks(0, keys, |keys| Ok(builder.insert_batch(keys)?))?;
    let flushes = builder.finish()?.flushes;
    let seconds = start.elapsed().as_secs_f64();
    let pages = buffered::Filter::open(path)?.state()?.written_pages;
    Ok((seconds, flushes, pages))
}

fn on_disk(path: &Path, geometry: &Geometry, options: &BufferOptions, keys: Keys) -> Result<Run> {
    begin_anew();
    let (built, flushes, pages) = build(path, geometry, options, keys.build)?;
    let start = Instant::now();
    let filter = buffered::Filter::open_with(path, options.direct)?;
    let mut answers = Answers::default();
    let mut prober = filter.prober(options, |key, found| answers.take(&keys, key, found))?;
    chunks(keys.first(), keys.probe, |keys| {
        Ok(prober.submit_batch(keys, keys[0])?)
    })?;
    let probes = prober.finish()?.flushes;
    let probed = start.elapsed().as_secs_f64();
    Ok(Run {
        build: built,
        probe: probed,
        fpr: answers.rate(&keys)?,
        resident: resident(),
        flushes: [flushes, probes],
        written: flushes * geometry.page_bytes(),
        // A page is not read before its first flush, because it is empty.
        read: (flushes.saturating_sub(pages) + probes) * geometry.page_bytes(),
        slowest: built + probed,
    })
}

fn plain(params: &Params, batches: bool, keys: Keys) -> Result<Run> {
    begin_anew();
    let start = Instant::now();
    let mut filter = Filter::new(params.clone())?;
    chunks(0, keys.build, |keys| {
        match batches {
            true => filter.insert_batch(keys),
            false => keys.iter().for_each(|key| _ = filter.insert(key)),
        }
        Ok(())
    })?;
    let build = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut answers = Answers::default();
    let mut found = [false; CHUNK as usize];
    chunks(keys.first(), keys.probe, |asked| {
        let found = &mut found[..asked.len()];
        match batches {
            true => filter.contains_batch(asked, found),
            false => {
                for (key, found) in asked.iter().zip(&mut *found) {
                    *found = filter.contains(key);
                }
            }
        }
        for (key, found) in asked.iter().zip(found) {
            answers.take(&keys, *key, *found);
        }
        Ok(())
    })?;
    let probe = start.elapsed().as_secs_f64();
    Ok(Run {
        build,
        probe,
        fpr: answers.rate(&keys)?,
        resident: resident(),
        flushes: [0; 2],
        written: 0,
        read: 0,
        slowest: build + probe,
    })
}

/// A cell that is empty if there is no value.
pub(super) fn cell(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.0}"))
}

pub(super) fn gigabytes(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_probes_are_for_absent_keys() {
        for (build, probe, first, absent) in [
            (100, 100, 50, 50),
            (10, 90, 0, 80),
            (90, 10, 85, 5),
            (7, 7, 4, 4),
        ] {
            let keys = Keys { build, probe };
            assert_eq!(
                (keys.first(), keys.absent()),
                (first, absent),
                "{build} {probe}"
            );
        }
    }

    #[test]
    fn a_lost_key_is_an_error() {
        let keys = Keys::both(4);
        let mut answers = Answers::default();
        answers.take(&keys, 2, true);
        answers.take(&keys, 5, true);
        assert_eq!(answers.rate(&keys).ok(), Some(0.5));
        answers.take(&keys, 3, false);
        assert!(answers.rate(&keys).is_err());
    }
}
