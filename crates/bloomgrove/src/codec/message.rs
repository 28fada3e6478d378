//! The message format for the wire: frames, each with a length and a checksum.
//!
//! ```text
//!   | magic | version | kind | length, parameters | checksum |
//!   | tag | length, payload | checksum |
//!   | tag | length, payload | checksum |    ...
//!   | 0 | frames, bytes | checksum |                     and nothing after it
//! ```
//!
//! A `.grove` file is designed to be mapped and pads everything to 64 bytes; a message is
//! designed to be sent, and has an overhead of about seven bytes per frame and twenty in total.
//! Every byte is described in `FORMAT.md`, section 15.
//!
//! A checksum is 32 bits of the XXH3 of its part, seeded with the checksum before it. This
//! detects parts that are damaged, missing, repeated or out of order, and a message that ends
//! too early, because its end says how much came before.
//!
//! Cost: one pass, with one frame in memory. A reader allocates memory as the bytes arrive,
//! never as they are announced.

use std::io::{ErrorKind, Read, Write};

use xxhash_rust::xxh3::Xxh3;

use super::varint;
use crate::Error;
use crate::format::message::{MAGIC, MessageKind as Kind, VERSION};

/// The maximum length of a frame's payload, and of the parameters.
pub(crate) const LONGEST: usize = 1 << 24;

/// The tag of the last part.
const END: u8 = 0;

/// Reads a whole message and verifies every checksum. The bits in it are not decoded.
///
/// # Errors
/// [`Error::Message`], [`Error::WrongContent`] and [`Error::Version`]; [`Error::Io`].
pub fn check(input: impl Read, kind: Kind) -> Result<(), Error> {
    let (mut message, mut payload) = (Reader::open(input, kind)?, Vec::new());
    while message.next(&mut payload)?.is_some() {}
    Ok(())
}

/// Returns the checksum of a part, given that of the part before.
fn chained(before: u64, part: &[&[u8]]) -> u64 {
    let mut sum = Xxh3::with_seed(before);
    part.iter().for_each(|bytes| sum.update(bytes));
    sum.digest()
}

/// Writes a message to any writer.
pub struct Writer<W> {
    out: W,
    sum: u64,
    frames: u64,
    bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a message.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Unsupported`] for parameters longer than 16 MiB.
    pub fn new(out: W, kind: Kind, params: &[u8]) -> Result<Self, Error> {
        let mut writer = Self {
            out,
            sum: 0,
            frames: 0,
            bytes: 0,
        };
        let mut head = MAGIC.to_vec();
        head.extend([VERSION, kind.code()]);
        writer.part(head, params)?;
        Ok(writer)
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Unsupported`] for a payload longer than 16 MiB.
    ///
    /// # Panics
    /// If the tag is 0, which is reserved for the end.
    pub fn frame(&mut self, tag: u8, payload: &[u8]) -> Result<(), Error> {
        assert_ne!(tag, END, "tag 0 is reserved for the end of the message");
        self.frames += 1;
        self.part(vec![tag], payload)
    }

    fn part(&mut self, mut head: Vec<u8>, payload: &[u8]) -> Result<(), Error> {
        if payload.len() > LONGEST {
            return Err(Error::Unsupported {
                what: "a part of a message longer than 16 MiB; shorten the notes",
            });
        }
        varint::put(&mut head, payload.len() as u64);
        self.send(&[&head, payload])
    }

    fn send(&mut self, part: &[&[u8]]) -> Result<(), Error> {
        self.sum = chained(self.sum, part);
        let sum = (self.sum as u32).to_le_bytes();
        for bytes in part.iter().copied().chain([&sum[..]]) {
            self.out.write_all(bytes).map_err(Error::io("writing"))?;
            self.bytes += bytes.len() as u64;
        }
        Ok(())
    }

    /// Ends the message, and returns its size in bytes.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self) -> Result<u64, Error> {
        let mut end = vec![END];
        varint::put(&mut end, self.frames);
        varint::put(&mut end, self.bytes);
        self.send(&[&end])?;
        self.out.flush().map_err(Error::io("writing"))?;
        Ok(self.bytes)
    }
}

