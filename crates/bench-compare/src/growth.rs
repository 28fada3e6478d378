//! How the time of a query grows with the number of sets, their bits, hashes and density, and with
//! the skew of their sizes.
//!
//! Every point is an index of its own, in the shape that the planner chooses. Half of the keys are in
//! one set, the others in none; keys do not repeat. The best of several rounds counts. The tables and
//! plots are written to a directory.

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use bloomgrove::index::Index;
use bloomgrove::{Collector, Filter, Params};
use experiments::{Axis, Figure, Stroke, Table};

use crate::rivals::scatter;

/// Absent keys are made from counters that no present key uses.
const ABSENT: u64 = 1 << 40;
/// How long a turn takes, about, in nanoseconds.
const TURN: f64 = 20e6;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to write the tables and plots
    #[arg(long, value_name = "DIR", default_value = "docs/bench/growth")]
    output: PathBuf,
    /// The number of rounds; the best counts
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// The largest number of sets
    #[arg(long, default_value_t = 1_000_000)]
    sets: u64,
    /// Measure only these figures
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// Sets that are alike.
#[derive(Clone, Copy)]
struct Sets {
    count: u64,
    bits: u64,
    hashes: u32,
    /// The share of bits that are set.
    density: f64,
}

/// Nanoseconds per key.
struct Times {
    one: f64,
    many: f64,
    /// The number of sets that are found, but do not contain the key.
    false_sets: f64,
}

pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    // Half full, as filters of the right size are.
    let usual = Sets {
        count: 10_000,
        bits: 9_600,
        hashes: 7,
        density: 0.5,
    };
    // As in Table 1 of the Bloofi paper, with a tenth of the bits and items.
    let sparse = Sets {
        bits: 10_112,
        density: 0.0069,
        ..usual
    };
    let mut figures = Vec::new();
    let wanted = |name: &str| args.names.is_empty() || args.names.iter().any(|own| own == name);

    if wanted("sets") {
        let mut figure = figure("sets", "Time against the number of sets", "sets");
        for count in [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000] {
            if count <= args.sets {
                figure.point(count as f64, "half full", Sets { count, ..usual }, args)?;
                figure.point(count as f64, "0.7 % set", Sets { count, ..sparse }, args)?;
            }
        }
        figures.push(figure.0);
    }
    if wanted("bits") {
        let mut figure = figure("bits", "Time against the bits of a filter", "bits");
        for bits in [1_024, 3_072, 9_600, 30_016, 100_032] {
            figure.point(bits as f64, "half full", Sets { bits, ..usual }, args)?;
            figure.point(bits as f64, "0.7 % set", Sets { bits, ..sparse }, args)?;
        }
        figures.push(figure.0);
    }
    if wanted("hashes") {
        let mut figure = figure("hashes", "Time against the number of hashes", "hashes");
        for hashes in [2, 4, 7, 10, 14, 20] {
            let x = f64::from(hashes);
            figure.point(x, "half full", Sets { hashes, ..usual }, args)?;
            figure.point(x, "0.7 % set", Sets { hashes, ..sparse }, args)?;
        }
        figures.push(figure.0);
    }
    if wanted("density") {
        let mut figure = figure("density", "Time against the share of bits set", "% set");
        for percent in [0.1, 0.3, 0.7, 1.0, 2.0, 4.0, 7.0, 15.0, 30.0, 50.0] {
            let density = percent / 100.0;
            figure.point(percent, "10,000 sets", Sets { density, ..usual }, args)?;
        }
        figures.push(figure.0);
    }
    if wanted("skew") {
        let (figure, table) = skew(args)?;
        figures.push(figure);
        table.save(&args.output)?;
    }
    for figure in &figures {
        figure.save(&args.output)?;
    }
    Ok(())
}

/// A figure with two curves for each kind of sets: one key at a time, and many.
struct Curves(Figure);

fn figure(id: &'static str, title: &'static str, x: &'static str) -> Curves {
    let log = |name| Axis { name, log: true };
    Curves(Figure {
        id,
        title,
        x: log(x),
        y: log("ns per key"),
        series: Vec::new(),
    })
}

impl Curves {
    fn point(&mut self, x: f64, name: &str, sets: Sets, args: &Args) -> Result<(), Box<dyn Error>> {
        let (index, items) = sets.index()?;
        let shape = index.segments()[0].shape;
        let times = race(&index, sets.count, |set| set * items, items, args.rounds);
        eprintln!(
            "{} {x}: {name}, {shape}, {:.0} ns one, {:.0} ns many, {:.2} false sets",
            self.0.id, times.one, times.many, times.false_sets
        );
        self.add(x, name, &times);
        Ok(())
    }

    fn add(&mut self, x: f64, name: &str, times: &Times) {
        for (keys, stroke, time) in [
            ("one key", Stroke::Solid, times.one),
            ("many keys", Stroke::Dashed, times.many),
        ] {
            let color = self.0.series.len() / 2;
            self.0
                .draw(&format!("{name}, {keys}"), color, stroke, x, time);
        }
    }
}

