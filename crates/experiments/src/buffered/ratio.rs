//! Section 4.5: the same number of keys, more of them asked for and fewer built in.

use anyhow::Result;
use bloomgrove::buffered::Strategy;

use super::setup::{Keys, Run, Task};
use super::{claim, figure};
use crate::{Progress, Report};

const MEMORY: u64 = 32;
/// Percent of the keys that are built in.
const SHARES: [u64; 5] = [10, 30, 50, 70, 90];

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    let contenders = [
        ("as the paper", task.paper(MEMORY, Strategy::Equal)?),
        ("our defaults", task.ours(MEMORY)?),
    ];
    let scratch = task.scratch()?;
    let all = 2 * task.effort.keys;
    let mut best: Vec<Option<Run>> = vec![None; contenders.len() * SHARES.len()];
    for round in 0..task.effort.rounds {
        // All shares and both contenders take turns.
        for (i, best) in best.iter_mut().enumerate() {
            let (name, contender) = &contenders[i % 2];
            let share = SHARES[i / 2];
            progress(&format!("{name}: {share} % built in (round {})", round + 1))?;
            let build = all / 100 * share;
            let keys = Keys {
                build,
                probe: all - build,
            };
            let run = contender.run(&scratch, keys)?;
            if best.is_none_or(|best| run.total() < best.total()) {
                *best = Some(run);
            }
        }
    }
    let mut figure = figure("ratio", ("built in, % of keys", false), ("seconds", false));
    for (i, run) in best.iter().enumerate() {
        let total = run.map_or(f64::NAN, |run| run.total());
        figure.add(contenders[i % 2].0, SHARES[i / 2] as f64, total);
    }
    let claims = contenders.each_ref().map(|(name, _)| {
        let at = |share| figure.value(name, share).unwrap_or(f64::NAN);
        let what = format!("seconds at 10/90 by those at 50/50, {name}");
        claim("ratio", &what, 0.94, at(10.0) / at(50.0))
    });
    Ok(Report {
        figures: vec![figure],
        claims: claims.to_vec(),
        ..Report::default()
    })
}
