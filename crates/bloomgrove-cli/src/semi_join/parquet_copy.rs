//! The rows of a Parquet file that are kept, in a new file of the same schema.
//!
//! ```text
//!   row groups   | a | b | c | d |      and which of their rows are kept
//!                  \   |   /   |
//!   output       |   a b c   | d |      as many at once as the largest group had rows
//! ```
//!
//! Columns are copied one after the other: values, and the levels that say which are null and
//! where lists begin. In memory are the bits of the rows, a batch of one column, and what the
//! writer keeps of a chunk: its dictionary and the pages that wait for it.
//!
//! Compression, dictionaries, sort order and the file's own key-value pairs stay as they were;
//! Bloom filters and page indexes are not written.

use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, Type};
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::column::writer::ColumnWriterImpl;
use ::parquet::data_type::{
    AsBytes, BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96Type,
};
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::reader::FileReader;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use anyhow::{Context, Result, bail};

use super::mask::MaskReader;
use crate::shared::keys::parquet::{FIRST, HELD, MOST, ParquetFile, contained};
use crate::shared::whole_file::WholeFile;
use crate::shared::{interrupt, progress::Progress};

/// Values that are written together.
const TOGETHER: usize = 1 << 12;
/// The most rows of several groups whose bits are in memory at once: a MiB of bits.
const ROWS_AT_ONCE: u64 = 1 << 23;

/// The file being written.
pub(super) struct Output {
    writer: SerializedFileWriter<WholeFile>,
}

impl Output {
    /// A file like the one that was opened.
    pub(super) fn like(opened: &ParquetFile, file: WholeFile) -> Result<Self> {
        let about = opened.reader.metadata();
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("bloomgrove ", env!("CARGO_PKG_VERSION")).into())
            .set_key_value_metadata(about.file_metadata().key_value_metadata().cloned())
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true);
        if let Some(group) = about.row_groups().first() {
            for chunk in group.columns() {
                let path = chunk.column_path().clone();
                let has_dictionary = chunk.encodings().any(|encoding| {
                    matches!(
                        encoding,
                        Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY
                    )
                });
                let compression = match chunk.compression() {
                    // Deprecated, as its framing was never specified.
                    Compression::LZ4 => Compression::LZ4_RAW,
                    other => other,
                };
                properties = properties
                    .set_column_dictionary_enabled(path.clone(), has_dictionary)
                    .set_column_compression(path, compression);
            }
        }
        let schema = about.file_metadata().schema_descr().root_schema_ptr();
        let properties = Arc::new(properties.build());
        let writer = contained(|| SerializedFileWriter::new(file, schema, properties))?;
        Ok(Self { writer })
    }

    /// Ensures that a further file has the same columns.
    pub(super) fn check(&self, opened: &ParquetFile) -> Result<()> {
        let theirs = opened.reader.metadata().file_metadata().schema_descr();
        let ours = self.writer.schema_descr();
        // The root has a name that depends on the writer.
        if ours.root_schema().get_fields() != theirs.root_schema().get_fields() {
            bail!("its schema differs from that of the first file; a table must have one schema");
        }
        Ok(())
    }

    /// Copies the rows of a file that the mask has.
    pub(super) fn copy(
        &mut self,
        opened: &ParquetFile,
        mask: &mut MaskReader,
        progress: &Progress,
    ) -> Result<()> {
        let groups = opened.reader.metadata().row_groups();
        let rows_of = |group: &RowGroupMetaData| u64::try_from(group.num_rows()).unwrap_or(0);
        let enough = groups.iter().map(rows_of).max().unwrap_or(0);
        let (mut parts, mut kept, mut passed) = (Vec::new(), 0, 0);
        for (at, group) in groups.iter().enumerate() {
            let rows = rows_of(group);
            let words = mask.take(rows)?;
            let part = Part {
                group: at,
                rows,
                kept: words.iter().map(|word| u64::from(word.count_ones())).sum(),
                words,
            };
            if kept + part.kept > enough || passed + rows > ROWS_AT_ONCE {
                self.write_group(opened, &parts, progress)?;
                parts.clear();
                (kept, passed) = (0, 0);
            }
            (kept, passed) = (kept + part.kept, passed + rows);
            match part.kept {
                0 => progress.add(u64::try_from(group.compressed_size()).unwrap_or(0)),
                _ => parts.push(part),
            }
        }
        self.write_group(opened, &parts, progress)
    }

    fn write_group(
        &mut self,
        opened: &ParquetFile,
        parts: &[Part],
        progress: &Progress,
    ) -> Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let mut group = contained(|| self.writer.next_row_group())?;
        let mut at = 0;
        while let Some(mut column) = contained(|| group.next_column())? {
            for part in parts {
                let copied = copy_chunk(opened, part, at, &mut column);
                copied.with_context(|| {
                    let names = opened.names();
                    format!("column {}, row group {}", names[at], part.group + 1)
                })?;
                let chunk = opened.reader.metadata().row_group(part.group).column(at);
                progress.add(u64::try_from(chunk.compressed_size()).unwrap_or(0));
            }
            contained(|| column.close())?;
            at += 1;
        }
        contained(|| group.close())?;
        Ok(())
    }

    pub(super) fn finish(self) -> Result<WholeFile> {
        contained(|| self.writer.into_inner())
    }
}

