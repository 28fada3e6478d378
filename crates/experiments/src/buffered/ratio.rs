//! Section 4.5: the same number of keys, with more of them queried and fewer inserted.

use anyhow::Result;
use bloomgrove::buffered::Strategy;

use super::setup::{Keys, Run, Task, gigabytes};
use super::{claim, figure, table};
use crate::{Progress, Report, Stroke};

const MEMORY: u64 = 32;
/// The percentage of keys that are inserted.
const SHARES: [u64; 5] = [10, 30, 50, 70, 90];

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    let contenders = [
        ("as in the paper", task.paper(MEMORY, Strategy::Equal)?),
        ("our defaults", task.ours(MEMORY)?),
    ];
    let scratch = task.scratch()?;
    let all = 2 * task.effort.keys;
    let mut best: Vec<Option<Run>> = vec![None; contenders.len() * SHARES.len()];
    // The effect to measure is six percent, so there is one more round than elsewhere.
    for round in 0..task.effort.rounds + 1 {
        // All shares and both contenders take turns.
        for (i, best) in best.iter_mut().enumerate() {
            let (name, contender) = &contenders[i % 2];
            let share = SHARES[i / 2];
            progress(&format!("{name}: {share} % inserted (round {})", round + 1))?;
            let build = all / 100 * share;
            let keys = Keys {
                build,
                probe: all - build,
            };
            let run = contender.run(&scratch, keys)?;
            *best = Some(best.map_or(run, |kept| kept.better(run)));
        }
    }
    let mut figure = figure("ratio", ("inserted, % of keys", false), ("seconds", false));
    for (i, run) in best.iter().enumerate() {
        let total = run.map_or(f64::NAN, |run| run.total());
        // The colours of figure 4.
        let (name, color) = (contenders[i % 2].0, 1 - i % 2);
        figure.draw(name, color, Stroke::Solid, SHARES[i / 2] as f64, total);
    }
    let head = [
        "filter",
        "inserted, % of keys",
        "build, s",
        "probe, s",
        "GB written",
        "GB read",
    ];
    let mut table = table("ratio-cost", &head);
    for (name, first) in [(contenders[0].0, 0), (contenders[1].0, 1)] {
        let own = best.iter().skip(first).step_by(2).flatten();
        for (share, run) in SHARES.into_iter().zip(own) {
            table.rows.push(vec![
                name.to_owned(),
                share.to_string(),
                format!("{:.2}", run.build),
                format!("{:.2}", run.probe),
                gigabytes(run.written),
                gigabytes(run.read),
            ]);
        }
    }
    let claims = contenders.each_ref().map(|(name, _)| {
        let at = |share| figure.value(name, share).unwrap_or(f64::NAN);
        let what = format!("time at 10/90 relative to 50/50, {name}");
        claim("ratio", &what, 0.94, at(10.0) / at(50.0))
    });
    Ok(Report {
        tables: vec![table],
        figures: vec![figure],
        claims: claims.to_vec(),
        ..Report::default()
    })
}
