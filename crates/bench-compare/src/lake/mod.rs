//! `lake which` and then DuckDB on the files named, against DuckDB, DataFusion and Polars on all files
//! of a table.
//!
//! The engines come from PyPI, in an environment of their own below `--directory`. `driver.py` makes
//! the table, asks every engine the same question before the next one, compares their answers, and
//! prints the figures as JSON; this file starts it and prints the tables.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of files in the table
    #[arg(long, default_value_t = 10_000)]
    files: u64,
    /// The number of rows in each file
    #[arg(long, default_value_t = 5000)]
    rows: u64,
    /// The number of rounds; the median counts
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// The program to measure [default: target/dist/bloomgrove or target/release/bloomgrove]
    #[arg(long, value_name = "FILE")]
    bloomgrove: Option<PathBuf>,
    /// Where the table is made, and found again [default: a temporary directory]
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

const DRIVER: &str = include_str!("driver.py");

pub(crate) fn run(args: &Args) -> Result<()> {
    let usual = || std::env::temp_dir().join("bloomgrove-lake");
    let directory = args.directory.clone().unwrap_or_else(usual);
    std::fs::create_dir_all(&directory)?;
    let python = environment(&directory)?;
    let script = directory.join("driver.py");
    std::fs::write(&script, DRIVER)?;
    let built = ["target/dist/bloomgrove", "target/release/bloomgrove"].map(PathBuf::from);
    let tool = args.bloomgrove.clone();
    let tool = tool
        .or_else(|| built.into_iter().find(|path| path.exists()))
        .ok_or("no program to measure; build it with `cargo build --profile dist`")?;
    let numbers = [args.files, args.rows, args.rounds].map(|number| number.to_string());
    let output = Command::new(python)
        .arg(&script)
        .arg(std::path::absolute(tool)?)
        .arg(std::path::absolute(&directory)?)
        .args(numbers)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("the driver failed: {}", output.status).into());
    }
    let report: Value = serde_json::from_slice(&output.stdout)?;
    match args.json {
        true => println!("{report:#}"),
        false => print(&report, args),
    }
    Ok(())
}

/// An environment with the engines, made once.
fn environment(directory: &Path) -> Result<PathBuf> {
    let place = directory.join("python");
    let python = place.join("bin/python");
    let run = |command: &mut Command| -> Result<()> {
        let done = command.stdout(Stdio::null()).status()?;
        match done.success() {
            true => Ok(()),
            false => Err(format!("{command:?}: {done}").into()),
        }
    };
    if !place.join("complete").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
        let packages = ["pyarrow", "duckdb", "duckdb-cli", "polars", "datafusion"];
        run(Command::new(&python)
            .args(["-m", "pip", "install", "--quiet"])
            .args(packages))?;
        std::fs::write(place.join("complete"), "")?;
    }
    Ok(python)
}

fn print(report: &Value, args: &Args) {
    println!(
        "\n### {} files of {} rows, {:.0} MB ({}; {}; median of {} rounds)\n",
        args.files,
        args.rows,
        report["bytes"].as_f64().unwrap_or(0.0) / 1e6,
        crate::machine(),
        report["versions"].as_str().unwrap_or_default(),
        args.rounds
    );
    let rows = report["seconds"].as_array().map_or(&[][..], |rows| rows);
    println!(
        "| seconds | {} |",
        report["programs"].as_str().unwrap_or_default()
    );
    let columns = rows
        .first()
        .and_then(|row| row["seconds"].as_array())
        .map_or(0, Vec::len);
    println!("|---|{}", "---|".repeat(columns));
    for row in rows {
        let seconds = row["seconds"].as_array().into_iter().flatten();
        let shown = seconds.map(|one| {
            one.as_f64()
                .map_or(String::new(), |one| format!("{one:.3}"))
        });
        println!(
            "| {} | {} |",
            row["task"].as_str().unwrap_or_default(),
            Vec::from_iter(shown).join(" | ")
        );
    }
    println!("\n| measure | value |\n|---|---|");
    for fact in report["facts"].as_array().into_iter().flatten() {
        println!(
            "| {} | {} |",
            fact[0].as_str().unwrap_or_default(),
            fact[1].as_str().unwrap_or_default()
        );
    }
}