/// A row group, and a bit for each of its rows.
struct Part {
    group: usize,
    rows: u64,
    kept: u64,
    words: Vec<u64>,
}

impl Part {
    /// Whether the rows to keep are so rare that their values would keep many pages in memory.
    fn is_sparse(&self) -> bool {
        self.kept < self.rows / 4
    }

    fn is_kept(&self, row: usize) -> bool {
        let word = self.words.get(row / 64);
        word.is_some_and(|word| word >> (row % 64) & 1 != 0)
    }

    /// The end of the rows from `row` on that are all dropped, in steps of 64.
    fn end_of_gap(&self, row: usize) -> usize {
        let gap = self.words[row / 64..].iter().take_while(|&&word| word == 0);
        let end = (row / 64 + gap.count()) * 64;
        end.clamp(row, self.rows as usize)
    }

    /// The end of the rows from `row` on of which every 64 have one to keep, at most `most` later.
    fn end_of_run(&self, row: usize, most: usize) -> usize {
        let run = self.words[row / 64..].iter().take_while(|&&word| word != 0);
        let end = (row / 64 + run.take(most.div_ceil(64) + 1).count()) * 64;
        end.min(row + most).min(self.rows as usize)
    }
}

fn copy_chunk(
    opened: &ParquetFile,
    part: &Part,
    at: usize,
    output: &mut SerializedColumnWriter<'_>,
) -> Result<()> {
    let own = |value: &ByteArray| ByteArray::from(value.data().to_vec());
    match opened
        .reader
        .metadata()
        .row_group(part.group)
        .column(at)
        .column_type()
    {
        Type::BOOLEAN => copy_as::<BoolType>(opened, part, at, output.typed(), |v| *v),
        Type::INT32 => copy_as::<Int32Type>(opened, part, at, output.typed(), |v| *v),
        Type::INT64 => copy_as::<Int64Type>(opened, part, at, output.typed(), |v| *v),
        Type::INT96 => copy_as::<Int96Type>(opened, part, at, output.typed(), |v| *v),
        Type::FLOAT => copy_as::<FloatType>(opened, part, at, output.typed(), |v| *v),
        Type::DOUBLE => copy_as::<DoubleType>(opened, part, at, output.typed(), |v| *v),
        Type::BYTE_ARRAY => copy_as::<ByteArrayType>(opened, part, at, output.typed(), own),
        Type::FIXED_LEN_BYTE_ARRAY => {
            let own = |value: &FixedLenByteArray| FixedLenByteArray::from(own(value));
            copy_as::<FixedLenByteArrayType>(opened, part, at, output.typed(), own)
        }
    }
}

