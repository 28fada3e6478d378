//! A filter for keys whose number is not known in advance.
//!
//! ```text
//!   keys --> 64-bit hashes --(memory full)--> sorted runs in a temporary file
//!                    \                          /
//!                     count the distinct ones, size the filter, insert them
//! ```
//!
//! A filter cannot grow, so its size must be known first. Counting lines is not enough, because the
//! size depends on the number of *distinct* keys. The collector therefore stores an 8-byte hash of
//! each key instead of the key. Once sorted, the hashes are also inserted in the order of the
//! filter's memory.
//!
//! Most keys of a text are frequent words: what was inserted a moment ago is not stored again, so
//! that there is less to sort.
//!
//! Cost: 8 bytes per key, in memory up to the limit and on disk beyond it; about 30 ns per key for
//! sorting, and 1 ns for a key that was inserted recently.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::Filter;
use crate::hash::{Family, Hasher, Key, Xxh3Hasher};
use crate::{Error, Layout, tune};

/// The memory used by default before hashes are written to disk.
const DEFAULT_MEMORY: usize = 64 << 20;
/// The number of hashes that are read back at a time.
const CHUNK: usize = 8192;
/// The number of recent hashes that are remembered: 8 KiB, a quarter of the fastest cache.
const RECENT: usize = 1024;

/// Collects keys and builds a filter of the right size for them.
///
/// ```
/// use bloomgrove::Collector;
///
/// let mut keys = Collector::new(0.01)?;
/// for word in "the quick brown fox jumps over the lazy dog".split(' ') {
///     keys.insert(word)?;
/// }
/// let filter = keys.finish()?;
/// assert!(filter.contains("fox"));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct Collector {
    fpr: f64,
    layout: Option<Layout>,
    seed: u64,
    directory: PathBuf,
    room: usize,
    hashes: Vec<u64>,
    /// The last hash with each ending.
    recent: Box<[u64]>,
    spilled: Option<Spill>,
    keys: u64,
    /// Whether sizes are rounded up to steps.
    in_steps: bool,
}

impl Collector {
    /// Creates a collector for a filter with false-positive rate `fpr` and seed 0.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if no filter with 64-bit hashes has this rate.
    pub fn new(fpr: f64) -> Result<Self, Error> {
        Self::seeded(fpr, 0)
    }

    /// Creates a collector for a filter with a seed. The seed is part of every hash, so it must be
    /// known before the first key.
    ///
    /// # Errors
    /// Same as for [`new`](Self::new).
    pub fn seeded(fpr: f64, seed: u64) -> Result<Self, Error> {
        // Fail now rather than after all keys have been read.
        tune::choose(1, fpr, Some(Layout::Standard), Some(Family::Xxh3))?;
        Ok(Self {
            fpr,
            layout: None,
            seed,
            directory: std::env::temp_dir(),
            room: DEFAULT_MEMORY / 8,
            hashes: Vec::new(),
            // Each entry has another ending than the hashes that are looked up there.
            recent: (0..RECENT as u64).map(|ending| ending ^ 1).collect(),
            spilled: None,
            keys: 0,
            in_steps: false,
        })
    }

