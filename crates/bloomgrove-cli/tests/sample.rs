//! `bloomgrove sample` and `reconstruct`, as a user runs them.

mod support;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use support::{Said, Shop};

/// A filter of the integers 0, 7, 14, ... below 7000, and the list of them.
fn sevens() -> Shop {
    let shop = Shop::new();
    shop.write("sevens.txt", lines((0..1000).map(|i| i * 7)));
    shop.run("filter build sevens.txt -o sevens.grove --keys integer --fpr 1e-6")
        .ends(0);
    shop
}

/// A filter of text: word-0, word-3, ... below word-3000; `all.txt` has every word, sorted.
fn words() -> Shop {
    let shop = Shop::new();
    let mut all: Vec<String> = (0..3000).map(|i| format!("word-{i}")).collect();
    all.sort();
    shop.write("all.txt", lines(&all));
    shop.write(
        "in.txt",
        lines((0..1000).map(|i| format!("word-{}", i * 3))),
    );
    shop.run("filter build in.txt -o words.grove --fpr 1e-6 --layout standard")
        .ends(0);
    shop
}

fn lines(items: impl IntoIterator<Item = impl ToString>) -> String {
    let items = items.into_iter();
    items.map(|item| item.to_string() + "\n").collect()
}

fn set(text: &str) -> BTreeSet<&str> {
    text.lines().collect()
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.out).unwrap()
}

#[test]
fn members_are_drawn_and_the_same_seed_draws_the_same() {
    let shop = sevens();
    let said = shop
        .run("sample sevens.grove --namespace 0..7k -n 200 --seed 5")
        .ends(0);
    let drawn: Vec<u64> = said.out.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(drawn.len(), 200);
    assert!(drawn.iter().all(|number| number % 7 == 0 && *number < 7000));
    assert_eq!(said.err, "");
    for again in ["0..7k", "0..=6999", "..7000"] {
        let line = format!("sample sevens.grove --namespace {again} -n 200 --seed 5");
        assert_eq!(shop.run(&line).ends(0).out, said.out);
    }
    let other = shop
        .run("sample sevens.grove --namespace 0..7k -n 200 --seed 6")
        .ends(0);
    assert_ne!(other.out, said.out);
    let any = |line: &str| shop.run(line).ends(0).out;
    assert_eq!(
        any("sample sevens.grove --namespace 0..7k").lines().count(),
        10
    );
    assert_ne!(
        any("sample sevens.grove --namespace 0..7k -n 50"),
        any("sample sevens.grove --namespace 0..7k -n 50"),
        "without a seed"
    );
}

#[test]
fn distinct_members_are_different_and_no_more_than_there_are() {
    let shop = sevens();
    let said = shop
        .run("sample sevens.grove --namespace 0..7000 -n 900 --distinct")
        .ends(0);
    assert_eq!(set(&said.out).len(), 900);
    assert_eq!(said.out.lines().count(), 900);
    let said = shop
        .run("sample sevens.grove --namespace 0..7000 -n 5000 --distinct")
        .ends(0);
    assert_eq!(set(&said.out).len(), 1000);
    assert!(said.err.contains("1,000 members in all"), "{}", said.err);
}

#[test]
fn a_seed_that_nobody_chose_is_told_and_repeats_the_run() {
    let shop = sevens();
    let said = shop
        .run("sample sevens.grove --namespace 0..7000 --explain")
        .ends(0);
    let seed = said.err.lines().find_map(|line| line.strip_prefix("seed"));
    let line = format!(
        "sample sevens.grove --namespace 0..7000 --seed {}",
        seed.unwrap()
    );
    assert_eq!(shop.run(&line).ends(0).out, said.out);
    for part in [
        "fill ",
        "7,000 integers",
        "items among them about",
        "probe: ",
        "took ",
    ] {
        assert!(said.err.contains(part), "no {part} in {}", said.err);
    }
}

