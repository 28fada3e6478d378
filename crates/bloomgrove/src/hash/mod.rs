//! Hashing: from a key to 128 bits, the same on every machine and in every version.
//!
//! ```text
//!   key bytes --family + seed--> Digest { lo, hi } --derivation--> k positions
//!   integers are their little-endian bytes        (see `positions`)
//! ```
//!
//! Everything stored records its family and seed, so a filter written today stays readable.
//! That is why nothing here goes through `std::hash::Hash`, whose output is not portable.
//!
//! Source: Spyropoulos (Bloom filters), sections 4 and 5; the affine family is also that of
//! Sengupta et al. (sampling), section 5.3.
//!
//! | file | contains |
//! |---|---|
//! | `key.rs` | keys and their bytes |
//! | `mod.rs` | the families |
//! | `hasher.rs` | their digests |
//! | `murmur3.rs`, `affine.rs` | the two families that no crate implements well |
//! | `positions.rs` | from digest to positions: independent, Kirsch-Mitzenmacher, blocked, split-block, affine |
//! | `invert.rs` | inverses of affine functions |
//! | `prime.rs` | primality, next prime |

mod affine;
pub(crate) mod hasher;
pub(crate) mod invert;
mod key;
mod murmur3;
pub(crate) mod positions;
pub(crate) mod prime;

pub(crate) use crate::mix::{GOLDEN, mix, remix, scale, second};
pub use affine::Affine;
pub(crate) use hasher::{AnyHasher, Hashed, Hasher, Xxh3Hasher};
pub(crate) use invert::Inverse;
pub use key::Key;
pub use positions::Derivation;
pub(crate) use positions::{
    Independent, KirschMitzenmacher, SPLIT_BITS, SPLIT_HASHES, SplitBlock, Start, slot,
};

use std::fmt;

/// The maximum number of hash functions in a filter: enough for a false-positive rate of 2^-64,
/// the lowest at which the default hash can distinguish keys.
pub const MAX_HASHES: u32 = 64;

/// A hash family: how the bytes of a key become bits, the same on every machine and in every
/// version.
///
/// | family | digest | for |
/// |---|---|---|
/// | [`Family::Xxh3`] | 64 bits | the default: one nanosecond per short key |
/// | [`Family::Xxh3Wide`] | 128 bits | more items than 64 bits can distinguish at the desired rate |
/// | [`Family::Murmur3`] | 128 bits | compatibility with other systems and with Sengupta et al. (sampling) |
/// | [`Family::Md5`] | 128 bits | compatibility; slow |
/// | [`Family::SipHash`] | 128 bits, keyed | keys chosen by an attacker |
/// | [`Family::Xxh64`] | 64 bits | the Bloom filters of Parquet files |
/// | [`Family::Affine`] | none: k functions of an integer | worked examples, and recovering items |
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// XXH3 with 64 bits, frozen since its version 0.8.0.
    Xxh3,
    /// XXH3 with 128 bits.
    Xxh3Wide,
    /// MurmurHash3 x64 128. The seed may have 64 bits; below 2^32 it is the seed of the
    /// original.
    Murmur3,
    /// MD5 of the key; with a seed other than 0, of the seed's 8 bytes followed by the key.
    Md5,
    /// SipHash-2-4 with 128 bits of output. An attacker who does not know `key` cannot
    /// construct keys that collide; anyone who can read the file can read `key`.
    SipHash {
        /// The secret key.
        key: [u8; 16],
    },
    /// XXH64, an older relative of XXH3.
    Xxh64,
    /// k functions `((a x + b) mod p) mod bits` of the key, read as an integer.
    Affine(Affine),
}

/// Omits the secret key of SipHash, which would otherwise end up in logs.
impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Family::Affine(functions) => functions.fmt(f),
            other => f.write_str(other.name()),
        }
    }
}

impl Family {
    /// Returns the name used on the command line and in messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Family::Xxh3 => "xxh3",
            Family::Xxh3Wide => "xxh3-128",
            Family::Murmur3 => "murmur3",
            Family::Md5 => "md5",
            Family::SipHash { .. } => "siphash",
            Family::Xxh64 => "xxh64",
            Family::Affine(_) => "affine",
        }
    }

    /// Returns the number of bits in a key's hash, which limits how many keys a family can
    /// distinguish. `None` for the affine family, where it depends on p.
    pub(crate) fn digest_bits(&self) -> Option<u32> {
        match self {
            Family::Xxh3 | Family::Xxh64 => Some(64),
            Family::Affine(_) => None,
            _ => Some(128),
        }
    }
}

display_as_name!(Family);

/// The digest of a key: 128 bits, from which all positions are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The first 64 bits, which select the line in the blocked layout.
    pub lo: u64,
    /// The second 64 bits. For a 64-bit family, `lo` multiplied.
    pub hi: u64,
}

impl Digest {
    #[inline(always)]
    pub(crate) fn of_hash(hash: u64) -> Self {
        Self {
            lo: hash,
            hi: second(hash),
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

#[cfg(test)]
mod tests;
