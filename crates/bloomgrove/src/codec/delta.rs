//! Deltas: what changed between two versions of a filter, as a message.
//!
//! ```text
//!   old  0 1 0 0 1 0        delta = old xor new, coded as sparse bits
//!   new  0 1 1 0 1 0              0 0 1 0 0 0
//! ```
//!
//! The receiver has the old version. Each new key changes at most k bits, and each changed bit
//! costs about log2(bits / changed) + 1.4 bits. If most bits have changed, a delta costs no
//! more than the whole filter.
//!
//! A delta contains the fingerprints of the bits it was made from and of those it produces. It
//! is rejected when applied to any other version, and a filter is changed entirely or not at
//! all.
//!
//! Source: our own; the protocols of the papers send whole filters.
//!
//! Cost: making a delta takes three passes over both filters, and memory for a frame (8 MB at
//! most) and its code. Applying one decodes it twice, and keeps all coded frames in memory for
//! that.

use std::io::{Read, Write};

use xxhash_rust::xxh3::Xxh3;

use super::Kind;
use super::bits::{BitDecoder, BitEncoder, Framing, Model};
use super::filter::{BITS, put_notes, put_params, take_notes, take_params};
use super::message::{Reader, Writer};
use crate::format::Notes;
use crate::{Error, Filter, bits};

/// Writes a message that turns `old` into `new`, and returns its size in bytes.
///
/// ```
/// use bloomgrove::{Filter, Params, codec};
///
/// let mut here = Filter::new(Params::for_items(100_000, 0.01)?)?;
/// here.insert_batch(&(0..90_000u64).collect::<Vec<_>>());
/// let mut there = here.to_owned()?;
///
/// let before = here.to_owned()?;
/// here.insert("new");
/// let mut message = Vec::new();
/// codec::delta(&before, &here, &mut message)?;
/// assert!(message.len() < 100);
///
/// codec::apply(&mut there, &message[..])?;
/// assert!(there == here);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
///
/// # Errors
/// [`Error::Incompatible`] if the parameters differ; [`Error::Io`].
pub fn delta<S: AsRef<[u64]>, T: AsRef<[u64]>>(
    old: &Filter<S>,
    new: &Filter<T>,
    out: impl Write,
) -> Result<u64, Error> {
    delta_with(old, new, Model::default(), &Notes::new(), out)
}

/// Like [`delta`](delta()), with a given model and notes for the receiver.
///
/// # Errors
/// As for [`delta`](delta()).
pub fn delta_with<S: AsRef<[u64]>, T: AsRef<[u64]>>(
    old: &Filter<S>,
    new: &Filter<T>,
    model: Model,
    notes: &Notes,
    out: impl Write,
) -> Result<u64, Error> {
    old.params().check_equal(new.params())?;
    let (from, to) = (old.words(), new.words());
    let framing = Framing::new(model, old.params().bits(), bits::hamming(from, to));
    let mut head = Vec::new();
    put_params(&mut head, old.params());
    head.extend(fingerprint(from).to_le_bytes());
    head.extend(fingerprint(to).to_le_bytes());
    framing.write(&mut head);
    let mut message = Writer::new(out, Kind::Delta, &head)?;
    put_notes(&mut message, notes)?;
    let mut encoder = BitEncoder::new(framing.clone());
    let (mut changed, mut coded) = (Vec::new(), Vec::new());
    let frames = from.chunks(framing.frame_words());
    for (from, to) in frames.zip(to.chunks(framing.frame_words())) {
        changed.clear();
        changed.extend(from.iter().zip(to).map(|(a, b)| a ^ b));
        encoder.frame(&changed, &mut coded);
        message.frame(BITS, &coded)?;
    }
    message.finish()
}

