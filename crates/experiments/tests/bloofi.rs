//! A small run: the files are written, and the numbers agree with the paper's theorems.

mod support;

use experiments::Report;
use experiments::bloofi::{self, Built, Closest, Data, Effort, Setup};

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
        // The numbers of the paper: leaves 1 to 6 below nodes 7 and 8.
        let starts = |start: &str| picture.text.lines().any(|line| line.starts_with(start));
        assert!(starts("├─ #7 ") && starts("└─ #8 "), "{}", picture.text);
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

#[test]
fn the_authors_closest_child_differs_only_by_chance() -> anyhow::Result<()> {
    let cost = |closest| {
        let setup = Setup {
            filters: 300,
            closest,
            ..Setup::default()
        };
        setup.measure(Built::Incremental).map(|m| m.search_cost)
    };
    let (least, by_chance) = (cost(Closest::Least)?, cost(Closest::OrByChance)?);
    assert_ne!(least, by_chance);
    assert!((0.9..1.1).contains(&(by_chance / least)));
    Ok(())
}

#[test]
fn recomputing_up_to_the_root_never_accesses_fewer_nodes() -> anyhow::Result<()> {
    for (bits, least) in [(100_992, 0.0), (5056, 1.0)] {
        let setup = Setup {
            bits,
            filters: 300,
            ..Setup::default()
        };
        let shortcut = setup.average(Built::Incremental, 1)?.delete;
        let printed = setup.printed_delete(Built::Incremental, 1)?;
        // With small filters, the upper nodes are saturated, and the shortcut stops below them.
        assert!(printed >= shortcut + least, "{printed} {shortcut}");
    }
    Ok(())
}

#[test]
fn wide_ranges_hardly_overlap_and_narrow_ones_do() -> anyhow::Result<()> {
    let found = |data| {
        let setup = Setup {
            data,
            ..Setup::default()
        };
        setup.measure(Built::Incremental).map(|m| m.found)
    };
    assert!(found(Data::WideRanges)? < 1.02);
    assert!(found(Data::NarrowRanges)? > 1.5);
    Ok(())
}

#[test]
fn rebuilt_widened_and_moving_trees_are_measured() -> anyhow::Result<()> {
    let report = run(&["rebuild", "widen", "window"])?;
    support::check(&report, ["rebuild", "widen", "window"])?;
    let column = |table, name| support::column(&report, table, name);
    let costs = column("widen", "filters checked per search");
    assert!(costs.iter().all(Option::is_some) && costs[0] >= costs[costs.len() - 1]);
    let expired = column("window", "expired keys reported, %");
    let growing = column("window", "the same, one growing filter per site, %");
    assert!(
        expired[1..]
            .iter()
            .all(|share| share.is_some_and(|share| share < 1.0))
    );
    assert!(growing[1..].iter().all(|&share| share == Some(100.0)));
    Ok(())
}

#[test]
fn the_baseline_reads_one_bit_of_a_sparse_filter_and_two_of_a_dense_one() -> anyhow::Result<()> {
    for (bits, expected) in [(1024, 1.98), (100_992, 1.01)] {
        let setup = Setup {
            bits,
            ..Setup::default()
        };
        let read = setup.scan()?.bits_read;
        assert!((read - expected).abs() < 0.05, "{bits}: {read}");
    }
    Ok(())
}
