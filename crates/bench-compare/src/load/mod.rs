//! A server under an open-loop load, with one hostile client: how long the other clients wait, and
//! how much memory the server uses.
//!
//! ```text
//!   on a fixed schedule   per second: 500 single keys, 100 of /livez, 20 deltas, 5 uploads
//!   one hostile client    one attack, as fast as the server allows
//! ```
//!
//! A request is sent when it is due, on an idle connection or a new one, and its time is measured
//! from when it was due: a server that stalls for a second is charged for every request of
//! that second. A request that is rejected, answered incorrectly or not answered within a minute
//! counts as never answered.
//!
//! Each attack has a newly started server with the same sets. The server has all processors but the
//! last, which the load uses.

mod hostile;
mod http;
mod traffic;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bloomgrove::{Filter, codec};
use bloomgrove_client::api::MEDIA_MESSAGE;
use bloomgrove_http::config::Amount;
use clap::ValueEnum;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::runtime::{Builder, Runtime};

use self::hostile::Attack;
use self::http::Http;
use self::traffic::{Measured, NEVER, Rates};
use crate::server::child::{Process, pin};
use crate::server::load::Times;
use crate::server::sets::{ITEMS, filter, name};
use crate::server::wire::Result;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The attacks of the hostile client [default: all]
    #[arg(value_enum)]
    attacks: Vec<Attack>,
    /// The number of sets on the server
    #[arg(long, default_value_t = 100_000)]
    sets: usize,
    /// The length of each attack, in seconds
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
    /// The server's memory limit
    #[arg(long, default_value = "1GiB")]
    memory: Amount,
    /// Single keys queried per second
    #[arg(long, default_value_t = 500.0)]
    rate: f64,
    /// The directory for the server's data
    #[arg(long, default_value = ".")]
    directory: PathBuf,
}

/// A key that all sets contain.
const SHARED: &str = "everyone";
/// Sets are small, so that 100,000 of them take a tenth of the memory.
const BITS: u64 = 8192;
/// Sets that are sent at the same time share a commit.
const FILLERS: usize = 64;

/// The goals, in milliseconds and in shares of the limit.
const LIVE_P99: f64 = 50.0;
const KEY_P99: f64 = 10.0;
const MEMORY: f64 = 1.2;

/// The filter of a set with this many items, and the key that all sets contain.
fn small(set: usize, items: u64) -> Result<Filter> {
    let mut filter = filter(BITS, set, items)?;
    filter.insert(&SHARED);
    Ok(filter)
}

pub(crate) fn run(args: &Args) -> std::result::Result<(), Box<dyn Error>> {
    measure(args).map_err(|error| error.to_string().into())
}

