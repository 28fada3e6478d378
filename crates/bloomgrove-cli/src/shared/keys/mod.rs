//! Keys from files of any size: lines, or a column of a CSV or Parquet file.
//!
//! ```text
//!            no --column                       --column NAME
//!   a file  -------------> one key per line   ---------------> csv.rs, parquet/
//!      plain, .gz, .zst         (here)         a value is a key; no value, no key
//! ```
//!
//! A line ends at a line feed; a carriage return before it is dropped, so that files from Windows
//! contain the same keys. Everything else is part of the key, including spaces and bytes that are
//! not text; an empty line is the empty key.

mod column;
mod csv;
mod parquet;
pub(crate) mod text;
pub(crate) mod unpack;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove_keys::Extraction;

pub(crate) use self::column::Column;
use crate::shared::interrupt;
use crate::shared::progress::Progress;

/// What takes the keys, a batch at a time.
type Each<'e> = &'e mut dyn FnMut(&[&[u8]]) -> Result<()>;

/// How much is read at a time.
const BLOCK: usize = 1 << 20;
/// A longer line means that the file is not made of lines.
const LONGEST: usize = 64 << 20;

/// Read without decompressing, these would contain none of their keys.
const UNKNOWN_ARCHIVES: [&str; 9] = ["7z", "bz2", "lz4", "rar", "tar", "tgz", "xz", "zip", "zz"];

// A comment here would become the help of the command.
#[derive(clap::Args, Default)]
pub(crate) struct KeysArgs {
    /// What the keys of a file are [default: tokens]
    ///
    /// tokens: each word (a run of letters, digits and _), without regard to case. lines: each
    /// whole line. ngrams=4: each run of 4 characters, for substrings; takes about eight times the
    /// space. regex=PATTERN: each match of its first group. json=PATH: each value at the path
    /// (user.id) of JSON lines. column=NAME: each value of a column of CSV and Parquet files.
    #[arg(long, value_name = "KIND", conflicts_with = "column")]
    extract: Option<Extraction>,
    #[command(flatten)]
    column: Option<Column>,
}

impl KeysArgs {
    pub(crate) fn keys(self, default: Extraction) -> Keys {
        match (self.extract, self.column) {
            (Some(Extraction::Column(name)), _) => Keys::in_column(Column::named(name)),
            (_, Some(column)) => Keys::in_column(column),
            (extraction, None) => Keys {
                extraction: extraction.unwrap_or(default),
                column: None,
            },
        }
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

fn shortened(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(60)]);
    if line.len() > 60 {
        format!("{text}...")
    } else {
        text.into_owned()
    }
}

/// Calls `each` on batches of the keys of a file, `-` being standard input: its lines,
/// or the values of a column.
///
/// Memory: a block, or the longest line or record if that is longer; for Parquet a few
/// pages.
pub(crate) fn read(
    path: &Path,
    column: Option<&Column>,
    progress: Option<&Progress>,
    mut each: impl FnMut(&[&[u8]]) -> Result<()>,
) -> Result<()> {
    // A read of standard input or a pipe may block forever, and nothing checks the flag then.
    let waits = !std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let _waiting = waits.then(interrupt::Waiting::new);
    let mut read = || match (column::Format::of(path, column)?, column) {
        (column::Format::Parquet, column) => {
            parquet::read(open_file(path)?, column, progress, &mut each)
        }
        (column::Format::Separated(by), Some(column)) => {
            csv::read(open(path, progress)?.0, by, column, &mut each)
        }
        _ => read_lines(path, progress, &mut each),
    };
    read().with_context(|| shown(path))
}

fn read_lines(path: &Path, progress: Option<&Progress>, each: Each) -> Result<()> {
    let (mut source, size) = open(path, progress)?;
    // A small file needs a small block: clearing a large one takes longer than
    // reading it.
    let mut block = vec![0; size.saturating_add(1).clamp(4096, BLOCK as u64) as usize];
    let (mut len, mut lines) = (0, 0);
    loop {
        interrupt::check()?;
        let read = source.read(&mut block[len..]).context("reading")?;
        if read == 0 {
            break;
        }
        len += read;
        // Whole lines are handed on; the rest moves to the front.
        let Some(end) = memchr::memrchr(b'\n', &block[..len]) else {
            if len == block.len() {
                if len >= LONGEST {
                    bail!(
                        "line {} is longer than {} MiB; is this a file with one key per line?",
                        lines + 1,
                        LONGEST >> 20
                    );
                }
                block.resize(2 * len, 0);
            }
            continue;
        };
        lines += for_lines(&block[..end], lines, each)?;
        block.copy_within(end + 1..len, 0);
        len -= end + 1;
    }
    if len > 0 {
        for_lines(&block[..len], lines, each)?;
    }
    Ok(())
}

/// `block` is whole lines, the last without its line feed. Returns how many.
fn for_lines(block: &[u8], before: u64, each: Each) -> Result<u64> {
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
        let bad = lines.iter().position(|line| number(line).is_err());
        match bad.filter(|_| error.is::<NotANumber>()) {
            Some(bad) => error.context(format!("line {}", before + 1 + bad as u64)),
            None if count == 1 => error.context(format!("line {}", before + 1)),
            None => error.context(format!("lines {} to {}", before + 1, before + count)),
        }
    })?;
    Ok(count)
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
    read(path, None, None, |lines| {
        for line in lines {
            keys.push(kind.key(line)?);
        }
        Ok(())
    })?;
    Ok(keys)
}

/// The bytes of a file, decompressed, and about how many there are.
fn open<'p>(path: &Path, progress: Option<&'p Progress>) -> Result<(Box<dyn Read + 'p>, u64)> {
    if path == Path::new("-") {
        return Ok((Box::new(Counted(io::stdin().lock(), progress)), u64::MAX));
    }
    let (file, size) = open_file(path)?;
    // Progress counts the bytes of the file, not the decompressed ones.
    let file = Counted(file, progress);
    let ends_in = |ending: &str| ends_in(path, ending);
    if let Some(ending) = UNKNOWN_ARCHIVES.into_iter().find(|ending| ends_in(ending)) {
        bail!(".{ending} files cannot be read; decompress the file first, or use gzip or zstd");
    }
    let packed = size.saturating_mul(8);
    Ok(if ends_in("gz") {
        (Box::new(flate2::read::MultiGzDecoder::new(file)), packed)
    } else if ends_in("zst") || ends_in("zstd") {
        let unpacked = zstd::Decoder::new(file).context("unpacking")?;
        (Box::new(unpacked), packed)
    } else {
        (Box::new(file), size)
    })
}

fn open_file(path: &Path) -> Result<(File, u64)> {
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

/// Whether a file is read as it is: a regular file that need not be decompressed.
pub(crate) fn is_plain(path: &Path) -> bool {
    let packed = ["gz", "zst", "zstd", "parquet"];
    let mut endings = packed.iter().chain(&UNKNOWN_ARCHIVES);
    std::fs::metadata(path).is_ok_and(|about| about.is_file())
        && !endings.any(|ending| ends_in(path, ending))
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
