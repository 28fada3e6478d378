//! A pipeline for batches of keys: hash ahead, prefetch early, test later.
//!
//! ```text
//!   lines     key i + 32: hash, prefetch its line     key i: test its line
//!   walks     key i + 32: hash, prefetch one word     key i: is its bit set?
//!             of 64 keys with it set: prefetch 2 words each, test; then 8; ...
//! ```
//!
//! A single probe waits for memory; here 32 are in flight. Each iteration hashes one key and
//! tests another, which keeps both the arithmetic and the memory units busy: hashing 64 keys
//! and then testing 64 took half as long again.
//!
//! Walks (the standard layout) proceed in stages, because at the usual fill of one half, one
//! bit rejects half of the absent keys, and three bits seven in eight, before more is fetched.
//! If the filter is small enough to stay in the cache, prefetching costs more than it saves,
//! and walks are tested immediately. If it nearly is and most keys are present, stages cost more
//! than they save: 64 keys are hashed, and then all bits of each are tested (1e6 keys: 5.6 instead
//! of 6.7 ns). Keys are always inserted into such a filter in that way (an Intel Xeon, 1e6 keys: 7.9
//! instead of 10.7 ns).

use super::Backend;
use super::line::{LANES, LINE_WORDS, Pattern, Slot};

/// Keys in flight between the prefetch and the test: about as many reads as a core keeps
/// outstanding. 16 and 64 were no faster.
const AHEAD: usize = 32;

/// Calls `fetch` on every key, and `look` on its result [`AHEAD`] keys later. Both receive
/// `context`: the first to prefetch from it, the second to use it.
#[inline(always)]
fn pipeline<C: ?Sized, K, P: Copy>(
    context: &mut C,
    keys: &[K],
    fetch: impl Fn(&C, &K) -> P,
    mut look: impl FnMut(&mut C, usize, P),
) {
    let Some(any) = keys.first() else { return };
    let mut ahead = [fetch(context, any); AHEAD];
    let (first, rest) = keys.split_at(keys.len().min(AHEAD));
    for (key, place) in first.iter().zip(&mut ahead) {
        *place = fetch(context, key);
    }
    // Whole chunks, so that the inner loop has a constant length.
    let (chunks, rest) = rest.as_chunks::<AHEAD>();
    let mut done = 0;
    for chunk in chunks {
        for (j, (key, place)) in chunk.iter().zip(&mut ahead).enumerate() {
            look(context, done + j, *place);
            *place = fetch(context, key);
        }
        done += AHEAD;
    }
    for &place in &ahead[..first.len()] {
        look(context, done, place);
        done += 1;
    }
    for (j, key) in rest.iter().enumerate() {
        let place = fetch(context, key);
        look(context, done + j, place);
    }
}

#[inline(always)]
fn fetch_line<K>(words: &[u64], key: &K, slot: impl Fn(&K) -> Slot) -> Slot {
    let slot = slot(key);
    super::prefetch(words, slot.line as usize * LINE_WORDS);
    slot
}

#[inline(always)]
fn contains_lines<K>(
    mut words: &[u64],
    hashes: u32,
    keys: &[K],
    slot: impl Fn(&K) -> Slot,
    found: &mut [bool],
) {
    pipeline(
        &mut words,
        keys,
        #[inline(always)]
        |words, key| fetch_line(words, key, &slot),
        #[inline(always)]
        |words, i, slot| {
            let line = &words.as_chunks().0[slot.line as usize];
            found[i] = Pattern::new(slot.hash, hashes).is_in(line);
        },
    );
}

#[inline(always)]
fn insert_lines<K>(words: &mut [u64], hashes: u32, keys: &[K], slot: impl Fn(&K) -> Slot) {
    pipeline(
        words,
        keys,
        #[inline(always)]
        |words, key| fetch_line(words, key, &slot),
        #[inline(always)]
        |words, _, slot| {
            let line = &mut words.as_chunks_mut().0[slot.line as usize];
            Pattern::new(slot.hash, hashes).add_to(line);
        },
    );
}

/// The positions of one key in a filter of `bits` bits, one after the other.
pub trait Walk: Copy {
    /// Returns the next position, below `bits`.
    fn next(&mut self, bits: u64) -> u64;
}

