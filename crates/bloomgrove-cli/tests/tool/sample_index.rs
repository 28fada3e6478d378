//! `bloomgrove sample index` and `sample info`, as a user runs them.

use crate::support::{Shop, json, lines, set, sevens, words};

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
    assert!(said.out.contains("bytes per name"));
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
    assert!(said.err.contains("index: as requested"), "{}", said.err);

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
        "40,000 bits",
        "kept",
        "in its place",
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
        .fails_with(&["n.grove", "integers and strings"]);
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
        said.err.contains("using the index") && !said.err.contains(hint),
        "{}",
        said.err
    );
    assert_eq!(said.out, "50\n");
}
