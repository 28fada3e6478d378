//! Bits in frames, each coded in the way that takes the fewest bytes.
//!
//! ```text
//!   | frame | frame | ... |          2^20 to 2^26 bits each, fewer in the last
//!       |
//!       | kind | density | coded |   kind: all zero, all one, plain, by bytes, by gaps
//! ```
//!
//! | bits | kind | why |
//! |---|---|---|
//! | one in eleven or more | bytes (`bytes`) | eight bits at a step |
//! | fewer | gaps (`gaps`) | a step for each set bit: less to do, and no part too small to be named |
//! | about half | plain | there is nothing to gain |
//!
//! Where ones are the more frequent bits, the same is done with zeros. What the chances of the bits
//! are taken to be is the [`Model`].
//!
//! Source: the paper's section 4.3 codes each level of a tree with one static density, which is
//! [`Model::Static`]; Mitzenmacher, "Compressed Bloom filters", section 2.3, asks for an arithmetic coder
//! that comes close to the entropy. We differ in coding bytes and gaps instead of single bits, for the time it takes:
//! `docs/bench/codec.md` has the figures.
//!
//! Cost: memory for one coded frame beside the words. A frame has at most 8 MB of bits.

use super::bytes::{ByteTables, Words, last_mask};
use super::density::{Density, Learned};
use super::gaps::GapTables;
use super::varint;
use crate::{Error, bits};

/// Where the chances of ones and zeros come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Model {
    /// Each frame says how dense it is. Two bytes a frame, and right also where
    /// the density changes along the bits.
    #[default]
    Framed,
    /// One density for all bits, as the paper codes a level.
    Static,
    /// Learned from the bits before, and never said.
    Adaptive,
}

impl Model {
    const ALL: [Model; 3] = [Model::Framed, Model::Static, Model::Adaptive];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Model::Framed => "framed",
            Model::Static => "static",
            Model::Adaptive => "adaptive",
        }
    }

    /// The model of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name() == name)
    }
}

/// The bits of a frame, as powers of two.
const SMALLEST: u32 = 20;
const LARGEST: u32 = 26;

/// Coded frames are to be this long, so that what is around them does not count.
const WORTHWHILE: f64 = (1 << 16) as f64;

/// Gaps are coded up to this density, bytes above it: about where `bench-compare codec` finds both
/// equally fast.
const GAPS_UP_TO: f64 = 0.09;

/// Below this gain, bits are left as they are: the time is not worth it.
const GAIN: f64 = 0.0002;

/// Kinds of frames. FORMAT section 15.
const ZEROS: u8 = 0;
const ONES: u8 = 1;
const PLAIN: u8 = 2;
const BYTES: u8 = 3;
const GAPS: u8 = 4;
/// Added to the last two if zeros are coded as the rare bits.
const FLIPPED: u8 = 8;

/// How some number of bits is cut into frames, and by which model these are coded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Framing {
    bits: u64,
    frame: u32,
    model: Model,
    /// Of [`Model::Static`].
    density: Density,
    flipped: bool,
}

impl Framing {
    /// For `bits`, of which `ones` are set.
    pub fn new(model: Model, bits: u64, ones: u64) -> Self {
        let rare = ones.min(bits - ones);
        let coded = |frame: u32| 2f64.powi(frame as i32 - 3) * entropy(rare, bits);
        let large = (SMALLEST..LARGEST).find(|&frame| coded(frame) >= WORTHWHILE);
        let is_static = model == Model::Static;
        Self {
            bits,
            frame: large.unwrap_or(LARGEST),
            model,
            density: match is_static {
                true => Density::of(rare, bits),
                false => Density::HALF,
            },
            flipped: is_static && rare < ones,
        }
    }

