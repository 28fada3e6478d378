//! The density of bits: one of 833 steps, the same for encoder and decoder, or learned along
//! the way.
//!
//! ```text
//!   step    0          ...  800 801 ... 831   832
//!   prob.   32 / 2^32  ...   8/32 ..  15.75/32  1/2     32 steps per doubling
//! ```
//!
//! The coder takes the probability of the rarer bit from these steps only, so each step has one
//! table and is identified by two bytes. A probability that is off by a 64th of its value costs
//! at most a ten-thousandth of the entropy.

/// The number of steps per doubling.
const STEPS: u32 = 32;

/// The probability of the rarer bit, as a step number from 0 to [`Density::HALF`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Density(u16);

impl Density {
    /// One bit in two: the highest density, since above it the other bit is the rarer one.
    pub(super) const HALF: Density = Density(26 * STEPS as u16);

    /// The number of densities.
    pub(super) const COUNT: usize = Self::HALF.0 as usize + 1;

    /// Returns the step for `rare` bits of `all`, or the nearest one if that is out of range.
    pub(super) fn of(rare: u64, all: u64) -> Self {
        let chance = (u128::from(rare) << 32) / u128::from(all.max(1));
        Self::of_chance(chance.min(1 << 31) as u32)
    }

    /// Returns the step for a probability in units of 2^-32.
    fn of_chance(chance: u32) -> Self {
        let chance = u64::from(chance.max(STEPS));
        let doubling = chance.ilog2() - STEPS.ilog2();
        // Rounded; one past the last step of a doubling is the first of the next.
        let step = (chance << 1 >> doubling).div_ceil(2) - u64::from(STEPS);
        Self((doubling * STEPS + step as u32) as u16).min(Self::HALF)
    }

    fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// Returns the probability in units of 2^-32.
    pub(super) fn chance(self) -> u64 {
        let step = u32::from(self.0);
        u64::from(STEPS + step % STEPS) << (step / STEPS)
    }

    pub(super) fn number(self) -> u16 {
        self.0
    }

    pub(super) fn from_number(number: u64) -> Option<Self> {
        let number = u16::try_from(number).ok().map(Density)?;
        (number.0 <= Self::HALF.0).then_some(number)
    }
}

/// The number of preceding bits, and how many of them were ones, from which the next are
/// predicted.
#[derive(Clone, Debug, Default)]
pub(super) struct Learned {
    bits: u64,
    ones: u64,
}

impl Learned {
    /// The number of bits remembered: with fewer, the model adapts sooner; with more, the
    /// estimate is better. Half a million, or as many as contain [`RARE`] of the rarer bit.
    const BITS: u64 = 1 << 19;
    const RARE: u64 = 512;

    #[inline]
    pub(super) fn add(&mut self, bits: u64, ones: u64) {
        self.bits += bits;
        self.ones += ones;
        if self.bits >= Self::BITS && self.ones.min(self.bits - self.ones) >= Self::RARE {
            self.bits /= 2;
            self.ones /= 2;
        }
    }

    /// Returns the probability of a one, or of a zero if zeros are coded as the rarer bits.
    #[inline]
    pub(super) fn density(&self, zeros: bool) -> Density {
        let rare = match zeros {
            true => self.bits - self.ones,
            false => self.ones,
        };
        // The prior is half a rare bit in one bit, added to what was seen.
        let (rare, all) = (2 * rare + 1, 2 * self.bits + 2);
        match rare.checked_mul(1 << 32) {
            Some(parts) => Density::of_chance((parts / all).min(1 << 31) as u32),
            None => Density::of(rare, all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_where_they_say() {
        for number in 0..Density::COUNT as u64 {
            let density = Density::from_number(number).unwrap();
            assert_eq!(Density::of_chance(density.chance() as u32), density);
        }
        assert_eq!(Density::from_number(Density::COUNT as u64), None);
        assert_eq!(Density::HALF.chance(), 1 << 31);
        assert_eq!(Density::of(0, 0), Density(0));
        assert_eq!(Density::of(0, 100), Density(0));
        assert_eq!(Density::of(100, 100), Density::HALF);
        assert_eq!(Density::of(u64::MAX / 4, u64::MAX).chance(), 1 << 30);
    }

    #[test]
    fn the_nearest_step_is_near() {
        let mut chance = 33u64;
        while chance < 1 << 31 {
            let found = Density::of_chance(chance as u32).chance() as f64;
            let off = found / chance as f64;
            assert!((off - 1.0).abs() <= 1.0 / 64.0, "{chance}: {off}");
            chance += 1 + chance / 1000;
        }
    }

    #[test]
    fn learning_follows_a_change() {
        let mut learned = Learned::default();
        assert_eq!(learned.density(false), Density::HALF);
        (0..100_000).for_each(|_| learned.add(64, 16));
        assert_eq!(learned.density(false), Density::of(1, 4));
        assert_eq!(learned.density(true), Density::HALF);
        (0..100_000).for_each(|_| learned.add(64, 1));
        assert_eq!(learned.density(false), Density::of(1, 64));
    }
}
