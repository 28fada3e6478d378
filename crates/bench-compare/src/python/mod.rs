//! The Python package against rbloom and fastbloom-rs, and its `which_many` against that of Rust.
//!
//! Python packages come from PyPI, in an environment of their own below `--directory`; ours is built
//! from this repository. `driver.py` measures the filters, each package in turn in every round. Then
//! it and this program query the same index in turn. With `--spark`, `spark.py` runs instead, on a
//! cluster of two executors.

use std::error::Error;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use bloomgrove::index::Index;
use bloomgrove::{Filter, Params};
use serde_json::Value;

use crate::rivals::scatter;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of keys in a filter
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// The number of rounds; the median counts
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// The number of sets in the index
    #[arg(long, default_value_t = 10_000)]
    sets: u64,
    /// The number of keys that the index is queried for
    #[arg(long, default_value_t = 100_000)]
    queries: u64,
    /// Measure Spark instead: an index of many groups, 20 keys of a table of many files, a semi-join
    #[arg(long)]
    spark: bool,
    /// The number of files in the table of --spark
    #[arg(long, default_value_t = 2000)]
    files: u64,
    /// The number of rows in each of these files
    #[arg(long, default_value_t = 20_000)]
    file_rows: u64,
    /// The repository, or a wheel, to install
    #[arg(long, value_name = "FILE", default_value = ".")]
    package: PathBuf,
    /// Where the environment is made, and found again [default: a temporary directory]
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

const DRIVER: &str = include_str!("driver.py");
const SPARK: &str = include_str!("spark.py");
/// The number of items in each set.
const ITEMS: u64 = 1000;

pub(crate) fn run(args: &Args) -> Result<()> {
    let usual = || std::env::temp_dir().join("bloomgrove-python");
    let directory = args.directory.clone().unwrap_or_else(usual);
    std::fs::create_dir_all(&directory)?;
    let python = environment(&directory, &args.package, args.spark)?;
    if args.spark {
        return spark(&directory, &python, args.files, args.file_rows);
    }
    let script = directory.join("driver.py");
    std::fs::write(&script, DRIVER)?;
    let (file, keys) = (directory.join("index.grove"), directory.join("keys"));
    let queries = make_index(args, &file, &keys)?;

    let mut driver = Driver::start(
        Command::new(python)
            .arg(&script)
            .args([args.keys, args.rounds as u64].map(|number| number.to_string()))
            .args([&file, &keys]),
    )?;
    let report: Value = serde_json::from_str(&driver.next()?)?;
    println!(
        "\n{}; {}; {} keys, 1% false positives; median of {} rounds",
        report["versions"].as_str().unwrap_or_default(),
        crate::machine(),
        args.keys,
        args.rounds
    );
    for kind in ["int", "str"] {
        println!("\n| ns per key, {kind} | insert | find | reject |\n|---|---|---|---|");
        for (name, nanos) in report[kind].as_object().into_iter().flatten() {
            let nanos = nanos.as_array().into_iter().flatten();
            let shown = nanos.map(|one| {
                one.as_f64()
                    .map_or(String::new(), |one| format!("{one:.1}"))
            });
            println!("| {name} | {} |", shown.collect::<Vec<_>>().join(" | "));
        }
    }
    race(args, &mut driver, &file, &queries)
}

/// 20 million rows of 1,000 groups; a table of `files` files of `rows` rows.
fn spark(directory: &Path, python: &Path, files: u64, rows: u64) -> Result<()> {
    let script = directory.join("spark.py");
    std::fs::write(&script, SPARK)?;
    let mut command = Command::new(python);
    command.arg(&script).arg(directory).args([
        "20000000",
        "1000",
        &files.to_string(),
        &rows.to_string(),
    ]);
    match command.env("PYSPARK_PYTHON", python).status()? {
        done if done.success() => Ok(()),
        done => Err(format!("spark.py: {done}").into()),
    }
}