#[test]
fn json_has_the_names_and_with_explain_the_facts() {
    let shop = sevens();
    let said = shop
        .run("sample sevens.grove --namespace 0..7000 --seed 3 --json")
        .ends(0);
    let answer = json(&said);
    assert_eq!(answer["seed"], 3);
    assert_eq!(answer["drawn"].as_array().unwrap().len(), 10);
    assert_eq!(answer["drawn"][0].as_u64().unwrap() % 7, 0);
    assert!(answer.get("method").is_none());
    let said = shop
        .run("sample sevens.grove --namespace 0..7000 --seed 3 --json --explain")
        .ends(0);
    let facts = json(&said);
    assert_eq!(said.err, "");
    assert_eq!(
        (&facts["drawn"], &facts["names"]),
        (&answer["drawn"], &7000.into())
    );
    assert_eq!(facts["method"], "probe");
    for field in [
        "fill",
        "expected_members",
        "expected_items",
        "expected_accuracy",
    ] {
        assert!(facts[field].as_f64().unwrap() > 0.0, "{field}");
    }
    for field in ["expected_tests", "tests", "looks", "filter_bytes"] {
        assert!(facts[field].as_f64().unwrap() > 0.0, "{field}");
    }

    let shop = words();
    let said = shop
        .run("sample words.grove --namespace all.txt --json")
        .ends(0);
    assert!(
        json(&said)["drawn"][0]
            .as_str()
            .unwrap()
            .starts_with("word-")
    );
    let line = "reconstruct words.grove --namespace all.txt --json --explain";
    let said = shop.run(line).ends(0);
    let (facts, names) = said
        .out
        .trim_end()
        .rsplit_once('\n')
        .map(|(a, b)| (b, a))
        .unwrap();
    assert_eq!(names.lines().next(), Some("{\"name\":\"word-0\"}"));
    let facts: Value = serde_json::from_str(facts).unwrap();
    assert_eq!(
        facts["count"].as_u64().unwrap(),
        names.lines().count() as u64
    );
    let said = shop
        .run("reconstruct words.grove --namespace all.txt --json --count")
        .ends(0);
    assert_eq!(json(&said)["count"], facts["count"]);
}

#[test]
fn a_reconstruction_has_every_line_the_filter_was_built_from() {
    let shop = words();
    let said = shop
        .run("reconstruct words.grove --namespace all.txt")
        .ends(0);
    let wanted = std::fs::read_to_string(shop.path("in.txt")).unwrap();
    assert!(set(&said.out).is_superset(&set(&wanted)));
    assert_eq!(said.out.lines().count(), 1000);
    let said = shop
        .run("reconstruct words.grove --namespace all.txt -o found.txt --threads 1")
        .ends(0);
    assert_eq!(said.out, "found.txt: 1,000 members, 9.6 kB\n");
    let found = std::fs::read_to_string(shop.path("found.txt")).unwrap();
    assert_eq!(set(&found), set(&wanted));
    // An ordinary file is replaced, and all there is to print is how many.
    shop.run("reconstruct words.grove --namespace all.txt -o found.txt")
        .ends(0);
    let said = shop
        .run("reconstruct words.grove --namespace all.txt --count")
        .ends(0);
    assert_eq!(said.out, "1000\n");
}

#[test]
fn names_come_packed_from_a_pipe_a_column_or_unsorted() {
    let shop = words();
    let whole = shop
        .run("reconstruct words.grove --namespace all.txt")
        .ends(0)
        .out;
    let all = std::fs::read(shop.path("all.txt")).unwrap();
    shop.write("all.zst", zstd::encode_all(&all[..], 3).unwrap());
    shop.shell("gzip -k all.txt; sort -R all.txt > mixed.txt; (echo id,word; sed 's/^/1,/' all.txt) > all.csv; sed 's/$/\\r/' all.txt > dos.txt")
        .ends(0);
    for names in [
        "all.zst",
        "all.txt.gz",
        "mixed.txt --sort",
        "all.csv --column word",
        "dos.txt",
    ] {
        let said = shop
            .run(&format!("reconstruct words.grove --namespace {names}"))
            .ends(0);
        assert_eq!(said.out, whole, "{names}");
    }
    let said = shop
        .run_with_input("reconstruct words.grove --namespace -", &all)
        .ends(0);
    assert_eq!(said.out, whole);

    // Twice as many lines, half of them repeated.
    shop.shell("cat all.txt all.txt > twice.txt").ends(0);
    let said = shop
        .run("reconstruct words.grove --namespace twice.txt --sort")
        .ends(0);
    assert_eq!(said.out, whole);
    assert!(
        said.err.contains("3,000 repeated names left out"),
        "{}",
        said.err
    );
}

