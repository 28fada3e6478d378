//! Known answers: from the publication of each family, and computed with other implementations
//! (Python's xxhash 3, mmh3 5 and hashlib).

use super::*;
use crate::Params;

fn digest(family: &Family, seed: u64, bytes: &[u8]) -> Digest {
    AnyHasher { family, seed }.digest(bytes)
}

/// Bytes 3, 10, 17, ...: the input of the tables below.
fn message(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + 3) as u8).collect()
}

#[test]
fn xxh3_gives_the_known_answers() {
    let table: [(usize, u64, u64, u128); 7] = [
        (
            0,
            0x2d06800538d394c2,
            0xb029411ff43d84d2,
            0x16c20acd33f7af2f3c1d09e9fe249164,
        ),
        (
            1,
            0x13e608bc156defed,
            0xd0c83c4bdeed078b,
            0x456c76ebd2fbcc9dd0c83c4bdeed078b,
        ),
        (
            8,
            0x60539db630471163,
            0x53a895ca319fab31,
            0xdb7aaf40cd2508fdfcef9d87275abd57,
        ),
        (
            16,
            0xb8c859b0f030b585,
            0x6b1b54f65d114c69,
            0xca2421404d5d2d31cd35a6b186e354d5,
        ),
        (
            36,
            0xdd6c3c863f063ab7,
            0xe6797234d9ea2b96,
            0x00d16f089a27b26ce2117c63289c8b50,
        ),
        (
            200,
            0x746cd0025327bf5b,
            0xb04cc37ae5a4a48d,
            0x7d487fb64647cb0afef64d3bed0600ed,
        ),
        (
            300,
            0xfd9aa0f0d62e0227,
            0xc55e5b1c043ed476,
            0xe620722760b05823c55e5b1c043ed476,
        ),
    ];
    for (len, seed_0, seed_42, wide) in table {
        let bytes = message(len);
        assert_eq!(digest(&Family::Xxh3, 0, &bytes).lo, seed_0);
        assert_eq!(digest(&Family::Xxh3, 42, &bytes).lo, seed_42);
        let digest = digest(&Family::Xxh3Wide, 42, &bytes);
        assert_eq!(digest, Digest::from_u128(wide));
    }
}

#[test]
fn murmur3_gives_the_known_answers() {
    let table: [(usize, u128); 7] = [
        (0, 0xd1016610da11cbb9f02aa77dfa1b8523),
        (1, 0xb08d1aee166d470763ce64b26289c063),
        (8, 0xbb6ae58ec313e5b67cd2a6a0b414dc61),
        (16, 0xbd4452c3e37adf6395800cfe119af316),
        (36, 0xe71fa1813a25bbde9fc741fa8d0279b3),
        (200, 0xc98aae1b2edc2799580a4bba98491802),
        (300, 0x8faa41ecd8241131e8fb7d316dd69cce),
    ];
    for (len, known) in table {
        let digest = digest(&Family::Murmur3, 42, &message(len));
        assert_eq!(digest, Digest::from_u128(known), "{len} bytes");
    }
    let fox = b"The quick brown fox jumps over the lazy dog";
    let known = 0x7a433ca9c49a9347e34bbc7bbc071b6c;
    assert_eq!(digest(&Family::Murmur3, 0, fox), Digest::from_u128(known));
}

#[test]
fn md5_gives_the_known_answers() {
    // RFC 1321, appendix A.5.
    let known = digest(&Family::Md5, 0, b"message digest");
    assert_eq!(
        known.lo.to_le_bytes(),
        [0xf9, 0x6b, 0x69, 0x7d, 0x7c, 0xb7, 0x93, 0x8d]
    );
    assert_eq!(
        known.hi.to_le_bytes(),
        [0x52, 0x5a, 0x2f, 0x31, 0xaa, 0xf1, 0x61, 0xd0]
    );
    // The seed precedes the key, as eight little-endian bytes.
    let seeded = digest(&Family::Md5, 0x0065_6761_7373_656d, b" digest");
    let plain = digest(&Family::Md5, 0, b"message\0 digest");
    assert_eq!(seeded, plain);
}

