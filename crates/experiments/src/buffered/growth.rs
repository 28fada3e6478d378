//! How time depends on the number of keys, the size of pages and memory: not in the paper.
//!
//! Keys: filters are sized for a false-positive rate of 1 %, so they grow with the number of keys,
//! but the memory does not. Pages and memory: Table 2's 256 MB with our defaults.

use std::fmt;

use anyhow::Result;
use bloomgrove::buffered::{Geometry, Strategy};

use super::setup::{Contender, Keys, ON_DISK, Run, Task, cell, gigabytes};
use super::{figure, table};
use crate::{Figure, Progress, Report};

const KEYS: [u64; 5] = [
    10_000_000,
    30_000_000,
    100_000_000,
    300_000_000,
    1_000_000_000,
];
const FPR: f64 = 0.01;
/// The size of a page in kilobytes, if a megabyte is 2^20 bytes.
const PAGES: [u64; 6] = [64, 128, 256, 512, 1024, 4096];
/// Megabytes of buffers.
const MEMORY: [u64; 6] = [8, 16, 32, 64, 128, 256];
const HASHES: u32 = 8;

/// The figures, and what they vary.
const FIGURES: [(&str, &str); 3] = [
    ("growth-keys", "million keys"),
    ("growth-pages", "page, KB"),
    ("growth-memory", "memory, MB"),
];

/// One row: its figure, its position in the figure, and what is run.
struct Case {
    figure: usize,
    x: f64,
    geometry: Geometry,
    /// Megabytes of buffers.
    memory: u64,
    keys: u64,
}

impl Case {
    /// Megabytes.
    fn on_disk(&self) -> f64 {
        self.geometry.bytes() as f64 / f64::from(1 << 20)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.0} million keys, {:.0} MB, pages of {} KB, {} MB of buffers",
            self.keys as f64 / 1e6,
            self.on_disk(),
            self.geometry.page_bytes() >> 10,
            self.memory
        )
    }
}

fn cases(task: Task<'_>) -> Result<Vec<Case>> {
    let effort = task.effort;
    let mut cases = Vec::new();
    // Tests have fewer keys than the fewest.
    let few = [effort.most_keys / 4, effort.most_keys];
    let counts: &[u64] = match effort.most_keys < KEYS[0] {
        true => &few,
        false => &KEYS,
    };
    for &keys in counts.iter().filter(|&&keys| keys <= effort.most_keys) {
        cases.push(Case {
            figure: 0,
            x: keys as f64 / 1e6,
            geometry: Geometry::for_items(keys, FPR)?,
            memory: effort.growth_memory,
            keys,
        });
    }
    let geometry = |kilobytes: u64| {
        Geometry::builder(task.bytes(ON_DISK), HASHES)
            .page_bytes(task.bytes(kilobytes) >> 10)
            .build()
    };
    for kilobytes in PAGES {
        cases.push(Case {
            figure: 1,
            x: kilobytes as f64,
            geometry: geometry(kilobytes)?,
            memory: 32,
            keys: effort.growth_keys,
        });
    }
    for memory in MEMORY {
        cases.push(Case {
            figure: 2,
            x: memory as f64,
            geometry: geometry(512)?,
            memory,
            keys: effort.growth_keys,
        });
    }
    Ok(cases)
}

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    let scratch = task.scratch()?;
    let head = [
        "million keys",
        "on disk, MB",
        "page, KB",
        "pages",
        "memory, MB",
        "build, s",
        "probe, s",
        "built, M / s",
        "probed, M / s",
        "GB written",
        "GB read",
        "resident, MB",
        "false positives, %",
    ];
    let mut table = table("growth", &head);
    let mut figures: Vec<Figure> = FIGURES
        .into_iter()
        .map(|(id, axis)| figure(id, (axis, true), ("ns per key", false)))
        .collect();
    let cases = cases(task)?;
    // From little memory to much: the next one uses what the previous one freed.
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|&i| cases[i].memory);
    let mut runs: Vec<Option<Run>> = vec![None; cases.len()];
    for round in 0..task.effort.rounds {
        for &i in &order {
            if runs[i].is_some_and(|run| run.is_long()) {
                continue;
            }
            let case = &cases[i];
            progress(&format!("{case} (round {})", round + 1))?;
            let options = task.options(case.memory, Strategy::Longest);
            let contender = Contender::Buffered(case.geometry.clone(), options);
            let run = contender.run(&scratch, Keys::both(case.keys))?;
            runs[i] = Some(runs[i].map_or(run, |kept| kept.better(run)));
        }
    }
    for (case, run) in cases.iter().zip(runs.into_iter().flatten()) {
        let (geometry, keys) = (&case.geometry, case.keys as f64);
        let figure = &mut figures[case.figure];
        figure.add("build", case.x, run.build * 1e9 / keys);
        figure.add("probe", case.x, run.probe * 1e9 / keys);
        table.rows.push(vec![
            format!("{}", keys / 1e6),
            format!("{:.0}", case.on_disk()),
            (geometry.page_bytes() >> 10).to_string(),
            geometry.pages().to_string(),
            case.memory.to_string(),
            format!("{:.2}", run.build),
            format!("{:.2}", run.probe),
            format!("{:.2}", keys / run.build / 1e6),
            format!("{:.2}", keys / run.probe / 1e6),
            gigabytes(run.written),
            gigabytes(run.read),
            cell(run.resident),
            format!("{:.4}", 100.0 * run.fpr),
        ]);
    }
    Ok(Report {
        tables: vec![table],
        figures,
        ..Report::default()
    })
}