    /// Sets how many bytes of hashes are kept in memory before they are written to disk,
    /// approximately. Merging them needs at least 4 KiB for each time that happened.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.room = (bytes / 8).max(CHUNK);
        self
    }

    /// Sets the directory of the temporary file, if one is needed.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Sets the layout. By default, [`tune`] chooses it.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Rounds the number of items up to the next of a few steps, by at most a quarter. The filters
    /// of many sets then have few distinct sizes, which suits a mixed
    /// [`Index`](crate::index::Index).
    pub fn in_steps(mut self) -> Self {
        self.in_steps = true;
        self
    }

    /// Returns the number of keys inserted, including duplicates.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Inserts a key.
    ///
    /// # Errors
    /// [`Error::Io`] if the temporary file cannot be written. The key is kept nevertheless, and the
    /// next insert tries again.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), Error> {
        let hasher = Xxh3Hasher { seed: self.seed };
        let hash = key.with_bytes(|bytes| hasher.digest(bytes).lo);
        self.insert_hash(hash)
    }

    fn insert_hash(&mut self, hash: u64) -> Result<(), Error> {
        self.keys += 1;
        let recent = &mut self.recent[hash as usize % RECENT];
        if *recent == hash {
            return Ok(());
        }
        *recent = hash;
        self.hashes.push(hash);
        if self.hashes.len() >= self.room {
            self.make_room()
                .map_err(Error::io("writing hashes to a temporary file"))?;
        }
        Ok(())
    }

    /// Builds the filter of all keys.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if no filter has this rate, [`Error::OutOfMemory`], or [`Error::Io`]
    /// from the temporary file.
    pub fn finish(mut self) -> Result<Filter, Error> {
        let mut hashes = self.take_hashes()?;
        let mut filter = self.filter_for(hashes.distinct)?;
        hashes.for_each_chunk(|hashes| {
            filter.insert_hashed(hashes);
            Ok(())
        })?;
        Ok(filter)
    }

    /// Moves the hashes out, and counts the distinct ones.
    fn take_hashes(&mut self) -> Result<Hashes, Error> {
        sort(&mut self.hashes);
        let in_memory = std::mem::take(&mut self.hashes);
        let Some(mut spill) = self.spilled.take() else {
            return Ok(Hashes {
                distinct: in_memory.len() as u64,
                in_memory,
                spilled: None,
            });
        };
        let distinct = spill.add(&in_memory).and_then(|()| {
            drop(in_memory);
            spill.count_distinct(self.room)
        });
        Ok(Hashes {
            distinct: distinct.map_err(Error::io(READING))?,
            in_memory: Vec::new(),
            spilled: Some(spill),
        })
    }

    fn filter_for(&self, items: u64) -> Result<Filter, Error> {
        let (bits, hashes, layout) = if self.in_steps {
            chosen(tune::size::step(items), self.fpr, self.layout)?
        } else {
            choose(items.max(1), self.fpr, self.layout)?
        };
        let params = crate::Params::builder(bits, hashes)
            .layout(layout)
            .seed(self.seed)
            .build()?;
        Filter::new(params)
    }

    /// Drops duplicate hashes and, if that is not enough, writes all hashes to disk.
    fn make_room(&mut self) -> io::Result<()> {
        sort(&mut self.hashes);
        if self.hashes.len() > self.room / 2 {
            let spill = match &mut self.spilled {
                Some(spill) => spill,
                none => none.insert(Spill::new(&self.directory)?),
            };
            spill.add(&self.hashes)?;
            self.hashes.clear();
        }
        Ok(())
    }
}

const READING: &str = "reading hashes from a temporary file";

/// Inserts a key by its hash: XXH3 with the seed of the collector.
///
/// # Errors
/// Same as for [`Collector::insert`].
pub fn insert_hash(collector: &mut Collector, hash: u64) -> Result<(), Error> {
    collector.insert_hash(hash)
}

/// The hashes of the keys of a collector.
#[derive(Debug)]
pub struct Hashes {
    distinct: u64,
    in_memory: Vec<u64>,
    spilled: Option<Spill>,
}

impl Hashes {
    /// Takes the hashes from a collector.
    ///
    /// # Errors
    /// [`Error::Io`] from the temporary file.
    pub fn of(mut collector: Collector) -> Result<Self, Error> {
        collector.take_hashes()
    }

    /// Returns the number of distinct hashes.
    pub fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Calls `each` on all hashes, some at a time. If they did not fit in memory, some may come
    /// more than once.
    ///
    /// # Errors
    /// [`Error::Io`] from the temporary file, and those of `each`.
    pub fn for_each_chunk<E: From<Error>>(
        &mut self,
        mut each: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        match &mut self.spilled {
            None => each(&self.in_memory),
            Some(spill) => spill.for_each_chunk(each),
        }
    }
}

/// Bits, hashes and layout of a filter.
type Size = (u64, u32, Layout);

fn choose(items: u64, fpr: f64, layout: Option<Layout>) -> Result<Size, Error> {
    let plan = tune::choose(items, fpr, layout, Some(Family::Xxh3))?;
    Ok((plan.bits, plan.hashes, plan.layout))
}

/// The same for one of a few steps, from memory: computing the rates of blocked filters takes about
/// 0.3 ms, longer than reading a file of 40 KB.
fn chosen(items: u64, fpr: f64, layout: Option<Layout>) -> Result<Size, Error> {
    /// More than the steps there are for any one rate.
    const MOST: usize = 1024;
    static CHOSEN: Mutex<BTreeMap<(u64, u64, u8), Size>> = Mutex::new(BTreeMap::new());
    let wanted = match layout {
        None => 0,
        Some(Layout::Standard) => 1,
        Some(Layout::Blocked) => 2,
        Some(Layout::SplitBlock) => 3,
    };
    let key = (items, fpr.to_bits(), wanted);
    let lock = || CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&size) = lock().get(&key) {
        return Ok(size);
    }
    let size = choose(items, fpr, layout)?;
    let mut chosen = lock();
    if chosen.len() >= MOST {
        chosen.clear();
    }
    chosen.insert(key, size);
    Ok(size)
}

fn sort(hashes: &mut Vec<u64>) {
    hashes.sort_unstable();
    hashes.dedup();
}

/// Sorted runs of hashes, one after the other in an unnamed file.
#[derive(Debug)]
struct Spill {
    file: File,
    /// The number of hashes in each run.
    runs: Vec<u64>,
}

