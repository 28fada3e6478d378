//! A process killed at random moments while it builds a buffered filter and syncs now and then:
//! no key of a sync that it reported is ever missing.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::scatter;
use bloomgrove::buffered::{BufferOptions, Builder, Filter, Geometry, Phase};

const KILLS: u64 = 200;
/// So many keys are inserted between two syncs.
const STEP: u64 = 4000;
/// Names the file to the child.
const CHILD: &str = "BLOOMGROVE_BUILD_UNTIL_KILLED";

fn options() -> BufferOptions {
    BufferOptions {
        memory: 1 << 20,
        ..BufferOptions::default()
    }
}

/// What the child does: add keys, sync, say how many are sure, and so on until it is killed.
#[test]
fn build_until_killed() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let mut builder = Builder::open(Path::new(&path), &options()).unwrap();
    let mut out = std::io::stdout();
    loop {
        let from = builder.keys();
        let keys: Vec<u64> = (from..from + STEP).map(scatter).collect();
        builder.insert_batch(&keys).unwrap();
        builder.sync().unwrap();
        writeln!(out, "\nsure {}", builder.synced_keys()).unwrap();
    }
}

#[test]
fn every_key_of_a_reported_sync_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter.grove");
    let geometry = Geometry::builder(4 << 20, 4)
        .page_bytes(1 << 16)
        .build()
        .unwrap();
    let mut random = 1u64;
    let (mut interrupted, mut most) = (0, 0);
    for kill in 0..KILLS {
        // Now and then from the start: pages that were never written are another case.
        if kill % 10 == 0 {
            drop(Builder::create(&path, &geometry, &options()).unwrap());
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "buffered_crash::build_until_killed",
                "--nocapture",
            ])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Not before it has synced once, and then at any moment.
        let sure = |line: String| {
            line.strip_prefix("sure ")
                .and_then(|n| n.parse::<u64>().ok())
        };
        let mut last = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(sure)
            .expect("it syncs before it is killed");
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        std::thread::sleep(Duration::from_micros((random >> 40) % 30_000));
        child.kill().unwrap();
        child.wait().unwrap();
        if let Some(later) = lines.map_while(Result::ok).filter_map(sure).last() {
            last = later;
        }
        let filter = Filter::open(&path).unwrap();
        let state = filter.state().unwrap();
        assert!(state.keys >= last, "{} of {last} keys", state.keys);
        assert_ne!(state.phase, Phase::Finished);
        interrupted += u64::from(state.phase == Phase::Interrupted);
        most = most.max(state.keys);
        let mut missing = 0;
        let mut prober = filter
            .prober(&options(), |_, yes| missing += u64::from(!yes))
            .unwrap();
        for key in 0..state.keys {
            prober.submit(&scatter(key), key).unwrap();
        }
        prober.finish().unwrap();
        assert_eq!(missing, 0, "after kill {kill}");
        if kill % 20 == 19 {
            bloomgrove::verify(&path).unwrap();
        }
    }
    assert!(interrupted > KILLS / 10, "{interrupted} in the midst of it");
    // Whatever happened, it can be finished.
    let mut builder = Builder::open(&path, &options()).unwrap();
    builder.insert("last").unwrap();
    builder.finish().unwrap();
    bloomgrove::verify(&path).unwrap();
    assert!(Filter::open(&path).unwrap().contains("last").unwrap());
}
