//! A small run: every figure is present, and the numbers are plausible.

mod support;

use experiments::bloom_tree::{self, Effort};
use experiments::{Figure, Report};

use support::{check, column};

const TINY: Effort = Effort {
    table_items: 20_000,
    queries: 200_000,
    time_items: 2000,
    samples: 1000,
    items: 2000,
    trees: 1,
    most_items: 10_000,
    most_depth: 5,
    set_items: 20_000,
    trace_items: 20_000,
    repeats: 2,
    complete_depth: 2,
    bred_depth: 3,
    bred_rounds: 2,
    thread_items: 5000,
    rounds: 1,
};

fn run(ids: &[&str]) -> anyhow::Result<Report> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    bloom_tree::run(&ids, TINY, &mut |_| Ok(()))
}

fn value(figure: &Figure, name: &str, x: f64) -> f64 {
    let found = figure.value(name, x);
    found.unwrap_or_else(|| panic!("{}: {name} at {x}", figure.id))
}

#[test]
fn every_figure_is_made_and_written() -> anyhow::Result<()> {
    let report = run(&[])?;
    check(&report, bloom_tree::FIGURES.map(|(id, _)| id))?;
    assert!(report.claims.len() >= 50);
    Ok(())
}

#[test]
fn an_unknown_figure_and_an_interruption_end_the_run() {
    assert!(run(&["fig01"]).is_err());
    let stopped = bloom_tree::run(&[], TINY, &mut |_| anyhow::bail!("enough"));
    assert_eq!(stopped.unwrap_err().to_string(), "enough");
}

#[test]
fn rates_are_counted_as_expected_and_never_below_the_geometric_mean() -> anyhow::Result<()> {
    let report = run(&["table3", "table3-hashing"])?;
    let of = |name| column(&report, "table3", name);
    for off in of("deviations off").into_iter().flatten() {
        assert!(off.abs() < 4.0, "{off}");
    }
    let means = of("geometric mean").into_iter().zip(of("expected FPR"));
    for (geometric, real) in means {
        assert!(geometric.expect("a mean") < real.expect("a rate"));
    }
    // d = 3, rho 1; a small tree differs by chance.
    let at = |name| of(name)[5].expect(name);
    assert!((at("expected FPR") / 0.0535 - 1.0).abs() < 0.05);
    assert!((at("W/n") / 8.0 - 1.0).abs() < 0.02);
    assert!((at("W/n, context coded") / 6.76 - 1.0).abs() < 0.02);
    let printed = column(&report, "table3-hashing", "measured, Eq. 8 and 9")[5];
    assert!((printed.expect("a rate") / 0.213 - 1.0).abs() < 0.1);
    Ok(())
}

#[test]
fn paths_average_to_the_expected_rate() -> anyhow::Result<()> {
    let report = run(&["means"])?;
    let table = &report.tables[0];
    let number = |row: &[String], name: &str| -> Option<f64> {
        row[1]
            .strip_prefix(name)?
            .trim_start_matches([':', ' '])
            .parse()
            .ok()
    };
    let find = |name| {
        table
            .rows
            .iter()
            .find_map(|row| number(row, name))
            .expect(name)
    };
    let (mean, expected) = (
        find("arithmetic mean of these"),
        find("expected FPR, by recursion"),
    );
    assert!((mean / expected - 1.0).abs() < 0.1, "{mean} {expected}");
    assert!(find("geometric mean of these") < expected / 3.0);
    Ok(())
}

#[test]
fn at_equal_bytes_the_tree_is_wrong_more_often_than_a_filter() -> anyhow::Result<()> {
    let report = run(&["fig14", "intersection"])?;
    let figure = &report.figures[0];
    for share in [0.1, 0.5, 0.9] {
        let at = |name| value(figure, name, share);
        assert!(at("BloomTree, geo. mean") < at("standard filter"));
        assert!(at("BloomTree") > 1.5 * at("standard filter"), "{share}");
    }
    let sizes = column(&report, "intersection", "W/n");
    let (tree, filter) = (sizes[0].expect("bits"), sizes[1].expect("bits"));
    assert!((tree / filter - 1.0).abs() < 0.01, "{tree} {filter}");
    Ok(())
}

#[test]
fn three_trees_are_wrong_as_often_as_they_expect() -> anyhow::Result<()> {
    let report = run(&["fig13-full", "fig13a"])?;
    for off in column(&report, "fig13-full", "deviations off") {
        assert!(off.expect("a number").abs() < 4.0, "{off:?}");
    }
    let at = |name| value(&report.figures[0], name, 1.0);
    assert!(at("standard filter") < at("Yoon's tree") && at("Yoon's tree") < at("BloomTree"));
    Ok(())
}
