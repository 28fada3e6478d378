//! From a digest to the k bits of a key.
//!
//! ```text
//!   Independent          position i = scale(x_i, bits), x_0 = lo,
//!                        x_(i+1) = (x_i rotated by 23 bits) + (hi | 1)
//!   KirschMitzenmacher   position i = (lo + i * remix(hi)) mod bits
//!   blocked layout       line = scale(lo, lines), bits in the line from hi
//!   split-block layout   block = scale(upper half of lo, blocks); in its 32-bit word i the bit
//!                        (lower half of lo * salt i) >> 27
//!   affine family        position i = ((a_i x + b_i) mod p) mod bits
//! ```
//!
//! `scale(h, n)` is the upper half of `h * n`. The rotation makes the positions of the first
//! kind independent: without it, each key's positions would have a constant stride, as in the
//! second kind. With it, the false-positive rate matches theory from about 1000 bits on
//! (`bloomgrove hash derivation`). We tried a multiplication instead of the rotation: no
//! better, and slower.
//!
//! Kirsch and Mitzenmacher (Spyropoulos, section 4) save k - 2 hashes and lose nothing as bits
//! grow, but a key whose `hi` maps to 0, or to a divisor that makes the walk revisit its
//! positions, has fewer than k distinct bits: `bloomgrove hash derivation` measures how often.
//! Here both cost about the same, since both derive from one digest.
//!
//! The split-block layout and its salts are those of the Parquet format (BloomFilter.md there).

use super::{Digest, remix, scale};
pub use crate::bits::Independent;
use crate::bits::{Slot, Walk};

/// How k positions are derived from one digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Derivation {
    /// Each position is mixed anew; the default.
    Independent,
    /// Double hashing, `h1 + i * h2`.
    KirschMitzenmacher,
}

impl Derivation {
    /// Returns the name used on the command line and in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Derivation::Independent => "independent",
            Derivation::KirschMitzenmacher => "kirsch-mitzenmacher",
        }
    }
}

display_as_name!(Derivation);

/// A walk through the standard layout that starts from a digest.
pub trait Start: Walk {
    /// Returns the walk of a digest over positions below `bits`.
    fn start(digest: Digest, bits: u64) -> Self;
}

impl Start for Independent {
    #[inline(always)]
    fn start(digest: Digest, _: u64) -> Self {
        Self::new(digest.lo, digest.hi | 1)
    }
}

/// The walk of [`Derivation::KirschMitzenmacher`].
#[derive(Clone, Copy)]
pub struct KirschMitzenmacher {
    at: u64,
    step: u64,
}

impl Start for KirschMitzenmacher {
    #[inline(always)]
    fn start(digest: Digest, bits: u64) -> Self {
        // The remainder, not `scale`: folding relies on (x mod 2n) mod n = x mod n.
        Self {
            at: digest.lo % bits,
            step: remix(digest.hi) % bits,
        }
    }
}

impl Walk for KirschMitzenmacher {
    #[inline(always)]
    fn next(&mut self, bits: u64) -> u64 {
        let position = self.at;
        // Both are below `bits`, so one subtraction gives the remainder.
        self.at += self.step;
        if self.at >= bits {
            self.at -= bits;
        }
        position
    }
}

/// The size of a block of the split-block layout, and the number of bits of a key in it.
pub(crate) const SPLIT_BITS: u64 = 256;
pub(crate) const SPLIT_HASHES: u32 = SALTS.len() as u32;

const SALTS: [u32; 8] = [
    0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
];

/// The walk of the split-block layout: one bit in each word of a block.
#[derive(Clone, Copy)]
pub(crate) struct SplitBlock {
    /// Where the next word begins.
    word: u64,
    hash: u32,
}

impl Start for SplitBlock {
    #[inline(always)]
    fn start(digest: Digest, bits: u64) -> Self {
        // At most 2^32 blocks, so the product fits.
        let block = ((digest.lo >> 32) * (bits / SPLIT_BITS)) >> 32;
        Self {
            word: block * SPLIT_BITS,
            hash: digest.lo as u32,
        }
    }
}

impl Walk for SplitBlock {
    #[inline(always)]
    fn next(&mut self, _: u64) -> u64 {
        let salt = SALTS[(self.word % SPLIT_BITS / 32) as usize];
        let position = self.word + u64::from(self.hash.wrapping_mul(salt) >> 27);
        self.word += 32;
        position
    }
}

/// Returns the line of a digest, and the hash of its pattern there.
#[inline(always)]
pub(crate) fn slot(digest: Digest, lines: u64) -> Slot {
    Slot {
        line: scale(digest.lo, lines),
        hash: digest.hi,
    }
}
