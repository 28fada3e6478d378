//! Section 1.1: Lineitem x Orders of TPC-H, reduced by a semi-join before the join.
//!
//! The paper argues from an example and measures nothing: with conditions that keep shares a and b of
//! two tables, a Bloom filter leaves a x b of each, where the conditions alone leave a and b. Here
//! the condition is on the date of an order, and the semi-join is `bloomgrove semi-join` within 64
//! MB of memory. The join itself runs in DuckDB, in Polars and as a plain hash join, once on the files as
//! they are and once on the reduced ones; their answers must be equal.
//!
//! `semi_join.py` runs the programs, in an environment of its own that is removed afterwards. The
//! tables are those of `tpchgen-cli`.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

use super::setup::Task;
use crate::paper::{self, Progress};
use crate::{Report, Table};

const SCRIPT: &str = include_str!("semi_join.py");
/// What the environment contains.
const PACKAGES: [&str; 3] = ["duckdb==2.0.0", "polars==2.1.0", "tpchgen-cli==4.0.0"];
/// The columns of orders, and of the other table.
const ORDER_KEY: usize = 0;
const ORDER_DATE: usize = 4;
const LINE_KEY: usize = 0;
/// 1992-01-01 as days since 1970: the date of the first order.
const FIRST_DAY: i32 = 8035;

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    let tool = std::env::current_exe()?.with_file_name("bloomgrove");
    ensure!(
        tool.exists(),
        "{} does not exist; build it with `cargo build --release -p bloomgrove-cli`",
        tool.display()
    );
    let scratch = task.scratch()?;
    let directory = scratch.path();
    progress("installing DuckDB, Polars and tpchgen-cli")?;
    let environment = directory.join("python");
    call(
        Command::new("python3")
            .args(["-m", "venv"])
            .arg(&environment),
    )?;
    let python = environment.join("bin/python");
    call(
        Command::new(&python)
            .args(["-m", "pip", "-q", "install"])
            .args(PACKAGES),
    )?;
    let scale = task.effort.scale;
    progress(&format!("generating tables of scale factor {scale}"))?;
    let generator = environment.join("bin/tpchgen-cli");
    let tables = ["parquet", "--tables=orders,lineitem", "--scale-factor"];
    let generate = Command::new(generator)
        .args(tables)
        .arg(scale.to_string())
        .arg("--output-dir")
        .arg(directory)
        .output()?;
    ensure!(
        generate.status.success(),
        "{}",
        String::from_utf8_lossy(&generate.stderr)
    );
    progress("joining")?;
    let ran = Command::new(&python)
        .args(["-c", SCRIPT])
        .args([&tool, directory])
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(ran.status.success(), "the joins failed: {}", ran.status);
    let lines = String::from_utf8(ran.stdout)?;
    let runs = lines.lines().map(serde_json::from_str);
    let runs: Vec<Value> = runs.collect::<Result<_, _>>()?;

    let mut report = Report::default();
    report.tables.push(sizes(&runs, scale)?);
    let mut times = times(&runs, scale)?;
    for (percent, days) in [(1, 24), (10, 241), (50, 1203), (100, 10_000)] {
        progress(&format!("a plain hash join, {percent} %"))?;
        let began = Instant::now();
        let orders = directory.join("orders.parquet");
        let rows = hash_join(
            &orders,
            &directory.join("lineitem.parquet"),
            FIRST_DAY + days,
        )?;
        ensure!(rows > 0, "no rows");
        let seconds = began.elapsed().as_secs_f64();
        times.rows.push(row(
            scale,
            percent,
            "hash join of the keys",
            "files",
            seconds,
            None,
        ));
    }
    report.tables.push(times);
    Ok(report)
}

fn call(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

/// Rows and bytes before and after.
fn sizes(runs: &[Value], scale: u32) -> Result<Table> {
    let head = [
        "scale factor",
        "orders that meet the condition, %",
        "table",
        "MB before",
        "MB after",
        "after / before, %",
        "rows after",
        "false positives expected",
    ];
    let mut table = paper::table(&super::ON_REQUEST, "semi-join", &head);
    for run in runs {
        let name = match run["engine"].as_str() {
            Some("semi-join") => "Lineitem",
            Some("semi-join --both") => "Orders",
            _ => continue,
        };
        let number = |field: &str| run[field].as_f64().with_context(|| field.to_owned());
        let (before, after) = (number("bytes_before")?, number("bytes")?);
        table.rows.push(vec![
            scale.to_string(),
            run["percent"].to_string(),
            name.to_owned(),
            format!("{:.1}", before / 1e6),
            format!("{:.1}", after / 1e6),
            format!("{:.2}", 100.0 * after / before),
            run["rows"].to_string(),
            format!("{:.0}", number("false_positives")?),
        ]);
    }
    Ok(table)
}

/// Time and peak memory of every program.
fn times(runs: &[Value], scale: u32) -> Result<Table> {
    let head = [
        "scale factor",
        "orders that meet the condition, %",
        "program",
        "input",
        "s",
        "peak MB",
    ];
    let mut table = paper::table(&super::ON_REQUEST, "semi-join-time", &head);
    for run in runs {
        let number = |field: &str| run[field].as_f64().with_context(|| field.to_owned());
        let text = |field: &str| run[field].as_str().with_context(|| field.to_owned());
        let percent = run["percent"].as_u64().context("percent")?;
        let megabytes = Some(number("megabytes")?);
        let (engine, input) = (text("engine")?, text("input")?);
        table.rows.push(row(
            scale,
            percent,
            engine,
            input,
            number("seconds")?,
            megabytes,
        ));
    }
    Ok(table)
}

fn row(
    scale: u32,
    percent: u64,
    program: &str,
    input: &str,
    seconds: f64,
    megabytes: Option<f64>,
) -> Vec<String> {
    vec![
        scale.to_string(),
        percent.to_string(),
        program.to_owned(),
        input.to_owned(),
        format!("{seconds:.2}"),
        megabytes.map_or(String::new(), |megabytes| format!("{megabytes:.0}")),
    ]
}

/// The rows of Lineitem whose order is dated before this day: a set of keys in memory, one thread,
/// and only the columns that are needed.
fn hash_join(orders: &Path, lines: &Path, before: i32) -> Result<usize> {
    let mut days = Vec::new();
    each_value::<Int32Type>(orders, ORDER_DATE, |day| days.push(*day))?;
    let (mut keys, mut order) = (HashSet::new(), days.iter());
    each_value::<Int64Type>(orders, ORDER_KEY, |key| {
        if order.next().is_some_and(|&day| day < before) {
            keys.insert(*key);
        }
    })?;
    let mut rows = 0;
    each_value::<Int64Type>(lines, LINE_KEY, |key| {
        rows += usize::from(keys.contains(key))
    })?;
    Ok(rows)
}

/// Calls `each` on every value of a column without nulls.
fn each_value<T: DataType>(path: &Path, column: usize, mut each: impl FnMut(&T::T)) -> Result<()> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let mut values = Vec::new();
    for group in 0..reader.num_row_groups() {
        let column = reader.get_row_group(group)?.get_column_reader(column)?;
        let mut column = get_typed_column_reader::<T>(column);
        loop {
            values.clear();
            let (_, found, _) = column.read_records(1 << 14, None, None, &mut values)?;
            if found == 0 {
                break;
            }
            values.iter().for_each(&mut each);
        }
    }
    Ok(())
}
