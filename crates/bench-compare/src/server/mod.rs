//! A server under load: keys per second, query latency and processor time, without changes and
//! while deltas arrive, by number of sets.
//!
//! ```text
//!   processor 0   the server, a separate process
//!   processor 1   connections that query, and one that sends deltas
//! ```
//!
//! Everything goes over HTTP on loopback. Answers are checked: the first key of every query is
//! in a set, which must be listed. The dimensions are
//! `sets` x `1000, 100, 1 keys per query, 1 within a prefix` x `1, 4 connections` x
//! `no deltas, deltas`.

pub(crate) mod child;
pub(crate) mod load;
pub(crate) mod sets;
pub(crate) mod wire;

use std::error::Error;
use std::path::PathBuf;

pub(crate) use child::{Args as ServeArgs, serve};
use child::{Process, pin};
use load::{Counters, Deltas, Load, Measured, counters, fill};
use wire::Result;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of sets on the server; may be given several times, for several runs
    #[arg(long, default_values_t = [1_000, 10_000, 100_000])]
    sets: Vec<usize>,
    /// The length of each measurement, in seconds
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Deltas per second, in the measurements with deltas
    #[arg(long, default_value_t = 100.0)]
    deltas: f64,
    /// The directory for the server's data
    #[arg(long, default_value = ".")]
    directory: PathBuf,
    /// The processor of the server and that of the load
    #[arg(long, num_args = 2, default_values_t = [0, 1])]
    cores: Vec<usize>,
}

/// The number of different queries, which are repeated.
const QUESTIONS: usize = 2000;

/// A kind of query, and the number of connections.
struct Case {
    name: &'static str,
    keys: usize,
    scoped: bool,
    connections: usize,
}

const CASES: [Case; 6] = [
    case("1000 keys", 1000, 1),
    case("100 keys", 100, 1),
    case("100 keys", 100, 4),
    case("1 key", 1, 1),
    case("1 key", 1, 4),
    Case {
        name: "1 key, in a hundredth of the sets",
        keys: 1,
        scoped: true,
        connections: 4,
    },
];

const fn case(name: &'static str, keys: usize, connections: usize) -> Case {
    Case {
        name,
        keys,
        scoped: false,
        connections,
    }
}

pub(crate) fn run(args: &Args) -> std::result::Result<(), Box<dyn Error>> {
    measure(args).map_err(|error| error.to_string().into())
}

/// The rows for one number of sets.
struct Rows {
    filled: String,
    asked: Vec<String>,
    changed: Vec<String>,
}

fn measure(args: &Args) -> Result<()> {
    if std::thread::available_parallelism()?.get() < 2 {
        return Err("the server and the load need a processor each".into());
    }
    pin(&args.cores[1..])?;
    let mut all = Vec::new();
    for &sets in &args.sets {
        eprintln!("{sets} sets");
        all.push(one(args, sets)?);
    }
    println!(
        "### A server on one processor ({}; {} s each)\n",
        crate::machine(),
        args.seconds
    );
    println!(
        "| sets | filled in s | sets / s | CPU us per set | resident MB | on disk MB | stopped in s \
         | ready again in s: one processor | both |\n|---|---|---|---|---|---|---|---|---|"
    );
    all.iter().for_each(|rows| println!("{}", rows.filled));
    println!(
        "\n| sets | query | connections | deltas / s | keys / s | ms: p50, p99, p99.9 | CPU us \
         per key | CPU % |\n|---|---|---|---|---|---|---|---|"
    );
    all.iter()
        .flat_map(|rows| &rows.asked)
        .for_each(|row| println!("{row}"));
    println!(
        "\n| sets | concurrent queries | deltas / s | ms: p50, p99 | commits / s | CPU us per delta \
         |\n|---|---|---|---|---|---|"
    );
    all.iter()
        .flat_map(|rows| &rows.changed)
        .for_each(|row| println!("{row}"));
    Ok(())
}

