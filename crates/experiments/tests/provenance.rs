//! A small run: every table and figure is present, and the numbers are plausible.

mod support;

use experiments::Report;
use experiments::provenance::{self, Effort};

const TINY: Effort = Effort {
    sites: 20,
    events: 3000,
    documents: 8,
    broadcasts: 2,
    site_counts: &[5, 10],
    site_events: 100,
    fpr: 0.001,
    fpr_events: 1500,
    fpr_documents: 8,
    rates: &[0.2, 0.001],
};

fn run(ids: &[&str]) -> anyhow::Result<Report> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    provenance::run(&ids, TINY, &mut |_| Ok(()))
}

/// The non-empty cells of a column.
fn column(report: &Report, table: &str, name: &str) -> Vec<f64> {
    let cells = support::column(report, table, name).into_iter();
    cells.flatten().collect()
}

#[test]
fn every_figure_is_made_and_every_trace_is_exact() -> anyhow::Result<()> {
    let report = run(&[])?;
    support::check(&report, provenance::FIGURES.map(|(id, _)| id))?;
    for table in ["traces", "depth", "sites", "fpr"] {
        let wrong = column(&report, table, "not exact");
        assert!(
            wrong.len() > 3 && wrong.iter().all(|wrong| *wrong == 0.0),
            "{table}"
        );
    }
    // The index lists fewer sites than there are, and some that have nothing when filters are small.
    let shares = column(&report, "sites", "% of broadcast's messages");
    assert!(shares.iter().all(|share| *share < 100.0), "{shares:?}");
    let empty = column(&report, "fpr", "empty answers");
    assert!(empty[1] > empty[3], "{empty:?}");
    Ok(())
}

#[test]
fn deltas_are_a_small_part_of_whole_filters() -> anyhow::Result<()> {
    let report = run(&["current"])?;
    let ratios = column(&report, "current", "deltas / whole filters");
    assert_eq!(ratios.len(), 3);
    assert!(
        ratios[0] < ratios[1] && ratios[1] < ratios[2] && ratios[2] < 0.5,
        "{ratios:?}"
    );
    Ok(())
}

#[test]
fn figures_that_do_not_exist_are_named() {
    let error = run(&["fig99"]).unwrap_err().to_string();
    assert!(error.contains("fig99"), "{error}");
}