/// The number of bits in the filter and per key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub bits: u64,
    pub hashes: u32,
}

/// Returns whether a filter of these words is too large to stay in a core's cache.
fn is_far(words: &[u64]) -> bool {
    words.len() > (1 << 19) / 8
}

/// Returns whether so much of a filter is in a core's cache that a loop without prefetches keeps enough
/// reads under way.
fn is_close(words: &[u64]) -> bool {
    words.len() <= (4 << 20) / 8
}

/// The number of keys after which it is decided again whether most are present.
const BLOCK: usize = 4096;

/// Positions tested together after the first one.
const SECOND: u32 = 2;
/// Positions tested together after those.
const STEPS: u32 = 8;
/// Keys that go through those steps together.
const ROOM: usize = 64;

/// Keys that may still be present, with the rest of their walks. `FAR` is whether positions are prefetched.
struct Batch<W, const FAR: bool> {
    len: usize,
    walks: [W; ROOM],
    /// The index of each among the caller's keys.
    keys: [usize; ROOM],
    /// The prefetched positions, N per key.
    ahead: [u64; ROOM * STEPS as usize],
}

impl<W: Walk, const FAR: bool> Batch<W, FAR> {
    #[inline(always)]
    fn new(any: W) -> Self {
        Self {
            len: 0,
            walks: [any; ROOM],
            keys: [0; ROOM],
            ahead: [0; ROOM * STEPS as usize],
        }
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether the batch contains nearly all keys queried between its first and its
    /// last: then most are present, and rejecting some early gains nothing.
    fn is_dense(&self) -> bool {
        let span = self.keys[self.len - 1] - self.keys[0] + 1;
        self.len * 8 >= span * 7
    }

    /// Calls `look` on N positions of every key, in order, with the number of the key and its
    /// walk after those positions.
    #[inline(always)]
    fn each<C: AsRef<[u64]> + ?Sized, const N: usize>(
        &mut self,
        words: &mut C,
        bits: u64,
        mut look: impl FnMut(&mut Self, &mut C, usize, W, &[u64; N]),
    ) {
        let len = self.len;
        if FAR {
            for i in 0..len {
                // A copy, which the compiler keeps in registers.
                let mut walk = self.walks[i];
                for position in &mut self.ahead.as_chunks_mut::<N>().0[i] {
                    *position = walk.next(bits);
                    super::prefetch(words.as_ref(), (*position >> 6) as usize);
                }
                self.walks[i] = walk;
            }
        }
        for i in 0..len {
            let mut walk = self.walks[i];
            let positions = if FAR {
                self.ahead.as_chunks::<N>().0[i]
            } else {
                std::array::from_fn(|_| walk.next(bits))
            };
            look(self, words, i, walk, &positions);
        }
    }

    /// Takes the first `len` keys through `rest`, and marks the remaining ones as found.
    fn finish(&mut self, len: usize, rest: &impl Fn(&mut Self), found: &mut [bool]) {
        self.len = len;
        rest(self);
        for &i in &self.keys[..self.len] {
            found[i] = true;
        }
    }

    /// Tests N more bits of every key, and keeps the keys that have them all.
    #[inline(always)]
    fn keep<const N: usize>(&mut self, mut words: &[u64], bits: u64) {
        // All are written, and the end advances by the answer: no branch depends on it.
        let mut kept = 0;
        self.each::<_, N>(
            &mut words,
            bits,
            #[inline(always)]
            |batch, words, i, walk, positions| {
                let mut all = true;
                for &position in positions {
                    all &= super::get(words, position);
                }
                (batch.walks[kept], batch.keys[kept]) = (walk, batch.keys[i]);
                kept += usize::from(all);
            },
        );
        self.len = kept;
    }

    /// Sets N more bits of every key.
    #[inline(always)]
    fn set<const N: usize>(&mut self, words: &mut [u64], bits: u64) {
        self.each::<_, N>(
            words,
            bits,
            #[inline(always)]
            |batch, words, i, walk, positions| {
                for &position in positions {
                    super::set(words, position);
                }
                batch.walks[i] = walk;
            },
        );
    }
}

/// Tests whether all bits of each key are set. `rest` takes a batch of keys through the
/// positions after the first.
#[inline(always)]
fn contains_walks<K, W: Walk, const FAR: bool>(
    words: &[u64],
    bits: u64,
    keys: &[K],
    start: impl Fn(&K) -> W,
    found: &mut [bool],
    rest: impl Fn(&mut Batch<W, FAR>),
) {
    let Some(any) = keys.first() else { return };
    found.fill(false);
    let mut batch = Batch::new(start(any));
    // Separate from the batch, so that it stays in a register.
    let mut len = 0;
    // A macro, because a closure used twice is not inlined at either place.
    macro_rules! look {
        ($batch:expr, $i:expr, $walk:expr, $first:expr) => {{
            $batch.walks[len] = $walk;
            $batch.keys[len] = $i;
            len += usize::from(super::get(words, $first));
            if len == ROOM {
                $batch.finish(len, &rest, found);
                len = 0;
            }
        }};
    }
    if FAR {
        pipeline(
            &mut batch,
            keys,
            #[inline(always)]
            |_, key| {
                let mut walk = start(key);
                let first = walk.next(bits);
                super::prefetch(words, (first >> 6) as usize);
                (walk, first)
            },
            #[inline(always)]
            |batch, i, (walk, first)| look!(batch, i, walk, first),
        );
    } else {
        for (i, key) in keys.iter().enumerate() {
            let mut walk = start(key);
            let first = walk.next(bits);
            look!(batch, i, walk, first);
        }
    }
    batch.finish(len, &rest, found);
}

/// Sets all bits of each key. `set` takes a batch of keys through all positions.
#[inline(always)]
fn insert_walks<K, W: Walk, const FAR: bool>(
    words: &mut [u64],
    keys: &[K],
    start: impl Fn(&K) -> W,
    set: impl Fn(&mut Batch<W, FAR>, &mut [u64]),
) {
    let Some(any) = keys.first() else { return };
    let mut batch = Batch::new(start(any));
    for keys in keys.chunks(ROOM) {
        for (key, walk) in keys.iter().zip(&mut batch.walks) {
            *walk = start(key);
        }
        batch.len = keys.len();
        set(&mut batch, words);
    }
}

/// Compiles `$body` for each constant `$n` from 1 to [`STEPS`], and runs that for `$steps`: a loop whose
/// length is known at compile time takes half the time.
macro_rules! with_steps {
    ($steps:expr, $n:ident => $body:expr) => {
        with_steps!($steps, $n => $body, 1 2 3 4 5 6 7 8)
    };
    ($steps:expr, $n:ident => $body:expr, $($number:literal)*) => {
        match $steps {
            $($number => {
                const $n: usize = $number;
                $body
            })*
            steps => unreachable!("{steps} steps at a time"),
        }
    };
}

impl Backend {
    pub(super) fn contains_lines<K>(
        self,
        words: &[u64],
        hashes: u32,
        keys: &[K],
        slot: impl Fn(&K) -> Slot,
        found: &mut [bool],
    ) {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        self.run(
            #[inline(always)]
            || match hashes {
                // Compiled separately, with the most common number as a constant.
                LANES => contains_lines(words, LANES, keys, slot, found),
                _ => contains_lines(words, hashes, keys, slot, found),
            },
        );
    }

