//! `bloomgrove buffered`, as a user runs it.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Shop, json, lines};
use bloomgrove::buffered::{Filter, Phase};

fn keys(range: std::ops::Range<u32>) -> String {
    lines(range.map(|i| format!("key-{i}")))
}

/// A filter of key-0 to key-9999, in many small pages and little memory.
fn shop() -> Shop {
    let shop = Shop::new();
    shop.write("in.txt", keys(0..10_000));
    shop.run("buffered build in.txt -o f.grove --fpr 0.1% --page 4096 --memory 100kB")
        .ends(0);
    shop
}

#[test]
fn what_was_put_in_is_found_in_the_order_asked() {
    let shop = shop();
    // Every third is in, and 100,000 keys are more than a round of 20 kB of memory.
    let asked: Vec<String> = (0..100_000)
        .map(|i| match i % 3 {
            0 => format!("key-{}", i % 10_000),
            _ => format!("absent-{i}"),
        })
        .collect();
    let inside: HashSet<String> = (0..10_000).map(|i| format!("key-{i}")).collect();
    shop.write("ask.txt", lines(&asked));
    let line = "buffered probe f.grove ask.txt --memory 20kB --workers 1";
    let said = shop.run(line).ends(0);
    let (mut found, mut absent, mut wrong) = (String::new(), String::new(), 0);
    for (key, answer) in asked.iter().zip(said.out.lines()) {
        let (printed, word) = answer.split_once('\t').unwrap();
        assert_eq!(printed, key);
        match word {
            "maybe" => found += &format!("{key}\n"),
            "no" => absent += &format!("{key}\n"),
            other => panic!("{other}"),
        }
        assert!(word == "maybe" || !inside.contains(key), "{key} is missing");
        wrong += usize::from(word == "maybe" && !inside.contains(key));
    }
    assert_eq!(said.out.lines().count(), asked.len());
    assert_eq!(said.err, "");
    assert!((20..150).contains(&wrong), "{wrong} of 66,666 at 0.1%");

    assert!(shop.run(&format!("{line} --found")).ends(0).out == found);
    assert!(shop.run(&format!("{line} --absent")).ends(0).out == absent);
    let counts = [&found, &absent].map(|keys| keys.lines().count());
    let said = shop.run(&format!("{line} --count")).ends(0);
    assert_eq!(
        said.out,
        format!("maybe\t{}\nno\t{}\n", counts[0], counts[1])
    );
    let said = shop.run(&format!("{line} --count --json")).ends(0);
    assert_eq!(json(&said)["maybe"], counts[0]);
    assert_eq!(shop.run(&format!("{line} -q")).ends(0).out, "");
    let said = shop.run(&format!("{line} --json --absent")).ends(0);
    let first = said.out.lines().next().unwrap();
    assert_eq!(first, r#"{"key":"absent-1","maybe":false}"#);
}

#[test]
fn single_keys_and_exit_codes() {
    let shop = shop();
    let said = shop
        .run("buffered probe f.grove --key key-5 --key nothing")
        .ends(0);
    assert_eq!(said.out, "key-5\tmaybe\nnothing\tno\n");
    assert_eq!(
        shop.run("buffered probe f.grove --key nothing").ends(1).out,
        "nothing\tno\n"
    );
    shop.write("none.txt", "nothing\nabsent\n");
    for ending in [
        "",
        "--cached",
        "--strategy sweep",
        "--strategy equal --workers 1",
    ] {
        let line = format!("buffered probe f.grove none.txt --key key-1 {ending}");
        let said = shop.run(&line).ends(0);
        assert_eq!(said.out, "key-1\tmaybe\nnothing\tno\nabsent\tno\n");
        let line = format!("buffered probe f.grove none.txt -q {ending}");
        shop.run(&line).ends(1);
    }
    let said = shop.run_with_input("buffered probe f.grove - --found", b"key-7\nno\nkey-8");
    assert_eq!(said.ends(0).out, "key-7\nkey-8\n");
}

#[test]
fn keys_of_every_kind_and_from_every_kind_of_file() {
    let shop = Shop::new();
    shop.write("a.txt", keys(0..500));
    shop.shell("gzip a.txt && printf 'dos\\r\\nlast without line feed' > b.txt")
        .ends(0);
    let packed = zstd::encode_all(keys(500..1000).as_bytes(), 3).unwrap();
    shop.write("c.zst", packed);
    shop.run_with_input(
        "buffered build a.txt.gz b.txt c.zst - -o f.grove --items 2000",
        b"from standard input\n\n",
    )
    .ends(0);
    let all = keys(0..1000) + "dos\nlast without line feed\nfrom standard input\n\n";
    shop.write("all.txt", &all);
    let said = shop.run("buffered probe f.grove all.txt --found").ends(0);
    assert_eq!(said.out, all);

    let numbers = lines((0..1000u64).map(|i| i * 7));
    shop.write("n.csv", format!("number\n{numbers}"));
    shop.run("buffered build n.csv --column number --keys integer -o n.grove --size 8kB")
        .ends(0);
    // What the library makes of a u64.
    let filter = Filter::open(shop.path("n.grove")).unwrap();
    assert!((0..1000u64).all(|i| filter.contains(&(i * 7)).unwrap()));
    let line = "buffered probe n.grove n.csv --column number --found";
    assert_eq!(shop.run(line).ends(0).out, numbers);
    let said = shop
        .run("buffered probe n.grove --key 0007 --key 8")
        .ends(0);
    assert_eq!(said.out, "0007\tmaybe\n8\tno\n");
}

#[test]
fn sizes_are_what_was_asked_for() {
    let shop = Shop::new();
    shop.write("in.txt", keys(0..10_000));
    let facts = |options: &str| {
        let line = format!("buffered build in.txt -o f.grove --replace --json {options}");
        json(&shop.run(&line).ends(0))
    };
    let is = facts("--size 1GB --memory 40MB");
    assert_eq!(
        (&is["pages"], &is["page_bytes"]),
        (&1908.into(), &524_288.into())
    );
    assert_eq!((&is["hashes"], &is["keys"]), (&8.into(), &10_000.into()));
    assert!(is["bytes_on_disk"].as_u64().unwrap() >= 1_000_000_000);
    assert_eq!(facts("--size 20kB --items 10k")["hashes"], 9);
    assert_eq!(facts("--size 20kB --items 100k")["hashes"], 1);
    assert_eq!(facts("--size 20kB --hashes 3")["hashes"], 3);
    let is = facts("--size 20kB --page 8KiB --layout standard --hash murmur3 --seed 7");
    assert_eq!((&is["pages"], &is["page_bytes"]), (&3.into(), &8192.into()));
    assert_eq!(
        (&is["layout"], &is["family"]),
        (&"standard".into(), &"murmur3".into())
    );
    assert_eq!(is["seed"], 7);
    // Counted, said, and the usual rate.
    for (options, fpr) in [
        ("--fpr 0.1%", 1e-3),
        ("--fpr 1e-4 --items 10k", 1e-4),
        ("", 1e-2),
    ] {
        let is = facts(options)["expected_fpr"].as_f64().unwrap();
        assert!(is < fpr * 1.02 && is > fpr / 5.0, "{options}: {is}");
    }
    let said = shop
        .run("buffered build in.txt -o f.grove --items 1000 --replace")
        .ends(0);
    assert!(said.out.contains("10,000 keys, "), "{}", said.out);
    assert!(
        said.out
            .contains("note: the filter was sized for 1,000 keys but contains 10,000; rebuild it"),
        "{}",
        said.out
    );
    // A filter that is large enough anyway is no reason for a note.
    let said = shop
        .run("buffered build in.txt -o g.grove --size 1MB --items 1000")
        .ends(0);
    assert!(!said.out.contains("note"), "{}", said.out);
}

#[test]
fn info_says_all() {
    let shop = shop();
    let said = shop.run("buffered info f.grove --verify").ends(0);
    for part in [
        "state                finished\n",
        "inserted             10,000 keys\n",
        "5 of 4 KiB, 5 written",
        "blocked",
        "xxh3",
        "target rate          0.1%",
        "sized for            10,000 keys",
        "valid",
    ] {
        assert!(said.out.contains(part), "no {part:?} in {}", said.out);
    }
    let facts = json(&shop.run("buffered info f.grove --json").ends(0));
    assert_eq!(facts["state"], "finished");
    assert_eq!(facts["notes"]["keys"], "text");
    // What it says is enough, and not a byte less.
    let least = facts["minimum_memory"].as_u64().unwrap();
    for (memory, code) in [(least, 0), (least - 1, 2)] {
        let line = format!("buffered probe f.grove in.txt -q --memory {memory}");
        shop.run(&line).ends(code);
    }
}

#[test]
fn keys_can_be_added_until_it_is_finished() {
    let shop = Shop::new();
    for (name, range) in [("a", 0..1000), ("b", 1000..2000), ("all", 0..2000)] {
        shop.write(&format!("{name}.txt"), keys(range));
    }
    let said = shop
        .run("buffered build a.txt -o f.grove --items 2000 --open")
        .ends(0);
    assert!(
        said.out.contains("not finished; --add adds to it"),
        "{}",
        said.out
    );
    let said = shop.run("buffered probe f.grove a.txt --count").ends(0);
    assert_eq!(said.out, "maybe\t1000\nno\t0\n");
    assert!(
        said.err
            .contains("only the 1,000 keys of the last sync are certain"),
        "{}",
        said.err
    );
    let said = shop
        .run("buffered build b.txt -o f.grove --add --open")
        .ends(0);
    assert!(
        said.out.contains("1,000 keys added, 2,000 in all"),
        "{}",
        said.out
    );
    let said = shop.run("buffered info f.grove").ends(0);
    assert!(
        said.out.contains("unfinished; build --add adds keys"),
        "{}",
        said.out
    );
    let said = shop.run("buffered build -o f.grove --add").ends(0);
    assert!(
        said.out.contains("0 keys added, 2,000 in all"),
        "{}",
        said.out
    );
    let said = shop.run("buffered probe f.grove all.txt --count").ends(0);
    assert_eq!(
        (said.out.as_str(), said.err.as_str()),
        ("maybe\t2000\nno\t0\n", "")
    );
}

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    let kill = Command::new("kill").args([name, &id]).status();
    assert!(kill.unwrap().success());
}

