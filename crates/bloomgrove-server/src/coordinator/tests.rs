//! The promises of the coordinator: what was acknowledged is there, also after a restart.

mod changes;
mod damage;
mod model;
mod queries;
mod refused;

use std::collections::BTreeSet;

use bloomgrove::format::Notes;
use bloomgrove::raw::codec::{Model, compress_with};
use bloomgrove::{Filter, Params, codec};
use bloomgrove_client::api::{
    self, ChangeSet, Code, CreateSet, EstimateQuery, Key, Member, Names, ReconstructQuery,
    SampleQuery, Spelling, WhichQuery,
};
use bytes::Bytes;
use tempfile::TempDir;

use super::*;
use crate::Error;

/// Memory is not what these tests are about.
fn free(_: u64) -> Result<(), Error> {
    Ok(())
}

fn open(directory: &TempDir) -> Coordinator {
    Coordinator::open(directory.path(), None, Limits::default()).unwrap()
}

/// Everything here completes immediately or on a thread: no runtime is needed.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

fn params() -> Params {
    Params::builder(2000, 3).build().unwrap()
}

fn filter(keys: &[&str]) -> Filter {
    let mut filter = Filter::new(params()).unwrap();
    keys.iter().for_each(|key| _ = filter.insert(*key));
    filter
}

fn keys(keys: &[&str]) -> Vec<Key> {
    keys.iter().copied().map(Key::from).collect()
}

fn holders(coordinator: &Coordinator, key: &str) -> Vec<String> {
    let request = WhichQuery {
        keys: keys(&[key]),
        ..WhichQuery::default()
    };
    let mut answers = coordinator.which(&request, free).unwrap().answers;
    let answer = answers.remove(0);
    let sets = answer.sets.unwrap();
    assert_eq!(sets.len() as u64, answer.count);
    sets
}

fn put(coordinator: &Coordinator, name: &str, held: &[&str]) -> u64 {
    let done = wait(coordinator.put(name, filter(held), None, None, None));
    done.unwrap().version
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Code {
    result.unwrap_err().code
}

#[test]
fn an_upload_is_found_after_a_restart_whatever_it_came_as() {
    let directory = tempfile::tempdir().unwrap();
    let (mut file, mut message, mut noted) = (Vec::new(), Vec::new(), Vec::new());
    filter(&["file"]).write_to(&mut file).unwrap();
    codec::compress(&filter(&["message"]), &mut message).unwrap();
    let notes = Notes::new().with("long", "x".repeat(5000));
    compress_with(&filter(&["noted"]), Model::default(), &notes, &mut noted).unwrap();
    assert!(
        noted.len() > params().words() * 8 + 1024,
        "longer than a plain one"
    );
    for _ in 0..2 {
        let coordinator = open(&directory);
        for (name, bytes) in [("file", &file), ("message", &message), ("noted", &noted)] {
            if coordinator.info(name).is_err() {
                let upload = coordinator.read_upload(bytes.clone().into()).unwrap();
                wait(coordinator.put(name, upload, None, None, None)).unwrap();
            }
            assert_eq!(holders(&coordinator, name), [name]);
            assert!(coordinator.filter(name).unwrap().0 == filter(&[name]));
        }
        coordinator.close();
    }
    for bytes in [&file[1..], &message[..message.len() - 1], b"x"] {
        let upload = open(&directory).read_upload(bytes.to_vec().into());
        assert_eq!(code(upload), Code::Invalid);
    }
}

#[test]
fn a_snapshot_is_the_state_of_its_moment_and_versions_go_on_above_it() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    put(&coordinator, "a", &["one"]);
    let base = wait(coordinator.insert("a", keys(&["two"]), None))
        .unwrap()
        .version;
    let snapshot = coordinator.snapshot().unwrap();
    let listed = coordinator.snapshots().snapshots;
    assert_eq!(listed, std::slice::from_ref(&snapshot));
    let later = wait(coordinator.insert("a", keys(&["three"]), None))
        .unwrap()
        .version;
    let file = coordinator.snapshots_directory().join(&snapshot.file);

    let elsewhere = tempfile::tempdir().unwrap();
    let restored = Coordinator::open(elsewhere.path(), Some(&file), Limits::default()).unwrap();
    assert_eq!(holders(&restored, "two"), ["a"]);
    assert!(holders(&restored, "three").is_empty());
    // A client that has sent "three" builds on a version that this server never had; also if another client has written in
    // between.
    let lost = || wait(restored.insert("a", keys(&["four"]), Some(later)));
    assert_eq!(code(lost()), Code::SendWhole);
    let next = wait(restored.insert("a", keys(&["five"]), None)).unwrap();
    assert!(next.version > later);
    assert_eq!(code(lost()), Code::SendWhole);
    // A client that builds on what the snapshot contains cannot be distinguished from it.
    let known = wait(restored.insert("a", keys(&["four"]), Some(base)));
    assert_eq!(code(known), Code::SendWhole);

    let garbage = elsewhere.path().join("garbage");
    std::fs::write(&garbage, b"no snapshot").unwrap();
    let third = tempfile::tempdir().unwrap();
    let told = Coordinator::open(third.path(), Some(&garbage), Limits::default()).unwrap_err();
    assert!(
        format!("{told:#}").contains("not a snapshot of a server"),
        "{told:#}"
    );
    let again = Coordinator::open(third.path(), Some(&file), Limits::default()).unwrap();
    assert_eq!(holders(&again, "two"), ["a"]);
    let (one, other) = (restored.info("a").unwrap(), again.info("a").unwrap());
    assert_ne!(one.version, other.version);

    let refused = Coordinator::open(directory.path(), Some(&file), Limits::default());
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("empty data directory"), "{told}");
}

#[test]
fn one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let _coordinator = open(&directory);
    let told = Coordinator::open(directory.path(), None, Limits::default()).unwrap_err();
    assert!(format!("{told:#}").contains("another process"), "{told:#}");
}
