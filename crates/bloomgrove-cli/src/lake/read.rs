//! From a Parquet file to its sets: a filter for each column of each row group.

use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove::{Collector, Filter, Layout};

use super::known::How;
use super::table::Entry;
use super::tag::Origin;
use crate::shared::keys::parquet::{KeyColumn, ParquetFile, Passed, Spelling};
use crate::shared::progress::Progress;
use crate::shared::stamp::Stamp;

/// Memory for the hashes of one row group before they go to disk.
const MEMORY: usize = 32 << 20;

/// One set of a file.
pub(super) struct Read {
    pub(super) group: u32,
    pub(super) column: u32,
    pub(super) spelling: Spelling,
    pub(super) origin: Origin,
    pub(super) filter: Filter,
}

/// The sets of a file, and the version that it had.
pub(super) fn file(entry: &Entry, how: &How, progress: &Progress) -> Result<(Vec<u8>, Vec<Read>)> {
    let read = || sets(entry, how, progress).with_context(|| entry.path.display().to_string());
    match entry.object {
        Some(_) => Ok((entry.version.clone(), read()?)),
        None => {
            let (stamp, sets) = Stamp::of_reading(&entry.path, read)?;
            Ok((stamp.to_bytes().to_vec(), sets))
        }
    }
}

fn sets(entry: &Entry, how: &How, progress: &Progress) -> Result<Vec<Read>> {
    let table = ParquetFile::open(entry.source()?)?;
    let mut columns = Vec::new();
    for (number, name) in how.columns.iter().enumerate() {
        match table.find(name)? {
            Some(column) => columns.push((number as u32, column)),
            // Then an engine takes its values from there.
            None if is_in_path(name, &entry.path) => {
                bail!("column {name} is in the path of this file, not in the file")
            }
            // A file without the column has no values in it: it may be older than the column.
            None => {}
        }
    }
    // Filters are as large as what they were made from: more than that is a file that lies.
    let mut left = entry.size;
    let mut passed = table.passed(Some(progress), columns.len() as u64);
    let mut sets = Vec::new();
    for group in 0..table.row_groups() {
        for (number, column) in &columns {
            let taken = table.chunk_bytes(group, column)?;
            left = left
                .checked_sub(taken)
                .context("damaged: its chunks overlap")?;
            let (origin, filter) = filter(&table, group, column, how, &mut passed)?;
            if origin == Origin::Footer {
                let bytes = filter.params().bits() / 8;
                left = left
                    .checked_sub(bytes)
                    .context("damaged: its Bloom filters overlap")?;
            }
            sets.push(Read {
                group: group as u32,
                column: *number,
                spelling: column.spelling,
                origin,
                filter,
            });
        }
    }
    if sets.is_empty() {
        sets.push(Read {
            group: 0,
            column: 0,
            spelling: Spelling::Bool,
            origin: Origin::Nothing,
            filter: collector(how.fpr)?.finish()?,
        });
    }
    passed.finish();
    Ok(sets)
}

/// Whether a directory of the path is named `column=value`.
fn is_in_path(column: &str, path: &Path) -> bool {
    path.iter().any(|part| {
        let part = part.to_string_lossy();
        let name = part.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| name.eq_ignore_ascii_case(column))
    })
}

fn filter(
    table: &ParquetFile,
    group: usize,
    column: &KeyColumn,
    how: &How,
    passed: &mut Passed<'_>,
) -> Result<(Origin, Filter)> {
    if how.from_footers
        && column.spelling.is_stored_in_one_way()
        && let Some(filter) = table.filter(group, column)?
    {
        return Ok((Origin::Footer, filter.to_owned()?));
    }
    let mut collector = collector(how.fpr)?;
    table.read_group(group, column, passed, &mut |values| {
        let mut values = values.iter();
        values.try_for_each(|value| Ok(collector.insert(*value)?))
    })?;
    Ok((Origin::Values, collector.finish()?))
}

/// Standard filters: in an index the bits of many lie side by side, so that blocked ones would take
/// more space and be no faster.
fn collector(fpr: f64) -> Result<Collector> {
    let collector = Collector::new(fpr)?.memory(MEMORY).in_steps();
    Ok(collector.layout(Layout::Standard))
}
