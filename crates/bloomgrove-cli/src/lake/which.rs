//! `bloomgrove lake which`: the files of a table that can contain a value.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bloomgrove::Error;
use bloomgrove::index::Index;
use clap::ArgGroup;
use serde_json::json;

use super::known::{How, Kind, Known};
use super::table::{Files, TableArgs};
use super::tag::{Origin, Tag};
use crate::shared::keys::parquet::Value;
use crate::shared::keys::{self, KeyKind};
use crate::shared::output::{self, Output, complain};
use crate::shared::search::Complaints;
use crate::shared::{Outcome, units};

/// List the Parquet files of a table that may contain a value.
///
/// Lists the files that may contain any of the values in the column, for an engine to read. A file
/// that is not listed does not contain them. How many others are listed depends on --wasted of
/// `lake index`, or on the filters of the files (--from-footers). Files that are new or have changed
/// since `lake index` or `lake sync` are always listed, and so is every file if there is no index; a
/// warning says so.
///
/// Values are written as the column's type prints them: 42, 12.50, 2024-02-29,
/// 2024-02-29T12:00:00Z, 0123abcd-... for a UUID.
///
/// Exit code: 0 if any file is listed, 1 if none is, 2 if something could not be read.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("sought").args(["values", "keys_from"]).required(true).multiple(true),
    override_usage = "bloomgrove lake which [OPTIONS] TABLE VALUE...\n       \
                      bloomgrove lake which [OPTIONS] TABLE --keys-from FILE",
    after_help = "Examples:\n  \
    bloomgrove lake which events/ 7f3a9c2e41d0 --column trace_id\n  \
    bloomgrove lake which events/ --keys-from ids.txt --column trace_id --format json\n  \
    found=$(bloomgrove lake which events/ 4711 --column user_id --format duckdb) &&\n  \
    duckdb -c \"FROM $found WHERE user_id = 4711\"")]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// The values
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    values: Vec<OsString>,
    /// Look for every line of this file, too; - is standard input
    #[arg(long, value_name = "FILE")]
    keys_from: Option<PathBuf>,
    /// The column [default: that of the index, if it has only one]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// How to print the files
    #[arg(long, value_enum, default_value = "paths", value_name = "FORMAT")]
    format: Format,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Do not look for changes: rows in files that are new, have changed, or that the last `lake sync`
    /// could not read (or did not reach, if it was interrupted) are not found
    #[arg(long, conflicts_with = "files_from")]
    trust: bool,
    /// Report on standard error how many files are excluded
    #[arg(long)]
    explain: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One path per line
    Paths,
    /// An object with each file and its row groups
    Json,
    /// read_parquet([...]), for DuckDB's FROM
    Duckdb,
    /// scan_parquet([...]), for Polars
    Polars,
}

