//! Mixing: deriving more bits from a good hash.

/// Derives more bits from an already good hash, with one xorshift and one multiplication.
#[inline(always)]
pub fn mix(x: u64) -> u64 {
    (x ^ (x >> 32)).wrapping_mul(GOLDEN)
}

/// The finalizer of MurmurHash3: every bit of the result depends on every bit of `x`. Kirsch
/// and Mitzenmacher's second hash needs this. Computed by one multiplication alone, it would be
/// a function of the first hash modulo any power of two, and the false-positive rate of such
/// filters is many times higher.
#[inline(always)]
pub fn remix(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Derives the second half of a digest from a hash of 64 bits.
#[inline(always)]
pub(crate) fn second(hash: u64) -> u64 {
    hash.wrapping_mul(GOLDEN)
}

/// 2^64 divided by the golden ratio, made odd.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the upper half of the product: maps a hash evenly onto `0..n` with one
/// multiplication.
#[inline(always)]
pub fn scale(hash: u64, n: u64) -> u64 {
    ((u128::from(hash) * u128::from(n)) >> 64) as u64
}
