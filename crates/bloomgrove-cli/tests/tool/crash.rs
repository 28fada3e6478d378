//! `bloomgrove index add`, killed at random moments: what it said is there, is there.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::Shop;
use bloomgrove::index::Index;

/// So many times a process is killed while it adds sets; some that were to be have ended
/// before.
const KILLS: u64 = 200;
const MOST_ROUNDS: u64 = 1000;

#[test]
fn every_add_that_was_reported_survives_a_kill() {
    let shop = Shop::new();
    shop.write("seed.txt", "seed\n");
    shop.run("index build seed.txt -o index.grove --items 1000")
        .ends(0);
    let path = shop.path("index.grove");
    let mut reported: BTreeSet<String> = BTreeSet::new();
    let mut random = 1u64;
    let (mut killed, mut unfinished) = (0, 0);
    let mut whole = Duration::ZERO;
    for round in 0..MOST_ROUNDS {
        if killed == KILLS {
            break;
        }
        let names: Vec<String> = (0..40).map(|i| format!("set-{round}-{i}")).collect();
        for name in &names {
            shop.write(name, format!("key of {name}\n"));
        }
        let mut args = vec!["index".to_owned(), "add".into(), "index.grove".into()];
        args.extend(names.iter().cloned());
        let mut child = shop
            .command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Now and then one runs to its end, to see how long that takes now: kills shall fall
        // into every part of it, however fast the machine is.
        let started = Instant::now();
        if round % 10 == 0 {
            child.wait().unwrap();
            whole = started.elapsed();
        } else {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            std::thread::sleep(whole * ((random >> 40) % 1000) as u32 / 1000);
            child.kill().unwrap();
            killed += u64::from(!child.wait().unwrap().success());
        }
        // What it had said before it died.
        for line in BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok)
        {
            let name = line
                .strip_prefix("added ")
                .unwrap_or_else(|| panic!("{line}"));
            reported.insert(name.to_owned());
        }

        let verified = bloomgrove::verify(&path).unwrap_or_else(|error| panic!("{error}"));
        unfinished += u64::from(verified.unfinished > 0);
        let index = Index::open(&path).unwrap();
        for name in &reported {
            assert!(index.get(name).is_ok(), "{name} was reported and is gone");
        }
        for name in reported
            .iter()
            .filter(|name| name.starts_with(&format!("set-{round}-")))
        {
            let found = index.which(format!("key of {name}").as_str());
            assert!(found.iter().any(|set| set.name() == name.as_bytes()));
        }
    }
    // Or nothing was tested.
    assert_eq!(
        killed, KILLS,
        "so few were killed at work in {MOST_ROUNDS} rounds"
    );
    assert!(
        reported.len() > KILLS as usize,
        "only {} adds",
        reported.len()
    );
    println!(
        "{killed} killed at work, {} adds, {unfinished} left unfinished",
        reported.len()
    );
    // Whatever the kills have left goes with the next change.
    shop.run("index update index.grove seed.txt more").ends(0);
    assert_eq!(bloomgrove::verify(&path).unwrap().unfinished, 0);
}