#[test]
fn siphash_gives_the_known_answers() {
    // The designers' test vectors for SipHash-2-4-128: key 00 01 .. 0f.
    let key = std::array::from_fn(|i| i as u8);
    let family = Family::SipHash { key };
    let empty = digest(&family, 0, b"");
    assert_eq!(
        empty.lo.to_le_bytes(),
        [0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6]
    );
    assert_eq!(
        empty.hi.to_le_bytes(),
        [0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93]
    );
    let one = digest(&family, 0, &[0]);
    assert_eq!(
        one.lo.to_le_bytes(),
        [0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44]
    );
    assert_eq!(
        one.hi.to_le_bytes(),
        [0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45]
    );
    let other = Family::SipHash { key: [9; 16] };
    assert_ne!(digest(&other, 0, b""), empty);
}

#[test]
fn affine_positions_are_the_formula() {
    let affine = Affine::new(&[(3, 5), (u64::MAX, u64::MAX - 1)], 1_000_003).unwrap();
    for x in [0u64, 1, 999, 1_000_003, u64::MAX] {
        let residue = affine.residue(&x.to_le_bytes());
        for (i, &(a, b)) in affine.coefficients().iter().enumerate() {
            let exact =
                (u128::from(a) * u128::from(x % 1_000_003) + u128::from(b)) % 1_000_003 % 77;
            assert_eq!(affine.position(i as u32, residue, 77), exact as u64);
        }
    }
}

#[test]
fn affine_reads_keys_of_any_length_as_integers() {
    let affine = Affine::new(&[(1, 0)], 1_000_003).unwrap();
    assert_eq!(affine.residue(b""), 0);
    assert_eq!(affine.residue(&7u8.to_le_bytes()), 7);
    assert_eq!(affine.residue(&7u128.to_le_bytes()), 7);
    let large = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdefu128;
    assert_eq!(
        u128::from(affine.residue(&large.to_le_bytes())),
        large % 1_000_003
    );
    let mut longer = large.to_le_bytes().to_vec();
    longer.extend([1, 2, 3]);
    let naive = longer.iter().rev().fold(0, |value, &byte| {
        (value * 256 + u64::from(byte)) % 1_000_003
    });
    assert_eq!(affine.residue(&longer), naive);
}

#[test]
fn seeded_affine_functions_differ_and_want_a_prime() {
    let one = Affine::seeded(1_000_003, 3, 1).unwrap();
    assert_eq!(one, Affine::seeded(1_000_003, 3, 1).unwrap());
    assert_ne!(one, Affine::seeded(1_000_003, 3, 2).unwrap());
    let message = Affine::seeded(1_000_000, 3, 1).unwrap_err().to_string();
    assert!(message.contains("1000003"), "{message}");
    assert!(Affine::seeded(1_000_003, 0, 1).is_err());
    assert!(Affine::seeded(1_000_003, 65, 1).is_err());
    assert!(Affine::new(&[(20, 1)], 10).is_err());
    assert!(Affine::new(&[(1, 1)], 0).is_err());
}

#[test]
fn kirsch_mitzenmacher_is_the_formula() {
    let params = Params::builder(1009, 9)
        .derivation(Derivation::KirschMitzenmacher)
        .build()
        .unwrap();
    for key in 0..100u64 {
        let digest = digest(&Family::Xxh3, 0, &key.to_le_bytes());
        let (h1, h2) = (u128::from(digest.lo), u128::from(remix(digest.hi)));
        let formula: Vec<u64> = (0..9).map(|i| ((h1 + i * h2) % 1009) as u64).collect();
        assert_eq!(params.probe(&key).positions(), formula);
    }
}