/// Reads a message from any reader.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    params: Vec<u8>,
    sum: u64,
    frames: u64,
    /// The number of bytes read.
    bytes: u64,
    /// The offset of the part being read.
    start: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the head of a message.
    ///
    /// # Errors
    /// [`Error::WrongContent`] for a message of another kind; [`Error::Version`];
    /// [`Error::Message`]; [`Error::Io`].
    pub fn open(input: R, wanted: Kind) -> Result<Self, Error> {
        let mut reader = Self {
            input,
            params: Vec::new(),
            sum: 0,
            frames: 0,
            bytes: 0,
            start: 0,
        };
        let mut head = vec![0; MAGIC.len() + 2];
        reader.exact(&mut head)?;
        let (magic, rest) = head.split_at(MAGIC.len());
        if crate::format::is_grove(&head) {
            return Err(Error::WrongContent {
                found: match wanted {
                    Kind::Tree => "a .grove file (see `bloomgrove bloom-tree compress`)",
                    _ => "a .grove file (see `bloomgrove filter compress`)",
                },
                wanted: wanted.name(),
            });
        }
        if magic != MAGIC {
            return Err(Error::WrongContent {
                found: "data that is not a Bloomgrove message",
                wanted: wanted.name(),
            });
        }
        // Before verifying the checksum: a later version may have another head.
        if rest[0] == 0 {
            return Err(Error::message(0, "version 0 does not exist"));
        }
        if rest[0] > VERSION {
            return Err(Error::Version {
                found: rest[0].into(),
                newest: VERSION.into(),
            });
        }
        let kind = Kind::from_code(rest[1]);
        let mut params = Vec::new();
        reader.part(head, &mut params)?;
        let kind = kind.ok_or_else(|| Error::message(0, "unknown kind of message"))?;
        if kind != wanted {
            return Err(Error::WrongContent {
                found: kind.advice(),
                wanted: wanted.name(),
            });
        }
        reader.params = params;
        Ok(reader)
    }

    /// Returns the parameters in the head.
    pub fn params(&self) -> &[u8] {
        &self.params
    }

    /// Reads the next frame into `payload` and returns its tag. Returns `None` at the end, once
    /// it is certain that the whole message was read and nothing follows.
    ///
    /// # Errors
    /// [`Error::Message`]; [`Error::Io`].
    pub fn next(&mut self, payload: &mut Vec<u8>) -> Result<Option<u8>, Error> {
        self.start = self.bytes;
        let tag = self.byte()?;
        if tag != END {
            self.frames += 1;
            self.part(vec![tag], payload)?;
            return Ok(Some(tag));
        }
        let (frames, bytes) = (self.frames, self.start);
        let mut end = vec![END];
        let said = (self.number(&mut end)?, self.number(&mut end)?);
        self.check(&[&end])?;
        if said != (frames, bytes) {
            return Err(self.damaged("its end does not match what came before"));
        }
        self.start = self.bytes;
        let mut more = [0];
        loop {
            match self.input.read(&mut more) {
                Ok(0) => return Ok(None),
                Ok(_) => return Err(self.damaged("there are bytes after its end")),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("reading")(error)),
            }
        }
    }

    /// Like [`next`](Self::next), if the next frame must have this tag.
    ///
    /// # Errors
    /// Also [`Error::Message`] for any other frame, and for the end.
    pub fn expect(&mut self, tag: u8, payload: &mut Vec<u8>) -> Result<(), Error> {
        match self.next(payload)? {
            Some(found) if found == tag => Ok(()),
            _ => Err(self.damaged("expected another part here")),
        }
    }

    /// Checks that nothing but the end follows.
    ///
    /// # Errors
    /// [`Error::Message`]; [`Error::Io`].
    pub fn finish(mut self) -> Result<(), Error> {
        match self.next(&mut Vec::new())? {
            None => Ok(()),
            Some(_) => Err(self.damaged("expected the end of the message here")),
        }
    }

    /// Returns an error about the part that was read last.
    pub fn damaged(&self, what: &'static str) -> Error {
        Error::message(self.start, what)
    }

    /// Adds the offset to an error found inside the part that was read last.
    pub fn locate(&self, error: Error) -> Error {
        match error {
            Error::Message { what, .. } => Error::message(self.start, what),
            other => other,
        }
    }

    /// Reads a length, payload and checksum, after a head that was already read.
    fn part(&mut self, mut head: Vec<u8>, payload: &mut Vec<u8>) -> Result<(), Error> {
        let len = self.number(&mut head)?;
        if len > LONGEST as u64 {
            return Err(self.damaged("the length of a part exceeds the limit"));
        }
        payload.clear();
        // Grows with the bytes that arrive, not with the announced length.
        let read = self.input.by_ref().take(len).read_to_end(payload);
        read.map_err(Error::io("reading"))?;
        self.bytes += payload.len() as u64;
        if payload.len() as u64 != len {
            return Err(self.cut_short());
        }
        self.check(&[&head, payload])
    }

    /// Reads the checksum of a part and verifies it.
    fn check(&mut self, part: &[&[u8]]) -> Result<(), Error> {
        self.sum = chained(self.sum, part);
        let mut sum = [0; 4];
        self.exact(&mut sum)?;
        match u32::from_le_bytes(sum) == self.sum as u32 {
            true => Ok(()),
            false => Err(self.damaged("the checksum does not match")),
        }
    }

    /// Reads a number, and appends its bytes to `head`.
    fn number(&mut self, head: &mut Vec<u8>) -> Result<u64, Error> {
        let number = varint::read(|| {
            let byte = self.byte()?;
            head.push(byte);
            Ok(byte)
        });
        number.map_err(|error| self.locate(error))
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let mut byte = [0];
        self.exact(&mut byte)?;
        Ok(byte[0])
    }

    fn exact(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        match self.input.read_exact(bytes) {
            Ok(()) => self.bytes += bytes.len() as u64,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(self.cut_short()),
            Err(error) => return Err(Error::io("reading")(error)),
        }
        Ok(())
    }

    fn cut_short(&self) -> Error {
        self.damaged("the message is cut short here")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: Kind, params: &[u8], frames: &[(u8, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, kind, params).unwrap();
        for (tag, payload) in frames {
            writer.frame(*tag, payload).unwrap();
        }
        let bytes = writer.finish().unwrap();
        assert_eq!(bytes, out.len() as u64);
        out
    }

    type Frames = Vec<(u8, Vec<u8>)>;

    fn read(bytes: &[u8], kind: Kind) -> Result<(Vec<u8>, Frames), Error> {
        let mut reader = Reader::open(bytes, kind)?;
        let params = reader.params().to_vec();
        let mut frames = Vec::new();
        let mut payload = Vec::new();
        while let Some(tag) = reader.next(&mut payload)? {
            frames.push((tag, payload.clone()));
        }
        Ok((params, frames))
    }

    fn sample() -> Vec<u8> {
        written(
            Kind::Tree,
            b"parameters",
            &[(1, b"one"), (2, &[7; 200]), (1, b""), (9, b"one")],
        )
    }

    #[test]
    fn what_was_written_is_read() {
        let (params, frames) = read(&sample(), Kind::Tree).unwrap();
        assert_eq!(params, b"parameters");
        let lens: Vec<_> = frames.iter().map(|(tag, of)| (*tag, of.len())).collect();
        assert_eq!(lens, [(1, 3), (2, 200), (1, 0), (9, 3)]);
        let empty = written(Kind::Filter, b"", &[]);
        assert_eq!(empty.len(), 4 + 2 + 1 + 4 + 3 + 4);
        assert_eq!(read(&empty, Kind::Filter).unwrap(), (vec![], vec![]));
    }

    #[test]
    fn every_cut_flip_and_addition_is_noticed() {
        let sample = sample();
        for len in 0..sample.len() {
            let error = read(&sample[..len], Kind::Tree).unwrap_err();
            assert!(matches!(error, Error::Message { .. }), "{len}: {error}");
        }
        for bit in 0..sample.len() * 8 {
            let mut bytes = sample.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&bytes, Kind::Tree).is_err(), "bit {bit}");
        }
        let longer = [&sample[..], &[0]].concat();
        let error = read(&longer, Kind::Tree).unwrap_err().to_string();
        assert!(error.contains("after its end"), "{error}");
    }

    #[test]
    fn parts_out_of_order_are_noticed() {
        // Frames of equal length, so that swapping them leaves only the chained checksums wrong.
        let bytes = written(Kind::Tree, b"", &[(1, b"ab"), (1, b"cd")]);
        let (head, frame) = (4 + 2 + 1 + 4, 1 + 1 + 2 + 4);
        let mut swapped = bytes.clone();
        let (one, two) = swapped[head..head + 2 * frame].split_at_mut(frame);
        one.swap_with_slice(two);
        assert!(read(&swapped, Kind::Tree).is_err());
        let doubled = [&bytes[..head + frame], &bytes[head..]].concat();
        assert!(read(&doubled, Kind::Tree).is_err());
        let dropped = [&bytes[..head], &bytes[head + frame..]].concat();
        assert!(read(&dropped, Kind::Tree).is_err());
    }

    #[test]
    fn other_kinds_and_versions_are_named() {
        let error = read(&sample(), Kind::Filter).unwrap_err().to_string();
        assert_eq!(
            error,
            "contains a compressed BloomTree (see `bloomgrove bloom-tree expand`), not a compressed \
             filter"
        );
        let mut later = sample();
        later[4] = 2;
        let error = read(&later, Kind::Tree).unwrap_err();
        assert!(matches!(
            error,
            Error::Version {
                found: 2,
                newest: 1
            }
        ));
        let grove = b"\x89GROVE\r\n\x01\0\x01\0";
        let error = read(grove, Kind::Delta).unwrap_err().to_string();
        assert!(error.contains("contains a .grove file"), "{error}");
        assert_eq!(Kind::of_start(&sample()), Some(Kind::Tree));
        assert_eq!(Kind::of_start(b"\x89GROVE\r\n"), None);
    }

    /// A part that announces much and contains little allocates only what it contains.
    #[test]
    fn claims_are_not_believed() {
        for len in [LONGEST as u64, LONGEST as u64 + 1, 1 << 60, u64::MAX] {
            let mut bytes = MAGIC.to_vec();
            bytes.extend([VERSION, 1]);
            varint::put(&mut bytes, len);
            bytes.extend([0; 20]);
            let mut reader = Reader {
                input: &bytes[6..],
                params: Vec::new(),
                sum: 0,
                frames: 0,
                bytes: 0,
                start: 0,
            };
            let mut payload = Vec::new();
            assert!(reader.part(Vec::new(), &mut payload).is_err());
            assert!(payload.capacity() < 4096, "{}", payload.capacity());
        }
    }
}
