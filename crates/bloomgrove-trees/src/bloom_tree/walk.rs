//! The bits of a key in a tree: which bits of which filters it sets.
//!
//! ```text
//!   root       k_1 positions, as in a standard filter
//!   below      filter at bit o of the array:  x = remix(h1 + o h2), then k digits of x in base m
//!   or, Eq. 8  position j of filter b:        (h1 + (c_b + j) h2) mod m
//! ```
//!
//! The hash is mixed once per filter, however many hash functions it has. The bits of a filter are a
//! mask, so that two functions that give the same bit count once.

use std::ops::Range;

use super::TreeShape;
use bloomgrove::MAX_HASHES;
use bloomgrove::raw::bits::Walk as _;
use bloomgrove::raw::hash::Digest;
use bloomgrove::raw::hash::{
    AnyHasher, GOLDEN, Hasher, Independent, KirschMitzenmacher, Start, Xxh3Hasher, remix, scale,
};
use bloomgrove::{Derivation, Family};

/// Receives the bits of a key. Each function returns whether to continue.
pub(super) trait Visit {
    /// A bit of the root.
    fn root(&mut self, position: u64) -> bool;
    /// The bits of filter number `filter` of a level below.
    fn filter(&mut self, place: Place) -> bool;
}

/// A filter below the root, and the bits of a key in it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) level: usize,
    pub(super) filter: u64,
    /// The position of its first bit in the array.
    pub(super) offset: u64,
    pub(super) mask: u64,
}

/// A key, hashed.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    shape: &'a TreeShape,
    digest: Digest,
    /// The second hash. Remixed, because for a 64-bit family it would be a multiple of the first.
    step: u64,
}

impl<'a> Way<'a> {
    #[inline]
    pub(super) fn new(shape: &'a TreeShape, bytes: &[u8]) -> Self {
        let seed = shape.root().seed();
        let digest = match shape.root().family() {
            // Inlined: for a short key, a call would cost as much as the hash.
            Family::Xxh3 => Xxh3Hasher { seed }.digest(bytes),
            family => AnyHasher { family, seed }.digest(bytes),
        };
        Self {
            shape,
            digest,
            step: remix(digest.hi),
        }
    }

    /// Passes every bit of the key to `visit`: the root's first, then subtree by subtree. The deep
    /// levels are sparser, so an absent key is rejected sooner than level by level.
    #[inline]
    pub(super) fn visit(self, visit: &mut impl Visit) -> bool {
        self.roots(|position| visit.root(position))
            && (self.shape.depth() == 1 || self.roots(|position| self.below(1, position, visit)))
    }

    /// Like [`visit`](Self::visit), for the root bits of a range and the filters below them.
    #[inline]
    pub(super) fn visit_range(self, roots: &Range<u64>, visit: &mut impl Visit) {
        // Selected without a branch, which would be mispredicted every other time.
        let mut mine = [0; MAX_HASHES as usize];
        let mut count = 0;
        self.roots(|position| {
            mine[count] = position;
            count += usize::from(roots.contains(&position));
            true
        });
        for &position in &mine[..count] {
            visit.root(position);
            if self.shape.depth() > 1 {
                self.below(1, position, visit);
            }
        }
    }

    /// The position of each hash function of the root.
    #[inline(always)]
    fn roots(self, mut each: impl FnMut(u64) -> bool) -> bool {
        let bits = self.shape.part_bits();
        let part = if self.shape.is_partitioned() { bits } else { 0 };
        let hashes = u64::from(self.shape.levels()[0].hashes);
        match self.shape.root().derivation() {
            Derivation::Independent => {
                let mut walk = Independent::start(self.digest, bits);
                (0..hashes).all(|i| each(i * part + walk.next(bits)))
            }
            Derivation::KirschMitzenmacher => {
                let mut walk = KirschMitzenmacher::start(self.digest, bits);
                (0..hashes).all(|i| each(i * part + walk.next(bits)))
            }
        }
    }

    fn below(self, level: usize, filter: u64, visit: &mut impl Visit) -> bool {
        let place = Place {
            level,
            filter,
            offset: self.shape.offset(level, filter),
            mask: self.mask(level, filter),
        };
        if !visit.filter(place) {
            return false;
        }
        if level + 1 == self.shape.depth() {
            return true;
        }
        let first = filter * self.shape.levels()[level].bits;
        let mut left = place.mask;
        while left != 0 {
            let child = first + u64::from(left.trailing_zeros());
            if !self.below(level + 1, child, visit) {
                return false;
            }
            left &= left - 1;
        }
        true
    }

