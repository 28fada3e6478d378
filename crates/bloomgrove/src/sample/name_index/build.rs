//! Sorting names into buckets, with bounded memory and on all processors.
//!
//! ```text
//!   names --hash--> 256 shares of the buckets --sort each--> entries in order --pack-->
//! ```
//!
//! Each name becomes one number: the offset of its bucket within its share, followed by its
//! entry, which begins with the rank. Sorting the numbers of a share sorts its names into
//! buckets. Writing into few shares is what makes this fast: writing each name directly into
//! its bucket would cost a cache miss per name. If the names do not all fit in the memory
//! allowed, the buckets are built in several rounds, and every round hashes all names once.

use std::ops::{ControlFlow, Range};

use super::{NameIndexOptions, Progress, Segment, SegmentLayout};
use crate::bits::{Packer, Words};
use crate::format::Store;
use crate::hash::Key;
use crate::params::probe::Positions;
use crate::sample::namespace::{Keys, Namespace};
use crate::sample::parallel::in_order;
use crate::{Error, Params};

/// Names processed between two progress reports.
const ROUND: u64 = 1 << 22;
/// Words packed before they are written out.
const PIECE: usize = 1 << 16;
/// Every round hashes all names once, so more rounds than this would take too long.
const MOST_ROUNDS: u64 = 256;
/// Below this many names, sorting takes less time than starting threads.
const FEW: u64 = 1 << 13;
/// The number of shares into which the buckets of a round are divided.
const SHARES: u64 = 256;

/// Receives words as they are produced.
pub(super) type Sink<'s> = &'s mut dyn FnMut(&[u64]) -> Result<(), Error>;

impl Segment {
    pub(super) fn build(
        params: &Params,
        namespace: &Namespace,
        part: usize,
        options: NameIndexOptions,
        progress: Progress,
    ) -> Result<Self, Error> {
        let names = namespace.parts()[part].len();
        let layout = SegmentLayout::new(params, names, options.second)?;
        let mut words = Words::zeroed(usize::try_from(layout.words).unwrap_or(usize::MAX))?;
        let mut room = words.as_mut();
        let mut sink = |piece: &[u64]| {
            let (now, later) = std::mem::take(&mut room).split_at_mut(piece.len());
            now.copy_from_slice(piece);
            room = later;
            Ok(())
        };
        write(
            params, namespace, part, layout, options, progress, &mut sink,
        )?;
        Ok(Self::new(layout, Store::Owned(words)))
    }
}

/// Writes the words of a segment to `sink`, in order.
pub(super) fn write(
    params: &Params,
    namespace: &Namespace,
    part: usize,
    layout: SegmentLayout,
    options: NameIndexOptions,
    progress: Progress,
    sink: Sink,
) -> Result<(), Error> {
    let start = namespace.start_of(part);
    let work = Build {
        params,
        namespace,
        ranks: start..start + layout.names,
        layout,
        threads: match layout.names {
            ..FEW => 1,
            _ => std::thread::available_parallelism().map_or(1, usize::from),
        },
    };
    // Twice, because the shares of a round grow by doubling.
    let fits = |size: u64| {
        let rounds = (2 * layout.names)
            .saturating_mul(size)
            .div_ceil(options.memory.max(1));
        rounds.min(MOST_ROUNDS)
    };
    if work.place_width(fits(8)) + layout.width <= 64 {
        work.write::<u64>(fits(8), progress, sink)
    } else {
        work.write::<u128>(fits(16), progress, sink)
    }
}

/// A number that encodes the offset of a name's bucket and its entry.
trait Number: Copy + Ord + Send + Sync {
    fn new(place: u64, entry: u64, width: u32) -> Self;
    fn place(self, width: u32) -> u64;
    fn entry(self, width: u32) -> u64;
}

impl Number for u64 {
    #[inline]
    fn new(place: u64, entry: u64, width: u32) -> Self {
        // The offset takes no bits if each share has one bucket; the width may then be 64.
        place.checked_shl(width).unwrap_or(0) | entry
    }

    fn place(self, width: u32) -> u64 {
        self.checked_shr(width).unwrap_or(0)
    }

    fn entry(self, width: u32) -> u64 {
        self & (u64::MAX >> (64 - width))
    }
}

impl Number for u128 {
    #[inline]
    fn new(place: u64, entry: u64, width: u32) -> Self {
        u128::from(place) << width | u128::from(entry)
    }

    fn place(self, width: u32) -> u64 {
        (self >> width) as u64
    }

    fn entry(self, width: u32) -> u64 {
        (self & (u128::MAX >> (128 - width))) as u64
    }
}

struct Build<'a> {
    params: &'a Params,
    namespace: &'a Namespace,
    ranks: Range<u64>,
    layout: SegmentLayout,
    threads: usize,
}

