//! More bits from a good hash.

/// One xorshift and one multiplication: more bits from an already good hash.
#[inline(always)]
pub fn mix(x: u64) -> u64 {
    (x ^ (x >> 32)).wrapping_mul(GOLDEN)
}

/// MurmurHash3's finish: every bit of the result depends on every bit of `x`.
/// Kirsch and Mitzenmacher's second hash needs that. Made by one multiplication
/// alone, it is a function of the first modulo any power of two, and such filters
/// accept many times more than they should.
#[inline(always)]
pub fn remix(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// 2^64 divided by the golden ratio, made odd.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The upper half of the product: maps a hash evenly onto `0..n`, for the price
/// of one multiplication.
#[inline(always)]
pub fn scale(hash: u64, n: u64) -> u64 {
    ((u128::from(hash) * u128::from(n)) >> 64) as u64
}
