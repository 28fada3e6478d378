//! `bloomgrove filter`, `tune` and `hash`, as a user runs them.

use std::os::unix::ffi::OsStrExt;

use crate::support::{Shop, json};

fn lines(range: std::ops::Range<u32>) -> String {
    range.map(|i| format!("key-{i}\n")).collect()
}

#[test]
fn build_check_info() {
    let shop = Shop::new();
    shop.write("keys.txt", lines(0..1000));
    let said = shop.run("filter build keys.txt -o f.grove").ends(0);
    assert!(said.out.contains("1,000 keys read"), "{}", said.out);

    let said = shop
        .run("filter check f.grove key-1 key-999 nothing")
        .ends(0);
    assert_eq!(said.out, "key-1\tmaybe\nkey-999\tmaybe\nnothing\tno\n");
    assert_eq!(
        shop.run("filter check f.grove nothing").ends(1).out,
        "nothing\tno\n"
    );
    assert_eq!(shop.run("filter check -q f.grove key-5").ends(0).out, "");
    let said = shop.run("filter check --json f.grove key-5").ends(0);
    assert_eq!(said.out, "{\"key\":\"key-5\",\"maybe\":true}\n");

    let said = shop.run("filter info f.grove --verify").ends(0);
    for part in ["blocked", "xxh3", "about ", "valid", "target rate"] {
        assert!(said.out.contains(part), "{}", said.out);
    }
    let said = shop.run("filter info f.grove --json").ends(0);
    let facts: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(facts["layout"], "blocked");
    let items = facts["estimated_items"].as_f64().unwrap();
    assert!((items / 1000.0 - 1.0).abs() < 0.05, "{items}");
}

#[test]
fn every_present_key_is_found_from_any_kind_of_input() {
    let shop = Shop::new();
    shop.write("a.txt", lines(0..500));
    shop.shell("gzip -k a.txt && printf 'last without line feed' > b.txt && printf 'dos\\r\\nlines\\r\\n' > c.txt")
        .ends(0);
    let plain = zstd::encode_all(lines(500..1000).as_bytes(), 3).unwrap();
    shop.write("d.zst", plain);
    shop.run_with_input(
        "filter build a.txt.gz b.txt c.txt d.zst - -o f.grove",
        b"from standard input\n\n",
    )
    .ends(0);
    shop.write(
        "all.txt",
        lines(0..1000) + "last without line feed\ndos\nlines\nfrom standard input\n\n",
    );
    let said = shop.run("filter check f.grove --keys-from all.txt").ends(0);
    assert_eq!(said.out.lines().count(), 1005);
    assert!(said.out.lines().all(|line| line.ends_with("\tmaybe")));
}

#[test]
fn the_example_of_spyropoulos_on_the_command_line() {
    let shop = Shop::new();
    shop.write("set.txt", "19\n132\n25\n");
    shop.run(
        "filter build set.txt -o a.grove --bits 10 --hashes 2 --hash affine --modulus 10 \
         --coefficients 1,0 5,4",
    )
    .ends(0);
    let said = shop.run("filter check a.grove 133 25 24").ends(0);
    assert_eq!(said.out, "133\tno\n25\tmaybe\n24\tmaybe\n");
    shop.run("filter check a.grove twelve")
        .fails_with(&["twelve", "not an integer"]);
}