/// The files to open, by path, with the row groups that can match; none if all of them must be read.
type Found = BTreeMap<PathBuf, Option<BTreeSet<u32>>>;

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let values = args.values.into_iter();
    let mut keys: Vec<Vec<u8>> = values.map(OsString::into_vec).collect();
    if let Some(file) = &args.keys_from {
        keys.extend(keys::read_all(file, KeyKind::Text)?);
    }
    let mut complaints = Complaints::default();
    // What is wrong with an index costs time, never rows.
    let path = args.table.index_path()?;
    let opened = args.table.open(&path);
    // A table without files is the first thing to report.
    let listed = match args.trust && matches!(opened, Ok(Some(_))) {
        true => None,
        false => Some(args.table.list(&mut complaints)?),
    };
    let index = match opened {
        Ok(Some(index)) => Some(index),
        Ok(None) => {
            complain(format_args!(
                "{}: there is no index, so every file is listed; create one with `bloomgrove lake index`",
                path.display()
            ));
            None
        }
        Err(error)
            if matches!(
                error.kind(),
                Error::WrongContent { .. } | Error::NotGrove { .. }
            ) =>
        {
            complain(format_args!(
                "{error}, so every file is listed; pass the index of the table with --index, or \
                 create one with `bloomgrove lake index`"
            ));
            None
        }
        Err(error) => {
            complain(format_args!(
                "{error}; every file is listed; build the index again with `bloomgrove lake index \
                 --replace`"
            ));
            None
        }
    };
    let column = args.column.as_deref();
    let found = match &index {
        Some(index) => {
            let found = find(index, &args.table, column, &keys, listed.as_ref());
            found.with_context(|| path.display().to_string())?
        }
        None => {
            let files = listed.iter().flat_map(Files::values);
            files.map(|entry| (entry.path.clone(), None)).collect()
        }
    };
    if args.explain {
        let of = match (&listed, &index) {
            (Some(files), _) => files.len(),
            (None, Some(index)) => Known::of(index).files().count(),
            (None, None) => 0,
        };
        complain(format_args!(
            "{} of {} may contain the values",
            units::grouped(found.len() as u64),
            units::counted(of as u64, "file")
        ));
    }
    print(&found, if args.json { Format::Json } else { args.format })?;
    complaints.finish();
    Ok(match (found.is_empty(), complaints.is_empty()) {
        (_, false) => Outcome::Incomplete,
        (false, true) => Outcome::Yes,
        (true, true) => Outcome::No,
    })
}

/// The files that can contain any of the keys. Without `listed`, those of the index are all there are.
fn find(
    index: &Index,
    table: &TableArgs,
    column: Option<&str>,
    keys: &[Vec<u8>],
    listed: Option<&Files>,
) -> Result<Found> {
    let how = How::of(index)?;
    let column = match (column, &how.columns[..]) {
        (None, [_]) => 0,
        (None, columns) => bail!("name a column with --column: {}", columns.join(", ")),
        (Some(name), columns) => match columns.iter().position(|known| known == name) {
            Some(at) => at as u32,
            None => bail!(
                "column {name:?} is not indexed; indexed: {}",
                columns.join(", ")
            ),
        },
    };
    let known = Known::of(index);
    let mut found = Found::new();
    let mut unindexed = 0;
    for (name, entry) in listed.into_iter().flatten() {
        if !known.is_current(name, entry) {
            unindexed += 1;
            found.insert(entry.path.clone(), None);
        }
    }
    // Without a look at the files, those that the index itself does not know well enough are listed.
    if listed.is_none() {
        for file in known.files().filter(|file| !file.is_certain()) {
            found.insert(table.path_of(file.name()), None);
        }
    }
    if unindexed > 0 {
        let (files, them) = match unindexed {
            1 => (
                "1 file is listed without being checked, because it is new, has changed,".into(),
                "it",
            ),
            many => (
                format!(
                    "{} files are listed without being checked, because they are new, have changed,",
                    units::grouped(many)
                ),
                "them",
            ),
        };
        complain(format_args!(
            "{files} or could not be read by the last sync; run `bloomgrove lake sync` to index {them}"
        ));
    }
    let (candidates, impossible) = candidates(index, &known, column, keys, &how.columns)?;
    match impossible {
        // Other files are listed; of what type the column is there, nobody knows.
        Some(what) if unindexed > 0 => complain(format_args!("{what}")),
        Some(what) => bail!(what),
        None => {}
    }
    for (path, group) in candidates {
        let path = match listed {
            // Gone, or in the list already.
            Some(files) => match files.get(&path) {
                Some(entry) if known.is_current(&path, entry) => entry.path.clone(),
                _ => continue,
            },
            None => table.path_of(&path),
        };
        if let Some(groups) = found.entry(path).or_insert_with(|| Some(BTreeSet::new())) {
            groups.insert(group);
        }
    }
    Ok(found)
}

/// The path of a file, and a row group of it.
type Candidate = (Vec<u8>, u32);