#[test]
fn ranges_are_spelled_as_the_filter_has_its_keys() {
    let shop = Shop::new();
    shop.write("ids.txt", lines((0..100).map(|i| i * 11)));
    shop.run("filter build ids.txt -o text.grove --fpr 1e-6")
        .ends(0);
    shop.run("filter build ids.txt -o numbers.grove --fpr 1e-6 --keys integer")
        .ends(0);
    let wanted = std::fs::read_to_string(shop.path("ids.txt")).unwrap();
    for line in [
        "text.grove --namespace 0..2000",
        "numbers.grove --namespace 0..2000",
        "numbers.grove --namespace ids.txt",
        "text.grove --namespace ids.txt --sort",
    ] {
        let said = shop.run(&format!("reconstruct {line}")).ends(0);
        assert_eq!(set(&said.out), set(&wanted), "{line}");
    }
    let said = shop
        .run("reconstruct text.grove --namespace 0..2000 --within 11..34")
        .ends(0);
    assert_eq!(said.out, "11\n22\n33\n");
    // The other way round nothing is found, and the way out is named.
    let said = shop
        .run("sample text.grove --namespace 0..2000 --names-as integer")
        .ends(1);
    assert_eq!(said.out, "");
    for part in [
        "text.grove accepts none of the 2000 names",
        "--names-as text",
    ] {
        assert!(said.err.contains(part), "{}", said.err);
    }
    let said = shop.run("reconstruct numbers.grove --namespace 0..2000 --names-as text --count");
    let said = said.ends(1);
    assert!(
        said.out == "0\n" && said.err.contains("--names-as integer"),
        "{said:?}"
    );
}

#[test]
fn filters_are_joined() {
    let shop = Shop::new();
    for (name, step) in [("a", 2), ("b", 3), ("c", 5)] {
        shop.write("n.txt", lines((0..300).filter(|i| i % step == 0)));
        shop.run(&format!(
            "filter build n.txt -o {name}.grove --keys integer --bits 20000 --hashes 9"
        ))
        .ends(0);
    }
    for (text, wanted) in [
        ("a.grove & b.grove", lines((0..300).filter(|i| i % 6 == 0))),
        (
            "a.grove|b.grove",
            lines((0..300).filter(|i| i % 2 == 0 || i % 3 == 0)),
        ),
        (
            "a.grove | b.grove & c.grove",
            lines((0..300).filter(|i| i % 2 == 0 || i % 15 == 0)),
        ),
        (
            "(a.grove | b.grove) & c.grove",
            lines((0..300).filter(|i| i % 10 == 0 || i % 15 == 0)),
        ),
    ] {
        let said = shop
            .run_args(&["reconstruct", text, "--namespace", "0..300"])
            .ends(0);
        assert_eq!(said.out, wanted, "{text}");
        let said = shop
            .run_args(&["sample", text, "--namespace", "0..300"])
            .ends(0);
        assert!(set(&wanted).is_superset(&set(&said.out)));
    }
    // What is a file is a file.
    std::fs::copy(shop.path("c.grove"), shop.path("a.grove & b.grove")).unwrap();
    let line = [
        "reconstruct",
        "a.grove & b.grove",
        "--namespace",
        "0..300",
        "--count",
    ];
    assert_eq!(shop.run_args(&line).ends(0).out, "60\n");

    let fails = |text: &str, parts: &[&str]| {
        shop.run_args(&["sample", text, "--namespace", "0..300"])
            .fails_with(parts);
    };
    fails(
        "a.grove & & b.grove",
        &["at character 11", "missing before this &"],
    );
    fails("(a.grove | b.grove", &["at character 1", "not closed"]);
    fails("a.grove & x.grove", &["x.grove", "No such file"]);
    shop.write("n.txt", "1\n");
    shop.run("filter build n.txt -o other.grove --keys integer --bits 64 --hashes 2")
        .ends(0);
    fails(
        "a.grove & other.grove",
        &["a.grove and other.grove", "64 bits"],
    );
    shop.run("filter build n.txt -o text.grove --bits 20000 --hashes 9")
        .ends(0);
    fails(
        "a.grove | text.grove",
        &["a.grove", "integer", "text.grove", "text"],
    );
    let line = [
        "sample",
        "b.grove | a.grove",
        "--namespace",
        "0..300",
        "--method",
        "tree",
    ];
    shop.run_args(&line)
        .fails_with(&["asks one filter", "filter union"]);
}