impl Sets {
    /// Returns an index of these sets, and how many items each has.
    fn index(self) -> Result<(Index, u64), bloomgrove::Error> {
        let params = Params::builder(self.bits, self.hashes).build()?;
        // (1 - 1/m)^(k n) of the bits remain clear.
        let items = -(self.bits as f64) / f64::from(self.hashes) * (1.0 - self.density).ln();
        let items = (items.round() as u64).max(1);
        let mut index = Index::new(params.clone());
        for set in 0..self.count {
            let keys: Vec<u64> = (set * items..(set + 1) * items).collect();
            let mut filter = Filter::new(params.clone())?;
            filter.insert_batch(&keys);
            index.add(set.to_string(), &filter)?;
        }
        Ok((index, items))
    }
}

/// Measures one key at a time and many. Set s has the `items` keys from `start(s)` on.
fn race(index: &Index, sets: u64, start: impl Fn(u64) -> u64, items: u64, rounds: usize) -> Times {
    let mut counter = 0;
    let mut keys = |count: u64| -> Vec<u64> {
        let key = |i: u64| {
            counter += 1;
            match i % 2 {
                0 => start(scatter(counter) % sets) + scatter(!counter) % items,
                _ => ABSENT + counter,
            }
        };
        (0..count).map(key).collect()
    };
    let mut times = Times {
        one: f64::INFINITY,
        many: f64::INFINITY,
        false_sets: 0.0,
    };
    let (mut count, mut queried, mut found) = (64, 0, 0);
    for _ in 0..=rounds {
        let turn = keys(count);
        let clock = Instant::now();
        let sum: usize = turn
            .iter()
            .map(|key| black_box(index.which(key)).len())
            .sum();
        times.one = times
            .one
            .min(clock.elapsed().as_nanos() as f64 / count as f64);
        assert!(sum >= turn.len() / 2, "a set was lost");
        (queried, found) = (queried + count, found + sum as u64);
        let turn = keys(count);
        let clock = Instant::now();
        let answers = index.which_many(&turn);
        let sum: usize = answers.iter().map(|sets| sets.len()).sum();
        times.many = times
            .many
            .min(clock.elapsed().as_nanos() as f64 / count as f64);
        assert!(sum >= turn.len() / 2, "a set was lost");
        count = ((TURN / times.one) as u64).clamp(64, 1 << 16);
    }
    times.false_sets = found as f64 / queried as f64 - 0.5;
    times
}

/// Sets whose sizes follow Zipf's law, each with a filter of its size; the same number of items in
/// sets of equal size; and filters of equal size for the sets that differ.
fn skew(args: &Args) -> Result<(Figure, Table), Box<dyn Error>> {
    const SETS: u64 = 10_000;
    const TOTAL: f64 = 9_800_000.0;
    let mut curves = figure("skew", "Time against the skew of the sizes", "exponent + 1");
    let head = [
        "exponent",
        "items of a set",
        "filters",
        "classes",
        "MB",
        "one key, us",
        "many, us",
        "false sets per key",
    ];
    let mut table = Table {
        id: "skew-sizes",
        title: "Sets whose sizes are skewed",
        head: head.map(str::to_owned).to_vec(),
        rows: Vec::new(),
    };
    for exponent in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let weights: Vec<f64> = (1..=SETS).map(|i| (i as f64).powf(-exponent)).collect();
        let sum: f64 = weights.iter().sum();
        let sizes: Vec<u64> = weights
            .iter()
            .map(|w| ((w / sum * TOTAL) as u64).max(1))
            .collect();
        let mut starts = vec![0];
        for size in &sizes {
            starts.push(starts[starts.len() - 1] + size);
        }
        let least = sizes[sizes.len() - 1];
        let mut own = Index::mixed();
        let mut bytes = 0;
        for (set, &size) in sizes.iter().enumerate() {
            let mut keys = Collector::new(0.01)?.in_steps();
            for key in starts[set]..starts[set] + size {
                keys.insert(&key)?;
            }
            let filter = keys.finish()?;
            bytes += filter.params().bits() / 8;
            own.add(set.to_string(), &filter)?;
        }
        let params = Params::builder(bytes * 8 / SETS, 7).build()?;
        let mut equal = Index::new(params.clone());
        for (set, &size) in sizes.iter().enumerate() {
            let keys: Vec<u64> = (starts[set]..starts[set] + size).collect();
            let mut filter = Filter::new(params.clone())?;
            filter.insert_batch(&keys);
            equal.add(set.to_string(), &filter)?;
        }
        for (name, index) in [("each its size", &own), ("all the same", &equal)] {
            let start = |set: u64| starts[set as usize];
            let times = race(index, SETS, start, least, args.rounds);
            eprintln!(
                "skew {exponent}: {name}, {:.0} ns one, {:.0} ns many",
                times.one, times.many
            );
            curves.add(exponent + 1.0, name, &times);
            table.rows.push(vec![
                exponent.to_string(),
                format!("{} to {}", least, sizes[0]),
                name.to_owned(),
                index.params().count().to_string(),
                format!("{:.1}", index.bytes() as f64 / 1e6),
                format!("{:.2}", times.one / 1e3),
                format!("{:.2}", times.many / 1e3),
                format!("{:.1}", times.false_sets),
            ]);
        }
    }
    Ok((curves.0, table))
}
