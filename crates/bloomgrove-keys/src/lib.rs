//! What the keys of a text are, and which of them a search pattern needs.
//!
//! ```text
//!   a text    --Extraction-->  its keys   -->  a Bloom filter
//!   a pattern --Pattern----->  the keys that a match needs  -->  is the text a candidate?
//! ```
//!
//! An index of texts answers "which of them may contain this?" only if a query is turned into keys
//! by the same rule as the texts were. [`Extraction`] is that rule. It is stored with the index.
//!
//! A text whose keys do not meet the condition of [`Pattern::needed`] has no match. A text that
//! meets it may have one: it is a candidate, to be searched. What the extraction cannot decide is
//! a candidate, too.
//!
//! ```
//! use bloomgrove_keys::{Extraction, Pattern};
//! use std::collections::HashSet;
//!
//! let mut keys = HashSet::new();
//! Extraction::Tokens.each_key(b"2026-11-04 GET /order/4711", &mut |key| {
//!     keys.insert(key.to_vec());
//!     Ok::<_, bloomgrove_keys::Error>(())
//! })?;
//!
//! let candidate = |pattern: Pattern| {
//!     pattern.needed(&Extraction::Tokens).may_match(&mut |key| keys.contains(key))
//! };
//! assert!(candidate(Pattern::words("order/4711")));
//! assert!(!candidate(Pattern::words("4712")));
//! assert!(candidate(Pattern::regex(r"order/\d+")?)); // no complete token: undecided
//! # Ok::<(), bloomgrove_keys::Error>(())
//! ```
//!
//! | file | contains |
//! |---|---|
//! | `extraction.rs` | [`Extraction`]: the kinds, their names, keys of a text |
//! | `tokens.rs`, `ngrams.rs`, `json.rs` | the kinds that take more than a line |
//! | `chars.rs` | word characters; characters that are equal except for case |
//! | `pattern.rs`, `needed.rs` | [`Pattern`] and [`Needed`]: from a query to a condition on keys |

mod chars;
mod extraction;
mod json;
mod needed;
mod ngrams;
mod pattern;
mod tokens;

pub use extraction::{Extraction, ValuePattern};
pub use needed::Needed;
pub use pattern::{Pattern, PatternOptions};

/// Why a text has no keys, or a pattern is none.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Not a regular expression.
    Pattern {
        /// What is wrong, and where.
        message: String,
    },
    /// Not the name of an extraction.
    Extraction {
        /// What was given.
        given: String,
    },
    /// A line is not valid JSON.
    Json {
        /// The line, counted from 1 within the text.
        line: u64,
        /// What is wrong.
        message: String,
    },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pattern { message } => f.write_str(message),
            Self::Extraction { given } => write!(
                f,
                "{given:?} is not a way to extract keys; use lines, tokens, ngrams=4, regex=PATTERN, \
                 json=PATH or column=NAME"
            ),
            Self::Json { line, message } => write!(f, "line {line} is not valid JSON ({message})"),
        }
    }
}

impl std::error::Error for Error {}
