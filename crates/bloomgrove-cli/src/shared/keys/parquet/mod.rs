//! Keys from a column of a Parquet file.
//!
//! ```text
//!   footer.rs   may the footer be parsed at all?
//!      v
//!   columns --choose--> one of them, and in every row group its chunk
//!      v
//!   pages.rs    the pages of the chunk, as far as they can be true
//!      v
//!   values.rs   from values to the text of keys
//!   parse.rs    and back: the value that a text of a query means
//!   bloom.rs    the Bloom filters that the file itself may have
//! ```
//!
//! Nulls are no keys, and every element of a list is one, so the levels that say where
//! records and lists begin are counted and dropped. Only the chunks of the column are read.
//!
//! A damaged file is an error. The decoder answers most damage with one, some with a panic,
//! some with less than the file holds, and some by taking memory for what a damaged number
//! promises. So panics are caught, values are counted, and numbers that lead to memory
//! are checked before the decoder sees them.

mod bloom;
mod footer;
mod pages;
mod parse;
mod source;
mod values;

use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use ::parquet::basic::Compression;
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::{
    BoolType, ByteArrayType, DataType, FixedLenByteArrayType, Int32Type, Int64Type,
};
use ::parquet::errors::Result as Decoded;
use ::parquet::file::metadata::ParquetStatisticsPolicy;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::serialized_reader::ReadOptionsBuilder;
use ::parquet::schema::types::ColumnDescPtr;
use anyhow::{Context, Result, bail};
use bloomgrove::Filter;

use self::pages::Checked;
pub(crate) use self::parse::Value;
#[cfg_attr(not(feature = "s3"), allow(unused_imports))]
pub(crate) use self::source::{Ranges, Source};
pub(crate) use self::values::Spelling;
use super::column::{Batch, listed};
use super::{Column, Each, LONGEST};
use crate::shared::interrupt;
use crate::shared::progress::Progress;

/// The values to hold at a time, in bytes; their number follows from how long they are.
const HELD: usize = 4 << 20;
/// The most records to ask for at a time, and how many to begin with.
const MOST: usize = 1 << 14;
const FIRST: usize = 64;

pub(super) fn read(
    file: (File, u64),
    column: Option<&Column>,
    progress: Option<&Progress>,
    each: Each,
) -> Result<()> {
    let table = Table::open(Source::file(file))?;
    let Some(column) = column else {
        bail!(
            "a Parquet file has columns, not lines; name one with --column: {}",
            listed(&table.names)
        );
    };
    let column = table.column(column.choose(&table.names, true)?)?;
    let mut passed = table.passed(progress, 1);
    for group in 0..table.row_groups() {
        table.read_group(group, &column, &mut passed, each)?;
    }
    passed.finish();
    Ok(())
}

/// A Parquet file whose footer has been read.
pub(crate) struct Table {
    reader: SerializedFileReader<Source>,
    source: Source,
    /// Of the columns, nested ones with dots.
    names: Vec<String>,
}

/// A column whose values can be keys.
pub(crate) struct KeyColumn {
    at: usize,
    pub(crate) spelling: Spelling,
}

impl Table {
    pub(crate) fn open(source: Source) -> Result<Self> {
        footer::check(&source)?;
        // Statistics are not needed, and are one thing less that can be damaged.
        let options = ReadOptionsBuilder::new()
            .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .build();
        let same = source.clone();
        let reader = contained(|| SerializedFileReader::new_with_options(same, options))
            .context("reading the footer")?;
        let columns = reader.metadata().file_metadata().schema_descr().columns();
        let names = columns.iter().map(|column| column.path().string());
        Ok(Self {
            names: names.collect(),
            source,
            reader,
        })
    }

    pub(crate) fn row_groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// The names of all columns, for a message.
    pub(crate) fn columns(&self) -> String {
        listed(&self.names)
    }

