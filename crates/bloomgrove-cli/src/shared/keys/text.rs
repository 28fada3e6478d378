//! The keys of a text: decoded, cut into pieces, and extracted piece by piece.
//!
//! A text is decoded as ripgrep does: a byte-order mark is dropped, and UTF-16 with one becomes
//! UTF-8. Searched as text, it ends at its first NUL byte, where ripgrep stops, too.
//!
//! Memory: a piece, or the longest line if that is longer. Tokens are cut anywhere between two of
//! them, so that a file without line ends can be of any size.

use std::io::{self, Cursor, Read};

use anyhow::{Result, bail};
use bloomgrove_keys::Extraction;
use encoding_rs_io::DecodeReaderBytesBuilder;

use super::{BLOCK, LONGEST};
use crate::shared::interrupt;

/// What was seen of a text beside its keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) line_feeds: u64,
    /// It has a NUL byte; a search as text stops there.
    pub(crate) is_binary: bool,
}

/// Decodes a text as ripgrep does.
pub(crate) fn decoded<'r>(source: impl Read + 'r) -> impl Read + 'r {
    Decoded {
        text: Box::new(source),
        is_begun: false,
    }
}

/// The decoder waits for three bytes, the longest byte-order mark. A line of one character that
/// comes from a pipe is shorter, so the decoder is used only if the first byte can begin a mark.
struct Decoded<'r> {
    text: Box<dyn Read + 'r>,
    is_begun: bool,
}

impl Read for Decoded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.is_begun {
            let mut first = [0];
            let len = self.text.read(&mut first)?;
            let rest = std::mem::replace(&mut self.text, Box::new(io::empty()));
            let source = Cursor::new(first).take(len as u64).chain(rest);
            self.text = match first {
                [0xef | 0xfe | 0xff] => Box::new(
                    DecodeReaderBytesBuilder::new()
                        .utf8_passthru(true)
                        .strip_bom(true)
                        .bom_override(true)
                        .bom_sniffing(true)
                        .build(source),
                ),
                _ => Box::new(source),
            };
            self.is_begun = true;
        }
        self.text.read(buffer)
    }
}

/// Calls `each` on every key of a text.
pub(crate) fn extract(
    source: impl Read,
    extraction: &Extraction,
    each: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Seen> {
    each_piece(source, extraction, |piece, seen| {
        let keys = extraction.each_key(piece, &mut |key| each(key).map_err(Stop::Other));
        keys.map_err(|error| error.after(seen.line_feeds))
    })
}

/// Calls `each` on pieces of a text that divide no key, with what was seen before each.
pub(crate) fn each_piece(
    mut source: impl Read,
    extraction: &Extraction,
    mut each: impl FnMut(&[u8], &Seen) -> Result<()>,
) -> Result<Seen> {
    let mut seen = Seen::default();
    // A small text needs a small buffer: clearing a large one takes longer than reading it.
    let mut buffer = vec![0; 1 << 14];
    let mut len = 0;
    let mut piece = |text: &[u8], seen: &mut Seen| -> Result<()> {
        if !text.is_empty() {
            each(text, seen)?;
        }
        seen.line_feeds += memchr::memchr_iter(b'\n', text).count() as u64;
        Ok(())
    };
    loop {
        interrupt::check()?;
        if len == buffer.len() {
            // No piece ends in all of it.
            refuse_long_line(len, seen.line_feeds)?;
            buffer.resize(2 * len, 0);
        }
        let read = source.read(&mut buffer[len..])?;
        if extraction.is_searched()
            && let Some(nul) = memchr::memchr(0, &buffer[len..len + read])
        {
            seen.is_binary = true;
            piece(&buffer[..len + nul], &mut seen)?;
            return Ok(seen);
        }
        len += read;
        if read == 0 {
            piece(&buffer[..len], &mut seen)?;
            return Ok(seen);
        }
        // Whole pieces are passed on; the rest moves to the front.
        if let Some(end) = end_of_piece(&buffer[..len], extraction) {
            piece(&buffer[..end], &mut seen)?;
            buffer.copy_within(end..len, 0);
            len -= end;
            if buffer.len() < BLOCK && len + read >= buffer.len() / 2 {
                buffer.resize(2 * buffer.len(), 0);
            }
        }
    }
}

/// Where a text can be cut without dividing a key.
fn end_of_piece(text: &[u8], extraction: &Extraction) -> Option<usize> {
    let after = |at: usize| at + 1;
    let line = memchr::memrchr(b'\n', text).map(after);
    match extraction {
        Extraction::Tokens if line.is_none() => {
            let separates =
                |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'_';
            text.iter().rposition(separates).map(after)
        }
        _ => line,
    }
}

fn refuse_long_line(len: usize, lines: u64) -> Result<()> {
    if len >= LONGEST {
        bail!(
            "line {} is longer than {} MiB; is this a file of lines?",
            lines + 1,
            LONGEST >> 20
        );
    }
    Ok(())
}

/// Why an extraction stopped.
enum Stop {
    Keys(bloomgrove_keys::Error),
    Other(anyhow::Error),
}

impl From<bloomgrove_keys::Error> for Stop {
    fn from(error: bloomgrove_keys::Error) -> Self {
        Self::Keys(error)
    }
}

impl Stop {
    /// The error, its line counted from the beginning of the text.
    fn after(self, lines: u64) -> anyhow::Error {
        match self {
            Self::Keys(bloomgrove_keys::Error::Json { line, message }) => {
                bloomgrove_keys::Error::Json {
                    line: lines + line,
                    message,
                }
                .into()
            }
            Self::Keys(error) => error.into(),
            Self::Other(error) => error,
        }
    }
}