/// Applies a delta to the version that it was made from, and returns the notes that came with
/// it. On any error, the filter is unchanged.
///
/// # Errors
/// [`Error::OtherVersion`] if the filter is not the version that the delta was made from, and
/// [`Error::Incompatible`] if it has different parameters; [`Error::Message`],
/// [`Error::WrongContent`] and [`Error::Version`] if the input is not a delta; [`Error::Io`].
pub fn apply<S: AsRef<[u64]> + AsMut<[u64]>>(
    filter: &mut Filter<S>,
    input: impl Read,
) -> Result<Notes, Error> {
    let mut message = Reader::open(input, Kind::Delta)?;
    let mut head = message.params();
    let read = Head::read(&mut head);
    let read = read.map_err(|error| message.locate(error))?;
    filter.params().check_equal(&read.params)?;
    let found = fingerprint(filter.words());
    if found != read.old {
        return Err(Error::OtherVersion {
            wanted: read.old,
            found,
        });
    }
    let framing = read.framing;
    let mut coded = Vec::new();
    let (notes, mut ready) = take_notes(&mut message, &mut coded)?;

    // Decode once to check the result, keeping the coded frames, and then again to apply it.
    let mut kept = Vec::new();
    let mut made = Xxh3::new();
    let mut decoder = BitDecoder::new(framing.clone());
    let mut changed = Vec::new();
    for frame in filter.words().chunks(framing.frame_words()) {
        if !std::mem::take(&mut ready) {
            message.expect(BITS, &mut coded)?;
        }
        changed.clear();
        changed.resize(frame.len(), 0);
        let decoded = decoder.frame(&coded, &mut changed);
        decoded.map_err(|error| message.locate(error))?;
        bits::xor_assign(&mut changed, frame);
        add_words(&mut made, &changed);
        coded.shrink_to_fit();
        kept.push(std::mem::take(&mut coded));
    }
    if made.digest() != read.new {
        return Err(message.damaged("the resulting bits do not match its fingerprint"));
    }
    message.finish()?;

    let mut decoder = BitDecoder::new(framing.clone());
    let frames = filter.words_mut().chunks_mut(framing.frame_words());
    for (frame, coded) in frames.zip(&kept) {
        changed.clear();
        changed.resize(frame.len(), 0);
        let decoded = decoder.frame(coded, &mut changed);
        debug_assert!(decoded.is_ok(), "the delta was decoded before");
        bits::xor_assign(frame, &changed);
    }
    Ok(notes)
}

/// Returns the fingerprints in a delta: of the bits it was made from, and of those it produces.
/// If a filter is rejected with [`Error::OtherVersion`] and its fingerprint is the second one,
/// the delta has already been applied.
///
/// # Errors
/// [`Error::Message`], [`Error::WrongContent`] and [`Error::Version`] if the input is not a
/// delta; [`Error::Io`].
pub fn delta_fingerprints(input: impl Read) -> Result<(u64, u64), Error> {
    let message = Reader::open(input, Kind::Delta)?;
    let head = Head::read(&mut message.params()).map_err(|error| message.locate(error))?;
    Ok((head.old, head.new))
}

/// The head of a delta.
struct Head {
    params: crate::Params,
    old: u64,
    new: u64,
    framing: Framing,
}

impl Head {
    fn read(bytes: &mut &[u8]) -> Result<Self, Error> {
        let params = take_params(bytes)?;
        let mut word = || {
            let (word, rest) = bytes
                .split_first_chunk()
                .ok_or_else(|| Error::message(0, "it ends inside the fingerprints"))?;
            *bytes = rest;
            Ok(u64::from_le_bytes(*word))
        };
        let (old, new) = (word()?, word()?);
        let framing = Framing::read(bytes, params.bits())?;
        match bytes.is_empty() {
            true => Ok(Self {
                params,
                old,
                new,
                framing,
            }),
            false => Err(Error::message(0, "the head is too long")),
        }
    }
}

/// Returns the hash that distinguishes versions of a filter's bits.
fn fingerprint(words: &[u64]) -> u64 {
    let mut sum = Xxh3::new();
    add_words(&mut sum, words);
    sum.digest()
}

fn add_words(sum: &mut Xxh3, words: &[u64]) {
    if cfg!(target_endian = "little") {
        sum.update(zerocopy::IntoBytes::as_bytes(words));
        return;
    }
    for word in words {
        sum.update(&word.to_le_bytes());
    }
}
