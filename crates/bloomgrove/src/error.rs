//! The error type of this crate. Every message says what is wrong, where, and what to do about it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::{error, fmt, io};

use crate::numbers::Grouped;

/// The reason why an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The filters were built with different parameters, so they cannot be combined.
    Incompatible {
        /// The parameters of the filter the method was called on.
        left: String,
        /// The parameters of the other filter.
        right: String,
    },
    /// The trees have different shapes, so they cannot be combined.
    DifferentTrees {
        /// The shape of the tree the method was called on.
        left: String,
        /// The shape of the other tree.
        right: String,
    },
    /// The parameters are invalid.
    Params {
        /// The rule that they break.
        what: String,
    },
    /// No filter of this kind reaches the requested false-positive rate.
    Unreachable {
        /// Why not, and what would.
        what: String,
    },
    /// The filter cannot be folded to half its size.
    Unfoldable {
        /// The reason.
        what: String,
    },
    /// The allocator could not provide this much memory.
    OutOfMemory {
        /// The number of bytes requested.
        bytes: u64,
    },
    /// The file was written in a format version that this build cannot read.
    Version {
        /// The version in the file.
        found: u16,
        /// The newest version that this build reads.
        newest: u16,
    },
    /// The file is empty, or does not begin like a `.grove` file.
    NotGrove {
        /// Whether it is empty.
        empty: bool,
    },
    /// The data is damaged or truncated.
    Corrupt {
        /// The part of the file.
        section: &'static str,
        /// The start of that part, in bytes from the start of the file.
        offset: u64,
        /// What is wrong with it.
        what: Cow<'static, str>,
    },
    /// The file is intact, but its content is of a different kind than expected.
    WrongContent {
        /// The content of the file.
        found: &'static str,
        /// The content that was expected.
        wanted: &'static str,
    },
    /// The file that would be replaced is of a different kind than the one to be written.
    WouldReplace {
        /// Its content, if it could be recognized.
        found: Option<&'static str>,
        /// The content to be written.
        wanted: &'static str,
    },
    /// The message is damaged, truncated, or not a message.
    Message {
        /// The position of the error, in bytes from the start of the message.
        offset: u64,
        /// What is wrong there.
        what: Cow<'static, str>,
    },
    /// The message would expand to more than the receiver allows.
    TooLarge {
        /// The memory that its content would take, in bytes.
        bytes: u64,
        /// The number of bytes allowed.
        limit: u64,
    },
    /// The delta was made from different bits than those it was applied to.
    OtherVersion {
        /// The fingerprint of the bits it was made from.
        wanted: u64,
        /// The fingerprint of the bits it was applied to.
        found: u64,
    },
    /// The index contains no set with this name.
    UnknownSet {
        /// The name.
        name: String,
    },
    /// The index already contains a set with this name.
    DuplicateSet {
        /// The name.
        name: String,
    },
    /// The names do not form a valid namespace, or not one for this filter.
    Namespace {
        /// The reason.
        what: String,
    },
    /// The filter accepts none of the names that were tested.
    NoMember {
        /// The number of names.
        names: u64,
    },
    /// The members of the filter cannot be found by the requested method.
    Closed {
        /// Why not, and what would make it possible.
        what: String,
    },
    /// The expression over filters cannot be parsed.
    Expression {
        /// The expression.
        text: String,
        /// The position of the error: the number of the character, counted from 1.
        at: usize,
        /// What is wrong there.
        what: String,
    },
    /// The caller stopped the operation.
    Interrupted,
    /// The scope belongs to an index that has since been rearranged.
    Stale,
    /// Another process is changing the file.
    Busy,
    /// The file has been replaced since it was opened.
    Replaced,
    /// The file is finished: nothing more can be added to it.
    Finished,
    /// The memory limit is too small for this operation.
    Budget {
        /// The limit, in bytes.
        given: u64,
        /// The smallest limit that would do.
        least: u64,
    },
    /// The operation is not supported on this machine.
    Unsupported {
        /// What is not supported, and what to do instead.
        what: &'static str,
    },
    /// The operating system reported an error.
    Io {
        /// What was being done.
        doing: &'static str,
        /// The error it reported.
        source: io::Error,
    },
    /// Any of the other errors, with the file it is about.
    InFile {
        /// The file.
        path: PathBuf,
        /// The error.
        source: Box<Error>,
    },
}

impl Error {
    #[doc(hidden)]
    pub fn params(what: impl Into<String>) -> Self {
        Error::Params { what: what.into() }
    }

    #[doc(hidden)]
    pub fn namespace(what: impl Into<String>) -> Self {
        Error::Namespace { what: what.into() }
    }

