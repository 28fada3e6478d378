//! Context coding: the filters of a level, given those above them.
//!
//! ```text
//!   filter below a 0          nothing: it is empty
//!   filter below a 1          its bits as one symbol, under the table of its context:
//!                             the ones of the filter above it, and of the one above that
//!   more than 8 bits          its number of ones as a symbol, then their positions, bit by bit
//! ```
//!
//! All patterns with the same number of ones are equally likely, because hash functions are uniform;
//! so a table needs only the share of each number of ones. The number of filters above that are used
//! (none, one or two) is the one that takes the fewest bytes, including the tables.
//!
//! Not in the paper, which codes whole levels (section 4.3): 7 to 37% smaller
//! (`docs/papers/bloomtree.md`).

use std::num::NonZero;
use std::ops::Range;

use super::below::{Filters, Siblings, parents};
use super::size::Contexts;
use super::{BloomTree, MAX_FILTER_BITS, field};
use bloomgrove::Error;
use bloomgrove::raw::codec::varint;
use bloomgrove::raw::codec::{Decoder, Encoder, Parts, Table};
use bloomgrove::raw::threads::{by_all, processors};

/// Up to this many, the bits of a filter are one symbol.
const ONE_SYMBOL: u64 = 8;
/// The number of contexts: the ones of two filters.
const CONTEXTS: usize = (MAX_FILTER_BITS as usize + 1) * (MAX_FILTER_BITS as usize + 1);

/// Patterns in parts of 2^24: 256 of them, with little loss for the rarest.
type Patterns = Parts<24>;

/// The tables of one level.
pub(super) struct Model {
    bits: u64,
    /// How many filters above are used.
    above: u8,
    /// The number of ones of a filter, by context; this is sent.
    tables: Vec<((u32, u32), Table)>,
    /// The index of the table of each context.
    slots: Vec<u16>,
    /// For each table, that of the patterns; empty for filters of more bits.
    patterns: Vec<Patterns>,
    /// For filters of more bits: whether the next bit is set, by the remaining ones and positions.
    places: Vec<Table>,
}

const NO_TABLE: u16 = u16::MAX;

