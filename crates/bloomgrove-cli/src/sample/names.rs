//! What NAMES means: a range, a file of names, or a name index.
//!
//! ```text
//!   0..10M                 a range; queried in a filter of text as decimal digits
//!   names.txt, .gz, .zst   a list: of text, or of integers for a filter of integers
//!   names.grove            a name index, made by `sample index`
//! ```

use std::ffi::OsStr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use anyhow::{Context, Error, Result, bail};
use bloomgrove::format::{Content, content_of};
use bloomgrove::sample::{NameIndex, Names, Namespace, Spelling};

use crate::shared::keys::{self, KeyKind, KeysArgs};
use crate::shared::output::complain;
use crate::shared::progress::Progress;
use crate::shared::{range, units};

/// An index up to this size is checked before it is used, which takes a tenth of a second: a
/// damaged one would miss members.
const CHECKED_ALWAYS: u64 = 8 << 20;

// A comment here would become the help of the command: this is how NAMES are read.
#[derive(clap::Args)]
pub(crate) struct Reading {
    /// How names are encoded in the filter [default: as its keys were read]
    #[arg(long, value_enum, value_name = "KIND")]
    names_as: Option<KeyKind>,
    /// Sort a list of names in memory, and drop duplicates
    #[arg(long)]
    sort: bool,
    #[command(flatten)]
    from: KeysArgs,
}

/// The names, opened.
pub(super) enum Held {
    Namespace(Namespace),
    Index(Box<NameIndex>),
}

impl Held {
    pub(super) fn names(&self) -> Names<'_> {
        match self {
            Held::Namespace(namespace) => namespace.into(),
            Held::Index(index) => Names::Index(index),
        }
    }

    pub(super) fn namespace(&self) -> &Namespace {
        match self {
            Held::Namespace(namespace) => namespace,
            Held::Index(index) => index.namespace(),
        }
    }

    pub(super) fn index(&self) -> Option<&NameIndex> {
        match self {
            Held::Namespace(_) => None,
            Held::Index(index) => Some(index),
        }
    }
}

enum Source {
    Range(Range<u64>),
    List(PathBuf),
    Index(PathBuf),
}

impl Source {
    fn of(written: &OsStr) -> Result<Self> {
        let path = Path::new(written);
        let text = written.to_string_lossy();
        if written == "-" {
            return Ok(Source::List(path.to_owned()));
        }
        if !path.exists() {
            if range::is_range(&text) {
                return range::parse(&text).map(Source::Range).map_err(Error::msg);
            }
            bail!(
                "{text}: no such file; pass a range such as 0..10M, a file with one name per line, \
                 or an index made by `bloomgrove sample index`"
            );
        }
        match content_of(path) {
            Ok(Content::Names) => Ok(Source::Index(path.to_owned())),
            Ok(content) => bail!(
                "{text}: contains {}, not names; pass a range such as 0..10M, a file with one name \
                 per line, or an index made by `bloomgrove sample index`",
                content
            ),
            Err(error) if path.extension().is_some_and(|ending| ending == "grove") => {
                Err(error.into())
            }
            Err(_) => Ok(Source::List(path.to_owned())),
        }
    }
}

impl Reading {
    /// How names are written, if given.
    pub(super) fn names_as(&self) -> Option<KeyKind> {
        self.names_as
    }

    /// Opens what NAMES means; `usual` is how names are written by default.
    pub(super) fn open(&self, written: &OsStr, usual: KeyKind) -> Result<Held> {
        let kind = self.names_as.unwrap_or(usual);
        match Source::of(written)? {
            Source::Index(path) => {
                self.check_unused("a name index", self.names_as.is_some())?;
                let size = std::fs::metadata(&path).map_or(0, |about| about.len());
                if size <= CHECKED_ALWAYS {
                    bloomgrove::verify(&path)?;
                }
                Ok(Held::Index(Box::new(NameIndex::open(path)?)))
            }
            Source::Range(range) => {
                self.check_unused("a range", false)?;
                let names = Namespace::range(range)?;
                Ok(Held::Namespace(match kind {
                    KeyKind::Text => names.in_decimal()?,
                    KeyKind::Integer => names,
                }))
            }
            Source::List(path) => self.list(&path, kind).map(Held::Namespace),
        }
    }

    /// Rejects options without effect.
    fn check_unused(&self, of: &str, names_as: bool) -> Result<()> {
        let options = [
            (names_as, "--names-as"),
            (self.sort, "--sort"),
            (self.from.is_given(), "--column"),
        ];
        match options.iter().find(|(given, _)| *given) {
            Some((_, option)) => bail!("{option} does not apply to {of}"),
            None => Ok(()),
        }
    }

    fn list(&self, path: &Path, kind: KeyKind) -> Result<Namespace> {
        self.read_list(path, kind).map_err(|error| {
            let disorder = error.chain().any(|cause| {
                let kind = cause.downcast_ref::<bloomgrove::Error>();
                kind.is_some_and(|error| error.to_string().contains("sort the list"))
            });
            match disorder && !self.sort {
                true => Error::msg(format!("{error:#}; or pass --sort to sort it in memory")),
                false => error,
            }
        })
    }

