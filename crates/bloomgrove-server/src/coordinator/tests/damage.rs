//! Damage on disk: a store or a snapshot returns correct answers, or is rejected.

use std::collections::BTreeMap;

use bloomgrove::Filter;
use bloomgrove_client::api::{Key, RegisterSite};

use super::*;

#[path = "../../../../bloomgrove-http/tests/support/damage.rs"]
mod bytes;

use bytes::damage;

/// What must be found.
struct Truth {
    sets: BTreeMap<String, Filter>,
    sites: usize,
}

impl Truth {
    fn is_right(&self, coordinator: &Coordinator, name: &str) -> bool {
        let told = coordinator.filter(name);
        told.is_ok_and(|(told, _)| self.sets.get(name) == Some(&told))
    }

    fn is_told_by(&self, coordinator: &Coordinator) -> bool {
        let is_told = |(name, _): (&String, &Filter)| self.is_right(coordinator, name);
        coordinator.len() == self.sets.len()
            && self.sets.iter().all(is_told)
            && coordinator.sites().sites.len() == self.sites
    }
}

/// A store of this many sets, each changed this often; some are replaced and deleted.
fn fill(coordinator: &Coordinator, sets: usize, deltas: usize) -> Truth {
    let mut truth = BTreeMap::new();
    let name = |set: usize| format!("set-{set:03}");
    for set in 0..sets {
        let held = format!("first-{set}");
        put(coordinator, &name(set), &[&held]);
        truth.insert(name(set), filter(&[&held]));
    }
    let insert = |set: usize, keys: Vec<Key>| {
        let done = wait(coordinator.insert(&name(set), keys, None));
        done.unwrap();
    };
    for delta in 0..deltas {
        for set in 0..sets {
            let keys: Vec<String> = (0..6).map(|key| format!("{set}-{delta}-{key}")).collect();
            insert(
                set,
                keys.iter().map(|key| Key::from(key.as_str())).collect(),
            );
            let held = truth.get_mut(&name(set)).unwrap();
            keys.iter().for_each(|key| _ = held.insert(key.as_str()));
        }
    }
    put(coordinator, &name(1), &["anew"]);
    truth.insert(name(1), filter(&["anew"]));
    wait(coordinator.delete(&name(2))).unwrap();
    truth.remove(&name(2));
    let sites = 3;
    for site in 0..sites {
        let about = RegisterSite {
            url: format!("http://127.0.0.1:{}", 7000 + site),
            key: None,
            period: 60,
            pending: 0,
            store: None,
            sets: Vec::new(),
            ..RegisterSite::default()
        };
        wait(coordinator.register(&format!("site-{site}"), about)).unwrap();
    }
    Truth { sets: truth, sites }
}

