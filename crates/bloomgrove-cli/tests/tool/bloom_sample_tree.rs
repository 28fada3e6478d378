//! `bloomgrove bloom-sample-tree`: built once, sampled, reconstructed, grown, and the paper's baselines.

use crate::support::{Shop, json, lines, set, sevens};

/// The filter of the sevens, and trees for it: complete, and pruned to the even numbers.
fn built() -> Shop {
    let shop = sevens();
    let said =
        shop.run("bloom-sample-tree build 0..7000 --for sevens.grove --depth 4 -o all.grove");
    let said = said.ends(0);
    assert!(
        said.out
            .starts_with("all.grove: complete tree of 7,000 names, 31 nodes, 4 levels"),
        "{}",
        said.out
    );
    shop.write("even.txt", lines((0..3500).map(|i| i * 2)));
    shop.run(
        "bloom-sample-tree build even.txt --within 0..1M --for sevens.grove --leaf 100 -o even.grove",
    )
    .ends(0);
    shop
}

#[test]
fn all_members_are_listed_and_counted() {
    let shop = built();
    let wanted = std::fs::read_to_string(shop.path("sevens.txt")).unwrap();
    for method in ["tree", "dictionary"] {
        let line = "bloom-sample-tree reconstruct all.grove sevens.grove --method";
        let said = shop.run(&format!("{line} {method}")).ends(0);
        assert_eq!(said.out, wanted, "{method}");
    }
    let said = shop
        .run("bloom-sample-tree reconstruct even.grove sevens.grove --count --costs")
        .ends(0);
    assert_eq!(said.out, "500\n");
    for part in ["names tested", "filters intersected", "nodes entered"] {
        assert!(said.err.contains(part), "{}", said.err);
    }
    // The paper's threshold visits less, and may lose members; common-bit visits most.
    let counts = ["100", "safe", "common-bit"].map(|threshold| {
        let said = shop.run(&format!(
            "bloom-sample-tree reconstruct all.grove sevens.grove --json --count --costs \
             --threshold {threshold}"
        ));
        let facts = json(&said);
        let number = |value: &serde_json::Value| value.as_u64().unwrap();
        (
            number(&facts["costs"]["names_tested"]),
            number(&facts["count"]),
        )
    });
    assert!(counts[0].0 < 7000 && counts[0].1 < 1000, "{counts:?}");
    assert_eq!(counts[1..], [(7000, 1000), (7000, 1000)]);
    shop.run("bloom-sample-tree reconstruct all.grove sevens.grove -o out.txt")
        .ends(0);
    assert_eq!(
        std::fs::read_to_string(shop.path("out.txt")).unwrap(),
        wanted
    );
    shop.run("bloom-sample-tree reconstruct all.grove sevens.grove -o out.txt")
        .fails_with(&["--replace"]);
}

#[test]
fn samples_are_members_and_repeat_with_their_seed() {
    let shop = built();
    let wanted = std::fs::read_to_string(shop.path("sevens.txt")).unwrap();
    for (line, uniform) in [
        ("all.grove sevens.grove", false),
        ("even.grove sevens.grove", false),
        ("all.grove sevens.grove --method dictionary", true),
    ] {
        let line = format!("bloom-sample-tree sample {line} -n 5 --seed 1 --costs");
        let said = shop.run(&line).ends(0);
        assert_eq!(said.out.lines().count(), 5);
        assert!(set(&wanted).is_superset(&set(&said.out)));
        assert_eq!(
            said.err.contains("does not sample uniformly"),
            !uniform,
            "{}",
            said.err
        );
        assert!(said.err.contains("per sample"), "{}", said.err);
        assert_eq!(shop.run(&line).ends(0).out, said.out);
    }
    let said = shop.run("bloom-sample-tree sample all.grove sevens.grove -n 3 --json --costs");
    let facts = json(&said.ends(0));
    assert_eq!(facts["drawn"].as_array().unwrap().len(), 3);
    assert_eq!(facts["method"], "tree");
    assert!(facts["costs"]["intersections"].as_u64().unwrap() > 0);
}

#[test]
fn hash_invert_is_for_affine_functions() {
    let shop = built();
    shop.write("hash.txt", lines((0..100).map(|i| i * 3)));
    shop.run("filter build hash.txt -o affine.grove --items 200 --hash affine --modulus 10007")
        .ends(0);
    shop.run("bloom-sample-tree build 0..1000 --for affine.grove -o affine.bst.grove")
        .ends(0);
    let wanted = shop
        .run("reconstruct affine.grove --namespace 0..1000")
        .ends(0)
        .out;
    for method in ["tree", "hash-invert", "dictionary"] {
        let with = format!("affine.bst.grove affine.grove --method {method}");
        let said = shop.run(&format!("bloom-sample-tree reconstruct {with}"));
        assert_eq!(set(&said.ends(0).out), set(&wanted), "{method}");
        let said = shop.run(&format!("bloom-sample-tree sample {with} -n 5"));
        assert!(set(&wanted).is_superset(&set(&said.ends(0).out)));
    }
    shop.run("bloom-sample-tree sample all.grove sevens.grove --method hash-invert")
        .ends(2);
    shop.run("bloom-sample-tree reconstruct all.grove sevens.grove --method hash-invert")
        .fails_with(&["affine", "xxh3"]);
}

