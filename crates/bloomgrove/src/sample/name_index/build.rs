//! Sorting names into buckets, with bounded memory and on all processors.
//!
//! ```text
//!   pass 1       count the names of each bucket       -> offsets
//!   pass 2 ...   buckets that fit the memory allowed: put each name in its place, sort each
//!                bucket, pack                         -> entries
//! ```
//!
//! Sorting makes the result the same however many processors have worked on it.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::{IndexOptions, Plan, Progress, Segment};
use crate::bits::{Packer, Words};
use crate::format::Store;
use crate::hash::{Key, Positions};
use crate::sample::namespace::{Keys, Namespace};
use crate::{Error, Params};

/// Names worked on between two words of progress.
const ROUND: u64 = 1 << 22;
/// Words packed before they are handed on.
const PIECE: usize = 1 << 16;
/// The most names of one part: their counts are 32 bits.
const MOST: u64 = u32::MAX as u64;

/// Takes words as they come.
pub(super) type Sink<'s> = &'s mut dyn FnMut(&[u64]) -> Result<(), Error>;

impl Segment {
    pub(super) fn build(
        params: &Params,
        namespace: &Namespace,
        part: usize,
        options: IndexOptions,
        progress: Progress,
    ) -> Result<Self, Error> {
        let names = namespace.parts()[part].len();
        let plan = Plan::new(params, names, options.second)?;
        let mut words = Words::zeroed(usize::try_from(plan.words).unwrap_or(usize::MAX))?;
        let mut room = words.as_mut();
        let mut sink = |piece: &[u64]| {
            let (now, later) = std::mem::take(&mut room).split_at_mut(piece.len());
            now.copy_from_slice(piece);
            room = later;
            Ok(())
        };
        write(params, namespace, part, plan, options, progress, &mut sink)?;
        Ok(Self::new(plan, Store::Owned(words)))
    }
}

/// Hands the words of a segment to `sink`, in order.
pub(super) fn write(
    params: &Params,
    namespace: &Namespace,
    part: usize,
    plan: Plan,
    options: IndexOptions,
    progress: Progress,
    sink: Sink,
) -> Result<(), Error> {
    if plan.names > MOST {
        return Err(Error::namespace(format!(
            "an index takes up to {MOST} names at a time, and these are {}; build one for each \
             part of the namespace",
            plan.names
        )));
    }
    let start = namespace.start_of(part);
    let ranks = start..start + plan.names;
    let scan = Scan {
        params,
        namespace,
        ranks,
        shift: plan.shift,
    };
    let counts = atomics::<AtomicU32>(plan.buckets)?;
    scan.each(&mut |done| progress(done, 2 * plan.names), |_, first, _| {
        counts[first as usize].fetch_add(1, Relaxed);
    })?;

    let mut packing = Packing::new(plan.offset_width, &mut *sink);
    let mut offset = 0;
    packing.push(0)?;
    for count in &counts {
        offset += u64::from(count.load(Relaxed));
        packing.push(offset)?;
    }
    packing.finish()?;

    let mut packing = Packing::new(plan.rank_width + plan.second, sink);
    let fits = (options.memory / 8).max(1);
    let mut buckets = 0..0;
    let mut done = plan.names;
    while buckets.end < plan.buckets {
        // As many buckets as fit; one at least.
        buckets = buckets.end..buckets.end;
        let mut entries = 0;
        while buckets.end < plan.buckets {
            let count = u64::from(counts[buckets.end as usize].load(Relaxed));
            if entries > 0 && entries + count > fits {
                break;
            }
            // From here on: where the next name of the bucket goes.
            counts[buckets.end as usize].store(entries as u32, Relaxed);
            entries += count;
            buckets.end += 1;
        }
        let places = atomics::<AtomicU64>(entries)?;
        let total = 2 * plan.names;
        let share = entries as f64 / plan.names as f64;
        let mut told = |now: u64| progress(done + (now as f64 * share) as u64, total);
        scan.each(&mut told, |rank, first, second| {
            if buckets.contains(&first) {
                let place = counts[first as usize].fetch_add(1, Relaxed);
                let second = if plan.second > 0 { second } else { 0 };
                places[place as usize].store(rank << plan.second | second, Relaxed);
            }
        })?;
        done += entries;
        let mut entries: Vec<u64> = places.into_iter().map(AtomicU64::into_inner).collect();
        let mut start = 0;
        for bucket in buckets.clone() {
            let end = counts[bucket as usize].load(Relaxed) as usize;
            entries[start..end].sort_unstable();
            start = end;
        }
        for entry in entries {
            packing.push(entry)?;
        }
    }
    packing.finish()
}

/// Zeroed numbers that all processors may change.
fn atomics<T: Default>(len: u64) -> Result<Vec<T>, Error> {
    let too_many = || Error::OutOfMemory {
        bytes: len.saturating_mul(size_of::<T>() as u64),
    };
    let len = usize::try_from(len).map_err(|_| too_many())?;
    let mut all = Vec::new();
    all.try_reserve_exact(len).map_err(|_| too_many())?;
    all.resize_with(len, T::default);
    Ok(all)
}

/// All names of a part with their first two positions.
struct Scan<'a> {
    params: &'a Params,
    namespace: &'a Namespace,
    ranks: Range<u64>,
    shift: u32,
}

impl Scan<'_> {
    /// Calls `each` on every name's rank in the part, the bucket of its first position, and its
    /// second position: on all processors, in any order. Tells `told` how many are done.
    fn each(
        &self,
        told: &mut dyn FnMut(u64) -> Result<(), Error>,
        each: impl Fn(u64, u64, u64) + Sync,
    ) -> Result<(), Error> {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        let mut at = self.ranks.start;
        while at < self.ranks.end {
            let end = self.ranks.end.min(at.saturating_add(ROUND));
            let share = (end - at).div_ceil(threads);
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    let from = at + thread * share;
                    let to = end.min(from + share);
                    let each = &each;
                    scope.spawn(move || self.one(from..to.max(from), each));
                }
            });
            at = end;
            told(at - self.ranks.start)?;
        }
        Ok(())
    }

    fn one(&self, ranks: Range<u64>, each: &impl Fn(u64, u64, u64)) {
        self.namespace.scan(ranks, |first, keys| {
            let rank = first - self.ranks.start;
            match keys {
                Keys::Binary(keys) => self.positions(rank, keys, each),
                Keys::Decimal(keys) => self.positions(rank, keys, each),
                Keys::Text(keys) => self.positions(rank, keys, each),
            }
            true
        });
    }

    fn positions<K: Key>(&self, rank: u64, keys: &[K], each: &impl Fn(u64, u64, u64)) {
        for (i, key) in keys.iter().enumerate() {
            let (first, second) =
                key.with_bytes(|bytes| Positions::new(self.params, bytes).first_two(self.params));
            each(rank + i as u64, first >> self.shift, second);
        }
    }
}

/// Packs numbers and hands the words on, a piece at a time.
struct Packing<'s> {
    packer: Packer,
    words: Vec<u64>,
    sink: Sink<'s>,
}

impl<'s> Packing<'s> {
    fn new(width: u32, sink: Sink<'s>) -> Self {
        Self {
            packer: Packer::new(width),
            words: Vec::with_capacity(PIECE + 2),
            sink,
        }
    }

    #[inline]
    fn push(&mut self, number: u64) -> Result<(), Error> {
        self.packer.push(number, &mut self.words);
        if self.words.len() >= PIECE {
            (self.sink)(&self.words)?;
            self.words.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Error> {
        self.packer.finish(&mut self.words);
        (self.sink)(&self.words)
    }
}
