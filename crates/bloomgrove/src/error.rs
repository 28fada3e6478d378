//! Everything that can go wrong, with what a user needs to put it right.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::{error, fmt, io};

/// Why an operation could not be done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The filters were built with different parameters, so no set operation
    /// between them means anything.
    Incompatible {
        /// The parameters of the filter acted on.
        left: String,
        /// The parameters of the filter given to it.
        right: String,
    },
    /// The trees have different shapes, so no set operation between them means anything.
    DifferentTrees {
        /// The shape of the tree acted on.
        left: String,
        /// The shape of the tree given to it.
        right: String,
    },
    /// These parameters describe no filter.
    Params {
        /// Which rule they break.
        what: String,
    },
    /// No filter of the kind asked for reaches the rate asked for.
    Unreachable {
        /// Why, and what would.
        what: String,
    },
    /// The filter cannot be halved.
    Unfoldable {
        /// Why.
        what: String,
    },
    /// The machine would not give this much memory.
    OutOfMemory {
        /// How much was asked for.
        bytes: u64,
    },
    /// The file was written by a version this build cannot read.
    Version {
        /// The version in the file.
        found: u16,
        /// The newest version this build reads.
        newest: u16,
    },
    /// The bytes are damaged, cut short, or were never ours.
    Corrupt {
        /// The part of the file.
        section: &'static str,
        /// Where that part begins, in bytes from the start of the file.
        offset: u64,
        /// What is wrong with it.
        what: Cow<'static, str>,
    },
    /// A whole file of ours, but of another kind than asked for.
    WrongContent {
        /// What is in the file.
        found: &'static str,
        /// What was asked for.
        wanted: &'static str,
    },
    /// The file that would be replaced is of another kind than the one to write.
    WouldReplace {
        /// What it is, if that can be told.
        found: Option<&'static str>,
        /// What was to be written.
        wanted: &'static str,
    },
    /// A message is damaged, cut short, or was never one.
    Message {
        /// Where, in bytes from its start.
        offset: u64,
        /// What is wrong there.
        what: Cow<'static, str>,
    },
    /// A message holds more than the receiver allows.
    TooLarge {
        /// The bytes of memory that what it holds would take.
        bytes: u64,
        /// The bytes allowed.
        limit: u64,
    },
    /// A delta made from other bits than those it should change.
    OtherVersion {
        /// The fingerprint of the bits it was made from.
        wanted: u64,
        /// The fingerprint of the bits given.
        found: u64,
    },
    /// The index has no set of this name.
    UnknownSet {
        /// The name.
        name: String,
    },
    /// The index has a set of this name already.
    DuplicateSet {
        /// The name.
        name: String,
    },
    /// These names are no namespace, or not one of this filter.
    Namespace {
        /// Why.
        what: String,
    },
    /// Of all names that were looked at, the filter accepts none.
    NoMember {
        /// How many names there are.
        names: u64,
    },
    /// This way to the members of a filter is not open.
    Closed {
        /// Why, and what would open it.
        what: String,
    },
    /// An expression of filters cannot be read.
    Expression {
        /// The expression.
        text: String,
        /// The number of the character, counted from 1.
        at: usize,
        /// What is wrong there.
        what: String,
    },
    /// The caller wanted no more.
    Interrupted,
    /// A scope of an index that has since been laid out anew.
    Stale,
    /// Somebody else is changing the file.
    Busy,
    /// The file has been replaced by another since it was opened.
    Replaced,
    /// The file is finished: nothing more can be added to it.
    Finished,
    /// The memory allowed is too little for the work.
    Budget {
        /// The bytes allowed.
        given: u64,
        /// The least that would do.
        least: u64,
    },
    /// This machine cannot do it.
    Unsupported {
        /// What, and what to do instead.
        what: &'static str,
    },
    /// The operating system refused.
    Io {
        /// What was being done.
        doing: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// Any of the above, in a certain file.
    InFile {
        /// The file.
        path: PathBuf,
        /// What went wrong there.
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

    /// Names the file the error is about.
    #[doc(hidden)]
    pub fn in_file(path: &Path) -> impl FnOnce(Self) -> Self {
        move |error| Error::InFile {
            path: path.to_owned(),
            source: Box::new(error),
        }
    }

    /// The error itself, without the name of its file.
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
                "the filters cannot be combined, they differ in parameters:\n  one is {left}\n  \
                 the other is {right}\nbuild both with the same size, hashes, layout, family and seed"
            ),
            Error::DifferentTrees { left, right } => write!(
                f,
                "the trees cannot be combined, they differ in shape:\n  one is {left}\n  \
                 the other is {right}\nbuild both with the same levels, hashes, family and seed"
            ),
            Error::Params { what } => write!(f, "not a possible filter: {what}"),
            Error::Unreachable { what } => write!(f, "no such filter: {what}"),
            Error::Unfoldable { what } => write!(f, "this filter cannot be folded: {what}"),
            Error::OutOfMemory { bytes } => write!(
                f,
                "not enough memory for {bytes} bytes; take a smaller filter (fewer items, or a \
                 higher false-positive rate), or allow more memory where that can be said"
            ),
            Error::Version { found, newest } => write!(
                f,
                "written in format version {found}, and this build reads up to {newest}; \
                 use a newer bloomgrove, or build the file again with this one"
            ),
            Error::Corrupt {
                section,
                offset,
                what,
            } => write!(
                f,
                "damaged or not a .grove file: {section} at byte {offset}: {what}; \
                 restore it from a copy or build it again"
            ),
            Error::WrongContent { found, wanted } => {
                write!(f, "holds {found}, and {wanted} is needed here")
            }
            Error::WouldReplace { found, wanted } => match found {
                Some(found) => write!(
                    f,
                    "this file is {found}, not {wanted}, and would be lost; remove it or name another"
                ),
                None => write!(
                    f,
                    "this file is not {wanted}, and would be lost; remove it or name another"
                ),
            },
            Error::Message { offset, what } => write!(
                f,
                "not a whole message: at byte {offset}: {what}; have it sent again"
            ),
            Error::TooLarge { bytes, limit } => write!(
                f,
                "the message holds {bytes} bytes once it is expanded, and {limit} are allowed; if \
                 you trust its sender, allow more (`--memory`)"
            ),
            Error::OtherVersion { wanted, found } => write!(
                f,
                "the delta was made from another version of this filter: it changes bits with the \
                 fingerprint {wanted:016x}, and these have {found:016x}; apply the deltas in \
                 their order, each once, or have the whole filter sent"
            ),
            Error::UnknownSet { name } => write!(f, "there is no set called {name}"),
            Error::DuplicateSet { name } => write!(
                f,
                "there is a set called {name} already; update or replace that, or take \
                 another name"
            ),
            Error::Namespace { what } => write!(f, "not a possible namespace: {what}"),
            Error::NoMember { names } => write!(
                f,
                "the filter accepts none of the {names} names; was it built from other names, or \
                 from names spelled otherwise (integers as text, or as numbers)?"
            ),
            Error::Closed { what } => write!(f, "there is no such way to the members: {what}"),
            Error::Expression { text, .. } if text.trim().is_empty() => {
                write!(
                    f,
                    "the expression is empty; name a set, or several joined by & and |"
                )
            }
            Error::Expression { text, at, what } => {
                // Nobody reads more than the start of a long one.
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
                "the index has changed since this scope was made; make the scope again"
            ),
            Error::Busy => write!(
                f,
                "another process is changing this file; wait for it to finish"
            ),
            Error::Replaced => write!(
                f,
                "this file has been replaced by another since it was opened; open that, and make \
                 the changes again"
            ),
            Error::Finished => write!(
                f,
                "this filter is finished, and takes no more keys; build another beside it"
            ),
            Error::Budget { given, least } => write!(
                f,
                "{given} bytes of memory are too few for the pages and what waits for them, \
                 {least} would do; allow more, or take pages of another size"
            ),
            Error::Unsupported { what } => write!(f, "not possible here: {what}"),
            Error::Io { doing, source } => write!(f, "{doing}: {source}"),
            Error::InFile { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        // The messages above include what they wrap, so the chain goes on behind it:
        // whoever prints all of a chain reads nothing twice.
        match self {
            Error::Io { source, .. } => source.source(),
            Error::InFile { source, .. } => source.source(),
            _ => None,
        }
    }
}