#[test]
fn union_intersect_and_fold() {
    let shop = Shop::new();
    shop.write("a.txt", lines(0..600));
    shop.write("b.txt", lines(400..1000));
    for name in ["a", "b"] {
        shop.run(&format!(
            "filter build {name}.txt -o {name}.grove --items 1000"
        ))
        .ends(0);
    }
    shop.run("filter union a.grove b.grove -o u.grove").ends(0);
    shop.run("filter intersect a.grove b.grove -o i.grove")
        .ends(0);
    shop.write("all.txt", lines(0..1000));
    shop.write("common.txt", lines(400..600));
    for (filter, keys, count) in [("u", "all", 1000), ("i", "common", 200)] {
        let line = format!("filter check {filter}.grove --keys-from {keys}.txt");
        let said = shop.run(&line).ends(0);
        assert_eq!(said.out.matches("\tmaybe").count(), count);
    }
    // The fill of the intersection alone would suggest more keys than there are.
    let said = shop
        .run("filter intersect a.grove b.grove -o i.grove")
        .ends(0);
    let number = |text: &str| {
        text.split_once("about ")
            .unwrap()
            .1
            .split(' ')
            .next()
            .unwrap()
            .to_owned()
    };
    let info = shop.run("filter info i.grove").ends(0);
    let items = info
        .out
        .lines()
        .find(|line| line.starts_with("items"))
        .unwrap();
    assert_eq!(number(items), number(&said.out));
    assert!(items.ends_with(" in common"), "{items}");
    let facts = json(&shop.run("filter info i.grove --json").ends(0));
    assert_eq!(facts["common_items"], facts["estimated_items"]);
    shop.run("filter intersect i.grove a.grove -o ia.grove")
        .ends(0);
    let info = shop.run("filter info ia.grove").ends(0);
    assert!(info.out.contains("at most about"), "{}", info.out);

    shop.run("filter build a.txt -o big.grove --bits 16384 --hashes 5")
        .ends(0);
    shop.run("filter fold big.grove -o small.grove --times 2")
        .ends(0);
    shop.run("filter build a.txt -o direct.grove --bits 4096 --hashes 5")
        .ends(0);
    let bits = |name: &str| {
        let file = std::fs::read(shop.path(name)).unwrap();
        file[file.len() - 128 - 512..file.len() - 128].to_vec()
    };
    assert_eq!(bits("small.grove"), bits("direct.grove"));

    shop.run("filter union a.grove big.grove -o x.grove")
        .fails_with(&[
            "a.grove and big.grove",
            "one has",
            "the other has",
            "16,384 bits",
        ]);
    shop.run("filter fold a.grove -o x.grove --times 40")
        .fails_with(&["a.grove", "cannot be folded", "odd number"]);
    assert!(!shop.path("x.grove").exists());
}

#[test]
fn every_family_and_derivation_builds_and_answers() {
    let shop = Shop::new();
    shop.write("keys.txt", lines(0..100));
    shop.write(
        "numbers.txt",
        (0..100).map(|i| format!("{i}\n")).collect::<String>(),
    );
    let key = "00112233445566778899aabbccddeeff";
    for (options, keys) in [
        ("--hash xxh3-128", "keys.txt"),
        ("--hash murmur3 --seed 5", "keys.txt"),
        ("--hash md5 --layout blocked", "keys.txt"),
        (&format!("--hash siphash --sip-key {key}"), "keys.txt"),
        ("--derivation kirsch-mitzenmacher", "keys.txt"),
        ("--hash affine --modulus 1000003", "numbers.txt"),
        ("--keys integer", "numbers.txt"),
        ("--layout standard --fpr 1e-4", "keys.txt"),
    ] {
        shop.run(&format!(
            "filter build {keys} -o f.grove --items 100 {options}"
        ))
        .ends(0);
        let said = shop
            .run(&format!("filter check f.grove --keys-from {keys}"))
            .ends(0);
        assert_eq!(said.out.matches("\tmaybe").count(), 100, "{options}");
    }
}

#[test]
fn wrong_flags_say_what_and_what_to_do() {
    let shop = Shop::new();
    shop.write("k.txt", "a\n");
    for (line, parts) in [
        (
            "filter build k.txt -o f --fpr 2",
            vec!["rate above 0 and below 1"],
        ),
        ("filter build k.txt -o f --fpr 0", vec!["rate above 0"]),
        ("filter build k.txt -o f --items ten", vec!["1e6"]),
        (
            "filter build k.txt -o f --bits 32XB --hashes 3",
            vec!["XB", "32MB"],
        ),
        ("filter build k.txt -o f --bits 100", vec!["--hashes"]),
        (
            "filter build k.txt -o f --bits 1e18 --hashes 3",
            vec!["281,474,976,710,656"],
        ),
        (
            "filter build k.txt -o f --bits 100 --hashes 99",
            vec!["--hashes", "from 1 to 64"],
        ),
        ("filter build k.txt -o f --hash murmur3", vec!["--items"]),
        (
            "filter build k.txt -o f --hash siphash --items 5",
            vec!["--sip-key"],
        ),
        (
            "filter build k.txt -o f --hash siphash --items 5 --sip-key 12",
            vec!["32 hexadecimal"],
        ),
        (
            "filter build k.txt -o f --hash affine --items 5",
            vec!["--modulus"],
        ),
        (
            "filter build k.txt -o f --hash affine --items 5 --modulus 10",
            vec!["not prime", "11"],
        ),
        (
            "filter build k.txt -o f --items 5 --sip-key 00112233445566778899aabbccddeeff",
            vec!["--sip-key requires --hash siphash"],
        ),
        (
            "filter build k.txt -o f --items 5 --hashes 3",
            vec!["--hashes requires --bits"],
        ),
        ("filter build k.txt -o f --modulus 7", vec!["--hash affine"]),
        ("hash test --items 1e15", vec!["memory"]),
        ("hash derivation --queries 1", vec!["10,000"]),
        ("which a k.txt --fpr 1e-18", vec!["64-bit hash"]),
        (
            "filter build k.txt -o f --items 1e14 --fpr 1e-9 --hash xxh3",
            vec!["64-bit hash", "xxh3-128"],
        ),
        (
            "filter build k.txt -o f --items 1e13 --fpr 1e-3 --layout standard",
            vec!["memory"],
        ),
        ("filter build -o f", vec!["KEYS"]),
        ("filter check k.txt a", vec!["k.txt", "not a .grove file"]),
        (
            "filter check missing.grove a",
            vec!["missing.grove", "No such file"],
        ),
        ("filter info .", vec![".: this is a directory; pass a file"]),
        ("tune size --items 0", vec!["at least 1"]),
        ("tune size --items 1M --fpr 1e-30", vec!["hashes"]),
        ("hash test --items 10", vec!["at least"]),
        ("frobnicate", vec!["frobnicate"]),
    ] {
        shop.run(line).fails_with(&parts);
    }
    assert_eq!(shop.names(), ["k.txt"], "nothing is left behind");
}

