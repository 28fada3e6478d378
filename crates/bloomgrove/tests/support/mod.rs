//! What several tests need.

#![allow(dead_code)]

use bloomgrove::{Affine, Derivation, Family, Layout, Params};

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
    let affine = Affine::seeded(2_147_483_647, hashes, 5).unwrap();
    kinds.push(
        Params::builder(bits, hashes)
            .family(Family::Affine(affine))
            .build()
            .unwrap(),
    );
    kinds
}