/// What codes the filters of one context: their bits as one symbol, or their number of ones.
#[derive(Clone, Copy)]
enum Code<'m> {
    Patterns(&'m Patterns),
    Ones(&'m Table),
}

impl Model {
    /// The model with which the counted filters of `bits` bits take the fewest bytes.
    pub(super) fn of(bits: u64, contexts: &Contexts) -> Self {
        let models = (0..=2).map(|above| Self::looking(bits, above, contexts));
        let cheapest = models.min_by_key(|(cost, _)| *cost);
        cheapest.map(|(_, model)| model).expect("there are three")
    }

    /// The model that uses this many filters above, and its size in bits, including tables.
    fn looking(bits: u64, above: u8, contexts: &Contexts) -> (u64, Self) {
        let mut merged = Contexts::new();
        for (context, counts) in contexts {
            let sum = merged.entry(seen(above, *context));
            let sum = sum.or_insert_with(|| vec![0; bits as usize + 1]);
            sum.iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
        let mut cost = 0.0;
        let mut tables = Vec::new();
        for (context, counts) in merged {
            let table = Table::from_counts(&counts);
            for (ones, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                cost += *count as f64 * (16.0 - f64::from(table.part(ones as u8)).log2());
            }
            tables.push((context, table));
        }
        let model = Self::new(bits, above, tables);
        let mut spelled = Vec::new();
        model.write(&mut spelled);
        (cost as u64 + 8 * spelled.len() as u64, model)
    }

    fn new(bits: u64, above: u8, tables: Vec<((u32, u32), Table)>) -> Self {
        let mut slots = vec![NO_TABLE; CONTEXTS];
        for (number, (context, _)) in tables.iter().enumerate() {
            slots[slot(*context)] = number as u16;
        }
        let patterns = match bits <= ONE_SYMBOL {
            true => tables
                .iter()
                .map(|(_, table)| patterns(bits, table))
                .collect(),
            false => Vec::new(),
        };
        let places = match bits <= ONE_SYMBOL {
            true => Vec::new(),
            false => places(bits),
        };
        Self {
            bits,
            above,
            tables,
            slots,
            patterns,
            places,
        }
    }

    /// Its encoding: FORMAT section 16.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.above);
        varint::put(out, self.tables.len() as u64);
        for (context, table) in &self.tables {
            let both = [context.0, context.1];
            out.extend(both.iter().take(self.above.into()).map(|&ones| ones as u8));
            table.write(out);
        }
    }

    /// The model of a level whose filters have `bits` bits.
    ///
    /// # Errors
    /// [`Error::Message`].
    pub(super) fn read(bits: u64, mut bytes: &[u8]) -> Result<Self, Error> {
        let wrong = || Error::message(0, "invalid tables of a level");
        let bytes = &mut bytes;
        let above = byte(bytes)?;
        let count = varint::take(bytes)?;
        if above > 2 || count > CONTEXTS as u64 {
            return Err(wrong());
        }
        let mut tables: Vec<((u32, u32), Table)> = Vec::new();
        for _ in 0..count {
            let mut context = [0; 2];
            for ones in context.iter_mut().take(above.into()) {
                *ones = u32::from(byte(bytes)?);
                if u64::from(*ones) > MAX_FILTER_BITS {
                    return Err(wrong());
                }
            }
            let context = (context[0], context[1]);
            let table = Table::read(bytes)?;
            // A single encoding: ascending contexts, and a table for exactly the numbers that are possible.
            if table.symbols() != bits as usize + 1
                || tables.last().is_some_and(|last| last.0 >= context)
            {
                return Err(wrong());
            }
            tables.push((context, table));
        }
        if !bytes.is_empty() {
            return Err(wrong());
        }
        Ok(Self::new(bits, above, tables))
    }

    /// What codes the filters with this context.
    ///
    /// # Errors
    /// [`Error::Message`] if no filter that was counted has it.
    #[inline(always)]
    fn code(&self, context: (u32, u32)) -> Result<Code<'_>, Error> {
        let number = usize::from(self.slots[slot(seen(self.above, context))]);
        match (self.patterns.get(number), self.tables.get(number)) {
            (Some(patterns), _) => Ok(Code::Patterns(patterns)),
            (None, Some((_, table))) => Ok(Code::Ones(table)),
            (None, None) => Err(Error::message(0, "a filter has no table")),
        }
    }

    /// Appends filters, given the bits of all their places.
    ///
    /// # Errors
    /// [`Error::Message`] if no filter that was counted has their context.
    #[inline(always)]
    pub(super) fn put(
        &self,
        encoder: &mut Encoder,
        siblings: Siblings,
        all: u64,
    ) -> Result<(), Error> {
        let offsets = siblings.offsets();
        match self.code(siblings.context)? {
            Code::Patterns(table) => {
                let mask = (1 << self.bits) - 1;
                offsets.for_each(|offset| encoder.put((all >> offset & mask) as u8, table));
            }
            Code::Ones(table) => offsets.for_each(|offset| {
                let pattern = all >> offset & (u64::MAX >> (64 - self.bits));
                self.put_ones(encoder, table, pattern);
            }),
        }
        Ok(())
    }

    /// The next filters, as the bits of all their places.
    ///
    /// # Errors
    /// [`Error::Message`] if the bytes do not encode them.
    #[inline(always)]
    pub(super) fn get(&self, decoder: &mut Decoder<'_>, siblings: Siblings) -> Result<u64, Error> {
        let mut all = 0;
        let offsets = siblings.offsets();
        match self.code(siblings.context)? {
            Code::Patterns(table) => {
                for offset in offsets {
                    all |= u64::from(decoder.get_likely(table)?) << offset;
                }
            }
            Code::Ones(table) => {
                for offset in offsets {
                    all |= self.get_ones(decoder, table)? << offset;
                }
            }
        }
        Ok(all)
    }

    fn put_ones(&self, encoder: &mut Encoder, table: &Table, pattern: u64) {
        let mut left = pattern.count_ones();
        encoder.put(left as u8, table);
        for place in 0..self.bits {
            let set = pattern >> place & 1;
            encoder.put(set as u8, self.place(self.bits - place, left));
            left -= set as u32;
        }
    }

    fn get_ones(&self, decoder: &mut Decoder<'_>, table: &Table) -> Result<u64, Error> {
        let mut left = u32::from(decoder.get_likely(table)?);
        let mut pattern = 0;
        for place in 0..self.bits {
            let set = decoder.get_likely(self.place(self.bits - place, left))?;
            pattern |= u64::from(set) << place;
            left -= u32::from(set);
        }
        Ok(pattern)
    }

    /// The table of a bit with `ones` left in `places`.
    fn place(&self, places: u64, ones: u32) -> &Table {
        &self.places[(places * (self.bits + 1)) as usize + ones as usize]
    }
}

