//! An open Parquet file: its columns and row groups, and where the bytes of each are.

use ::parquet::basic::Compression;
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetStatisticsPolicy};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::serialized_reader::ReadOptionsBuilder;
use ::parquet::schema::types::ColumnDescPtr;
use anyhow::{Context, Result, bail};
use bloomgrove::Filter;

use super::pages::Checked;
use super::source::Source;
use super::values::Spelling;
use super::{Passed, bloom, contained, footer, read_group};
use crate::shared::keys::Column;
use crate::shared::keys::column::listed;
use crate::shared::progress::Progress;

/// A Parquet file whose footer has been read.
pub(crate) struct ParquetFile {
    pub(crate) reader: SerializedFileReader<Source>,
    source: Source,
    /// Of the columns, nested ones with dots.
    names: Vec<String>,
}

/// A column whose values can be keys.
pub(crate) struct KeyColumn {
    pub(super) at: usize,
    pub(crate) spelling: Spelling,
}

impl ParquetFile {
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

    /// Of the columns, nested ones with dots, in the order of the file.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn size(&self) -> u64 {
        self.source.size()
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
        let outer = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
        let mut alike = self
            .names
            .iter()
            .filter(|known| outer(known) == outer(name));
        let Some(first) = alike.next() else {
            return Ok(None);
        };
        // Engines ignore case.
        let same = |known: &&String| known.to_lowercase() == name.to_lowercase();
        let has_exactly = self.names.iter().any(|known| known == name);
        let name = match self.names.iter().find(same) {
            Some(known) if !has_exactly => known.clone(),
            _ => name.to_owned(),
        };
        let column = Column::named(name);
        let at = column.choose(&self.names, true);
        let at = at.with_context(|| format!("it has a column {first}"))?;
        Ok(Some(self.column(at)?))
    }

    /// The size of a column in a row group, as the footer says.
    pub(crate) fn chunk_bytes(&self, group: usize, column: &KeyColumn) -> Result<u64> {
        let chunk = self.chunk(group, column.at)?;
        Ok(u64::try_from(chunk.compressed_size()).unwrap_or(0))
    }

    pub(super) fn column(&self, at: usize) -> Result<KeyColumn> {
        let spelling = Spelling::of(self.described(at));
        let spelling = spelling.with_context(|| format!("column {}", self.names[at]))?;
        Ok(KeyColumn { at, spelling })
    }

    pub(crate) fn described(&self, at: usize) -> &ColumnDescPtr {
        &self
            .reader
            .metadata()
            .file_metadata()
            .schema_descr()
            .columns()[at]
    }

    /// For reading some of the columns.
    pub(crate) fn passed<'p>(&self, progress: Option<&'p Progress>, columns: u64) -> Passed<'p> {
        let rows = self.reader.metadata().file_metadata().num_rows();
        Passed {
            progress,
            size: self.size(),
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
        read_group(self, group, column, passed, each).with_context(|| self.place(group, column))
    }

    /// The pages of a column in a row group, and how many values the footer says they have.
    pub(crate) fn pages(&self, group: usize, at: usize) -> Result<(Box<Checked>, u64)> {
        let chunk = self.chunk(group, at)?;
        if chunk.file_path().is_some() {
            bail!("its values are in another file; name that file");
        }
        if let codec @ (Compression::BROTLI(_) | Compression::LZO) = chunk.compression() {
            bail!("{codec} compression is not supported; snappy, zstd, gzip and lz4 are");
        }
        let (size, (start, len)) = (self.size(), contained(|| Ok(chunk.byte_range()))?);
        if start.checked_add(len).is_none_or(|end| end > size) {
            bail!(
                "it ends beyond the end of the file at {size} bytes; the file is probably truncated"
            );
        }
        self.source.fetch(start..start + len).context("reading")?;
        let pages = || self.reader.get_row_group(group)?.get_column_page_reader(at);
        let expected = u64::try_from(chunk.num_values()).context("a negative number of values")?;
        let pages = Checked::new(contained(pages)?, self.described(at), expected);
        Ok((Box::new(pages), expected))
    }

    fn chunk(&self, group: usize, at: usize) -> Result<&ColumnChunkMetaData> {
        let chunks = self.reader.metadata().row_group(group).columns();
        chunks
            .get(at)
            .context("the column is missing; the file is damaged")
    }

    /// The Bloom filter that the file has for a column of a row group.
    pub(crate) fn filter(
        &self,
        group: usize,
        column: &KeyColumn,
    ) -> Result<Option<Filter<Vec<u64>>>> {
        self.chunk(group, column.at)
            .and_then(|chunk| bloom::read(&self.source, chunk))
            .with_context(|| format!("the Bloom filter of {}", self.place(group, column)))
    }

    fn place(&self, group: usize, column: &KeyColumn) -> String {
        format!("column {}, row group {}", self.names[column.at], group + 1)
    }
}
