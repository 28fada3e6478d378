//! Bloomgrove against other crates and its own baselines: ratios, measured interleaved in one
//! run.
//!
//! * `filters`: `{1e6, 1e8} u64, 1e6 text` x `insert, hit, miss` x every contender of
//!   [`rivals`]. All are built for a false-positive rate of 1 %.
//! * `batches`: inserting into filters of `64, 128, 512` MB, in large and in small batches ([`batches`]).
//! * `index`: `1e3, 1e4, 1e5` sets x densities `0.7, 7, 30, 50 %` x `present, absent` keys,
//!   one at a time and in batches x every layout ([`index`]).
//! * `growth`: how the time of a query grows with the number of sets, bits, hashes, density and skew ([`growth`]).
//! * `limits`: the time of a cache line and of an echo on this machine ([`limits`]).
//! * `sample`: `1e6, 1e7` names, `100, 1000, 10,000` items x every method of drawing members and
//!   of listing them ([`sample`]).
//! * `buffered`: a filter on disk with `32, 64` MB of memory against filters in memory, single
//!   random reads and a memory map ([`buffered`]).
//! * `tree`: BloomTrees against a standard filter, with one thread and several, compressed and
//!   expanded ([`tree`]).
//! * `disk`: pages of `4, 512, 2048` KB read and changed by threads and by a ring of requests
//!   ([`disk`]).
//! * `server`: a server with `1e3, 1e4, 1e5` sets, queried over HTTP while deltas arrive ([`server`]).
//! * `load`: a server under an open-loop load, with one hostile client ([`load`]).
//! * `needles`: the tool's `which` and `grep` over logs, source code and prose, against ripgrep, ugrep and
//!   codesearch ([`needles`]).
//! * `lake`: the files of a table that `lake which` names, read by DuckDB, against DuckDB, DataFusion and
//!   Polars on all files ([`lake`]).
//! * `python`: the Python package against rbloom and fastbloom-rs, and its `which_many` against Rust's ([`python`]).
//! * `codec`: bits of 13 densities, filters and deltas, compressed, compared with zstd and gzip ([`codec`]).

mod batches;
mod buffered;
mod codec;
mod disk;
mod growth;
mod index;
mod lake;
mod limits;
mod load;
mod needles;
mod python;
mod race;
mod rivals;
mod sample;
mod server;
mod tree;

use std::error::Error;

use clap::Parser;
use serde_json::json;

use race::{MEASURES, Row, Setup};

/// Compare Bloomgrove with other crates and its own baselines, interleaved in one run.
#[derive(Parser)]
enum Args {
    /// Single filters against other crates
    Filters(Filters),
    /// Batches large enough to be sorted first against small ones
    Batches(batches::Args),
    /// Layouts of an index against each other, the tree, and a scan
    Index(index::Args),
    /// How the time of a query grows, as tables and plots
    Growth(growth::Args),
    /// What this machine can do at best: cache lines, an echo
    Limits(limits::Args),
    /// Methods of drawing the members of a filter and of listing them
    Sample(sample::Args),
    /// A filter on disk against filters in memory
    Buffered(buffered::Args),
    /// BloomTrees: speed, threads, compression
    Tree(tree::Args),
    /// Threads that wait for the disk against a ring of requests
    Disk(disk::Args),
    /// Compressed bits, filters and deltas: size against entropy, and speed
    Codec(codec::Args),
    /// A server under load: keys per second, latencies, processor time
    Server(server::Args),
    /// A server under an open-loop load, with one hostile client
    Load(load::Args),
    /// The tool's `which` and `grep` against ripgrep, ugrep and codesearch
    Needles(needles::Args),
    /// `lake which` and DuckDB on the files that it names, against engines on all files
    Lake(lake::Args),
    /// The Python package against others, and against Rust
    Python(python::Args),
    /// The server under load
    #[command(hide = true)]
    ServeForLoad(server::ServeArgs),
}

