//! Keys as they come: `filter seen`, `filter check` on a stream, `filter add`; and filters made alike
//! and compared, `--like` and `filter estimate`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::support::{Shop, json, lines};

/// A command that is fed line by line.
struct Talk {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Talk {
    fn start(shop: &Shop, line: &str) -> Self {
        let args: Vec<&str> = line.split_whitespace().collect();
        let mut command = shop.command(&args);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self {
            child,
            to,
            from: BufReader::new(from),
        }
    }

    fn say(&mut self, line: &str) {
        self.to.write_all(line.as_bytes()).unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line
    }
}

#[test]
fn a_stream_is_answered_while_it_is_open() {
    let shop = Shop::new();
    shop.write("in.txt", "ada\ngrace\n");
    shop.run("filter build in.txt -o f.grove").ends(0);
    let mut talk = Talk::start(&shop, "filter check f.grove --keys-from -");
    // Shorter than the byte-order mark that it might begin with.
    talk.say("a\n");
    assert_eq!(talk.hear(), "a\tno\n");
    talk.say("ada\n");
    assert_eq!(talk.hear(), "ada\tmaybe\n");
    talk.say("nobody\n");
    assert_eq!(talk.hear(), "nobody\tno\n");
    drop(talk.to);
    assert_eq!(talk.child.wait().unwrap().code(), Some(0));
}

#[test]
fn only_new_lines_are_printed_also_in_the_next_run() {
    let shop = Shop::new();
    shop.write("monday.txt", "a\nb\na\n\nb\n");
    shop.write("tuesday.txt", "b\nc\nc");
    let said = shop
        .run("filter seen m.grove monday.txt --items 1000")
        .ends(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("a\nb\n\n", ""));
    let said = shop
        .run("filter seen m.grove monday.txt tuesday.txt --json")
        .ends(0);
    assert_eq!(said.out, "{\"key\":\"c\"}\n");
    let said = shop.run("filter seen m.grove tuesday.txt --count").ends(1);
    assert_eq!(said.out, "0\n");
    let facts = json(&shop.run("filter info m.grove --json").ends(0));
    assert_eq!(facts["notes"]["inserted"], "4");
    assert_eq!(facts["notes"]["sized-for"], "1000");

    let said = shop.run_with_input("filter seen m.grove", b"c\nd\nd\n");
    assert_eq!((said.code, said.out.as_str()), (Some(0), "d\n"));

    // More than it was made for is said once.
    shop.write("many.txt", lines(0..5000));
    let said = shop.run("filter seen m.grove many.txt -c").ends(0);
    assert_eq!(
        said.err.matches("more lines than it was sized for").count(),
        1
    );
    shop.run("filter seen monday.txt tuesday.txt")
        .fails_with(&["monday.txt", "not a .grove file"]);
}

#[test]
fn what_was_printed_is_remembered_after_ctrl_c_and_what_was_not_is_printed_again() {
    let shop = Shop::new();
    let mut talk = Talk::start(&shop, "filter seen m.grove --items 1000");
    talk.say("a\nb\n");
    assert_eq!((talk.hear(), talk.hear()), ("a\n".into(), "b\n".into()));
    let kill = ["-INT".to_owned(), talk.child.id().to_string()];
    assert!(Command::new("kill").args(kill).status().unwrap().success());
    let ended = talk.child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let error = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(
        error,
        "bloomgrove: interrupted; m.grove remembers 2 new lines\n"
    );

    shop.write("all.txt", "a\nb\nc\n");
    shop.shell("$BLOOMGROVE filter seen m.grove all.txt > /dev/full")
        .fails_with(&["cannot write to standard output"]);
    let said = shop.run("filter seen m.grove all.txt").ends(0);
    assert_eq!(said.out, "c\n");
}

#[test]
fn a_file_that_is_missing_leaves_no_filter() {
    let shop = Shop::new();
    shop.run("filter seen s.grove nowhere.txt").ends(2);
    assert!(!shop.path("s.grove").exists());
}

#[test]
fn keys_are_added_to_a_filter() {
    let shop = Shop::new();
    shop.write("old.txt", lines(0..500));
    shop.write("new.txt", lines(400..900));
    shop.run("filter build old.txt -o f.grove --items 1000")
        .ends(0);
    let said = shop.run("filter add f.grove new.txt").ends(0);
    assert!(
        said.out.starts_with("f.grove: 500 keys read, about "),
        "{}",
        said.out
    );
    assert!(!said.out.contains("note"), "{}", said.out);
    shop.write("all.txt", lines(0..900));
    shop.run("filter build all.txt -o g.grove --items 1000")
        .ends(0);
    let words = |name: &str| {
        let facts = json(&shop.run(&format!("filter info {name} --json")).ends(0));
        (facts["fill"].clone(), facts["notes"]["inserted"].clone())
    };
    assert_eq!(words("f.grove").0, words("g.grove").0);
    assert_eq!(words("f.grove").1, "1000");
    // A bad key changes nothing.
    shop.run("filter build old.txt -o n.grove --items 1000 --keys integer")
        .ends(0);
    let before = std::fs::read(shop.path("n.grove")).unwrap();
    shop.write("bad.txt", "1\nx\n");
    shop.run("filter add n.grove bad.txt")
        .fails_with(&["bad.txt", "line 2", "not an integer"]);
    assert_eq!(std::fs::read(shop.path("n.grove")).unwrap(), before);
    shop.write("more.txt", lines(1000..9000));
    let said = shop.run("filter add f.grove more.txt").ends(0);
    assert!(
        said.out.contains("sized for; rebuild it with --items"),
        "{}",
        said.out
    );
    shop.run("filter add none.grove new.txt")
        .fails_with(&["none.grove", "does not exist"]);
}

#[test]
fn filters_made_alike_can_be_compared() {
    let shop = Shop::new();
    shop.write("a.txt", lines(0..60_000));
    shop.write("b.txt", lines(40_000..100_000));
    shop.run("filter build a.txt -o a.grove --items 70000 --seed 9 --keys integer")
        .ends(0);
    shop.run("filter build b.txt -o b.grove --like a.grove")
        .ends(0);
    shop.run("filter union a.grove b.grove -o u.grove").ends(0);
    shop.run("filter build b.txt -o b.grove --like a.grove --fpr 1%")
        .fails_with(&["--like", "--fpr"]);
    let check = |facts: &serde_json::Value| {
        for (name, truth) in [("a", 6e4), ("b", 6e4), ("common", 2e4), ("union", 1e5)] {
            let of = |field: &str| facts[name][field].as_f64().unwrap();
            let (items, margin) = (of("items"), of("margin"));
            assert!(
                // Four standard deviations: chance alone does not fail this test.
                (items - truth).abs() <= 2.0 * margin,
                "{name}: {items} ± {margin}"
            );
            assert!(margin < truth / 10.0, "{name}: {items} ± {margin}");
        }
        let jaccard = facts["jaccard"]["value"].as_f64().unwrap();
        assert!((jaccard - 0.2).abs() < 0.02, "{jaccard}");
    };
    let facts = json(&shop.run("filter estimate a.grove b.grove --json").ends(0));
    check(&facts);
    assert_eq!(facts["folded"], serde_json::Value::Null);
    let said = shop.run("filter estimate a.grove b.grove").ends(0);
    assert!(said.out.contains("\nJaccard  0."), "{}", said.out);

    // A size that is half is reached by folding; others are refused.
    for (name, bits) in [("a", "1048576"), ("b", "524288"), ("c", "600000")] {
        let input = if name == "a" { "a" } else { "b" };
        shop.run(&format!(
            "filter build {input}.txt -o {name}.grove --bits {bits} --hashes 4"
        ))
        .ends(0);
    }
    let said = shop.run("filter estimate a.grove b.grove").ends(0);
    assert!(
        said.out.contains("a.grove was folded 1 time"),
        "{}",
        said.out
    );
    check(&json(
        &shop.run("filter estimate b.grove a.grove --json").ends(0),
    ));
    shop.run("filter estimate a.grove c.grove").fails_with(&[
        "a.grove and c.grove",
        "1,048,576 bits",
        "600,000 bits",
    ]);
}
