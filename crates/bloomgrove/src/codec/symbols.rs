//! Arithmetic coding of small alphabets: symbols under tables that may change at every step.
//!
//! ```text
//!   counts  5 2 1      table  0 ......... a ..... b .. 65536      the share of each symbol
//!   symbols 0 0 1 0    each narrows the range to its share; the bytes identify the last range
//! ```
//!
//! A symbol of probability p takes log2(1/p) bits, including fractions. Symbols are decoded in
//! the order in which they were encoded, so the decoder can choose the table based on what it
//! has decoded.
//!
//! Source: Fu and Biersack (BloomTree), section 4.3 (arithmetic coding of a filter's bits). The
//! range coder is that of the `constriction` crate, with a 64-bit state and 32-bit words.
//!
//! Cost: one multiplication per symbol to encode, one division to decode. A table takes about
//! eight bytes per symbol. Tables are computed in integer arithmetic only, so they are the same
//! on every machine.
//!
//! The coder adds no checksum: damaged bytes decode to other symbols or to an error, never to a
//! panic. `message` has the checksums.

use std::borrow::Borrow;
use std::num::NonZeroU32;

use constriction::Queue;
use constriction::backends::ReadWords;
use constriction::stream::model::{DecoderModel, EncoderModel, EntropyModel};
use constriction::stream::queue::{RangeDecoder, RangeEncoder};
use constriction::stream::{Decode, Encode};

use super::varint;
use crate::Error;

/// The share of each symbol of an alphabet, in units of 1/65536.
pub type Table = Parts<16>;

/// The share of each symbol of an alphabet, in units of 2^-P.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts<const P: usize> {
    /// The start of each symbol's interval, followed by 2^P.
    starts: Box<[u32]>,
    /// For equal stretches of the range, the symbol at the start of the stretch. From there, a
    /// search takes an eighth of a step on average, whatever the table, because there are four
    /// times as many stretches as symbols.
    first: Box<[u8]>,
    /// The shift that converts a place to its stretch.
    shift: u32,
}

impl<const P: usize> Parts<P> {
    /// Creates a table from the shares themselves, which must sum to 2^P.
    fn new(parts: impl Iterator<Item = u32>) -> Self {
        let mut starts = vec![0];
        let mut sum = 0;
        starts.extend(parts.map(|part| {
            sum += part;
            sum
        }));
        debug_assert!(sum == 1 << P && starts.len() <= 257);
        let stretches = (starts.len() - 1).next_power_of_two() * 4;
        let shift = P as u32 - stretches.ilog2();
        let mut symbol = 0;
        let first = (0..stretches as u32).map(|stretch| {
            while starts[symbol + 1] <= stretch << shift {
                symbol += 1;
            }
            symbol as u8
        });
        Self {
            first: first.collect(),
            starts: starts.into(),
            shift,
        }
    }

    /// Creates a nearly optimal table for symbols that occur in proportion to `weights`. A
    /// symbol of weight 0 cannot be coded; if all weights are 0, only the first symbol can, and
    /// it takes no bits.
    ///
    /// # Panics
    /// If there are more than 256 symbols.
    pub fn from_counts(weights: &[u64]) -> Self {
        assert!(weights.len() <= 256, "{} symbols", weights.len());
        let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        if total == 0 {
            return Self::new([1 << P].into_iter());
        }
        // One unit for every symbol that may occur, the rest in proportion to weight, and the
        // rounding remainder for the heaviest, which it changes least.
        let used = weights.iter().filter(|&&weight| weight > 0).count();
        let rest = (1u128 << P) - used as u128;
        let part = |weight: u64| match weight {
            0 => 0,
            _ => 1 + (u128::from(weight) * rest / total) as u32,
        };
        let left = (1u32 << P) - weights.iter().map(|&weight| part(weight)).sum::<u32>();
        let heaviest = (0..weights.len()).rev().max_by_key(|&i| weights[i]);
        Self::new(
            weights
                .iter()
                .enumerate()
                .map(|(i, &weight)| part(weight) + if Some(i) == heaviest { left } else { 0 }),
        )
    }

