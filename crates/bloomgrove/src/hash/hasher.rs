//! Digests of keys.

use md5::{Digest as _, Md5};
use siphasher::sip128::SipHasher24;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

use super::{Digest, Family, murmur3};

/// Something that makes digests. The default family has its own type so that
/// batch loops compile it in place; the others go through [`AnyHasher`], whose
/// one predictable branch is small beside their own cost.
pub trait Hasher: Copy {
    /// The digest of these bytes.
    fn digest(self, bytes: &[u8]) -> Digest;
}

/// XXH3 of 64 bits, the default family.
#[derive(Clone, Copy)]
pub struct Xxh3Hasher {
    /// Of the parameters.
    pub seed: u64,
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

/// Any family but the affine.
#[derive(Clone, Copy)]
pub struct AnyHasher<'a> {
    /// Of the parameters.
    pub family: &'a Family,
    /// Of the parameters.
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
            Family::Affine(_) => unreachable!("affine functions have no digest"),
        }
    }
}
