//! One side of the join: the files of a table, its key column, and the conditions on its rows.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use walkdir::WalkDir;

use super::condition::Condition;
use super::{csv_rows, parquet_rows};
use crate::shared::keys::column::Format;
use crate::shared::keys::parquet::{ParquetFile, Source, Spelling};
use crate::shared::keys::{self, Column, unpack};
use crate::shared::progress::Progress;
use crate::shared::stamp::Stamp;
use crate::shared::walk;

/// What takes the keys of the rows, in order: the hash of each, or none if the row cannot join.
pub(super) type EachRow<'e> = &'e mut dyn FnMut(&[Option<u64>]) -> Result<()>;

pub(super) struct Table {
    /// `build` or `probe`.
    pub(super) role: &'static str,
    pub(super) path: PathBuf,
    pub(super) files: Vec<PathBuf>,
    /// Of the first file. Others may have another separator, unless they are copied.
    pub(super) format: Format,
    pub(super) key: Column,
    pub(super) conditions: Vec<Condition>,
    /// Of its files, before any was read.
    stamps: Vec<Stamp>,
}

impl Table {
    pub(super) fn open(
        role: &'static str,
        path: &Path,
        column: &str,
        delimiter: Option<u8>,
    ) -> Result<Self> {
        let key = Column::named(column.to_owned());
        let files = files(path, &key).with_context(|| keys::shown(path))?;
        let parquet = files.iter().filter(|file| keys::is_parquet(file)).count();
        if parquet != 0 && parquet != files.len() {
            bail!(
                "{}: contains Parquet files and others; a table must be of one kind",
                path.display()
            );
        }
        let key = match parquet {
            0 => key.separated(delimiter),
            _ => key,
        };
        let Ok(format) = Format::of(&files[0], Some(&key)) else {
            let file = keys::shown(&files[0]);
            bail!("{file}: not a table; pass a .csv, .tsv or .parquet file");
        };
        Self {
            role,
            path: path.to_owned(),
            files,
            format,
            key,
            conditions: Vec::new(),
            stamps: Vec::new(),
        }
        .stamped()
    }

    fn stamped(mut self) -> Result<Self> {
        let stamps = self.files.iter().map(|file| Stamp::now(file));
        self.stamps = stamps.collect::<std::io::Result<_>>()?;
        Ok(self)
    }

    /// It is read more than once, and rows are told apart by their places.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        for (file, stamp) in self.files.iter().zip(&self.stamps) {
            if !Stamp::now(file).is_ok_and(|now| now == *stamp) {
                bail!(
                    "{}: changed while it was read; run the command again",
                    keys::shown(file)
                );
            }
        }
        Ok(())
    }

    /// The type of the key column in the first file; none in a CSV file.
    fn key_type(&self) -> Result<Option<Spelling>> {
        if self.format != Format::Parquet {
            return Ok(None);
        }
        let path = &self.files[0];
        let read = || {
            let file = ParquetFile::open(Source::file(keys::open_file(path)?))?;
            let at = self.key.choose(file.names(), true)?;
            let spelling = Spelling::of(file.described(at));
            spelling.with_context(|| format!("column {}", file.names()[at]))
        };
        read().map(Some).with_context(|| keys::shown(path))
    }

    /// The columns of the first file.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let file = &self.files[0];
        let read = || match self.format {
            Format::Separated(by) => {
                let mut names = Vec::new();
                unpack::each_text(file, None, &mut |_, text| {
                    names = csv_rows::header(text, by)?;
                    Ok(false)
                })?;
                anyhow::Ok(names)
            }
            _ => Ok(ParquetFile::open(Source::file(keys::open_file(file)?))?
                .names()
                .to_vec()),
        };
        read().with_context(|| keys::shown(file))
    }

    /// The total size of its files.
    pub(super) fn bytes(&self) -> u64 {
        keys::total_size(&self.files)
    }

    /// Calls `each` on the keys of all rows, in order.
    pub(super) fn scan(&self, what: &'static str, each: EachRow) -> Result<()> {
        let progress = Progress::bytes(self.bytes(), what);
        for file in &self.files {
            let mut scan = || match Format::of(file, Some(&self.key))? {
                Format::Separated(by) => csv_rows::scan(self, file, by, &progress, each),
                _ => parquet_rows::scan(self, file, &progress, each),
            };
            scan().with_context(|| keys::shown(file))?;
        }
        Ok(())
    }
}

/// The files of a table: one file, or those in and below a directory that have columns.
fn files(path: &Path, key: &Column) -> Result<Vec<PathBuf>> {
    if path == Path::new("-") {
        bail!("a table is read more than once; save it to a file first");
    }
    let about = fs::metadata(path)?;
    if !about.is_dir() {
        if !about.is_file() {
            bail!("not a regular file; a table is read more than once, so save it to a file first");
        }
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in walk::files(path, walk::is_data) {
        let file = entry?.into_path();
        // Others, such as a README, are not part of the table.
        if Format::of(&file, Some(key)).is_ok() {
            files.push(file);
        }
    }
    // Without its rows, others would be dropped that can join.
    let link = WalkDir::new(path).into_iter().flatten().find(|entry| {
        entry.path_is_symlink() && entry.depth() > 0 && Format::of(entry.path(), Some(key)).is_ok()
    });
    if let Some(link) = link {
        bail!(
            "{}: links are not followed; replace it by the file",
            link.path().display()
        );
    }
    if files.is_empty() {
        bail!("no .parquet, .csv or .tsv files in this directory");
    }
    Ok(files)
}

/// Keys are compared as texts. Where equal values of the two columns have different texts, no row would
/// be left.
pub(super) fn check_keys(build: &Table, probe: &Table) -> Result<()> {
    let (Some(one), Some(other)) = (build.key_type()?, probe.key_type()?) else {
        return Ok(());
    };
    if !one.is_written_like(other) {
        bail!(
            "the keys are {one} in {} and {other} in {}, and equal values are written differently \
             (scale, local time or type); convert one of the columns",
            build.path.display(),
            probe.path.display()
        );
    }
    Ok(())
}

/// Gives each condition to the side that has its column.
pub(super) fn assign(conditions: &[Condition], sides: [&mut Table; 2]) -> Result<()> {
    if conditions.is_empty() {
        return Ok(());
    }
    let names = [sides[0].names()?, sides[1].names()?];
    for condition in conditions {
        let has = |names: &[String], column: &str| names.iter().any(|name| name == column);
        let column = condition.column.as_str();
        let found = [has(&names[0], column), has(&names[1], column)];
        let (side, column) = match found {
            [true, false] => (0, column),
            [false, true] => (1, column),
            [true, true] => bail!(
                "condition {:?}: both tables have this column; write build.{column} or probe.{column}",
                condition.text
            ),
            [false, false] => {
                let split = column.split_once('.');
                let named = split.and_then(|(role, column)| {
                    let side = sides.iter().position(|side| side.role == role)?;
                    has(&names[side], column).then_some((side, column))
                });
                named.with_context(|| {
                    format!(
                        "condition {:?}: no column {column:?}; {} has {}, and {} has {}",
                        condition.text,
                        sides[0].path.display(),
                        keys::column::listed(&names[0]),
                        sides[1].path.display(),
                        keys::column::listed(&names[1]),
                    )
                })?
            }
        };
        let mut condition = condition.clone();
        condition.column = column.to_owned();
        sides[side].conditions.push(condition);
    }
    Ok(())
}
