//! Slices of 64-bit words seen as bits: counts, and/or/xor, and 512-bit lines.
//!
//! ```text
//!  bit      0 1 2 ... 63 | 64 65 ... 127 | ...
//!  word         0        |       1       | ...      bit p = word p/64, place p%64
//!  line     |<------------- 512 bits = 8 words = one cache line ------------->|
//! ```
//!
//! Every loop here is written once, in plain Rust (`loops`, `pipeline`), and
//! compiled twice: for the target's baseline (`scalar`) and with AVX2, BMI and
//! popcnt switched on (`avx2`). The choice is made at run time, once per slice, so an
//! ordinary build is fast on any x86-64 and right everywhere else.
//!
//! Cost: one pass over the words. With AVX2 the counts run near memory speed.
//!
//! This folder, and the memory map of a file, are the only places that may use
//! `unsafe`.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
mod line;
mod loops;
mod pipeline;
mod scalar;
mod shared;
mod words;

pub(crate) use line::{LANES, LINE_BITS, LINE_WORDS, Pattern, Slot};
pub(crate) use pipeline::{Size, Walk};
pub(crate) use shared::SharedWords;
pub use words::Words;

#[cfg(target_arch = "x86_64")]
use avx2::Avx2;
use pipeline::{Batch, SECOND, STEPS};
use scalar::Scalar;

/// Calls `$self.$method::<_, N>` with N the constant equal to `$steps`, 1 to
/// [`STEPS`]: a loop whose length is known when compiled takes half the time.
macro_rules! with_steps {
    ($steps:expr, $self:ident.$method:ident($($arg:expr),*)) => {
        match $steps {
            1 => $self.$method::<_, FAR, 1>($($arg),*),
            2 => $self.$method::<_, FAR, 2>($($arg),*),
            3 => $self.$method::<_, FAR, 3>($($arg),*),
            4 => $self.$method::<_, FAR, 4>($($arg),*),
            5 => $self.$method::<_, FAR, 5>($($arg),*),
            6 => $self.$method::<_, FAR, 6>($($arg),*),
            7 => $self.$method::<_, FAR, 7>($($arg),*),
            _ => $self.$method::<_, FAR, 8>($($arg),*),
        }
    };
}

/// One way of running the loops. Both implementations inline the same bodies.
trait Backend: Copy {
    fn count(self, a: &[u64]) -> u64;
    fn and_count(self, a: &[u64], b: &[u64]) -> u64;
    fn or_count(self, a: &[u64], b: &[u64]) -> u64;
    fn xor_count(self, a: &[u64], b: &[u64]) -> u64;
    fn and_assign(self, a: &mut [u64], b: &[u64]);
    fn or_assign(self, a: &mut [u64], b: &[u64]);
    fn xor_assign(self, a: &mut [u64], b: &[u64]);
    fn contains_line(self, words: &[u64], hashes: u32, slot: Slot) -> bool;
    fn insert_line(self, words: &mut [u64], hashes: u32, slot: Slot) -> bool;
    fn contains_lines<K>(
        self,
        words: &[u64],
        hashes: u32,
        keys: &[K],
        slot: impl Fn(&K) -> Slot,
        found: &mut [bool],
    );
    fn insert_lines<K>(self, words: &mut [u64], hashes: u32, keys: &[K], slot: impl Fn(&K) -> Slot);
    fn contains_walks<K, W: Walk>(
        self,
        words: &[u64],
        size: Size,
        keys: &[K],
        start: impl Fn(&K) -> W,
        found: &mut [bool],
    );
    fn insert_walks<K, W: Walk>(
        self,
        words: &mut [u64],
        size: Size,
        keys: &[K],
        start: impl Fn(&K) -> W,
    );
    /// The parts of the above that are compiled once for each N, not for each key type.
    fn keep<W: Walk, const FAR: bool, const N: usize>(
        self,
        batch: &mut Batch<W, FAR>,
        words: &[u64],
        bits: u64,
    );
    fn set<W: Walk, const FAR: bool, const N: usize>(
        self,
        batch: &mut Batch<W, FAR>,
        words: &mut [u64],
        bits: u64,
    );

    /// Takes a batch whose first positions are done through the others.
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
            with_steps!(steps, self.keep(batch, words, size.bits));
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
            with_steps!(steps, self.set(batch, words, size.bits));
            left -= steps;
        }
    }
}

