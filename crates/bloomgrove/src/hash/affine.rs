//! k functions `((a x + b) mod p) mod bits` of an integer.
//!
//! They can be inverted: if p is prime, each value of the inner function has exactly one x
//! below p. Sampling uses this. The worked example of Spyropoulos (`x mod 10` and `(5x + 4) mod
//! 10`) uses such functions.
//!
//! They are weak hashes. If the inner modulus equals the number of bits, x and x + bits map to
//! the same bits in *every* function; if p is prime and above all keys, they do not.

use std::sync::Arc;

use super::{GOLDEN, mix, prime};
use crate::{Error, MAX_HASHES};

/// The coefficients of k affine functions and their inner modulus p.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Affine {
    modulus: u64,
    coefficients: Arc<[(u64, u64)]>,
}

impl Affine {
    /// Creates functions with the given `(a, b)`, one pair per hash, and inner modulus.
    ///
    /// For `(a x + b) mod bits`, as in textbooks, pass `bits` as the modulus.
    ///
    /// # Errors
    /// If there are no pairs or too many, the modulus is zero, or the modulus divides an `a`
    /// (that function would be the same for every key).
    pub fn new(coefficients: &[(u64, u64)], modulus: u64) -> Result<Self, Error> {
        if modulus == 0 {
            return Err(Error::params("the affine modulus must be at least 1"));
        }
        if coefficients.is_empty() || coefficients.len() > MAX_HASHES as usize {
            return Err(Error::params(format!(
                "{} pairs of affine coefficients: there must be 1 to {MAX_HASHES}",
                coefficients.len()
            )));
        }
        // With modulus 1 every function is constant, and that is unavoidable.
        if let Some((a, _)) = coefficients
            .iter()
            .find(|(a, _)| modulus > 1 && a % modulus == 0)
        {
            return Err(Error::params(format!(
                "the affine coefficient a = {a} is a multiple of the modulus {modulus}, \
                 so its function would be the same for every key"
            )));
        }
        Ok(Self {
            modulus,
            coefficients: coefficients.into(),
        })
    }

    /// Creates `hashes` functions with coefficients derived from `seed`, modulo a prime that
    /// should be above every key.
    ///
    /// # Errors
    /// If `prime` is not prime, or `hashes` is out of range.
    pub fn seeded(prime: u64, hashes: u32, seed: u64) -> Result<Self, Error> {
        if !prime::is_prime(prime) {
            return Err(Error::params(format!(
                "the affine modulus {prime} is not prime{}",
                prime::first_prime_from(prime)
                    .map(|p| format!("; the next prime is {p}"))
                    .unwrap_or_default()
            )));
        }
        let mut state = seed;
        let mut below = |n: u64| {
            state = state.wrapping_add(GOLDEN);
            mix(mix(state)) % n
        };
        let pairs: Vec<_> = (0..hashes.min(MAX_HASHES + 1))
            .map(|_| (1 + below(prime - 1), below(prime)))
            .collect();
        Self::new(&pairs, prime)
    }

    /// Returns the inner modulus p.
    pub fn modulus(&self) -> u64 {
        self.modulus
    }

    /// Returns the pairs `(a, b)`, one per hash.
    pub fn coefficients(&self) -> &[(u64, u64)] {
        &self.coefficients
    }

    /// Returns the key as an integer modulo p: its bytes, of any length, read as one
    /// little-endian integer. The empty key is 0.
    pub(crate) fn residue(&self, bytes: &[u8]) -> u64 {
        let p = u128::from(self.modulus);
        // Most significant bytes first: value = value * 2^64 + chunk.
        let mut value = 0u128;
        let whole = bytes.len() / 8 * 8;
        let (words, rest) = bytes.split_at(whole);
        let chunk = |chunk: &[u8]| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from(u64::from_le_bytes(word))
        };
        if !rest.is_empty() {
            value = chunk(rest) % p;
        }
        for word in words.chunks_exact(8).rev() {
            value = ((value << 64) | chunk(word)) % p;
        }
        value as u64
    }

    /// Returns function `i` of a residue: `((a x + b) mod p) mod bits`.
    #[inline]
    #[doc(hidden)]
    pub fn position(&self, i: u32, residue: u64, bits: u64) -> u64 {
        let (a, b) = self.coefficients[i as usize];
        let sum = u128::from(a) * u128::from(residue) + u128::from(b);
        // Small numbers are the common case, and a 128-bit division costs ten times more.
        let inner = match u64::try_from(sum) {
            Ok(small) => small % self.modulus,
            Err(_) => (sum % u128::from(self.modulus)) as u64,
        };
        inner % bits
    }
}
