//! The loops compiled with AVX2, and with BMI and popcnt, which come with it.

use std::sync::LazyLock;

use super::pipeline::{self, Batch, Size, Walk};
use super::{Backend, LANES, Slot, loops};

/// Proof that this machine has those instructions: only [`Avx2::new`] makes one.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    #[inline]
    pub(super) fn new() -> Option<Self> {
        // Four questions to the standard library cost as much as a probe: ask once.
        static THERE: LazyLock<bool> = LazyLock::new(|| {
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt")
        });
        THERE.then_some(Self(()))
    }
}

/// Wraps a loop in a function with the features on, and calls it.
macro_rules! with_features {
    (fn($($arg:ident: $type:ty),*) $(-> $out:ty)? = $body:expr) => {{
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn featured($($arg: $type),*) $(-> $out)? {
            $body
        }
        // SAFETY: `self` exists, so the processor has the features.
        unsafe { featured($($arg),*) }
    }};
}

impl Backend for Avx2 {
    fn count(self, a: &[u64]) -> u64 {
        with_features!(fn(a: &[u64]) -> u64 = loops::count_by(a, a, |x, _| x))
    }
    fn and_count(self, a: &[u64], b: &[u64]) -> u64 {
        with_features!(fn(a: &[u64], b: &[u64]) -> u64 = loops::count_by(a, b, |x, y| x & y))
    }
    fn or_count(self, a: &[u64], b: &[u64]) -> u64 {
        with_features!(fn(a: &[u64], b: &[u64]) -> u64 = loops::count_by(a, b, |x, y| x | y))
    }
    fn xor_count(self, a: &[u64], b: &[u64]) -> u64 {
        with_features!(fn(a: &[u64], b: &[u64]) -> u64 = loops::count_by(a, b, |x, y| x ^ y))
    }
    fn and_assign(self, a: &mut [u64], b: &[u64]) {
        with_features!(fn(a: &mut [u64], b: &[u64]) = loops::assign_by(a, b, |x, y| x & y))
    }
    fn or_assign(self, a: &mut [u64], b: &[u64]) {
        with_features!(fn(a: &mut [u64], b: &[u64]) = loops::assign_by(a, b, |x, y| x | y))
    }
    fn xor_assign(self, a: &mut [u64], b: &[u64]) {
        with_features!(fn(a: &mut [u64], b: &[u64]) = loops::assign_by(a, b, |x, y| x ^ y))
    }
    fn contains_line(self, words: &[u64], hashes: u32, slot: Slot) -> bool {
        with_features!(fn(words: &[u64], hashes: u32, slot: Slot) -> bool =
            pipeline::contains_line(words, hashes, slot))
    }
    fn insert_line(self, words: &mut [u64], hashes: u32, slot: Slot) -> bool {
        with_features!(fn(words: &mut [u64], hashes: u32, slot: Slot) -> bool =
            pipeline::insert_line(words, hashes, slot))
    }
    fn contains_lines<K>(
        self,
        words: &[u64],
        hashes: u32,
        keys: &[K],
        slot: impl Fn(&K) -> Slot,
        found: &mut [bool],
    ) {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn featured<K>(
            words: &[u64],
            hashes: u32,
            keys: &[K],
            slot: impl Fn(&K) -> Slot,
            found: &mut [bool],
        ) {
            // Compiled apart with the commonest number as a constant.
            match hashes {
                LANES => pipeline::contains_lines(words, LANES, keys, slot, found),
                _ => pipeline::contains_lines(words, hashes, keys, slot, found),
            }
        }
        // SAFETY: `self` exists, so the processor has the features.
        unsafe { featured(words, hashes, keys, slot, found) }
    }
    fn insert_lines<K>(
        self,
        words: &mut [u64],
        hashes: u32,
        keys: &[K],
        slot: impl Fn(&K) -> Slot,
    ) {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn featured<K>(words: &mut [u64], hashes: u32, keys: &[K], slot: impl Fn(&K) -> Slot) {
            match hashes {
                LANES => pipeline::insert_lines(words, LANES, keys, slot),
                _ => pipeline::insert_lines(words, hashes, keys, slot),
            }
        }
        // SAFETY: `self` exists, so the processor has the features.
        unsafe { featured(words, hashes, keys, slot) }
    }
    fn contains_walks<K, W: Walk>(
        self,
        words: &[u64],
        size: Size,
        keys: &[K],
        start: impl Fn(&K) -> W,
        found: &mut [bool],
    ) {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn featured<K, W: Walk>(
            backend: Avx2,
            words: &[u64],
            size: Size,
            keys: &[K],
            start: impl Fn(&K) -> W,
            found: &mut [bool],
        ) {
            if pipeline::is_far(words) {
                pipeline::contains_walks::<K, W, true>(
                    words,
                    size.bits,
                    keys,
                    start,
                    found,
                    |batch| backend.keep_rest(batch, words, size),
                )
            } else {
                pipeline::contains_walks::<K, W, false>(
                    words,
                    size.bits,
                    keys,
                    start,
                    found,
                    |batch| backend.keep_rest(batch, words, size),
                )
            }
        }
        // SAFETY: `self` exists, so the processor has the features.
        unsafe { featured(self, words, size, keys, start, found) }
    }
    fn insert_walks<K, W: Walk>(
        self,
        words: &mut [u64],
        size: Size,
        keys: &[K],
        start: impl Fn(&K) -> W,
    ) {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn featured<K, W: Walk>(
            backend: Avx2,
            words: &mut [u64],
            size: Size,
            keys: &[K],
            start: impl Fn(&K) -> W,
        ) {
            if pipeline::is_far(words) {
                pipeline::insert_walks::<K, W, true>(words, keys, start, |batch, words| {
                    backend.set_all(batch, words, size)
                })
            } else {
                pipeline::insert_walks::<K, W, false>(words, keys, start, |batch, words| {
                    backend.set_all(batch, words, size)
                })
            }
        }
        // SAFETY: `self` exists, so the processor has the features.
        unsafe { featured(self, words, size, keys, start) }
    }
    fn keep<W: Walk, const FAR: bool, const N: usize>(
        self,
        batch: &mut Batch<W, FAR>,
        words: &[u64],
        bits: u64,
    ) {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn featured<W: Walk, const FAR: bool, const N: usize>(
            batch: &mut Batch<W, FAR>,
            words: &[u64],
            bits: u64,
        ) {
            batch.keep::<N>(words, bits)
        }
        // SAFETY: `self` exists, so the processor has the features.
        unsafe { featured::<W, FAR, N>(batch, words, bits) }
    }
    fn set<W: Walk, const FAR: bool, const N: usize>(
        self,
        batch: &mut Batch<W, FAR>,
        words: &mut [u64],
        bits: u64,
    ) {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn featured<W: Walk, const FAR: bool, const N: usize>(
            batch: &mut Batch<W, FAR>,
            words: &mut [u64],
            bits: u64,
        ) {
            batch.set::<N>(words, bits)
        }
        // SAFETY: `self` exists, so the processor has the features.
        unsafe { featured::<W, FAR, N>(batch, words, bits) }
    }
}
