//! The inverse of an affine function: from a position back to the integers that map to it.
//!
//! ```text
//!   x --(a x + b) mod p--> y --mod bits--> position
//!
//!   position --> y = position, position + bits, ...  below p
//!            --> x = (y - b) / a  modulo p, and x + p, x + 2p, ... in the requested range
//! ```
//!
//! If p is prime, every y has one x modulo p. With any other modulus, a and p may share a
//! factor g: then only every g-th y has an x, and it has g of them. This case is handled, so
//! the functions of textbooks, `(a x + b) mod bits`, can be inverted too.
//!
//! Source: Sengupta et al. (sampling), section 4 ("weakly invertible"). Cost: one
//! multiplication modulo p per position, then an addition per y.

use std::ops::Range;

use rand::{Rng, RngExt};

use super::Affine;

/// The inverse of one function of an [`Affine`] family.
#[derive(Clone, Copy, Debug)]
pub struct Inverse {
    bits: u64,
    modulus: u64,
    /// b modulo p.
    shift: u64,
    /// The common factor of a and p.
    factor: u64,
    /// p / factor: integers that differ by this map to the same y.
    period: u64,
    /// 1 / (a / factor) modulo the period.
    reciprocal: u64,
}

impl Inverse {
    /// Creates the inverse of function number `function` of a family, for a filter with `bits`
    /// bits.
    ///
    /// # Panics
    /// If there is no such function.
    pub fn of(family: &Affine, function: u32, bits: u64) -> Self {
        let (a, b) = family.coefficients()[function as usize];
        let modulus = family.modulus();
        let (factor, reciprocal) = reciprocal(a % modulus, modulus);
        Self {
            bits,
            modulus,
            shift: b % modulus,
            factor,
            period: modulus / factor,
            reciprocal,
        }
    }

    /// Returns every integer of `within` that the function maps to `position`, in no particular
    /// order.
    ///
    /// ```
    /// use bloomgrove::{Affine, raw::hash::Inverse};
    ///
    /// // (5x + 4) mod 10 is 9 for every odd x.
    /// let inverse = Inverse::of(&Affine::new(&[(5, 4)], 10)?, 0, 10);
    /// assert_eq!(inverse.names(9, 0..8).collect::<Vec<_>>(), [1, 3, 5, 7]);
    /// assert_eq!(inverse.names(8, 0..8).count(), 0);
    /// # Ok::<(), bloomgrove::Error>(())
    /// ```
    pub fn names(&self, position: u64, within: Range<u64>) -> impl Iterator<Item = u64> + use<> {
        self.names_of(position, &within, 0..u64::MAX)
    }

    /// Returns the maximum number of integers that map to a position.
    pub(crate) fn candidates(&self, within: &Range<u64>) -> u64 {
        self.values().saturating_mul(self.copies(within))
    }

    /// Returns the integers in a slice of the [`candidates`](Self::candidates) of a position.
    pub(crate) fn names_of(
        &self,
        position: u64,
        within: &Range<u64>,
        slice: Range<u64>,
    ) -> impl Iterator<Item = u64> + use<> {
        let (this, within) = (*self, within.clone());
        // An empty range has no copies and contains nothing.
        let copies = this.copies(&within).max(1);
        let mut at = slice.start;
        std::iter::from_fn(move || {
            // Each y, and all copies of each, one by one.
            while at < slice.end {
                let (value, copy) = (at / copies, at % copies);
                let y = value
                    .checked_mul(this.bits)
                    .and_then(|y| y.checked_add(position));
                let y = y.filter(|&y| y < this.modulus)?;
                at += 1;
                let number = this.residue(y).and_then(|residue| {
                    let first = this.first(residue, within.start)?;
                    first.checked_add(copy.checked_mul(this.period)?)
                });
                if let Some(number) = number.filter(|&number| number < within.end) {
                    return Some(number);
                }
            }
            None
        })
    }

    /// Draws an integer of `within` that maps to `position`, or nothing. If positions are tried
    /// uniformly, every integer is equally likely, whatever its position.
    #[inline]
    pub(crate) fn draw(
        &self,
        position: u64,
        within: &Range<u64>,
        random: &mut impl Rng,
    ) -> Option<u64> {
        let value = random.random_range(0..self.values());
        let y = position.checked_add(value.checked_mul(self.bits)?)?;
        if y >= self.modulus {
            return None;
        }
        let residue = self.residue(y)?;
        let copies = self.copies(within);
        let copy = match copies {
            1 => 0,
            _ => random.random_range(0..copies),
        };
        self.first(residue, within.start)?
            .checked_add(copy.checked_mul(self.period)?)
            .filter(|x| *x < within.end)
    }

    /// Returns the number of candidates that [`draw`](Self::draw) chooses from for a position,
    /// including those that do not exist.
    pub(crate) fn looks(&self, within: &Range<u64>) -> f64 {
        self.values() as f64 * self.copies(within) as f64
    }

    /// Returns the maximum number of integers of `within` that have the same y.
    fn copies(&self, within: &Range<u64>) -> u64 {
        within
            .end
            .saturating_sub(within.start)
            .div_ceil(self.period)
    }

