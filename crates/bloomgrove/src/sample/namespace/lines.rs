//! A sorted list of strings, one per line, in memory or in a mapped file.
//!
//! ```text
//!   text     |ada\nalan\nbarbara\n ... |
//!   starts   where every 16th line begins
//! ```
//!
//! Only the starts are stored in addition to the text: half a byte per line. Cost: finding a
//! line skips at most 15 others.

use std::fs::File;
use std::path::Path;

use crate::Error;
use crate::bits::Words;
use crate::format::{MappedBytes, Store};

/// The start of every line whose number is a multiple of this is stored.
const STRIDE: u64 = 16;
/// Files up to this size are read; larger ones are mapped.
const READ: u64 = 256 << 20;

#[derive(Debug)]
pub(in crate::sample) struct Lines {
    len: u64,
    text: Text,
    starts: Store,
}

#[derive(Debug)]
enum Text {
    Owned(Vec<u8>),
    Mapped(MappedBytes),
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        match self {
            Text::Owned(bytes) => bytes,
            Text::Mapped(bytes) => bytes.as_ref(),
        }
    }
}

/// Two lines in the wrong order: the second does not sort after the first.
#[derive(Debug, PartialEq)]
pub(in crate::sample) struct Disorder {
    /// The number of the second line, starting at 1.
    pub(in crate::sample) line: u64,
    pub(in crate::sample) before: Vec<u8>,
    pub(in crate::sample) after: Vec<u8>,
}

impl Lines {
    /// Creates a list of the lines of a text. A carriage return before a line feed is not part
    /// of the line.
    ///
    /// # Errors
    /// An allocation failure; in the inner result, the first two lines that are out of order.
    pub(in crate::sample) fn of_text(text: Vec<u8>) -> Result<Result<Self, Disorder>, Error> {
        Self::of(Text::Owned(text))
    }

    /// Creates a list of the lines of a file, which is mapped if it is large.
    pub(in crate::sample) fn of_file(path: &Path) -> Result<Result<Self, Disorder>, Error> {
        let open = || {
            let about = std::fs::metadata(path).map_err(Error::io("opening"))?;
            if !about.is_file() {
                let what = "not a regular file";
                return Err(Error::io("opening")(std::io::Error::other(what)));
            }
            if about.len() <= READ {
                return std::fs::read(path)
                    .map(Text::Owned)
                    .map_err(Error::io("reading"));
            }
            let file = File::open(path).map_err(Error::io("opening"))?;
            MappedBytes::of_file(&file).map(Text::Mapped)
        };
        open().and_then(Self::of).map_err(Error::in_file(path))
    }

    fn of(text: Text) -> Result<Result<Self, Disorder>, Error> {
        let mut starts = Vec::new();
        let (mut len, mut at) = (0, 0);
        let mut before: &[u8] = &[];
        let bytes = text.as_ref();
        while let Some((line, next)) = line_at(bytes, at) {
            if len > 0 && line <= before {
                return Ok(Err(Disorder {
                    line: len + 1,
                    before: before.to_vec(),
                    after: line.to_vec(),
                }));
            }
            if len % STRIDE == 0 {
                starts.push(at as u64);
            }
            before = line;
            len += 1;
            at = next;
        }
        let starts = Store::Owned(Words::copy_of(&starts)?);
        Ok(Ok(Self { len, text, starts }))
    }

    /// Creates a list from the bytes of [`text`](Self::text) and [`starts`](Self::starts), or
    /// returns `None` if they are inconsistent.
    pub(in crate::sample) fn from_parts(
        len: u64,
        text: MappedBytes,
        starts: Store,
    ) -> Option<Self> {
        let places = starts.as_ref();
        let inside = places.iter().all(|&at| at < text.as_ref().len() as u64);
        let fits = len > 0 && places.len() as u64 == len.div_ceil(STRIDE) && inside;
        fits.then_some(Self {
            len,
            text: Text::Mapped(text),
            starts,
        })
    }

    pub(in crate::sample) fn text(&self) -> &[u8] {
        self.text.as_ref()
    }

    pub(in crate::sample) fn starts(&self) -> &[u64] {
        self.starts.as_ref()
    }

    pub(in crate::sample) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the size in bytes, in memory or mapped.
    pub(in crate::sample) fn bytes(&self) -> u64 {
        self.text().len() as u64 + self.starts.bytes()
    }

    /// Returns line number `rank`, starting at 0.
    ///
    /// # Panics
    /// If the list has no such rank.
    pub(in crate::sample) fn get(&self, rank: u64) -> &[u8] {
        assert!(rank < self.len, "rank {rank} of {}", self.len);
        // A damaged file may contain fewer lines than it claims.
        self.from(rank).next().unwrap_or(&[])
    }

    /// Returns the lines starting at number `rank`.
    pub(in crate::sample) fn from(&self, rank: u64) -> impl Iterator<Item = &[u8]> {
        let text = self.text();
        let start = self.starts().get((rank / STRIDE) as usize);
        let mut at = start.map_or(text.len(), |&at| at as usize);
        let lines = std::iter::from_fn(move || {
            let (line, next) = line_at(text, at)?;
            at = next;
            Some(line)
        });
        lines.skip((rank % STRIDE) as usize)
    }

    /// Returns how many lines sort before `text`.
    pub(in crate::sample) fn below(&self, text: &[u8]) -> u64 {
        let starts = self.starts();
        let begins_below =
            |&at: &u64| line_at(self.text(), at as usize).is_some_and(|(line, _)| line < text);
        let Some(block) = starts.partition_point(begins_below).checked_sub(1) else {
            return 0;
        };
        let first = block as u64 * STRIDE;
        let lines = self.from(first).take(STRIDE as usize);
        first + lines.take_while(|line| *line < text).count() as u64
    }
}

/// Appends a line. A carriage return at its end is doubled, so that one remains part of the
/// line.
pub(super) fn push_line(text: &mut Vec<u8>, line: &[u8]) {
    text.extend_from_slice(line);
    if line.ends_with(b"\r") {
        text.push(b'\r');
    }
    text.push(b'\n');
}

/// Returns the line that begins at `at`, and the start of the next one.
#[inline]
fn line_at(text: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let line = &rest[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), at + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Lines {
        Lines::of_text(text.into()).unwrap().unwrap()
    }

    #[test]
    fn lines_are_found_by_number_and_by_text() {
        let names: Vec<String> = (0..1000).map(|i| format!("name {:04}", i * 7)).collect();
        for ending in ["\n", "\r\n"] {
            for last in ["", ending] {
                let list = lines(&(names.join(ending) + last));
                assert_eq!(list.len(), 1000);
                for (rank, name) in names.iter().enumerate() {
                    assert_eq!(list.get(rank as u64), name.as_bytes());
                    assert_eq!(list.below(name.as_bytes()), rank as u64);
                }
                assert_eq!(list.below(b"name 0008"), 2);
                assert_eq!(list.below(b""), 0);
                assert_eq!(list.below(b"zzz"), 1000);
                assert_eq!(list.from(990).count(), 10);
            }
        }
    }

    #[test]
    fn an_empty_line_is_the_empty_name_and_an_empty_text_has_none() {
        assert_eq!(lines("\na\n").get(0), b"");
        assert_eq!(lines("").len(), 0);
    }

    #[test]
    fn disorder_and_repetition_are_found() {
        for (text, line) in [("a\nc\nb\n", 3), ("a\na\n", 2), ("b\na", 2)] {
            let disorder = Lines::of_text(text.into()).unwrap().unwrap_err();
            assert_eq!(disorder.line, line, "{text}");
        }
    }
}
