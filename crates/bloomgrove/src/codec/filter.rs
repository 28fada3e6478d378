//! A compressed filter as a message.
//!
//! ```text
//!   | head: parameters, framing | notes, if any | frame | frame | ... | end |
//! ```
//!
//! Works for any family and layout; the decompressed filter has the same parameters and bits.
//! Compression pays if the fill is far from one half: a filter with the optimal number of
//! hashes is half full and cannot be made smaller, but one with *fewer hashes and more bits* is
//! sparse, and is smaller when compressed than the optimal filter with the same false-positive
//! rate.
//!
//! Source: Mitzenmacher, "Compressed Bloom filters"; Fu and Biersack (BloomTree), section 2.3.
//!
//! Cost: two passes over the words (the first counts), and memory for one coded frame. A filter
//! larger than memory can be compressed from its map.

use std::io::{Read, Write};

use super::Kind;
use super::bits::{BitDecoder, BitEncoder, Framing, Model};
use super::message::{Reader, Writer};
use crate::bits::{self, Words};
use crate::format::Notes;
use crate::{Error, Filter, Params};

/// The maximum size of the bits that [`expand`](expand()) produces: 1 GiB. A few bytes can
/// represent many bits, so a program that accepts untrusted messages needs a limit that does
/// not come from the message.
pub const LIMIT: u64 = 1 << 30;

/// Tags of frames. FORMAT section 15.
pub(super) const NOTES: u8 = 1;
pub(super) const BITS: u8 = 2;

/// Writes a filter as a message, and returns its size in bytes.
///
/// ```
/// use bloomgrove::{Filter, Params, codec};
///
/// // One hash and many bits: the filter is sparse and compresses well.
/// let mut filter = Filter::new(Params::builder(1 << 20, 1).build()?)?;
/// filter.insert_batch(&(0..10_000u64).collect::<Vec<_>>());
///
/// let mut message = Vec::new();
/// let bytes = codec::compress(&filter, &mut message)?;
/// assert_eq!(bytes, message.len() as u64);
/// assert!(bytes < (1 << 20) / 8 / 10);
///
/// assert!(codec::expand(&message[..])? == filter);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
///
/// # Errors
/// [`Error::Io`].
pub fn compress<S: AsRef<[u64]>>(filter: &Filter<S>, out: impl Write) -> Result<u64, Error> {
    compress_with(filter, Model::default(), &Notes::new(), out)
}

/// Like [`compress`](compress()), with a given model and notes for the receiver.
///
/// # Errors
/// [`Error::Io`].
pub fn compress_with<S: AsRef<[u64]>>(
    filter: &Filter<S>,
    model: Model,
    notes: &Notes,
    out: impl Write,
) -> Result<u64, Error> {
    let words = filter.words();
    let framing = Framing::new(model, filter.params().bits(), bits::count(words));
    let mut head = Vec::new();
    put_params(&mut head, filter.params());
    framing.write(&mut head);
    let mut message = Writer::new(out, Kind::Filter, &head)?;
    put_notes(&mut message, notes)?;
    let mut encoder = BitEncoder::new(framing.clone());
    let mut coded = Vec::new();
    for frame in words.chunks(framing.frame_words()) {
        encoder.frame(frame, &mut coded);
        message.frame(BITS, &coded)?;
    }
    message.finish()
}

/// Reads a filter from a message, and checks all of it.
///
/// # Errors
/// [`Error::TooLarge`] above [`LIMIT`]; [`Error::Message`], [`Error::WrongContent`] and
/// [`Error::Version`] if the input is not a filter message; [`Error::OutOfMemory`];
/// [`Error::Io`].
pub fn expand(input: impl Read) -> Result<Filter, Error> {
    expand_within(input, LIMIT).map(|(filter, _)| filter)
}

