//! `bloomgrove buffered probe --t-max`: keys are answered while more are to come.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Shop, lines};

fn shop() -> Shop {
    let shop = Shop::new();
    shop.write("in.txt", lines((0..20_000).map(|i| i * 2)));
    shop.run("buffered build in.txt -o f.grove --fpr 1e-6 --page 4096")
        .ends(0);
    shop
}

#[test]
fn every_key_is_answered_while_the_stream_is_open() {
    let shop = shop();
    let args = ["buffered", "probe", "f.grove", "-", "--t-max", "20ms"];
    let mut command = shop.command(&args);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let mut from = BufReader::new(child.stdout.take().unwrap());
    let began = Instant::now();
    for (key, answer) in [("4", "maybe"), ("5", "no"), ("x", "no"), ("39998", "maybe")] {
        to.write_all(format!("{key}\n").as_bytes()).unwrap();
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        assert_eq!(line, format!("{key}\t{answer}\n"));
    }
    // Many times the limit, as the machine may be busy.
    assert!(began.elapsed() < Duration::from_secs(20));
    drop(to);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_answers_are_those_without_a_limit_and_in_order() {
    let shop = shop();
    shop.write(
        "keys.txt",
        lines((0..300_000u64).map(|i| i * 7919 % 50_021)),
    );
    for options in ["", " --found", " --absent", " --count", " --json"] {
        let line = format!("buffered probe f.grove keys.txt{options}");
        let without = shop.run(&line).ends(0).out;
        // From no time at all to more than there is.
        for t_max in ["0", "1ms", "50ms", "1h"] {
            let with = shop.run(&format!("{line} --t-max {t_max}")).ends(0);
            assert!(with.out == without, "{options} {t_max}");
        }
    }
    let stream = "buffered probe f.grove - --t-max 1h --quiet";
    shop.run_with_input(stream, b"1\n3\n").ends(1);
    shop.run_with_input(stream, b"1\n4\n").ends(0);
    shop.run_with_input(stream, b"").ends(1);
}

#[test]
fn what_ends_the_stream_is_reported() {
    let shop = shop();
    shop.write("keys.txt", lines([1, 2]));
    let integers = "buffered probe f.grove - --t-max 10ms --keys-as integer --absent";
    let said = shop.run_with_input(integers, b"1\nx\n").ends(2);
    assert!(said.err.contains("line 2"), "{}", said.err);
    shop.run("buffered probe f.grove --key 1 --t-max 10ms")
        .ends(2);
    // A closed output ends it without an error, even though the input is open.
    let line = "yes | $BLOOMGROVE buffered probe f.grove - --t-max 10ms | head -n 1";
    assert_eq!(shop.shell(line).ends(0).out, "y\tno\n");
}
