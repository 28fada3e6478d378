//! `bloomgrove tune bloom-tree` and `tune wire`, as a user runs them.

use crate::support::{Shop, json, lines};

#[test]
fn the_front_of_trees_is_printed_and_written() {
    let shop = Shop::new();
    let said = shop
        .run("tune bloom-tree --items 1000 --csv front.csv")
        .ends(0);
    assert!(said.out.starts_with("rho  m "), "{}", said.out);
    assert!(said.out.contains("196 of 196 configurations evaluated"));
    assert!(said.out.contains("measured in the paper's way"));
    let csv = std::fs::read_to_string(shop.path("front.csv")).unwrap();
    assert!(csv.starts_with("rho,m,k,expected_fpr,geometric_fpr,"));

    let facts = json(&shop.run("tune bloom-tree --items 1000 --json").ends(0));
    let front = facts["front"].as_array().unwrap();
    assert_eq!(front.len() + 1, csv.lines().count());
    for pair in front.windows(2) {
        let of = |at: usize, name: &str| pair[at][name].as_f64().unwrap();
        // By rising rate, and so by falling size: else one would better the other.
        assert!(of(0, "expected_fpr") <= of(1, "expected_fpr"));
        assert!(of(0, "context_bits_per_item") >= of(1, "context_bits_per_item"));
        // The paper's mean is never above the rate.
        assert!(of(0, "geometric_fpr") <= of(0, "expected_fpr") * 1.001);
    }
}

#[test]
fn trees_are_bred_by_the_papers_objective_too() {
    let shop = Shop::new();
    let line =
        "tune bloom-tree --items 500 --depth 3 --rho 0.5,1 --rounds 3 --objective geometric --json";
    let facts = json(&shop.run(line).ends(0));
    assert_eq!(
        (&facts["rounds"], &facts["possible"]),
        (&3.into(), &10976.into())
    );
    assert!(facts["tried"].as_u64().unwrap() <= 60);
    assert_eq!(facts, json(&shop.run(line).ends(0)));
    let other = json(&shop.run(&format!("{line} --seed 2")).ends(0));
    assert_ne!(facts["front"], other["front"]);
}

#[test]
fn what_no_search_can_do_is_said() {
    let shop = Shop::new();
    shop.run("tune bloom-tree --depth 4 --search exhaustive")
        .fails_with(&["153,664 configurations", "genetic"]);
    shop.run("tune bloom-tree --rho 0").fails_with(&["above 0"]);
    shop.run("tune bloom-tree --items 0")
        .fails_with(&["at least 1"]);
    shop.run("tune bloom-tree --depth 9")
        .fails_with(&["--depth"]);
}

/// What is recommended is made by the commands that are printed, and has the bytes that were
/// predicted.
#[test]
fn the_commands_make_what_was_predicted() {
    let shop = Shop::new();
    shop.write("keys.txt", lines((0..30_000).map(|i| format!("user-{i}"))));
    for limits in [
        "--fpr 0.2",
        "--fpr 1e-3",
        "--fpr 1e-4 --memory 20MB",
        "--fpr 0.3 --hashes 4",
    ] {
        let facts = json(
            &shop
                .run(&format!("tune wire --items 30k {limits} --json"))
                .ends(0),
        );
        let commands = facts["commands"].as_array().unwrap();
        for command in commands {
            let line = command.as_str().unwrap();
            let line = line.replace("bloomgrove ", "").replace("KEYS", "keys.txt");
            shop.run(&line).ends(0);
        }
        let said = facts["recommended"]["wire_bytes"].as_f64().unwrap();
        let made = std::fs::metadata(shop.path("SET.msg")).unwrap().len() as f64;
        assert!(
            (said / made - 1.0).abs() < 0.02,
            "{limits}: {said} for {made}"
        );
        for name in ["SET.msg", "SET.grove"] {
            let _ = std::fs::remove_file(shop.path(name));
        }
    }
}

