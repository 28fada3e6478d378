//! A tree as a compressed message: section 4.3.
//!
//! ```text
//!   | shape | level 1: framing, bits | level 2: tables, filters | level 3: tables, filters | end |
//! ```
//!
//! The root is coded like any other bits (`codec::bits`). The levels below it are coded by context
//! ([`Coding::Context`], see `context`) or, as in the paper, with one density for all bits of a level
//! ([`Coding::Levels`]).
//!
//! Cost: one pass for the tables and one for coding, on all processors; memory for one frame per
//! processor in addition to the tree.
//! FORMAT section 16 has every byte.

use std::io::{Read, Write};
use std::ops::Range;

use super::below::{Filters, bits_below, parents};
use super::context::{Model, lay};
use super::size::Contexts;
use super::{BloomTree, TreeShape, each_word, field};
use bloomgrove::Error;
use bloomgrove::codec::LIMIT;
use bloomgrove::format::Notes;
use bloomgrove::raw::bits::{self, Words};
use bloomgrove::raw::codec::Kind;
use bloomgrove::raw::codec::Model as BitModel;
use bloomgrove::raw::codec::{BitDecoder, BitEncoder, Framing};
use bloomgrove::raw::codec::{Decoder, Encoder};
use bloomgrove::raw::codec::{Reader, Writer};
use bloomgrove::raw::codec::{put_notes, put_params, take_params};
use bloomgrove::raw::threads::{by_all, processors};

/// How the levels below the root are coded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coding {
    /// Each filter given the ones of the filters above it: the fewest bytes.
    #[default]
    Context,
    /// All bits of a level with one density, as in the paper.
    Levels,
}

impl Coding {
    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Coding::Context => "context",
            Coding::Levels => "levels",
        }
    }
}

/// Tags of frames. FORMAT section 16.
const NOTES: u8 = 1;
const BITS: u8 = 2;
const PLAN: u8 = 3;
const TABLES: u8 = 4;
const FILTERS: u8 = 5;

/// The most bits of a level in one frame. However badly its filters are coded, they fit into a frame
/// of a message, and the reader has memory for them. Shorter frames would cost sparse trees
/// more than their size is predicted to be (`advice`).
const FRAME: u64 = 1 << 22;

impl<S: AsRef<[u64]> + Sync> BloomTree<S> {
    /// Writes the tree to `out`, compressed with `coding`, and returns the number of bytes. Bits below
    /// unset bits, which no query reads, are not sent by [`Coding::Context`]; trees made by
    /// insertion, union and intersection have none.
    ///
    /// ```
    /// use bloomgrove_trees::bloom_tree::{BloomTree, Coding, TreeShape};
    ///
    /// let mut tree = BloomTree::new(TreeShape::for_items(10_000, 1.0, &[4, 3], &[6, 3, 2])?)?;
    /// tree.insert_batch(&(0..10_000u64).collect::<Vec<_>>());
    /// let mut message = Vec::new();
    /// let bytes = tree.compress(Coding::Context, &mut message)?;
    /// assert!(bytes * 8 < tree.shape().bits() / 2);
    /// assert!(BloomTree::expand(&message[..])? == tree);
    /// # Ok::<(), bloomgrove::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn compress(&self, coding: Coding, out: impl Write) -> Result<u64, Error> {
        self.compress_with(coding, &Notes::new(), out)
    }

    /// Like [`compress`](Self::compress), with notes for the receiver.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn compress_with(
        &self,
        coding: Coding,
        notes: &Notes,
        out: impl Write,
    ) -> Result<u64, Error> {
        let contexts: Vec<Contexts> = match coding {
            Coding::Context => (1..self.shape.depth())
                .map(|level| self.contexts(level))
                .collect(),
            Coding::Levels => Vec::new(),
        };
        let mut levels = contexts.iter().zip(1..);
        if levels.any(|(contexts, level)| ones(contexts) != self.level_ones(level)) {
            // The receiver, which does not get the bit above, could not identify the filter.
            return self.without_orphans()?.compress_with(coding, notes, out);
        }
        let mut head = Vec::new();
        put_params(&mut head, self.shape.root());
        head.extend(self.shape.to_bytes());
        let mut writer = Writer::new(out, Kind::Tree, &head)?;
        put_notes(&mut writer, notes)?;
        for level in 0..self.shape.depth() {
            match coding {
                Coding::Context if level > 0 => {
                    self.send_filters(level, &contexts[level - 1], &mut writer)?;
                }
                _ => self.send_bits(level, &mut writer)?,
            }
        }
        writer.finish()
    }

    /// A level as bits.
    fn send_bits(&self, level: usize, writer: &mut Writer<impl Write>) -> Result<(), Error> {
        let bits = self.shape.level_bits(level);
        let framing = Framing::new(BitModel::Static, bits, self.level_ones(level));
        let mut payload = Vec::new();
        framing.write(&mut payload);
        writer.frame(PLAN, &payload)?;
        let (frames, words) = (framing.frames(), framing.frame_words() as u64);
        let mut encoder = BitEncoder::new(framing);
        let mut at = self.shape.start(level);
        let end = at + bits;
        for _ in 0..frames {
            let next = (at + words * 64).min(end);
            encoder.frame(&cut(self.words(), at, next), &mut payload);
            writer.frame(BITS, &payload)?;
            at = next;
        }
        Ok(())
    }

    /// A level as filters below set bits. Frames are coded on all processors.
    fn send_filters(
        &self,
        level: usize,
        contexts: &Contexts,
        writer: &mut Writer<impl Write>,
    ) -> Result<(), Error> {
        let model = Model::of(self.shape.levels()[level].bits, contexts);
        let frames = Frames::of(&self.shape, level);
        let mut payload = Vec::new();
        model.write(&mut payload);
        writer.frame(TABLES, &payload)?;
        for batch in frames.batches() {
            let count = (batch.end - batch.start) as usize;
            let coded = by_all(count, processors(), |number| -> Result<_, Error> {
                let parents = frames.parents(batch.start + number as u64);
                let mut encoder = Encoder::default();
                for siblings in Filters::below(&self.shape, self.words(), level, parents) {
                    let patterns = field(self.words(), siblings.start, siblings.span);
                    model.put(&mut encoder, siblings, patterns)?;
                }
                Ok(encoder.finish())
            });
            for coded in coded {
                writer.frame(FILTERS, &coded?)?;
            }
        }
        Ok(())
    }
}