/// Like [`expand`](expand()), with the notes that came with it, and up to `limit` bytes of
/// bits.
///
/// # Errors
/// As for [`expand`](expand()).
pub fn expand_within(input: impl Read, limit: u64) -> Result<(Filter, Notes), Error> {
    let mut message = Reader::open(input, Kind::Filter)?;
    let mut head = message.params();
    let params = take_params(&mut head).map_err(|error| message.locate(error))?;
    let framing = Framing::read(&mut head, params.bits()).map_err(|error| message.locate(error))?;
    if !head.is_empty() {
        return Err(message.damaged("the head is too long"));
    }
    let bytes = params.bits().div_ceil(64) * 8;
    if bytes > limit {
        return Err(Error::TooLarge { bytes, limit });
    }
    let mut coded = Vec::new();
    let (notes, mut ready) = take_notes(&mut message, &mut coded)?;
    let mut words = Words::zeroed(params.words())?;
    let mut decoder = BitDecoder::new(framing.clone());
    for frame in words.as_mut().chunks_mut(framing.frame_words()) {
        if !std::mem::take(&mut ready) {
            message.expect(BITS, &mut coded)?;
        }
        let decoded = decoder.frame(&coded, frame);
        decoded.map_err(|error| message.locate(error))?;
    }
    message.finish()?;
    Ok((Filter::from_words(params, words)?, notes))
}

/// Returns the parameters of the filter in a message, or of the filters that a delta applies
/// to, without decoding the bits. Use it to decide whether to accept the message.
///
/// # Errors
/// As for [`expand`](expand()), except for the bits.
pub fn params_of(message: &[u8]) -> Result<Params, Error> {
    let kind = match Kind::of_start(message) {
        Some(Kind::Delta) => Kind::Delta,
        _ => Kind::Filter,
    };
    let message = Reader::open(message, kind)?;
    take_params(&mut message.params()).map_err(|error| message.locate(error))
}

/// Writes notes, if there are any.
pub fn put_notes<W: Write>(message: &mut Writer<W>, notes: &Notes) -> Result<(), Error> {
    let bytes = notes.to_bytes();
    match bytes.is_empty() {
        true => Ok(()),
        false => message.frame(NOTES, &bytes),
    }
}

/// Returns the notes, if the message has any, and whether `payload` already contains the frame
/// after them, which is a frame of bits.
pub(super) fn take_notes<R: Read>(
    message: &mut Reader<R>,
    payload: &mut Vec<u8>,
) -> Result<(Notes, bool), Error> {
    match message.next(payload)? {
        Some(BITS) => Ok((Notes::new(), true)),
        Some(NOTES) if !payload.is_empty() => {
            let notes = Notes::from_bytes(payload);
            let notes = notes.ok_or_else(|| message.damaged("the notes are invalid"))?;
            Ok((notes, false))
        }
        _ => Err(message.damaged("expected bits or notes here")),
    }
}

/// Appends the bytes of FORMAT section 4 without their zeros: the number of groups of eight
/// bytes, and for each group a byte that says which of its bytes follow.
pub fn put_params(out: &mut Vec<u8>, params: &Params) {
    let bytes = params.to_bytes();
    let (eights, _) = bytes.as_chunks::<8>();
    out.push(eights.len() as u8);
    for eight in eights {
        let there = (0..8).filter(|&i| eight[i] != 0);
        out.push(there.map(|i| 1 << i).sum());
        out.extend(eight.iter().filter(|&&byte| byte != 0));
    }
}

/// Reads parameters from the front of `bytes`.
///
/// # Errors
/// [`Error::Message`] if they are damaged.
pub fn take_params(bytes: &mut &[u8]) -> Result<Params, Error> {
    let mut next = || {
        let (&first, rest) = bytes
            .split_first()
            .ok_or_else(|| Error::message(0, "it ends inside the parameters"))?;
        *bytes = rest;
        Ok(first)
    };
    let mut spelled = Vec::new();
    for _ in 0..next()? {
        let there = next()?;
        for i in 0..8 {
            spelled.push(match there & (1 << i) {
                0 => 0,
                _ => match next()? {
                    0 => return Err(Error::message(0, "a zero byte that should be omitted")),
                    byte => byte,
                },
            });
        }
    }
    Params::from_bytes(&spelled).map_err(|what| Error::message(0, what))
}
