//! Arithmetic coding: symbols under tables (`symbols`) that may change at every step.
//!
//! ```text
//!   symbols 0 0 1 0    each narrows the range to its share; the bytes identify the last range
//! ```
//!
//! A symbol of probability p takes log2(1/p) bits, including fractions. Symbols are decoded in
//! the order in which they were encoded, so the decoder can choose the table based on what it
//! has decoded.
//!
//! Source: Fu and Biersack (BloomTree), section 4.3 (arithmetic coding of a filter's bits). The bytes
//! are those of the range coder of the `constriction` crate with a 64-bit state and 32-bit words,
//! with which the tests compare. Ours is faster, because it can try the most likely symbol first and
//! adds carries to what is written, instead of holding words back (`docs/bench/tree.md`).
//!
//! Cost: two multiplications per symbol to encode, and a division to decode any symbol but a likely one.
//!
//! The coder adds no checksum: damaged bytes decode to other symbols or to an error, never to a
//! panic. `message` has the checksums.

use super::symbols::{Interval, Parts};
use crate::Error;

/// Encodes symbols into bytes.
pub struct Encoder {
    /// What is written: the digits of the start of the range before those of `start`.
    words: Vec<u32>,
    start: u64,
    range: u64,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            words: Vec::new(),
            start: 0,
            range: u64::MAX,
        }
    }
}

impl Encoder {
    /// Appends a symbol.
    ///
    /// # Panics
    /// If the symbol has no share in the table: it could not be decoded.
    #[inline(always)]
    pub fn put<const P: usize>(&mut self, symbol: u8, table: &Parts<P>) {
        let part = table.interval(symbol);
        assert!(part.size > 0, "symbol {symbol} cannot occur in this table");
        let unit = self.range >> P;
        self.advance(unit * u64::from(part.start));
        self.range = unit * u64::from(part.size);
        if self.range >> 32 == 0 {
            self.range <<= 32;
            self.shift();
        }
    }

    /// Moves the start of the range.
    #[inline(always)]
    fn advance(&mut self, by: u64) {
        let carry;
        (self.start, carry) = self.start.overflowing_add(by);
        if carry {
            self.carry();
        }
    }

    /// Adds one to what is written. Seldom, and not inlined: the symbols need the registers.
    #[cold]
    fn carry(&mut self) {
        let full = self
            .words
            .iter()
            .rev()
            .take_while(|&&word| word == u32::MAX);
        let last = self.words.len() - full.count();
        self.words[last..].fill(0);
        self.words[last - 1] += 1;
    }

    /// Writes the first word of the start.
    #[inline(always)]
    fn shift(&mut self) {
        self.words.push((self.start >> 32) as u32);
        self.start <<= 32;
    }

    /// Returns the bytes; their number is a multiple of four.
    pub fn finish(mut self) -> Vec<u8> {
        // Nothing was encoded if the range is still the largest.
        if self.range < u64::MAX {
            // The shortest number that is in the range whatever follows it.
            let end = self.start.wrapping_add(self.range) >> 32;
            self.advance((1 << 32) - 1);
            let one_word = self.start >> 32 != end;
            self.shift();
            if !one_word {
                self.words.push(0);
            }
        }
        let bytes = self.words.iter().flat_map(|word| word.to_le_bytes());
        bytes.collect()
    }
}

