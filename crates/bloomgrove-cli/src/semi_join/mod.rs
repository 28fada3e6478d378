//! `bloomgrove semi-join`: the rows of one table whose key may be in another.
//!
//! ```text
//!   BUILD --keys of rows where all conditions hold--> Bloom filter
//!                                                        |
//!   PROBE --rows where all conditions hold-----------> in it? --> output
//! ```
//!
//! The rows that cannot join are dropped before the join, which then reads and moves less. The
//! output has all rows of the SQL semi-join, and false positives at the rate of the filter.
//!
//! Source: Canim et al., *Buffered Bloom Filters on Solid State Storage*, section 1.1.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | the command: options, and the order of the passes |
//! | `condition.rs` | `--where`: conditions, and values of every type compared |
//! | `table.rs` | a side: its files, key column and conditions |
//! | `csv_rows.rs`, `parquet_rows.rs` | the keys of its rows; CSV rows that are kept |
//! | `members.rs` | the keys of a side in a filter, in memory or on disk |
//! | `mask.rs` | a bit per row, between two passes |
//! | `parquet_copy.rs`, `output.rs` | the rows that are kept, in a new file |
//! | `report.rs` | what was done |

mod condition;
mod csv_rows;
mod mask;
mod members;
mod output;
mod parquet_copy;
mod parquet_rows;
mod report;
mod table;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};

use self::condition::Condition;
use self::members::{Budget, Keys, Members, Tested};
use self::output::Output;
use self::report::{About, Reduced, Source};
use self::table::Table;
use crate::shared::keys::column;
use crate::shared::{Outcome, units};

/// Keep the rows of a table whose key may be in another table.
///
/// Writes the rows of PROBE whose PROBE_KEY occurs as BUILD_KEY in a row of BUILD: the SQL
/// semi-join, plus false positives at the rate of --fpr. Joining the output with BUILD gives the
/// same result as joining PROBE, but reads less.
///
/// A table is a .parquet, .csv or .tsv file (CSV also compressed), or a directory of such files
/// with the same columns; the two sides may be of different kinds. The output has the format
/// and the columns of PROBE; the rows that are kept stay in order. Keys are compared as text: 42 in a CSV file equals
/// the integer 42 in a Parquet file. Rows whose key is null are dropped, as in SQL; an empty CSV
/// field is null.
///
/// The filter is in memory if it fits into --memory, otherwise in the temporary directory (TMPDIR).
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove semi-join orders.parquet o_orderkey lineitem.parquet l_orderkey -o reduced.parquet\n  \
    bloomgrove semi-join orders.csv.gz id returns/ order_id -o returns.csv --where \"status = P\"\n  \
    bloomgrove semi-join orders.parquet o_orderkey lineitem.parquet l_orderkey -o l.parquet \\\n    \
    --both o.parquet --where \"o_orderdate >= 1995-01-01\" --where \"l_quantity > 1\" --memory 64MB")]