impl<S: AsRef<[u64]>> BloomTree<S> {
    /// A copy without bits below unset bits.
    fn without_orphans(&self) -> Result<BloomTree, Error> {
        let mut tree = self.to_owned()?;
        for level in 1..self.shape.depth() {
            let bits = self.shape.levels()[level].bits;
            let words = tree.words.as_mut();
            for filter in 0..self.shape.filters(level) {
                if !bits::get(words, self.shape.start(level - 1) + filter) {
                    let offset = self.shape.offset(level, filter);
                    let pattern = field(words, offset, bits);
                    each_word(offset, pattern, |word, mask| words[word] &= !mask);
                }
            }
        }
        Ok(tree)
    }
}

impl BloomTree {
    /// Decodes a message that [`compress`](Self::compress) has written. Every byte is checked.
    ///
    /// # Errors
    /// [`Error::TooLarge`] above [`codec::LIMIT`](bloomgrove::codec::LIMIT); [`Error::Message`],
    /// [`Error::WrongContent`] and [`Error::Version`] for anything but the message of a tree;
    /// [`Error::OutOfMemory`]; [`Error::Io`].
    pub fn expand(input: impl Read) -> Result<Self, Error> {
        Self::expand_within(input, LIMIT).map(|(tree, _)| tree)
    }

    /// Like [`expand`](Self::expand), but also returns the notes, and accepts a tree of up to `limit`
    /// bytes: a message of a few hundred bytes can declare terabytes.
    ///
    /// # Errors
    /// Those of [`expand`](Self::expand).
    pub fn expand_within(input: impl Read, limit: u64) -> Result<(Self, Notes), Error> {
        let mut reader = Reader::open(input, Kind::Tree)?;
        let shape = shape_of(reader.params()).map_err(|error| reader.locate(error))?;
        let bytes = shape.bits().div_ceil(8);
        if bytes > limit {
            return Err(Error::TooLarge { bytes, limit });
        }
        let mut tree = BloomTree {
            words: Words::zeroed(shape.words())?,
            shape,
        };
        let mut payload = Vec::new();
        let mut next = reader.next(&mut payload)?;
        let mut notes = Notes::new();
        if next == Some(NOTES) && !payload.is_empty() {
            let found = Notes::from_bytes(&payload);
            notes = found.ok_or_else(|| reader.damaged("the notes are invalid"))?;
            next = reader.next(&mut payload)?;
        }
        for level in 0..tree.shape.depth() {
            if level > 0 {
                next = reader.next(&mut payload)?;
            }
            match next {
                Some(PLAN) => tree.take_bits(level, &payload, &mut reader)?,
                Some(TABLES) if level > 0 => tree.take_filters(level, &payload, &mut reader)?,
                _ => return Err(reader.damaged("a level was expected here")),
            }
        }
        reader.finish()?;
        Ok((tree, notes))
    }