#[test]
fn hostile_inputs_work_or_say_why() {
    let shop = Shop::new();
    // A line of 10 MB, an empty key, and keys that are no text.
    let mut keys = vec![b'x'; 10 << 20];
    keys.extend(b"\n\n\xff\xfe\x00\x01\n");
    shop.write("odd.txt", &keys);
    shop.run("filter build odd.txt -o odd.grove").ends(0);
    let said = shop.run_args(
        &[
            "filter".as_bytes(),
            b"check",
            b"odd.grove",
            b"",
            b"\xff\xfe\x00\x01".split(|&b| b == 0).next().unwrap(),
        ]
        .map(std::ffi::OsStr::from_bytes),
    );
    assert!(said.out.starts_with("\tmaybe\n"), "{}", said.out);
    let said = shop
        .run("filter check --json odd.grove --keys-from odd.txt")
        .ends(0);
    assert_eq!(said.out.matches("\"maybe\":true").count(), 3);
    assert!(said.out.contains("{\"hex\":\"fffe0001\"}"));

    // A line that never ends.
    shop.write("endless.txt", vec![b'x'; 65 << 20]);
    shop.run("filter build endless.txt -o e.grove")
        .fails_with(&["endless.txt", "line 1", "64 MiB"]);

    // Folders, devices and damaged archives.
    std::fs::create_dir(shop.path("folder")).unwrap();
    shop.run("filter build folder -o f.grove")
        .fails_with(&["folder"]);
    shop.run("filter build odd.txt -o folder")
        .fails_with(&["folder", "pass a file name"]);
    shop.run("filter build odd.txt -o /dev/full")
        .fails_with(&["/dev/full", "not a regular file"]);
    shop.write("bad.gz", b"\x1f\x8b\x08\x00 this is no archive");
    shop.run("filter build bad.gz -o f.grove")
        .fails_with(&["bad.gz: damaged: the gzip data", "backup"]);
    shop.write("bad.zst", b"nor is this");
    shop.run("filter build bad.zst -o f.grove")
        .fails_with(&["bad.zst"]);
    shop.run("filter build odd.txt -o missing/f.grove")
        .fails_with(&["missing/f.grove"]);
    assert!(!shop.path("f.grove").exists() && !shop.path("e.grove").exists());

    // What would be lost, or read as something it is not.
    shop.write("keys", "precious\n");
    shop.run("filter build keys -o keys").fails_with(&[
        "keys",
        "not a filter",
        "would be overwritten",
    ]);
    assert_eq!(std::fs::read(shop.path("keys")).unwrap(), b"precious\n");
    shop.write("packed.xz", "x");
    shop.run("filter build packed.xz -o f.grove")
        .fails_with(&["packed.xz", "not compressed"]);
    shop.write("numbers", "5\n8\n");
    shop.run("filter build numbers -o f.grove --items 5 --hash affine --modulus 7")
        .fails_with(&["numbers: line 2: the key 8 is not below the modulus 7"]);
    shop.run("filter build numbers -o -")
        .fails_with(&["-o - is not supported"]);

    // A damaged filter says so instead of no.
    let mut damaged = std::fs::read(shop.path("odd.grove")).unwrap();
    let middle = damaged.len() - 128 - 64;
    damaged[middle] ^= 4;
    shop.write("damaged.grove", damaged);
    shop.run("filter check damaged.grove a").fails_with(&[
        "damaged.grove",
        "bits section",
        "checksum",
    ]);

    // An empty file is an empty set.
    shop.write("empty.txt", "");
    shop.run("filter build empty.txt -o empty.grove").ends(0);
    shop.run("filter check empty.grove a").ends(1);
}

