//! The extent of the histories of the generated documents.

use anyhow::Result;
use bloomgrove_site::generate::{Ancestry, History, Workload};

use super::{Effort, table};
use crate::{Progress, Report};

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    progress("histories")?;
    let workload = Workload {
        sites: effort.sites,
        events: effort.events,
        ..Workload::default()
    };
    let ancestry = Ancestry::new(workload.steps());
    let all: Vec<History> = (0..ancestry.documents())
        .map(|document| ancestry.history(document))
        .collect();
    let head = [
        "per document",
        "median",
        "mean",
        "90 %",
        "99 %",
        "99.9 %",
        "maximum",
    ];
    let mut table = table("shape", &head);
    type Column = (&'static str, fn(&History) -> u64);
    let columns: [Column; 3] = [
        ("ancestors", |history| history.ancestors),
        ("events in a row", |history| history.steps),
        ("sites with data on these", |history| history.sites),
    ];
    for (name, of) in columns {
        let mut values: Vec<u64> = all.iter().map(of).collect();
        values.sort_unstable();
        let at = |thousandth: usize| {
            let place = values.len().saturating_sub(1) * thousandth / 1000;
            values.get(place).copied().unwrap_or(0).to_string()
        };
        let mean = values.iter().sum::<u64>() as f64 / values.len().max(1) as f64;
        table.rows.push(vec![
            name.to_owned(),
            at(500),
            format!("{mean:.1}"),
            at(900),
            at(990),
            at(999),
            at(1000),
        ]);
    }
    Ok(Report {
        tables: vec![table],
        ..Report::default()
    })
}
