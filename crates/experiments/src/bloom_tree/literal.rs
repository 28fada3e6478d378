//! The paper's hashing to the letter: Eq. 6, 8 and 9, with two CRCs as h1 and h2 (section 4.5).
//!
//! A second implementation, apart from the library's: bits are numbered as Eq. 6 prints them, and the
//! coefficients as Eq. 9 does, or without the overlap that Eq. 9 has from four levels on. CRC is not a
//! family of the library: it is linear, so that keys with a pattern have hashes with a pattern, and it
//! gains nothing here.

use super::setup::{Config, Count};

/// The reversed polynomials of CRC-32C (Castagnoli) and CRC-32.
const POLYNOMIALS: [u32; 2] = [0x82f6_3b78, 0xedb8_8320];

fn crc(polynomial: u32, key: u64) -> u64 {
    let register = key.to_le_bytes().iter().fold(!0u32, |register, byte| {
        (0..8).fold(register ^ u32::from(*byte), |register, _| {
            let carry = register & 1 == 1;
            register >> 1 ^ if carry { polynomial } else { 0 }
        })
    });
    u64::from(!register)
}

/// The coefficients of Eq. 9.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Coefficients {
    AsPrinted,
    /// Each level begins after all those of the level above, as the text says.
    Disjoint,
}

/// A tree with its bits in one array.
pub(super) struct Literal {
    /// m_1 and on, k_1 and on.
    bits: Vec<u64>,
    hashes: Vec<u64>,
    /// Where each level begins: Eq. 6, counted from 0.
    starts: Vec<u64>,
    /// The first coefficient of each level less 1: the sum in Eq. 9.
    before: Vec<u64>,
    array: Vec<bool>,
}

impl Literal {
    pub(super) fn build(
        config: &Config,
        most: u64,
        coefficients: Coefficients,
        keys: &[u64],
    ) -> Self {
        let root = (most as f64 * config.rho).ceil() as u64;
        let bits: Vec<u64> = std::iter::once(root)
            .chain(config.bits.iter().copied())
            .collect();
        let hashes: Vec<u64> = config.hashes.iter().map(|k| u64::from(*k)).collect();
        let (mut starts, mut before) = (vec![0], vec![0]);
        let mut filters = 1;
        for level in 0..bits.len() {
            starts.push(starts[level] + filters * bits[level]);
            let counted = match coefficients {
                Coefficients::AsPrinted if level > 0 => bits[level - 1],
                Coefficients::AsPrinted => 1,
                Coefficients::Disjoint => filters,
            };
            before.push(before[level] + counted * hashes[level]);
            filters *= bits[level];
        }
        let mut tree = Self {
            array: vec![false; starts[bits.len()] as usize],
            bits,
            hashes,
            starts,
            before,
        };
        for &key in keys {
            let mut positions = Vec::new();
            tree.visit(key, &mut |position| {
                positions.push(position);
                true
            });
            for position in positions {
                tree.array[position] = true;
            }
        }
        tree
    }

    fn contains(&self, key: u64) -> bool {
        self.visit(key, &mut |position| self.array[position])
    }

    pub(super) fn count(&self, keys: &[u64]) -> Count {
        Count::of(keys, |key| self.contains(*key))
    }

    /// Every bit of a key, filter by filter, as long as `each` agrees.
    fn visit(&self, key: u64, each: &mut impl FnMut(usize) -> bool) -> bool {
        let hashes = POLYNOMIALS.map(|polynomial| crc(polynomial, key));
        self.filter(hashes, 0, 0, each)
    }

    fn filter(
        &self,
        [h1, h2]: [u64; 2],
        level: usize,
        number: u64,
        each: &mut impl FnMut(usize) -> bool,
    ) -> bool {
        let (bits, hashes) = (self.bits[level], self.hashes[level]);
        let first = self.before[level] + number * hashes + 1;
        let mut positions = Vec::with_capacity(hashes as usize);
        for coefficient in first..first + hashes {
            // Neither term exceeds 32 + 32 bits: there are fewer than 2^32 coefficients.
            let position = (h1 + coefficient % bits * (h2 % bits)) % bits;
            if !each((self.starts[level] + number * bits + position) as usize) {
                return false;
            }
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
        level + 1 == self.bits.len()
            || positions
                .iter()
                .all(|bit| self.filter([h1, h2], level + 1, number * bits + bit, each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crcs_are_the_published_ones() {
        // Of "12345678", from the definition of each: computed with the check of both, "123456789".
        let check = |polynomial, text: &[u8; 9]| {
            let key = u64::from_le_bytes(text[..8].try_into().unwrap());
            // One more byte by hand.
            let register = !(crc(polynomial, key) as u32) ^ u32::from(text[8]);
            let next = (0..8).fold(register, |register, _| {
                register >> 1 ^ if register & 1 == 1 { polynomial } else { 0 }
            });
            !next
        };
        assert_eq!(check(POLYNOMIALS[0], b"123456789"), 0xe306_9283);
        assert_eq!(check(POLYNOMIALS[1], b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn keys_are_found_and_levels_follow_each_other() {
        let config = Config::new(1.0, &[4, 3], &[6, 3, 2]);
        let keys: Vec<u64> = (0..500).collect();
        let tree = Literal::build(&config, 500, Coefficients::AsPrinted, &keys);
        assert_eq!(tree.array.len(), 500 * (1 + 4 + 12));
        assert_eq!(tree.count(&keys).hits, 500);
        assert_eq!(tree.before[..3], [0, 6, 6 + 500 * 3]);
    }
}
