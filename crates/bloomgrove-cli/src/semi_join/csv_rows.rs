//! The rows of CSV files: their keys, and the rows that are kept.
//!
//! A row is copied as it is in the file, quotes included. An empty field is null, quoted or not:
//! databases do not reliably distinguish the two when they export.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove::raw::hash::{Hasher, Xxh3Hasher};

use super::condition::Test;
use super::table::{EachRow, Table};
use crate::shared::keys::csv::Records;
use crate::shared::keys::{Column, column, text, unpack};
use crate::shared::progress::Progress;

/// Rows whose keys are passed on together.
const BATCH: usize = 1 << 12;

/// The names of the columns.
pub(super) fn header(source: &mut dyn Read, delimiter: u8) -> Result<Vec<String>> {
    Ok(Records::open(text::decoded(source), delimiter)?.1)
}

pub(super) fn scan(
    table: &Table,
    path: &Path,
    delimiter: u8,
    progress: &Progress,
    each: EachRow,
) -> Result<()> {
    unpack::each_text(path, Some(progress), &mut |_, source| {
        let (mut records, names) = Records::open(text::decoded(source), delimiter)?;
        let fields = Fields::of(table, &names)?;
        let mut batch = Vec::with_capacity(BATCH);
        while let Some(key) = fields.next(&mut records, &names)? {
            batch.push(key);
            if batch.len() == BATCH {
                each(&batch)?;
                batch.clear();
            }
        }
        each(&batch)?;
        Ok(true)
    })
}

/// Copies the rows for which `keep` returns true. The header is written once, and must be the same
/// in all files.
pub(super) fn copy(
    table: &Table,
    path: &Path,
    delimiter: u8,
    progress: &Progress,
    (first, output): (&mut Option<Vec<String>>, &mut dyn Write),
    keep: &mut dyn FnMut(Option<u64>) -> Result<bool>,
) -> Result<()> {
    unpack::each_text(path, Some(progress), &mut |_, source| {
        let (mut records, names) = Records::open(text::decoded(source), delimiter)?;
        let fields = Fields::of(table, &names)?;
        match first {
            None => write(output, &records)?,
            Some(first) if *first != names => bail!(
                "its columns are {}, but those of the first file are {}; a table must have the same \
                 columns in all files",
                column::listed(&names),
                column::listed(first)
            ),
            Some(_) => {}
        }
        *first = Some(names);
        let names = first.as_deref().unwrap_or_default();
        while let Some(key) = fields.next(&mut records, names)? {
            if keep(key)? {
                write(output, &records)?;
            }
        }
        Ok(true)
    })
}

fn write(output: &mut dyn Write, records: &Records<impl Read>) -> Result<()> {
    let written = output
        .write_all(records.raw())
        .and_then(|()| output.write_all(records.line_end()));
    written.context("writing the output")
}

/// Where the key and the columns of the conditions are.
struct Fields {
    key: usize,
    tests: Vec<(usize, Test)>,
}

impl Fields {
    fn of(table: &Table, names: &[String]) -> Result<Self> {
        let tests = table.conditions.iter().map(|condition| {
            let at = Column::named(condition.column.clone()).choose(names, false)?;
            Ok((at, condition.for_text()))
        });
        Ok(Self {
            key: table.key.choose(names, false)?,
            tests: tests.collect::<Result<_>>()?,
        })
    }

    /// The key of the next row, if it can join; none at the end.
    fn next(
        &self,
        records: &mut Records<impl Read>,
        names: &[String],
    ) -> Result<Option<Option<u64>>> {
        let Some(record) = records.next_of(names)? else {
            return Ok(None);
        };
        let key = &record[self.key];
        let mut holds = !key.is_empty();
        let hash = Xxh3Hasher { seed: 0 }.digest(key).lo;
        for (at, test) in &self.tests {
            let field = &record[*at];
            holds = holds && !field.is_empty();
            if holds {
                holds = match test.field(field) {
                    Ok(holds) => holds,
                    Err(error) => {
                        let line = records.line();
                        return Err(error.context(format!("line {line}, column {}", names[*at])));
                    }
                };
            }
            if !holds {
                break;
            }
        }
        Ok(Some(holds.then_some(hash)))
    }
}