    /// Returns the number of symbols, including those that cannot occur.
    pub fn symbols(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the share of a symbol, out of 2^P.
    pub fn part(&self, symbol: u8) -> u32 {
        let at = usize::from(symbol);
        match self.starts.get(at + 1) {
            Some(end) => end - self.starts[at],
            None => 0,
        }
    }

    /// Appends the table to `out`: the number of symbols and their shares, one to three bytes
    /// each; the share of the last symbol is the remainder.
    pub fn write(&self, out: &mut Vec<u8>) {
        varint::put(out, self.symbols() as u64);
        for pair in self.starts.windows(2).take(self.symbols() - 1) {
            varint::put(out, u64::from(pair[1] - pair[0]));
        }
    }

    /// Reads a table from the front of `bytes`.
    ///
    /// # Errors
    /// [`Error::Message`] if there is none.
    pub fn read(bytes: &mut &[u8]) -> Result<Self, Error> {
        let wrong = || Error::message(0, "invalid table of symbols");
        let len = varint::take(bytes)?;
        if !(1..=256).contains(&len) {
            return Err(wrong());
        }
        let mut parts = Vec::with_capacity(len as usize);
        let mut left = 1u64 << P;
        for _ in 1..len {
            let part = varint::take(bytes)?;
            left = left.checked_sub(part).ok_or_else(wrong)?;
            parts.push(part as u32);
        }
        parts.push(left as u32);
        Ok(Self::new(parts.into_iter()))
    }
}

impl<const P: usize> EntropyModel<P> for &Parts<P> {
    type Symbol = u8;
    type Probability = u32;
}

impl<const P: usize> EncoderModel<P> for &Parts<P> {
    #[inline]
    fn left_cumulative_and_probability(
        &self,
        symbol: impl Borrow<u8>,
    ) -> Option<(u32, NonZeroU32)> {
        let at = usize::from(*symbol.borrow());
        let start = *self.starts.get(at)?;
        let end = *self.starts.get(at + 1)?;
        Some((start, NonZeroU32::new(end - start)?))
    }
}

impl<const P: usize> DecoderModel<P> for &Parts<P> {
    #[inline]
    fn quantile_function(&self, place: u32) -> (u8, u32, NonZeroU32) {
        let mut at = usize::from(self.first[(place >> self.shift) as usize]);
        // This terminates within the table, because the last end is 2^P and `place` is less.
        while self.starts[at + 1] <= place {
            at += 1;
        }
        let start = self.starts[at];
        let part = NonZeroU32::new(self.starts[at + 1] - start);
        (at as u8, start, part.unwrap_or(NonZeroU32::MIN))
    }
}

/// Encodes symbols into bytes.
#[derive(Default)]
pub struct Encoder(RangeEncoder<u32, u64>);

impl Encoder {
    /// Appends a symbol.
    ///
    /// # Panics
    /// If the symbol has no share in the table: it could not be decoded.
    #[inline]
    pub fn put<const P: usize>(&mut self, symbol: u8, table: &Parts<P>) {
        let put = self.0.encode_symbol(symbol, table);
        assert!(put.is_ok(), "symbol {symbol} cannot occur in this table");
    }

    /// Returns the bytes; their number is a multiple of four.
    pub fn finish(self) -> Vec<u8> {
        let Ok(words) = self.0.into_compressed();
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Decodes symbols from bytes.
pub struct Decoder<'a>(RangeDecoder<u32, u64, Bytes<'a>>);

impl<'a> Decoder<'a> {
    /// Creates a decoder for the output of an [`Encoder`].
    pub fn new(bytes: &'a [u8]) -> Self {
        let (words, rest) = bytes.as_chunks();
        let whole = rest.is_empty();
        let Ok(decoder) = RangeDecoder::with_backend(Bytes { words, whole });
        Self(decoder)
    }

    /// Returns the next symbol. After the last one, and in damaged bytes, it can be any symbol
    /// of the table.
    ///
    /// # Errors
    /// [`Error::Message`] if the bytes do not encode a symbol.
    #[inline]
    pub fn get<const P: usize>(&mut self, table: &Parts<P>) -> Result<u8, Error> {
        self.0
            .decode_symbol(table)
            .map_err(|_| Error::message(0, "the coded bytes do not encode a symbol"))
    }

    /// Checks that the bytes end where the symbols do.
    ///
    /// # Errors
    /// [`Error::Message`] if bytes are left over.
    pub fn finish(self) -> Result<(), Error> {
        let whole = self.0.maybe_exhausted();
        let (bytes, ..) = self.0.into_raw_parts();
        match whole && bytes.whole {
            true => Ok(()),
            false => Err(Error::message(0, "there are bytes after the last symbol")),
        }
    }
}

/// The words that a decoder reads.
struct Bytes<'a> {
    words: &'a [[u8; 4]],
    whole: bool,
}

impl ReadWords<u32, Queue> for Bytes<'_> {
    type ReadError = std::convert::Infallible;