    pub(super) fn insert_lines<K>(
        self,
        words: &mut [u64],
        hashes: u32,
        keys: &[K],
        slot: impl Fn(&K) -> Slot,
    ) {
        self.run(
            #[inline(always)]
            || match hashes {
                LANES => insert_lines(words, LANES, keys, slot),
                _ => insert_lines(words, hashes, keys, slot),
            },
        );
    }

    pub(super) fn contains_walks<K, W: Walk>(
        self,
        words: &[u64],
        size: Size,
        keys: &[K],
        start: impl Fn(&K) -> W + Copy,
        found: &mut [bool],
    ) {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        let can_be_dense = is_close(words) && size.hashes <= STEPS;
        let block = if can_be_dense { BLOCK } else { usize::MAX };
        self.run(
            #[inline(always)]
            || {
                let mut dense = false;
                for (keys, found) in keys.chunks(block).zip(found.chunks_mut(block)) {
                    if dense {
                        self.contains_present(words, size, keys, start, found);
                    } else if is_far(words) {
                        let rest = |batch: &mut _| self.keep_rest::<W, true>(batch, words, size);
                        contains_walks(words, size.bits, keys, start, found, rest);
                    } else {
                        let rest = |batch: &mut _| self.keep_rest::<W, false>(batch, words, size);
                        contains_walks(words, size.bits, keys, start, found, rest);
                    }
                    if can_be_dense {
                        let present = found.iter().filter(|&&found| found).count();
                        dense = present * 8 >= keys.len() * 7;
                    }
                }
            },
        );
    }

