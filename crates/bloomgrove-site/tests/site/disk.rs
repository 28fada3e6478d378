//! Disks that are full, and sites that are killed: this program runs itself as a child process.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bloomgrove_client::api::{Code, LineageQuery, Start};
use bloomgrove_site::{Handle, SiteConfig};

use crate::support::*;

/// The variable with the data directory of the child process; only set there.
const FOLDER: &str = "BLOOMGROVE_TEST_SITE";

fn alone(data: PathBuf) -> SiteConfig {
    SiteConfig {
        coordinator: None,
        ..config(&data, "http://127.0.0.1:1")
    }
}

/// This program as a child process that runs one of its tests, after some lines of shell.
fn child(before: &str, test: &str, directory: &std::path::Path) -> Command {
    let mut command = Command::new("bash");
    let script = format!("{before} exec \"$0\" --exact {test} --ignored --nocapture");
    let program = std::env::current_exe().unwrap();
    command.args(["-c", &script]).arg(program);
    command.env(FOLDER, directory);
    command
}

async fn knows(site: &Handle, id: &str) -> bool {
    let ids = vec![Start {
        id: id.into(),
        depth: Some(0),
    }];
    let question = LineageQuery {
        ids,
        ..LineageQuery::default()
    };
    !site.lineage(question).await.unwrap().nodes.is_empty()
}

/// A limit on the size of files simulates a full disk.
#[test]
fn a_full_disk_refuses_and_the_site_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    // Without the trap the system would kill the process.
    let limit = "trap '' XFSZ; ulimit -S -f 8192;";
    let child = child(limit, "disk::full", directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[tokio::test]
#[ignore = "a part of the test above"]
async fn full() {
    let Some(directory) = std::env::var_os(FOLDER) else {
        return;
    };
    let config = alone(directory.into());
    let (running, handle) = site(config.clone()).await;
    let large = |n: usize| derived(&["root"], &format!("{n} {}", "x".repeat(2000)));
    let mut count = 0;
    let refusal = loop {
        let events = (0..50).map(|n| large(count * 50 + n)).collect();
        match handle.record(events).await {
            Ok(_) => count += 1,
            Err(refusal) => break refusal,
        }
        assert!(count < 1000, "the disk never became full");
    };
    assert_eq!(refusal.code, Code::Storage, "{refusal}");
    let before = handle.status().triples;
    for n in 0..5 {
        let events = (0..500).map(|more| large(1_000_000 + n * 500 + more));
        let refused = handle.record(events.collect()).await.unwrap_err();
        assert_eq!(refused.code, Code::Storage, "{refused}");
        assert!(knows(&handle, &large(3).outputs[0]).await);
        assert!(!knows(&handle, &large(1_000_000).outputs[0]).await);
    }
    assert_eq!(handle.status().triples, before);
    let pid = std::process::id().to_string();
    let freed = Command::new("prlimit")
        .args(["--pid", &pid, "--fsize=unlimited"])
        .status();
    assert!(freed.unwrap().success());
    handle.record(vec![large(2_000_000)]).await.unwrap();
    let triples = handle.status().triples;
    running.stop().await;
    let (running, handle) = site(config).await;
    assert_eq!(handle.status().triples, triples);
    for n in (0..count * 50).chain([2_000_000]) {
        assert!(knows(&handle, &large(n).outputs[0]).await, "{n}");
    }
    running.stop().await;
}

/// What was acknowledged before the site was killed is there at the next start.
#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut all = 0;
    for kill in 0..4 {
        let mut child = child("", "disk::killed", directory.path());
        let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut last: Option<u64> = None;
        while last.is_none_or(|last| last < all + 20 + 7 * kill) {
            let line = lines.next().expect("it goes on").unwrap();
            last = line
                .strip_prefix("done ")
                .map(|n| n.parse().unwrap())
                .or(last);
        }
        child.kill().unwrap();
        // Including what it printed before it exited.
        for line in lines.map_while(Result::ok) {
            last = line
                .strip_prefix("done ")
                .and_then(|n| n.parse().ok())
                .or(last);
        }
        child.wait().unwrap();
        all = last.unwrap() + 1;
        let (running, handle) = site(alone(directory.path().into())).await;
        for n in 0..all {
            assert!(knows(&handle, &format!("doc {n}")).await, "{n} of {all}");
        }
        running.stop().await;
    }
}

#[tokio::test]
#[ignore = "a part of the test above"]
async fn killed() {
    let Some(directory) = std::env::var_os(FOLDER) else {
        return;
    };
    let (_running, handle) = site(alone(directory.into())).await;
    let mut n = 0;
    while knows(&handle, &format!("doc {n}")).await {
        n += 1;
    }
    loop {
        let event = derived(&["root"], &format!("doc {n}"));
        handle.record(vec![event]).await.unwrap();
        println!("done {n}");
        n += 1;
    }
}