/// The files and row groups whose filters accept one of the keys, and what is wrong with a key that
/// the column cannot contain.
fn candidates(
    index: &Index,
    known: &Known<'_>,
    column: u32,
    keys: &[Vec<u8>],
    columns: &[String],
) -> Result<(Vec<Candidate>, Option<String>)> {
    let kinds = known.kinds_of(Some(column));
    let mut understood = vec![kinds.is_empty(); keys.len()];
    let mut found = Vec::new();
    for (kind, _) in &kinds {
        let mut texts: Vec<Vec<u8>> = Vec::new();
        let mut is_undecided = false;
        for (key, understood) in keys.iter().zip(&mut understood) {
            let Some(value) = kind.spelling.parse(key) else {
                continue;
            };
            *understood = true;
            match kind.key_of(value) {
                Some(text) => texts.push(text),
                None => is_undecided = true,
            }
        }
        let is_of_kind = |tag: &[u8]| Tag::from_bytes(tag).is_some_and(|tag| tag.kind() == *kind);
        let mut take = |tag: &[u8]| {
            if let Some(tag) = Tag::from_bytes(tag) {
                found.push((tag.path.to_vec(), tag.group));
            }
        };
        if is_undecided {
            let sets = index.sets().filter(|set| is_of_kind(set.tag()));
            sets.for_each(|set| take(set.tag()));
            continue;
        }
        // One kind is all there is, most of the time.
        let scope = (known.kinds.len() > 1).then(|| index.scope(|set| is_of_kind(set.tag())));
        let view = match &scope {
            Some(scope) => index.within(scope)?,
            None => index.view(),
        };
        let answers = view.which_many(&texts);
        (answers.iter().flatten()).for_each(|set| take(set.tag()));
    }
    let impossible = understood.iter().position(|understood| !understood);
    let impossible = impossible.map(|at| {
        let types: BTreeSet<String> = kinds
            .iter()
            .map(|(Kind { spelling, .. }, _)| match spelling.example() {
                Some(example) => format!("{spelling} such as {example}"),
                None => spelling.to_string(),
            })
            .collect();
        format!(
            "{:?} cannot be in column {:?}, which contains {}",
            String::from_utf8_lossy(&keys[at]),
            columns[column as usize],
            Vec::from_iter(types).join(" and ")
        )
    });
    Ok((found, impossible))
}

impl Kind {
    /// What the filters of this kind contain for a value; none if that is not certain.
    fn key_of(&self, value: Value) -> Option<Vec<u8>> {
        match self.origin {
            Origin::Footer => value.stored,
            _ => value.key,
        }
    }
}

fn print(found: &Found, format: Format) -> Result<()> {
    let mut output = Output::new();
    match format {
        Format::Paths => {
            for path in found.keys() {
                output.bytes(&[path.as_os_str().as_bytes(), b"\n"])?;
            }
        }
        Format::Json => {
            let file = |(path, groups): (&PathBuf, &Option<BTreeSet<u32>>)| {
                let path = output::json_bytes(path.as_os_str().as_bytes());
                json!({ "path": path, "row_groups": groups })
            };
            let files: Vec<_> = found.iter().map(file).collect();
            output.json(&json!({ "count": files.len(), "files": files }))?;
        }
        // Without a file, an empty list would be an error there: nothing is printed.
        Format::Duckdb | Format::Polars if found.is_empty() => {}
        Format::Duckdb => {
            let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
            output.line(format_args!("read_parquet([{}])", list(found, quoted)?))?;
        }
        Format::Polars => {
            let quoted = |text: &str| json!(text).to_string();
            output.line(format_args!("scan_parquet([{}])", list(found, quoted)?))?;
        }
    }
    output.finish()
}

fn list(found: &Found, quoted: impl Fn(&str) -> String) -> Result<String> {
    let mut paths = Vec::new();
    for path in found.keys() {
        let text = path.to_str();
        let text = text.with_context(|| format!("{}: not valid UTF-8", path.display()))?;
        paths.push(quoted(text));
    }
    Ok(paths.join(", "))
}