#[test]
fn an_index_of_names_is_built_asked_grown_and_described() {
    let shop = sevens();
    let said = shop
        .run("sample index 0..7000 --for sevens.grove -o n.grove")
        .ends(0);
    assert!(
        said.out.starts_with("n.grove: 7,000 names, "),
        "{}",
        said.out
    );
    assert!(said.out.contains("bytes a name"));
    let lean = shop.run("sample index 0..7000 --for sevens.grove -o lean.grove --lean --json");
    let (lean, facts) = (
        json(&lean.ends(0)),
        json(&shop.run("sample info n.grove --json").ends(0)),
    );
    assert!(lean["bytes"].as_u64() < facts["bytes"].as_u64());
    assert_eq!(
        (&lean["second_positions"], &facts["second_positions"]),
        (&false.into(), &true.into())
    );
    assert_eq!(facts["spelling"], "integer");

    let by_range = shop
        .run("reconstruct sevens.grove --namespace 0..7000")
        .ends(0)
        .out;
    for index in ["n.grove", "lean.grove"] {
        let line = format!("reconstruct sevens.grove --namespace {index} --method index");
        assert_eq!(set(&shop.run(&line).ends(0).out), set(&by_range));
    }
    let said = shop
        .run("sample sevens.grove --namespace n.grove --method index --explain")
        .ends(0);
    assert!(set(&by_range).is_superset(&set(&said.out)));
    assert!(said.err.contains("index: as asked for"), "{}", said.err);

    // Members beyond the names are found once their names are in.
    shop.write("later.txt", "6999\n7000\n70000\n");
    shop.run(
        "filter build sevens.txt later.txt -o more.grove --keys integer --bits 40000 --hashes 19",
    )
    .ends(0);
    shop.run("sample index 0..7000 --for more.grove -o n.grove")
        .ends(0);
    let count = || {
        shop.run("reconstruct more.grove --namespace n.grove --count")
            .ends(0)
            .out
    };
    assert_eq!(count(), "1001\n");
    let said = shop.run("sample index later.txt --add-to n.grove").ends(0);
    assert!(
        said.out.contains("2 new names added, 7,002 names"),
        "{}",
        said.out
    );
    assert_eq!(count(), "1003\n");
    let said = shop
        .run("sample index 0..7001 --add-to n.grove --json")
        .ends(0);
    assert_eq!(json(&said)["added"], 0);
    let said = shop.run("sample info n.grove --verify").ends(0);
    for part in [
        "7,002 integers",
        "0..7000, a list of 2 integers",
        "40000 bits",
        "kept",
        "belongs",
    ] {
        assert!(said.out.contains(part), "no {part} in {}", said.out);
    }

    // The names of an index, for other filters; and parameters without a filter.
    shop.run("sample index n.grove --for sevens.grove -o again.grove")
        .ends(0);
    let line = "reconstruct sevens.grove --namespace again.grove --within 0..7000";
    assert_eq!(set(&shop.run(line).ends(0).out), set(&by_range));
    let line = "sample index 0..7000 -o bits.grove --bits 40000 --hashes 19 --names-as integer";
    shop.run(line).ends(0);
    let line = "reconstruct more.grove --namespace bits.grove --count";
    assert_eq!(shop.run(line).ends(0).out, "1001\n");
}

#[test]
fn an_index_of_texts_grows_by_texts() {
    let shop = words();
    shop.shell("head -2000 all.txt > first.txt; tail -1000 all.txt > rest.txt")
        .ends(0);
    shop.run("sample index first.txt --for words.grove -o n.grove")
        .ends(0);
    shop.run("sample index rest.txt --add-to n.grove").ends(0);
    let said = shop
        .run("reconstruct words.grove --namespace n.grove")
        .ends(0);
    let wanted = std::fs::read_to_string(shop.path("in.txt")).unwrap();
    assert_eq!(set(&said.out), set(&wanted));
    shop.run("sample index 0..5 --add-to n.grove")
        .fails_with(&["n.grove", "integers and texts"]);
    shop.run("sample index n.grove --add-to n.grove")
        .fails_with(&["cannot be added"]);
}

