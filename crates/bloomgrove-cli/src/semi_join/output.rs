//! The file of the rows that are kept: of the kind of the table they come from.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::write::GzEncoder;

use super::csv_rows;
use super::mask::MaskReader;
use super::parquet_copy;
use super::table::Table;
use crate::shared::keys;
use crate::shared::keys::column::Format;
use crate::shared::keys::parquet::{ParquetFile, Source};
use crate::shared::progress::Progress;
use crate::shared::whole_file::{Form, WholeFile};

/// A file that has its name once it is finished.
pub(super) struct Output<'t> {
    table: &'t Table,
    file: Kind,
}

enum Kind {
    Text {
        file: Packed,
        /// The columns, once they are written.
        header: Option<Vec<String>>,
    },
    /// The writer exists once the first file of the table has been opened.
    Parquet(Option<WholeFile>, Option<parquet_copy::Output>),
}

impl<'t> Output<'t> {
    /// Fails before any work is done if the file must not be written.
    pub(super) fn create(table: &'t Table, path: &Path, replace: bool) -> Result<Self> {
        let shown = || path.display().to_string();
        let is_text = table.format != Format::Parquet;
        if is_text == keys::is_parquet(path) {
            let (format, ending) = match is_text {
                true => ("CSV", ".csv"),
                false => ("Parquet", ".parquet"),
            };
            bail!(
                "{}: the table is {format}, so the output must be {format}; choose a name that ends in \
                 {ending}",
                shown()
            );
        }
        let packing = if is_text {
            Packing::of(path).with_context(shown)?
        } else {
            Packing::Plain
        };
        let file = WholeFile::create(path, Form::Rows { replace })?;
        let file = match is_text {
            true => Kind::Text {
                file: Packed::new(file, packing).with_context(shown)?,
                header: None,
            },
            false => Kind::Parquet(Some(file), None),
        };
        Ok(Self { table, file })
    }

    /// Copies the rows of a CSV table that are wanted.
    pub(super) fn filter_text(
        &mut self,
        what: &'static str,
        keep: &mut dyn FnMut(Option<u64>) -> Result<bool>,
    ) -> Result<()> {
        let progress = Progress::bytes(self.table.bytes(), what);
        let (Kind::Text { file, header }, Format::Separated(by)) =
            (&mut self.file, self.table.format)
        else {
            bail!("not a CSV table");
        };
        for path in &self.table.files {
            let mut copy = || {
                if Format::of(path, Some(&self.table.key))? != self.table.format {
                    bail!("it has another field separator than the first file of the table");
                }
                let output = (&mut *header, &mut *file as &mut dyn Write);
                csv_rows::copy(self.table, path, by, &progress, output, keep)
            };
            copy().with_context(|| keys::shown(path))?;
        }
        Ok(())
    }

    /// Copies the rows that the mask has.
    pub(super) fn copy(&mut self, what: &'static str, mask: &mut MaskReader) -> Result<()> {
        let Kind::Parquet(file, output) = &mut self.file else {
            return self.filter_text(what, &mut |_| mask.next());
        };
        let progress = Progress::bytes(self.table.bytes(), what);
        for path in &self.table.files {
            let mut copy = || {
                let opened = ParquetFile::open(Source::file(keys::open_file(path)?))?;
                if let Some(file) = file.take() {
                    *output = Some(parquet_copy::Output::like(&opened, file)?);
                }
                let output = output.as_mut().context("the output is missing")?;
                output.check(&opened)?;
                output.copy(&opened, mask, &progress)
            };
            copy().with_context(|| keys::shown(path))?;
        }
        Ok(())
    }

    /// Writes what is pending; [`WholeFile::finish`] then gives the file its name.
    pub(super) fn finish(self) -> Result<WholeFile> {
        match self.file {
            Kind::Text { file, .. } => file.finish().context("writing the output"),
            Kind::Parquet(_, output) => output.context("the output is missing")?.finish(),
        }
    }
}

#[derive(Clone, Copy)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        Ok(match ending.to_str() {
            Some("gz") => Packing::Gzip,
            Some("zst" | "zstd") => Packing::Zstd,
            Some("xz" | "bz2" | "zip") => {
                bail!("output can be compressed as .gz or .zst only; name it accordingly")
            }
            _ => Packing::Plain,
        })
    }
}

enum Packed {
    Plain(WholeFile),
    Gzip(GzEncoder<WholeFile>),
    Zstd(zstd::Encoder<'static, WholeFile>),
}

impl Packed {
    fn new(file: WholeFile, packing: Packing) -> Result<Self> {
        Ok(match packing {
            Packing::Plain => Packed::Plain(file),
            Packing::Gzip => Packed::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Packing::Zstd => Packed::Zstd(zstd::Encoder::new(file, 0)?),
        })
    }

    fn finish(self) -> io::Result<WholeFile> {
        match self {
            Packed::Plain(file) => Ok(file),
            Packed::Gzip(encoder) => encoder.finish(),
            Packed::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Packed::Plain(file) => file.write(bytes),
            Packed::Gzip(encoder) => encoder.write(bytes),
            Packed::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Packed::Plain(file) => file.flush(),
            Packed::Gzip(encoder) => encoder.flush(),
            Packed::Zstd(encoder) => encoder.flush(),
        }
    }
}
