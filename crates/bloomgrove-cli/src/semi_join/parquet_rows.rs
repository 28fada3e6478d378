//! The keys of the rows of a Parquet file.
//!
//! ```text
//!   condition columns --> which rows of the batch hold
//!   key column ---------> text of each value --> hash      row by row, a batch at a time
//! ```
//!
//! The columns of a row group are read side by side, and only those that are needed. A row is one
//! level of each of them, so none may be in a list.

use std::path::Path;

use ::parquet::basic::Type;
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::{
    AsBytes, BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type,
};
use ::parquet::file::reader::FileReader;
use ::parquet::schema::types::ColumnDescPtr;
use anyhow::{Context, Result, bail};
use bloomgrove::raw::hash::{Hasher, Xxh3Hasher};

use super::condition::Test;
use super::table::{EachRow, Table};
use crate::shared::keys::parquet::values::{self, Bytes, Number, Spelling};
use crate::shared::keys::parquet::{FIRST, HELD, MOST, ParquetFile, Source, contained};
use crate::shared::keys::{Column, open_file};
use crate::shared::{interrupt, progress::Progress};

pub(super) fn scan(table: &Table, path: &Path, progress: &Progress, each: EachRow) -> Result<()> {
    let opened = ParquetFile::open(Source::file(open_file(path)?))?;
    let needed = Needed::of(table, &opened)?;
    let groups = opened.reader.metadata().row_groups();
    let rows = groups.iter().map(|group| group.num_rows().max(0));
    let rows = rows.fold(0i64, i64::saturating_add);
    for (at, group) in groups.iter().enumerate() {
        let scan = needed.scan_group(&opened, at, each);
        scan.with_context(|| format!("row group {}", at + 1))?;
        let share = group.num_rows().max(0) as f64 / rows.max(1) as f64;
        progress.add((opened.size() as f64 * share) as u64);
    }
    Ok(())
}

/// The columns that say which rows are kept.
struct Needed {
    key: (usize, Spelling),
    tests: Vec<(usize, Test)>,
}

impl Needed {
    fn of(table: &Table, opened: &ParquetFile) -> Result<Self> {
        let columns = opened.reader.metadata().file_metadata().schema_descr();
        let names = opened.names();
        let flat = |column: &Column, purpose: &str| {
            let at = column.choose(names, true)?;
            if columns.column(at).max_rep_level() > 0 {
                bail!(
                    "column {} is in a list, so that a row has many of its values; {purpose} must \
                     have one",
                    names[at]
                );
            }
            anyhow::Ok(at)
        };
        let key = flat(&table.key, "the key column")?;
        let spelling = Spelling::of(&columns.column(key));
        let spelling = spelling.with_context(|| format!("column {}", names[key]))?;
        let tests = table.conditions.iter().map(|condition| {
            let column = Column::named(condition.column.clone());
            let at = flat(&column, "the column of a condition")?;
            Ok((at, condition.for_column(&columns.column(at))?))
        });
        Ok(Self {
            key: (key, spelling),
            tests: tests.collect::<Result<_>>()?,
        })
    }

    fn scan_group(&self, opened: &ParquetFile, group: usize, each: EachRow) -> Result<()> {
        let mut steps = Vec::new();
        for (at, test) in &self.tests {
            steps.push(condition_step(opened, group, *at, test)?);
        }
        steps.push(key_step(opened, group, self.key)?);
        let expected = opened.reader.metadata().row_group(group).num_rows();
        let (mut rows, mut wanted, mut batch) = (0, FIRST, Batch::default());
        loop {
            interrupt::check()?;
            batch.holds.clear();
            batch.holds.resize(wanted, true);
            batch.keys.clear();
            batch.keys.resize(wanted, None);
            let mut found = None;
            for step in &mut steps {
                let records = step(wanted, &mut batch)?;
                if *found.get_or_insert(records) != records {
                    bail!("damaged: its columns have different numbers of rows");
                }
            }
            let records = found.unwrap_or(0);
            if records == 0 {
                break;
            }
            rows += records as i64;
            each(&batch.keys[..records])?;
            let record = std::mem::take(&mut batch.bytes) / records;
            wanted = (HELD / record.max(1)).clamp(1, MOST).min(4 * wanted);
        }
        if rows != expected {
            bail!("damaged: it has {rows} rows, but the footer says {expected}");
        }
        Ok(())
    }
}

/// Some rows.
#[derive(Default)]
struct Batch {
    /// Whether all conditions hold so far.
    holds: Vec<bool>,
    keys: Vec<Option<u64>>,
    /// How many bytes the values take.
    bytes: usize,
}

/// Reads the next rows of a column, at most this many; returns their number.
type Step<'o> = Box<dyn FnMut(usize, &mut Batch) -> Result<usize> + 'o>;

