//! Files other than `.grove` files that are written atomically, and replace only files of their
//! own kind.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::Error;
use bloomgrove::raw::codec::Kind;
use bloomgrove::raw::format;

/// What is in a file, and so which file it may replace: one that begins in the same way.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Svg,
    /// For Graphviz.
    Dot,
    Turtle,
    /// A trace.
    Json,
    /// Events, one per line.
    #[cfg_attr(
        not(feature = "server"),
        expect(dead_code, reason = "written by `site generate`")
    )]
    Events,
    /// A table with these headings.
    Csv(&'static [&'static str]),
    Message(Kind),
    /// Lines of the user, which look like any other text: replaced only with the user's consent.
    Lines {
        replace: bool,
    },
    /// Rows of a table of the user: likewise.
    Rows {
        replace: bool,
    },
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Form::Svg => "an SVG picture",
            Form::Dot => "a graph for Graphviz",
            Form::Turtle => "Turtle",
            Form::Json => "a trace as JSON",
            Form::Events => "a list of events",
            Form::Csv(_) => "a table with the same headings",
            Form::Message(kind) => kind.name(),
            Form::Lines { .. } => "a text",
            Form::Rows { .. } => "a table",
        }
    }

    fn is_start(self, start: &[u8]) -> bool {
        match self {
            Form::Svg => start.starts_with(b"<svg "),
            Form::Dot => start.starts_with(b"digraph "),
            Form::Turtle => start.starts_with(b"@prefix "),
            Form::Json => start.starts_with(b"{\n  \"ids\": ["),
            Form::Events => start.starts_with(b"{\"id\":"),
            Form::Csv(head) => start.starts_with((head.join(",") + "\n").as_bytes()),
            Form::Message(kind) => Kind::of_start(start) == Some(kind),
            // One of ours is not what anybody means to replace by these.
            Form::Lines { replace } | Form::Rows { replace } => {
                replace && !start.starts_with(b"\x89GROVE") && Kind::of_start(start).is_none()
            }
        }
    }
}

// Where a list of members goes. (A doc comment would become the help of the command.)
#[derive(clap::Args)]
pub(crate) struct ListArgs {
    /// Write the members to this file; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    replace: bool,
    /// Print the number of members instead of listing them
    #[arg(short, long, conflicts_with = "output")]
    pub(crate) count: bool,
}

impl ListArgs {
    /// The file to write, if one was named.
    pub(crate) fn create(&self) -> Result<Option<WholeFile>> {
        let replace = self.replace;
        let create = |path| WholeFile::create(path, Form::Lines { replace });
        self.output.as_deref().map(create).transpose()
    }
}

pub(crate) struct WholeFile {
    shown: PathBuf,
    file: BufWriter<format::WholeFile>,
}

impl WholeFile {
    pub(crate) fn create(path: &Path, form: Form) -> Result<Self> {
        let begun = format::WholeFile::create(path, form.name(), move |start| form.is_start(start));
        match (begun, form) {
            (Ok(file), _) => Ok(Self {
                shown: path.to_owned(),
                file: BufWriter::new(file),
            }),
            (Err(error), Form::Lines { .. } | Form::Rows { .. })
                if matches!(error.kind(), Error::WouldReplace { found: None, .. }) =>
            {
                bail!(
                    "{}: the file already exists; choose another name, or pass --replace to overwrite it",
                    path.display()
                );
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// A table with these headings, to which its rows are added.
    pub(crate) fn csv(path: &Path, head: &'static [&'static str]) -> Result<csv::Writer<Self>> {
        let file = Self::create(path, Form::Csv(head))?;
        let mut writer = csv::Writer::from_writer(file);
        writer.write_record(head)?;
        Ok(writer)
    }

    /// Makes it the file; returns its size.
    pub(crate) fn finish(self) -> Result<u64> {
        let written = self.file.into_inner().map_err(|error| error.into_error());
        let written = written.with_context(|| format!("{}: writing", self.shown.display()))?;
        Ok(written.finish()?.metadata()?.len())
    }
}

/// Writes all of a file.
pub(crate) fn write(path: &Path, form: Form, text: &str) -> Result<()> {
    let mut file = WholeFile::create(path, form)?;
    file.write_all(text.as_bytes())
        .with_context(|| format!("{}: writing", path.display()))?;
    file.finish().map(|_| ())
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
