//! A small run: every figure is present, and the numbers are plausible.

mod support;

use experiments::Report;
use experiments::sampling::{self, ACCURACIES, Effort};

const TINY: Effort = Effort {
    samples: 40,
    sets: 2,
    most_names: 100_000,
    hundreds: 6,
    thousands: 0,
    ten_thousands: 0,
    most_items: 1000,
    users: 20_000,
};

fn run(ids: &[&str]) -> anyhow::Result<Report> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    sampling::run(&ids, TINY, &mut |_| Ok(()))
}

fn cell<'r>(report: &'r Report, row: usize, column: &str) -> &'r str {
    let table = &report.tables[0];
    let place = table.head.iter().position(|head| head == column);
    &table.rows[row][place.expect(column)]
}

#[test]
fn every_figure_is_made_and_written() -> anyhow::Result<()> {
    let report = run(&[])?;
    // Not those of larger namespaces than this effort allows.
    let wanted = sampling::FIGURES.into_iter().filter(|(id, title)| {
        !title.ends_with("1e6") && !title.ends_with("1e7") || ["recall", "fig07"].contains(id)
    });
    support::check(&report, wanted.map(|(id, _)| id))?;
    assert!(report.claims.len() >= 5);
    Ok(())
}

#[test]
fn an_unknown_figure_and_an_interruption_end_the_run() {
    assert!(run(&["fig99"]).is_err());
    let stopped = sampling::run(&[], TINY, &mut |_| anyhow::bail!("enough"));
    assert_eq!(stopped.unwrap_err().to_string(), "enough");
}

#[test]
fn costs_are_between_one_path_and_the_whole_tree() -> anyhow::Result<()> {
    let report = run(&["fig03-1e5", "fig04-1e5"])?;
    assert_eq!(report.figures.len(), 2);
    for figure in &report.figures {
        for accuracy in ACCURACIES {
            let value = |name| figure.value(name, accuracy).expect(name);
            assert_eq!(value("dictionary attack"), 100_000.0);
            let queries = value("queries, n = 1K");
            assert!((100.0..100_000.0).contains(&queries), "{queries}");
            assert!(value("intersections, n = 1K") >= 2.0);
        }
    }
    Ok(())
}

#[test]
fn the_papers_sampler_is_biased_and_the_exact_ones_are_not() -> anyhow::Result<()> {
    let report = run(&["calibration"])?;
    for (row, cells) in report.tables[0].rows.iter().enumerate() {
        let ratio: f64 = cell(&report, row, "mean chi^2 / dof").parse()?;
        let chance: f64 = cell(&report, row, "+- by chance").parse()?;
        match cells[0].split([',', ' ']).next() {
            Some("BSTSample" | "HashInvert") => assert!(ratio > 2.0, "{cells:?}"),
            _ => assert!((ratio - 1.0).abs() < 5.0 * chance + 0.001, "{cells:?}"),
        }
    }
    Ok(())
}

#[test]
fn simple_functions_as_printed_lose_nearly_all_accuracy() -> anyhow::Result<()> {
    let report = run(&["table6"])?;
    let row = ACCURACIES.iter().position(|&accuracy| accuracy == 0.9);
    let value = |column| cell(&report, row.unwrap_or(0), column).parse::<f64>();
    for family in ["Murmur3", "MD5", "simple, modulo a prime"] {
        assert!((value(family)? - 0.9).abs() < 0.04, "{family}");
    }
    // m / M = 0.27: x and x + m are indistinguishable.
    assert!((value("simple, as printed")? - 0.27).abs() < 0.03);
    Ok(())
}

#[test]
fn thresholds_lose_members_and_the_safe_one_prunes_nothing() -> anyhow::Result<()> {
    let report = run(&["thresholds"])?;
    let found = |row| cell(&report, row, "found, %").parse::<f64>();
    assert!(found(0)? <= found(1)? && found(1)? <= found(2)? && found(2)? < 100.0);
    assert_eq!((found(3)?, found(4)?), (100.0, 100.0));
    assert_eq!(cell(&report, 3, "queries"), "100000");
    Ok(())
}

#[test]
fn memory_of_tables_2_and_3_counts_half_the_nodes() -> anyhow::Result<()> {
    let report = run(&["table3"])?;
    for row in 0..6 {
        let paper: f64 = cell(&report, row, "MB paper").parse()?;
        let half: f64 = cell(&report, row, "MB, 2^d - 2 nodes").parse()?;
        assert!((paper - half).abs() < 0.04, "{paper} {half}");
    }
    Ok(())
}

#[test]
fn a_sample_that_goes_astray_is_drawn() -> anyhow::Result<()> {
    let report = run(&["fig02"])?;
    let picture = &report.pictures[0];
    let visited: Vec<&str> = picture.text.lines().skip(1).collect();
    let is_false = |line: &&&str| line.ends_with("false");
    assert!(visited.iter().filter(is_false).count() >= 3, "{visited:?}");
    assert!(visited[0].contains("0-127") && !visited[visited.len() - 1].ends_with("false"));
    assert!(picture.svg.contains(&format!(">{}</text>", visited.len())));
    Ok(())
}

#[test]
fn equation_1_holds_and_claim_5_4_does_not() -> anyhow::Result<()> {
    let report = run(&["bounds"])?;
    let number = |row, column| cell(&report, row, column).parse::<f64>();
    let mut worst: f64 = 0.0;
    for (row, cells) in report.tables[0].rows.iter().enumerate() {
        let (bound, measured) = (
            number(row, "bound")?,
            number(row, "measured, any common bit")?,
        );
        if cells[0].starts_with("Equation 1") || cells[0].starts_with("Section 3.1") {
            // 2000 pairs of sets: four standard deviations.
            let chance = (bound * (1.0 - bound) / 2000.0).sqrt();
            assert!((measured - bound).abs() < 4.0 * chance, "{cells:?}");
        } else {
            let expected = number(row, "expected here")?;
            assert!((measured / expected - 1.0).abs() < 0.2, "{cells:?}");
            worst = worst.max(measured / bound);
        }
    }
    assert!(worst > 3.0, "{worst}");
    Ok(())
}
