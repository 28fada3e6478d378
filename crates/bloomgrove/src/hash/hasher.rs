//! Digests of keys.

use md5::{Digest as _, Md5};
use siphasher::sip128::SipHasher24;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};
use xxhash_rust::xxh64::xxh64;

use super::{Digest, Family, murmur3};

/// A hash function from bytes to digests. The default family has a separate type so that batch
/// loops inline it; the others go through [`AnyHasher`], whose one predictable branch costs
/// little compared with the hash.
pub trait Hasher: Copy {
    /// Returns the digest of these bytes.
    fn digest(self, bytes: &[u8]) -> Digest;
}

/// XXH3 with 64 bits, the default family.
#[derive(Clone, Copy)]
pub struct Xxh3Hasher {
    /// The seed of the parameters.
    pub seed: u64,
}

impl Hasher for Xxh3Hasher {
    #[inline(always)]
    fn digest(self, bytes: &[u8]) -> Digest {
        Digest::of_hash(xxh3_64_with_seed(bytes, self.seed))
    }
}

/// A hasher for keys that are already XXH3 hashes, as `u64`.
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

/// A hasher for any family except the affine one.
#[derive(Clone, Copy)]
pub struct AnyHasher<'a> {
    /// The family of the parameters.
    pub family: &'a Family,
    /// The seed of the parameters.
    pub seed: u64,
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
            Family::Xxh64 => Digest::of_hash(xxh64(bytes, self.seed)),
            Family::Affine(_) => unreachable!("affine functions have no digest"),
        }
    }
}
