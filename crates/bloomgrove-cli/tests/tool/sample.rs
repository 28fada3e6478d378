//! `bloomgrove sample` and `reconstruct`, as a user runs them.

use crate::support::{Shop, json, lines, set, sevens, words};
use serde_json::Value;

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
    assert!(
        said.err.contains("there are only 1,000 members"),
        "{}",
        said.err
    );
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
        "of which about",
        "probe: ",
        "actual ",
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
    // A file is replaced if that is said, and all there is to print is how many.
    shop.run("reconstruct words.grove --namespace all.txt -o found.txt")
        .fails_with(&["found.txt", "already exists", "--replace"]);
    shop.run("reconstruct words.grove --namespace all.txt -o found.txt --replace")
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
        said.err.contains("dropped 3,000 repeated names"),
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
        "text.grove accepts none of the 2,000 names",
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
        &["at character 11", "expected a name before this &"],
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
}