    /// The bits of the key in a filter.
    #[inline(always)]
    fn mask(self, level: usize, filter: u64) -> u64 {
        let super::Level { bits, hashes } = self.shape.levels()[level];
        match self.shape.root().derivation() {
            Derivation::Independent => {
                let offset = self.shape.offset(level, filter);
                let start = self
                    .digest
                    .lo
                    .wrapping_add(offset.wrapping_mul(self.step | 1));
                digits(remix(start), bits, hashes)
            }
            Derivation::KirschMitzenmacher => {
                let (first, step) = (self.digest.lo % bits, self.step % bits);
                let coefficient = self.shape.coefficient(level, filter);
                (0..u64::from(hashes)).fold(0, |mask, j| {
                    let at = coefficient.wrapping_add(j) % bits;
                    mask | 1 << ((first + at * step) % bits)
                })
            }
        }
    }
}

/// Eight digits in base 64, the largest, use 48 bits of the hash: the last one is then still uniform
/// to one part in 2^16.
const DIGITS: u32 = 8;

/// The first digits of `hash`, a fraction of 2^64, in base `bits`, as a mask.
#[inline(always)]
fn digits(mut hash: u64, bits: u64, hashes: u32) -> u64 {
    let mut mask = 0;
    let mut rest = hash;
    for i in 0..hashes {
        if i == DIGITS {
            hash = remix(hash.wrapping_add(GOLDEN));
            rest = hash;
        }
        mask |= 1 << scale(rest, bits);
        rest = rest.wrapping_mul(bits);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloomgrove::Key;

    /// Eq. 9 as printed, counted from 1: the coefficients of filter b of level a.
    fn printed(m: &[u64], k: &[u64], a: usize, b: u64) -> std::ops::RangeInclusive<u64> {
        let above = |i: usize| if i == 1 { 1 } else { m[i - 2] };
        let before: u64 = (1..a).map(|i| above(i) * k[i - 1]).sum();
        before + (b - 1) * k[a - 1] + 1..=before + b * k[a - 1]
    }

    #[test]
    fn coefficients_are_those_of_equation_9() {
        let (m, k) = ([10, 3, 5, 4], [4, 2, 3, 1]);
        // By hand: after the root's 4 and the second level's 10 * 2, and then only 3 * 3 more.
        assert_eq!(printed(&m, &k, 1, 1), 1..=4);
        assert_eq!(printed(&m, &k, 2, 1), 5..=6);
        assert_eq!(printed(&m, &k, 3, 2), 28..=30);
        assert_eq!(printed(&m, &k, 4, 1), 34..=34);
        let levels: Vec<_> = m.into_iter().zip(k.map(|k| k as u32)).collect();
        let shape = TreeShape::new(&levels)
            .and_then(|shape| shape.with_derivation(Derivation::KirschMitzenmacher))
            .unwrap();
        for key in 0..50u64 {
            let way = key.with_bytes(|bytes| Way::new(&shape, bytes));
            // Ours are one less: the first function of the root is h1 itself.
            let place = |c: u64, bits: u64| {
                let sum = u128::from(way.digest.lo) + u128::from(c - 1) * u128::from(way.step);
                (sum % u128::from(bits)) as u64
            };
            let mut root = Vec::new();
            way.roots(|position| {
                root.push(position);
                true
            });
            let wanted: Vec<u64> = printed(&m, &k, 1, 1).map(|c| place(c, m[0])).collect();
            assert_eq!(root, wanted);
            for level in 1..m.len() {
                for filter in 0..shape.filters(level) {
                    let coefficients = printed(&m, &k, level + 1, filter + 1);
                    let wanted = coefficients.fold(0, |mask, c| mask | 1 << place(c, m[level]));
                    assert_eq!(way.mask(level, filter), wanted, "{level} {filter}");
                }
            }
        }
    }

    #[test]
    fn from_the_fourth_level_on_filters_share_coefficients() {
        // The third level has 10 * 3 filters of 3 functions, but the fourth begins 9 later.
        let shape = TreeShape::new(&[(10, 4), (3, 2), (5, 3), (4, 1)]).unwrap();
        assert_eq!(shape.coefficient(2, 0) + 9, shape.coefficient(3, 0));
        assert_eq!(shape.coefficient(2, 3), shape.coefficient(3, 0));
    }
}
