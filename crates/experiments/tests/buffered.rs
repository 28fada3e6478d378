//! A small run: every figure is present, and the numbers are plausible.

mod support;

use std::path::Path;

use experiments::buffered::{self, Effort};
use experiments::{Report, Table};

/// A megabyte of 64 KB: the filter of 256 MB has 16.
const TINY: Effort = Effort {
    megabyte: 1 << 16,
    rounds: 1,
    spread_rounds: 2,
    bit_keys: 5000,
    most_bits: 4,
    keys: 200_000,
    seconds: 0.01,
    fpr_keys: 200_000,
    most_keys: 200_000,
    growth_keys: 60_000,
    growth_memory: 32,
    large: 512,
    large_memory: 32,
    large_keys: 200_000,
    patience: 0.02,
    scale: 1,
};

fn run_in(directory: &Path, ids: &[&str]) -> anyhow::Result<Report> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    buffered::run(&ids, TINY, directory, &mut |_| Ok(()))
}

/// In a temporary directory, which must be empty afterwards.
fn run(ids: &[&str]) -> anyhow::Result<Report> {
    let directory = tempfile::tempdir()?;
    let report = run_in(directory.path(), ids)?;
    assert_eq!(std::fs::read_dir(directory.path())?.count(), 0);
    Ok(report)
}

fn cell(table: &Table, row: usize, column: &str) -> f64 {
    let place = table.head.iter().position(|head| head == column);
    let text = &table.rows[row][place.expect(column)];
    text.parse().expect(column)
}

#[test]
fn every_figure_is_made_and_written() -> anyhow::Result<()> {
    let report = run(&[])?;
    assert_eq!(
        report.tables.len() + report.figures.len(),
        buffered::FIGURES.len()
    );
    support::check(&report, buffered::FIGURES.map(|(id, _)| id))?;
    for id in ["fig03", "fig04", "strategies", "ratio", "fpr"] {
        assert!(report.claims.iter().any(|claim| claim.figure == id), "{id}");
    }
    Ok(())
}

#[test]
fn an_unknown_figure_and_an_interruption_end_the_run_and_leave_nothing() -> anyhow::Result<()> {
    assert!(run(&["fig02"]).is_err());
    let directory = tempfile::tempdir()?;
    let mut steps = 0;
    let stopped = buffered::run(&["fig04".to_owned()], TINY, directory.path(), &mut |_| {
        steps += 1;
        anyhow::ensure!(steps < 4, "enough");
        Ok(())
    });
    assert_eq!(stopped.unwrap_err().to_string(), "enough");
    assert_eq!(std::fs::read_dir(directory.path())?.count(), 0);
    let missing = run_in(&directory.path().join("missing"), &["strategies"]);
    assert!(format!("{:#}", missing.unwrap_err()).contains("missing"));
    Ok(())
}

#[test]
fn false_positives_are_as_expected_for_any_number_of_pages() -> anyhow::Result<()> {
    let report = run(&["fpr"])?;
    let [table] = &report.tables[..] else {
        unreachable!("only what was requested")
    };
    // 4096 pages of a filter this small would be less than a sector each.
    assert_eq!(table.rows.len(), 6);
    for row in 0..6 {
        let off = cell(table, row, "deviations off");
        assert!(off.abs() < 4.5, "row {row}: {off}");
    }
    // A line of 512 bits is a page too small for the formula.
    let blocked = cell(table, 3, "measured") / cell(table, 3, "formula (6)");
    assert!(blocked > 1.05, "{blocked}");
    Ok(())
}

#[test]
fn more_memory_means_fewer_visits() -> anyhow::Result<()> {
    let report = run(&["growth", "growth-memory"])?;
    assert_eq!(report.figures.len(), 1, "only what was requested");
    let table = &report.tables[0];
    let by_memory: Vec<f64> = (table.rows.len() - 6..table.rows.len())
        .map(|row| cell(table, row, "GB written"))
        .collect();
    assert!(by_memory.is_sorted_by(|a, b| a >= b), "{by_memory:?}");
    Ok(())
}

#[test]
fn a_sweep_visits_every_page_as_often_as_any_other() -> anyhow::Result<()> {
    let report = run(&["strategies"])?;
    let table = &report.tables[0];
    let visits = |row| cell(table, row, "page visits: build");
    assert_eq!(visits(2) % 128.0, 0.0, "128 pages");
    // The longest blocks are twice as long as the equal ones.
    assert!(visits(0) < visits(1));
    Ok(())
}
