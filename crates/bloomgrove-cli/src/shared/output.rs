//! What commands print: lines and tables for people, JSON for programs.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

/// Standard output, buffered, its errors handled: a full disk behind a redirection
/// is an error, a closed pipe is not.
pub(crate) struct Output(BufWriter<Stdout>);

/// Standard output, or what stands for it in [`captured`]. Its errors say so, since they pass through
/// code that reads files, and adds their names to errors.
pub(crate) struct Stdout(Option<StdoutLock<'static>>);

thread_local! {
    /// What this thread has printed to standard output and to standard error, while it is captured.
    static CAPTURED: RefCell<Option<[Vec<u8>; 2]>> = const { RefCell::new(None) };
}

/// Runs a command whose output is for another part of this process, and returns what it has printed
/// from this thread to standard output and to standard error.
pub(crate) fn captured<R>(command: impl FnOnce() -> R) -> (R, [Vec<u8>; 2]) {
    /// Ends it, even if the command panics.
    struct Capture;
    impl Drop for Capture {
        fn drop(&mut self) {
            CAPTURED.take();
        }
    }
    CAPTURED.set(Some(Default::default()));
    let _capture = Capture;
    let result = command();
    (result, CAPTURED.take().unwrap_or_default())
}

/// Adds to what is captured; returns false if nothing is.
fn capture(stream: usize, bytes: &[u8]) -> bool {
    CAPTURED.with_borrow_mut(|captured| match captured {
        Some(streams) => {
            streams[stream].extend_from_slice(bytes);
            true
        }
        None => false,
    })
}

/// An error of standard output.
#[derive(Debug)]
struct Unwritten(io::Error);

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write to standard output: {}", self.0)
    }
}

impl std::error::Error for Unwritten {}

impl Stdout {
    pub(crate) fn new() -> Self {
        let is_captured = CAPTURED.with_borrow(Option::is_some);
        Self((!is_captured).then(|| io::stdout().lock()))
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Some(stdout) => stdout.write(bytes).map_err(unwritten),
            None => {
                capture(0, bytes);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Some(stdout) => stdout.flush().map_err(unwritten),
            None => Ok(()),
        }
    }
}

fn unwritten(error: io::Error) -> io::Error {
    match error.kind() {
        // Whoever writes tries again.
        io::ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, Unwritten(error)),
    }
}

/// The error of standard output that ended a command, without what was added on its way.
pub(crate) fn unwritten_in(error: &anyhow::Error) -> Option<&io::Error> {
    let is_ours = |error: &&io::Error| error.get_ref().is_some_and(|inner| inner.is::<Unwritten>());
    let mut errors = error
        .chain()
        .filter_map(|error| match error.downcast_ref() {
            Some(bloomgrove::Error::Io { source, .. }) => Some(source),
            _ => error.downcast_ref(),
        });
    errors.find(is_ours)
}

impl Output {
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(Stdout::new()))
    }

    pub(crate) fn line(&mut self, line: impl fmt::Display) -> anyhow::Result<()> {
        Ok(writeln!(self.0, "{line}")?)
    }

    /// Bytes as they are: keys and paths need not be text.
    pub(crate) fn bytes(&mut self, parts: &[&[u8]]) -> anyhow::Result<()> {
        for part in parts {
            self.0.write_all(part)?;
        }
        Ok(())
    }

    pub(crate) fn json(&mut self, value: &Value) -> anyhow::Result<()> {
        self.line(serde_json::to_string_pretty(value)?)
    }

    /// One value per line, for long lists.
    pub(crate) fn json_line(&mut self, value: &Value) -> anyhow::Result<()> {
        self.line(value)
    }

    /// Rows under headings; columns of numbers are right-aligned.
    pub(crate) fn table(&mut self, head: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(head);
        table.add_rows(rows);
        for (i, column) in table.column_iter_mut().enumerate() {
            let numbers = rows.iter().all(|row| {
                row[i].is_empty() || row[i].starts_with(|c: char| c.is_ascii_digit() || c == '-')
            });
            column.set_padding((0, 2));
            if numbers {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.to_string().lines() {
            self.line(line.trim_end())?;
        }
        Ok(())
    }

    /// Names and values, aligned.
    pub(crate) fn facts(&mut self, facts: &[(&str, String)]) -> anyhow::Result<()> {
        let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in facts {
            self.line(format_args!("{name:width$}  {value}"))?;
        }
        Ok(())
    }

    /// Flushes what was printed so far.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        Ok(self.0.flush()?)
    }

    /// Must be called at the end: an error when the buffer is dropped goes unseen.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        Ok(self.0.flush()?)
    }
}

/// What was written to a file: its facts as JSON, if given, or a line.
pub(crate) fn summary(
    path: &Path,
    facts: Option<Value>,
    line: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let mut output = Output::new();
    match facts {
        Some(mut facts) => {
            facts["file"] = json!(path.to_string_lossy());
            output.json(&facts)?;
        }
        None => output.line(format_args!("{}: {}", path.display(), line()))?,
    }
    output.finish()
}

/// A message to standard error. If that fails too, nothing can be done.
pub(crate) fn complain(message: fmt::Arguments<'_>) {
    let line = format!("bloomgrove: {}\n", without_numbers(&message.to_string()));
    if !capture(1, line.as_bytes()) {
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

/// Omits the numbers that Rust adds to the system's errors: "No such file or directory (os error 2)".
fn without_numbers(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    plain
}

/// Names and values to standard error, aligned as those of other lines are.
pub(crate) fn explain(facts: &[(&str, String)]) {
    let mut error = io::stderr().lock();
    for (name, value) in facts {
        let _ = writeln!(error, "{name:8}  {value}");
    }
}

pub(crate) fn is_gone(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Bytes as a JSON string where they are text, as `{"hex": ...}` where not.
pub(crate) fn json_bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": hex })
        }
    }
}
