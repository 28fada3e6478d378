//! Bits in frames, each coded in the way that takes the fewest bytes.
//!
//! ```text
//!   | frame | frame | ... |          2^20 to 2^26 bits each, the last may have fewer
//!       |
//!       | kind | density | coded |   kind: all zero, all one, plain, bytes, gaps
//! ```
//!
//! | bits | kind | why |
//! |---|---|---|
//! | one in eleven or more | bytes (`bytes`) | eight bits per step |
//! | fewer | gaps (`gaps`) | one step per set bit: less work, and no symbol too rare to represent |
//! | about half | plain | nothing to gain |
//!
//! If ones are more frequent than zeros, zeros are coded instead. The [`Model`] decides where
//! the probabilities of the bits come from.
//!
//! Source: Fu and Biersack (BloomTree), section 4.3, code each level of a tree with one static
//! density, which is [`Model::Static`]; Mitzenmacher, "Compressed Bloom filters" (cited in
//! their section 2.3), calls for an arithmetic coder that comes close to the entropy. We differ
//! in coding bytes and gaps instead of single bits, for speed: `docs/bench/codec.md` has the
//! figures.
//!
//! Cost: memory for one coded frame in addition to the words. A frame has at most 8 MB of bits.

use super::bytes::{self, Words, last_mask};
use super::density::{Density, Learned};
use super::{gaps, varint};
use crate::{Error, bits};

/// The source of the probabilities of ones and zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Model {
    /// Each frame states its density. This takes two bytes per frame, and stays accurate if the
    /// density changes along the bits.
    #[default]
    Framed,
    /// One density for all bits, as Fu and Biersack code a level.
    Static,
    /// Learned from the preceding bits, and never stated.
    Adaptive,
}

impl Model {
    const ALL: [Model; 3] = [Model::Framed, Model::Static, Model::Adaptive];

    /// Returns the name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Model::Framed => "framed",
            Model::Static => "static",
            Model::Adaptive => "adaptive",
        }
    }

    /// Returns the model with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name() == name)
    }
}

/// The number of bits in a frame, as powers of two.
const SMALLEST: u32 = 20;
const LARGEST: u32 = 26;

/// The intended length of a coded frame in bytes, so that its overhead is negligible.
const WORTHWHILE: f64 = (1 << 16) as f64;

/// Gaps are coded up to this density, bytes above it: about where both are equally fast in
/// `bench-compare codec`.
const GAPS_UP_TO: f64 = 0.09;

/// Below this gain, bits are stored uncompressed: the time would not be worth it.
const GAIN: f64 = 0.0002;

/// Kinds of frames. FORMAT section 15.
const ZEROS: u8 = 0;
const ONES: u8 = 1;
const PLAIN: u8 = 2;
const BYTES: u8 = 3;
const GAPS: u8 = 4;
/// Added to the last two if zeros are coded as the rarer bits.
const FLIPPED: u8 = 8;

/// How a number of bits is divided into frames, and which model codes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Framing {
    bits: u64,
    frame: u32,
    model: Model,
    /// The density for [`Model::Static`].
    density: Density,
    flipped: bool,
}

impl Framing {
    /// Creates a framing for `bits` bits, of which `ones` are set.
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

    /// Appends the framing, except for the number of bits, to `out`.
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

    /// Reads a framing for `bits` bits from the front of `bytes`.
    ///
    /// # Errors
    /// [`Error::Message`] if there is none.
    pub fn read(bytes: &mut &[u8], bits: u64) -> Result<Self, Error> {
        let wrong = || Error::message(0, "invalid framing");
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

    /// Returns the number of words in each frame but the last.
    pub fn frame_words(&self) -> usize {
        1 << (self.frame - 6)
    }

    /// Returns the number of frames.
    pub fn frames(&self) -> u64 {
        self.bits.div_ceil(1 << self.frame)
    }

    /// Returns the number of bits in frame `number`.
    fn frame_bits(&self, number: u64) -> u64 {
        (self.bits - (number << self.frame)).min(1 << self.frame)
    }
}

/// Returns the Shannon entropy, in bits, of one of `all` bits if `rare` of them are set.
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

/// What the encoder and the decoder keep between frames.
struct State {
    framing: Framing,
    next: u64,
    learned: Learned,
}

impl State {
    fn new(framing: Framing) -> Self {
        Self {
            framing,
            next: 0,
            learned: Learned::default(),
        }
    }

    /// Returns the number of bits in the next frame, which has `words` words.
    fn advance(&mut self, words: usize) -> u64 {
        assert!(
            self.next < self.framing.frames(),
            "more frames than the framing has"
        );
        let bits = self.framing.frame_bits(self.next);
        assert_eq!(
            words as u64,
            bits.div_ceil(64),
            "a frame has the wrong number of words"
        );
        self.next += 1;
        bits
    }

    /// Adaptive models also learn from bits that they do not code.
    fn learn(&mut self, bits: u64, ones: u64) {
        self.learned.add(bits, ones);
    }
}

/// Encodes words into frames.
pub struct BitEncoder(State);

impl BitEncoder {
    /// Creates an encoder for this framing.
    pub fn new(framing: Framing) -> Self {
        Self(State::new(framing))
    }

    /// Encodes the next frame into `out`, replacing its contents. Bits of the last word after
    /// the last bit must be zero.
    ///
    /// # Panics
    /// If the number of `words` is not the one that the framing has for this frame.
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
        // Under the static and adaptive models, a frame may not have the expected density and
        // take more bytes than plain bits. What was learned from coding it is then undone.
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
    /// Encodes a frame by bytes or gaps.
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
            (Model::Adaptive, true) => gaps::encode_learning(words, learned, flipped, bits),
            (Model::Adaptive, false) => bytes::encode_learning(words, learned, len),
            (_, true) => gaps::encode(words, density, bits),
            (_, false) => bytes::encode(words, density, len),
        });
    }
}

/// Decodes frames into words.
pub struct BitDecoder(State);

impl BitDecoder {
    /// Creates a decoder for this framing.
    pub fn new(framing: Framing) -> Self {
        Self(State::new(framing))
    }

    /// Decodes the next frame into `words`, which must be all zero.
    ///
    /// # Errors
    /// [`Error::Message`]; the contents of the words are then unspecified.
    ///
    /// # Panics
    /// If the number of `words` is not the one that the framing has for this frame.
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
                    return Err(wrong("a frame that needs no bytes has some"));
                }
                if kind == ONES {
                    words.fill(u64::MAX);
                }
            }
            (PLAIN, _) if !flipped => {
                if coded.len() != len {
                    return Err(wrong("a plain frame has the wrong length"));
                }
                for (word, bytes) in words.iter_mut().zip(coded.chunks(8)) {
                    let mut whole = [0; 8];
                    whole[..bytes.len()].copy_from_slice(bytes);
                    *word = u64::from_le_bytes(whole);
                }
            }
            (BYTES, false) => bytes::decode(coded, words, density, len)?,
            (BYTES, true) => bytes::decode_learning(coded, words, learned, flipped, len)?,
            (GAPS, false) => gaps::decode(coded, words, density, bits)?,
            (GAPS, true) => gaps::decode_learning(coded, words, learned, flipped, bits)?,
            _ => return Err(wrong("unknown kind of frame")),
        }
        if let Some(last) = words.last_mut() {
            let mask = last_mask(bits);
            if kind != ONES && *last & !mask != 0 {
                return Err(wrong("a bit after the last one is set"));
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