    #[doc(hidden)]
    pub fn corrupt(section: &'static str, offset: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Error::Corrupt {
            section,
            offset,
            what: what.into(),
        }
    }

    #[doc(hidden)]
    pub fn message(offset: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Error::Message {
            offset,
            what: what.into(),
        }
    }

    #[doc(hidden)]
    pub fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Error::Io { doing, source }
    }

    /// Adds the path of the file that the error is about.
    #[doc(hidden)]
    pub fn in_file(path: &Path) -> impl FnOnce(Self) -> Self {
        move |error| Error::InFile {
            path: path.to_owned(),
            source: Box::new(error),
        }
    }

    /// Returns the error itself, without the path of its file.
    pub fn kind(&self) -> &Error {
        match self {
            Error::InFile { source, .. } => source.kind(),
            other => other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Incompatible { left, right } => write!(
                f,
                "the filters cannot be combined because their parameters differ:\n  one has {left}\n  \
                 the other has {right}\nbuild both with the same size, hashes, layout, family and seed"
            ),
            Error::DifferentTrees { left, right } => write!(
                f,
                "the trees cannot be combined because their shapes differ:\n  one has {left}\n  \
                 the other has {right}\nbuild both with the same levels, hashes, family and seed"
            ),
            Error::Params { what } => write!(f, "invalid parameters: {what}"),
            Error::Unreachable { what } => write!(f, "no filter meets these requirements: {what}"),
            Error::Unfoldable { what } => write!(f, "this filter cannot be folded: {what}"),
            Error::OutOfMemory { bytes } => write!(
                f,
                "not enough memory for {} bytes; use a smaller filter (fewer items, or a higher \
                 false-positive rate), or raise the memory limit if there is one",
                Grouped(*bytes)
            ),
            Error::Version { found, newest } => write!(
                f,
                "written in format version {found}, but this build only reads up to {newest}; \
                 use a newer bloomgrove, or rebuild the file with this one"
            ),
            Error::NotGrove { empty: true } => write!(f, "the file is empty, not a .grove file"),
            Error::NotGrove { empty: false } => write!(f, "not a .grove file"),
            Error::Corrupt {
                section,
                offset,
                what,
            } => write!(
                f,
                "damaged: {section} at byte {}: {what}; restore it from a backup or rebuild it",
                Grouped(*offset)
            ),
            Error::WrongContent { found, wanted } => {
                write!(f, "contains {found}, not {wanted}")
            }
            Error::WouldReplace { found, wanted } => match found {
                Some(found) => write!(
                    f,
                    "this file is {found}, not {wanted}, and would be overwritten; remove it \
                     or choose another name"
                ),
                None => write!(
                    f,
                    "this file is not {wanted}, and would be overwritten; remove it or \
                     choose another name"
                ),
            },
            Error::Message { offset, what } => write!(
                f,
                "damaged at byte {}: {what}; have it sent again",
                Grouped(*offset)
            ),
            Error::TooLarge { bytes, limit } => write!(
                f,
                "the message expands to {} bytes, but only {} are allowed; if you trust its \
                 sender, allow more (`--memory`)",
                Grouped(*bytes),
                Grouped(*limit)
            ),
            Error::OtherVersion { wanted, found } => write!(
                f,
                "the delta was made from another version of this filter: it applies to bits with \
                 fingerprint {wanted:016x}, but these have {found:016x}; apply every delta once \
                 and in order, or request the whole filter"
            ),
            Error::UnknownSet { name } => write!(f, "there is no set named {name}"),
            Error::DuplicateSet { name } => write!(
                f,
                "a set named {name} already exists; update or replace it, or choose another name"
            ),
            Error::Namespace { what } => write!(f, "invalid namespace: {what}"),
            Error::NoMember { names } => write!(
                f,
                "the filter accepts none of the {} names; was it built from other names, or were \
                 they encoded differently (integers as text, or as numbers)?",
                Grouped(*names)
            ),
            Error::Closed { what } => write!(f, "this method is not available: {what}"),
            Error::Expression { text, .. } if text.trim().is_empty() => {
                write!(
                    f,
                    "the expression is empty; name a set, or several sets joined by & and |"
                )
            }
            Error::Expression { text, at, what } => {
                // The start of a long expression is enough.
                let start = text
                    .char_indices()
                    .nth(200)
                    .map_or(text.len(), |(end, _)| end);
                let more = if start < text.len() { "..." } else { "" };
                write!(f, "in {}{more}, at character {at}: {what}", &text[..start])
            }
            Error::Interrupted => write!(f, "interrupted; nothing was changed"),
            Error::Stale => write!(
                f,
                "the index has changed since this scope was created; create it again"
            ),
            Error::Busy => write!(
                f,
                "another process is changing this file; wait for it to finish"
            ),
            Error::Replaced => write!(
                f,
                "this file has been replaced since it was opened; open it again and repeat the \
                 changes"
            ),
            Error::Finished => write!(
                f,
                "this filter is finished, so keys can no longer be added; build a new one"
            ),
            Error::Budget { given, least } => write!(
                f,
                "a memory limit of {} bytes is too small for the pages and their pending entries, \
                 which need {}; allow more, or choose another page size",
                Grouped(*given),
                Grouped(*least)
            ),
            Error::Unsupported { what } => write!(f, "not supported here: {what}"),
            // With the path in front, what failed is clear, and so it is if we say it ourselves.
            Error::Io {
                doing: "opening",
                source,
            } => write!(f, "{source}"),
            Error::Io {
                doing: "writing",
                source,
            } if source.get_ref().is_some() => write!(f, "{source}"),
            Error::Io { doing, source } => write!(f, "{doing}: {source}"),
            Error::InFile { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        // The messages above include the errors they wrap, so the chain continues after those:
        // printing a whole chain repeats nothing.
        match self {
            Error::Io { source, .. } => source.source(),
            Error::InFile { source, .. } => source.source(),
            _ => None,
        }
    }
}