fn one(args: &Args, sets: usize) -> Result<Rows> {
    let directory = args
        .directory
        .join(format!("bench-server-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let rows = in_directory(args, sets, &directory);
    std::fs::remove_dir_all(&directory)?;
    rows
}

fn in_directory(args: &Args, sets: usize, directory: &std::path::Path) -> Result<Rows> {
    let core = &args.cores[..1];
    let (server, _) = Process::start(directory, None, core)?;
    let before = counters(server.address)?;
    let filled = fill(server.address, sets)?;
    let after = counters(server.address)?;
    if after.sets != sets as f64 {
        return Err(format!("{} sets were sent, but the server has {}", sets, after.sets).into());
    }
    // All measurements use a server that has loaded its sets at startup.
    let stopped = server.stop()?;
    let (server, ready_with_both) = Process::start(directory, None, &args.cores)?;
    server.stop()?;
    let (server, ready) = Process::start(directory, None, core)?;
    let mut rows = Rows {
        filled: String::new(),
        asked: Vec::new(),
        changed: Vec::new(),
    };
    let mut source = Deltas::new(sets);
    for deltas in [0.0, args.deltas] {
        for case in &CASES {
            let questions = QUESTIONS.min(200_000 / case.keys);
            let questions = sets::questions(sets, questions, case.keys, case.scoped);
            let load = Load {
                address: server.address,
                questions: &questions,
                connections: case.connections,
                deltas,
                seconds: args.seconds,
            };
            let measured = load.run(&mut source)?;
            rows.asked.push(asked(sets, case, &measured));
            if deltas > 0.0 {
                rows.changed.push(changed(sets, case.name, &measured));
            }
            eprintln!("{}", rows.asked.last().map_or("", String::as_str));
        }
    }
    // Deltas alone, to measure their cost.
    let load = Load {
        address: server.address,
        questions: &[],
        connections: 0,
        deltas: args.deltas,
        seconds: args.seconds,
    };
    let measured = load.run(&mut source)?;
    rows.changed.push(changed(sets, "none", &measured));
    let running = counters(server.address)?;
    rows.filled = filled_row(
        sets,
        filled,
        &before,
        &after,
        &running,
        stopped,
        [ready, ready_with_both],
    );
    server.stop()?;
    Ok(rows)
}

fn filled_row(
    sets: usize,
    seconds: f64,
    before: &Counters,
    after: &Counters,
    running: &Counters,
    stopped: f64,
    [ready, ready_with_both]: [f64; 2],
) -> String {
    let of = sets as f64;
    format!(
        "| {sets} | {seconds:.2} | {:.0} | {:.0} | {:.0} | {:.0} | {stopped:.2} | {ready:.2} \
         | {ready_with_both:.2} |",
        of / seconds,
        (after.cpu - before.cpu) * 1e6 / of,
        running.resident / 1e6,
        running.store / 1e6,
    )
}

fn asked(sets: usize, case: &Case, measured: &Measured) -> String {
    let times = &measured.asked;
    format!(
        "| {sets} | {} | {} | {:.0} | {:.0} | {:.2}, {:.2}, {:.2} | {:.1} | {:.0} |",
        case.name,
        case.connections,
        measured.deltas.len() as f64 / measured.seconds,
        measured.keys as f64 / measured.seconds,
        times.at(0.5),
        times.at(0.99),
        times.at(0.999),
        measured.cpu * 1e6 / measured.keys as f64,
        measured.cpu / measured.seconds * 100.0,
    )
}

fn changed(sets: usize, during: &str, measured: &Measured) -> String {
    let times = &measured.deltas;
    let alone = match measured.keys {
        0 => format!("{:.0}", measured.cpu * 1e6 / times.len() as f64),
        // The processor time includes that of the queries.
        _ => String::new(),
    };
    format!(
        "| {sets} | {during} | {:.0} | {:.2}, {:.2} | {:.0} | {alone} |",
        times.len() as f64 / measured.seconds,
        times.at(0.5),
        times.at(0.99),
        measured.commits / measured.seconds,
    )
}
