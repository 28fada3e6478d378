//! Slices of 64-bit words as bit arrays: counts, and/or/xor, and batches of keys.
//!
//! ```text
//!  bit      0 1 2 ... 63 | 64 65 ... 127 | ...
//!  word         0        |       1       | ...      bit p = word p/64, bit p%64
//!  line     |<------------- 512 bits = 8 words = one cache line ------------->|
//! ```
//!
//! Every loop is written once, in plain Rust, and compiled twice: for the target's baseline,
//! and with AVX2 (`backend`). The choice is made at run time, once per slice, so an ordinary
//! build is fast on any x86-64 processor and correct everywhere else.
//!
//! Cost: one pass over the words. With AVX2 the counts run near memory speed.
//!
//! Only this directory and the memory map of a file may use `unsafe`.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | the safe functions; each selects a backend once per slice; counts, and/or/xor |
//! | `pipeline.rs` | batches of keys: hash ahead, prefetch, test later; both layouts |
//! | `single.rs` | one key at a time |
//! | `parts.rs` | very large batches into a large filter: sorted by destination first |
//! | `packed.rs` | numbers of a few bits each |
//! | `rows.rs` | bit matrices: intersections of rows; from 64 filters to a block and back |
//! | `backend.rs` | compiles each loop for the baseline and with AVX2, and selects one |
//! | `line.rs` | the 512-bit line: which of its bits a key sets |
//! | `words.rs` | owned words: aligned, zeroed, huge pages when large |
//! | `shared.rs` | words that many threads set bits in concurrently |

#![allow(unsafe_code)]

mod backend;
mod line;
mod packed;
mod parts;
mod pipeline;
mod rows;
mod shared;
mod single;
mod words;

pub(crate) use backend::Fast;
pub use line::LINE_WORDS;
pub(crate) use line::{LANES, LINE_BITS, Pattern, Slot};
pub(crate) use packed::{Packer, packed_get, packed_words, width_of};
pub(crate) use pipeline::Size;
pub use pipeline::Walk;
pub(crate) use rows::{
    Later, Mask, ROW_AHEAD, Rows, common, common_of_few, common_of_narrow, prefetch_rows, unweave,
    weave,
};
pub(crate) use shared::SharedWords;
pub use single::Independent;
pub(crate) use single::{contains_line, contains_walk, insert_line, insert_walk};
pub use words::Words;

use backend::Backend;

/// Returns the number of set bits.
pub fn count(a: &[u64]) -> u64 {
    Backend::best().count(a, a, |x, _| x)
}

/// Returns the number of bits that are set in both.
///
/// # Panics
/// If the slices differ in length. The same holds for all functions here that take two slices:
/// this is a bug in the caller, never caused by data.
pub fn and_count(a: &[u64], b: &[u64]) -> u64 {
    Backend::best().count(a, b, |x, y| x & y)
}

/// Returns the number of bits that are set in either.
pub(crate) fn or_count(a: &[u64], b: &[u64]) -> u64 {
    Backend::best().count(a, b, |x, y| x | y)
}

/// Returns the number of bits in which the two differ.
pub fn hamming(a: &[u64], b: &[u64]) -> u64 {
    Backend::best().count(a, b, |x, y| x ^ y)
}

/// Keeps in `a` the bits that are also in `b`.
pub fn and_assign(a: &mut [u64], b: &[u64]) {
    Backend::best().assign(a, b, |x, y| x & y);
}

/// Clears in `a` the bits of `b`.
pub fn and_not_assign(a: &mut [u64], b: &[u64]) {
    Backend::best().assign(a, b, |x, y| x & !y);
}

/// Adds the bits of `b` to `a`.
pub fn or_assign(a: &mut [u64], b: &[u64]) {
    Backend::best().assign(a, b, |x, y| x | y);
}

/// Flips in `a` the bits of `b`.
pub(crate) fn xor_assign(a: &mut [u64], b: &[u64]) {
    Backend::best().assign(a, b, |x, y| x ^ y);
}