    /// Returns the maximum number of y that map to a position.
    fn values(&self) -> u64 {
        self.modulus.div_ceil(self.bits)
    }

    /// Returns the x, modulo the period, that has value y.
    #[inline]
    fn residue(&self, y: u64) -> Option<u64> {
        let scaled = if y >= self.shift {
            y - self.shift
        } else {
            y + (self.modulus - self.shift)
        };
        if self.factor > 1 && !scaled.is_multiple_of(self.factor) {
            return None;
        }
        Some(multiply(scaled / self.factor, self.reciprocal, self.period))
    }

    /// Returns the first integer, at or after `start`, with this residue.
    #[inline]
    fn first(&self, residue: u64, start: u64) -> Option<u64> {
        if start <= residue {
            return Some(residue);
        }
        let behind = start - residue;
        let periods = behind.div_ceil(self.period);
        residue.checked_add(periods.checked_mul(self.period)?)
    }
}

/// Returns a b modulo m.
#[inline]
fn multiply(a: u64, b: u64, modulus: u64) -> u64 {
    // Small numbers are the common case, and a 128-bit division costs ten times more.
    match a.checked_mul(b) {
        Some(small) => small % modulus,
        None => (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64,
    }
}

/// Returns the greatest common divisor g of a and p, and the reciprocal of a/g modulo p/g, by
/// Euclid's algorithm.
fn reciprocal(a: u64, modulus: u64) -> (u64, u64) {
    let (mut old, mut new) = (i128::from(a), i128::from(modulus));
    let (mut old_factor, mut new_factor) = (1i128, 0i128);
    while new != 0 {
        let quotient = old / new;
        (old, new) = (new, old - quotient * new);
        (old_factor, new_factor) = (new_factor, old_factor - quotient * new_factor);
    }
    let period = i128::from(modulus) / old;
    (old as u64, old_factor.rem_euclid(period) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;

    /// Moduli that are prime, as in textbooks, with common factors, below and above the number
    /// of bits, and 1.
    fn cases() -> Vec<(Affine, u64)> {
        let of = |pairs: &[(u64, u64)], modulus| Affine::new(pairs, modulus).unwrap();
        vec![
            (of(&[(37, 11)], 101), 10),
            (of(&[(1, 0), (5, 4), (6, 1)], 10), 10),
            (of(&[(6, 5), (4, 50)], 36), 7),
            (of(&[(9, 2)], 31), 40),
            (of(&[(3, 2)], 1), 5),
            (Affine::seeded(10_007, 3, 5).unwrap(), 61),
            (
                Affine::seeded(18_446_744_073_709_551_557, 1, 5).unwrap(),
                1 << 62,
            ),
        ]
    }

    #[test]
    fn names_are_exactly_those_on_the_position() {
        for (functions, bits) in cases() {
            for i in 0..functions.coefficients().len() as u32 {
                let inverse = Inverse::of(&functions, i, bits);
                for within in [0..150u64, 17..130, 99..100, 5..5] {
                    let on = |position: &u64| {
                        let mut names: Vec<u64> =
                            inverse.names(*position, within.clone()).collect();
                        names.sort_unstable();
                        names
                    };
                    let mut found = 0;
                    for position in 0..bits.min(70) {
                        let naive: Vec<u64> = within
                            .clone()
                            .filter(|x| {
                                functions.position(i, x % functions.modulus(), bits) == position
                            })
                            .collect();
                        assert_eq!(on(&position), naive, "{functions:?} {bits} {position}");
                        found += naive.len();
                    }
                    if bits <= 70 {
                        assert_eq!(found, within.count());
                    }
                }
            }
        }
    }

    #[test]
    fn names_at_the_end_of_the_integers() {
        let functions = Affine::new(&[(1, 0)], 10).unwrap();
        let inverse = Inverse::of(&functions, 0, 10);
        let end = u64::MAX - 20..u64::MAX;
        for position in 0..10 {
            for x in inverse.names(position, end.clone()) {
                assert_eq!(x % 10, position);
            }
        }
        let all: usize = (0..10).map(|p| inverse.names(p, end.clone()).count()).sum();
        assert_eq!(all, 20);
    }

    #[test]
    fn draws_reach_every_integer_evenly() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for (functions, bits) in cases().into_iter().take(5) {
            let inverse = Inverse::of(&functions, 0, bits);
            let within = 3..40u64;
            let mut counts = [0u32; 40];
            let mut tries = 0u64;
            let total = 37 * 400;
            for _ in 0..total {
                loop {
                    tries += 1;
                    let position = random.random_range(0..bits);
                    if let Some(x) = inverse.draw(position, &within, &mut random) {
                        counts[x as usize] += 1;
                        break;
                    }
                }
            }
            let chi: f64 = counts[3..]
                .iter()
                .map(|&c| (f64::from(c) - 400.0).powi(2) / 400.0)
                .sum();
            // 36 degrees of freedom: above 80 once in 30,000.
            assert!(chi < 80.0, "{functions:?} {bits}: {chi}");
            let planned = inverse.looks(&within) * bits as f64 / 37.0;
            let measured = tries as f64 / f64::from(total);
            assert!(
                (measured / planned - 1.0).abs() < 0.05,
                "{measured} {planned}"
            );
        }
    }
}
