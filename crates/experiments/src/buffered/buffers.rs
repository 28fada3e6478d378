//! Figure 4: build and probe by the memory for buffers, against filters in memory; and the
//! false positives of section 4.4.

use anyhow::Result;
use bloomgrove::buffered::Strategy;

use super::setup::{Contender, Keys, ON_DISK, PLAIN, Run, Task, cell, gigabytes, race};
use super::{claim, figure, table};
use crate::{Progress, Report, Stroke, Table};

/// Megabytes.
const BUFFERS: [u64; 5] = [8, 16, 32, 64, 128];
/// The memory of both in section 4.4's last comparison.
const SMALL: (u64, u64) = (32, 64);
/// Table 2.
const MOST_WRONG: f64 = 0.0025;

const PAPER: &str = "buffered, as in the paper";
const LITERAL: &str = "buffered, Algorithms 1 and 2";
const OURS: &str = "buffered, our defaults";
/// These three, for each size.
const KINDS: usize = 3;
const SINGLY: &str = "in memory, key by key";
const BATCHES: &str = "in memory, batches";

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    // Filters in memory release all of it. The others run from little memory to much: the next one
    // uses what the previous one freed.
    let small = format!("in memory, {} MB", SMALL.1);
    let mut contenders = vec![
        (small, task.plain(SMALL.1, true)?),
        (BATCHES.to_owned(), task.plain(PLAIN, true)?),
        (SINGLY.to_owned(), task.plain(PLAIN, false)?),
    ];
    for buffers in BUFFERS {
        let with = |name: &str| format!("{name}, {buffers} MB");
        contenders.push((with(PAPER), task.paper(buffers, Strategy::Equal)?));
        contenders.push((with(OURS), task.ours(buffers)?));
        contenders.push((with(LITERAL), task.literal(buffers)));
    }
    let runs = race(task, &contenders, Keys::both(task.effort.keys), progress)?;
    let [small, batches, singly, on_disk @ ..] = &runs[..] else {
        unreachable!("three are in memory")
    };

    let mut figure = figure("fig04", ("buffers, MB", false), ("seconds", false));
    for (i, buffers) in BUFFERS.into_iter().enumerate() {
        let x = buffers as f64;
        figure.draw(PAPER, 1, Stroke::Solid, x, on_disk[KINDS * i].total());
        figure.draw(OURS, 0, Stroke::Solid, x, on_disk[KINDS * i + 1].total());
        figure.draw(LITERAL, 2, Stroke::Solid, x, on_disk[KINDS * i + 2].total());
        figure.draw(SINGLY, 6, Stroke::Dashed, x, singly.total());
        figure.draw(BATCHES, 6, Stroke::Dotted, x, batches.total());
    }

    let mut claims = Vec::new();
    for (name, first) in [
        ("as in the paper", 0),
        ("our defaults", 1),
        ("Algorithms 1 and 2", 2),
    ] {
        for (rival, time) in [("key by key", singly), ("batches", batches)] {
            let faster = |i: &usize| on_disk[KINDS * i + first].total() < time.total();
            let least = (0..BUFFERS.len()).find(faster).map(|i| BUFFERS[i]);
            let what = format!("MB from which it is faster, {name}, against {rival} (inf: none)");
            let ours = least.map_or(f64::INFINITY, |least| least as f64);
            claims.push(claim("fig04", &what, 32.0, ours));
        }
    }
    let middle = BUFFERS.iter().position(|&buffers| buffers == SMALL.0);
    let middle = middle.unwrap_or_default();
    for (name, run) in [
        ("as in the paper", &on_disk[KINDS * middle]),
        ("our defaults", &on_disk[KINDS * middle + 1]),
        ("Algorithms 1 and 2", &on_disk[KINDS * middle + 2]),
    ] {
        let what = format!("false positives, %, {name} (less than)");
        claims.push(claim("fig04", &what, 100.0 * MOST_WRONG, 100.0 * run.fpr));
        let what = format!("64 MB in memory: times as many false positives, {name} (at least)");
        claims.push(claim("fig04", &what, 10.0, small.fpr / run.fpr));
        let what = format!("keys per page visit, 32 MB, {name} (up to)");
        let visits = run.flushes.iter().sum::<u64>().max(1);
        let each = 2.0 * task.effort.keys as f64 / visits as f64;
        claims.push(claim("fig04", &what, 1000.0, each));
    }
    Ok(Report {
        tables: vec![costs(&contenders, &runs, singly)],
        figures: vec![figure],
        claims,
        ..Report::default()
    })
}

fn costs(contenders: &[(String, Contender)], runs: &[Run], singly: &Run) -> Table {
    let head = [
        "filter",
        "on disk, MB",
        "build, s",
        "probe, s",
        "slowest round, s",
        "time / key by key",
        "false positives, %",
        "resident, MB",
        "page visits",
        "GB written",
        "GB read",
    ];
    let mut table = table("fig04-cost", &head);
    for ((name, contender), run) in contenders.iter().zip(runs) {
        let on_disk = match contender {
            Contender::Plain { .. } => 0,
            Contender::Buffered(..) | Contender::Literal(..) => ON_DISK,
        };
        table.rows.push(vec![
            name.clone(),
            on_disk.to_string(),
            format!("{:.2}", run.build),
            format!("{:.2}", run.probe),
            format!("{:.2}", run.slowest),
            format!("{:.2}", run.total() / singly.total()),
            format!("{:.4}", 100.0 * run.fpr),
            cell(run.resident),
            run.flushes.iter().sum::<u64>().to_string(),
            gigabytes(run.written),
            gigabytes(run.read),
        ]);
    }
    table
}