/// Copies files from one directory to another.
fn copy(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap().flatten() {
        if file.path().is_file() {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
}

/// The results of trials.
#[derive(Debug, Default)]
struct Counts {
    right: usize,
    refused: usize,
    wrong: usize,
    panicked: usize,
}

impl Counts {
    fn assert_good(&self) {
        println!("{self:?}");
        assert!(self.right > 0 && self.refused > 0, "{self:?}");
        assert!(self.wrong == 0 && self.panicked == 0, "{self:?}");
    }
}

/// Damages a file this many times, opens it, and compares.
fn trials(
    truth: &Truth,
    seeds: std::ops::Range<u64>,
    good: &[u8],
    open: impl Fn(&[u8]) -> anyhow::Result<Coordinator>,
) -> Counts {
    let mut counts = Counts::default();
    for seed in seeds {
        let mut bytes = good.to_vec();
        let what = damage(&mut bytes, seed);
        let open = std::panic::AssertUnwindSafe(|| open(&bytes));
        match std::panic::catch_unwind(open) {
            Ok(Ok(coordinator)) if truth.is_told_by(&coordinator) => counts.right += 1,
            Ok(Ok(_)) => {
                println!("wrong with seed {seed}: {what}");
                counts.wrong += 1;
            }
            Ok(Err(_)) => counts.refused += 1,
            Err(_) => {
                println!("panicked with seed {seed}: {what}");
                counts.panicked += 1;
            }
        }
    }
    counts
}

/// Number of trials, from the environment.
fn many(usual: u64) -> u64 {
    let said = std::env::var("BLOOMGROVE_TRIALS").ok();
    said.and_then(|said| said.parse().ok()).unwrap_or(usual)
}

/// A directory with a store without unused pages, and its snapshot.
fn compact(sets: usize, deltas: usize) -> (TempDir, Truth, Vec<u8>) {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let coordinator = open(&first);
    let truth = fill(&coordinator, sets, deltas);
    let snapshot = coordinator.snapshot().unwrap().file;
    let snapshot = coordinator.snapshots_directory().join(snapshot);
    Coordinator::open(second.path(), Some(&snapshot), Limits::default()).unwrap();
    (second, truth, std::fs::read(snapshot).unwrap())
}

/// Small ones, and some with trees of several levels: sets, deltas per set, trials.
const SIZES: [(usize, usize, u64); 2] = [(12, 4, 350), (150, 4, 150)];

/// Directories left by a process that was shut down, and by one that was killed.
fn clean_and_killed(sets: usize, deltas: usize) -> (TempDir, TempDir, Truth) {
    let (clean, mut truth, _) = compact(sets, deltas);
    let coordinator = open(&clean);
    let names: Vec<String> = truth.sets.keys().cloned().collect();
    for set in names.iter().step_by(3) {
        wait(coordinator.insert(set, keys(&["last"]), None)).unwrap();
        truth.sets.get_mut(set).unwrap().insert("last");
    }
    let killed = tempfile::tempdir().unwrap();
    copy(clean.path(), killed.path());
    drop(coordinator);
    (clean, killed, truth)
}

/// The same directory with another store.
fn with_store(directory: &TempDir, store: &[u8]) -> TempDir {
    let other = tempfile::tempdir().unwrap();
    copy(directory.path(), other.path());
    std::fs::write(other.path().join("store.redb"), store).unwrap();
    other
}

fn store(directory: &TempDir) -> Vec<u8> {
    std::fs::read(directory.path().join("store.redb")).unwrap()
}

#[test]
fn a_damaged_store_is_refused_or_answers_right() {
    for (sets, deltas, usual) in SIZES {
        let (clean, killed, truth) = clean_and_killed(sets, deltas);
        let (first, second) = (0..many(usual), 1 << 32..(1 << 32) + many(usual));
        for (from, seeds) in [(&clean, first), (&killed, second)] {
            let counts = trials(&truth, seeds, &store(from), |bytes| {
                let directory = with_store(from, bytes);
                let opened = Coordinator::open(directory.path(), None, Limits::default());
                if let Err(error) = &opened {
                    let told = format!("{error:#}");
                    assert!(
                        told.contains("--restore") && told.contains("--salvage"),
                        "{told}"
                    );
                    assert_eq!(store(&directory), bytes, "a damaged store was written to");
                }
                opened
            });
            counts.assert_good();
        }
    }
}

/// One byte in redb's header says which of two commits counts, and has no checksum.
#[test]
fn no_flags_of_the_header_bring_back_an_older_state() {
    let (clean, killed, truth) = clean_and_killed(6, 2);
    for directory in [&clean, &killed] {
        let good = store(directory);
        let mut opened = 0;
        for flags in 0..=255 {
            let mut bytes = good.clone();
            bytes[9] = flags;
            let directory = with_store(directory, &bytes);
            if let Ok(coordinator) = Coordinator::open(directory.path(), None, Limits::default()) {
                assert!(truth.is_told_by(&coordinator), "{flags:#x}");
                opened += 1;
            }
        }
        assert!(opened > 0);
    }
}

/// The root of the newest commit is damaged, and redb would continue with the previous one.
#[test]
fn a_commit_that_vanished_is_missed() {
    let (_, killed, truth) = clean_and_killed(6, 2);
    let good = store(&killed);
    let mut missed = 0;
    for slot in [64, 192] {
        let mut bytes = good.clone();
        bytes[slot + 8] ^= 1;
        // The version of the slot is damaged so that it is not used, and the other one is intact.
        let directory = with_store(&killed, &bytes);
        let told = Coordinator::open(directory.path(), None, Limits::default()).unwrap_err();
        let told = format!("{told:#}");
        missed += usize::from(told.contains("was acknowledged"));
        let said = salvage(directory.path()).unwrap().join("\n");
        let coordinator = open(&directory);
        assert_eq!(coordinator.len(), truth.sets.len());
        assert_eq!(
            said.contains("was acknowledged"),
            told.contains("was acknowledged")
        );
        assert_eq!(
            truth.is_told_by(&coordinator),
            !told.contains("was acknowledged")
        );
    }
    assert_eq!(missed, 1);
}

/// What is recovered is correct, the rest is listed, and the damaged file is kept.
#[test]
fn what_is_salvaged_is_right_and_what_is_dropped_is_named() {
    let (clean, killed, truth) = clean_and_killed(60, 3);
    let (mut whole, mut partly, mut nothing) = (0, 0, 0);
    for (from, seeds) in [
        (&clean, 0..many(120)),
        (&killed, 1 << 32..(1 << 32) + many(120)),
    ] {
        let (good, number) = (
            store(from),
            open(&with_store(from, &store(from))).shared.store.id(),
        );
        for seed in seeds {
            let mut bytes = good.clone();
            let what = damage(&mut bytes, seed);
            let directory = with_store(from, &bytes);
            let said = match salvage(directory.path()) {
                Ok(said) => said,
                Err(error) => {
                    assert_eq!(store(&directory), bytes, "{error:#}");
                    nothing += 1;
                    continue;
                }
            };
            let coordinator = open(&directory);
            if said.is_empty() {
                assert!(truth.is_told_by(&coordinator), "seed {seed}: {what}");
                whole += 1;
                continue;
            }
            partly += 1;
            let said = said.join("\n");
            assert_ne!(coordinator.shared.store.id(), number, "seed {seed}: {what}");
            let kept = std::fs::read(directory.path().join("store.damaged-1")).unwrap();
            assert_eq!(kept, bytes);
            let is_older = said.contains("was acknowledged");
            let mut unnamed = 0;
            for name in truth.sets.keys() {
                match coordinator.info(name) {
                    Ok(_) => assert!(is_older || truth.is_right(&coordinator, name), "{said}"),
                    Err(_) if said.contains(name.as_str()) => {}
                    Err(_) => unnamed += 1,
                }
            }
            let nameless = said.contains("names are lost");
            assert!(nameless || unnamed == 0, "seed {seed}: {what}: {said}");
        }
    }
    println!("whole {whole}, partly {partly}, nothing {nothing}");
    assert!(
        whole > 0 && partly > nothing,
        "{whole}, {partly}, {nothing}"
    );
}

#[test]
fn a_damaged_snapshot_is_refused_or_answers_right() {
    for (sets, deltas, usual) in SIZES {
        let (_directory, truth, good) = compact(sets, deltas);
        let counts = trials(&truth, 0..many(usual), &good, |bytes| {
            let directory = tempfile::tempdir().unwrap();
            let snapshot = directory.path().join("snapshot.redb");
            std::fs::write(&snapshot, bytes).unwrap();
            let data = directory.path().join("data");
            Coordinator::open(&data, Some(&snapshot), Limits::default())
        });
        counts.assert_good();
    }
}
