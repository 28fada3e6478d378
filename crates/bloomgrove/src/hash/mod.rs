//! From a key to 128 bits, the same on every machine and in every version.
//!
//! ```text
//!   key bytes --family + seed--> Digest { lo, hi } --derivation--> k positions
//!   integers are their little-endian bytes        (see `positions`)
//! ```
//!
//! Everything stored names its family and seed, so a filter written today is
//! readable for ever; that is why nothing here goes through `std::hash::Hash`,
//! whose output is not portable.
//!
//! | family | digest | for |
//! |---|---|---|
//! | [`Family::Xxh3`] | 64 bits | the default: a nanosecond for a short key |
//! | [`Family::Xxh3Wide`] | 128 bits | more items than 64 bits can tell apart at the asked rate |
//! | [`Family::Murmur3`] | 128 bits | agreement with other systems and with the sampling paper |
//! | [`Family::Md5`] | 128 bits | the same; slow |
//! | [`Family::SipHash`] | 128 bits, keyed | keys chosen by someone who wants to hurt you |
//! | [`Family::Affine`] | none: k functions of an integer | worked examples, and getting items back out |
//!
//! Source: seed document 002, sections 4 and 5; the affine family also serves
//! the sampling paper, section 5.3.

mod affine;
mod invert;
mod key;
mod murmur3;
mod positions;
pub(crate) mod prime;

pub use affine::Affine;
pub use invert::Inverse;
pub use key::Key;
pub use positions::{Derivation, Probe};
pub(crate) use positions::{Independent, KirschMitzenmacher, Positions, Start, slot};

use std::fmt;

use md5::{Digest as _, Md5};
use siphasher::sip128::SipHasher24;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// A hash family: how the bytes of a key become bits.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// XXH3, 64 bits, frozen since its version 0.8.0.
    Xxh3,
    /// XXH3, 128 bits.
    Xxh3Wide,
    /// MurmurHash3 x64 128. The seed may have 64 bits; below 2^32 it is the original's.
    Murmur3,
    /// MD5 of the key; with a seed other than 0, of the seed's 8 bytes and the key.
    Md5,
    /// SipHash-2-4 with 128 bits of output. Who does not know `key` cannot make
    /// keys that collide; who can read the file can read `key`.
    SipHash {
        /// The secret.
        key: [u8; 16],
    },
    /// k functions `((a x + b) mod p) mod bits` of the key read as an integer.
    Affine(Affine),
}

/// Without the secret of SipHash, which would end up in logs.
impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Family::Affine(functions) => functions.fmt(f),
            other => f.write_str(other.name()),
        }
    }
}

impl Family {
    /// The name used on the command line and in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Family::Xxh3 => "xxh3",
            Family::Xxh3Wide => "xxh3-128",
            Family::Murmur3 => "murmur3",
            Family::Md5 => "md5",
            Family::SipHash { .. } => "siphash",
            Family::Affine(_) => "affine",
        }
    }

    /// How many bits of a key's hash tell it from others: no family can tell more
    /// keys apart than this. None for the affine family, where it depends on p.
    pub fn digest_bits(&self) -> Option<u32> {
        match self {
            Family::Xxh3 => Some(64),
            Family::Affine(_) => None,
            _ => Some(128),
        }
    }

    /// The digest of `bytes`; None for the affine family, which has none.
    pub fn digest(&self, seed: u64, bytes: &[u8]) -> Option<Digest> {
        (!matches!(self, Family::Affine(_))).then(|| AnyHasher { family: self, seed }.digest(bytes))
    }
}

/// What a family makes of a key: 128 bits, from which all positions are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The first 64 bits. Picks the line in the blocked layout.
    pub lo: u64,
    /// The second 64 bits. A family of 64 bits has `lo` multiplied here.
    pub hi: u64,
}

impl Digest {
    #[inline(always)]
    pub(crate) fn of_hash(hash: u64) -> Self {
        Self {
            lo: hash,
            hi: hash.wrapping_mul(GOLDEN),
        }
    }

    #[inline(always)]
    fn from_u128(hash: u128) -> Self {
        Self {
            lo: hash as u64,
            hi: (hash >> 64) as u64,
        }
    }
}

/// One xorshift and one multiplication: more bits from an already good hash.
#[inline(always)]
pub(crate) fn mix(x: u64) -> u64 {
    (x ^ (x >> 32)).wrapping_mul(GOLDEN)
}

/// MurmurHash3's finish: every bit of the result depends on every bit of `x`.
/// Kirsch and Mitzenmacher's second hash needs that. Made by one multiplication
/// alone, it is a function of the first modulo any power of two, and such filters
/// accept many times more than they should.
#[inline(always)]
pub(crate) fn remix(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// 2^64 divided by the golden ratio, made odd.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The upper half of the product: maps a hash evenly onto `0..n`, for the price
/// of one multiplication.
#[inline(always)]
pub(crate) fn scale(hash: u64, n: u64) -> u64 {
    ((u128::from(hash) * u128::from(n)) >> 64) as u64
}

/// Something that makes digests. The default family has its own type so that
/// batch loops compile it in place; the others go through [`AnyHasher`], whose
/// one predictable branch is small beside their own cost.
pub(crate) trait Hasher: Copy {
    fn digest(self, bytes: &[u8]) -> Digest;
}

#[derive(Clone, Copy)]
pub(crate) struct Xxh3Hasher {
    pub(crate) seed: u64,
}

impl Hasher for Xxh3Hasher {
    #[inline(always)]
    fn digest(self, bytes: &[u8]) -> Digest {
        Digest::of_hash(xxh3_64_with_seed(bytes, self.seed))
    }
}

/// For keys that are XXH3 hashes already, as `u64`.
#[derive(Clone, Copy)]
pub(crate) struct Hashed;

impl Hasher for Hashed {
    #[inline(always)]
    fn digest(self, bytes: &[u8]) -> Digest {
        let hash = bytes
            .first_chunk()
            .map_or(0, |hash| u64::from_le_bytes(*hash));
        Digest::of_hash(hash)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct AnyHasher<'a> {
    pub(crate) family: &'a Family,
    pub(crate) seed: u64,
}

impl Hasher for AnyHasher<'_> {
    fn digest(self, bytes: &[u8]) -> Digest {
        match self.family {
            Family::Xxh3 => Xxh3Hasher { seed: self.seed }.digest(bytes),
            Family::Xxh3Wide => Digest::from_u128(xxh3_128_with_seed(bytes, self.seed)),
            Family::Murmur3 => Digest::from_u128(murmur3::x64_128(bytes, self.seed)),
            Family::Md5 => {
                let mut md5 = Md5::new();
                if self.seed != 0 {
                    md5.update(self.seed.to_le_bytes());
                }
                md5.update(bytes);
                Digest::from_u128(u128::from_le_bytes(md5.finalize().into()))
            }
            Family::SipHash { key } => {
                let hash = SipHasher24::new_with_key(key).hash(bytes);
                Digest {
                    lo: hash.h1,
                    hi: hash.h2,
                }
            }
            Family::Affine(_) => unreachable!("affine functions have no digest"),
        }
    }
}

#[cfg(test)]
mod tests;