/// Runs `$call` on the best backend this machine has.
macro_rules! on_best {
    ($backend:ident => $call:expr) => {{
        #[cfg(target_arch = "x86_64")]
        if let Some($backend) = Avx2::new() {
            return $call;
        }
        let $backend = Scalar;
        $call
    }};
}

/// Two slices of different length are a bug in the caller, never a matter of data.
fn assert_same_len(a: &[u64], b: &[u64]) {
    assert_eq!(a.len(), b.len(), "word slices of different length");
}

/// How many bits are set.
pub fn count(a: &[u64]) -> u64 {
    on_best!(b => b.count(a))
}

/// How many bits are set in both.
///
/// # Panics
/// If the slices differ in length, as do all functions here that take two.
pub fn and_count(a: &[u64], b: &[u64]) -> u64 {
    assert_same_len(a, b);
    on_best!(backend => backend.and_count(a, b))
}

/// How many bits are set in either.
pub fn or_count(a: &[u64], b: &[u64]) -> u64 {
    assert_same_len(a, b);
    on_best!(backend => backend.or_count(a, b))
}

/// In how many bits the two differ.
pub fn hamming(a: &[u64], b: &[u64]) -> u64 {
    assert_same_len(a, b);
    on_best!(backend => backend.xor_count(a, b))
}

/// Keeps in `a` the bits that are also in `b`.
pub fn and_assign(a: &mut [u64], b: &[u64]) {
    assert_same_len(a, b);
    on_best!(backend => backend.and_assign(a, b))
}

/// Adds the bits of `b` to `a`.
pub fn or_assign(a: &mut [u64], b: &[u64]) {
    assert_same_len(a, b);
    on_best!(backend => backend.or_assign(a, b))
}

/// Flips in `a` the bits of `b`.
pub fn xor_assign(a: &mut [u64], b: &[u64]) {
    assert_same_len(a, b);
    on_best!(backend => backend.xor_assign(a, b))
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
pub(crate) fn get(words: &[u64], position: u64) -> bool {
    words[(position >> 6) as usize] >> (position & 63) & 1 != 0
}

/// Sets bit `position`; true if it was not set before.
#[inline(always)]
pub(crate) fn set(words: &mut [u64], position: u64) -> bool {
    let word = &mut words[(position >> 6) as usize];
    let mask = 1 << (position & 63);
    let fresh = *word & mask == 0;
    *word |= mask;
    fresh
}

/// Whether the line of `slot` holds every bit of its pattern.
pub(crate) fn contains_line(words: &[u64], hashes: u32, slot: Slot) -> bool {
    on_best!(backend => backend.contains_line(words, hashes, slot))
}

/// Sets the pattern of `slot` in its line; true if any bit was not set before.
pub(crate) fn insert_line(words: &mut [u64], hashes: u32, slot: Slot) -> bool {
    on_best!(backend => backend.insert_line(words, hashes, slot))
}

/// For each key, whether the line of its slot holds every bit of its pattern.
pub(crate) fn contains_lines<K>(
    words: &[u64],
    hashes: u32,
    keys: &[K],
    slot: impl Fn(&K) -> Slot,
    found: &mut [bool],
) {
    assert_eq!(keys.len(), found.len(), "one answer for each key");
    on_best!(backend => backend.contains_lines(words, hashes, keys, slot, found))
}

/// Sets every key's pattern in the line of its slot.
pub(crate) fn insert_lines<K>(
    words: &mut [u64],
    hashes: u32,
    keys: &[K],
    slot: impl Fn(&K) -> Slot,
) {
    on_best!(backend => backend.insert_lines(words, hashes, keys, slot))
}

/// For each key, whether every bit of its walk is set.
pub(crate) fn contains_walks<K, W: Walk>(
    words: &[u64],
    size: Size,
    keys: &[K],
    start: impl Fn(&K) -> W,
    found: &mut [bool],
) {
    assert_eq!(keys.len(), found.len(), "one answer for each key");
    on_best!(backend => backend.contains_walks(words, size, keys, start, found))
}

/// Sets every bit of every key's walk.
pub(crate) fn insert_walks<K, W: Walk>(
    words: &mut [u64],
    size: Size,
    keys: &[K],
    start: impl Fn(&K) -> W,
) {
    on_best!(backend => backend.insert_walks(words, size, keys, start))
}

/// Asks the processor to fetch the cache line that holds `words[index]`.
/// Out of range is harmless: nothing is fetched.
#[inline(always)]
pub(crate) fn prefetch(words: &[u64], index: usize) {
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