/// Waits until the file is in this phase, and this many keys in it are durable.
fn wait_for(path: &Path, phase: Phase, keys: u64) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) {
        if let Ok(state) = Filter::open(path).and_then(|filter| filter.state())
            && state.phase == phase
            && state.keys >= keys
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{}: not {phase:?} with {keys} keys", path.display());
}

fn start(shop: &Shop, line: &str) -> Child {
    let args: Vec<&str> = line.split_whitespace().collect();
    let mut command = shop.command(&args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn an_interrupted_build_keeps_what_was_read_and_goes_on() {
    let shop = Shop::new();
    let numbers = lines(0..1_000_000);
    shop.write("in.txt", &numbers);
    // Small pages, and visits to each for few keys: it takes seconds.
    let line = "buffered build in.txt -o f.grove --size 16MB --page 4096 --memory 1850kB";
    let child = start(&shop, line);
    wait_for(&shop.path("f.grove"), Phase::Building, 0);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    for part in [
        "interrupted; f.grove is not finished",
        "is not finished and has",
        "--resume",
    ] {
        assert!(err.contains(part), "{err}");
    }
    assert_eq!(output.stdout, b"");
    let facts = json(&shop.run("buffered info f.grove --json --verify").ends(0));
    assert_eq!(facts["state"], "unfinished");
    let sure = facts["keys"].as_u64().unwrap();
    assert!(sure > 0 && sure < 1_000_000, "{sure}");
    assert!(
        err.replace(',', "").contains(&format!(" {sure} keys")),
        "{err}"
    );
    // All it says is sure is found.
    shop.shell(&format!("head -n {sure} in.txt > sure.txt"))
        .ends(0);
    let said = shop.run("buffered probe f.grove sure.txt --count").ends(0);
    assert_eq!(said.out, format!("maybe\t{sure}\nno\t0\n"));

    // It is not lost by accident; other files are noticed, and change nothing.
    shop.run(line)
        .fails_with(&["f.grove", "--resume", "--replace"]);
    shop.run("buffered build in.txt -o f.grove --add")
        .fails_with(&["f.grove", "without --open", "--resume"]);
    shop.write("other.txt", lines(5_000_000..6_000_000));
    shop.run("buffered build other.txt -o f.grove --resume")
        .fails_with(&[
            "f.grove",
            "key 1 of",
            "does not contain key 1",
            "nothing was changed",
        ]);
    shop.write("few.txt", lines(0..1000));
    shop.run("buffered build few.txt -o f.grove --resume")
        .fails_with(&["f.grove", "only 1,000", "same order", "nothing was changed"]);
    let after = json(&shop.run("buffered info f.grove --json --verify").ends(0));
    assert_eq!(after, facts);

    let said = shop.run(&format!("{line} --resume")).ends(0);
    assert!(said.out.contains("1,000,000 in all"), "{}", said.out);
    let said = shop.run("buffered probe f.grove in.txt --count").ends(0);
    assert_eq!(said.out, "maybe\t1000000\nno\t0\n");
    // The same as if nothing had happened.
    shop.run(&line.replace("f.grove", "whole.grove")).ends(0);
    let pages = |name| std::fs::read(shop.path(name)).unwrap().split_off(1 << 16);
    assert!(pages("f.grove") == pages("whole.grove"));
}

#[test]
fn ctrl_c_while_waiting_for_standard_input_keeps_what_came() {
    let shop = Shop::new();
    let mut child = start(&shop, "buffered build - -o f.grove --items 10k");
    let mut input = child.stdin.take().unwrap();
    input.write_all(keys(0..5000).as_bytes()).unwrap();
    wait_for(&shop.path("f.grove"), Phase::Building, 0);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    drop(input);
    let filter = Filter::open(shop.path("f.grove")).unwrap();
    let state = filter.state().unwrap();
    assert_eq!(state.phase, Phase::Synced);
    assert!(
        state.keys > 0 && err.contains(" is not finished and has "),
        "{err}"
    );
    let sure = (0..state.keys).map(|i| format!("key-{i}"));
    assert!(sure.into_iter().all(|key| filter.contains(&key).unwrap()));
}

/// What has come is durable on time, even if nothing more comes.
#[test]
fn keys_are_synced_while_the_input_is_idle() {
    let shop = Shop::new();
    let line = "buffered build - -o f.grove --items 10k --sync-every 0.2s";
    let mut child = start(&shop, line);
    let mut input = child.stdin.take().unwrap();
    for keys in [keys(0..5000), keys(5000..5001)] {
        input.write_all(keys.as_bytes()).unwrap();
    }
    wait_for(&shop.path("f.grove"), Phase::Synced, 5001);
    child.kill().unwrap();
    child.wait().unwrap();
    let filter = Filter::open(shop.path("f.grove")).unwrap();
    let mut found = (0..5001).map(|i| filter.contains(&format!("key-{i}")).unwrap());
    assert!(found.all(|found| found));
}

#[test]
fn a_killed_build_has_the_keys_of_the_last_sync() {
    let shop = Shop::new();
    let mut child = start(
        &shop,
        "buffered build - -o f.grove --items 100k --sync-every 1s",
    );
    let mut input = child.stdin.take().unwrap();
    input.write_all(keys(0..40_000).as_bytes()).unwrap();
    wait_for(&shop.path("f.grove"), Phase::Synced, 1);
    input.write_all(keys(40_000..80_000).as_bytes()).unwrap();
    wait_for(&shop.path("f.grove"), Phase::Building, 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let said = shop.run("buffered info f.grove").ends(0);
    assert!(
        said.out.contains("interrupted; keys since the last sync"),
        "{}",
        said.out
    );
    let filter = Filter::open(shop.path("f.grove")).unwrap();
    let sure = filter.state().unwrap().keys;
    let mut found = (0..sure).map(|i| filter.contains(&format!("key-{i}")).unwrap());
    assert!(found.all(|found| found));

    shop.write("all.txt", keys(0..100_000));
    let said = shop
        .run("buffered build all.txt -o f.grove --items 100k --resume")
        .ends(0);
    assert!(said.out.contains("100,000 in all"), "{}", said.out);
    let said = shop.run("buffered probe f.grove all.txt --count").ends(0);
    assert_eq!(said.out, "maybe\t100000\nno\t0\n");
}
