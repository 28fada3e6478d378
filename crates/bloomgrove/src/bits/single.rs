//! One key at a time, in either layout.
//!
//! A key takes some fifty to a hundred instructions, so every one counts. The caller hashes the key,
//! since its length is known there. The bits of a walk are tested without checking each time
//! whether they are in the filter: [`Independent`] cannot leave it. A line takes half as many
//! instructions with AVX2, so it is tested by a call to a function that has it, with all
//! arguments in registers.

use super::Backend;
use super::line::{LANES, LINE_WORDS, Pattern, Slot};
use super::pipeline::{Size, Walk};
use crate::mix::scale;

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

/// Returns whether every bit of a walk is set.
///
/// Reads all of them. An absent key meets its first zero after one bit or after four, which no
/// processor can predict, and a wrong prediction costs more than reading the rest.
///
/// # Panics
/// If there are fewer words than `size` says. The same holds for [`insert_walk`].
#[inline(always)]
pub(crate) fn contains_walk(words: &[u64], size: Size, walk: Independent) -> bool {
    let words = &words[..size.bits.div_ceil(64) as usize];
    let mut all = 1;
    each_position(size, walk, |position| {
        // SAFETY: `scale` returns less than `size.bits`, for which there are enough words.
        let word = unsafe { words.get_unchecked((position >> 6) as usize) };
        all &= word >> (position & 63);
    });
    all & 1 != 0
}

/// Sets every bit of a walk; returns true if any was not set before.
#[inline(always)]
pub(crate) fn insert_walk(words: &mut [u64], size: Size, walk: Independent) -> bool {
    let words = &mut words[..size.bits.div_ceil(64) as usize];
    let mut fresh = 0;
    each_position(size, walk, |position| {
        // SAFETY: as above.
        let word = unsafe { words.get_unchecked_mut((position >> 6) as usize) };
        fresh |= !*word >> (position & 63);
        *word |= 1 << (position & 63);
    });
    fresh & 1 != 0
}

/// Calls `each` for every position, which is below `size.bits` unless that is 0. The usual numbers of
/// hashes are loops of constant length.
#[inline(always)]
fn each_position(size: Size, mut walk: Independent, mut each: impl FnMut(u64)) {
    macro_rules! unrolled {
        ($($hashes:literal)*) => {
            match size.hashes {
                $($hashes => for _ in 0..$hashes { each(walk.next(size.bits)) })*
                hashes => for _ in 0..hashes { each(walk.next(size.bits)) },
            }
        };
    }
    assert!(size.bits > 0, "a filter has bits");
    unrolled!(6 7)
}

/// Returns whether the line of `slot` contains every bit of its pattern.
#[inline(always)]
pub(crate) fn contains_line(words: &[u64], hashes: u32, slot: Slot) -> bool {
    let line = &words.as_chunks().0[slot.line as usize];
    // By far the most common case has a function of its own.
    match hashes {
        LANES => Backend::best().call(
            #[inline(always)]
            |line: &[u64; LINE_WORDS], hash, ()| Pattern::new(hash, LANES).is_in(line),
            line,
            slot.hash,
            (),
        ),
        _ => Backend::best().call(
            #[inline(always)]
            |line: &[u64; LINE_WORDS], hash, hashes| Pattern::new(hash, hashes).is_in(line),
            line,
            slot.hash,
            hashes,
        ),
    }
}

/// Sets the pattern of `slot` in its line; returns true if any bit was not set before.
#[inline(always)]
pub(crate) fn insert_line(words: &mut [u64], hashes: u32, slot: Slot) -> bool {
    let line = &mut words.as_chunks_mut().0[slot.line as usize];
    match hashes {
        LANES => Backend::best().call(
            #[inline(always)]
            |line: &mut [u64; LINE_WORDS], hash, ()| Pattern::new(hash, LANES).add_to(line),
            line,
            slot.hash,
            (),
        ),
        _ => Backend::best().call(
            #[inline(always)]
            |line: &mut [u64; LINE_WORDS], hash, hashes| Pattern::new(hash, hashes).add_to(line),
            line,
            slot.hash,
            hashes,
        ),
    }
}