    /// Tests keys most of which are present, so that rejecting some early gains nothing: hashes some, then
    /// tests all bits of each.
    #[inline(always)]
    fn contains_present<K, W: Walk>(
        self,
        words: &[u64],
        size: Size,
        keys: &[K],
        start: impl Fn(&K) -> W,
        found: &mut [bool],
    ) {
        let Some(any) = keys.first() else { return };
        let mut walks = [start(any); ROOM];
        for (keys, found) in keys.chunks(ROOM).zip(found.chunks_mut(ROOM)) {
            for (key, walk) in keys.iter().zip(&mut walks) {
                *walk = start(key);
            }
            with_steps!(size.hashes, N => self.test::<W, N>(&walks, words, size.bits, found));
        }
    }

    pub(super) fn insert_walks<K, W: Walk>(
        self,
        words: &mut [u64],
        size: Size,
        keys: &[K],
        start: impl Fn(&K) -> W,
    ) {
        self.run(
            #[inline(always)]
            || {
                // Nothing is rejected early.
                if is_close(words) {
                    insert_walks(words, keys, start, |batch, words| {
                        self.set_all::<W, false>(batch, words, size);
                    });
                } else {
                    insert_walks(words, keys, start, |batch, words| {
                        self.set_all::<W, true>(batch, words, size);
                    });
                }
            },
        );
    }

    /// Takes a batch through the positions after the first.
    fn keep_rest<W: Walk, const FAR: bool>(
        self,
        batch: &mut Batch<W, FAR>,
        words: &[u64],
        size: Size,
    ) {
        let mut left = size.hashes - 1;
        while left > 0 && !batch.is_empty() {
            let second = left == size.hashes - 1 && !batch.is_dense();
            let steps = left.min(if second { SECOND } else { STEPS });
            with_steps!(steps, N => self.keep::<W, FAR, N>(batch, words, size.bits));
            left -= steps;
        }
    }

    /// Takes a batch through all positions.
    fn set_all<W: Walk, const FAR: bool>(
        self,
        batch: &mut Batch<W, FAR>,
        words: &mut [u64],
        size: Size,
    ) {
        let mut left = size.hashes;
        while left > 0 {
            let steps = left.min(STEPS);
            with_steps!(steps, N => self.set::<W, FAR, N>(batch, words, size.bits));
            left -= steps;
        }
    }

    // Compiled once for each N, not once for each type of key.

    #[inline(never)]
    fn keep<W: Walk, const FAR: bool, const N: usize>(
        self,
        batch: &mut Batch<W, FAR>,
        words: &[u64],
        bits: u64,
    ) {
        self.run(
            #[inline(always)]
            || batch.keep::<N>(words, bits),
        );
    }

    #[inline(never)]
    fn test<W: Walk, const N: usize>(
        self,
        walks: &[W; ROOM],
        words: &[u64],
        bits: u64,
        found: &mut [bool],
    ) {
        self.run(
            #[inline(always)]
            || {
                for (&(mut walk), found) in walks.iter().zip(found) {
                    let mut all = 1;
                    for _ in 0..N {
                        let position = walk.next(bits);
                        all &= words[(position >> 6) as usize] >> (position & 63);
                    }
                    *found = all & 1 != 0;
                }
            },
        );
    }

    #[inline(never)]
    fn set<W: Walk, const FAR: bool, const N: usize>(
        self,
        batch: &mut Batch<W, FAR>,
        words: &mut [u64],
        bits: u64,
    ) {
        self.run(
            #[inline(always)]
            || batch.set::<N>(words, bits),
        );
    }
}
