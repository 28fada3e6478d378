//! Figures 3 to 6: the cost of one sample, for sets of four sizes and six accuracies.
//!
//! Murmur3 throughout. The dictionary attack tests M names for every sample, whatever the set; its
//! time is the shortest of a few rounds. Probing (testing random names until one is accepted) is
//! not in the paper.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use bloomgrove::Filter;
use bloomgrove::sample::{Method, Namespace, SampleOptions, Sampler};
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, Operations, dictionary_sample};

use super::setup::{ACCURACIES, ITEMS, PAPER, Setup, Spread, short};
use super::{Effort, figure};
use crate::{Figure, Progress, Report, Stroke};

const ATTACK: &str = "dictionary attack";
/// Rounds of the dictionary attack.
const ROUNDS: u64 = 3;
/// Periods of measurement; the median counts.
const STRETCHES: u64 = 5;

/// The figures of one namespace: operations for both kinds of sets, and times.
struct Figures {
    names: u64,
    operations: [&'static str; 2],
    times: Option<[&'static str; 2]>,
}

pub(super) fn hundred_thousand(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let figures = Figures {
        names: 100_000,
        operations: ["fig03-1e5", "fig04-1e5"],
        times: None,
    };
    run(&figures, effort, progress)
}

pub(super) fn million(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let figures = Figures {
        names: 1_000_000,
        operations: ["fig03-1e6", "fig04-1e6"],
        times: Some(["fig06-uniform", "fig06-clustered"]),
    };
    run(&figures, effort, progress)
}

pub(super) fn ten_million(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let figures = Figures {
        names: 10_000_000,
        operations: ["fig03-1e7", "fig04-1e7"],
        times: Some(["fig05-uniform", "fig05-clustered"]),
    };
    run(&figures, effort, progress)
}

fn run(figures: &Figures, effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    if figures.names > effort.most_names {
        return Ok(Report::default());
    }
    let x = ("accuracy", false);
    let mut operations = figures
        .operations
        .map(|id| figure(id, x, ("operations per sample", true)));
    let mut times = figures
        .times
        .map(|ids| ids.map(|id| figure(id, x, ("milliseconds per sample", true))));
    for accuracy in ACCURACIES {
        for (color, items) in ITEMS.into_iter().enumerate() {
            let setup = Setup {
                names: figures.names,
                items,
                accuracy,
                ..Setup::DEFAULT
            };
            // Where every filter is accurate enough, there is nothing to measure.
            if setup.bits().is_none() {
                continue;
            }
            progress(&setup.to_string())?;
            let tree = setup.tree()?;
            for (i, spread) in Spread::ALL.into_iter().enumerate() {
                let cost = measure(&setup, &tree, spread, effort)?;
                cost.draw(&mut operations[i], items, color, accuracy);
                if let Some(times) = &mut times {
                    let mut add = |name: &str, stroke, time| {
                        let name = format!("{name}, n = {}", short(items));
                        times[i].draw(&name, color, stroke, accuracy, time);
                    };
                    add("tree", Stroke::Solid, cost.milliseconds);
                    add("probing", Stroke::Dotted, probe(&setup, spread, effort)?);
                }
            }
        }
        let setup = Setup {
            names: figures.names,
            accuracy,
            ..Setup::DEFAULT
        };
        progress(&format!("{setup}: {ATTACK}"))?;
        let attack = attack(&setup)?;
        for (i, _) in Spread::ALL.iter().enumerate() {
            let color = ITEMS.len();
            let all = figures.names as f64;
            operations[i].draw(ATTACK, color, Stroke::Solid, accuracy, all);
            if let Some(times) = &mut times {
                times[i].draw(ATTACK, color, Stroke::Solid, accuracy, attack);
            }
        }
    }
    let figures = operations.into_iter().chain(times.into_iter().flatten());
    Ok(Report {
        figures: figures.collect(),
        ..Report::default()
    })
}

/// The mean cost of a sample.
struct Cost {
    intersections: f64,
    memberships: f64,
    milliseconds: f64,
}

impl Cost {
    fn draw(&self, figure: &mut Figure, items: u64, color: usize, accuracy: f64) {
        let name = |what: &str| format!("{what}, n = {}", short(items));
        let mut add = |what, stroke, y| figure.draw(&name(what), color, stroke, accuracy, y);
        add("queries", Stroke::Solid, self.memberships);
        add("intersections", Stroke::Dashed, self.intersections);
    }
}

fn measure(setup: &Setup, tree: &BloomSampleTree, spread: Spread, effort: Effort) -> Result<Cost> {
    let queries = (0..effort.sets).map(|i| Setup::query(tree.params(), &setup.set(spread, i)));
    let queries: Vec<Filter> = queries.collect::<Result<_>>()?;
    let mut work = Operations::default();
    let mut random = setup.random(1 << 30);
    let each = effort.samples.div_ceil(effort.sets);
    let mut failed = Ok(());
    let seconds = queries.iter().map(|query| {
        seconds_per_sample(each, &mut || {
            let drawn = tree.sample(query, PAPER, &mut random, &mut work);
            drawn.unwrap_or_else(|error| {
                failed = Err(error);
                None
            })
        })
    });
    let seconds: f64 = seconds.sum();
    failed?;
    let samples = (each * effort.sets) as f64;
    Ok(Cost {
        intersections: work.intersections as f64 / samples,
        memberships: work.memberships as f64 / samples,
        milliseconds: seconds * 1e3 / effort.sets as f64,
    })
}

/// Seconds per sample: the median over the means of a few periods, so that a single disturbance
/// does not count.
pub(super) fn seconds_per_sample(samples: u64, draw: &mut dyn FnMut() -> Option<u64>) -> f64 {
    let each = samples.div_ceil(STRETCHES);
    let mut means = Vec::new();
    for _ in 0..samples / each {
        let start = Instant::now();
        for _ in 0..each {
            black_box(draw());
        }
        means.push(start.elapsed().as_secs_f64() / each as f64);
    }
    means.sort_by(f64::total_cmp);
    means.get(means.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Milliseconds per sample by testing random names until one is accepted: exactly uniform, and
/// without any data structure.
fn probe(setup: &Setup, spread: Spread, effort: Effort) -> Result<f64> {
    let query = Setup::query(&setup.params()?, &setup.set(spread, 0))?;
    let names = Namespace::range(setup.range())?;
    let options = SampleOptions {
        method: Some(Method::Probe),
        ..SampleOptions::default()
    };
    let mut sampler = Sampler::with(&query, &names, &options)?;
    let rounds = effort.samples.div_ceil(effort.sets);
    Ok(1e3 * seconds_per_sample(rounds, &mut || sampler.draw_integer().ok()))
}

/// Milliseconds per sample by the dictionary attack.
pub(super) fn attack(setup: &Setup) -> Result<f64> {
    let query = Setup::query(&setup.params()?, &setup.set(Spread::Uniform, 0))?;
    let mut random = setup.random(2 << 30);
    let mut work = Operations::default();
    let round = |_| {
        let mut draw = || dictionary_sample(&query, setup.range(), &mut random, &mut work);
        seconds_per_sample(1, &mut draw) * 1e3
    };
    Ok((0..ROUNDS).map(round).fold(f64::INFINITY, f64::min))
}