    #[inline]
    fn read(&mut self) -> Result<Option<u32>, Self::ReadError> {
        let Some((first, rest)) = self.words.split_first() else {
            return Ok(None);
        };
        self.words = rest;
        Ok(Some(u32::from_le_bytes(*first)))
    }

    fn maybe_exhausted(&self) -> bool {
        self.words.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_sum_up_and_follow_the_counts() {
        for (counts, parts) in [
            (&[1u64, 1][..], &[32768u32, 32768][..]),
            (&[3, 0, 1], &[49152, 0, 16384]),
            (&[u64::MAX, 1], &[65535, 1]),
            (&[0, 7], &[0, 65536]),
            (&[0, 0], &[65536]),
            (&[], &[65536]),
        ] {
            let table = Table::from_counts(counts);
            let found: Vec<u32> = (0..table.symbols()).map(|i| table.part(i as u8)).collect();
            assert_eq!(found, parts, "{counts:?}");
        }
        let even = Table::from_counts(&[9; 256]);
        assert!((0..=255).all(|symbol| even.part(symbol) == 256));
    }

    #[test]
    fn a_certain_symbol_costs_nothing_but_the_end() {
        let table = Table::from_counts(&[0, 1]);
        let mut encoder = Encoder::default();
        (0..100_000).for_each(|_| encoder.put(1, &table));
        assert!(encoder.finish().len() <= 8);
    }

    #[test]
    #[should_panic(expected = "cannot occur")]
    fn what_cannot_be_decoded_is_not_encoded() {
        Encoder::default().put(0, &Table::from_counts(&[0, 1]));
    }

    /// Compared with the sum of log2(1/p), with tables that change at every symbol.
    #[test]
    fn symbols_take_what_their_parts_are_worth() {
        let tables = [
            Table::from_counts(&[900, 90, 9, 1]),
            Table::from_counts(&(1..=256).collect::<Vec<u64>>()),
        ];
        let mut state = 1u64;
        let mut symbols = Vec::new();
        let mut worth = 0.0;
        for i in 0..200_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            let place = (state >> 48) as u32;
            let table = &tables[i % 2];
            let (symbol, _, part) = (&table).quantile_function(place);
            worth += 16.0 - f64::from(part.get()).log2();
            symbols.push(symbol);
        }
        let mut encoder = Encoder::default();
        for (i, &symbol) in symbols.iter().enumerate() {
            encoder.put(symbol, &tables[i % 2]);
        }
        let bytes = encoder.finish();
        let over = bytes.len() as f64 * 8.0 / worth;
        assert!(over < 1.0005, "{over}");
    }

    proptest! {
        #[test]
        fn symbols_come_back(
            counts in prop::collection::vec(prop::collection::vec(0u64..1000, 1..257), 1..5),
            picks in prop::collection::vec(any::<u16>(), 0..500),
        ) {
            let tables: Vec<Table> = counts.iter().map(|counts| Table::from_counts(counts)).collect();
            let mut encoder = Encoder::default();
            let mut symbols = Vec::new();
            for (i, &pick) in picks.iter().enumerate() {
                let table = &tables[i % tables.len()];
                let (symbol, ..) = table.quantile_function(u32::from(pick));
                encoder.put(symbol, table);
                symbols.push(symbol);
            }
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(&bytes);
            for (i, &symbol) in symbols.iter().enumerate() {
                prop_assert_eq!(decoder.get(&tables[i % tables.len()]).unwrap(), symbol);
            }
            decoder.finish().unwrap();
        }

        #[test]
        fn tables_come_back(counts in prop::collection::vec(0u64..1000, 0..257)) {
            let table = Table::from_counts(&counts);
            let mut bytes = Vec::new();
            table.write(&mut bytes);
            bytes.push(77);
            let mut left = &bytes[..];
            prop_assert_eq!(Table::read(&mut left).unwrap(), table);
            prop_assert_eq!(left, [77]);
        }

        #[test]
        fn any_bytes_are_symbols_or_an_error(
            table in prop::collection::vec(any::<u8>(), 0..40),
            bytes in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let table = Table::read(&mut &table[..]);
            let table = table.unwrap_or_else(|_| Table::from_counts(&[5, 3, 0, 1]));
            let mut decoder = Decoder::new(&bytes);
            for _ in 0..1000 {
                let Ok(symbol) = decoder.get(&table) else { return Ok(()) };
                prop_assert!(table.part(symbol) > 0);
            }
        }
    }
}