    /// Appends the framing, but for the number of bits, to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let model = match self.model {
            Model::Framed => 0,
            Model::Static => 1,
            Model::Adaptive => 2,
        };
        let flipped = if self.flipped { FLIPPED } else { 0 };
        out.extend([model | flipped, self.frame as u8]);
        if self.model == Model::Static {
            varint::put(out, self.density.number().into());
        }
    }

    /// Takes a framing for `bits` from the front of `bytes`.
    ///
    /// # Errors
    /// [`Error::Message`] when there is none.
    pub fn read(bytes: &mut &[u8], bits: u64) -> Result<Self, Error> {
        let wrong = || Error::message(0, "not a valid framing");
        let (&[model, frame], rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
        *bytes = rest;
        let mut framing = Self {
            bits,
            frame: frame.into(),
            model: match model & !FLIPPED {
                0 => Model::Framed,
                1 => Model::Static,
                2 => Model::Adaptive,
                _ => return Err(wrong()),
            },
            density: Density::HALF,
            flipped: model & FLIPPED != 0,
        };
        if framing.model == Model::Static {
            framing.density = Density::from_number(varint::take(bytes)?).ok_or_else(wrong)?;
        }
        let fits = (SMALLEST..=LARGEST).contains(&framing.frame);
        match fits && (!framing.flipped || framing.model == Model::Static) {
            true => Ok(framing),
            false => Err(wrong()),
        }
    }

    /// How many words a frame has, but for the last.
    pub fn frame_words(&self) -> usize {
        1 << (self.frame - 6)
    }

    /// How many frames there are.
    pub fn frames(&self) -> u64 {
        self.bits.div_ceil(1 << self.frame)
    }

    /// How many bits frame `number` has.
    fn frame_bits(&self, number: u64) -> u64 {
        (self.bits - (number << self.frame)).min(1 << self.frame)
    }
}

/// The bits that one of `all` takes if `rare` of them are set, after Shannon.
pub(crate) fn entropy(rare: u64, all: u64) -> f64 {
    let worth = |part: u64| match part {
        0 => 0.0,
        _ => {
            let share = part as f64 / all as f64;
            -share * share.log2()
        }
    };
    worth(rare) + worth(all - rare)
}

/// What both directions keep between frames.
struct State {
    framing: Framing,
    next: u64,
    learned: Learned,
    bytes: ByteTables,
    gaps: GapTables,
}

impl State {
    fn new(framing: Framing) -> Self {
        Self {
            framing,
            next: 0,
            learned: Learned::default(),
            bytes: ByteTables::new(),
            gaps: GapTables::new(),
        }
    }

    /// The bits of the next frame, which has `words`.
    fn advance(&mut self, words: usize) -> u64 {
        assert!(
            self.next < self.framing.frames(),
            "more frames than planned"
        );
        let bits = self.framing.frame_bits(self.next);
        assert_eq!(words as u64, bits.div_ceil(64), "a frame cut elsewhere");
        self.next += 1;
        bits
    }

    /// Adaptive models also learn from what is not coded by them.
    fn learn(&mut self, bits: u64, ones: u64) {
        self.learned.add(bits, ones);
    }
}

/// Words in, coded frames out.
pub struct BitEncoder(State);

impl BitEncoder {
    /// One that codes by this framing.
    pub fn new(framing: Framing) -> Self {
        Self(State::new(framing))
    }

    /// Codes the next frame into `out`, replacing what it holds. Bits of the last word beyond the last bit are zero.
    ///
    /// # Panics
    /// If `words` are not as many as the framing has in this frame.
    pub fn frame(&mut self, words: &[u64], out: &mut Vec<u8>) {
        let state = &mut self.0;
        let bits = state.advance(words.len());
        let ones = bits::count(words);
        out.clear();
        if ones == 0 || ones == bits {
            out.push(if ones == 0 { ZEROS } else { ONES });
            state.learn(bits, ones);
            return;
        }
        let rare = ones.min(bits - ones);
        let len = bits.div_ceil(8) as usize;
        // Coded as static and adaptive, if need be: not all frames are as dense as that.
        let before = state.learned.clone();
        if 1.0 - entropy(rare, bits) > GAIN {
            state.code(words, bits, ones, out);
        }
        if out.is_empty() || out.len() > len {
            state.learned = before;
            out.clear();
            out.push(PLAIN);
            for word in words {
                let left = (len + 1 - out.len()).min(8);
                out.extend(&word.to_le_bytes()[..left]);
            }
            state.learn(bits, ones);
        }
    }
}

