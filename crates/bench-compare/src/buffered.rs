//! A filter on disk with little memory against filters in memory, single random reads and a
//! memory map.
//!
//! As in the paper's Table 2, 50 million keys are inserted and 50 million queried, half of them
//! present; the buffered filter has 256 MB on disk, the plain one 128 MB of memory and three
//! hashes. Each contender takes its turn in every round; the best round of each counts. Answers are
//! checked. Resident memory is the peak during build and probe, minus that of the process before.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use bloomgrove::buffered::{self, BufferOptions, Builder, Geometry, Strategy};
use bloomgrove::{Error, Filter, Layout, MappedFilter, Params};
use experiments::memory::{begin_anew, forget, resident};
use serde_json::{Value, json};

/// Keys generated at a time: enough for batches, and small compared with any budget.
const CHUNK: u64 = 4096;
/// How long the contenders that query one key at a time may take, in seconds.
const PATIENCE: f64 = 2.0;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of keys to insert, and of keys to query
    #[arg(long, default_value_t = 50_000_000)]
    keys: u64,
    /// The size of the buffered filter on disk, in megabytes
    #[arg(long, default_value_t = 256)]
    size: u64,
    /// The size of the plain filter in memory, in megabytes
    #[arg(long, default_value_t = 128)]
    plain: u64,
    /// The memory for buffers, in megabytes; may be given several times, for several contenders
    #[arg(long, default_values_t = [32, 64])]
    memory: Vec<u64>,
    /// The size of a page, in kilobytes; may be given several times, for several contenders
    #[arg(long, default_values_t = [512])]
    page: Vec<u64>,
    /// The bytes of memory per waiting key
    #[arg(long, default_value_t = 4)]
    entry: u32,
    /// The number of bits per key in the buffered filter
    #[arg(long, default_value_t = 8)]
    hashes: u32,
    /// The number of threads that work on pages
    #[arg(long, default_value_t = 3)]
    workers: usize,
    /// Also flush as in the paper, and in sweeps
    #[arg(long)]
    strategies: bool,
    /// Use ordinary I/O instead of direct I/O
    #[arg(long)]
    cached: bool,
    /// The directory for the filter's file
    #[arg(long, default_value = ".")]
    directory: std::path::PathBuf,
    /// Time the request queue instead, with each of these limits on how long a probe may wait, in
    /// milliseconds
    #[arg(long)]
    t_max: Vec<u64>,
    /// The number of rounds; the best counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

struct Row {
    name: String,
    build: f64,
    probe: f64,
    fpr: f64,
    /// Megabytes.
    resident: f64,
}

impl Row {
    fn new(name: String) -> Self {
        Self {
            name,
            build: f64::INFINITY,
            probe: f64::INFINITY,
            fpr: 0.0,
            resident: 0.0,
        }
    }

    /// The best round by the sum of both.
    fn take(&mut self, build: f64, probe: f64) {
        if build + probe < self.total() {
            (self.build, self.probe) = (build, probe);
        }
    }

    /// Of the first round: later, memory that other contenders freed may still be resident.
    fn note_resident(&mut self) {
        if self.resident == 0.0 {
            self.resident = resident().unwrap_or_default();
        }
    }

