//! Coding sparse bits by the gaps between them.
//!
//! ```text
//!   0 0 0 1 0 1 0 0 0 0 0 1 0 0 |      gaps 3 1 5 2, the last one runs to the end
//!   gap = high part, arithmetic coded with a geometric distribution | low bits, uncoded
//! ```
//!
//! The number of low bits is chosen so that the mean gap is 8 to 16 steps of the high part.
//! Within one such step all gaps are almost equally likely, and leaving the low bits uncoded
//! costs a thousandth of a bit each.
//!
//! Cost: one step of the coder per set bit, so sparser is faster; no cost grows with the zeros
//! in between.

use std::sync::OnceLock;

use super::bytes::Words;
use super::density::{Density, Learned};
use super::range::{Decoder, Encoder};
use super::symbols::Parts;
use super::varint;
use crate::Error;

type GapTable = Parts<20>;

/// The high part that stands for itself and everything above; the rest follows in 32 low bits.
const LONG: u64 = 255;

/// How the gaps of one density are coded.
struct Gaps {
    table: GapTable,
    /// The number of low bits.
    low: u32,
}

/// The table of a density. It is computed on first use and kept, since computing it takes longer than coding a small
/// filter.
#[inline]
fn tables(density: Density) -> &'static Gaps {
    static ALL: [OnceLock<Gaps>; Density::COUNT] = [const { OnceLock::new() }; Density::COUNT];
    ALL[usize::from(density.number())].get_or_init(|| gaps_of(density))
}

/// Encodes the set bits of `words` under one density.
pub(super) fn encode(words: Words<'_>, density: Density, bits: u64) -> Vec<u8> {
    let gaps = tables(density);
    let mut out = Out::new();
    each_gap(words, bits, |gap| out.put(gap, gaps));
    out.finish()
}

/// Sets bits of `words`, which must be all zero.
pub(super) fn decode(
    coded: &[u8],
    words: &mut [u64],
    density: Density,
    bits: u64,
) -> Result<(), Error> {
    let gaps = tables(density);
    let mut input = In::new(coded)?;
    let mut at = 0;
    loop {
        at += input.get(gaps)?;
        if at >= bits {
            break;
        }
        words[(at / 64) as usize] |= 1 << (at % 64);
        at += 1;
    }
    input.finish(at == bits)
}

/// Like [`encode`], under the density learned before each gap.
pub(super) fn encode_learning(
    words: Words<'_>,
    learned: &mut Learned,
    flipped: bool,
    bits: u64,
) -> Vec<u8> {
    let mut out = Out::new();
    each_gap(words, bits, |gap| {
        out.put(gap, tables(learned.density(flipped)));
        learn(learned, gap, flipped);
    });
    out.finish()
}

pub(super) fn decode_learning(
    coded: &[u8],
    words: &mut [u64],
    learned: &mut Learned,
    flipped: bool,
    bits: u64,
) -> Result<(), Error> {
    let mut input = In::new(coded)?;
    let mut at = 0;
    loop {
        let gap = input.get(tables(learned.density(flipped)))?;
        learn(learned, gap, flipped);
        at += gap;
        if at >= bits {
            break;
        }
        words[(at / 64) as usize] |= 1 << (at % 64);
        at += 1;
    }
    input.finish(at == bits)
}

/// A gap is a number of zeros and a one. The last gap counts the same, so that both sides learn
/// the same.
fn learn(learned: &mut Learned, gap: u64, flipped: bool) {
    learned.add(gap + 1, if flipped { gap } else { 1 });
}

/// Calls `each` on the gap before each set bit, and on the one at the end.
#[inline]
fn each_gap(words: Words<'_>, bits: u64, mut each: impl FnMut(u64)) {
    let mut next = 0;
    for (i, mut word) in words.iter().enumerate() {
        while word != 0 {
            let at = i as u64 * 64 + u64::from(word.trailing_zeros());
            each(at - next);
            next = at + 1;
            word &= word - 1;
        }
    }
    each(bits - next);
}