    /// The column with this name, if there is one.
    ///
    /// # Errors
    /// If its values cannot be keys, or if the name means several columns.
    pub(crate) fn find(&self, name: &str) -> Result<Option<KeyColumn>> {
        let outer = format!("{name}.");
        if !(self.names.iter()).any(|known| known == name || known.starts_with(&outer)) {
            return Ok(None);
        }
        let column = Column::named(name.to_owned());
        Ok(Some(self.column(column.choose(&self.names, true)?)?))
    }

    fn column(&self, at: usize) -> Result<KeyColumn> {
        let about = self.reader.metadata().file_metadata();
        let column = &about.schema_descr().columns()[at];
        let spelling =
            Spelling::of(column).with_context(|| format!("column {}", self.names[at]))?;
        Ok(KeyColumn { at, spelling })
    }

    /// For reading some of the columns.
    pub(crate) fn passed<'p>(&self, progress: Option<&'p Progress>, columns: u64) -> Passed<'p> {
        let rows = self.reader.metadata().file_metadata().num_rows();
        Passed {
            progress,
            size: self.source.size(),
            rows: u64::try_from(rows).unwrap_or(0).saturating_mul(columns),
            row: 0,
            bytes: 0,
        }
    }

    /// Calls `each` on batches of the keys in a column of a row group.
    pub(crate) fn read_group(
        &self,
        group: usize,
        column: &KeyColumn,
        passed: &mut Passed<'_>,
        each: &mut dyn FnMut(&[&[u8]]) -> Result<()>,
    ) -> Result<()> {
        let about = self.reader.metadata().file_metadata();
        let described = &about.schema_descr().columns()[column.at];
        let of = (column.at, described, column.spelling);
        read_group(&self.reader, group, &self.source, of, passed, each)
            .with_context(|| self.place(group, column))
    }

    /// The Bloom filter that the file has for a column of a row group.
    pub(crate) fn filter(
        &self,
        group: usize,
        column: &KeyColumn,
    ) -> Result<Option<Filter<Vec<u64>>>> {
        let chunk = self.reader.metadata().row_group(group).column(column.at);
        bloom::read(&self.source, chunk)
            .with_context(|| format!("the Bloom filter of {}", self.place(group, column)))
    }

    fn place(&self, group: usize, column: &KeyColumn) -> String {
        format!("column {}, row group {}", self.names[column.at], group + 1)
    }
}

fn read_group(
    reader: &SerializedFileReader<Source>,
    group: usize,
    source: &Source,
    (at, column, spelling): (usize, &ColumnDescPtr, Spelling),
    passed: &mut Passed,
    each: Each,
) -> Result<()> {
    let chunks = reader.metadata().row_group(group).columns();
    let chunk = chunks
        .get(at)
        .context("the column is missing; the file is damaged")?;
    if chunk.file_path().is_some() {
        bail!("its values are in another file; name that file");
    }
    if let codec @ (Compression::BROTLI(_) | Compression::LZO) = chunk.compression() {
        bail!("{codec} compression is not supported; snappy, zstd, gzip and lz4 are");
    }
    let (start, len) = contained(|| Ok(chunk.byte_range()))?;
    let size = source.size();
    if start.checked_add(len).is_none_or(|end| end > size) {
        bail!("it ends beyond the end of the file at {size} bytes; the file is probably truncated");
    }
    source.fetch(start..start + len).context("reading")?;
    let pages = contained(|| reader.get_row_group(group)?.get_column_page_reader(at))?;
    let expected = u64::try_from(chunk.num_values()).context("a negative number of values")?;
    let pages = Box::new(Checked::new(pages, column, expected));
    let column = column.clone();
    let mut drain = Drain {
        expected,
        passed,
        each,
    };
    match spelling {
        Spelling::Bool => {
            let reader = || Ok(ColumnReaderImpl::<BoolType>::new(column, pages));
            drain.all(contained(reader)?, values::bool)
        }
        Spelling::Int32(number) => {
            let reader = || Ok(ColumnReaderImpl::<Int32Type>::new(column, pages));
            drain.all(contained(reader)?, |v, key| number.write_32(*v, key))
        }
        Spelling::Int64(number) => {
            let reader = || Ok(ColumnReaderImpl::<Int64Type>::new(column, pages));
            drain.all(contained(reader)?, |v, key| number.write_64(*v, key))
        }
        Spelling::Bytes(bytes) => {
            let reader = || Ok(ColumnReaderImpl::<ByteArrayType>::new(column, pages));
            drain.all(contained(reader)?, |v, key| bytes.write(v.data(), key))
        }
        Spelling::FixedBytes(bytes, _) => {
            let reader = || {
                Ok(ColumnReaderImpl::<FixedLenByteArrayType>::new(
                    column, pages,
                ))
            };
            drain.all(contained(reader)?, |v, key| bytes.write(v.data(), key))
        }
    }
}

