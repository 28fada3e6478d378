//! Folding: the same set in half the bits.
//!
//! ```text
//!   standard   a b c d e f g h   ->   a|b c|d e|f g|h      neighbours
//!   blocked    [line 0][line 1]  ->   [line 0 | line 1]    neighbouring lines, or split blocks
//!   remainder  a b c d e f g h   ->   a|e b|f c|g d|h      halves
//! ```
//!
//! A position made by `scale(h, n)` is the upper part of a product, so `scale(h, n/2)` is half of
//! it, rounded down: neighbours are merged. A position that is a remainder (Kirsch-Mitzenmacher,
//! affine) is merged with the one n/2 away. Either way the result is, bit for bit, the filter that
//! would have been built at half the size, with the false-positive rate of that size.

use super::Filter;
use crate::bits::{LINE_BITS, LINE_WORDS, Words};
use crate::hash::{Derivation, Family, SPLIT_BITS};
use crate::numbers::Grouped;
use crate::{Error, Layout, Params};

impl<S: AsRef<[u64]>> Filter<S> {
    /// Returns a filter of the same set with half the bits.
    ///
    /// ```
    /// # use bloomgrove::{Filter, Params};
    /// let mut large = Filter::new(Params::builder(1024, 4).build()?)?;
    /// let mut small = Filter::new(Params::builder(512, 4).build()?)?;
    /// for key in 0..50u64 {
    ///     large.insert(&key);
    ///     small.insert(&key);
    /// }
    /// assert!(large.fold()? == small);
    /// # Ok::<(), bloomgrove::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unfoldable`] if the number of bits (or of lines) is odd.
    pub fn fold(&self) -> Result<Filter, Error> {
        let params = half(&self.params)?;
        let mut folded = Words::zeroed(params.words())?;
        let (from, into) = (self.words(), folded.as_mut());
        let by_remainder = self.params.derivation() == Derivation::KirschMitzenmacher
            || matches!(self.params.family(), Family::Affine(_));
        match self.params.layout() {
            Layout::Blocked => fold_blocks::<LINE_WORDS>(from, into),
            Layout::SplitBlock => fold_blocks::<{ SPLIT_BITS as usize / 64 }>(from, into),
            Layout::Standard if by_remainder => fold_halves(from, into, params.bits()),
            Layout::Standard => {
                for (into, pair) in into.iter_mut().zip(from.chunks(2)) {
                    let upper = pair.get(1).map_or(0, |&word| pack_neighbours(word));
                    *into = pack_neighbours(pair[0]) | upper << 32;
                }
            }
        }
        Filter::from_words(params, folded)
    }
}

/// Combines each pair of neighbouring blocks of N words into one.
fn fold_blocks<const N: usize>(from: &[u64], into: &mut [u64]) {
    let (pairs, _) = from.as_chunks::<N>().0.as_chunks::<2>();
    let (into, _) = into.as_chunks_mut::<N>();
    for (into, [one, two]) in into.iter_mut().zip(pairs) {
        *into = std::array::from_fn(|i| one[i] | two[i]);
    }
}

fn half(params: &Params) -> Result<Params, Error> {
    let bits = params.bits();
    let unit = match params.layout() {
        Layout::Standard => 1,
        Layout::Blocked => LINE_BITS,
        Layout::SplitBlock => SPLIT_BITS,
    };
    if !(bits / unit).is_multiple_of(2) {
        return Err(Error::Unfoldable {
            what: match params.layout() {
                Layout::Standard => format!("{} bits is an odd number", Grouped(bits)),
                _ => format!(
                    "{} bits is an odd number of {unit}-bit lines ({})",
                    Grouped(bits),
                    Grouped(bits / unit)
                ),
            },
        });
    }
    params.with_bits(bits / 2)
}

/// Combines each pair of neighbouring bits into one: 64 bits become 32.
fn pack_neighbours(word: u64) -> u64 {
    let mut x = (word | word >> 1) & 0x5555_5555_5555_5555;
    // Halve the gaps: 1 bit in 2, then 2 in 4, up to 32 in 64.
    x = (x | x >> 1) & 0x3333_3333_3333_3333;
    x = (x | x >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    x = (x | x >> 4) & 0x00ff_00ff_00ff_00ff;
    x = (x | x >> 8) & 0x0000_ffff_0000_ffff;
    (x | x >> 16) & 0x0000_0000_ffff_ffff
}

/// Sets bit i of `into` to the OR of bits i and i + half of `from`.
fn fold_halves(from: &[u64], into: &mut [u64], half: u64) {
    let (skip, shift) = ((half / 64) as usize, half % 64);
    let word = |i: usize| from.get(i).copied().unwrap_or(0);
    for (i, into) in into.iter_mut().enumerate() {
        let low = word(skip + i) >> shift;
        let high = if shift == 0 {
            0
        } else {
            word(skip + i + 1) << (64 - shift)
        };
        *into = word(i) | low | high;
    }
    // The last word also received bits of the upper half: clear them.
    if shift != 0
        && let Some(last) = into.last_mut()
    {
        *last &= (1 << shift) - 1;
    }
}
