//! What the experiments of all papers share: the list of figures, and running them.

use anyhow::{Result, ensure};

use crate::{Axis, Claim, Figure, Report, Table};

/// Called before each step; its error ends the run.
pub type Progress<'a> = dyn FnMut(&str) -> Result<()> + 'a;

/// Figures that share their measurements, and the code that produces them.
pub(crate) type Group<E> = fn(E, &mut Progress<'_>) -> Result<Report>;

/// Runs the groups that produce the figures with these ids, or all if none are given, and keeps
/// those figures. `known` has the id and title of every figure.
pub(crate) fn run<E: Copy>(
    known: &[(&str, &str)],
    groups: &[(&[&str], Group<E>)],
    ids: &[String],
    effort: E,
    progress: &mut Progress<'_>,
) -> Result<Report> {
    for id in ids {
        ensure!(
            known.iter().any(|(known, _)| known == id),
            "unknown figure {id}; `cargo run --release -p experiments -- list` lists all of them"
        );
    }
    let mut report = Report::default();
    for (members, group) in groups {
        if ids.is_empty() || ids.iter().any(|id| members.contains(&id.as_str())) {
            report.extend(group(effort, progress)?);
        }
    }
    report.keep(ids);
    Ok(report)
}

/// The title of a figure.
pub(crate) fn title(
    known: &'static [(&'static str, &'static str)],
    id: &'static str,
) -> &'static str {
    let found = known.iter().find(|(known, _)| *known == id);
    found.map_or("", |(_, title)| title)
}

/// An empty figure with its title. An axis is a name and whether it is logarithmic.
pub(crate) fn figure(
    known: &'static [(&'static str, &'static str)],
    id: &'static str,
    x: (&'static str, bool),
    y: (&'static str, bool),
) -> Figure {
    let axis = |(name, log)| Axis { name, log };
    Figure {
        id,
        title: title(known, id),
        x: axis(x),
        y: axis(y),
        series: Vec::new(),
    }
}

/// A number in the paper, and ours.
pub(crate) fn claim(figure: &'static str, what: &str, paper: f64, ours: f64) -> Claim {
    Claim {
        figure,
        what: what.to_owned(),
        paper,
        ours,
    }
}

/// A table with its title and no rows.
pub(crate) fn table(
    known: &'static [(&'static str, &'static str)],
    id: &'static str,
    head: &[&str],
) -> Table {
    Table {
        id,
        title: title(known, id),
        head: head.iter().map(ToString::to_string).collect(),
        rows: Vec::new(),
    }
}