/// Queries the index by Rust and by Python, in turn.
fn race(args: &Args, driver: &mut Driver, file: &Path, queries: &[u64]) -> Result<()> {
    let index = Index::open(file)?;
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    // The first round brings the file into memory.
    for round in 0..=args.rounds {
        let start = Instant::now();
        let answers = index.which_many(queries);
        let took = start.elapsed().as_secs_f64();
        let found: usize = answers.iter().map(|sets| sets.len()).sum();
        let mut turns = vec![took];
        for form in ["names", "numbers"] {
            let answer: (f64, usize) = serde_json::from_str(&driver.ask(form)?)?;
            if answer.1 != found {
                return Err(format!("Rust found {found} sets, Python {}", answer.1).into());
            }
            turns.push(answer.0);
        }
        if round > 0 {
            times
                .iter_mut()
                .zip(turns)
                .for_each(|(all, one)| all.push(one));
        }
    }
    let [rust, names, numbers] = times.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2] / args.queries as f64 * 1e9
    });
    println!(
        "\n| ns per key, {} keys over {} sets | |\n|---|---|\n| Rust, `which_many` | {rust:.1} |\n\
         | Python, lists of names | {names:.1} |\n| Python, lists of numbers | {numbers:.1} |",
        args.queries, args.sets
    );
    Ok(())
}

/// Writes an index, and the keys to query it for: half of them in one set each, half in none.
fn make_index(args: &Args, file: &Path, keys: &Path) -> Result<Vec<u64>> {
    let params = Params::for_items(ITEMS, 0.001)?;
    let mut index = Index::new(params.clone());
    for set in 0..args.sets {
        let mut filter = Filter::new(params.clone())?;
        let items: Vec<u64> = (0..ITEMS).map(|item| scatter(set * ITEMS + item)).collect();
        filter.insert_batch(&items);
        index.add(format!("site/{set:05}"), &filter)?;
    }
    index.save(file)?;
    let total = args.sets * ITEMS;
    let query = |number| match number % 2 {
        0 => scatter(scatter(number) % total),
        _ => scatter(total + number),
    };
    let queries: Vec<u64> = (0..args.queries).map(query).collect();
    let bytes: Vec<u8> = queries.iter().flat_map(|key| key.to_le_bytes()).collect();
    std::fs::write(keys, bytes)?;
    Ok(queries)
}

/// The driver, a line at a time.
struct Driver {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Driver {
    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("the driver has no output")?;
        let lines = BufReader::new(output).lines();
        Ok(Self { child, lines })
    }

    fn next(&mut self) -> Result<String> {
        Ok(self.lines.next().ok_or("the driver failed")??)
    }

    fn ask(&mut self, line: &str) -> Result<String> {
        let input = self.child.stdin.as_mut().ok_or("the driver has no input")?;
        writeln!(input, "{line}")?;
        self.next()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // At the end of its input, it ends.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// An environment with the packages; ours is installed anew.
fn environment(directory: &Path, package: &Path, spark: bool) -> Result<PathBuf> {
    let place = directory.join("python");
    let python = place.join("bin/python");
    let run = |command: &mut Command| -> Result<()> {
        match command.stdout(Stdio::null()).status()? {
            done if done.success() => Ok(()),
            done => Err(format!("{command:?}: {done}").into()),
        }
    };
    let install = |options: &[&str]| {
        let mut command = Command::new(&python);
        command
            .args(["-m", "pip", "install", "--quiet"])
            .args(options);
        command
    };
    if !place.join("complete").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
        run(&mut install(&[
            "fastbloom-rs",
            "numpy",
            "pyarrow",
            "rbloom",
        ]))?;
        std::fs::write(place.join("complete"), "")?;
    }
    if spark {
        run(&mut install(&["pandas<3", "pyspark", "tpchgen-cli"]))?;
    }
    run(install(&["--force-reinstall", "--no-deps"]).arg(package))?;
    Ok(python)
}