    fn read_list(&self, path: &Path, kind: KeyKind) -> Result<Namespace> {
        match (kind, self.sort) {
            (KeyKind::Text, false) if !self.from.is_given() && keys::is_plain(path) => {
                Ok(Namespace::text_file(path)?)
            }
            (KeyKind::Text, false) => Namespace::texts(self.text(path)?).context(keys::shown(path)),
            (KeyKind::Text, true) => {
                let text = self.text(path)?;
                Namespace::texts(sorted(path, &text)).context(keys::shown(path))
            }
            (KeyKind::Integer, false) => self.integers(path),
            (KeyKind::Integer, true) => {
                let mut numbers: Vec<u64> = Vec::new();
                self.numbers(path, |batch| {
                    numbers.extend(batch);
                    Ok(())
                })?;
                let before = numbers.len();
                numbers.sort_unstable();
                numbers.dedup();
                report_repetitions(path, before - numbers.len());
                Namespace::integers(numbers).context(keys::shown(path))
            }
        }
    }

    fn read(&self, path: &Path, each: impl FnMut(&[&[u8]]) -> Result<()>) -> Result<()> {
        let progress = Progress::bytes(keys::total_size(&[path]), "reading names");
        keys::read(path, &self.from, Some(&progress), each)
    }

    /// The lines of a file as integers, many at a time.
    fn numbers(&self, path: &Path, mut each: impl FnMut(Vec<u64>) -> Result<()>) -> Result<()> {
        let mut line = 0u64;
        let mut wrong = None;
        let read = self.read(path, |lines| {
            let numbers = lines.iter().map(|text| {
                line += 1;
                let number = keys::number(text);
                number.inspect_err(|error| wrong = Some((line, error.to_string())))
            });
            each(numbers.collect::<Result<Vec<u64>>>()?)
        });
        match wrong {
            // The line itself, and not the block it was read with.
            Some((line, what)) => bail!("{}: line {line}: {what}", keys::shown(path)),
            None => read,
        }
    }

    /// All names of a file, one per line.
    fn text(&self, path: &Path) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        self.read(path, |lines| {
            for line in lines {
                if memchr::memchr(b'\n', line).is_some() {
                    bail!("a name contains a line feed, which is not possible in a list of names");
                }
                push(&mut text, line);
            }
            Ok(())
        })?;
        Ok(text)
    }

    /// A sorted list, as it is read: only its compact form is in memory.
    fn integers(&self, path: &Path) -> Result<Namespace> {
        let (sender, batches) = sync_channel::<Vec<u64>>(4);
        let (read, namespace) = std::thread::scope(|scope| {
            let reading = scope.spawn(move || {
                self.numbers(path, |numbers| {
                    sender.send(numbers).map_err(|_| Unwanted.into())
                })
            });
            let namespace = Namespace::integers(batches.into_iter().flatten());
            let read = reading.join();
            (read.unwrap_or_else(|_| bail!("reading failed")), namespace)
        });
        match read {
            Err(error) if !error.is::<Unwanted>() => Err(error),
            _ => namespace.context(keys::shown(path)),
        }
    }
}

/// Why reading stops when a list is out of order; that is reported instead.
#[derive(Debug)]
struct Unwanted;

impl std::fmt::Display for Unwanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the list is out of order")
    }
}

impl std::error::Error for Unwanted {}

/// Adds a line; a carriage return at its end stays part of the name.
fn push(text: &mut Vec<u8>, line: &[u8]) {
    text.extend_from_slice(line);
    if line.ends_with(b"\r") {
        text.push(b'\r');
    }
    text.push(b'\n');
}

/// The lines of a text that was made by [`push`], sorted, each once.
fn sorted(path: &Path, text: &[u8]) -> Vec<u8> {
    let lines = text.strip_suffix(b"\n").unwrap_or(text);
    let mut lines: Vec<&[u8]> = match text.is_empty() {
        true => Vec::new(),
        false => lines.split(|&byte| byte == b'\n').collect(),
    };
    // As names they end before the carriage return that was put there.
    let name = |line: &&[u8]| line.strip_suffix(b"\r").map_or(line.len(), <[u8]>::len);
    lines.sort_unstable_by(|a, b| a[..name(a)].cmp(&b[..name(b)]));
    let before = lines.len();
    lines.dedup();
    report_repetitions(path, before - lines.len());
    let mut sorted = Vec::with_capacity(text.len());
    for line in lines {
        sorted.extend_from_slice(line);
        sorted.push(b'\n');
    }
    sorted
}

fn report_repetitions(path: &Path, repeated: usize) {
    if repeated > 0 {
        complain(format_args!(
            "{}: dropped {}",
            keys::shown(path),
            units::counted(repeated as u64, "repeated name")
        ));
    }
}

/// How keys are read in filters that such names can be queried in.
pub(super) fn kind_of(spelling: Spelling) -> KeyKind {
    match spelling {
        Spelling::Binary => KeyKind::Integer,
        Spelling::Decimal | Spelling::Text => KeyKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_lines_are_those_of_the_text() {
        let mut text = Vec::new();
        for line in ["b", "a\r", "", "a", "b", "a\r"] {
            push(&mut text, line.as_bytes());
        }
        let names = Namespace::texts(sorted(Path::new("x"), &text)).unwrap();
        let names: Vec<String> = (0..names.len())
            .map(|rank| names.name(rank).to_string())
            .collect();
        assert_eq!(names, ["", "a", "a\r", "b"]);
        assert_eq!(sorted(Path::new("x"), b""), b"");
    }
}