fn condition_step<'o>(
    opened: &'o ParquetFile,
    group: usize,
    at: usize,
    test: &'o Test,
) -> Result<Step<'o>> {
    let chunk = Chunk { opened, group, at };
    let column = chunk.column();
    let spelling = match column.physical_type() {
        Type::FLOAT => {
            return chunk.steps::<FloatType>(|found, row, batch| {
                batch.holds[row] &= test.float(f64::from(*found));
                Ok(())
            });
        }
        Type::DOUBLE => {
            return chunk.steps::<DoubleType>(|found, row, batch| {
                batch.holds[row] &= test.float(*found);
                Ok(())
            });
        }
        _ => Spelling::of(&column)?,
    };
    match spelling {
        Spelling::Bool => chunk.steps::<BoolType>(|found, row, batch| {
            batch.holds[row] &= test.number((*found).into());
            Ok(())
        }),
        Spelling::Int32(about) => chunk.steps::<Int32Type>(move |found, row, batch| {
            batch.holds[row] &= test.number(match about {
                Number::Unsigned => found.cast_unsigned().into(),
                _ => (*found).into(),
            });
            Ok(())
        }),
        Spelling::Int64(about) => chunk.steps::<Int64Type>(move |found, row, batch| {
            batch.holds[row] &= test.number(match about {
                Number::Unsigned => found.cast_unsigned().into(),
                _ => (*found).into(),
            });
            Ok(())
        }),
        Spelling::Bytes(about) => chunk.steps::<ByteArrayType>(move |found, row, batch| {
            batch.holds[row] &= holds_bytes(test, about, found.data())?;
            Ok(())
        }),
        Spelling::FixedBytes(about, _) => {
            chunk.steps::<FixedLenByteArrayType>(move |found, row, batch| {
                batch.holds[row] &= holds_bytes(test, about, found.data())?;
                Ok(())
            })
        }
    }
}

fn holds_bytes(test: &Test, about: Bytes, found: &[u8]) -> Result<bool> {
    Ok(match about {
        Bytes::Decimal { .. } => test.number(values::unscaled(found)?),
        Bytes::Plain | Bytes::Uuid => test.bytes(found),
    })
}

fn key_step<'o>(
    opened: &'o ParquetFile,
    group: usize,
    (at, spelling): (usize, Spelling),
) -> Result<Step<'o>> {
    let chunk = Chunk { opened, group, at };
    match spelling {
        Spelling::Bool => chunk.keys::<BoolType>(values::bool),
        Spelling::Int32(about) => {
            chunk.keys::<Int32Type>(move |value, key| about.write_32(*value, key))
        }
        Spelling::Int64(about) => {
            chunk.keys::<Int64Type>(move |value, key| about.write_64(*value, key))
        }
        Spelling::Bytes(about) => {
            chunk.keys::<ByteArrayType>(move |value, key| about.write(value.data(), key))
        }
        Spelling::FixedBytes(about, _) => {
            chunk.keys::<FixedLenByteArrayType>(move |value, key| about.write(value.data(), key))
        }
    }
}

/// One column of one row group.
#[derive(Clone, Copy)]
struct Chunk<'o> {
    opened: &'o ParquetFile,
    group: usize,
    at: usize,
}

impl<'o> Chunk<'o> {
    fn column(self) -> ColumnDescPtr {
        let about = self.opened.reader.metadata().file_metadata();
        about.schema_descr().column(self.at)
    }

    /// Sets the keys of the rows that hold.
    fn keys<T: DataType>(
        self,
        write: impl Fn(&T::T, &mut Vec<u8>) -> Result<()> + 'o,
    ) -> Result<Step<'o>> {
        let mut text = Vec::new();
        self.steps::<T>(move |value, row, batch| {
            if batch.holds[row] {
                text.clear();
                write(value, &mut text)?;
                batch.keys[row] = Some(Xxh3Hasher { seed: 0 }.digest(&text).lo);
            }
            Ok(())
        })
    }

    /// Calls `each` on every value and its row, batch by batch. A row without a value cannot join.
    fn steps<T: DataType>(
        self,
        mut each: impl FnMut(&T::T, usize, &mut Batch) -> Result<()> + 'o,
    ) -> Result<Step<'o>> {
        let column = self.column();
        let name = column.path().string();
        let (most, chunk) = (
            column.max_def_level(),
            self.opened.pages(self.group, self.at),
        );
        let (pages, _) = chunk.with_context(|| format!("column {name}"))?;
        let mut reader = contained(|| Ok(ColumnReaderImpl::<T>::new(column, pages)))?;
        let (mut values, mut definitions) = (Vec::new(), Vec::new());
        let mut step = move |wanted, batch: &mut Batch| {
            values.clear();
            definitions.clear();
            let (records, _, _) = contained(|| {
                reader.read_records(wanted, Some(&mut definitions), None, &mut values)
            })?;
            let mut found = values.iter();
            for row in 0..records {
                let is_null = most > 0 && definitions.get(row) != Some(&most);
                if is_null {
                    batch.holds[row] = false;
                    continue;
                }
                let value = found.next().context("damaged: values are missing")?;
                batch.bytes += size_of::<T::T>() + value.as_bytes().len();
                each(value, row, batch)?;
            }
            // Values hold on to their pages.
            values.clear();
            anyhow::Ok(records)
        };
        Ok(Box::new(move |wanted, batch| {
            step(wanted, batch).with_context(|| format!("column {name}"))
        }))
    }
}
