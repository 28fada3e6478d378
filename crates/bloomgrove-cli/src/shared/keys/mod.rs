//! Keys from files of any size.
//!
//! ```text
//!   a file --unpack.rs--> text --text.rs--> lines, tokens, n-grams, matches, JSON values
//!          \                  \--csv.rs---> values of a column
//!           \--parquet/------------------> values of a column
//! ```
//!
//! What the keys are is one rule for every command: [`Extraction`], given with `--extract` or
//! `--column` and kept with the index. Files are decompressed and decoded on the way.
//!
//! A line ends at a line feed; a carriage return before it is dropped, so that files from Windows
//! contain the same keys. Everything else is part of the key, including spaces and bytes that are
//! not text; an empty line is the empty key.

pub(crate) mod column;
pub(crate) mod csv;
pub(crate) mod parquet;
pub(crate) mod text;
pub(crate) mod unpack;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove_keys::Extraction;

use self::column::Batch;
pub(crate) use self::column::Column;
use crate::shared::interrupt;
use crate::shared::progress::Progress;

/// What takes the keys, a batch at a time.
type Each<'e> = &'e mut dyn FnMut(&[&[u8]]) -> Result<()>;

/// How much is read at a time.
const BLOCK: usize = 1 << 20;
/// A longer line means that the file is not made of lines.
const LONGEST: usize = 64 << 20;

// A comment here would become the help of the command.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct KeysArgs {
    /// How to extract keys from each file: lines, tokens, ngrams=4, regex=PATTERN, json=PATH, column=NAME
    /// [default: lines].
    ///
    /// lines: each whole line. tokens: each word (a run of letters, digits and _), ignoring
    /// case. ngrams=4: each run of 4 characters, for substrings; takes about six times the
    /// space. regex=PATTERN: each match of its first group. json=PATH: each value at the path
    /// (user.id) of JSON lines. column=NAME: each value of a column of CSV and Parquet files.
    #[arg(long, value_name = "KIND", conflicts_with = "column")]
    extract: Option<Extraction>,
    #[command(flatten)]
    column: Option<Column>,
}

/// The help of --extract for commands that search text.
pub(crate) fn of_tokens(extract: clap::Arg) -> clap::Arg {
    let told = |help: Option<&clap::builder::StyledStr>| {
        let help = help.map_or(String::new(), ToString::to_string);
        help.replace("[default: lines]", "[default: tokens]")
    };
    let (help, long) = (told(extract.get_help()), told(extract.get_long_help()));
    extract.help(help).long_help(long)
}

impl KeysArgs {
    /// Lines, or the values of a column.
    pub(crate) fn in_column(column: Option<Column>) -> Self {
        Self {
            extract: None,
            column,
        }
    }

    /// The rule of an existing index, which may be given again.
    pub(crate) fn of_index(&self, extraction: Extraction) -> Result<Self> {
        let given = self.lines().extraction;
        match extraction {
            _ if self.is_given() && !given.is_queried_like(&extraction) => {
                bail!("the keys of this index are {extraction}, not {given}")
            }
            _ if self.is_given() => Ok(self.clone()),
            extraction => Ok(Self {
                extract: Some(extraction),
                column: None,
            }),
        }
    }

    /// Of a file of keys, unless something else was said.
    pub(crate) fn lines(&self) -> Keys {
        self.keys(Extraction::Lines)
    }

    pub(crate) fn keys(&self, default: Extraction) -> Keys {
        match (&self.extract, &self.column) {
            (Some(Extraction::Column(name)), _) => Keys::in_column(Column::named(name.clone())),
            (_, Some(column)) => Keys::in_column(column.clone()),
            (extraction, None) => Keys {
                extraction: extraction.clone().unwrap_or(default),
                column: None,
            },
        }
    }

    pub(crate) fn is_given(&self) -> bool {
        self.extract.is_some() || self.column.is_some()
    }
}

/// How files become keys.
pub(crate) struct Keys {
    pub(crate) extraction: Extraction,
    pub(crate) column: Option<Column>,
}

impl Keys {
    fn in_column(column: Column) -> Self {
        Self {
            extraction: Extraction::Column(column.described()),
            column: Some(column),
        }
    }
}

impl std::fmt::Display for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.extraction.fmt(f)
    }
}

/// How a line becomes a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum KeyKind {
    /// The bytes of the line.
    Text,
    /// A whole number, as eight little-endian bytes (as the library encodes a u64).
    Integer,
}

impl KeyKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            KeyKind::Text => "text",
            KeyKind::Integer => "integer",
        }
    }

    /// The key in `line`.
    pub(crate) fn key(self, line: &[u8]) -> Result<Vec<u8>> {
        match self {
            KeyKind::Text => Ok(line.to_vec()),
            KeyKind::Integer => Ok(number(line)?.to_le_bytes().to_vec()),
        }
    }
}

/// The integer in a line.
pub(crate) fn number(line: &[u8]) -> Result<u64> {
    let number = std::str::from_utf8(line)
        .ok()
        .and_then(|line| line.trim().parse::<u64>().ok());
    number.ok_or_else(|| NotANumber(shortened(line)).into())
}

/// A line that is not an integer key.
#[derive(Debug)]
struct NotANumber(String);

impl std::fmt::Display for NotANumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = &self.0;
        write!(
            f,
            "{text:?} is not an integer key; keys must be from 0 to 2^64 - 1"
        )
    }
}

impl std::error::Error for NotANumber {}

/// An integer key that the modulus of affine functions is not above.
#[derive(Debug)]
pub(crate) struct NotBelow {
    pub(crate) line: Vec<u8>,
    pub(crate) modulus: u64,
}

