//! Figure 3: how long probes wait, by `t_max`.
//!
//! The client sends probes as fast as the request queue accepts them; half of the keys are
//! present. Means and percentiles are over the answers that arrived while it sent probes; the longest
//! wait is over all, including those after the last probe. The rate is that of the second half of
//! the time, when all blocks are in use.
//!
//! Both flushing strategies have the paper's sizes: 256 MB, 32 MB of buffers, a queue of 3 MB. Every
//! `t_max` is measured once in each of several rounds; the median counts, and the spread is published.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bloomgrove::buffered::{BufferOptions, Filter, Latencies, ProbeQueue, QueueOptions, Strategy};

use super::setup::{CHUNK, Scratch, Task, build};
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

/// A filter, and the results of every round, by `t_max`.
struct Setup {
    name: &'static str,
    strategy: Strategy,
    /// Keeps the file.
    scratch: Scratch,
    rounds: Vec<Vec<Waited>>,
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The least, the median and the largest of a value over the rounds.
fn spread(rounds: &[Waited], of: impl Fn(&Waited) -> f64) -> [f64; 3] {
    let mut values: Vec<f64> = rounds.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    let median = (values[last / 2] + values[last.div_ceil(2)]) / 2.0;
    [values[0], median, values[last]]
}

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    let seconds = task.effort.seconds;
    ensure!(
        task.effort.spread_rounds > 0,
        "the effort must include a round"
    );
    let short = T_MAX
        .into_iter()
        .filter(|&ms| ms as f64 <= FAR * seconds * 1e3);
    let limits: Vec<Option<u64>> = short.map(Some).chain([None]).collect();
    let mut setups = Vec::new();
    for (name, geometry, strategy) in [
        ("ours", task.our_geometry()?, Strategy::Longest),
        ("as in the paper", task.paper_geometry()?, Strategy::Equal),
    ] {
        progress(&format!("{name}: building"))?;
        let scratch = task.scratch()?;
        let options = task.options(MEMORY, strategy);
        build(&scratch.file(), &geometry, &options, task.effort.keys)?;
        setups.push(Setup {
            name,
            strategy,
            scratch,
            rounds: limits.iter().map(|_| Vec::new()).collect(),
        });
    }
    // Every t_max once per round, so that a slow spell of the machine affects all of them alike.
    for round in 1..=task.effort.spread_rounds {
        for setup in &mut setups {
            let filter = Filter::open(setup.scratch.file())?;
            for (limit, rounds) in limits.iter().zip(&mut setup.rounds) {
                progress(&format!(
                    "{}: t_max {} (round {round})",
                    setup.name,
                    shown(*limit)
                ))?;
                let mut options = task.options(MEMORY, setup.strategy);
                options.t_max = limit.map(Duration::from_millis);
                rounds.push(ask(&filter, &options, task)?);
            }
        }
    }
    Ok(report(&limits, &setups))
}

fn shown(limit: Option<u64>) -> String {
    limit.map_or("none".to_owned(), |ms| ms.to_string())
}

fn report(limits: &[Option<u64>], setups: &[Setup]) -> Report {
    let mut figure = figure("fig03", ("t_max, ms", true), ("ms", true));
    let mut tail = table(
        "fig03-tail",
        &[
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
        ],
    );
    let mut spreads = table(
        "fig03-spread",
        &[
            "filter",
            "t_max, ms",
            "total, least ms",
            "median",
            "most",
            "queue, least ms",
            "median",
            "most",
            "block, least ms",
            "median",
            "most",
            "million probes / s, least",
            "median",
            "most",
            "rounds with the shortest wait",
        ],
    );
    let mut claims = Vec::new();
    for (color, setup) in setups.iter().enumerate() {
        let name = setup.name;
        let total = |waited: &Waited| ms(waited.times.total.mean);
        let wins = wins(limits, setup, total);
        let mut best = (f64::INFINITY, 0.0);
        for ((limit, rounds), wins) in limits.iter().zip(&setup.rounds).zip(wins) {
            let queue = spread(rounds, |waited| ms(waited.times.queue.mean));
            let block = spread(rounds, |waited| ms(waited.times.block.mean));
            let total = spread(rounds, total);
            let rate = spread(rounds, |waited| waited.rate);
            let longest = spread(rounds, |waited| ms(waited.longest))[2];
            tail.rows.push(vec![
                name.to_owned(),
                shown(*limit),
                format!("{:.1}", queue[1]),
                format!("{:.1}", block[1]),
                format!("{:.1}", total[1]),
                format!(
                    "{:.1}",
                    spread(rounds, |waited| ms(waited.times.block.p99))[1]
                ),
                format!("{longest:.1}"),
                format!("{:.2}", spread(rounds, |waited| waited.page)[1]),
                format!("{:.1}", spread(rounds, |waited| waited.slowest)[2]),
                format!("{:.2}", rate[1]),
            ]);
            let mut cells = vec![name.to_owned(), shown(*limit)];
            for values in [total, queue, block] {
                cells.extend(values.map(|value| format!("{value:.1}")));
            }
            cells.extend(rate.map(|value| format!("{value:.2}")));
            cells.push(wins.to_string());
            spreads.rows.push(cells);
            let Some(limit) = limit else { continue };
            let lines = [
                ("total", Stroke::Solid, total[1]),
                ("queue", Stroke::Dashed, queue[1]),
                ("block", Stroke::Dotted, block[1]),
            ];
            for (part, stroke, time) in lines {
                let line = format!("{name}: {part}");
                figure.draw(&line, color, stroke, *limit as f64, time);
            }
            if total[1] < best.0 {
                best = (total[1], *limit as f64);
            }
            if *limit == 750 {
                let what = format!("longest wait of a probe at t_max = 750 ms, s, {name}");
                let longest = spread(rounds, |waited| waited.times.total.max.as_secs_f64())[2];
                claims.push(claim("fig03", &format!("{what} (less than)"), 1.0, longest));
            }
        }
        let what = format!("t_max with the shortest median wait, ms, {name}");
        claims.push(claim("fig03", &what, 750.0, best.1));
    }
    Report {
        tables: vec![tail, spreads],
        figures: vec![figure],
        claims,
        ..Report::default()
    }
}

/// In how many rounds each `t_max` had the shortest wait of all.
fn wins(limits: &[Option<u64>], setup: &Setup, total: impl Fn(&Waited) -> f64) -> Vec<usize> {
    let mut wins = vec![0; limits.len()];
    let rounds = setup.rounds.first().map_or(0, Vec::len);
    for round in 0..rounds {
        let of = |at: &usize| total(&setup.rounds[*at][round]);
        // Having no limit is not a t_max.
        let timed = (0..limits.len()).filter(|at| limits[*at].is_some());
        if let Some(best) = timed.min_by(|a, b| of(a).total_cmp(&of(b))) {
            wins[best] += 1;
        }
    }
    wins
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