/// Copies the kept rows of one column. A value refers to the page it was read from; `own` makes a
/// copy that does not, for values so rare that they would keep many pages in memory.
fn copy_as<T: DataType>(
    opened: &ParquetFile,
    part: &Part,
    at: usize,
    output: &mut ColumnWriterImpl<'_, T>,
    own: impl Fn(&T::T) -> T::T,
) -> Result<()> {
    let (pages, _) = opened.pages(part.group, at)?;
    let column = opened
        .reader
        .metadata()
        .row_group(part.group)
        .column(at)
        .column_descr_ptr();
    let levels = (column.max_def_level(), column.max_rep_level());
    let mut reader = contained(|| Ok(ColumnReaderImpl::<T>::new(column, pages)))?;
    let mut read = Levels::<T>::new(levels);
    let mut kept = Levels::<T>::new(levels);
    let (mut row, mut wanted) = (0, FIRST);
    while row < part.rows as usize {
        interrupt::check()?;
        let gap = part.end_of_gap(row) - row;
        if gap > 0 {
            let skipped = contained(|| reader.skip_records(gap))?;
            check_rows(skipped, gap)?;
            row += gap;
            continue;
        }
        let count = part.end_of_run(row, wanted) - row;
        read.clear();
        let records = contained(|| {
            let (definitions, repetitions) = (&mut read.definitions, &mut read.repetitions);
            let found = (Some(definitions), Some(repetitions));
            reader.read_records(count, found.0, found.1, &mut read.values)
        })?;
        check_rows(records.0, count)?;
        let bytes = read.weigh();
        read.keep(
            &mut kept,
            |record| part.is_kept(row + record),
            |value| match part.is_sparse() {
                true => own(&value),
                false => value,
            },
        )?;
        row += count;
        wanted = (HELD / (bytes / count).max(1))
            .clamp(1, MOST)
            .min(4 * wanted);
        if kept.len() >= TOGETHER || kept.bytes >= HELD {
            kept.write(output)?;
        }
    }
    kept.write(output)
}

fn check_rows(found: usize, expected: usize) -> Result<()> {
    if found != expected {
        bail!("damaged: it has fewer rows than the key column");
    }
    Ok(())
}

/// Values of a column, and the levels that say which rows they belong to.
struct Levels<T: DataType> {
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    /// The highest of each kind; 0 if there are none of the kind.
    most: (i16, i16),
    /// How large the values are.
    bytes: usize,
}

fn weight<T: DataType>(value: &T::T) -> usize {
    size_of::<T::T>() + value.as_bytes().len()
}

impl<T: DataType> Levels<T> {
    fn new(most: (i16, i16)) -> Self {
        Self {
            values: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
            most,
            bytes: 0,
        }
    }

    fn clear(&mut self) {
        self.values.clear();
        self.definitions.clear();
        self.repetitions.clear();
        self.bytes = 0;
    }

    fn len(&self) -> usize {
        self.values.len().max(self.definitions.len())
    }

    fn weigh(&self) -> usize {
        let values = self.values.iter().map(weight::<T>);
        values.sum::<usize>() + 4 * self.definitions.len()
    }

    /// Appends the records that are wanted to `kept`.
    fn keep(
        &mut self,
        kept: &mut Self,
        is_kept: impl Fn(usize) -> bool,
        own: impl Fn(T::T) -> T::T,
    ) -> Result<()> {
        let mut values = self.values.drain(..);
        let push = |kept: &mut Self, value: T::T| {
            kept.bytes += weight::<T>(&value);
            kept.values.push(own(value));
        };
        let (most_defined, most_repeated) = self.most;
        if most_defined == 0 {
            // No nulls, and so no lists: a value per record.
            for (record, value) in values.enumerate() {
                if is_kept(record) {
                    push(kept, value);
                }
            }
            return Ok(());
        }
        let (mut record, mut keep) = (None, false);
        for (level, &definition) in self.definitions.iter().enumerate() {
            let repetition = self.repetitions.get(level);
            if most_repeated == 0 || repetition == Some(&0) {
                let next = record.map_or(0, |record| record + 1);
                record = Some(next);
                keep = is_kept(next);
            }
            if keep {
                kept.definitions.push(definition);
                kept.repetitions.extend(repetition);
            }
            if definition == most_defined {
                let value = values.next().context("damaged: values are missing")?;
                if keep {
                    push(kept, value);
                }
            }
        }
        Ok(())
    }

    /// Writes all of it, after which it is empty.
    fn write(&mut self, output: &mut ColumnWriterImpl<'_, T>) -> Result<()> {
        if self.len() > 0 {
            let definitions = (self.most.0 > 0).then_some(&self.definitions[..]);
            let repetitions = (self.most.1 > 0).then_some(&self.repetitions[..]);
            contained(|| output.write_batch(&self.values, definitions, repetitions))?;
            self.clear();
        }
        Ok(())
    }
}