/// A context, reduced to `above` filters.
fn seen(above: u8, (parent, grandparent): (u32, u32)) -> (u32, u32) {
    match above {
        0 => (0, 0),
        1 => (parent, 0),
        _ => (parent, grandparent),
    }
}

fn slot((parent, grandparent): (u32, u32)) -> usize {
    parent as usize * (MAX_FILTER_BITS as usize + 1) + grandparent as usize
}

/// Patterns, if all with the same number of ones are equally likely.
fn patterns(bits: u64, ones: &Table) -> Patterns {
    let mut choices = vec![0u64; bits as usize + 1];
    (0u64..1 << bits).for_each(|pattern| choices[pattern.count_ones() as usize] += 1);
    let weights = (0u64..1 << bits).map(|pattern| {
        let count = pattern.count_ones();
        let weight = u64::from(ones.part(count as u8)) << 32;
        weight / choices[count as usize]
    });
    Patterns::from_counts(&weights.collect::<Vec<_>>())
}

/// For every number of positions and of ones among them, whether the next position has a one.
fn places(bits: u64) -> Vec<Table> {
    let tables = (0..=bits).flat_map(|places| {
        (0..=bits).map(move |ones| Table::from_counts(&[places.saturating_sub(ones), ones]))
    });
    tables.collect()
}

fn byte(bytes: &mut &[u8]) -> Result<u8, Error> {
    let (&first, rest) = bytes
        .split_first()
        .ok_or_else(|| Error::message(0, "it ends inside its tables"))?;
    *bytes = rest;
    Ok(first)
}

impl<S: AsRef<[u64]> + Sync> BloomTree<S> {
    /// The filters of a level below set bits, counted by context and ones.
    pub(super) fn contexts(&self, level: usize) -> Contexts {
        let all = parents(&self.shape, level);
        // Starting threads takes longer than counting a small level.
        let threads = if all < 1 << 14 {
            NonZero::<usize>::MIN
        } else {
            processors()
        };
        let piece = all.div_ceil(threads.get() as u64).max(1);
        let counted = by_all(threads.get(), threads, |number| {
            let first = (number as u64 * piece).min(all);
            self.count(level, first..(first + piece).min(all))
        });
        let width = MAX_FILTER_BITS as usize + 1;
        let context = |slot: usize| ((slot / width) as u32, (slot % width) as u32);
        let bits = self.shape.levels()[level].bits as usize;
        let mut contexts = Contexts::new();
        for (slot, counts) in counted.into_iter().flatten() {
            let sum = contexts.entry(context(slot));
            let sum = sum.or_insert_with(|| vec![0; bits + 1]);
            sum.iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
        contexts
    }

    /// Like [`contexts`](Self::contexts), for those below some of the filters above.
    fn count(&self, level: usize, parents: Range<u64>) -> Vec<(usize, Vec<u64>)> {
        let bits = self.shape.levels()[level].bits;
        if bits > ONE_SYMBOL {
            return self.count_by(|pattern| pattern.count_ones() as usize, level, parents);
        }
        // Where there are few patterns, they are faster to count than their ones.
        let mut counted = self.count_by(|pattern| pattern as usize, level, parents);
        for (_, counts) in &mut counted {
            let mut sums = vec![0; bits as usize + 1];
            for (pattern, count) in counts.iter().enumerate() {
                sums[pattern.count_ones() as usize] += count;
            }
            *counts = sums;
        }
        counted
    }

    /// The filters of each context, counted by what `kind` says of their bits.
    fn count_by(
        &self,
        kind: impl Fn(u64) -> usize,
        level: usize,
        parents: Range<u64>,
    ) -> Vec<(usize, Vec<u64>)> {
        let full = u64::MAX >> (64 - self.shape.levels()[level].bits);
        let mut counts = vec![Vec::new(); CONTEXTS];
        for siblings in Filters::below(&self.shape, self.words(), level, parents) {
            let counts: &mut Vec<u64> = &mut counts[slot(siblings.context)];
            if counts.is_empty() {
                counts.resize(kind(full) + 1, 0);
            }
            let all = field(self.words(), siblings.start, siblings.span);
            for offset in siblings.offsets() {
                counts[kind(all >> offset & full)] += 1;
            }
        }
        let counts = counts.into_iter().enumerate();
        counts.filter(|(_, counts)| !counts.is_empty()).collect()
    }
}

/// Writes a pattern at bit `offset` of empty words.
#[inline]
pub(super) fn lay(words: &mut [u64], offset: u64, pattern: u64) {
    super::each_word(offset, pattern, |word, mask| words[word] |= mask);
}
