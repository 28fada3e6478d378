//! MurmurHash3 x64 128, after Austin Appleby's public-domain definition. Implemented here
//! because the existing crates read through `io::Read` or are unmaintained.

use super::remix;

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

fn scramble_1(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn scramble_2(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

/// Returns the 128 bits, the first 64 lowest. The original's seed has 32 bits and fills both
/// halves of the state; ours may have 64.
pub(super) fn x64_128(bytes: &[u8], seed: u64) -> u128 {
    let (mut h1, mut h2) = (seed, seed);
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        let k = u128::from_le_bytes(*block);
        h1 ^= scramble_1(k as u64);
        h1 = h1.rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= scramble_2((k >> 64) as u64);
        h2 = h2.rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    // A tail padded with zeros gives the same result as the original's switch: a half without
    // bytes contributes zero.
    let mut last = [0; 16];
    last[..tail.len()].copy_from_slice(tail);
    let k = u128::from_le_bytes(last);
    h1 ^= scramble_1(k as u64);
    h2 ^= scramble_2((k >> 64) as u64);

    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = remix(h1);
    h2 = remix(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    u128::from(h1) | u128::from(h2) << 64
}