impl State {
    /// Codes a frame by bytes or gaps.
    fn code(&mut self, words: &[u64], bits: u64, ones: u64, out: &mut Vec<u8>) {
        let framed = self.framing.model == Model::Framed;
        let (density, flipped) = match self.framing.model {
            Model::Static => (self.framing.density, self.framing.flipped),
            _ => {
                let rare = ones.min(bits - ones);
                (Density::of(rare, bits), rare < ones)
            }
        };
        let gaps = density.chance() as f64 / 2f64.powi(32) < GAPS_UP_TO;
        let words = Words::new(words, bits, flipped);
        out.push((if gaps { GAPS } else { BYTES }) | if flipped { FLIPPED } else { 0 });
        if framed {
            varint::put(out, density.number().into());
        }
        let len = bits.div_ceil(8) as usize;
        let learned = &mut self.learned;
        out.extend(match (self.framing.model, gaps) {
            (Model::Adaptive, true) => self.gaps.encode_learning(words, learned, flipped, bits),
            (Model::Adaptive, false) => self.bytes.encode_learning(words, learned, len),
            (_, true) => self.gaps.encode(words, density, bits),
            (_, false) => self.bytes.encode(words, density, len),
        });
    }
}

/// Coded frames in, words out.
pub struct BitDecoder(State);

impl BitDecoder {
    /// One that codes by this framing.
    pub fn new(framing: Framing) -> Self {
        Self(State::new(framing))
    }

    /// Decodes the next frame into `words`, which are all zero.
    ///
    /// # Errors
    /// [`Error::Message`]; the words are then in any state.
    ///
    /// # Panics
    /// If `words` are not as many as the framing has in this frame.
    pub fn frame(&mut self, coded: &[u8], words: &mut [u64]) -> Result<(), Error> {
        let state = &mut self.0;
        let bits = state.advance(words.len());
        let wrong = |what: &'static str| Error::message(0, what);
        let (&kind, mut coded) = coded.split_first().ok_or_else(|| wrong("an empty frame"))?;
        let flipped = kind & FLIPPED != 0;
        let coded_kind = matches!(kind & !FLIPPED, BYTES | GAPS);
        let mut density = state.framing.density;
        if coded_kind && state.framing.model == Model::Framed {
            let number = varint::take(&mut coded)?;
            density = Density::from_number(number).ok_or_else(|| wrong("unknown density"))?;
        }
        let len = bits.div_ceil(8) as usize;
        let learned = &mut state.learned;
        let adaptive = state.framing.model == Model::Adaptive;
        match (kind & !FLIPPED, adaptive) {
            (ZEROS | ONES, _) if !flipped => {
                if !coded.is_empty() {
                    return Err(wrong("bytes in a frame that needs none"));
                }
                if kind == ONES {
                    words.fill(u64::MAX);
                }
            }
            (PLAIN, _) if !flipped => {
                if coded.len() != len {
                    return Err(wrong("a plain frame of another length"));
                }
                for (word, bytes) in words.iter_mut().zip(coded.chunks(8)) {
                    let mut whole = [0; 8];
                    whole[..bytes.len()].copy_from_slice(bytes);
                    *word = u64::from_le_bytes(whole);
                }
            }
            (BYTES, false) => state.bytes.decode(coded, words, density, len)?,
            (BYTES, true) => {
                let bytes = &mut state.bytes;
                bytes.decode_learning(coded, words, learned, flipped, len)?;
            }
            (GAPS, false) => state.gaps.decode(coded, words, density, bits)?,
            (GAPS, true) => {
                let gaps = &mut state.gaps;
                gaps.decode_learning(coded, words, learned, flipped, bits)?;
            }
            _ => return Err(wrong("unknown kind of frame")),
        }
        if let Some(last) = words.last_mut() {
            let mask = last_mask(bits);
            if kind != ONES && *last & !mask != 0 {
                return Err(wrong("a bit beyond the last is set"));
            }
            if flipped {
                words.iter_mut().for_each(|word| *word = !*word);
            }
            if let Some(last) = words.last_mut() {
                *last &= mask;
            }
        }
        if !coded_kind {
            state.learn(bits, bits::count(words));
        }
        Ok(())
    }
}