#[test]
fn an_index_that_would_help_is_named() {
    let shop = Shop::new();
    shop.write("n.txt", lines((0..50).map(|i| i * 49_999)));
    shop.run("filter build n.txt -o f.grove --items 1000 --keys integer --fpr 1e-6")
        .ends(0);
    let said = shop
        .run("reconstruct f.grove --namespace 0..2.5M --explain")
        .ends(0);
    assert_eq!(said.out, lines((0..50).map(|i| i * 49_999)));
    let hint = "bloomgrove sample index 0..2.5M --for f.grove -o FILE";
    assert!(
        said.err.contains(hint) && said.err.contains("MB"),
        "{}",
        said.err
    );
    shop.run("sample index 0..2.5M --for f.grove -o n.grove")
        .ends(0);
    let said = shop
        .run("reconstruct f.grove --namespace n.grove --explain --count")
        .ends(0);
    assert!(
        said.err.contains("by the index") && !said.err.contains(hint),
        "{}",
        said.err
    );
    assert_eq!(said.out, "50\n");
}

#[test]
fn the_papers_methods_work_under_their_names() {
    let shop = sevens();
    let wanted = std::fs::read_to_string(shop.path("sevens.txt")).unwrap();
    shop.write("hash.txt", lines((0..100).map(|i| i * 3)));
    shop.run("filter build hash.txt -o affine.grove --items 200 --hash affine --modulus 10007")
        .ends(0);
    let said = shop
        .run("reconstruct affine.grove --namespace 0..1000")
        .ends(0);
    for (line, wanted) in [
        ("sevens.grove --namespace 0..7000 --method tree", &wanted),
        ("sevens.grove --namespace sevens.txt --method tree", &wanted),
        (
            "sevens.grove --namespace 0..7000 --method dictionary",
            &wanted,
        ),
        (
            "affine.grove --namespace 0..1000 --method hash-invert",
            &said.out,
        ),
    ] {
        let found = shop.run(&format!("reconstruct {line}")).ends(0).out;
        assert_eq!(set(&found), set(wanted), "{line}");
        let said = shop
            .run(&format!("sample {line} -n 5 --seed 1 --explain"))
            .ends(0);
        assert_eq!(said.out.lines().count(), 5);
        assert!(set(wanted).is_superset(&set(&said.out)));
        assert_eq!(
            said.err.contains("not uniform"),
            !line.contains("dictionary"),
            "{}",
            said.err
        );
        assert!(said.err.contains("intersections"), "{}", said.err);
        // How deep a tree is depends on the machine.
        if !line.contains("tree") {
            assert_eq!(
                shop.run(&format!("sample {line} -n 5 --seed 1"))
                    .ends(0)
                    .out,
                said.out
            );
        }
    }
    let said = shop
        .run("sample affine.grove --namespace 0..1000 --method invert --explain")
        .ends(0);
    assert!(said.err.contains("invert: as asked for"), "{}", said.err);
    shop.run("reconstruct sevens.grove --namespace 0..7000 --method tree -o t.txt")
        .ends(0);
    assert_eq!(std::fs::read_to_string(shop.path("t.txt")).unwrap(), wanted);
}