impl Spill {
    fn new(directory: &PathBuf) -> io::Result<Self> {
        Ok(Self {
            file: tempfile::tempfile_in(directory)?,
            runs: Vec::new(),
        })
    }

    fn add(&mut self, run: &[u64]) -> io::Result<()> {
        // After the last complete run: an attempt that failed may have left bytes there.
        self.file
            .seek(SeekFrom::Start(self.runs.iter().sum::<u64>() * 8))?;
        let mut file = BufWriter::with_capacity(1 << 20, &self.file);
        for hash in run {
            file.write_all(&hash.to_le_bytes())?;
        }
        file.flush()?;
        self.runs.push(run.len() as u64);
        Ok(())
    }

    /// Merges the runs to count the distinct hashes, with about `room` of them in memory.
    fn count_distinct(&self, room: usize) -> io::Result<u64> {
        let mut start = 0;
        let chunk = (room / self.runs.len().max(1)).clamp(512, CHUNK);
        let mut runs = Vec::new();
        for &len in &self.runs {
            runs.push(Run::new(&self.file, start, len, chunk));
            start += len;
        }
        let mut heap: BinaryHeap<_> = runs
            .iter_mut()
            .enumerate()
            .filter_map(|(i, run)| {
                run.next()
                    .transpose()
                    .map(|hash| hash.map(|hash| Reverse((hash, i))))
            })
            .collect::<io::Result<_>>()?;
        let (mut distinct, mut last) = (0, None);
        while let Some(Reverse((hash, i))) = heap.pop() {
            distinct += u64::from(last != Some(hash));
            last = Some(hash);
            if let Some(next) = runs[i].next()? {
                heap.push(Reverse((next, i)));
            }
        }
        Ok(distinct)
    }

    fn for_each_chunk<E: From<Error>>(
        &mut self,
        mut each: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut left = self.runs.iter().sum::<u64>();
        let mut file = BufReader::with_capacity(1 << 20, &self.file);
        file.seek(SeekFrom::Start(0)).map_err(Error::io(READING))?;
        let mut chunk = Vec::with_capacity(CHUNK);
        while left > 0 {
            chunk.clear();
            for _ in 0..left.min(CHUNK as u64) {
                chunk.push(read_hash(&mut file).map_err(Error::io(READING))?);
            }
            left -= chunk.len() as u64;
            each(&chunk)?;
        }
        Ok(())
    }
}

/// One run being read back, with its own position in the shared file.
struct Run<'f> {
    file: &'f File,
    at: u64,
    left: u64,
    /// The number of hashes read at a time.
    size: usize,
    chunk: std::vec::IntoIter<u64>,
}

impl<'f> Run<'f> {
    fn new(file: &'f File, start: u64, len: u64, size: usize) -> Self {
        Self {
            file,
            at: start * 8,
            left: len,
            size,
            chunk: Vec::new().into_iter(),
        }
    }

    fn next(&mut self) -> io::Result<Option<u64>> {
        if let Some(hash) = self.chunk.next() {
            return Ok(Some(hash));
        }
        let count = self.left.min(self.size as u64);
        let mut file = self.file;
        file.seek(SeekFrom::Start(self.at))?;
        let mut file = BufReader::with_capacity(self.size * 8, file.take(count * 8));
        let chunk: Vec<u64> = (0..count)
            .map(|_| read_hash(&mut file))
            .collect::<io::Result<_>>()?;
        self.at += count * 8;
        self.left -= count;
        self.chunk = chunk.into_iter();
        Ok(self.chunk.next())
    }
}

fn read_hash(file: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that was full for a while: a run is half written, and then written again.
    #[test]
    fn steps_are_few_and_cost_a_quarter_at_most() {
        let mut steps: Vec<u64> = (1..100_000).map(tune::size::step).collect();
        for (items, &step) in (1..).zip(&steps) {
            assert!(
                step >= items && step <= (items * 5 / 4).max(32),
                "{items}: {step}"
            );
        }
        assert!(steps.is_sorted());
        steps.dedup();
        assert!(steps.len() < 50);
    }

    #[test]
    fn a_run_that_failed_half_way_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(&folder.path().to_owned()).unwrap();
        spill.add(&[1, 3, 5]).unwrap();
        (&spill.file).write_all(b"half a run that never").unwrap();
        spill.add(&[2, 3, 9]).unwrap();
        assert_eq!(spill.count_distinct(CHUNK).unwrap(), 5);
        let mut all = Vec::new();
        let chunks = spill.for_each_chunk(|chunk| {
            all.extend_from_slice(chunk);
            Ok::<_, Error>(())
        });
        chunks.unwrap();
        assert_eq!(all, [1, 3, 5, 2, 3, 9]);
    }
}
