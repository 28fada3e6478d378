//! The rule by which a text becomes keys.

use std::fmt;
use std::num::NonZeroU8;
use std::str::FromStr;

use regex::bytes::Regex;

use crate::{Error, json, ngrams, tokens};

/// How a text becomes keys, and a query becomes the keys to look for.
///
/// Its name, such as `tokens` or `json=user.id`, is kept with the index ([`Display`](fmt::Display)
/// writes it, [`FromStr`] reads it).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extraction {
    /// Each line, without its line ending.
    Lines,
    /// Each maximal run of word characters, without regard to case.
    Tokens,
    /// Each run of this number of characters within a line, without regard to case.
    Ngrams(NonZeroU8),
    /// What a regular expression matches: its first group, or all of it.
    Regex(ValuePattern),
    /// The values at a path of each line of JSON.
    Json(String),
    /// The values of a column of a table. The caller reads the table; a value is a key.
    Column(String),
}

/// A regular expression whose matches are keys.
#[derive(Clone, Debug)]
pub struct ValuePattern(Regex);

impl PartialEq for ValuePattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for ValuePattern {}

impl Extraction {
    /// Whether a query is a pattern, searched within lines. Otherwise it is a key.
    pub fn is_searched(&self) -> bool {
        matches!(self, Self::Tokens | Self::Ngrams(_))
    }

    /// Whether a query becomes the same keys as with another rule, so that texts of both can be
    /// queried together.
    pub fn is_queried_like(&self, other: &Self) -> bool {
        self == other || !self.is_searched() && !other.is_searched()
    }

    /// Whether keys are the values of a table, which is not read as text.
    pub fn is_in_table(&self) -> bool {
        matches!(self, Self::Column(_))
    }

    /// Calls `each` on every key of a text, duplicates included.
    ///
    /// A long text can be cut at line ends, and its pieces passed one after the other.
    ///
    /// # Errors
    /// Those of `each`, and [`Error::Json`].
    pub fn each_key<E: From<Error>>(
        &self,
        text: &[u8],
        each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Lines | Self::Column(_) => lines(text).try_for_each(each),
            Self::Tokens => tokens::each_token(text, each),
            Self::Ngrams(n) => ngrams::each_ngram(text, usize::from(n.get()), each),
            Self::Regex(ValuePattern(regex)) => {
                for found in lines(text).flat_map(|line| regex.captures_iter(line)) {
                    if let Some(value) = found.get(1).or_else(|| found.get(0)) {
                        each(value.as_bytes())?;
                    }
                }
                Ok(())
            }
            Self::Json(path) => (1..)
                .zip(lines(text))
                .try_for_each(|(number, line)| json::each_value(line, number, path, each)),
        }
    }
}

/// The lines of a text, without their endings.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', text).chain([text.len()]);
    ends.map(move |end| {
        let line = &text[start..end];
        start = end + 1;
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

impl fmt::Display for Extraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines => f.write_str("lines"),
            Self::Tokens => f.write_str("tokens"),
            Self::Ngrams(n) => write!(f, "ngrams={n}"),
            Self::Regex(pattern) => write!(f, "regex={}", pattern.0.as_str()),
            Self::Json(path) => write!(f, "json={path}"),
            Self::Column(name) => write!(f, "column={name}"),
        }
    }
}

impl FromStr for Extraction {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::Extraction { given: text.into() };
        Ok(match text.split_once('=') {
            None if text == "lines" => Self::Lines,
            None if text == "tokens" => Self::Tokens,
            Some(("ngrams", n)) => match n.parse::<NonZeroU8>() {
                Ok(n) if (2..=16).contains(&n.get()) => Self::Ngrams(n),
                _ => return Err(unknown()),
            },
            Some(("regex", pattern)) => {
                let regex = Regex::new(pattern).map_err(|error| Error::Pattern {
                    message: error.to_string(),
                })?;
                Self::Regex(ValuePattern(regex))
            }
            Some(("json", path)) if !path.is_empty() => Self::Json(path.into()),
            Some(("column", name)) if !name.is_empty() => Self::Column(name.into()),
            _ => return Err(unknown()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(extraction: &str, text: &str) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        extraction
            .parse::<Extraction>()?
            .each_key(text.as_bytes(), &mut |key| {
                found.push(String::from_utf8_lossy(key).into_owned());
                Ok::<_, Error>(())
            })?;
        Ok(found)
    }

    #[test]
    fn each_kind_has_its_keys() {
        for (extraction, text, expected) in [
            ("lines", "a b\r\n\nc", &["a b", "", "c"][..]),
            ("tokens", "A b\r\nc-d", &["a", "b", "c", "d"]),
            ("ngrams=3", "Abcd\nxy", &["abc", "bcd"]),
            (r"regex=id=(\w+)", "id=7 id=x\nid=", &["7", "x"]),
            (r"regex=\d+", "7 and 12\n3", &["7", "12", "3"]),
            (
                "json=a.b",
                "{\"a\":[{\"b\":\"x\"},{\"b\":7},{\"b\":null}]}\n\n{}",
                &["x", "7"],
            ),
            ("json=a.b", "{\"a.b\":true}", &["true"]),
            ("json=a", "{\"a\":{\"b\":1}}", &[]),
        ] {
            assert_eq!(keys(extraction, text).unwrap(), expected, "{extraction}");
            let parsed: Extraction = extraction.parse().unwrap();
            assert_eq!(parsed.to_string(), extraction);
        }
        let error = keys("json=a", "{}\n{\"a\"").unwrap_err().to_string();
        assert!(error.starts_with("line 2 is not valid JSON"), "{error}");
        for wrong in [
            "",
            "words",
            "ngrams=1",
            "ngrams=17",
            "ngrams",
            "json=",
            "regex=(",
            "tokens=1",
        ] {
            assert!(wrong.parse::<Extraction>().is_err(), "{wrong}");
        }
    }
}