/// Computes the table of FORMAT section 15: powers in 63 bits, rounded down after each step.
fn gaps_of(density: Density) -> Gaps {
    let mut low = 0;
    while density.chance() << (low + 1) <= 1 << 29 {
        low += 1;
    }
    let times = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 63) as u64;
    // The probability that a run of 2^low bits is all zero.
    let mut empty = ((1 << 32) - density.chance()) << 31;
    for _ in 0..low {
        empty = times(empty, empty);
    }
    let mut beyond = 1u64 << 63;
    let mut weights = [0; LONG as usize + 1];
    for weight in &mut weights[..LONG as usize] {
        let further = times(beyond, empty);
        *weight = (beyond - further).max(1);
        beyond = further;
    }
    weights[LONG as usize] = beyond.max(1);
    Gaps {
        table: GapTable::from_counts(&weights),
        low,
    }
}

/// The output of high parts and low bits.
struct Out {
    high: Encoder,
    low: Vec<u8>,
    /// Low bits that do not fill a word yet, and their number.
    open: u64,
    used: u32,
}

impl Out {
    fn new() -> Self {
        Self {
            high: Encoder::default(),
            low: Vec::new(),
            open: 0,
            used: 0,
        }
    }

    #[inline]
    fn put(&mut self, gap: u64, gaps: &Gaps) {
        let high = gap >> gaps.low;
        self.high.put(high.min(LONG) as u8, &gaps.table);
        if high >= LONG {
            self.bits(high - LONG, 32);
        }
        self.bits(gap & ((1 << gaps.low) - 1), gaps.low);
    }

    /// Writes the lowest `count` bits of `value`, at most 32; the others must be zero.
    #[inline]
    fn bits(&mut self, value: u64, count: u32) {
        self.open |= value << self.used;
        self.used += count;
        if self.used >= 32 {
            self.low.extend((self.open as u32).to_le_bytes());
            self.open >>= 32;
            self.used -= 32;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        let left = self.used.div_ceil(8) as usize;
        self.low.extend(&self.open.to_le_bytes()[..left]);
        let high = self.high.finish();
        let mut out = Vec::with_capacity(high.len() + self.low.len() + varint::LONGEST);
        varint::put(&mut out, high.len() as u64);
        out.extend(high);
        out.extend(self.low);
        out
    }
}

/// The input of high parts and low bits.
struct In<'a> {
    high: Decoder<'a>,
    low: &'a [u8],
    open: u64,
    used: u32,
}

impl<'a> In<'a> {
    fn new(mut coded: &'a [u8]) -> Result<Self, Error> {
        let len = varint::take(&mut coded)?;
        let parts = usize::try_from(len)
            .ok()
            .and_then(|len| coded.split_at_checked(len));
        let (high, low) =
            parts.ok_or_else(|| Error::message(0, "its parts are longer than the frame"))?;
        Ok(Self {
            high: Decoder::new(high),
            low,
            open: 0,
            used: 0,
        })
    }

    /// Returns the next gap, at most 2^59.
    #[inline]
    fn get(&mut self, gaps: &Gaps) -> Result<u64, Error> {
        let mut high = u64::from(self.high.get(&gaps.table)?);
        if high == LONG {
            high += self.bits(32)?;
        }
        Ok((high << gaps.low) | self.bits(gaps.low)?)
    }

    #[inline]
    fn bits(&mut self, count: u32) -> Result<u64, Error> {
        if self.used < count {
            self.refill(count)?;
        }
        let value = self.open & ((1 << count) - 1);
        self.open >>= count;
        self.used -= count;
        Ok(value)
    }

    #[inline]
    fn refill(&mut self, count: u32) -> Result<(), Error> {
        if let Some((bytes, rest)) = self.low.split_first_chunk() {
            self.open |= u64::from(u32::from_le_bytes(*bytes)) << self.used;
            self.used += 32;
            self.low = rest;
            return Ok(());
        }
        for &byte in self.low {
            self.open |= u64::from(byte) << self.used;
            self.used += 8;
        }
        self.low = &[];
        match self.used >= count {
            true => Ok(()),
            false => Err(Error::message(0, "there are too few low bits")),
        }
    }

    /// Checks that the encoding is canonical: nothing is left over, and the last gap ends where
    /// the bits do.
    fn finish(self, at_end: bool) -> Result<(), Error> {
        if !at_end || !self.low.is_empty() || self.used >= 8 || self.open != 0 {
            return Err(Error::message(
                0,
                "the last gap does not end where the bits do",
            ));
        }
        self.high.finish()
    }
}