#[test]
fn empty_and_full_filters_say_so() {
    let shop = Shop::new();
    shop.write("none.txt", "");
    shop.run("filter build none.txt -o none.grove --items 10 --keys integer")
        .ends(0);
    for verb in ["sample", "reconstruct", "reconstruct --count"] {
        let said = shop
            .run(&format!("{verb} none.grove --namespace 0..100"))
            .ends(1);
        assert!(said.err.contains("none.grove: it is empty"), "{}", said.err);
    }
    let said = shop
        .run("sample none.grove --namespace 0..100 --json")
        .ends(1);
    assert_eq!(json(&said)["drawn"].as_array().unwrap().len(), 0);

    shop.write("many.txt", lines(0..1000));
    shop.run("filter build many.txt -o full.grove --bits 64 --hashes 3 --keys integer")
        .ends(0);
    let said = shop
        .run("sample full.grove --namespace 0..1M --explain")
        .ends(0);
    assert!(
        said.err.contains("accepts any and says nothing"),
        "{}",
        said.err
    );
    let said = shop
        .run("sample full.grove --namespace 0..1M --explain --json")
        .ends(0);
    assert_eq!(json(&said)["expected_accuracy"], Value::Null);
    let said = shop
        .run("reconstruct full.grove --namespace 0..1000 --count")
        .ends(0);
    assert_eq!(said.out, "1000\n");

    // Two filters without a common bit.
    shop.write("one.txt", "1\n");
    shop.run("filter build one.txt -o one.grove --items 10 --keys integer")
        .ends(0);
    let line = ["sample", "one.grove & none.grove", "--namespace", "0..9"];
    let said = shop.run_args(&line).ends(1);
    assert!(said.err.contains("no bit is common"), "{}", said.err);
}

