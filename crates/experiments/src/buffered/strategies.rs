//! Section 4.3: which block is flushed when the memory is used up, on this disk and on the paper's
//! hard disk.
//!
//! We have no hard disk. Its time is computed from the visits that were counted here: the paper's
//! seek and rotation for each visit out of order, and its media rate for every byte. The same is
//! done for the paper's solid state disk, with its Table 1. Both are the time of the disk alone:
//! nothing overlaps, and the processor takes no time.

use anyhow::Result;
use bloomgrove::buffered::Strategy;

use super::setup::{Keys, Run, Task, gigabytes, race};
use super::{claim, table};
use crate::{Progress, Report};

const MEMORY: u64 = 16;

/// A disk: seconds before the first byte, and bytes per second.
struct Disk {
    access: f64,
    read: f64,
    write: f64,
}

/// 4.3: 8.2 ms to seek and 4.17 ms to rotate; 1070 Mb/s.
const HARD: Disk = Disk {
    access: 0.0082 + 0.00417,
    read: 1070e6 / 8.0,
    write: 1070e6 / 8.0,
};

/// Table 1.
const SOLID: Disk = Disk {
    access: 50e-6,
    read: 700e6,
    write: 550e6,
};

impl Disk {
    /// Seconds for what a run has read and written, in this many visits.
    fn seconds(&self, run: &Run, visits: f64) -> f64 {
        visits * self.access + run.read as f64 / self.read + run.written as f64 / self.write
    }
}

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    let strategies = [
        ("longest block (ours)", Strategy::Longest),
        ("equal blocks (the paper)", Strategy::Equal),
        ("one sweep (4.3)", Strategy::Sweep),
    ];
    let mut contenders = Vec::new();
    for (name, strategy) in strategies {
        contenders.push((name.to_owned(), task.paper(MEMORY, strategy)?));
    }
    let runs = race(task, &contenders, Keys::both(task.effort.keys), progress)?;
    let head = [
        "flushed",
        "build, s",
        "probe, s",
        "page visits: build",
        "probe",
        "GB written",
        "GB read",
        "computed: hard disk, s",
        "computed: the paper's SSD, s",
    ];
    let mut table = table("strategies", &head);
    let pages = task.paper_geometry()?.pages() as f64;
    let seeks = |strategy: Strategy, run: &Run| {
        let visits = run.flushes.iter().sum::<u64>() as f64;
        match strategy {
            // Pages are visited in order: the head moves once per sweep.
            Strategy::Sweep => visits / pages,
            _ => visits,
        }
    };
    let mut computed = Vec::new();
    for ((name, strategy), run) in strategies.into_iter().zip(&runs) {
        let visits = seeks(strategy, run);
        let times = [&HARD, &SOLID].map(|disk| disk.seconds(run, visits));
        computed.push(times);
        table.rows.push(vec![
            name.to_owned(),
            format!("{:.2}", run.build),
            format!("{:.2}", run.probe),
            run.flushes[0].to_string(),
            run.flushes[1].to_string(),
            gigabytes(run.written),
            gigabytes(run.read),
            format!("{:.0}", times[0]),
            format!("{:.0}", times[1]),
        ]);
    }
    let [_, equal, sweep] = computed[..] else {
        unreachable!("three strategies")
    };
    let here = runs[1].total();
    let claims = [
        ("hard disk (computed) vs this disk", 8.0, equal[0] / here),
        (
            "hard disk vs the paper's SSD, both computed",
            8.0,
            equal[0] / equal[1],
        ),
        (
            "sweeps on a hard disk (computed) vs this disk",
            4.8,
            sweep[0] / here,
        ),
        (
            "sweeps on a hard disk vs the paper's SSD, both computed",
            4.8,
            sweep[0] / equal[1],
        ),
    ];
    let claims = claims.map(|(what, paper, ours)| {
        let what = format!("slowdown: {what}");
        claim("strategies", &what, paper, ours)
    });
    Ok(Report {
        tables: vec![table],
        claims: claims.to_vec(),
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hard_disk_takes_a_seek_a_turn_and_the_bytes() {
        let run = Run {
            build: 0.0,
            probe: 0.0,
            fpr: 0.0,
            resident: None,
            flushes: [0, 2],
            written: 0,
            read: 2 << 21,
            slowest: 0.0,
        };
        let expected = 2.0 * (0.01237 + 2_097_152.0 / 133_750_000.0);
        assert!((HARD.seconds(&run, 2.0) - expected).abs() < 1e-9);
    }
}
