//! A small run: the files are written, and the numbers agree with the paper's theorems.

use experiments::Report;
use experiments::bloofi::{self, Built, Effort, Setup};

const TINY: Effort = Effort {
    runs: 1,
    most_filters: 300,
    most_chained: 100,
};

fn run(ids: &[&str]) -> anyhow::Result<Report> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    bloofi::run(&ids, TINY, &mut |_| Ok(()))
}

#[test]
fn a_figure_is_measured_and_written() -> anyhow::Result<()> {
    let report = run(&["fig05", "fig07"])?;
    let ids: Vec<_> = report.figures.iter().map(|figure| figure.id).collect();
    assert_eq!(ids, ["fig05", "fig07"], "only what was requested");
    let [cost, change] = &report.figures[..] else {
        unreachable!()
    };
    for filters in [100.0, 300.0] {
        let value = |name| cost.value(name, filters).expect(name);
        assert_eq!(value("every filter in turn"), filters);
        let ideal = value("ideal, 4 children each");
        for name in ["incremental", "after updates", "bulk, ours"] {
            // With 100,992 bits, this few filters leave the root far from full.
            assert!(
                (0.9..1.2).contains(&(value(name) / ideal)),
                "{name} {filters}"
            );
        }
        let update = change.value("update", filters).expect("update");
        let insert = change.value("insert", filters).expect("insert");
        // height + 1, and the height is between log_4 N and log_2 N.
        assert!(update > filters.log(4.0) && update <= filters.log2() + 1.0);
        assert!(insert > update);
    }
    assert_eq!(
        cost.value("bulk, the paper's", 300.0),
        None,
        "beyond the effort"
    );

    let directory = tempfile::tempdir()?;
    let [table, picture] = cost.save(directory.path())?;
    let table = std::fs::read_to_string(table)?;
    assert!(table.starts_with("filters N,every filter in turn,incremental,"));
    assert_eq!(table.lines().count(), 3);
    assert_eq!(
        table.lines().nth(1).and_then(|row| row.split(',').nth(1)),
        Some("100")
    );
    let picture = std::fs::read_to_string(picture)?;
    assert!(picture.contains("<svg") && picture.contains("incremental"));
    Ok(())
}

#[test]
fn an_unknown_figure_and_an_interruption_end_the_run() {
    assert!(run(&["fig99"]).is_err());
    let stopped = bloofi::run(&[], TINY, &mut |_| anyhow::bail!("enough"));
    assert_eq!(stopped.unwrap_err().to_string(), "enough");
}

#[test]
fn the_example_is_drawn_before_and_after_each_change() -> anyhow::Result<()> {
    let report = run(&["fig01", "fig02", "fig03", "fig04"])?;
    let roots = ["11111010", "11111110", "11110010", "11111011"];
    assert_eq!(report.pictures.len(), 4);
    for (picture, root) in report.pictures.iter().zip(roots) {
        let first = picture.text.lines().next().unwrap_or_default();
        assert!(first.ends_with(root), "{}: {first}", picture.id);
        assert!(picture.svg.contains("<svg") && picture.svg.contains(root));
    }
    Ok(())
}

#[test]
fn the_root_of_table_1_matches_as_often_as_published() -> anyhow::Result<()> {
    let measured = Setup::default().measure(Built::Incremental)?;
    assert!(
        (measured.root_fpr - 0.993).abs() < 0.0005,
        "{}",
        measured.root_fpr
    );
    assert!((20.0..26.0).contains(&measured.search_cost));
    Ok(())
}

#[test]
fn smaller_filters_cost_more_checks() -> anyhow::Result<()> {
    let cost = |bits| {
        let setup = Setup {
            bits,
            ..Setup::default()
        };
        setup.measure(Built::Incremental).map(|m| m.search_cost)
    };
    let (small, middle, large) = (cost(5056)?, cost(50_048)?, cost(1_000_000)?);
    assert!(small > 2.0 * middle && middle > 1.2 * large);
    Ok(())
}
