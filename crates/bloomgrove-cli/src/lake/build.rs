//! `bloomgrove lake index` and `lake sync`: an index of a table, made and kept up to date.
//!
//! The sets of one file change together: a commit has all of its old ones or all of its new ones. An
//! interrupted run has indexed some files; the next one goes on with the rest.

use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove::index::{Index, IndexFile, Shape};
use bloomgrove::raw::index::{create_from, open_from, restrict};
use serde_json::json;

use super::known::{How, Known};
use super::read::{self, Read};
use super::table::{Entry, Files, TableArgs};
use super::tag::Tag;
use crate::shared::keys::parquet::ParquetFile;
use crate::shared::output::{Output, is_gone};
use crate::shared::progress::Progress;
use crate::shared::search::Complaints;
use crate::shared::{Outcome, interrupt, open, parallel, units};

/// Filters in memory before they go to disk.
const PENDING: u64 = 256 << 20;

/// Index columns of a table of Parquet files.
///
/// Makes a Bloom filter for every row group and column, and keeps all of them in one file,
/// .bloomgrove-lake.grove in the directory of the table. `lake which` then lists the files that may
/// contain a value, `lake sync` brings the index up to date.
///
/// Filters are sized so that a query for --keys values opens --wasted files unnecessarily, on average,
/// at the current number of files. With --from-footers, Bloom filters that the files already
/// have are used as they are, which reads almost nothing; their rate is the one that their writer
/// chose. Row groups without one are read.
///
/// Exit code: 0 if all files are indexed, 2 if some could not be read. `lake which` always lists
/// those.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove lake index events/ --column trace_id --column user_id\n  \
    bloomgrove lake index events/ --column trace_id --from-footers")]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// A column to index; nested ones are written with dots (repeatable)
    #[arg(long = "column", required = true, value_name = "NAME")]
    columns: Vec<String>,
    /// The number of files that a query may open unnecessarily, on average
    #[arg(long, value_name = "FILES", default_value_t = 1.0, value_parser = positive)]
    wasted: f64,
    /// The number of values per query that --wasted applies to
    #[arg(long, value_name = "COUNT", default_value = "100", value_parser = at_least_one)]
    keys: u64,
    /// Use the Bloom filters that the files have, where they have them
    #[arg(long)]
    from_footers: bool,
    /// Replace an existing index
    #[arg(long)]
    replace: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Bring the index of a table up to date.
///
/// Reads the files that are new or have changed (judged by size, timestamps and inode), and drops
/// deleted ones. Queries can run at the same time; they see the index before or after a change.
///
/// Exit code: 0 if all files are indexed, 2 if some could not be read.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove lake sync events/\n  \
    */10 * * * *  bloomgrove lake sync /srv/events    (every ten minutes, in a crontab)")]
