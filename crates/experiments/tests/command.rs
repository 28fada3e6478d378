//! The `experiments` command, as a user runs it.

use std::path::Path;
use std::process::{Command, Output};

fn run(directory: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_experiments"));
    command.args(line.split_whitespace()).current_dir(directory);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const PAPERS: [&str; 5] = ["bloofi", "sampling", "buffered", "bloomtree", "provenance"];

#[test]
fn every_paper_is_listed_and_has_help_with_an_example() {
    let directory = tempfile::tempdir().unwrap();
    let list = text(&run(directory.path(), "list").stdout);
    for paper in PAPERS {
        let figures = list.lines().filter(|line| line.starts_with(paper));
        assert!(figures.count() > 10, "{paper}: {list}");
        let help = run(directory.path(), &format!("{paper} --help"));
        assert!(help.status.success());
        let help = text(&help.stdout);
        let example = format!("cargo run --release -p experiments -- {paper}");
        assert!(help.contains(&example), "{help}");
    }
}

#[test]
fn an_unknown_figure_is_an_error_that_says_where_the_names_are() {
    let directory = tempfile::tempdir().unwrap();
    for paper in PAPERS {
        let said = run(directory.path(), &format!("{paper} fig99"));
        assert_eq!(said.status.code(), Some(2), "{said:?}");
        assert!(said.stdout.is_empty());
        let error = text(&said.stderr);
        assert!(
            error.contains("fig99") && error.contains("experiments -- list"),
            "{error}"
        );
    }
    let said = run(directory.path(), "provenance shape --fpr 1.5");
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    assert!(text(&said.stderr).contains("below 1"), "{said:?}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_figure_is_printed_and_written_next_to_the_pages_or_as_told() {
    let directory = tempfile::tempdir().unwrap();
    for (line, written) in [
        ("bloofi fig01", "bloofi/fig01.svg"),
        ("bloofi fig01 --out here", "here/fig01.svg"),
    ] {
        let said = run(directory.path(), line);
        assert!(said.status.success(), "{said:?}");
        let out = text(&said.stdout);
        assert!(out.starts_with("fig01: A tree of order 2\n"), "{out}");
        assert!(out.ends_with(&format!("wrote {written}\n")), "{out}");
        let svg = std::fs::read_to_string(directory.path().join(written)).unwrap();
        assert!(svg.starts_with("<svg "), "{svg}");
    }
    std::fs::create_dir_all(directory.path().join("docs/papers")).unwrap();
    let said = run(directory.path(), "bloofi fig01");
    assert!(text(&said.stdout).contains("wrote docs/papers/bloofi/fig01.svg"));
}
