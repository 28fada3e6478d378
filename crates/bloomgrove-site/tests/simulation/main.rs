//! A federation in one process: a coordinator, sites and clients on machines that fail, with clocks that jump, on a network
//! that loses, repeats and delays requests; and a model that knows what must be found.
//!
//! ```text
//!            steps.rs: what happens, drawn from one seed
//!                 |
//!    +------------+-----------+------------------------+
//!    v                        v                        v
//!  clients --network.rs--> coordinator <--network.rs-- sites      their real code, called
//!    |                        |      `--- traces ------> |        in process
//!    |                     disk.rs                    disk.rs     files that lose unsynced writes
//!    v
//!  check.rs, truth.rs, sets.rs: is what claims to be complete complete? does it heal?
//! ```
//!
//! One thing happens at a time: a step, or something else while a request of it is in transit. So a seed always does the same.
//! A machine can be turned off at every request, before it arrives and before its response does, and at every write and sync
//! of its disk. The invariants:
//!
//! * A trace that claims to be complete contains everything that was recorded before the last successful round of each site,
//!   and everything older than four periods.
//! * After a round without interference, the index contains everything that the site has recorded; with windows, it does or
//!   did.
//! * What was acknowledged to a client as being in a set is in it, until it is deleted or replaced.
//! * When nothing fails any more, all of this is true again within a few periods, and traces are complete.
//!
//! A failing seed is printed with everything that happened. To run one again, or many:
//!
//! ```text
//! BLOOMGROVE_SEEDS=1234       cargo test -p bloomgrove-site --test simulation
//! BLOOMGROVE_SEEDS=0..10000   cargo test -p bloomgrove-site --test simulation
//! ```

#![cfg(unix)]

mod check;
mod disk;
mod network;
mod sets;
mod steps;
mod truth;
mod world;

use std::ops::Range;
use std::path::Path;

use bloomgrove_http::private;

use world::World;

/// Seconds between two rounds of a site.
const PERIOD: u64 = 10;
/// The second at which it starts.
const BEGIN: u64 = 1_800_000_000;
/// The default seeds: 265 is the first that deletes a set while a trace is looking for it.
const SEEDS: Range<u64> = 0..300;
/// The seeds to run; a single one is shown in full.
const VARIABLE: &str = "BLOOMGROVE_SEEDS";
/// Seeds per process.
const ALONE: u64 = 150;

/// Runs a seed; returns what happened, and what was wrong.
fn run(
    seed: u64,
    runtime: &tokio::runtime::Runtime,
    directory: &Path,
) -> (Vec<String>, Option<String>) {
    let directory = directory.join(seed.to_string());
    let world = runtime.block_on(async {
        let world = World::new(seed, &directory);
        world.run().await;
        world
    });
    let (history, wrong) = {
        let mut inner = world.inner();
        (std::mem::take(&mut inner.history), inner.wrong.take())
    };
    let machines = world.inner().machines.len();
    (0..machines).for_each(|number| world.kill(number));
    // It is of no use any more.
    let _ = std::fs::remove_dir_all(directory);
    (history, wrong)
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var(VARIABLE) else {
        return SEEDS;
    };
    let number = |text: &str| -> u64 { text.parse().expect("a seed is a number") };
    match text.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => number(&text)..number(&text) + 1,
    }
}

/// The same test in separate processes: there is one clock per process.
fn share(seeds: Range<u64>) {
    let processes = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let parts = (seeds.end - seeds.start).div_ceil(ALONE).max(processes);
    let part = (seeds.end - seeds.start).div_ceil(parts);
    let waiting = (0..parts).map(|number| {
        let from = seeds.start + number * part;
        from..(from + part).min(seeds.end)
    });
    let next = std::sync::Mutex::new(waiting);
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let Some(seeds) = next.lock().unwrap().next() else {
                    break;
                };
                let mut child = std::process::Command::new(std::env::current_exe().unwrap());
                child.args(["--exact", "whatever_happens_nothing_is_missed_in_silence"]);
                child.arg("--nocapture");
                child.env(VARIABLE, format!("{}..{}", seeds.start, seeds.end));
                assert!(child.status().unwrap().success(), "seeds {seeds:?}");
            }
        };
        let workers: Vec<_> = (0..processes).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn whatever_happens_nothing_is_missed_in_silence() {
    let seeds = seeds();
    if seeds.end - seeds.start > ALONE {
        return share(seeds);
    }
    private::open_databases_by(disk::open);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    // In memory, if possible: no real disk is needed.
    let memory = Path::new("/dev/shm");
    let directory = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    let directory = directory.unwrap();
    let is_one = seeds.end - seeds.start == 1;
    for seed in seeds {
        let (history, wrong) = run(seed, &runtime, directory.path());
        if is_one || wrong.is_some() {
            history.iter().for_each(|line| println!("{line}"));
        }
        if let Some(wrong) = wrong {
            panic!(
                "seed {seed}: {wrong}\nsee it again: {VARIABLE}={seed} cargo test -p bloomgrove-site --test simulation"
            );
        }
    }
}
