//! The loops compiled for the target's baseline. Always there, always tested.

use super::pipeline::{self, Batch, Size, Walk};
use super::{Backend, Slot, loops};

#[derive(Clone, Copy)]
pub(super) struct Scalar;

impl Backend for Scalar {
    fn count(self, a: &[u64]) -> u64 {
        loops::count_by(a, a, |x, _| x)
    }
    fn and_count(self, a: &[u64], b: &[u64]) -> u64 {
        loops::count_by(a, b, |x, y| x & y)
    }
    fn or_count(self, a: &[u64], b: &[u64]) -> u64 {
        loops::count_by(a, b, |x, y| x | y)
    }
    fn xor_count(self, a: &[u64], b: &[u64]) -> u64 {
        loops::count_by(a, b, |x, y| x ^ y)
    }
    fn and_assign(self, a: &mut [u64], b: &[u64]) {
        loops::assign_by(a, b, |x, y| x & y)
    }
    fn or_assign(self, a: &mut [u64], b: &[u64]) {
        loops::assign_by(a, b, |x, y| x | y)
    }
    fn xor_assign(self, a: &mut [u64], b: &[u64]) {
        loops::assign_by(a, b, |x, y| x ^ y)
    }
    fn contains_line(self, words: &[u64], hashes: u32, slot: Slot) -> bool {
        pipeline::contains_line(words, hashes, slot)
    }
    fn insert_line(self, words: &mut [u64], hashes: u32, slot: Slot) -> bool {
        pipeline::insert_line(words, hashes, slot)
    }
    fn contains_lines<K>(
        self,
        words: &[u64],
        hashes: u32,
        keys: &[K],
        slot: impl Fn(&K) -> Slot,
        found: &mut [bool],
    ) {
        pipeline::contains_lines(words, hashes, keys, slot, found)
    }
    fn insert_lines<K>(
        self,
        words: &mut [u64],
        hashes: u32,
        keys: &[K],
        slot: impl Fn(&K) -> Slot,
    ) {
        pipeline::insert_lines(words, hashes, keys, slot)
    }
    fn contains_walks<K, W: Walk>(
        self,
        words: &[u64],
        size: Size,
        keys: &[K],
        start: impl Fn(&K) -> W,
        found: &mut [bool],
    ) {
        if pipeline::is_far(words) {
            pipeline::contains_walks::<K, W, true>(words, size.bits, keys, start, found, |batch| {
                self.keep_rest(batch, words, size)
            })
        } else {
            pipeline::contains_walks::<K, W, false>(words, size.bits, keys, start, found, |batch| {
                self.keep_rest(batch, words, size)
            })
        }
    }
    fn insert_walks<K, W: Walk>(
        self,
        words: &mut [u64],
        size: Size,
        keys: &[K],
        start: impl Fn(&K) -> W,
    ) {
        if pipeline::is_far(words) {
            pipeline::insert_walks::<K, W, true>(words, keys, start, |batch, words| {
                self.set_all(batch, words, size)
            })
        } else {
            pipeline::insert_walks::<K, W, false>(words, keys, start, |batch, words| {
                self.set_all(batch, words, size)
            })
        }
    }
    fn keep<W: Walk, const FAR: bool, const N: usize>(
        self,
        batch: &mut Batch<W, FAR>,
        words: &[u64],
        bits: u64,
    ) {
        batch.keep::<N>(words, bits)
    }
    fn set<W: Walk, const FAR: bool, const N: usize>(
        self,
        batch: &mut Batch<W, FAR>,
        words: &mut [u64],
        bits: u64,
    ) {
        batch.set::<N>(words, bits)
    }
}