/// A disk that is full after 16 kB, played by a limit on file size.
#[test]
fn a_full_disk_leaves_the_old_file_alone() {
    let shop = Shop::new();
    shop.write("small.txt", lines(0..100));
    shop.write("large.txt", lines(0..100_000));
    shop.run("filter build small.txt -o f.grove").ends(0);
    let before = std::fs::read(shop.path("f.grove")).unwrap();
    shop.shell("trap '' XFSZ; ulimit -f 16; exec $BLOOMGROVE filter build large.txt -o f.grove")
        .fails_with(&["f.grove", "writing", "too large"]);
    assert_eq!(std::fs::read(shop.path("f.grove")).unwrap(), before);
    assert_eq!(shop.names(), ["f.grove", "large.txt", "small.txt"]);

    // Output that cannot be written is an error too, and a closed pipe is not.
    // The error is that of the output, not of the file that was being read.
    for line in [
        "filter info f.grove",
        "filter check f.grove --keys-from large.txt",
        "filter compress f.grove -o -",
    ] {
        let said = shop
            .shell(&format!("$BLOOMGROVE {line} > /dev/full"))
            .ends(2);
        let expected = "bloomgrove: cannot write to standard output: No space left on device";
        assert!(said.err.starts_with(expected), "{line}: {}", said.err);
    }
    let said = shop.shell("$BLOOMGROVE filter compress f.grove -o - | head -c 1");
    assert_eq!(said.err, "");
    let said = shop.shell(
        "($BLOOMGROVE filter check f.grove --keys-from large.txt; echo $? >code) | head -1; cat code",
    );
    assert_eq!(said.out, "key-0\tmaybe\n0\n", "{}", said.err);
    assert_eq!(said.err, "");
}

#[test]
fn ctrl_c_while_waiting_for_keys_ends_at_once() {
    let shop = Shop::new();
    let mut child = shop
        .command(&["filter", "build", "-", "-o", "f.grove"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let _open = child.stdin.take();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    // By our own hand, or by the system's if that was not ready yet: but at once.
    use std::os::unix::process::ExitStatusExt;
    let status = child.wait().unwrap();
    assert!(
        status.code() == Some(130) || status.signal() == Some(2),
        "{status}"
    );
    assert_eq!(shop.names(), Vec::<String>::new());
}

#[test]
fn tune_prints_sizes_and_reasons() {
    let shop = Shop::new();
    let said = shop.run("tune size --items 1M --fpr 1%").ends(0);
    for part in [
        "standard",
        "blocked",
        "first prime",
        "formula",
        "use blocked, 8 hashes",
    ] {
        assert!(said.out.contains(part), "{}", said.out);
    }
    let said = shop.run("tune size --items 1M --fpr 1e-4 --json").ends(0);
    let plan: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(plan["recommended"]["layout"], "standard");
    let said = shop.run("tune size --items 1M --bits 2MiB --json").ends(0);
    let plan: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(plan["sizes"].as_array().unwrap().len(), 2);
}

#[test]
fn hash_test_tells_fair_from_unfair() {
    let shop = Shop::new();
    let said = shop.run("hash test --items 50000 --json").ends(0);
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let rows = report["families"].as_array().unwrap();
    assert_eq!(rows.len(), 5 * 3 + 2 * 2);
    for row in rows {
        let affine = row["family"].as_str().unwrap().starts_with("affine");
        if affine && row["keys"] == "sequential" {
            assert_eq!(row["verdict"], "too even", "{row}");
        } else if !affine {
            assert_eq!(row["verdict"], "fair", "{row}");
        }
    }
    assert!(
        shop.run("hash test --items 50000")
            .ends(0)
            .out
            .contains("▄")
    );

    let said = shop.run("hash derivation --queries 200000 --json").ends(0);
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    for row in report["sizes"].as_array().unwrap() {
        // With 64 bits, steps of 0 and 32 come back at once: 2 keys in 64.
        let double = row["degenerate_keys"]["double"].as_f64().unwrap();
        if row["bits"] == 64 {
            assert!((double - 2.0 / 64.0).abs() < 0.003, "{row}");
        }
        let independent = row["degenerate_keys"]["independent"].as_f64().unwrap();
        assert!(independent < 0.001, "{row}");
    }
}

#[test]
fn every_verb_has_help_with_an_example() {
    let shop = Shop::new();
    for verb in [
        "which",
        "filter build",
        "filter check",
        "filter info",
        "filter union",
        "filter intersect",
        "filter fold",
        "filter add",
        "filter seen",
        "filter estimate",
        "tune size",
        "hash test",
        "hash derivation",
    ] {
        let said = shop.run(&format!("{verb} --help")).ends(0);
        assert!(said.out.contains("Example"), "{verb}");
    }
}
