//! Texts cut into keys: those that fill a set, and those that are looked up in sets filled so.
//!
//! Memory: the text, its distinct keys, and one line of JSON as a value. Each is charged before it is allocated. Time: as
//! much as for a query, looked at after each piece.

use std::collections::HashSet;
use std::time::Instant;

use bloomgrove_client::api::Key;
use bloomgrove_keys::Extraction;

use super::Coordinator;
use super::query::in_time;
use crate::Error;

/// The size of a piece, apart from the rest of its last line.
const PIECE: usize = 64 << 10;
/// What a key takes in addition to its bytes, in a table of keys and in a list of them.
const AROUND_KEY: usize = 128;
/// What a byte of JSON takes at most, once it is parsed: a list of small objects.
const JSON_BYTE: usize = 100;
/// The longest extraction: a long regular expression takes long to search for.
const LONGEST: usize = 200;
/// The number of keys of a text that are looked up. A set with the text has the others, too.
const LOOKED_UP: usize = 32;

/// Reads the name of an extraction.
pub(super) fn extraction(name: &str) -> Result<Extraction, Error> {
    if name.len() > LONGEST {
        return Err(Error::invalid(format!(
            "extract: it is longer than {LONGEST} bytes"
        )));
    }
    let extraction: Result<Extraction, _> = name.parse();
    match extraction.map_err(|error| Error::invalid(format!("extract: {error}")))? {
        Extraction::Column(_) => Err(Error::invalid(
            "extract: a server does not read tables; send the values of the column, one per line",
        )),
        extraction => Ok(extraction),
    }
}

/// The keys that a set must contain to contain a text.
pub(super) fn needed(extraction: &Extraction, key: &Key) -> Result<Vec<Key>, Error> {
    let text = match key {
        Key::Text(text) if extraction.is_searched() => text,
        whole => return Ok(vec![whole.clone()]),
    };
    let mut keys = HashSet::new();
    let cut = extraction.each_key(text.as_bytes(), &mut |key| match keys.len() < LOOKED_UP {
        true => {
            keys.insert(key.to_vec());
            Ok(())
        }
        false => Err(Stop::Enough),
    });
    match cut {
        Ok(()) | Err(Stop::Enough) => {}
        Err(stop) => return Err(stop.after(0)),
    }
    if keys.is_empty() {
        return Err(Error::invalid(format!(
            "the key {text:?} contains no keys of the kind extract={extraction}, so it cannot be looked up"
        )));
    }
    Ok(keys.into_iter().map(Key::from).collect())
}

impl Coordinator {
    /// Cuts a text into its distinct keys. `take` is called with the number of bytes that they need, and may refuse.
    ///
    /// # Errors
    /// If there is no such extraction, the text does not match it, there are too many keys, or it takes too long; the
    /// errors of `take`.
    pub fn keys_of_text(
        &self,
        text: &[u8],
        extract: &str,
        take: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<Vec<Key>, Error> {
        let extraction = extraction(extract)?;
        let deadline = Instant::now() + self.shared.limits.time;
        let mut rest = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        if matches!(extraction, Extraction::Json(_)) {
            let longest = rest.split(|&byte| byte == b'\n').map(<[u8]>::len).max();
            take((longest.unwrap_or(0) * JSON_BYTE) as u64)?;
        }
        let mut keys: HashSet<Vec<u8>> = HashSet::new();
        let (mut unpaid, mut lines) = (0, 0);
        while !rest.is_empty() {
            in_time(deadline)?;
            let end = rest.iter().skip(PIECE).position(|&byte| byte == b'\n');
            let end = end.map_or(rest.len(), |end| PIECE + end + 1);
            let (piece, later) = rest.split_at(end);
            let cut: Result<(), Stop> = extraction.each_key(piece, &mut |key| {
                if keys.contains(key) {
                    return Ok(());
                }
                unpaid += key.len() + AROUND_KEY;
                if unpaid > PIECE {
                    take(std::mem::take(&mut unpaid) as u64)?;
                }
                keys.insert(key.to_vec());
                Ok(self.check_keys(keys.len())?)
            });
            if let Err(stop) = cut {
                return Err(stop.after(lines));
            }
            lines += piece.iter().filter(|&&byte| byte == b'\n').count() as u64;
            rest = later;
        }
        take(unpaid as u64)?;
        Ok(keys.into_iter().map(Key::from).collect())
    }
}

/// Why an extraction stopped.
enum Stop {
    /// The keys so far are enough.
    Enough,
    Text(bloomgrove_keys::Error),
    Failed(Error),
}

impl Stop {
    /// The error in a piece after this many lines.
    fn after(self, lines: u64) -> Error {
        match self {
            Stop::Failed(error) => error,
            Stop::Text(bloomgrove_keys::Error::Json { line, message }) => {
                let line = lines + line;
                Error::invalid(bloomgrove_keys::Error::Json { line, message }.to_string())
            }
            Stop::Text(error) => Error::invalid(error.to_string()),
            Stop::Enough => Error::invalid("too many keys"),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

impl From<bloomgrove_keys::Error> for Stop {
    fn from(error: bloomgrove_keys::Error) -> Self {
        Stop::Text(error)
    }
}
