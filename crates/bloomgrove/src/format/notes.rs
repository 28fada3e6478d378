//! Notes: facts about a file that are meant for its user, not for its readers.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Content, Grove, Kind, content_of, paged};
use crate::Error;

/// Names and values stored with a file, such as the number of items it was sized for. FORMAT
/// section 6.
///
/// ```
/// use bloomgrove::format::Notes;
///
/// let notes = Notes::new().with("items", 1000).with("origin", "orders, March");
/// assert_eq!(notes.get("items"), Some("1000"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes(BTreeMap<String, String>);

impl Notes {
    /// Creates empty notes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a note. Line breaks in the name or value become spaces, and a `=` in the name becomes a
    /// `-`.
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        let line = |text: &str| text.replace(['\n', '\r'], " ");
        self.0
            .insert(line(name).replace('=', "-"), line(&value.to_string()));
        self
    }

    /// Returns the value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Iterates over all notes, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Reads the notes of a file that contains a filter, whole or in pages, or a tree. Empty if it
    /// has none.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn of_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let whole = match content_of(path)? {
            Content::Paged => {
                let (_, head) = paged::open(path, false).map_err(Error::in_file(path))?;
                return Ok(head.notes);
            }
            content if content.is_whole() => content,
            _ => Content::Filter,
        };
        Self::of(&Grove::open(path, whole)?).map_err(Error::in_file(path))
    }

    #[doc(hidden)]
    pub fn of(grove: &Grove<'_>) -> Result<Self, Error> {
        if grove.find(Kind::Notes).is_none() {
            return Ok(Self::default());
        }
        Self::from_bytes(grove.small(Kind::Notes)?).ok_or_else(|| {
            Error::corrupt(
                Kind::Notes.name(),
                grove.offset(Kind::Notes),
                "it is not a sorted list of name=value lines",
            )
        })
    }

    #[doc(hidden)]
    pub fn to_bytes(&self) -> Vec<u8> {
        let lines = self
            .0
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"));
        lines.collect::<String>().into_bytes()
    }

    #[doc(hidden)]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let lines = std::str::from_utf8(bytes).ok()?.lines();
        let notes = lines.map(|line| {
            let (name, value) = line.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        });
        let notes = Self(notes.collect::<Option<_>>()?);
        // Each value has exactly one encoding: sorted, without duplicate names, every line
        // terminated.
        (notes.to_bytes() == bytes).then_some(notes)
    }
}