pub(crate) struct Args {
    /// The table whose keys are wanted
    #[arg(value_name = "BUILD")]
    build: PathBuf,
    /// Its key column, by name or number (#3)
    #[arg(value_name = "BUILD_KEY")]
    build_key: String,
    /// The table whose rows are kept or dropped
    #[arg(value_name = "PROBE")]
    probe: PathBuf,
    /// Its key column, by name or number (#3)
    #[arg(value_name = "PROBE_KEY")]
    probe_key: String,
    /// Write the rows of PROBE that are kept to this file; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Also keep only the rows of BUILD whose key may be in the rows of PROBE that were kept, and
    /// write them to this file
    #[arg(long, value_name = "FILE")]
    both: Option<PathBuf>,
    /// Use only rows for which this holds: COLUMN OP VALUE, with one of = != < <= > >=
    /// (repeatable).
    ///
    /// It applies to the table that has the column; if both have it, write build.COLUMN or
    /// probe.COLUMN. Values are compared by the type of the column; in CSV files, as numbers if
    /// VALUE is a number without quotes, otherwise as text. Text may be in single quotes, names of
    /// columns in double quotes. A null matches no condition.
    #[arg(long = "where", value_name = "CONDITION")]
    conditions: Vec<Condition>,
    /// The false-positive rate: how often a row without a match is kept
    #[arg(long, value_name = "RATE", default_value = "1%", value_parser = units::rate)]
    fpr: f64,
    /// The total memory to use; at least 38MB
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = units::bytes)]
    memory: u64,
    /// The field separator of CSV files [default: comma, or tab for .tsv]
    #[arg(long, value_name = "CHARACTER", value_parser = column::delimiter)]
    delimiter: Option<u8>,
    /// Replace existing files
    #[arg(long)]
    replace: bool,
    /// Print the summary as JSON, to standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let began = Instant::now();
    let budget = Budget::of(args.memory, args.both.is_some())?;
    let mut build = Table::open("build", &args.build, &args.build_key, args.delimiter)?;
    let mut probe = Table::open("probe", &args.probe, &args.probe_key, args.delimiter)?;
    table::assign(&args.conditions, [&mut build, &mut probe])?;
    table::check_keys(&build, &probe)?;
    // Fail before any work is done.
    for path in [Some(&args.output), args.both.as_ref()]
        .into_iter()
        .flatten()
    {
        // The rows that are dropped would be lost.
        let mut inputs = build.files.iter().chain(&probe.files);
        if let Ok(target) = path.canonicalize()
            && inputs.any(|input| input.canonicalize().is_ok_and(|input| input == target))
        {
            bail!(
                "{}: this input would be overwritten; choose another output",
                path.display()
            );
        }
    }
    let output = Output::create(&probe, &args.output, args.replace)?;
    let both = match &args.both {
        Some(path) if place(path) == place(&args.output) => {
            bail!("-o and --both name the same file; choose two names")
        }
        Some(path) => Some((path, Output::create(&build, path, args.replace)?)),
        None => None,
    };

    let (members, source) = collect(&build, args.fpr, budget)?;
    let mut kept = match both {
        Some(_) => Some(Keys::new(args.fpr, budget)?),
        None => None,
    };
    let (output, mut reduced) = reduce(output, &probe, members, &args.output, kept.as_mut())?;
    let back = match (both, kept) {
        (Some((path, output)), Some(kept)) => {
            Some(reduce(output, &build, kept.finish()?, path, None)?)
        }
        _ => None,
    };

    build.check_unchanged()?;
    probe.check_unchanged()?;
    // Only now, so that no file appears if the work was interrupted.
    reduced.bytes = output.finish()?;
    let back = match back {
        Some((output, mut reduced)) => {
            reduced.bytes = output.finish()?;
            Some(reduced)
        }
        None => None,
    };
    report::print(&source, &reduced, back.as_ref(), began.elapsed(), args.json)?;
    Ok(Outcome::Yes)
}

/// Where a file will be, however it is written.
fn place(path: &Path) -> Option<PathBuf> {
    let directory = path.parent().filter(|parent| *parent != Path::new(""));
    let directory = directory.unwrap_or(Path::new(".")).canonicalize().ok()?;
    Some(directory.join(path.file_name()?))
}

/// The keys of a table.
fn collect(table: &Table, fpr: f64, budget: Budget) -> Result<(Members, Source)> {
    let (mut keys, mut tested) = (Keys::new(fpr, budget)?, Tested::default());
    table.scan("reading keys", &mut |rows| {
        tested.count(rows);
        rows.iter()
            .flatten()
            .try_for_each(|hash| keys.insert(*hash))
    })?;
    Ok((keys.finish()?, source(table, tested)))
}

fn source(table: &Table, tested: Tested) -> Source {
    Source {
        path: report::shown(&table.path),
        bytes: table.bytes(),
        tested,
    }
}

/// Writes the rows of a table whose keys may be among the members; adds those keys to `kept`.
fn reduce(
    mut output: Output<'_>,
    table: &Table,
    members: Members,
    path: &Path,
    mut kept: Option<&mut Keys>,
) -> Result<(crate::shared::whole_file::WholeFile, Reduced)> {
    let filter = About::of(&members);
    let mut tested = Tested::default();
    let mut rows = 0;
    let at_once = members
        .in_memory()
        .filter(|_| table.format != column::Format::Parquet);
    if let Some(filter) = at_once {
        output.filter_text("reducing", &mut |hash| {
            tested.count(&[hash]);
            let Some(hash) = hash.filter(|hash| filter.contains(hash)) else {
                return Ok(false);
            };
            rows += 1;
            if let Some(kept) = &mut kept {
                kept.insert(hash)?;
            }
            Ok(true)
        })?;
    } else {
        let mut mask;
        (mask, tested) = members.mark(table, "testing keys")?;
        drop(members);
        rows = mask.kept;
        if let Some(kept) = kept {
            let mut mask = mask.read()?;
            table.scan("collecting keys", &mut |rows| {
                for row in rows {
                    if let (true, Some(hash)) = (mask.next()?, row) {
                        kept.insert(*hash)?;
                    }
                }
                Ok(())
            })?;
        }
        output.copy("writing rows", &mut mask.read()?)?;
    }
    let reduced = Reduced {
        source: source(table, tested),
        filter,
        rows,
        output: report::shown(path),
        bytes: 0,
    };
    Ok((output.finish()?, reduced))
}
