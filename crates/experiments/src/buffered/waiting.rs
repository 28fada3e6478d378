//! Figure 3: how long probes wait, by `t_max`.
//!
//! The client sends probes as fast as the request queue accepts them; half of the keys are
//! present. Means and percentiles are over the answers that arrived while it sent probes; the longest
//! wait is over all, including those after the last probe. The rate is that of the second half of
//! the time, when all blocks are in use.
//!
//! Both flushing strategies have the paper's sizes: 256 MB, 32 MB of buffers, a queue of 3 MB.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bloomgrove::buffered::{BufferOptions, Filter, Latencies, ProbeQueue, QueueOptions, Strategy};

use super::setup::{CHUNK, Task, build};
use super::{claim, figure, table};
use crate::{Progress, Report, Stroke};

/// Milliseconds.
const T_MAX: [u64; 11] = [10, 20, 50, 100, 200, 350, 500, 750, 1000, 1500, 2000];
const MEMORY: u64 = 32;
/// A `t_max` more than this many times as long as the measurement would show nothing.
const FAR: f64 = 10.0;
/// One in this many probes is timed: the queue times at most 65,536 at once, and five million
/// wait.
const TIMED: u64 = 128;

/// The result for one `t_max`.
struct Waited {
    times: Latencies,
    /// In a block, over all probes.
    longest: Duration,
    /// Millions of answers per second.
    rate: f64,
    /// Milliseconds that a page took on average, and at most.
    page: f64,
    slowest: f64,
}

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    let seconds = task.effort.seconds;
    let scratch = task.scratch()?;
    let mut figure = figure("fig03", ("t_max, ms", true), ("ms", true));
    let head = [
        "filter",
        "t_max, ms",
        "queue, mean ms",
        "block, mean ms",
        "total, mean ms",
        "block, p99 ms",
        "block, longest ms",
        "one page, mean ms",
        "slowest page, ms",
        "million probes / s",
    ];
    let mut table = table("fig03-tail", &head);
    let mut claims = Vec::new();
    let setups = [
        ("ours", task.our_geometry()?, Strategy::Longest),
        ("as in the paper", task.paper_geometry()?, Strategy::Equal),
    ];
    for (color, (name, geometry, strategy)) in setups.iter().enumerate() {
        progress(&format!("{name}: building"))?;
        scratch.clear();
        let mut options = task.options(MEMORY, *strategy);
        build(&scratch.file(), geometry, &options, task.effort.keys)?;
        let filter = Filter::open(scratch.file())?;
        let mut best = (f64::INFINITY, 0.0);
        let short = T_MAX
            .into_iter()
            .filter(|&ms| ms as f64 <= FAR * seconds * 1e3);
        for limit in short.map(Some).chain([None]) {
            let shown = limit.map_or("none".to_owned(), |ms| ms.to_string());
            progress(&format!("{name}: t_max {shown} ms"))?;
            options.t_max = limit.map(Duration::from_millis);
            let waited = ask(&filter, &options, task)?;
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            let Latencies {
                queue,
                block,
                total,
                ..
            } = waited.times;
            table.rows.push(vec![
                (*name).to_owned(),
                shown,
                format!("{:.1}", ms(queue.mean)),
                format!("{:.1}", ms(block.mean)),
                format!("{:.1}", ms(total.mean)),
                format!("{:.1}", ms(block.p99)),
                format!("{:.1}", ms(waited.longest)),
                format!("{:.2}", waited.page),
                format!("{:.1}", waited.slowest),
                format!("{:.2}", waited.rate),
            ]);
            let Some(limit) = limit else { continue };
            let lines = [
                ("total", Stroke::Solid, total),
                ("queue", Stroke::Dashed, queue),
                ("block", Stroke::Dotted, block),
            ];
            for (part, stroke, time) in lines {
                let line = format!("{name}: {part}");
                figure.draw(&line, color, stroke, limit as f64, ms(time.mean));
            }
            if ms(total.mean) < best.0 {
                best = (ms(total.mean), limit as f64);
            }
            if limit == 750 {
                let what = format!("longest wait of a probe at t_max = 750 ms, s, {name}");
                let longest = total.max.as_secs_f64();
                claims.push(claim("fig03", &format!("{what} (less than)"), 1.0, longest));
            }
        }
        let what = format!("t_max with the shortest mean wait, ms, {name}");
        claims.push(claim("fig03", &what, 750.0, best.1));
    }
    Ok(Report {
        tables: vec![table],
        figures: vec![figure],
        claims,
        ..Report::default()
    })
}

fn ask(filter: &Filter, options: &BufferOptions, task: Task<'_>) -> Result<Waited> {
    let queued = QueueOptions {
        time_every: TIMED,
        ..QueueOptions::default()
    };
    let mut queue = filter.probe_queue(options, &queued)?;
    let keys = task.effort.keys;
    let (mut asked, mut answered) = (0u64, 0u64);
    let mut half = None;
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < task.effort.seconds {
        let batch: Vec<u64> = (asked..asked + CHUNK).map(|tag| key(tag, keys)).collect();
        queue.submit_batch(&batch, asked)?;
        asked += CHUNK;
        answered += receive(&queue, Duration::ZERO)?;
        let elapsed = start.elapsed().as_secs_f64();
        if half.is_none() && elapsed * 2.0 >= task.effort.seconds {
            half = Some((elapsed, answered));
        }
    }
    let (from, before) = half.unwrap_or((0.0, 0));
    let rate = (answered - before) as f64 / (start.elapsed().as_secs_f64() - from) / 1e6;
    let (times, page) = (queue.latencies(), queue.figures().flush_seconds * 1e3);
    while options.t_max.is_some() && queue.open() > 0 {
        answered += receive(&queue, Duration::from_millis(10))?;
    }
    queue.close()?;
    answered += receive(&queue, Duration::ZERO)?;
    ensure!(answered == asked, "{} unanswered", asked - answered);
    Ok(Waited {
        // A short run may end before the first answer.
        times: if times.block.probes > 0 {
            times
        } else {
            queue.latencies()
        },
        longest: queue.latencies().block.max,
        rate,
        page,
        slowest: queue.figures().slowest_seconds * 1e3,
    })
}

/// Even tags are probes for present keys.
fn key(tag: u64, keys: u64) -> u64 {
    match tag % 2 {
        0 => tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) % keys,
        _ => keys + tag,
    }
}

/// Receives answers and checks them; returns how many there were.
fn receive(queue: &ProbeQueue, patience: Duration) -> Result<u64> {
    let answers = queue.receive(patience)?;
    let lost = answers.iter().filter(|(tag, yes)| tag % 2 == 0 && !yes);
    let lost = lost.count();
    ensure!(lost == 0, "{lost} keys were lost");
    Ok(answers.len() as u64)
}
