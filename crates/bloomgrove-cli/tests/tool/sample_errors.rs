//! `bloomgrove sample` and `reconstruct`: odd filters, wrong requests, notes.

use crate::support::{Shop, json, lines, sevens};

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
        assert!(
            said.err.contains("none.grove: the filter is empty"),
            "{}",
            said.err
        );
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
    assert!(said.err.contains("accepts everything"), "{}", said.err);
    let said = shop
        .run("sample full.grove --namespace 0..1M --explain --json")
        .ends(0);
    assert_eq!(json(&said)["expected_accuracy"], serde_json::Value::Null);
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
    assert!(said.err.contains("no bit in common"), "{}", said.err);
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
            vec!["letters.txt", "not a .grove file"],
        ),
        (
            "sample names.grove --namespace 0..9",
            vec!["a name index", "sample info"],
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
            vec!["the range 9..3 is empty"],
        ),
        (
            "sample sevens.grove --namespace 0..ten",
            vec!["no such file", "a range"],
        ),
        (
            "sample sevens.grove --namespace 0..1x",
            vec!["unknown unit"],
        ),
        ("sample sevens.grove --namespace 5..", vec!["0..=9"]),
        (
            "sample sevens.grove --namespace sevens.grove",
            vec!["contains a filter", "not names"],
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
            vec!["letters.txt", "\"a\"", "not an integer"],
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
            vec!["contains text keys", "sample index"],
        ),
        (
            "sample sevens.grove --namespace decimal.grove",
            vec!["contains integer keys"],
        ),
        (
            "sample affine.grove --namespace names.grove",
            vec![
                "for other filters",
                "the index is for",
                "--for affine.grove",
            ],
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
            vec!["--within applies only to integers"],
        ),
        // Options without effect.
        (
            "sample sevens.grove --namespace 0..9 --sort",
            vec!["--sort does not apply to a range"],
        ),
        (
            "sample sevens.grove --namespace 0..9 --column id",
            vec!["--column does not apply"],
        ),
        (
            "sample sevens.grove --namespace names.grove --names-as text",
            vec!["--names-as does not apply"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 --count -o x.txt",
            vec!["--count", "--output"],
        ),
        (
            "sample sevens.grove --namespace 0..9 -n 0",
            vec!["at least 1"],
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
            "sample sevens.grove --namespace 0..7000 --method list --memory 100",
            vec!["--memory"],
        ),
        // Where members or indexes would go.
        (
            "reconstruct sevens.grove --namespace sevens.txt -o sevens.txt",
            vec!["would overwrite the names"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 -o sevens.grove",
            vec!["this file is a filter", "would be overwritten"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 -o .",
            vec!["a directory"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 -o /dev/null",
            vec!["not a regular file"],
        ),
        (
            "reconstruct sevens.grove --namespace 0..9 -o no/x.txt",
            vec!["no/x.txt"],
        ),
        (
            "sample index 0..9 --for sevens.grove -o sevens.grove",
            vec!["this file is a filter"],
        ),
        (
            "sample index 0..9 --for sevens.grove -o sevens.txt",
            vec!["not a name index"],
        ),
        (
            "sample index 0..9 -o x.grove",
            vec!["the parameters of the filters are not known", "--for"],
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
            vec!["at most 4,294,967,295 names"],
        ),
        (
            "sample index 0..9 --for affine.grove --names-as text -o x.grove",
            vec!["affine"],
        ),
        // A name index where something else is needed.
        (
            "filter info names.grove",
            vec!["a name index", "bloomgrove sample info"],
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
fn every_verb_has_help_with_an_example() {
    let shop = Shop::new();
    for verb in ["sample", "sample index", "sample info", "reconstruct"] {
        let said = shop.run(&format!("{verb} --help")).ends(0);
        assert!(said.out.contains("Example"), "{verb}");
    }
}

/// Nobody takes false positives for items unknowingly.
#[test]
fn poor_accuracy_is_told_without_being_asked() {
    let shop = sevens();
    shop.run("filter build sevens.txt -o poor.grove --keys integer --fpr 20%")
        .ends(0);
    for line in [
        "sample poor.grove --namespace 0..100k -n 3",
        "reconstruct poor.grove --namespace 0..100k --count",
    ] {
        let said = shop.run(line).ends(0);
        assert!(said.err.contains("are false positives"), "{}", said.err);
    }
    let good = shop
        .run("sample sevens.grove --namespace 0..100k -n 3")
        .ends(0);
    assert_eq!(good.err, "");
    shop.run("filter build sevens.txt -o affine.grove --hash affine --modulus 7001 --items 1000")
        .ends(0);
    let said = shop
        .run("reconstruct affine.grove --namespace 0..20k --count")
        .ends(0);
    assert!(said.err.contains("up to its modulus 7001"), "{}", said.err);
}

#[test]
fn mistyped_filters_and_numbers_are_named() {
    let shop = sevens();
    let two = shop
        .run("sample sevens.grove sevens.grove --namespace 0..10")
        .ends(2);
    assert!(two.err.contains("'a.grove & b.grove'"), "{}", two.err);
    let not = shop
        .run_args(&[
            "sample",
            "sevens.grove & !sevens.grove",
            "--namespace",
            "0..10",
        ])
        .ends(2);
    assert!(not.err.contains("operators & and |"), "{}", not.err);
    shop.write("bad.txt", "1\n2\nthree\n");
    let bad = shop.run("sample sevens.grove --namespace bad.txt").ends(2);
    assert!(
        bad.err.contains("bad.txt: line 3: \"three\""),
        "{}",
        bad.err
    );
    let many = vec!["sevens.grove"; 1200].join("&");
    let many = shop
        .run_args(&["sample", &many, "--namespace", "0..10"])
        .ends(2);
    assert!(many.err.contains("too many filters"), "{}", many.err);
}