/// Where the sparse filter is too large once expanded, a tree may be the smallest; not if it saves
/// next to nothing for many times the memory.
#[test]
fn a_tree_is_as_large_as_predicted_and_not_taken_for_little() {
    let shop = Shop::new();
    shop.write("keys.txt", lines((0..30_000).map(|i| format!("user-{i}"))));
    let facts = json(
        &shop
            .run("tune wire --items 30k --fpr 1e-4 --memory 25MB --json")
            .ends(0),
    );
    let candidates = facts["candidates"].as_array().unwrap();
    let sparse = candidates[1]["excluded"].as_str().unwrap();
    assert!(sparse.contains("more than 25,000,000 bytes"), "{sparse}");
    let of = |structure: &str| {
        let possible = candidates.iter().filter(|c| c["excluded"].is_null());
        let mut found = possible.filter(|c| c["structure"] == structure);
        found.next().unwrap()
    };
    let (tree, filter) = (of("BloomTree"), of("compressed filter"));
    assert!(tree["wire_bytes"].as_u64() < filter["wire_bytes"].as_u64());
    assert_eq!(&facts["recommended"], filter);
    let why = facts["why"].as_str().unwrap();
    assert!(why.contains("times the memory"), "{why}");

    let levels = tree["levels"].as_array().unwrap();
    let list = |name: &str| {
        levels
            .iter()
            .map(|l| l[name].to_string())
            .collect::<Vec<_>>()
    };
    let (bits, hashes) = (list("bits"), list("hashes"));
    let line = format!(
        "bloom-tree build keys.txt --compressed -o SET.msg --root-bits {} --bits {} --hashes {}",
        bits[0],
        bits[1..].join(","),
        hashes.join(",")
    );
    shop.run(&line).ends(0);
    let made = std::fs::metadata(shop.path("SET.msg")).unwrap().len() as f64;
    let said = tree["wire_bytes"].as_f64().unwrap();
    assert!((said / made - 1.0).abs() < 0.02, "{said} for {made}");
}

#[test]
fn advice_is_printed_tried_and_written() {
    let shop = Shop::new();
    let said = shop.run("tune wire --items 20k --fpr 1% --try").ends(0);
    for part in [
        "information bound",
        "Golomb-coded set",
        "standard filter",
        "blocked filter",
        "use a compressed filter with 1 hash: with 1 hash instead of 6, most bits are 0, so it",
        "; a standard filter takes",
        ", and the best BloomTree (",
        "bloomgrove filter build KEYS",
        "bytes; ",
        "absent keys accepted",
    ] {
        assert!(said.out.contains(part), "no {part:?} in {}", said.out);
    }
    let said = shop
        .run("tune wire --items 20k --fpr 0.3,1e-3 --csv w.csv")
        .ends(0);
    assert_eq!(said.out.lines().count(), 3, "{}", said.out);
    let csv = std::fs::read_to_string(shop.path("w.csv")).unwrap();
    assert_eq!(
        csv.lines().filter(|line| line.contains(",true,")).count(),
        2
    );
}

#[test]
fn bytes_are_kept_within() {
    let shop = Shop::new();
    let line = "tune wire --items 30k --bytes 25kB --try --json";
    let facts = json(&shop.run(line).ends(0));
    assert_eq!(facts["target_bytes"], 25_000);
    let made = facts["tried"]["wire_bytes"].as_u64().unwrap();
    assert!((24_000..=25_000).contains(&made), "{made}");
    let (asked, accepted) = (&facts["tried"]["asked"], &facts["tried"]["accepted"]);
    let rate = accepted.as_f64().unwrap() / asked.as_f64().unwrap();
    let said = facts["recommended"]["fpr"].as_f64().unwrap();
    assert!((rate / said - 1.0).abs() < 0.15, "{rate} for {said}");
}

#[test]
fn wishes_that_nothing_fulfils_say_what_would() {
    let shop = Shop::new();
    shop.run("tune wire --items 1M --fpr 1e-3 --memory 1kB")
        .fails_with(&["1,000 bytes of memory allowed", "would be enough"]);
    shop.run("tune wire --items 1M --bytes 50")
        .fails_with(&["a message of 50 bytes; its head alone takes"]);
    shop.run("tune wire --items 1M --bytes 1")
        .fails_with(&["a message of 1 byte;"]);
    shop.run("tune wire --items 1M")
        .fails_with(&["--fpr <RATE>", "|--bytes <SIZE>"]);
    shop.run("tune wire --items 1M --fpr 0.1 --bytes 1MB")
        .fails_with(&["--bytes"]);
    shop.run("tune wire --items 0 --fpr 0.1")
        .fails_with(&["at least 1"]);
}