fn measure(args: &Args) -> Result<()> {
    let cores = std::thread::available_parallelism()?.get();
    if cores < 2 {
        return Err("the server and the load need a processor each".into());
    }
    if !(args.rate > 0.0 && args.sets > 0) {
        return Err("the number of sets and the rate must be above 0".into());
    }
    // As many connections as requests that wait, here and in the server.
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files)?;
    pin(&[cores - 1])?;
    let directory = args
        .directory
        .join(format!("bench-load-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let done = in_directory(args, &directory, &(0..cores - 1).collect::<Vec<_>>());
    std::fs::remove_dir_all(&directory)?;
    done
}

fn in_directory(args: &Args, directory: &Path, cores: &[usize]) -> Result<()> {
    let memory = args.memory.bytes();
    let filled = directory.join("filled");
    let (server, _) = Process::start(&filled, Some(memory), cores)?;
    let runtime = runtime(0)?;
    runtime.block_on(fill(&Http::new(server.address), args.sets))?;
    server.stop()?;
    println!(
        "### A server with {} sets and {} MiB ({}, {} of its processors; {} s each)\n",
        args.sets,
        memory >> 20,
        crate::machine(),
        cores.len(),
        args.seconds,
    );
    println!(
        "| attack | /livez ms: p50, p99, p99.9, max | single keys ms: p50, p99, p99.9, max | deltas ms: p50, p99 \
         | uploads ms: p50, p99 | peak MiB | peak / limit | its answers | sent late ms: p99 \
         |\n|---|---|---|---|---|---|---|---|---|"
    );
    let attacks = match args.attacks.is_empty() {
        true => Attack::value_variants(),
        false => &args.attacks,
    };
    let (mut live, mut keys, mut share) = (0.0_f64, 0.0_f64, 0.0_f64);
    for &attack in attacks {
        let row = under(args, attack, directory, &filled, cores)?;
        live = live.max(row.measured.live.at(0.99));
        keys = keys.max(row.measured.keys.at(0.99));
        share = share.max(row.peak as f64 / memory as f64);
        println!("{}", row.text(attack, memory));
    }
    println!("\n| worst case | goal | measured |\n|---|---|---|");
    println!("| p99 of /livez | < {LIVE_P99} ms | {} ms |", time(live));
    println!(
        "| p99 of single keys | < {KEY_P99} ms | {} ms |",
        time(keys)
    );
    println!("| memory | < {MEMORY} of the limit | {share:.2} |");
    Ok(())
}

/// Sends all sets.
async fn fill(http: &Http, count: usize) -> Result<()> {
    let mut fillers = tokio::task::JoinSet::new();
    for filler in 0..FILLERS {
        let http = http.clone();
        fillers.spawn(async move {
            for set in (filler..count).step_by(FILLERS) {
                let mut message = Vec::new();
                codec::compress(&small(set, ITEMS)?, &mut message)?;
                let path = format!("/v1/sets/{}/filter", name(set));
                http.get_done("PUT", &path, MEDIA_MESSAGE, message).await?;
            }
            Ok(())
        });
    }
    fillers
        .join_all()
        .await
        .into_iter()
        .collect::<Result<()>>()?;
    hostile::prepare(http).await
}

/// One thread, of this priority (19 is the lowest).
fn runtime(priority: i32) -> Result<Runtime> {
    Ok(Builder::new_multi_thread()
        .worker_threads(1)
        .on_thread_start(move || {
            // If the system refuses, it shows in the times: requests are sent late.
            let _ = rustix::process::setpriority_process(None, priority);
        })
        .enable_all()
        .build()?)
}

/// The result of one attack.
struct Row {
    measured: Measured,
    statuses: hostile::Statuses,
    peak: u64,
}

/// A server with a copy of the sets, under the load and one attack.
fn under(
    args: &Args,
    attack: Attack,
    directory: &Path,
    filled: &Path,
    cores: &[usize],
) -> Result<Row> {
    let data = directory.join("data");
    std::fs::create_dir(&data)?;
    for entry in std::fs::read_dir(filled)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), data.join(entry.file_name()))?;
        }
    }
    let (server, _) = Process::start(&data, Some(args.memory.bytes()), cores)?;
    let time = Duration::from_secs_f64(args.seconds);
    // Separate threads, of which the measuring one has priority: the processor time that the
    // hostile client uses here must not count as latency of the server.
    let (ordinary, other) = (runtime(0)?, runtime(19)?);
    let enemy = Http::new(server.address);
    let attacking = other.spawn(async move {
        let until = tokio::time::Instant::now() + time;
        attack.run(&enemy, until).await
    });
    let rates = Rates {
        live: 100.0,
        keys: args.rate,
        deltas: 20.0,
        uploads: 5.0,
    };
    let http = Http::new(server.address);
    let measured = traffic::run(ordinary.handle(), &http, args.sets, &rates, time);
    let row = Row {
        measured,
        statuses: other.block_on(attacking)?,
        peak: server.peak()?,
    };
    server.stop()?;
    std::fs::remove_dir_all(&data)?;
    Ok(row)
}

impl Row {
    fn text(&self, attack: Attack, memory: u64) -> String {
        let shares = |times: &Times, shares: &[f64]| -> String {
            let texts: Vec<String> = shares
                .iter()
                .map(|&share| self::time(times.at(share)))
                .collect();
            texts.join(", ")
        };
        let statuses: Vec<String> = self
            .statuses
            .iter()
            .map(|(status, count)| match status {
                0 => format!("{count} x none"),
                _ => format!("{count} x {status}"),
            })
            .collect();
        let value = attack.to_possible_value();
        let measured = &self.measured;
        format!(
            "| {} | {} | {} | {} | {} | {} | {:.2} | {} | {} |",
            value.as_ref().map_or("", |value| value.get_name()),
            shares(&measured.live, &[0.5, 0.99, 0.999, 1.0]),
            shares(&measured.keys, &[0.5, 0.99, 0.999, 1.0]),
            shares(&measured.deltas, &[0.5, 0.99]),
            shares(&measured.uploads, &[0.5, 0.99]),
            self.peak >> 20,
            self.peak as f64 / memory as f64,
            statuses.join(", "),
            shares(&measured.sent, &[0.99]),
        )
    }
}

/// A time in milliseconds.
fn time(ms: f64) -> String {
    match ms {
        ms if ms >= NEVER.as_secs_f64() => "never".to_owned(),
        ms if ms >= 100.0 => format!("{ms:.0}"),
        ms => format!("{ms:.1}"),
    }
}
