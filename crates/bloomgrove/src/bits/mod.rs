//! Slices of 64-bit words seen as bits: counts, and/or/xor, and many keys at once.
//!
//! ```text
//!  bit      0 1 2 ... 63 | 64 65 ... 127 | ...
//!  word         0        |       1       | ...      bit p = word p/64, place p%64
//!  line     |<------------- 512 bits = 8 words = one cache line ------------->|
//! ```
//!
//! Every loop is written once, in plain Rust, and compiled twice: for the target's
//! baseline, and with AVX2 (`backend`). The choice is made at run time, once per slice,
//! so an ordinary build is fast on any x86-64 and right everywhere else.
//!
//! Cost: one pass over the words. With AVX2 the counts run near memory speed.
//!
//! This folder, and the memory map of a file, are the only places that may use
//! `unsafe`.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | the safe functions; each picks a backend once per slice; counts, and/or/xor |
//! | `pipeline.rs` | many keys at once: hash ahead, prefetch, look late; both layouts |
//! | `parts.rs` | very many keys into a large filter: sorted by where they go first |
//! | `packed.rs` | numbers of a few bits each |
//! | `rows.rs` | bit matrices: what rows have in common; from 64 filters to a block and back |
//! | `backend.rs` | how one loop is compiled for the baseline and with AVX2; the choice between them |
//! | `line.rs` | the 512-bit line: which bits of it a key sets |
//! | `words.rs` | owned words: aligned, zeroed, huge pages when large |
//! | `shared.rs` | words set by many threads at once |

#![allow(unsafe_code)]

mod backend;
mod line;
mod packed;
mod parts;
mod pipeline;
mod rows;
mod shared;
mod words;

pub use line::LINE_WORDS;
pub(crate) use line::{LANES, LINE_BITS, Pattern, Slot};
pub(crate) use packed::{Packer, packed_get, packed_words, width_of};
pub(crate) use pipeline::Size;
pub use pipeline::Walk;
pub(crate) use rows::{common, unweave, weave};
pub(crate) use shared::SharedWords;
pub use words::Words;

use backend::Backend;

/// How many bits are set.
pub fn count(a: &[u64]) -> u64 {
    Backend::best().count(a, a, |x, _| x)
}

/// How many bits are set in both.
///
/// # Panics
/// If the slices differ in length, as do all functions here that take two: a bug in
/// the caller, never a matter of data.
pub fn and_count(a: &[u64], b: &[u64]) -> u64 {
    Backend::best().count(a, b, |x, y| x & y)
}

/// How many bits are set in either.
pub(crate) fn or_count(a: &[u64], b: &[u64]) -> u64 {
    Backend::best().count(a, b, |x, y| x | y)
}

/// In how many bits the two differ.
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

/// The numbers of the set bits, rising.
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

/// Is bit `position` set?
#[inline(always)]
pub fn get(words: &[u64], position: u64) -> bool {
    words[(position >> 6) as usize] >> (position & 63) & 1 != 0
}

/// Sets bit `position`; true if it was not set before.
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

/// Whether the line of `slot` holds every bit of its pattern.
#[inline]
pub(crate) fn contains_line(words: &[u64], hashes: u32, slot: Slot) -> bool {
    let line = &words.as_chunks().0[slot.line as usize];
    Backend::best().call(
        #[inline(always)]
        |line: &[u64; LINE_WORDS], hash, hashes| Pattern::new(hash, hashes).is_in(line),
        line,
        slot.hash,
        hashes,
    )
}

/// Sets the pattern of `slot` in its line; true if any bit was not set before.
#[inline]
pub(crate) fn insert_line(words: &mut [u64], hashes: u32, slot: Slot) -> bool {
    let line = &mut words.as_chunks_mut().0[slot.line as usize];
    Backend::best().call(
        #[inline(always)]
        |line: &mut [u64; LINE_WORDS], hash, hashes| Pattern::new(hash, hashes).add_to(line),
        line,
        slot.hash,
        hashes,
    )
}

/// For each key, whether the line of its slot holds every bit of its pattern.
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

/// For each key, whether every bit of its walk is set.
pub(crate) fn contains_walks<K, W: Walk>(
    words: &[u64],
    size: Size,
    keys: &[K],
    start: impl Fn(&K) -> W,
    found: &mut [bool],
) {
    Backend::best().contains_walks(words, size, keys, start, found);
}

/// Sets every bit of every key's walk, at once.
pub(crate) fn insert_walks<K, W: Walk>(
    words: &mut [u64],
    size: Size,
    keys: &[K],
    start: impl Fn(&K) -> W,
) {
    Backend::best().insert_walks(words, size, keys, start);
}

/// As [`insert_walks`], sorted by where the bits are first if there are so many that it pays.
/// Walks must stay within `size`.
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

/// Asks the processor to fetch the cache line that holds `words[index]`.
/// Out of range is harmless: nothing is fetched.
#[inline(always)]
pub fn prefetch(words: &[u64], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint; it never faults, whatever the address,
        // and `wrapping_add` makes no claim that the address is in bounds.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(index).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (words, index);
}

#[cfg(test)]
mod tests;
