//! What several tests need.

#![allow(dead_code)]

use bloomgrove::sample::{Method, SampleOptions, Way};
use bloomgrove::{Affine, Derivation, Family, Filter, Layout, Params};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Keys that look random and never repeat.
pub(crate) fn scatter(i: u64) -> u64 {
    let mut z = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Fails unless `hits` of `trials` is what a coin of chance `p` gives, within five
/// standard deviations either way: one false alarm in two million.
pub(crate) fn assert_rate(hits: u64, trials: u64, p: f64, what: &str) {
    let (n, expected) = (trials as f64, trials as f64 * p);
    let deviation = (n * p * (1.0 - p)).sqrt();
    let off = (hits as f64 - expected) / deviation;
    assert!(
        off.abs() < 5.0,
        "{what}: {hits} hits of {trials}, {expected:.1} expected, off by {off:.1} deviations"
    );
}

/// Draws in this way and no other.
pub(crate) fn drawn_by(method: Method, seed: u64) -> SampleOptions {
    let method = Some(method);
    SampleOptions {
        method,
        seed,
        ..SampleOptions::default()
    }
}

/// Lists in this way and no other.
pub(crate) fn listed_by(way: Way) -> SampleOptions {
    let way = Some(way);
    SampleOptions {
        way,
        ..SampleOptions::default()
    }
}

/// One of every kind of parameters, about `bits` large.
pub(crate) fn every_kind(bits: u64, hashes: u32) -> Vec<Params> {
    let bits = bits.next_multiple_of(1024);
    let families = [
        Family::Xxh3,
        Family::Xxh3Wide,
        Family::Murmur3,
        Family::Md5,
        Family::SipHash { key: [3; 16] },
    ];
    let mut kinds = Vec::new();
    for family in families {
        let base = Params::builder(bits, hashes).family(family);
        let blocked = base.clone().layout(Layout::Blocked);
        let walk = base.clone().derivation(Derivation::KirschMitzenmacher);
        kinds.extend([base, blocked, walk].map(|builder| builder.build().unwrap()));
    }
    let split = Params::builder(bits, 8).layout(Layout::SplitBlock);
    kinds.push(split.family(Family::Xxh64).build().unwrap());
    let affine = Affine::seeded(2_147_483_647, hashes, 5).unwrap();
    kinds.push(
        Params::builder(bits, hashes)
            .family(Family::Affine(affine))
            .build()
            .unwrap(),
    );
    kinds
}

/// A copy of a file with some bytes changed, and valid checksums.
pub(crate) fn edited(file: &[u8], edits: &[(u16, u8)]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for (at, value) in edits.iter().take(8) {
        let at = usize::from(*at) % bytes.len();
        bytes[at] = *value;
    }
    reseal(&mut bytes);
    bytes
}

/// `sample` with each of `values` at `at`, in four bytes and in eight. Each file comes once: the first four bytes of
/// 1 << 47 are those of 0, and many words are 0 already.
pub(crate) fn extremes(sample: &[u8], at: usize, values: &[u64]) -> Vec<Vec<u8>> {
    let mut files = vec![sample.to_vec()];
    for value in values {
        for len in [4, 8] {
            let mut bytes = sample.to_vec();
            bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
            if files
                .iter()
                .all(|file| file[at..at + 8] != bytes[at..at + 8])
            {
                files.push(bytes);
            }
        }
    }
    files.split_off(1)
}

/// Makes all checksums right again where the structure still allows it, so that
/// the fields behind them are reached.
pub(crate) fn reseal(bytes: &mut [u8]) {
    use xxhash_rust::xxh3::xxh3_64;
    let put = |bytes: &mut [u8], at: usize, value: u64| {
        if let Some(field) = bytes.get_mut(at..at + 8) {
            field.copy_from_slice(&value.to_le_bytes());
        }
    };
    let get = |bytes: &[u8], at: usize| {
        bytes
            .get(at..at + 8)
            .map_or(0, |field| u64::from_le_bytes(field.try_into().unwrap()))
    };
    let mut heads = Vec::new();
    let mut at = 64;
    if bytes.len() >= 64 {
        put(bytes, 56, xxh3_64(&bytes[..56]));
    }
    while at + 64 <= bytes.len() {
        let (offset, len) = (get(bytes, at + 8), get(bytes, at + 16));
        let Some(end) = offset
            .checked_add(len)
            .filter(|&end| end > at as u64 && end <= bytes.len() as u64)
        else {
            return;
        };
        let payload = offset as usize..end as usize;
        let is_end = bytes[at + 4..at + 6] == [0xff, 0xff];
        if is_end && payload.len() == 16 {
            put(bytes, payload.start + 8, xxh3_64(&heads));
        }
        let is_commit = bytes[at + 4..at + 6] == [6, 0];
        if is_commit && payload.len() == 32 {
            put(bytes, payload.start + 24, xxh3_64(&heads));
        }
        put(bytes, at + 24, xxh3_64(&bytes[payload]));
        put(bytes, at + 56, xxh3_64(&bytes[at..at + 56]));
        if is_end {
            return;
        }
        if is_commit {
            heads.clear();
        } else {
            heads.extend_from_slice(&bytes[at + 56..at + 64]);
        }
        at = (end as usize).next_multiple_of(64);
    }
}

/// A filter of this many keys.
pub(crate) fn filled(params: &Params, keys: u64) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    filter.insert_batch(&(0..keys).map(scatter).collect::<Vec<_>>());
    filter
}

/// The parts of a message without their sums, found as FORMAT.md says; the last one is the end.
pub(crate) fn parts(message: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < message.len() {
        let start = at;
        let tag = message[at];
        at += if start == 0 { 6 } else { 1 };
        let mut numbers = Vec::new();
        for _ in 0..if start > 0 && tag == 0 { 2 } else { 1 } {
            let mut number = 0usize;
            for place in 0.. {
                number |= usize::from(message[at] & 0x7f) << (7 * place);
                at += 1;
                if message[at - 1] < 0x80 {
                    break;
                }
            }
            numbers.push(number);
        }
        if let [len] = numbers[..] {
            at += len;
        }
        parts.push(message[start..at].to_vec());
        at += 4;
    }
    parts
}

/// A message of these parts, with right sums.
pub(crate) fn sealed(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut sum = 0;
    let mut message = Vec::new();
    for part in parts {
        sum = xxh3_64_with_seed(part, sum);
        message.extend(part);
        message.extend((sum as u32).to_le_bytes());
    }
    message
}