impl Backend {
    fn count(self, a: &[u64], b: &[u64], op: impl Fn(u64, u64) -> u64) -> u64 {
        assert_eq!(a.len(), b.len(), "word slices of different length");
        self.run(
            #[inline(always)]
            || {
                let words = a.iter().zip(b).map(|(&x, &y)| op(x, y));
                words.map(|word| u64::from(word.count_ones())).sum()
            },
        )
    }

    fn assign(self, a: &mut [u64], b: &[u64], op: impl Fn(u64, u64) -> u64) {
        assert_eq!(a.len(), b.len(), "word slices of different length");
        self.run(
            #[inline(always)]
            || {
                for (x, &y) in a.iter_mut().zip(b) {
                    *x = op(*x, y);
                }
            },
        );
    }
}

/// Returns the numbers of the set bits, in ascending order.
pub fn ones(a: &[u64]) -> impl Iterator<Item = u64> + '_ {
    a.iter().enumerate().flat_map(|(i, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let place = left.trailing_zeros();
                left &= left - 1;
                i as u64 * 64 + u64::from(place)
            })
        })
    })
}

/// Returns whether bit `position` is set.
#[inline(always)]
pub fn get(words: &[u64], position: u64) -> bool {
    words[(position >> 6) as usize] >> (position & 63) & 1 != 0
}

/// Sets bit `position`; returns true if it was not set before.
#[inline(always)]
pub fn set(words: &mut [u64], position: u64) -> bool {
    let word = &mut words[(position >> 6) as usize];
    let mask = 1 << (position & 63);
    let fresh = *word & mask == 0;
    *word |= mask;
    fresh
}

/// Clears bit `position`.
#[inline(always)]
pub fn clear(words: &mut [u64], position: u64) {
    words[(position >> 6) as usize] &= !(1 << (position & 63));
}

/// Tests, for each key, whether the line of its slot contains every bit of its pattern.
pub(crate) fn contains_lines<K>(
    words: &[u64],
    hashes: u32,
    keys: &[K],
    slot: impl Fn(&K) -> Slot,
    found: &mut [bool],
) {
    Backend::best().contains_lines(words, hashes, keys, slot, found);
}

/// Sets every key's pattern in the line of its slot.
pub(crate) fn insert_lines<K>(
    words: &mut [u64],
    hashes: u32,
    keys: &[K],
    slot: impl Fn(&K) -> Slot,
) {
    Backend::best().insert_lines(words, hashes, keys, slot);
}

/// Tests, for each key, whether every bit of its walk is set.
pub(crate) fn contains_walks<K, W: Walk>(
    words: &[u64],
    size: Size,
    keys: &[K],
    start: impl Fn(&K) -> W + Copy,
    found: &mut [bool],
) {
    Backend::best().contains_walks(words, size, keys, start, found);
}

/// Sets every bit of every key's walk, immediately.
pub(crate) fn insert_walks<K, W: Walk>(
    words: &mut [u64],
    size: Size,
    keys: &[K],
    start: impl Fn(&K) -> W,
) {
    Backend::best().insert_walks(words, size, keys, start);
}

/// Like [`insert_walks`], but first sorts the bits by position if there are enough of them for
/// that to pay. Walks must stay within `size`.
pub(crate) fn insert_many_walks<K, W: Walk>(
    words: &mut [u64],
    size: Size,
    keys: &[K],
    start: impl Fn(&K) -> W,
) {
    match parts::Parts::that_pay(size, keys.len()) {
        Some(parts) => Backend::best().insert_by_parts(words, size, keys, start, parts),
        None => Backend::best().insert_walks(words, size, keys, start),
    }
}

/// Prefetches the cache line that contains `words[index]`. An index out of range is harmless:
/// nothing is fetched.
#[inline(always)]
pub fn prefetch(words: &[u64], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint; it never faults, whatever the address,
        // and `wrapping_add` does not require the address to be in bounds.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(index).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (words, index);
}

#[cfg(test)]
mod tests;