#[derive(clap::Args)]
struct Filters {
    /// Which races to run
    #[arg(value_enum, default_values_t = [Race::Small, Race::Text, Race::Large])]
    races: Vec<Race>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// The number of rounds; the best counts
    #[arg(long, default_value_t = 41)]
    rounds: usize,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Race {
    /// 1e6 u64 keys: filters of about 1.2 MB, in cache.
    Small,
    /// 1e6 keys of 36 bytes.
    Text,
    /// 1e8 u64 keys: filters of about 120 MB, out of cache.
    Large,
}

fn main() -> Result<(), Box<dyn Error>> {
    match Args::parse() {
        Args::Filters(args) => {
            filters(&args);
        }
        Args::Batches(args) => batches::run(&args)?,
        Args::Index(args) => index::run(&args)?,
        Args::Growth(args) => growth::run(&args)?,
        Args::Limits(args) => limits::run(&args)?,
        Args::Sample(args) => sample::run(&args)?,
        Args::Buffered(args) => buffered::run(&args)?,
        Args::Tree(args) => tree::run(&args)?,
        Args::Disk(args) => disk::run(&args)?,
        Args::Codec(args) => codec::run(&args)?,
        Args::Server(args) => server::run(&args)?,
        Args::Load(args) => load::run(&args)?,
        Args::Needles(args) => needles::run(&args)?,
        Args::Lake(args) => lake::run(&args)?,
        Args::Python(args) => python::run(&args)?,
        Args::ServeForLoad(args) => server::serve(&args)?,
    }
    Ok(())
}

fn filters(args: &Filters) {
    let mut report = Vec::new();
    for race in &args.races {
        let setup = Setup {
            items: if *race == Race::Large {
                100_000_000
            } else {
                1_000_000
            },
            queries: 1 << 16,
            rounds: args.rounds,
            fpr_queries: 10_000_000,
        };
        let (keys, rows) = match race {
            Race::Text => ("36-byte text", race::run::<rivals::Text>(&setup)),
            _ => ("u64", race::run::<u64>(&setup)),
        };
        if args.json {
            report.push(
                json!({ "items": setup.items, "keys": keys, "rounds": setup.rounds,
                                "rows": rows.iter().map(row_json).collect::<Vec<_>>() }),
            );
        } else {
            print(&setup, keys, &rows);
        }
    }
    if args.json {
        let report = json!({ "machine": machine(), "races": report });
        println!(
            "{}",
            serde_json::to_string_pretty(&report).expect("plain JSON")
        );
    }
}

fn print(setup: &Setup, keys: &str, rows: &[Row]) {
    println!(
        "\n### {} {keys} keys ({}; best of {} interleaved rounds)\n",
        setup.items,
        machine(),
        setup.rounds
    );
    println!(
        "| filter | bits/key | FPR % | ns/key {0} | speedup over FB, {0} | over FB*, {0} |",
        MEASURES.join(" / ")
    );
    println!("|---|---|---|---|---|---|");
    for row in rows {
        let three =
            |values: [f64; 3], digits: usize| values.map(|v| format!("{v:.digits$}")).join(" / ");
        let bits = match row.bits_per_key {
            0.0 => "unknown".into(),
            bits => format!("{bits:.2}"),
        };
        println!(
            "| {} | {bits} | {:.3} | {} | {} | {} |",
            row.name,
            row.fpr * 100.0,
            three(row.nanos, 1),
            three(row.over_fb, 2),
            three(row.over_best_fb, 2),
        );
    }
}

fn row_json(row: &Row) -> serde_json::Value {
    let three = |values: [f64; 3]| {
        MEASURES
            .iter()
            .zip(values)
            .map(|(name, value)| (name.to_string(), json!(value)))
            .collect::<serde_json::Map<_, _>>()
    };
    json!({ "filter": row.name, "bits_per_key": row.bits_per_key, "fpr": row.fpr,
            "nanoseconds": three(row.nanos), "over_fb": three(row.over_fb),
            "over_best_fb": three(row.over_best_fb) })
}

/// The processor, as the kernel names it.
pub(crate) fn machine() -> String {
    std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|info| {
            let line = info.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split(':').nth(1)?.trim().to_owned())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.into())
}