    fn total(&self) -> f64 {
        self.build + self.probe
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let path = args.directory.join("bench-buffered.grove");
    if !args.t_max.is_empty() {
        return waiting(args, &path);
    }
    let plain_path = args.directory.join("bench-plain.grove");
    let mut rows = vec![
        Row::new(format!(
            "plain, {} MB, k = 3, one key at a time",
            args.plain
        )),
        Row::new(format!("plain, {} MB, k = 3, batches", args.plain)),
    ];
    let mut contenders = Vec::new();
    let strategies: &[Strategy] = match args.strategies {
        true => &[Strategy::Longest, Strategy::Equal, Strategy::Sweep],
        false => &[Strategy::Longest],
    };
    for &memory in &args.memory {
        for &page in &args.page {
            for &strategy in strategies {
                let options = BufferOptions {
                    memory: memory << 20,
                    workers: args.workers,
                    strategy,
                    direct: !args.cached,
                    ..BufferOptions::default()
                };
                let geometry = Geometry::builder(args.size << 20, args.hashes)
                    .page_bytes(page << 10)
                    .entry_bytes(args.entry)
                    .build()?;
                let name = format!(
                    "buffered, {memory} MB, pages of {page} KB, {}",
                    format!("{strategy:?}").to_lowercase()
                );
                rows.push(Row::new(name));
                contenders.push((geometry, options));
            }
        }
    }
    let [mut single, mut mapped] = [Row::new(String::new()), Row::new(String::new())];
    single.name = "the same file, single random reads".into();
    mapped.name = format!("plain, {} MB in a cold memory map", args.size);
    for round in 0..args.rounds {
        for (i, (geometry, options)) in contenders.iter().enumerate() {
            buffered(args, &path, geometry, options, &mut rows[2 + i])?;
        }
        if round == 0 {
            one_by_one(args, &path, &mut single)?;
            map(args, &plain_path, &mut mapped)?;
        }
        for (batches, row) in rows[..2].iter_mut().enumerate() {
            plain(args, batches == 1, row)?;
        }
    }
    rows.extend([single, mapped]);
    for path in [path, plain_path] {
        let _ = std::fs::remove_file(path);
    }
    report(args, &rows);
    Ok(())
}

/// The paper's Figure 3: how long probes wait, by `t_max`. Probes are sent as fast as the queue
/// accepts them.
fn waiting(args: &Args, path: &Path) -> Result<(), Error> {
    let (memory, page) = (args.memory[0], args.page[0]);
    let geometry = Geometry::builder(args.size << 20, args.hashes)
        .page_bytes(page << 10)
        .entry_bytes(args.entry)
        .build()?;
    let mut options = BufferOptions {
        memory: memory << 20,
        workers: args.workers,
        direct: !args.cached,
        ..BufferOptions::default()
    };
    let mut builder = Builder::create(path, &geometry, &options)?;
    chunks(0, args.keys, |keys| builder.insert_batch(keys))?;
    builder.finish()?;
    println!(
        "\n### Waiting for answers, by t_max ({}; {memory} MB of buffers, pages of {page} KB)\n",
        crate::machine()
    );
    println!(
        "| t_max ms | queue ms: mean, p99 | block ms: mean, p99, max | total ms: mean, p99 | page ms: mean, slowest | late blocks, all blocks | million probes / s |"
    );
    println!("|---|---|---|---|---|---|---|");
    for t_max in args.t_max.iter().map(Some).chain([None]) {
        options.t_max = t_max.map(|&millis| Duration::from_millis(millis));
        let filter = buffered::Filter::open_with(path, options.direct)?;
        let mut queue = filter.probe_queue(&options, &buffered::QueueOptions::default())?;
        let start = Instant::now();
        let (mut asked, mut answered) = (0u64, 0);
        while start.elapsed().as_secs_f64() < PATIENCE {
            let keys: Vec<u64> = (asked..asked + CHUNK).map(crate::rivals::scatter).collect();
            queue.submit_batch(&keys, asked)?;
            asked += CHUNK;
            answered += queue.receive(Duration::ZERO)?.len();
        }
        // Probes that still wait would make a long `t_max` look slow.
        let rate = answered as f64 / start.elapsed().as_secs_f64() / 1e6;
        queue.close()?;
        let (times, figures) = (queue.latencies(), queue.figures());
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!(
            "| {} | {:.1}, {:.1} | {:.1}, {:.1}, {:.1} | {:.1}, {:.1} | {:.2}, {:.2} | {}, {} | {rate:.2} |",
            t_max.map_or("none".into(), u64::to_string),
            ms(times.queue.mean),
            ms(times.queue.p99),
            ms(times.block.mean),
            ms(times.block.p99),
            ms(times.block.max),
            ms(times.total.mean),
            ms(times.total.p99),
            figures.flush_seconds * 1e3,
            figures.slowest_seconds * 1e3,
            figures.late,
            figures.flushes,
        );
    }
    let _ = std::fs::remove_file(path);
    Ok(())
}

fn report(args: &Args, rows: &[Row]) {
    let plain = rows[0].total();
    if args.json {
        let row = |row: &Row| -> Value {
            json!({ "name": row.name, "build_seconds": row.build, "probe_seconds": row.probe,
                    "over_plain": row.total() / plain, "fpr": row.fpr,
                    "resident_megabytes": row.resident })
        };
        let rows: Vec<Value> = rows.iter().map(row).collect();
        println!(
            "{:#}",
            json!({ "machine": crate::machine(), "keys": args.keys, "rows": rows })
        );
        return;
    }
    println!(
        "\n### {} keys inserted, {} queried ({}; best of {} interleaved rounds)\n",
        args.keys,
        args.keys,
        crate::machine(),
        args.rounds
    );
    println!("| filter | build s | probe s | total / plain | FPR % | resident MB |");
    println!("|---|---|---|---|---|---|");
    for row in rows {
        println!(
            "| {} | {:.2} | {:.2} | {:.2} | {:.4} | {:.0} |",
            row.name,
            row.build,
            row.probe,
            row.total() / plain,
            row.fpr * 100.0,
            row.resident
        );
    }
}

/// Calls `each` with all keys from `from` on, in chunks.
fn chunks(
    from: u64,
    count: u64,
    mut each: impl FnMut(&[u64]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut keys = Vec::with_capacity(CHUNK as usize);
    for start in (from..from + count).step_by(CHUNK as usize) {
        keys.clear();
        keys.extend(start..(start + CHUNK).min(from + count));
        each(black_box(&keys))?;
    }
    Ok(())
}

/// Half of the queried keys are present.
fn fpr(args: &Args, yes: u64) -> f64 {
    let present = args.keys - args.keys / 2;
    assert!(yes >= present, "a key was lost");
    (yes - present) as f64 / (args.keys / 2) as f64
}

fn buffered(
    args: &Args,
    path: &Path,
    geometry: &Geometry,
    options: &BufferOptions,
    row: &mut Row,
) -> Result<(), Error> {
    begin_anew();
    let start = Instant::now();
    let mut builder = Builder::create(path, geometry, options)?;
    chunks(0, args.keys, |keys| builder.insert_batch(keys))?;
    builder.finish()?;
    let build = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let filter = buffered::Filter::open_with(path, options.direct)?;
    let (mut yes, mut lost) = (0u64, 0u64);
    let mut prober = filter.prober(options, |key, found| {
        yes += u64::from(found);
        lost += u64::from(!found && key < args.keys);
    })?;
    chunks(args.keys / 2, args.keys, |keys| {
        prober.submit_batch(keys, keys[0])
    })?;
    prober.finish()?;
    let probe = start.elapsed().as_secs_f64();
    assert_eq!(lost, 0, "keys were lost");
    row.fpr = fpr(args, yes);
    row.note_resident();
    row.take(build, probe);
    Ok(())
}

fn plain(args: &Args, batches: bool, row: &mut Row) -> Result<(), Error> {
    begin_anew();
    let params = Params::builder(args.plain << 23, 3).build()?;
    let start = Instant::now();
    let mut filter = Filter::new(params)?;
    chunks(0, args.keys, |keys| {
        match batches {
            true => filter.insert_batch(keys),
            false => keys.iter().for_each(|key| _ = filter.insert(key)),
        }
        Ok(())
    })?;
    let build = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut yes = 0;
    let mut found = [false; CHUNK as usize];
    chunks(args.keys / 2, args.keys, |keys| {
        let found = &mut found[..keys.len()];
        match batches {
            true => filter.contains_batch(keys, found),
            false => {
                for (key, found) in keys.iter().zip(&mut *found) {
                    *found = filter.contains(key);
                }
            }
        }
        yes += found.iter().filter(|&&yes| yes).count() as u64;
        Ok(())
    })?;
    let probe = start.elapsed().as_secs_f64();
    row.fpr = fpr(args, yes);
    row.note_resident();
    row.take(build, probe);
    Ok(())
}

/// Queries one key at a time until the time limit, and extrapolates to all keys. Nothing is built
/// this way, so the build time is zero.
fn one_by_one(args: &Args, path: &Path, row: &mut Row) -> Result<(), Error> {
    let filter = buffered::Filter::open_with(path, true)?;
    let start = Instant::now();
    let mut done = 0u64;
    while done < args.keys && start.elapsed().as_secs_f64() < PATIENCE {
        let key = args.keys / 2 + crate::rivals::scatter(done) % args.keys;
        let found = filter.contains(&key)?;
        assert!(found || key >= args.keys, "a key was lost");
        done += 1;
    }
    let each = start.elapsed().as_secs_f64() / done as f64;
    row.take(0.0, each * args.keys as f64);
    Ok(())
}

/// The same for a plain filter in a cold memory map.
fn map(args: &Args, path: &Path, row: &mut Row) -> Result<(), Error> {
    let params = Params::builder(args.size << 23, 8)
        .layout(Layout::Blocked)
        .build()?;
    Filter::new(params)?.save(path)?;
    if !forget(path) {
        eprintln!("the memory map is not cold: its file is still in memory");
    }
    begin_anew();
    let filter = MappedFilter::map(path)?;
    let start = Instant::now();
    let mut done = 0u64;
    while done < args.keys && start.elapsed().as_secs_f64() < PATIENCE {
        for _ in 0..64 {
            black_box(filter.contains(&done));
            done += 1;
        }
    }
    let each = start.elapsed().as_secs_f64() / done as f64;
    row.take(0.0, each * args.keys as f64);
    row.note_resident();
    Ok(())
}