    fn take_bits(
        &mut self,
        level: usize,
        mut framing: &[u8],
        reader: &mut Reader<impl Read>,
    ) -> Result<(), Error> {
        let bits = self.shape.level_bits(level);
        let found = Framing::read(&mut framing, bits).map_err(|error| reader.locate(error))?;
        if !framing.is_empty() {
            return Err(reader.damaged("the framing is too long"));
        }
        let framing = found;
        let (frames, words) = (framing.frames(), framing.frame_words() as u64);
        let mut decoder = BitDecoder::new(framing);
        let mut payload = Vec::new();
        let mut at = self.shape.start(level);
        let end = at + bits;
        let mut found = Vec::new();
        for _ in 0..frames {
            reader.expect(BITS, &mut payload)?;
            let next = (at + words * 64).min(end);
            found.clear();
            found.resize((next - at).div_ceil(64) as usize, 0);
            let frame = decoder.frame(&payload, &mut found);
            frame.map_err(|error| reader.locate(error))?;
            lay_all(self.words.as_mut(), at, &found);
            at = next;
        }
        Ok(())
    }

    fn take_filters(
        &mut self,
        level: usize,
        tables: &[u8],
        reader: &mut Reader<impl Read>,
    ) -> Result<(), Error> {
        let shape = &self.shape;
        let bits = shape.levels()[level].bits;
        let model = Model::read(bits, tables).map_err(|error| reader.locate(error))?;
        let frames = Frames::of(shape, level);
        for batch in frames.batches() {
            let mut payloads = Vec::new();
            for _ in batch.clone() {
                let mut payload = Vec::new();
                reader.expect(FILTERS, &mut payload)?;
                payloads.push(payload);
            }
            let words = self.words.as_ref();
            let found = by_all(payloads.len(), processors(), |number| {
                let parents = frames.parents(batch.start + number as u64);
                let range = bits_below(shape, level, &parents);
                let mut found = Words::zeroed((range.end - range.start).div_ceil(64) as usize)?;
                let mut decoder = Decoder::new(&payloads[number]);
                for siblings in Filters::below(shape, words, level, parents) {
                    let patterns = model.get(&mut decoder, siblings)?;
                    lay(found.as_mut(), siblings.start - range.start, patterns);
                }
                decoder.finish()?;
                Ok((range.start, found))
            });
            for found in found {
                let (start, found) = found.map_err(|error| reader.locate(error))?;
                lay_all(self.words.as_mut(), start, found.as_ref());
            }
        }
        Ok(())
    }
}

/// How the filters of a level are divided into frames: those below this many filters above.
struct Frames {
    /// The number of filters above, as a power of two.
    width: u32,
    parents: u64,
}

impl Frames {
    fn of(shape: &TreeShape, level: usize) -> Self {
        let one = bits_below(shape, level, &(0..1));
        Self {
            width: (FRAME / (one.end - one.start)).max(1).ilog2(),
            parents: parents(shape, level),
        }
    }

    fn count(&self) -> u64 {
        self.parents.div_ceil(1 << self.width)
    }

    fn parents(&self, frame: u64) -> Range<u64> {
        let first = frame << self.width;
        first..(first + (1 << self.width)).min(self.parents)
    }

    /// The frames that are processed concurrently.
    fn batches(&self) -> impl Iterator<Item = Range<u64>> {
        let at_once = processors().get() as u64;
        let count = self.count();
        (0..count.div_ceil(at_once)).map(move |batch| {
            let first = batch * at_once;
            first..(first + at_once).min(count)
        })
    }
}

/// Writes bits at bit `offset` of empty ones.
fn lay_all(words: &mut [u64], offset: u64, bits: &[u64]) {
    for (i, &word) in bits.iter().enumerate() {
        lay(words, offset + i as u64 * 64, word);
    }
}

/// How many bits the counted filters have set.
fn ones(contexts: &Contexts) -> u64 {
    let of = |counts: &Vec<u64>| {
        (0..)
            .zip(counts)
            .map(|(ones, count)| ones * count)
            .sum::<u64>()
    };
    contexts.values().map(of).sum()
}

/// The shape encoded in the parameters of a message.
fn shape_of(mut bytes: &[u8]) -> Result<TreeShape, Error> {
    let root = take_params(&mut bytes)?;
    TreeShape::from_bytes(root, bytes).map_err(|what| Error::message(0, what))
}

/// The bits from `start` to before `end` as separate words.
fn cut(words: &[u64], start: u64, end: u64) -> Vec<u64> {
    let starts = (start..end).step_by(64);
    starts
        .map(|at| field(words, at, (end - at).min(64)))
        .collect()
}