#[test]
fn wrong_requests_say_what_and_what_to_do() {
    let shop = sevens();
    shop.write("unsorted.txt", "1\n5\n3\n");
    shop.write("twice.txt", "1\n5\n5\n");
    shop.write("letters.txt", "a\nb\n");
    shop.write("empty.txt", "");
    shop.run("filter build letters.txt -o letters.grove --items 10")
        .ends(0);
    shop.run("filter build sevens.txt -o affine.grove --items 1000 --hash affine --modulus 10007")
        .ends(0);
    shop.run("sample index 0..100 --for sevens.grove -o names.grove")
        .ends(0);
    shop.run("sample index 0..100 --for letters.grove -o decimal.grove")
        .ends(0);
    shop.run("index build letters.txt -o sets.grove --items 10")
        .ends(0);
    let before = shop.names();
    for (line, parts) in [
        // Filters.
        (
            "sample missing.grove --namespace 0..9",
            vec!["missing.grove", "No such file"],
        ),
        (
            "sample letters.txt --namespace 0..9",
            vec!["letters.txt", "does not begin"],
        ),
        (
            "sample names.grove --namespace 0..9",
            vec!["an index of names", "sample info"],
        ),
        (
            "sample sets.grove --namespace 0..9",
            vec!["an index", "index info"],
        ),
        // Names.
        (
            "sample sevens.grove --namespace missing.txt",
            vec!["missing.txt", "no such file", "0..10M"],
        ),
        (
            "sample sevens.grove --namespace ../missing.txt",
            vec!["../missing.txt: no such file"],
        ),
        (
            "sample sevens.grove --namespace 9..3",
            vec!["no number in 9..3"],
        ),
        (
            "sample sevens.grove --namespace 0..ten",
            vec!["no such file", "a range"],
        ),
        (
            "sample sevens.grove --namespace 0..1x",
            vec!["no unit of count"],
        ),
        ("sample sevens.grove --namespace 5..", vec!["0..=9"]),
        (
            "sample sevens.grove --namespace sevens.grove",
            vec!["holds a filter", "names are needed"],
        ),
        (
            "sample sevens.grove --namespace unsorted.txt",
            vec!["unsorted.txt", "line 3", "sort -n -u"],
        ),
        (
            "sample sevens.grove --namespace twice.txt",
            vec!["twice.txt", "line 3", "only once"],
        ),
        (
            "sample letters.grove --namespace unsorted.txt",
            vec!["line 3", "\"3\"", "LC_ALL=C sort"],
        ),
        (
            "sample letters.grove --namespace twice.txt",
            vec!["line 3", "only once"],
        ),
        (
            "sample sevens.grove --namespace letters.txt",
            vec!["letters.txt", "\"a\"", "whole number"],
        ),
        (
            "sample sevens.grove --namespace empty.txt",
            vec!["empty.txt", "empty"],
        ),
        (
            "sample letters.grove --namespace empty.txt",
            vec!["empty.txt", "empty"],
        ),
        (
            "sample affine.grove --namespace 0..9 --names-as text",
            vec!["affine", "integers"],
        ),
        (
            "sample letters.grove --namespace names.grove",
            vec!["read as text", "sample index"],
        ),
        (
            "sample sevens.grove --namespace decimal.grove",
            vec!["read as integer"],
        ),
        (
            "sample affine.grove --namespace names.grove",
            vec!["for other filters", "it is for", "--for affine.grove"],
        ),
        (
            "sample sevens.grove --namespace 0..100 --within 200..300",
            vec!["--within 200..300", "no name of 0..100"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..100 --within 200..300",
            vec!["no name of 0..100"],
        ),
        (
            "sample letters.grove --namespace letters.txt --within 0..5",
            vec!["list of texts"],
        ),
        // Options without effect.
        (
            "sample sevens.grove --namespace 0..9 --sort",
            vec!["--sort means nothing for a range"],
        ),
        (
            "sample sevens.grove --namespace 0..9 --column id",
            vec!["--column means nothing"],
        ),
        (
            "sample sevens.grove --namespace names.grove --names-as text",
            vec!["--names-as means nothing"],
        ),
        (
            "sample sevens.grove --namespace 0..9 --method tree --distinct",
            vec!["--distinct means nothing"],
        ),
        (
            "sample sevens.grove --namespace 0..9 --method dictionary --memory 1GB",
            vec!["--memory means nothing"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 --method tree --threads 2",
            vec!["--threads means nothing"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 --count -o x.txt",
            vec!["--count", "--output"],
        ),
        (
            "sample sevens.grove --namespace 0..9 -n 0",
            vec!["draw 1 or more"],
        ),
        ("sample sevens.grove", vec!["--namespace"]),
        (
            "sample sevens.grove --namespace 0..9 --seed one",
            vec!["--seed"],
        ),
        (
            "sample sevens.grove --namespace 0..9 --memory lots",
            vec!["1GiB"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 --threads 0",
            vec!["--threads"],
        ),
        // Methods that are closed.
        (
            "sample sevens.grove --namespace 0..9 --method index",
            vec!["sample index 0..9 --for sevens.grove"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 --method index",
            vec!["sample index 0..9"],
        ),
        (
            "sample sevens.grove --namespace 0..9 --method invert",
            vec!["affine", "xxh3"],
        ),
        (
            "sample sevens.grove --namespace 0..9 --method hash-invert",
            vec!["affine", "xxh3"],
        ),
        (
            "sample letters.grove --namespace 0..9 --method tree",
            vec!["for integers", "--keys integer"],
        ),
        (
            "sample affine.grove --namespace sevens.txt --method hash-invert",
            vec!["a range of integers"],
        ),
        (
            "sample sevens.grove --namespace 0..7000 --method list --memory 100",
            vec!["--memory"],
        ),
        // Where members or indexes would go.
        (
            "reconstruct sevens.grove --namespace sevens.txt -o sevens.txt",
            vec!["would be replaced"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 -o sevens.grove",
            vec!["a .grove file", "lost"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 -o .",
            vec!["a folder"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 -o /dev/null",
            vec!["no ordinary file"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 -o no/x.txt",
            vec!["no/x.txt"],
        ),
        (
            "sample index 0..9 --for sevens.grove -o sevens.grove",
            vec!["this is a filter"],
        ),
        (
            "sample index 0..9 --for sevens.grove -o sevens.txt",
            vec!["not a .grove file"],
        ),
        (
            "sample index 0..9 -o x.grove",
            vec!["for which filters", "--for"],
        ),
        ("sample index 0..9 --for sevens.grove", vec!["--output"]),
        (
            "sample index 0..9 --for sevens.grove --seed 3 -o x.grove",
            vec!["--for", "--seed"],
        ),
        (
            "sample index 0..9 --add-to names.grove --lean",
            vec!["--add-to", "--lean"],
        ),
        (
            "sample index 0..9 --add-to sevens.grove",
            vec!["a filter", "filter info"],
        ),
        (
            "sample index 0..1T --for sevens.grove -o x.grove",
            vec!["up to 4294967295 names"],
        ),
        (
            "sample index 0..9 --for affine.grove --names-as text -o x.grove",
            vec!["affine"],
        ),
        // A name index where something else is needed.
        (
            "filter info names.grove",
            vec!["an index of names", "bloomgrove sample info"],
        ),
        ("filter check names.grove 5", vec!["bloomgrove sample info"]),
        ("index info names.grove", vec!["bloomgrove sample info"]),
        ("index verify names.grove", vec!["bloomgrove sample info"]),
        ("index which names.grove 5", vec!["bloomgrove sample info"]),
        ("sample info sevens.grove", vec!["bloomgrove filter info"]),
    ] {
        shop.run(line).fails_with(&parts);
    }
    assert_eq!(shop.names(), before, "nothing is left behind");

    // A folder is indexed without the names that lie in it.
    shop.write("sets/a.txt", "1\n");
    std::fs::copy(shop.path("names.grove"), shop.path("sets/names.grove")).unwrap();
    let said = shop.run("index build sets -o two.grove").ends(0);
    assert!(said.out.contains("1 set,"), "{}", said.out);
}

#[test]
fn damage_is_found_before_names_are_asked() {
    let shop = sevens();
    shop.run("sample index 0..7000 --for sevens.grove -o names.grove")
        .ends(0);
    for (name, line) in [
        ("sevens.grove", "sample sevens.grove --namespace 0..7000"),
        ("names.grove", "sample sevens.grove --namespace names.grove"),
    ] {
        let whole = std::fs::read(shop.path(name)).unwrap();
        let mut damaged = whole.clone();
        damaged[whole.len() - 128 - 64] ^= 4;
        shop.write(name, damaged);
        shop.run(line).fails_with(&[name, "damaged"]);
        shop.write(name, whole);
    }
    shop.run("sample sevens.grove --namespace names.grove")
        .ends(0);
}

/// Sends Ctrl-C to a command that would run for years.
fn interrupt(shop: &Shop, args: &[&str]) -> Said {
    let child = shop
        .command(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    Said {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn interrupted_work_leaves_nothing_behind() {
    let shop = sevens();
    let before = shop.names();
    let endless = "0..10_000_000_000_000_000";
    let line = ["reconstruct", "sevens.grove", "--namespace", endless];
    let said = interrupt(&shop, &[&line[..], &["-o", "out.txt"]].concat()).ends(130);
    for part in ["hours", "interrupted; nothing was changed"] {
        assert!(said.err.contains(part), "{}", said.err);
    }
    let said = interrupt(&shop, &line).ends(130);
    assert!(
        said.err.contains("these are not all members"),
        "{}",
        said.err
    );
    for method in ["list", "dictionary"] {
        let line = [
            "sample",
            "sevens.grove",
            "--namespace",
            endless,
            "--method",
            method,
        ];
        interrupt(&shop, &line).ends(130);
    }
    let tree = [&line[..], &["--method", "dictionary", "-o", "out.txt"]].concat();
    interrupt(&shop, &tree).ends(130);
    let index = [
        "sample",
        "index",
        "0..4G",
        "--for",
        "sevens.grove",
        "-o",
        "n.grove",
    ];
    let said = interrupt(&shop, &index).ends(130);
    assert!(said.err.contains("interrupted"), "{}", said.err);
    assert_eq!(shop.names(), before);
}

#[test]
fn a_closed_pipe_and_a_full_disk_are_noticed() {
    let shop = sevens();
    let said = shop.shell(
        "($BLOOMGROVE reconstruct sevens.grove --namespace 0..7000; echo $? >code) | head -1; cat code",
    );
    assert_eq!((said.out.as_str(), said.err.as_str()), ("0\n0\n", ""));
    shop.shell("$BLOOMGROVE reconstruct sevens.grove --namespace 0..7000 > /dev/full")
        .fails_with(&["No space left"]);
    shop.shell(
        "trap '' XFSZ; ulimit -f 1; exec $BLOOMGROVE reconstruct sevens.grove --namespace 0..7000 -o x",
    )
    .fails_with(&["x: writing", "too large"]);
    assert!(!shop.path("x").exists());
}

#[test]
fn every_verb_has_help_with_an_example() {
    let shop = Shop::new();
    for verb in ["sample", "sample index", "sample info", "reconstruct"] {
        let said = shop.run(&format!("{verb} --help")).ends(0);
        assert!(said.out.contains("Example"), "{verb}");
    }
}
