//! Section 6: sub-filters and buffers are two ideas; "each of these can be applied independently, but
//! neither will provide the same benefit as their combined use". Each alone, both, and neither, in
//! memory and on disk: the algorithms to the letter, with Table 2's filter and 32 MB for what waits.

use anyhow::Result;

use super::literal::Literal;
use super::setup::{Contender, Keys, Run, Task, cell, gigabytes};
use super::{claim, table};
use crate::{Progress, Report};

const MEMORY: u64 = 32;

/// Whether there are sub-filters, and buffers.
const IDEAS: [(&str, bool, bool); 4] = [
    ("neither", false, false),
    ("sub-filters only", true, false),
    ("buffers only", false, true),
    ("both", true, true),
];

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    let scratch = task.scratch()?;
    let keys = Keys::both(task.effort.keys);
    let geometry = task.paper_geometry()?;
    let mut contenders = Vec::new();
    for in_memory in [true, false] {
        for (name, sub_filters, buffers) in IDEAS {
            let place = if in_memory { "in memory" } else { "on disk" };
            let literal = Literal {
                pages: geometry.pages(),
                page_bytes: geometry.page_bytes(),
                hashes: geometry.params().hashes(),
                memory: buffers.then(|| task.bytes(MEMORY)),
                sub_filters,
                in_memory,
                patience: task.effort.patience,
            };
            let extrapolated = !in_memory && !buffers;
            let note = if extrapolated { " (extrapolated)" } else { "" };
            contenders.push((
                format!("{place}, {name}{note}"),
                Contender::Literal(literal),
                extrapolated,
            ));
        }
    }
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); contenders.len()];
    for round in 0..task.effort.spread_rounds {
        for ((name, contender, extrapolated), runs) in contenders.iter().zip(&mut runs) {
            if *extrapolated && round > 0 {
                continue;
            }
            progress(&format!("{name} (round {})", round + 1))?;
            runs.push(contender.run(&scratch, keys)?);
        }
    }
    let head = [
        "filter",
        "build, s",
        "build, slowest",
        "probe, s",
        "probe, slowest",
        "time / both",
        "false positives, %",
        "page visits: build",
        "probe",
        "GB written",
        "GB read",
        "resident, MB",
    ];
    let mut table = table("ideas", &head);
    let best =
        |runs: &[Run], of: fn(&Run) -> f64| runs.iter().map(of).fold(f64::INFINITY, f64::min);
    let worst = |runs: &[Run], of: fn(&Run) -> f64| runs.iter().map(of).fold(0.0, f64::max);
    let total = |runs: &[Run]| best(runs, Run::total);
    let mut claims = Vec::new();
    for (i, ((name, ..), of_one)) in contenders.iter().zip(&runs).enumerate() {
        // The last of those in memory, or on disk.
        let both = &runs[i / IDEAS.len() * IDEAS.len() + IDEAS.len() - 1];
        let ratio = total(of_one) / total(both);
        let run = &of_one[0];
        table.rows.push(vec![
            name.clone(),
            format!("{:.2}", best(of_one, |run| run.build)),
            format!("{:.2}", worst(of_one, |run| run.build)),
            format!("{:.2}", best(of_one, |run| run.probe)),
            format!("{:.2}", worst(of_one, |run| run.probe)),
            format!("{ratio:.2}"),
            match run.fpr.is_nan() {
                true => String::new(),
                false => format!("{:.4}", 100.0 * run.fpr),
            },
            run.flushes[0].to_string(),
            run.flushes[1].to_string(),
            gigabytes(run.written),
            gigabytes(run.read),
            cell(run.resident),
        ]);
        let what = format!("time relative to both ideas together, {name} (more than)");
        if ratio != 1.0 {
            claims.push(claim("ideas", &what, 1.0, ratio));
        }
    }
    Ok(Report {
        tables: vec![table],
        claims,
        ..Report::default()
    })
}