/// Where the values of one chunk go.
struct Drain<'a, 'p> {
    expected: u64,
    passed: &'a mut Passed<'p>,
    each: Each<'a>,
}

impl Drain<'_, '_> {
    fn all<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        write: impl Fn(&T::T, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
        let (mut batch, mut wanted, mut seen) = (Batch::default(), FIRST, 0);
        loop {
            interrupt::check()?;
            definitions.clear();
            repetitions.clear();
            let (records, _, levels) = contained(|| {
                let levels = (Some(&mut definitions), Some(&mut repetitions));
                reader.read_records(wanted, levels.0, levels.1, &mut values)
            })?;
            if levels == 0 {
                break;
            }
            seen += levels as u64;
            let mut bytes = 0;
            for value in &values {
                batch.push(self.each, |key| {
                    let before = key.len();
                    write(value, key)?;
                    bytes += key.len() - before;
                    match key.len() - before > LONGEST {
                        true => bail!("a value is longer than {} MiB", LONGEST >> 20),
                        false => Ok(()),
                    }
                })?;
            }
            // Values hold on to their pages.
            values.clear();
            let record = bytes / records.max(1) + size_of::<T::T>();
            wanted = (HELD / record).clamp(1, MOST).min(4 * wanted);
            self.passed.rows(records as u64);
        }
        batch.hand_on(self.each)?;
        // The decoder treats a page without values as the end of the chunk.
        if seen != self.expected {
            let expected = self.expected;
            bail!("damaged: it has {seen} values, but the footer says {expected}");
        }
        Ok(())
    }
}

/// How far reading has come. Most bytes of a file are in other columns and are never
/// read; so that the bar reaches its end, a row counts for its share of the file.
pub(crate) struct Passed<'p> {
    progress: Option<&'p Progress>,
    size: u64,
    rows: u64,
    row: u64,
    bytes: u64,
}

impl Passed<'_> {
    fn rows(&mut self, more: u64) {
        self.row = (self.row + more).min(self.rows);
        let share = u128::from(self.size) * u128::from(self.row) / u128::from(self.rows.max(1));
        self.to(share as u64);
    }

    pub(crate) fn finish(mut self) {
        self.to(self.size);
    }

    fn to(&mut self, bytes: u64) {
        if let Some(progress) = self.progress {
            progress.add(bytes.saturating_sub(self.bytes));
        }
        self.bytes = self.bytes.max(bytes);
    }
}

thread_local! {
    /// Whether a panic here is the decoder's way to say that a file is damaged.
    static DECODING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// What `decode` returns; an error also where it panics. It must be a call into the
/// decoder and nothing of ours: our panics are bugs, and shall be seen.
fn contained<T>(decode: impl FnOnce() -> Decoded<T>) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            if !DECODING.get() {
                usual(about);
            }
        }));
    });
    DECODING.set(true);
    // What a panic leaves half done is dropped with the error.
    let result = panic::catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(false);
    match result {
        Ok(result) => Ok(result?),
        Err(_) => bail!("damaged: the values cannot be decoded"),
    }
}