impl std::fmt::Display for NotBelow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the key {} is not below the modulus {}; choose a prime above all keys",
            shortened(&self.line),
            self.modulus
        )
    }
}

impl std::error::Error for NotBelow {}

fn shortened(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(60)]);
    if line.len() > 60 {
        format!("{text}...")
    } else {
        text.into_owned()
    }
}

/// Calls `each` on batches of the keys of a file, `-` being standard input. The files in an archive
/// are read one after the other.
///
/// Memory: a block, or the longest line or record if that is longer; for Parquet a few
/// pages.
pub(crate) fn read(
    path: &Path,
    from: &KeysArgs,
    progress: Option<&Progress>,
    each: impl FnMut(&[&[u8]]) -> Result<()>,
) -> Result<()> {
    read_by(path, &from.lines(), progress, each)
}

/// The same, with a rule that was chosen.
pub(crate) fn read_by(
    path: &Path,
    keys: &Keys,
    progress: Option<&Progress>,
    mut each: impl FnMut(&[&[u8]]) -> Result<()>,
) -> Result<()> {
    // A read of standard input or a pipe may block forever, and nothing checks the flag then.
    let waits = !std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let _waiting = waits.then(interrupt::Waiting::new);
    let column = keys.column.as_ref();
    let mut read = || match (column::Format::of(path, column)?, column) {
        (column::Format::Parquet, column) => {
            parquet::read(open_file(path)?, column, progress, &mut each)
        }
        (column::Format::Separated(by), Some(column)) => {
            unpack::each_text(path, progress, &mut |_, text| {
                csv::read(text::decoded(text), by, column, &mut each)?;
                Ok(true)
            })
        }
        _ => unpack::each_text(path, progress, &mut |_, source| {
            read_text(source, &keys.extraction, &mut each)?;
            Ok(true)
        }),
    };
    read().with_context(|| shown(path))
}

/// Calls `each` on batches of the keys of a text.
pub(crate) fn read_text(source: impl Read, extraction: &Extraction, each: Each) -> Result<()> {
    let source = text::decoded(source);
    if *extraction == Extraction::Lines {
        text::each_piece(source, extraction, |piece, seen| {
            let lines = piece.strip_suffix(b"\n").unwrap_or(piece);
            for_lines(lines, seen.line_feeds, each)
        })?;
        return Ok(());
    }
    let mut batch = Batch::default();
    text::extract(source, extraction, &mut |key| {
        batch.push(each, |bytes| {
            bytes.extend_from_slice(key);
            Ok(())
        })
    })?;
    batch.hand_on(each)
}

/// `block` is whole lines, the last without its line feed.
fn for_lines(block: &[u8], before: u64, each: Each) -> Result<()> {
    let mut lines: Vec<&[u8]> = Vec::with_capacity(block.len() / 16 + 1);
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', block).chain([block.len()]) {
        let line = &block[start..end];
        lines.push(line.strip_suffix(b"\r").unwrap_or(line));
        start = end + 1;
    }
    let count = lines.len() as u64;
    each(&lines).map_err(|error| {
        // Keys are taken in order, so the first bad one is the one that was complained about.
        let is_bad = |line: &&[u8]| match error.downcast_ref::<NotBelow>() {
            Some(bad) => *line == bad.line,
            None => error.is::<NotANumber>() && number(line).is_err(),
        };
        match lines.iter().position(is_bad) {
            Some(bad) => error.context(format!("line {}", before + 1 + bad as u64)),
            None if count == 1 => error.context(format!("line {}", before + 1)),
            None => error.context(format!("lines {} to {}", before + 1, before + count)),
        }
    })
}

/// A key from the command line, interpreted like a line of a file: so that what was copied from a
/// Windows file is found in it.
pub(crate) fn from_argument(key: OsString) -> Vec<u8> {
    let mut key = key.into_vec();
    if key.ends_with(b"\r") {
        key.pop();
    }
    key
}

/// The whole content of a small file of keys.
pub(crate) fn read_all(path: &Path, kind: KeyKind) -> Result<Vec<Vec<u8>>> {
    let mut keys = Vec::new();
    read(path, &KeysArgs::default(), None, |lines| {
        for line in lines {
            keys.push(kind.key(line)?);
        }
        Ok(())
    })?;
    Ok(keys)
}

pub(crate) fn open_file(path: &Path) -> Result<(File, u64)> {
    let file = File::open(path)?;
    let about = file.metadata().context("reading its metadata")?;
    if about.is_dir() {
        bail!("this is a directory; name the files in it");
    }
    Ok((file, about.len()))
}

fn ends_in(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

/// Whether a file is read as it is: a regular file that need not be decompressed or decoded.
pub(crate) fn is_plain(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.is_file())
        && !ends_in(path, "parquet")
        && unpack::is_plain(path).unwrap_or(false)
}

pub(crate) fn is_parquet(path: &Path) -> bool {
    ends_in(path, "parquet")
}

/// The total size of the files; 0 if unknown.
pub(crate) fn total_size(paths: &[impl AsRef<Path>]) -> u64 {
    let sizes = paths
        .iter()
        .map(|path| std::fs::metadata(path).ok().map(|about| about.len()));
    sizes.sum::<Option<u64>>().unwrap_or(0)
}

/// The path as messages show it.
pub(crate) fn shown(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".into()
    } else {
        path.display().to_string()
    }
}

struct Counted<'p, R>(R, Option<&'p Progress>);

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        if let Some(progress) = self.1 {
            progress.add(read as u64);
        }
        Ok(read)
    }
}
