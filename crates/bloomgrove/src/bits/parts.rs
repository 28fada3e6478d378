//! Very large batches into a large filter: sorted by destination first, then set part by part.
//!
//! ```text
//!   keys --walk--> positions --upper bits--> [part 0: .....][part 1: ...][part 2: ....]
//!                                                  |  all of a part's positions at once
//!   filter         [      part 0      ][      part 1      ][      part 2      ]
//! ```
//!
//! Setting a position immediately fetches a cache line for one bit. If there are several
//! positions per line, it pays to record them all first: a part stays in the cache while its
//! bits are set. This is the idea of the buffered filter without the disk.
//!
//! Source: Buffered Bloom Filters (Canim et al.), sections 2.1 and 3. We differ: each of a
//! key's k positions goes to a separate part, so the filter is the same as if the keys had been
//! inserted one by one.
//!
//! Cost: 4 bytes per pending position, at most half of the filter's memory. `bench-compare
//! batches` measures the gain. Only for inserting in the standard layout. In the blocked
//! layout, a key is one line, fetched ahead. For queries, each position would have to carry the
//! number of its key through k rounds of sorting.

use zerocopy::{FromBytes, IntoBytes};

use super::pipeline::{Size, Walk};
use super::{Backend, Words};

/// Positions are recorded if there are at least this many per line of the filter, and at most
/// twice as many at a time.
const PER_LINE: u64 = 4;
/// Bits in a cache line, the unit of memory transfers.
const LINE_BITS: u64 = 512;
/// Filters up to this many bits mostly stay in the shared cache.
const NEAR: u64 = 32 << 23;
/// Above this many bits, allocating memory for the pending positions costs more than is gained:
/// with 512 MB, it was 0.6 to 1.7 times as fast.
const FAR: u64 = 128 << 23;
/// A part is at least half a megabyte, and there are at most this many parts, since each is a
/// separate write location.
const SMALLEST: u32 = 22;
const MOST: u64 = 1024;

/// Positions, sorted by the part of the filter they are in.
pub(super) struct Parts {
    /// A part is 2^shift bits.
    shift: u32,
    /// The number of positions that each part has room for, and that it has.
    room: usize,
    filled: Vec<u32>,
    /// `room` positions for each part, one part after the other.
    waiting: Words,
    /// The number of keys processed at a time.
    keys: usize,
}

impl Parts {
    /// Creates parts for this many keys, if they pay and there is memory for them.
    pub(super) fn that_pay(size: Size, keys: usize) -> Option<Self> {
        let positions = keys as u64 * u64::from(size.hashes);
        let least = PER_LINE * size.bits.div_ceil(LINE_BITS);
        if size.bits <= NEAR || size.bits > FAR || positions < least {
            return None;
        }
        let shift = (size.bits.div_ceil(MOST)).next_power_of_two().ilog2();
        // Equal batches, each with enough positions.
        let keys = keys.div_ceil(positions.div_ceil(2 * least) as usize);
        Self::new(size, shift.max(SMALLEST), keys)
    }

    /// Creates parts of 2^shift bits, for this many keys at a time.
    pub(super) fn new(size: Size, shift: u32, keys: usize) -> Option<Self> {
        // Positions within a part are 32-bit numbers.
        if shift > 31 {
            return None;
        }
        let parts = usize::try_from(size.bits.div_ceil(1 << shift)).ok()?;
        let mean = keys.checked_mul(size.hashes as usize)? / parts;
        // Six standard deviations; positions that do not fit are set immediately.
        let room = mean + 6 * mean.isqrt() + 16;
        Some(Self {
            shift,
            room,
            filled: vec![0; parts],
            waiting: Words::zeroed(room.checked_mul(parts)?.div_ceil(2)).ok()?,
            keys,
        })
    }

    /// Records all positions of these keys.
    #[inline(always)]
    fn sort<K, W: Walk>(
        &mut self,
        words: &mut [u64],
        size: Size,
        keys: &[K],
        start: impl Fn(&K) -> W,
    ) {
        let (shift, room) = (self.shift, self.room);
        let waiting = self.waiting.as_mut().as_mut_bytes();
        // The words are aligned, so their halves are too.
        let waiting = <[u32]>::mut_from_bytes(waiting).unwrap_or_default();
        let filled = &mut self.filled[..];
        filled.fill(0);
        let below = (1 << shift) - 1;
        for key in keys {
            let mut walk = start(key);
            for _ in 0..size.hashes {
                let position = walk.next(size.bits);
                let part = (position >> shift) as usize;
                let at = filled[part] as usize;
                if at < room {
                    waiting[part * room + at] = (position & below) as u32;
                    filled[part] += 1;
                } else {
                    super::set(words, position);
                }
            }
        }
    }

    /// Sets the recorded positions.
    #[inline(always)]
    fn set(&self, words: &mut [u64]) {
        let parts = words.chunks_mut((1usize << self.shift) / 64);
        let waiting = <[u32]>::ref_from_bytes(self.waiting.as_ref().as_bytes());
        let waiting = waiting.unwrap_or_default().chunks(self.room);
        for ((part, waiting), &filled) in parts.zip(waiting).zip(&self.filled) {
            for &position in &waiting[..filled as usize] {
                super::set(part, u64::from(position));
            }
        }
    }
}

impl Backend {
    /// Like `insert_walks`: sets every bit of every key's walk.
    pub(super) fn insert_by_parts<K, W: Walk>(
        self,
        words: &mut [u64],
        size: Size,
        keys: &[K],
        start: impl Fn(&K) -> W,
        mut parts: Parts,
    ) {
        self.run(
            #[inline(always)]
            || {
                for keys in keys.chunks(parts.keys.max(1)) {
                    parts.sort(words, size, keys, &start);
                    parts.set(words);
                }
            },
        );
    }
}
