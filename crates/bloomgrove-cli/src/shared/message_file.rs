//! Messages in files, or on standard input and output: `-`.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::raw::codec::Kind;

use super::output::Stdout;
use super::progress::Progress;
use super::whole_file::{Form, WholeFile};
use super::{interrupt, units};

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(crate) struct ExpandArgs {
    /// The compressed file, or - for standard input
    #[arg(value_name = "MESSAGE")]
    pub(crate) message: PathBuf,
    /// The file to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The maximum memory that the result may take; a small message can expand to a large filter
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = units::bytes)]
    pub(crate) memory: u64,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whether a path stands for standard input or output.
pub(crate) fn is_stream(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes a message, atomically unless it goes to standard output; returns its size. Only a message of
/// the same kind is replaced.
pub(crate) fn write(
    path: &Path,
    kind: Kind,
    doing: &'static str,
    write: impl FnOnce(Watched<&mut dyn Write>) -> Result<u64, bloomgrove::Error>,
) -> Result<u64> {
    let progress = &Progress::bytes(0, doing);
    if is_stream(path) {
        let mut out = BufWriter::new(Stdout::new());
        let inner: &mut dyn Write = &mut out;
        let bytes = write(Watched { inner, progress })?;
        out.flush()?;
        return Ok(bytes);
    }
    if path.starts_with("/dev") {
        bail!(
            "{}: name a regular file, or - for standard output",
            path.display()
        );
    }
    let mut file = WholeFile::create(path, Form::Message(kind))?;
    let inner: &mut dyn Write = &mut file;
    write(Watched { inner, progress })?;
    file.finish()
}

/// What `read` makes of a message.
pub(crate) fn read<T>(
    path: &Path,
    kind: Kind,
    doing: &'static str,
    read: impl FnOnce(Watched<&mut dyn Read>) -> Result<T, bloomgrove::Error>,
) -> Result<T> {
    if is_stream(path) {
        let progress = &Progress::bytes(0, doing);
        let _waiting = interrupt::Waiting::new();
        let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
        let inner: &mut dyn Read = &mut input;
        return read(Watched { inner, progress }).context("standard input");
    }
    let shown = || path.display().to_string();
    let about = fs::metadata(path).with_context(shown)?;
    if !about.is_file() {
        bail!("{}: {}", shown(), not_a_file(&about));
    }
    check_kind(path, kind)?;
    let file = File::open(path).with_context(shown)?;
    let mut file = BufReader::with_capacity(1 << 16, file);
    let inner: &mut dyn Read = &mut file;
    let progress = &Progress::bytes(about.len(), doing);
    read(Watched { inner, progress }).with_context(shown)
}

/// What is wrong with something that is not a regular file.
pub(crate) fn not_a_file(about: &fs::Metadata) -> &'static str {
    match about.is_dir() {
        true => "this is a directory; pass a file",
        false => "not a regular file; save its output to a file first",
    }
}

/// The kind of message in a file, if it is one.
pub(crate) fn kind_of(path: &Path) -> Result<Option<Kind>> {
    // Reading a pipe would block; opening it later reports what is wrong.
    if !fs::metadata(path).is_ok_and(|about| about.is_file()) {
        return Ok(None);
    }
    Ok(Kind::of_start(&start_of(path)?))
}

fn start_of(path: &Path) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut start));
    read.with_context(|| path.display().to_string())?;
    Ok(start)
}

/// Refuses what is obviously not a message, in the words of the command that was given.
fn check_kind(path: &Path, kind: Kind) -> Result<()> {
    let (start, shown) = (start_of(path)?, path.display());
    let name = kind.name();
    match kind {
        _ if start.is_empty() => bail!("{shown}: the file is empty, not {name}"),
        Kind::Filter | Kind::Tree if start.starts_with(b"\x89GROVE") => {
            let noun = match kind {
                Kind::Tree => "bloom-tree",
                _ => "filter",
            };
            bail!(
                "{shown}: already a .grove file; only the output of `bloomgrove {noun} compress` needs \
                 to be expanded"
            )
        }
        Kind::Filter | Kind::Tree if Kind::of_start(&start).is_none() => {
            bail!("{shown}: not {name}")
        }
        _ => Ok(()),
    }
}

/// Bytes being read or written, counted by a progress bar, until Ctrl-C.
pub(crate) struct Watched<'a, T> {
    inner: T,
    progress: &'a Progress,
}

impl<T> Watched<'_, T> {
    fn count(&self, bytes: usize) -> io::Result<usize> {
        if interrupt::was_asked() {
            return Err(io::Error::other("interrupted; nothing was changed"));
        }
        self.progress.add(bytes as u64);
        Ok(bytes)
    }
}

impl<T: Read> Read for Watched<'_, T> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(room)?;
        self.count(bytes)
    }
}

impl<T: Write> Write for Watched<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = self.inner.write(bytes)?;
        self.count(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
