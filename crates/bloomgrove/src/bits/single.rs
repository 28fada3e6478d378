//! One key at a time, in either layout.
//!
//! A key takes some fifty to a hundred instructions, so every one counts. The caller hashes the key,
//! since its length is known there. The rest is done by a call to a function with AVX2 and BMI, all
//! arguments in registers: a line takes half as many instructions with them, a walk a quarter less,
//! so that more keys are under way at once. Bits are read and written without checking each time
//! whether they are in the filter: neither a walk nor a line can leave it.

use super::backend::Fast;
use super::line::{LANES, LINE_BITS, LINE_WORDS, Pattern};
use super::pipeline::{Size, Walk};
use crate::mix::{scale, second};

/// How far the hash is rotated between two positions: the next one comes from bits that the
/// last did not use, and 23 and 64 have no common factor.
const TURN: u32 = 23;

/// The walk of [`Derivation::Independent`](crate::Derivation::Independent).
#[derive(Clone, Copy)]
pub struct Independent {
    at: u64,
    step: u64,
}

impl Independent {
    /// Starts a walk at a hash. `step` must be odd.
    #[inline(always)]
    pub(crate) fn new(at: u64, step: u64) -> Self {
        Self { at, step }
    }
}

impl Walk for Independent {
    #[inline(always)]
    fn next(&mut self, bits: u64) -> u64 {
        let position = scale(self.at, bits);
        self.at = self.at.rotate_left(TURN).wrapping_add(self.step);
        position
    }
}

/// Returns whether every bit of the walk of a hash is set.
///
/// Reads all of them. An absent key meets its first zero after one bit or after four, which no
/// processor can predict, and a wrong prediction costs more than reading the rest.
///
/// # Panics
/// If there are fewer words than `size` says, or none. The same holds for [`insert_walk`].
#[inline(always)]
pub(crate) fn contains_walk(fast: Fast, words: &[u64], size: Size, hash: u64) -> bool {
    check(words, size.bits);
    fast.call(
        #[inline(always)]
        |words: *const u64, size, hash| {
            let mut all = 1;
            each_position(size, hash, |position| {
                // SAFETY: `check` has found a word for every position.
                let word = unsafe { *words.add((position >> 6) as usize) };
                all &= word >> (position & 63);
            });
            all & 1 != 0
        },
        words.as_ptr(),
        size,
        hash,
    )
}

/// Sets every bit of the walk of a hash; returns true if any was not set before.
#[inline(always)]
pub(crate) fn insert_walk(fast: Fast, words: &mut [u64], size: Size, hash: u64) -> bool {
    check(words, size.bits);
    fast.call(
        #[inline(always)]
        |words: *mut u64, size, hash| {
            let mut fresh = 0;
            each_position(size, hash, |position| {
                // SAFETY: as above, and `words` was borrowed exclusively.
                let word = unsafe { &mut *words.add((position >> 6) as usize) };
                fresh |= !*word >> (position & 63);
                *word |= 1 << (position & 63);
            });
            fresh & 1 != 0
        },
        words.as_mut_ptr(),
        size,
        hash,
    )
}

/// Panics if a position below `bits` is outside of `words`, or if there are no bits. In a loop over keys this
/// is done once.
#[inline(always)]
fn check(words: &[u64], bits: u64) {
    let last = bits.wrapping_sub(1) >> 6;
    assert!(last < words.len() as u64, "a filter has all its words");
}

/// Calls `each` for every position, which is below `size.bits` unless that is 0. The usual numbers of
/// hashes are loops of constant length.
#[inline(always)]
fn each_position(size: Size, hash: u64, mut each: impl FnMut(u64)) {
    let mut walk = Independent::new(hash, second(hash) | 1);
    macro_rules! unrolled {
        ($($hashes:literal)*) => {
            match size.hashes {
                $($hashes => for _ in 0..$hashes { each(walk.next(size.bits)) })*
                hashes => for _ in 0..hashes { each(walk.next(size.bits)) },
            }
        };
    }
    unrolled!(6 7)
}

/// Returns whether the line of a hash contains every bit of its pattern.
///
/// # Panics
/// If there are fewer lines than `size` says, or none. The same holds for [`insert_line`].
#[inline(always)]
pub(crate) fn contains_line(fast: Fast, words: &[u64], size: Size, hash: u64) -> bool {
    let lines = words.as_chunks().0;
    let line = line_of(lines.len(), size, hash);
    fast.call(
        #[inline(always)]
        |line: &[u64; LINE_WORDS], hashes, hash| match hashes {
            // Compiled by itself: if both share the comparison, it takes two instructions more.
            LANES => Pattern::new(second(hash), LANES).is_in(line),
            _ => Pattern::new(second(hash), hashes).is_in(line),
        },
        // SAFETY: `line_of` has checked it.
        unsafe { lines.get_unchecked(line) },
        size.hashes,
        hash,
    )
}

/// Sets the pattern of a hash in its line; returns true if any bit was not set before.
#[inline(always)]
pub(crate) fn insert_line(fast: Fast, words: &mut [u64], size: Size, hash: u64) -> bool {
    let lines = words.as_chunks_mut().0;
    let line = line_of(lines.len(), size, hash);
    fast.call(
        #[inline(always)]
        |line: &mut [u64; LINE_WORDS], hashes, hash| {
            Pattern::new(second(hash), hashes).add_to(line)
        },
        // SAFETY: as above.
        unsafe { lines.get_unchecked_mut(line) },
        size.hashes,
        hash,
    )
}

/// Returns the line of a hash, after checking that all lines are among the `found` ones; in a loop over
/// keys that is done once.
#[inline(always)]
fn line_of(found: usize, size: Size, hash: u64) -> usize {
    let lines = size.bits / LINE_BITS;
    let last = lines.wrapping_sub(1);
    assert!(last < found as u64, "a filter has all its lines");
    scale(hash, lines) as usize
}
