//! Figure 6: a partitioned tree, with one to four threads.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::{Result, ensure};
use bloomgrove_trees::bloom_tree::BloomTree;

use super::setup::{Config, keys};
use super::{Effort, claim, figure};
use crate::{Progress, Report, Stroke};

const MOST_THREADS: usize = 4;

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    // The paper's tree, with twelve functions in the root: as many parts, which 1 to 4 threads can
    // share evenly.
    let config = Config::new(1.0, &[4, 3], &[12, 3, 2]);
    let shape = config.shape(effort.thread_items)?.partitioned()?;
    let keys = keys(effort.thread_items, 1);
    let mut serial = BloomTree::new(shape.clone())?;
    serial.insert_batch(&keys);
    let mut best = [[f64::INFINITY; 2]; MOST_THREADS];
    for round in 0..effort.rounds {
        for (i, best) in best.iter_mut().enumerate() {
            let threads = NonZero::<usize>::MIN.saturating_add(i);
            progress(&format!(
                "figure 6: {threads} threads (round {})",
                round + 1
            ))?;
            let mut tree = BloomTree::new(shape.clone())?;
            // Memory is touched before timing.
            tree.insert_batch(&keys);
            tree.clear();
            let start = Instant::now();
            tree.insert_parallel(&keys, threads);
            best[0] = best[0].min(start.elapsed().as_secs_f64());
            ensure!(
                tree.words() == serial.words(),
                "{threads} threads set different bits than one"
            );
            let start = Instant::now();
            let found = tree.contains_parallel(&keys, threads);
            best[1] = best[1].min(start.elapsed().as_secs_f64());
            ensure!(
                found.iter().all(|found| *found),
                "{threads} threads lost a key"
            );
        }
    }
    let mut figure = figure("fig06", ("threads", false), ("microseconds per key", false));
    let per_key = 1e6 / effort.thread_items as f64;
    let mut claims = Vec::new();
    for (kind, name) in ["insert", "query, present keys"].into_iter().enumerate() {
        for (i, times) in best.iter().enumerate() {
            let x = i as f64 + 1.0;
            figure.draw(name, kind, Stroke::Solid, x, times[kind] * per_key);
            let ideal = best[0][kind] * per_key / x;
            figure.draw(&format!("{name}, ideal"), kind, Stroke::Dotted, x, ideal);
        }
        for threads in [2, 4] {
            let cores = available_parallelism().map_or(1, NonZero::get);
            let what = format!("speedup with {threads} threads, {name} ({cores} cores here)");
            let ours = best[0][kind] / best[threads - 1][kind];
            claims.push(claim("fig06", &what, threads as f64, ours));
        }
    }
    Ok(Report {
        figures: vec![figure],
        claims,
        ..Report::default()
    })
}
