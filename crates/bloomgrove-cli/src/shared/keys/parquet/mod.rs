//! Keys from a column of a Parquet file.
//!
//! ```text
//!   footer.rs   may the footer be parsed at all?
//!      v
//!   file.rs     columns --choose--> one of them, and in every row group its chunk
//!      v
//!   pages.rs    the pages of the chunk, as far as they can be true
//!      v
//!   values.rs   from values to the text of keys
//!   parse.rs    and back: the value that a text of a query means
//!   code.rs     types of columns, as an index and a message name them
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
mod code;
mod file;
mod footer;
mod pages;
mod parse;
mod source;
pub(crate) mod values;

use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::{
    BoolType, ByteArrayType, DataType, FixedLenByteArrayType, Int32Type, Int64Type,
};
use ::parquet::errors::Result as Decoded;
use anyhow::{Result, bail};

pub(crate) use self::file::{KeyColumn, ParquetFile};
pub(crate) use self::parse::Value;
#[cfg_attr(not(feature = "s3"), allow(unused_imports))]
pub(crate) use self::source::{Ranges, Source};
pub(crate) use self::values::Spelling;
use super::column::{Batch, listed};
use super::{Column, Each, LONGEST};
use crate::shared::interrupt;
use crate::shared::progress::Progress;

/// The values to hold at a time, in bytes; their number follows from how long they are.
pub(crate) const HELD: usize = 4 << 20;
/// The most records to ask for at a time, and how many to begin with.
pub(crate) const MOST: usize = 1 << 14;
pub(crate) const FIRST: usize = 64;

pub(super) fn read(
    file: (File, u64),
    column: Option<&Column>,
    progress: Option<&Progress>,
    each: Each,
) -> Result<()> {
    let table = ParquetFile::open(Source::file(file))?;
    let Some(column) = column else {
        bail!(
            "a Parquet file has columns, not lines; name one with --column: {}",
            listed(table.names())
        );
    };
    let column = table.column(column.choose(table.names(), true)?)?;
    let mut passed = table.passed(progress, 1);
    for group in 0..table.row_groups() {
        table.read_group(group, &column, &mut passed, each)?;
    }
    passed.finish();
    Ok(())
}

fn read_group(
    table: &ParquetFile,
    group: usize,
    column: &KeyColumn,
    passed: &mut Passed,
    each: Each,
) -> Result<()> {
    let (pages, expected) = table.pages(group, column.at)?;
    let (spelling, column) = (column.spelling, table.described(column.at).clone());
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
pub(crate) fn contained<T>(decode: impl FnOnce() -> Decoded<T>) -> Result<T> {
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