#[test]
fn names_that_come_into_use_are_found() {
    let shop = built();
    let count = || {
        let said = shop.run("bloom-sample-tree reconstruct even.grove sevens.grove --count");
        said.ends(0).out
    };
    let said = shop
        .run("bloom-sample-tree add even.grove 7 9 7 14")
        .ends(0);
    assert!(said.out.contains("2 new names added"), "{}", said.out);
    assert_eq!(count(), "501\n");
    let said = shop
        .run("bloom-sample-tree add even.grove --names-from sevens.txt")
        .ends(0);
    assert!(said.out.contains("499 new names"), "{}", said.out);
    assert_eq!(count(), "1000\n");
    let said = json(
        &shop
            .run("bloom-sample-tree add even.grove 7 11 --json")
            .ends(0),
    );
    assert_eq!(
        (&said["added"], &said["file"]),
        (&1.into(), &"even.grove".into())
    );
    shop.run("verify even.grove").ends(0);
    let facts = json(&shop.run("bloom-sample-tree info even.grove --json").ends(0));
    assert_eq!(
        (&facts["kind"], &facts["names"]),
        (&"pruned".into(), &4002.into())
    );
    assert_eq!(facts["end"], 1_000_000);
}

#[test]
fn errors_say_what_is_wrong() {
    let shop = built();
    shop.write("words.txt", "one\n7\n");
    shop.run("filter build words.txt -o words.grove").ends(0);
    shop.run("filter build sevens.txt -o other.grove --keys integer --seed 3 --items 100")
        .ends(0);
    shop.write("empty.txt", "");
    let before = shop.names();
    for (line, parts) in [
        ("build 0..100 -o t.grove", &["--for", "--items"][..]),
        (
            "build 0..100 --for words.grove -o t.grove",
            &["text", "--keys integer"],
        ),
        (
            "build 0..100 --for sevens.grove --depth 9 -o t.grove",
            &["at most 6"],
        ),
        (
            "build 0..100 --for sevens.grove --items 9 -o t.grove",
            &["--for", "--items"],
        ),
        (
            "build 0..100 --for sevens.grove --within 0..9 -o t.grove",
            &["--within", "list"],
        ),
        (
            "build 0..100 --for sevens.grove --leaf 0 -o t.grove",
            &["--leaf 0"],
        ),
        (
            "build 0..100 --for sevens.grove -o sevens.grove",
            &["would be overwritten"],
        ),
        (
            "build 9..3 --for sevens.grove -o t.grove",
            &["the range 9..3 is empty"],
        ),
        (
            "build words.txt --for sevens.grove -o t.grove",
            &["words.txt", "one"],
        ),
        (
            "build empty.txt --for sevens.grove -o t.grove",
            &["--within"],
        ),
        (
            "build even.txt --within 0..99 --for sevens.grove -o t.grove",
            &["not in 0..99"],
        ),
        (
            "build gone.txt --for sevens.grove -o t.grove",
            &["gone.txt", "0..10M"],
        ),
        (
            "sample sevens.grove all.grove",
            &["a BloomSampleTree", "filter info"],
        ),
        ("sample all.grove words.grove", &["contains text keys"]),
        (
            "sample all.grove other.grove",
            &["seed 3", "build NAMES --for other.grove"],
        ),
        ("sample all.grove sevens.grove -n 0", &["1 or more"]),
        (
            "sample all.grove sevens.grove --threshold=-1",
            &["--threshold"],
        ),
        (
            "sample all.grove sevens.grove --threshold much",
            &["common-bit"],
        ),
        (
            "sample all.grove sevens.grove --method dictionary --threshold 1",
            &["requires --method tree"],
        ),
        (
            "sample even.grove sevens.grove --method hash-invert",
            &["pruned"],
        ),
        ("add all.grove 5", &["complete", "--within"]),
        ("add even.grove 1000000", &["not in 0..1000000"]),
        ("add even.grove", &["no name given"]),
        ("add even.grove seven", &["seven"]),
    ] {
        shop.run(&format!("bloom-sample-tree {line}"))
            .fails_with(parts);
    }
    shop.run("filter build empty.txt -o none.grove --keys integer --bits 28800 --hashes 20")
        .ends(0);
    shop.run("bloom-sample-tree build 0..99 --for none.grove -o none.bst.grove")
        .ends(0);
    let said = shop
        .run("bloom-sample-tree sample none.bst.grove none.grove")
        .ends(1);
    assert!(said.err.contains("none of the 99 names"), "{}", said.err);
    let now = shop.names();
    assert!(
        now.iter()
            .all(|name| name.starts_with("none") || before.contains(name))
    );
}