pub(crate) struct Sync {
    #[command(flatten)]
    table: TableArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

fn at_least_one(text: &str) -> Result<u64, String> {
    match units::count(text)? {
        0 => Err("give at least 1".into()),
        count => Ok(count),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = units::number(text)?;
    match number > 0.0 && number.is_finite() {
        true => Ok(number),
        false => Err("give a number above 0".into()),
    }
}

pub(crate) fn index(args: Args) -> Result<Outcome> {
    let path = args.table.index_path()?;
    if path.exists() && !args.replace {
        bail!(
            "{}: an index already exists; `bloomgrove lake sync` updates it, and --replace builds a \
             new one",
            path.display()
        );
    }
    if let Ok(Some(old)) = args.table.open(&path)
        && How::of(&old).is_err()
    {
        bail!(
            "{}: not the index of a table, so it is left alone; choose another file with --index",
            path.display()
        );
    }
    let mut complaints = Complaints::default();
    let files = args.table.list(&mut complaints)?;
    let mut columns = args.columns;
    let mut seen = std::collections::HashSet::new();
    columns.retain(|column| seen.insert(column.clone()));
    check_columns(&columns, &files)?;
    let per_file = args.wasted / (files.len() as f64 * args.keys as f64);
    let how = How {
        columns,
        fpr: per_file.clamp(1e-12, 0.5),
        from_footers: args.from_footers,
    };
    let mut index = Index::mixed();
    index.set_notes(how.notes());
    let mode = mode_of(&files);
    let file = create_from(&path, &index, args.table.origin(), Some(mode))?;
    update(file, &files, &how, complaints, &path, args.json)
}

pub(crate) fn sync(args: Sync) -> Result<Outcome> {
    let path = args.table.index_path()?;
    if !path.exists() {
        bail!(
            "{}: there is no index yet; create one with `bloomgrove lake index`",
            path.display()
        );
    }
    let mut complaints = Complaints::default();
    let file = open::patiently(|| open_from(&path, args.table.origin()))?;
    let how = How::of(&file).with_context(|| path.display().to_string())?;
    let files = args.table.list(&mut complaints)?;
    restrict(&file, mode_of(&files))?;
    update(file, &files, &how, complaints, &path, args.json)
}

/// An index reveals what the files may contain: it is as private as the most private of them.
fn mode_of(files: &Files) -> u32 {
    files.values().fold(0o777, |mode, file| mode & file.mode) | 0o600
}

/// A column that neither the first nor the last file has is a mistake, most likely.
fn check_columns(columns: &[String], files: &Files) -> Result<()> {
    let ends = [files.values().next(), files.values().next_back()];
    let open = |entry: &Entry| {
        let table = entry.source().and_then(ParquetFile::open);
        table.with_context(|| entry.path.display().to_string())
    };
    // What cannot be read is reported when its turn comes.
    let tables: Vec<ParquetFile> = ends.into_iter().flatten().flat_map(open).collect();
    let Some(first) = tables.first() else {
        return Ok(());
    };
    for column in columns {
        let found = tables.iter().map(|table| table.find(column));
        if !found
            .collect::<Result<Vec<_>>>()?
            .iter()
            .any(Option::is_some)
        {
            bail!("no column {column:?}; the columns are {}", first.columns());
        }
    }
    Ok(())
}

/// What was done to an index.
#[derive(Default)]
struct Done {
    added: u64,
    updated: u64,
    removed: u64,
    unchanged: u64,
}

/// A file to be read, and the sets that the index has of it.
struct ToRead<'f> {
    name: &'f [u8],
    entry: &'f Entry,
    old: Vec<Vec<u8>>,
}

/// Makes an index equal to the files.
fn update(
    mut file: IndexFile,
    files: &Files,
    how: &How,
    mut complaints: Complaints,
    path: &Path,
    as_json: bool,
) -> Result<Outcome> {
    let known = Known::of(&file);
    let current = |name: &[u8], entry: &Entry| known.is_current(name, entry);
    let read: Vec<ToRead<'_>> = files
        .iter()
        .filter(|(name, entry)| !current(name, entry))
        .map(|(name, entry)| ToRead {
            name,
            entry,
            old: known.sets_of(name),
        })
        .collect();
    // If a directory could not be listed, its files may still be there.
    let is_gone_from_table = |name: &[u8]| complaints.is_empty() && !files.contains_key(name);
    let gone: Vec<Vec<Vec<u8>>> = known
        .files()
        .filter(|file| is_gone_from_table(file.name()))
        .map(|file| file.sets())
        .collect();
    let mut done = Done {
        removed: gone.len() as u64,
        unchanged: (files.len() - read.len()) as u64,
        ..Done::default()
    };
    drop(known);
    for name in gone.iter().flatten() {
        file.remove(name)?;
    }

    file.set_shape(Some(Shape::Loose));
    let progress = Progress::bytes(read.iter().map(|file| file.entry.size).sum(), "indexing");
    parallel::each(
        &read,
        |one| read::file(one.entry, how, &progress),
        |ToRead { name, entry, old }, outcome| {
            match outcome {
                Ok((version, sets)) => {
                    old.iter()
                        .try_for_each(|set| file.remove(set).map(|_| ()))?;
                    add(&mut file, name, &version, &sets)?;
                    match old.is_empty() {
                        true => done.added += 1,
                        false => done.updated += 1,
                    }
                    if file.pending_bytes() > PENDING {
                        commit(&mut file)?;
                    }
                }
                Err(_) if interrupt::was_asked() => {}
                Err(error) if is_gone(&error) => {}
                Err(error) => complaints.add_file(&entry.path, &error),
            }
            Ok(())
        },
    )?;
    commit(&mut file)?;
    if interrupt::was_asked() {
        bail!("interrupted; `bloomgrove lake sync` continues");
    }
    complaints.finish();
    print(&done, &file, path, as_json)?;
    Ok(Outcome::of(complaints.is_empty()))
}

/// Filters wait one by one, and get the shape that suits them when they are written, 64 at a time.
/// Giving each its place in a flat index by itself would take longer than reading the footers.
fn commit(file: &mut IndexFile) -> Result<()> {
    file.set_shape(None);
    file.commit()?;
    file.set_shape(Some(Shape::Loose));
    Ok(())
}

fn add(file: &mut IndexFile, path: &[u8], version: &[u8], sets: &[Read]) -> Result<()> {
    for set in sets {
        let tag = Tag {
            group: set.group,
            column: set.column,
            sets: sets.len() as u32,
            origin: set.origin,
            spelling: set.spelling,
            version,
            path,
        };
        file.add_tagged(tag.name(), tag.to_bytes(), &set.filter)?;
    }
    Ok(())
}

fn print(done: &Done, index: &Index, path: &Path, as_json: bool) -> Result<()> {
    let Done {
        added,
        updated,
        removed,
        unchanged,
    } = *done;
    let bytes = std::fs::metadata(path).map_or(0, |about| about.len());
    let mut output = Output::new();
    if as_json {
        output.json(&json!({
            "index": path.to_string_lossy(), "added": added, "updated": updated, "removed": removed,
            "unchanged": unchanged, "filters": index.len(), "bytes": bytes,
        }))?;
    } else {
        output.line(format_args!(
            "{}: {} added, {} updated, {} removed, {} unchanged; {}, {}",
            path.display(),
            units::counted(added, "file"),
            units::grouped(updated),
            units::grouped(removed),
            units::grouped(unchanged),
            units::counted(index.len() as u64, "filter"),
            units::size(bytes)
        ))?;
    }
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloomgrove::format::Notes;

    #[test]
    fn the_notes_say_how_to_go_on() {
        let how = How {
            columns: vec!["a.b".into(), "c, \"d\"\n".into()],
            fpr: 1e-6,
            from_footers: true,
        };
        let mut index = Index::mixed();
        assert!(How::of(&index).is_err());
        index.set_notes(how.notes());
        let again = How::of(&index).unwrap();
        assert_eq!(again.columns, how.columns);
        assert_eq!((again.fpr, again.from_footers), (how.fpr, true));
        index.set_notes(Notes::new());
        assert!(How::of(&index).is_err());
    }
}
