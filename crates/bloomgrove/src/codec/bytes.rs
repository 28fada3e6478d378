//! Coding bits eight at a time: each byte is a symbol whose probability is the product of those
//! of its bits.
//!
//! ```text
//!   probability of a one: q     byte 0000_0101: q^2 (1 - q)^6
//! ```
//!
//! One step of the arithmetic coder covers eight bits, which is what makes it fast.
//! Probabilities are in units of 2^-20: with 2^-16, the minimum units that 256 symbols need
//! would cost 0.8% where one bit in a hundred is set.

use std::sync::OnceLock;

use super::density::{Density, Learned};
use super::range::{Decoder, Encoder};
use super::symbols::Parts;
use crate::Error;

type ByteTable = Parts<20>;

/// The table of a density. It is computed on first use and kept, since computing it takes longer than coding a small
/// filter.
fn table(density: Density) -> &'static ByteTable {
    static ALL: [OnceLock<ByteTable>; Density::COUNT] = [const { OnceLock::new() }; Density::COUNT];
    ALL[usize::from(density.number())].get_or_init(|| table_of(density))
}

/// Encodes the `len` bytes of `words` under one density.
pub(super) fn encode(words: Words<'_>, density: Density, len: usize) -> Vec<u8> {
    let table = table(density);
    let mut encoder = Encoder::default();
    let mut left = len;
    for word in words.iter() {
        let bytes = word.to_le_bytes();
        for &byte in &bytes[..left.min(8)] {
            encoder.put(byte, table);
        }
        left -= left.min(8);
    }
    encoder.finish()
}

pub(super) fn decode(
    coded: &[u8],
    words: &mut [u64],
    density: Density,
    len: usize,
) -> Result<(), Error> {
    let table = table(density);
    let mut decoder = Decoder::new(coded);
    let mut left = len;
    for word in words {
        *word = decode_word(&mut decoder, table, left.min(8))?;
        left -= left.min(8);
    }
    decoder.finish()
}

/// Like [`encode`], under the density learned before each word.
pub(super) fn encode_learning(words: Words<'_>, learned: &mut Learned, len: usize) -> Vec<u8> {
    let mut encoder = Encoder::default();
    let mut left = len;
    for word in words.iter() {
        let table = table(learned.density(words.flip != 0));
        let bytes = word.to_le_bytes();
        for &byte in &bytes[..left.min(8)] {
            encoder.put(byte, table);
        }
        learn(learned, word, words.flip != 0);
        left -= left.min(8);
    }
    encoder.finish()
}

pub(super) fn decode_learning(
    coded: &[u8],
    words: &mut [u64],
    learned: &mut Learned,
    flipped: bool,
    len: usize,
) -> Result<(), Error> {
    let mut decoder = Decoder::new(coded);
    let mut left = len;
    for word in words {
        let table = table(learned.density(flipped));
        *word = decode_word(&mut decoder, table, left.min(8))?;
        learn(learned, *word, flipped);
        left -= left.min(8);
    }
    decoder.finish()
}

/// The words to encode, or their complements.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    words: &'a [u64],
    /// All ones if zeros are the rarer bits, otherwise zero.
    flip: u64,
    /// The bits of the last word that are part of the data.
    last: u64,
}

impl<'a> Words<'a> {
    pub(super) fn new(words: &'a [u64], bits: u64, flipped: bool) -> Self {
        Self {
            words,
            flip: if flipped { u64::MAX } else { 0 },
            last: last_mask(bits),
        }
    }

    #[inline]
    pub(super) fn iter(self) -> impl Iterator<Item = u64> {
        let last = self.words.len().wrapping_sub(1);
        let words = self.words.iter().enumerate();
        words.map(move |(i, word)| {
            let word = word ^ self.flip;
            if i == last { word & self.last } else { word }
        })
    }
}

/// Returns the mask of valid bits in the last word of `bits` bits.
pub(super) fn last_mask(bits: u64) -> u64 {
    match bits % 64 {
        0 => u64::MAX,
        used => (1 << used) - 1,
    }
}

#[inline]
fn learn(learned: &mut Learned, word: u64, flipped: bool) {
    let ones = u64::from(word.count_ones());
    learned.add(64, if flipped { 64 - ones } else { ones });
}

#[inline]
fn decode_word(decoder: &mut Decoder<'_>, table: &ByteTable, len: usize) -> Result<u64, Error> {
    let mut bytes = [0; 8];
    for byte in &mut bytes[..len] {
        *byte = decoder.get(table)?;
    }
    Ok(u64::from_le_bytes(bytes))
}

/// Computes the table of FORMAT section 15: weights as products in 62 bits, rounded down after
/// each step.
fn table_of(density: Density) -> ByteTable {
    let (one, zero) = (density.chance(), (1 << 32) - density.chance());
    let times = |weight: u64, chance: u64| ((u128::from(weight) * u128::from(chance)) >> 32) as u64;
    let of_ones: [u64; 9] = std::array::from_fn(|ones| {
        let mut weight = 1 << 62;
        for bit in 0..8 {
            weight = times(weight, if bit < ones { one } else { zero });
        }
        weight.max(1)
    });
    let weights: [u64; 256] = std::array::from_fn(|byte| of_ones[byte.count_ones() as usize]);
    ByteTable::from_counts(&weights)
}