impl Build<'_> {
    /// Returns the number of buckets in a round, and in one of its shares.
    fn buckets(&self, rounds: u64) -> (u64, u64) {
        let round = self
            .layout
            .buckets
            .div_ceil(rounds.clamp(1, self.layout.buckets));
        (round, round.div_ceil(SHARES))
    }

    fn place_width(&self, rounds: u64) -> u32 {
        crate::bits::width_of(self.buckets(rounds).1 - 1)
    }

    fn write<N: Number>(&self, rounds: u64, progress: Progress, sink: Sink) -> Result<(), Error> {
        let layout = self.layout;
        let (round, share) = self.buckets(rounds);
        let width = layout.width;
        let mut entries = Packing::new(width, &mut *sink);
        let mut counts = zeros(layout.buckets)?;
        let total = layout.buckets.div_ceil(round) * layout.names;
        for (number, first) in (0..layout.buckets).step_by(round as usize).enumerate() {
            let buckets = first..layout.buckets.min(first + round);
            let done = number as u64 * layout.names;
            let mut told = |names| progress(done + names, total);
            let shares = self.shares::<N>(buckets, share, &mut told)?;
            let sort = |at: u64| {
                let mut all: Vec<N> = shares
                    .iter()
                    .flat_map(|shares| &shares[at as usize])
                    .copied()
                    .collect();
                all.sort_unstable();
                all
            };
            let mut failed = None;
            in_order(SHARES, self.threads, sort, |at, sorted| {
                for number in sorted {
                    counts[(first + at * share + number.place(width)) as usize] += 1u32;
                    if let Err(error) = entries.push(number.entry(width)) {
                        failed = Some(error);
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            });
            if let Some(error) = failed {
                return Err(error);
            }
        }
        entries.finish()?;
        let mut offsets = Packing::new(layout.offset_width, sink);
        let mut offset = 0;
        offsets.push(0)?;
        for count in counts {
            offset += u64::from(count);
            offsets.push(offset)?;
        }
        offsets.finish()
    }

    /// Collects the names of some buckets by share, separately for each thread. Reports the
    /// number of names processed to `told`.
    fn shares<N: Number>(
        &self,
        buckets: Range<u64>,
        share: u64,
        told: &mut dyn FnMut(u64) -> Result<(), Error>,
    ) -> Result<Vec<Vec<Vec<N>>>, Error> {
        let mut all: Vec<Vec<Vec<N>>> = Vec::new();
        all.resize_with(self.threads, || {
            let mut shares = Vec::new();
            shares.resize_with(SHARES as usize, Vec::new);
            shares
        });
        let mut at = self.ranks.start;
        while at < self.ranks.end {
            let end = self.ranks.end.min(at.saturating_add(ROUND));
            let each = (end - at).div_ceil(self.threads as u64);
            let full = std::thread::scope(|scope| {
                let workers: Vec<_> = all
                    .iter_mut()
                    .enumerate()
                    .map(|(thread, shares)| {
                        let from = (at + thread as u64 * each).min(end);
                        let ranks = from..end.min(from + each);
                        let buckets = buckets.clone();
                        scope.spawn(move || self.sort_in(ranks, buckets, share, shares))
                    })
                    .collect();
                let full = |worker: std::thread::ScopedJoinHandle<'_, bool>| {
                    // A panic in a worker thread propagates to this one.
                    worker
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                };
                workers
                    .into_iter()
                    .map(full)
                    .fold(false, |any, full| any | full)
            });
            if full {
                return Err(Error::OutOfMemory {
                    bytes: self.layout.names.saturating_mul(size_of::<N>() as u64),
                });
            }
            at = end;
            told(at - self.ranks.start)?;
        }
        Ok(all)
    }

    /// Puts the names of some ranks into their shares; returns true if memory ran out.
    fn sort_in<N: Number>(
        &self,
        ranks: Range<u64>,
        buckets: Range<u64>,
        share: u64,
        shares: &mut [Vec<N>],
    ) -> bool {
        let mut full = false;
        let layout = self.layout;
        let (shift, width) = (layout.shift, layout.width);
        // Division by a number not known at compile time costs as much as the hash.
        let exact = share.is_power_of_two().then(|| share.trailing_zeros());
        self.each(ranks, |rank, first, second| {
            let bucket = first >> shift;
            if !buckets.contains(&bucket) {
                return true;
            }
            let bucket = bucket - buckets.start;
            let at = match exact {
                Some(shift) => bucket >> shift,
                None => bucket / share,
            };
            let place = first & ((1 << shift) - 1);
            let second = if layout.second > 0 { second } else { 0 };
            let entry = (rank << shift | place) << layout.second | second;
            let number = N::new(bucket - at * share, entry, width);
            let shares = &mut shares[at as usize];
            if shares.len() == shares.capacity()
                && shares.try_reserve(shares.len().max(64)).is_err()
            {
                full = true;
                return false;
            }
            shares.push(number);
            true
        });
        full
    }

    /// Calls `each` on the names of some ranks, with the rank in the part and the first two
    /// positions, until it returns false.
    fn each(&self, ranks: Range<u64>, mut each: impl FnMut(u64, u64, u64) -> bool) {
        let start = self.ranks.start;
        self.namespace.scan(ranks, |first, keys| match keys {
            Keys::Binary(keys) => self.positions(first - start, keys, &mut each),
            Keys::Decimal(keys) => self.positions(first - start, keys, &mut each),
            Keys::Text(keys) => self.positions(first - start, keys, &mut each),
        });
    }

    fn positions<K: Key>(
        &self,
        rank: u64,
        keys: &[K],
        each: &mut impl FnMut(u64, u64, u64) -> bool,
    ) -> bool {
        keys.iter().enumerate().all(|(i, key)| {
            let (first, second) =
                key.with_bytes(|bytes| Positions::new(self.params, bytes).first_two(self.params));
            each(rank + i as u64, first, second)
        })
    }
}

/// Returns a zeroed counter for each bucket.
fn zeros(len: u64) -> Result<Vec<u32>, Error> {
    let too_many = || Error::OutOfMemory {
        bytes: len.saturating_mul(4),
    };
    let len = usize::try_from(len).map_err(|_| too_many())?;
    let mut all = Vec::new();
    all.try_reserve_exact(len).map_err(|_| too_many())?;
    all.resize(len, 0);
    Ok(all)
}

/// Packs numbers and writes out the words, one piece at a time.
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