/// Decodes symbols from bytes.
#[derive(Clone)]
pub struct Decoder<'a> {
    /// The words that have not been read, and whether no bytes follow them.
    words: &'a [[u8; 4]],
    whole: bool,
    /// The coded number, from the start of the range.
    at: u64,
    range: u64,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder for the output of an [`Encoder`].
    pub fn new(bytes: &'a [u8]) -> Self {
        let (words, rest) = bytes.as_chunks();
        let mut decoder = Self {
            words,
            whole: rest.is_empty(),
            at: 0,
            range: u64::MAX,
        };
        decoder.shift();
        decoder.shift();
        decoder
    }

    /// Reads a word. Zeros follow the last.
    #[inline(always)]
    fn shift(&mut self) {
        self.at <<= 32;
        if let Some((first, rest)) = self.words.split_first() {
            self.at |= u64::from(u32::from_le_bytes(*first));
            self.words = rest;
        }
    }

    /// Returns the next symbol. After the last one, and in damaged bytes, it can be any symbol
    /// of the table.
    ///
    /// # Errors
    /// [`Error::Message`] if the bytes do not encode a symbol.
    #[inline(always)]
    pub fn get<const P: usize>(&mut self, table: &Parts<P>) -> Result<u8, Error> {
        let unit = self.range >> P;
        let place = self.at / unit;
        if place >> P != 0 {
            return Err(Error::message(0, "the coded bytes do not encode a symbol"));
        }
        Ok(self.take(unit, table.find(place as u32)))
    }

    /// Same as [`get`](Self::get), for tables in which one symbol is likelier than all others together. Even a
    /// misprediction costs less than the division and the lookup, for which the next symbol would have
    /// to wait.
    ///
    /// # Errors
    /// Same as for [`get`](Self::get).
    #[inline(always)]
    pub fn get_likely<const P: usize>(&mut self, table: &Parts<P>) -> Result<u8, Error> {
        let (unit, part) = (self.range >> P, table.heaviest);
        let past = self.at.wrapping_sub(unit * u64::from(part.start));
        match past < unit * u64::from(part.size) {
            true => Ok(self.take(unit, part)),
            false => self.get(table),
        }
    }

    /// Narrows the range to the part of a symbol, and returns the symbol.
    #[inline(always)]
    fn take(&mut self, unit: u64, part: Interval) -> u8 {
        self.at -= unit * u64::from(part.start);
        self.range = unit * u64::from(part.size);
        if self.range >> 32 == 0 {
            self.range <<= 32;
            self.shift();
        }
        part.symbol
    }

    /// Checks that the bytes end where the symbols do.
    ///
    /// # Errors
    /// [`Error::Message`] if bytes are left over.
    pub fn finish(self) -> Result<(), Error> {
        let ends = self.range == u64::MAX || self.at < (1 << 33) - 1;
        match ends && self.words.is_empty() && self.whole {
            true => Ok(()),
            false => Err(Error::message(0, "there are bytes after the last symbol")),
        }
    }
}

#[cfg(test)]
mod tests {
    use constriction::stream::model::ContiguousCategoricalEntropyModel;
    use constriction::stream::queue::{RangeDecoder, RangeEncoder};
    use constriction::stream::{Decode, Encode};
    use proptest::prelude::*;

    use super::super::symbols::Table;
    use super::*;

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
            let part = table.find(place);
            worth += 16.0 - f64::from(part.size).log2();
            symbols.push(part.symbol);
        }
        let mut encoder = Encoder::default();
        for (i, &symbol) in symbols.iter().enumerate() {
            encoder.put(symbol, &tables[i % 2]);
        }
        let bytes = encoder.finish();
        let over = bytes.len() as f64 * 8.0 / worth;
        assert!(over < 1.0005, "{over}");
    }

    type Reference = ContiguousCategoricalEntropyModel<u32, Vec<u32>, 16>;

    /// A table without symbols that cannot occur, as the reference has none, and the reference's.
    fn both(counts: &[u64]) -> (Table, Reference) {
        let table = Table::from_counts(counts);
        let parts = (0..counts.len()).map(|symbol| table.part(symbol as u8));
        let reference = Reference::from_nonzero_fixed_point_probabilities(parts, false);
        (table, reference.unwrap())
    }

    proptest! {
        /// Few symbols, and some of them rare, so that there are carries, and ends of one word and of two.
        #[test]
        fn the_bytes_are_those_of_the_reference(
            counts in prop::collection::vec(prop_oneof![1u64..3, 1u64..100_000], 2..20),
            picks in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let (table, reference) = both(&counts);
            let mut ours = Encoder::default();
            let mut theirs = RangeEncoder::<u32, u64>::new();
            for pick in picks {
                let symbol = usize::from(pick) % counts.len();
                ours.put(symbol as u8, &table);
                theirs.encode_symbol(symbol, &reference).unwrap();
            }
            let theirs = theirs.into_compressed().unwrap();
            let theirs: Vec<u8> = theirs.iter().flat_map(|word| word.to_le_bytes()).collect();
            prop_assert_eq!(ours.finish(), theirs);
        }

        #[test]
        fn any_words_decode_as_with_the_reference(
            counts in prop::collection::vec(prop_oneof![1u64..3, 1u64..100_000], 2..20),
            words in prop::collection::vec(prop_oneof![any::<u32>(), Just(0), Just(u32::MAX)], 0..20),
            symbols in 0..300,
        ) {
            let (table, reference) = both(&counts);
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut ours = Decoder::new(&bytes);
            let mut theirs = RangeDecoder::<u32, u64, _>::from_compressed(words).unwrap();
            for _ in 0..symbols {
                let symbol = theirs.decode_symbol(&reference).ok();
                let mut other = ours.clone();
                prop_assert_eq!(other.get_likely(&table).ok().map(usize::from), symbol);
                prop_assert_eq!(ours.get(&table).ok().map(usize::from), symbol);
                prop_assert_eq!((other.at, other.range), (ours.at, ours.range));
                if symbol.is_none() {
                    return Ok(());
                }
            }
            prop_assert_eq!(ours.finish().is_ok(), theirs.maybe_exhausted());
        }

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
                let symbol = table.find(u32::from(pick)).symbol;
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
