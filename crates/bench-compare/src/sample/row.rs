//! The results of each contender, and how they are printed.

use std::time::Instant;

use bloomgrove::Error;
use bloomgrove::sample::Work;
use serde_json::{Value, json};

/// How long a contender's turn may take, in nanoseconds.
const TURN: f64 = 20e6;

/// The result of one contender.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Best round.
    pub(super) nanos: f64,
    pub(super) looks: f64,
    pub(super) tests: f64,
    pub(super) bytes: u64,
    /// The share of the members that a reconstruction found.
    pub(super) recall: Option<f64>,
}

impl Row {
    pub(super) fn new(name: &'static str, bytes: u64) -> Self {
        Self {
            name,
            nanos: f64::INFINITY,
            looks: 0.0,
            tests: 0.0,
            bytes,
            recall: None,
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({ "name": self.name, "nanoseconds": self.nanos, "looks": self.looks,
                "tests": self.tests, "bytes": self.bytes, "recall": self.recall })
    }
}

pub(super) fn print(what: &str, unit: &str, scale: f64, rows: &[Row]) {
    let tree = rows[0].nanos;
    println!("| {what} | {unit} | speedup over the first | looks | tests | MB | recall |");
    println!("|---|---|---|---|---|---|---|");
    for row in rows {
        println!(
            "| {} | {:.2} | {:.2} | {:.1} | {:.1} | {:.1} | {} |",
            row.name,
            row.nanos / scale,
            tree / row.nanos,
            row.looks,
            row.tests,
            row.bytes as f64 / 1e6,
            row.recall
                .map_or(String::new(), |recall| format!("{recall:.4}")),
        );
    }
    println!();
}

/// Lets a contender draw for one turn, as often as it can, and keeps the best time.
pub(super) fn turn(
    row: &mut Row,
    count: &mut usize,
    draw: impl FnOnce(usize) -> Result<Work, Error>,
) -> Result<(), Error> {
    let draws = *count;
    let mut work = Work::default();
    let nanos = time(row, draws, || {
        work = draw(draws)?;
        Ok(())
    })?;
    row.looks = work.looks as f64 / draws as f64;
    row.tests = work.tests as f64 / draws as f64;
    *count = (TURN / nanos).clamp(1.0, 100_000.0) as usize;
    Ok(())
}

/// Keeps the nanoseconds per one of `count`, if they are fewer than before.
pub(super) fn time(
    row: &mut Row,
    count: usize,
    work: impl FnOnce() -> Result<(), Error>,
) -> Result<f64, Error> {
    let start = Instant::now();
    work()?;
    let nanos = start.elapsed().as_nanos() as f64 / count as f64;
    row.nanos = row.nanos.min(nanos);
    Ok(nanos)
}
