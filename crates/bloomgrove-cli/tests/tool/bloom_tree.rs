//! `bloomgrove bloom-tree`: built, asked, sent, combined, and everything that can be asked wrong.

use crate::support::Shop;

/// Two lists of 2000 words with 500 in common.
fn shop() -> Shop {
    let shop = Shop::new();
    let list = |from: usize| {
        (from..from + 2000)
            .map(|i| format!("doc-{i}\n"))
            .collect::<String>()
    };
    shop.write("north.txt", list(0));
    shop.write("south.txt", list(1500));
    shop
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn built_queried_and_inspected() {
    let shop = shop();
    let said = shop
        .run("bloom-tree build north.txt -o north.grove")
        .ends(0);
    assert!(said.out.contains("2,000 keys read"), "{}", said.out);
    let said = shop
        .run("bloom-tree check north.grove doc-0 doc-1999")
        .ends(0);
    assert_eq!(said.out, "doc-0\tmaybe\ndoc-1999\tmaybe\n");
    shop.run("bloom-tree check north.grove --keys-from north.txt -q")
        .ends(0);
    let said = shop
        .run("bloom-tree check north.grove --keys-from north.txt")
        .ends(0);
    assert_eq!(said.out.matches("maybe").count(), 2000);

    let facts = json(
        &shop
            .run("bloom-tree info north.grove --json --queries 200k")
            .ends(0)
            .out,
    );
    let rate = |name: &str| facts[name].as_f64().unwrap();
    // The three rates, never one for another.
    assert!((0.03..0.09).contains(&rate("expected_fpr")), "{facts}");
    assert!(
        (rate("measured_fpr") / rate("expected_fpr") - 1.0).abs() < 0.1,
        "{facts}"
    );
    assert!(
        rate("geometric_mean") < rate("expected_fpr") / 3.0,
        "{facts}"
    );
    assert_eq!(facts["levels"].as_array().unwrap().len(), 3);
    let said = shop.run("bloom-tree info north.grove --verify").ends(0);
    for part in [
        "expected false positives",
        "measured",
        "not a rate",
        "by context",
        "standard filter",
    ] {
        assert!(said.out.contains(part), "no {part} in {}", said.out);
    }
}

/// The paper's hashing repeats itself in small filters: the rate that is announced must be that of
/// the tree, which accepts several times as many absent keys as with independent functions.
#[test]
fn the_rate_announced_for_the_papers_hashing_is_the_measured_one() {
    let shop = shop();
    let line = "bloom-tree build north.txt -o north.grove --derivation kirsch-mitzenmacher --json";
    let announced = json(&shop.run(line).ends(0).out)["expected_fpr"]
        .as_f64()
        .unwrap();
    let facts = json(&shop.run("bloom-tree info north.grove --json").ends(0).out);
    let rate = |name: &str| facts[name].as_f64().unwrap();
    assert_eq!(announced, rate("expected_fpr"));
    assert!(
        (rate("measured_fpr") / announced - 1.0).abs() < 0.05,
        "{facts}"
    );
    let said = shop.run("bloom-tree info north.grove --queries 0").ends(0);
    assert!(
        said.out.contains("double hashing as in the paper"),
        "{}",
        said.out
    );
}

#[test]
fn only_families_that_can_be_used_are_listed() {
    let shop = Shop::new();
    for command in ["bloom-tree build", "buffered build"] {
        for help in ["-h", "--help"] {
            let said = shop.run(&format!("{command} {help}")).ends(0).out;
            assert!(
                said.contains("siphash") && said.contains("murmur3"),
                "{said}"
            );
            assert!(!said.contains("affine"), "{said}");
        }
        shop.run(&format!("{command} k.txt -o f.grove --hash fnv"))
            .fails_with(&["fnv", "siphash"]);
    }
    let said = shop.run("filter build -h").ends(0).out;
    assert!(said.contains("affine"), "{said}");
}

#[test]
fn sent_and_received() {
    let shop = shop();
    shop.run("bloom-tree build north.txt -o north.grove")
        .ends(0);
    let by = |coding: &str| {
        let line =
            format!("bloom-tree compress north.grove -o north.tree --coding {coding} --json");
        json(&shop.run(&line).ends(0).out)["bytes"]
            .as_u64()
            .unwrap()
    };
    let (levels, context) = (by("levels"), by("context"));
    assert!(context < levels, "{context} {levels}");
    assert_eq!(
        context,
        std::fs::metadata(shop.path("north.tree")).unwrap().len()
    );
    // A compressed tree is asked as it is, or expanded to the same bytes but for what was noted.
    let asked = "--keys-from north.txt --keys-from south.txt";
    let said = |tree: &str| {
        shop.run(&format!("bloom-tree check {tree} {asked}"))
            .ends(0)
            .out
    };
    assert_eq!(said("north.tree"), said("north.grove"));
    shop.run("bloom-tree expand north.tree -o again.grove")
        .ends(0);
    assert_eq!(said("again.grove"), said("north.grove"));
    // Built and sent in one go, it is the same message.
    shop.run("bloom-tree build north.txt -o direct.tree --compressed")
        .ends(0);
    let read = |name: &str| std::fs::read(shop.path(name)).unwrap();
    assert!(read("direct.tree") == read("north.tree"));
    // Through pipes, too.
    let line =
        "$BLOOMGROVE bloom-tree compress north.grove -o - | $BLOOMGROVE bloom-tree check - doc-0";
    assert_eq!(shop.shell(line).ends(0).out, "doc-0\tmaybe\n");
    let said = shop.run("bloom-tree info north.tree").ends(0);
    assert!(said.out.contains("message"), "{}", said.out);
}

#[test]
fn integers_stay_integers_on_the_wire() {
    let shop = Shop::new();
    shop.write("ids.txt", "1\n2\n3\n");
    shop.run("bloom-tree build ids.txt -o ids.tree --compressed --keys integer --items 100")
        .ends(0);
    shop.run("bloom-tree check ids.tree 2 -q").ends(0);
    shop.run("bloom-tree check ids.tree 2 -q --keys-as text")
        .ends(1);
    shop.run("bloom-tree check ids.tree two")
        .fails_with(&["not an integer"]);
}

#[test]
fn common_and_all_keys() {
    let shop = shop();
    let shape = "--items 4000 --bits 5,3,3 --hashes 6,3,2,2";
    shop.run(&format!(
        "bloom-tree build north.txt -o north.grove {shape}"
    ))
    .ends(0);
    shop.run(&format!(
        "bloom-tree build south.txt -o south.tree --compressed {shape}"
    ))
    .ends(0);
    let said = shop
        .run("bloom-tree intersect north.grove south.tree -o both.grove --json")
        .ends(0);
    let common = json(&said.out)["common_items"].as_f64().unwrap();
    assert!((400.0..600.0).contains(&common), "{common}");
    shop.write(
        "both.txt",
        (1500..2000)
            .map(|i| format!("doc-{i}\n"))
            .collect::<String>(),
    );
    let said = shop
        .run("bloom-tree check both.grove --keys-from both.txt")
        .ends(0);
    assert_eq!(said.out.matches("maybe").count(), 500);
    // What one of the two does not have, both together hardly have.
    let said = shop
        .run("bloom-tree check both.grove --keys-from north.txt")
        .ends(0);
    assert!(said.out.matches("maybe").count() < 520);
    shop.run("bloom-tree union north.grove south.tree -o all.tree --compressed")
        .ends(0);
    let said = shop
        .run("bloom-tree check all.tree --keys-from north.txt --keys-from south.txt")
        .ends(0);
    assert_eq!(said.out.matches("maybe").count(), 4000);
}

#[test]
fn parts_threads_and_families() {
    let shop = shop();
    let same = |options: &str| {
        shop.run(&format!(
            "bloom-tree build north.txt -o one.grove --threads 1 {options}"
        ))
        .ends(0);
        shop.run(&format!(
            "bloom-tree build north.txt -o four.grove --threads 4 {options}"
        ))
        .ends(0);
        let read = |name: &str| std::fs::read(shop.path(name)).unwrap();
        assert!(read("one.grove") == read("four.grove"), "{options}");
    };
    same("");
    same("--partitioned");
    same("--partitioned --hash murmur3 --seed 3 --derivation kirsch-mitzenmacher");
    let input = std::fs::read(shop.path("north.txt")).unwrap();
    let said = shop
        .run_with_input("bloom-tree build - -o piped.grove --items 2000", &input)
        .ends(0);
    assert!(said.out.contains("2,000 keys read"), "{}", said.out);
}

#[test]
fn errors_say_what_is_wrong() {
    let shop = shop();
    shop.run("bloom-tree build north.txt -o north.grove")
        .ends(0);
    shop.run("bloom-tree build south.txt -o south.grove --seed 7")
        .ends(0);
    shop.run("bloom-tree build north.txt -o north.tree --compressed")
        .ends(0);
    shop.run("filter build north.txt -o filter.grove").ends(0);
    let fails = |line: &str, parts: &[&str]| shop.run(line).fails_with(parts);
    fails(
        "bloom-tree build north.txt -o t.grove --bits 4 --hashes 6",
        &["one more"],
    );
    fails(
        "bloom-tree build north.txt -o t.grove --bits 65 --hashes 6,1",
        &["65 bits on level 2"],
    );
    fails(
        "bloom-tree build north.txt -o t.grove --rho 0",
        &["--rho 0"],
    );
    fails(
        "bloom-tree build north.txt -o t.grove --hash affine",
        &["--hash affine", "one hash of the key"],
    );
    fails(
        "bloom-tree build north.txt -o t.grove --layout blocked",
        &["standard layout"],
    );
    fails("bloom-tree build missing.txt -o t.grove", &["missing.txt"]);
    fails("bloom-tree build - -o t.grove", &["--items"]);
    fails(
        "bloom-tree build north.txt -o t.grove --items 1e14 --bits 64,64,64 --hashes 6,1,1,1",
        &["bits"],
    );
    fails("bloom-tree check north.grove", &["no key"]);
    fails(
        "bloom-tree check filter.grove x",
        &["contains a filter, not a BloomTree", "filter info"],
    );
    fails(
        "filter check north.grove x",
        &["contains a BloomTree, not a filter", "bloom-tree info"],
    );
    fails(
        "bloom-tree intersect north.grove south.grove -o t.grove",
        &["seed 0", "seed 7"],
    );
    fails("bloom-tree expand north.grove -o t.grove", &["north.grove"]);
    fails(
        "bloom-tree expand north.tree -o t.grove --memory 100",
        &["100"],
    );
    fails("bloom-tree check north.tree x --memory 100", &["100"]);
    fails(
        "bloom-tree compress north.grove -o north.grove",
        &["would be overwritten"],
    );
    fails(
        "bloom-tree compress north.grove -o north.txt",
        &["north.txt", "would be overwritten"],
    );
    fails(
        "bloom-tree build north.txt --compressed -o north.txt",
        &["would be overwritten"],
    );
    fails(
        "bloom-tree compress north.grove -o /dev/stdout",
        &["- for standard output"],
    );
    shop.shell("mkfifo pipe");
    fails("bloom-tree check pipe x", &["not a regular file"]);
    let good = std::fs::read(shop.path("north.tree")).unwrap();
    shop.write("cut.tree", &good[..good.len() / 2]);
    fails("bloom-tree check cut.tree x", &["cut.tree", "cut short"]);
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    shop.write("flipped.tree", &flipped);
    fails(
        "bloom-tree info flipped.tree",
        &["flipped.tree", "checksum"],
    );
    // No attempt has left anything behind.
    assert!(
        !shop
            .names()
            .iter()
            .any(|name| name == "t.grove" || name.ends_with(".tmp"))
    );
}
