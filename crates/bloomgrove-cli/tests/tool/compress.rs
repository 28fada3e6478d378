//! `bloomgrove filter compress`, `expand`, `delta` and `apply`, as a user runs them.

use crate::support::Shop;

fn lines(range: std::ops::Range<u32>) -> String {
    range.map(|i| format!("key-{i}\n")).collect()
}

/// A sparse filter, and one with some more keys.
fn two_versions(shop: &Shop) {
    shop.write("a.txt", lines(0..2000));
    shop.write("b.txt", lines(0..2050));
    for name in ["a", "b"] {
        shop.run(&format!(
            "filter build {name}.txt -o {name}.grove --bits 200000 --hashes 1 --layout standard"
        ))
        .ends(0);
    }
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_filter_goes_over_the_wire_and_is_the_same() {
    let shop = Shop::new();
    two_versions(&shop);
    let mut sizes = Vec::new();
    for model in ["framed", "static", "adaptive"] {
        let said = shop
            .run(&format!(
                "filter compress a.grove -o {model}.msg --model {model} --json"
            ))
            .ends(0);
        let facts = json(&said.out);
        let bytes = std::fs::metadata(shop.path(format!("{model}.msg")))
            .unwrap()
            .len();
        assert_eq!(facts["bytes"], bytes);
        assert_eq!(facts["bytes_before"], 25_000);
        let least = facts["entropy_bytes"].as_f64().unwrap();
        let over = bytes as f64 / least;
        assert!((1.0..1.10).contains(&over), "{over}");
        let per_item = facts["bits_per_item"].as_f64().unwrap();
        assert!((7.0..9.5).contains(&per_item), "{per_item}");
        sizes.push(bytes);

        let said = shop
            .run(&format!("filter expand {model}.msg -o {model}.grove"))
            .ends(0);
        assert!(said.out.contains("about 1,99"), "{}", said.out);
        let [one, two] =
            ["a", model].map(|name| std::fs::read(shop.path(format!("{name}.grove"))).unwrap());
        assert!(one == two, "{model}: another file came out");
    }
    let said = shop.run("filter compress a.grove -o framed.msg").ends(0);
    for part in ["framed.msg: ", "(from 25.0 kB", "entropy", "bits per key"] {
        assert!(said.out.contains(part), "{}", said.out);
    }
}

#[test]
fn a_delta_makes_the_new_version_and_only_from_the_old_one() {
    let shop = Shop::new();
    two_versions(&shop);
    let said = shop
        .run("filter delta a.grove b.grove -o b.delta --json")
        .ends(0);
    let facts = json(&said.out);
    assert_eq!(
        facts["changed_bits"].as_u64().map(|n| n.clamp(45, 50)),
        facts["changed_bits"].as_u64()
    );
    assert!(facts["bytes"].as_u64().unwrap() < 250, "{facts}");
    let said = shop
        .run("filter delta a.grove a.grove -o none.delta")
        .ends(0);
    assert!(said.out.contains("0 bits changed"), "{}", said.out);

    shop.run("filter apply a.grove b.delta -o made.grove")
        .ends(0);
    let read = |name: &str| std::fs::read(shop.path(name)).unwrap();
    assert!(read("made.grove") == read("b.grove"));

    shop.run("filter apply b.grove b.delta -o no.grove")
        .fails_with(&["b.delta", "another version", "in order"]);
    assert!(!shop.path("no.grove").exists());

    // In place, when that is said; and not twice.
    shop.run("filter apply a.grove b.delta -o a.grove").ends(0);
    assert!(read("a.grove") == read("b.grove"));
    shop.run("filter apply a.grove b.delta -o a.grove")
        .fails_with(&["another version"]);
    assert!(read("a.grove") == read("b.grove"));
}

#[test]
fn the_wrong_file_is_named_with_the_right_verb() {
    let shop = Shop::new();
    two_versions(&shop);
    shop.run("filter compress a.grove -o a.msg").ends(0);
    shop.run("filter delta a.grove b.grove -o b.delta").ends(0);
    shop.write("text", "hello\n".repeat(20));
    for (command, parts) in [
        (
            "filter check a.msg key-1",
            &["a.msg", "a compressed filter", "filter expand"][..],
        ),
        (
            "filter info b.delta",
            &["b.delta", "a delta", "filter apply"],
        ),
        (
            "filter compress a.msg -o c.msg",
            &["a.msg", "filter expand"],
        ),
        (
            "filter delta a.grove a.msg -o c.msg",
            &["a.msg", "filter expand"],
        ),
        (
            "filter expand a.grove -o c.grove",
            &[
                "a.grove: already a .grove file",
                "`bloomgrove filter compress`",
            ],
        ),
        (
            "filter expand b.delta -o c.grove",
            &["b.delta", "filter apply"],
        ),
        (
            "filter apply a.grove a.msg -o c.grove",
            &["a.msg", "filter expand"],
        ),
        (
            "filter apply a.grove b.grove -o c.grove",
            &["b.grove", "not a delta"],
        ),
        (
            "filter expand text -o c.grove",
            &["text: not a compressed filter"],
        ),
        ("filter expand missing -o c.grove", &["missing"]),
        (
            "filter expand . -o c.grove",
            &["this is a directory; pass a file"],
        ),
    ] {
        shop.run(command).fails_with(parts);
    }
    shop.write("c.txt", lines(0..10));
    shop.run("filter build c.txt -o c.grove --bits 200000 --hashes 2 --layout standard")
        .ends(0);
    shop.run("filter delta a.grove c.grove -o c.delta")
        .fails_with(&["a.grove", "c.grove", "parameters differ"]);
    assert!(
        !shop
            .names()
            .iter()
            .any(|name| name == "c.delta" || name == "c.msg")
    );
}

#[test]
fn nothing_is_written_over_by_accident() {
    let shop = Shop::new();
    two_versions(&shop);
    shop.run("filter compress a.grove -o a.msg").ends(0);
    shop.run("filter delta a.grove b.grove -o b.delta").ends(0);
    let before: Vec<_> = shop.names();
    for command in [
        "filter compress a.grove -o a.grove",
        "filter compress a.grove -o ./a.grove",
        "filter compress a.grove -o b.grove",
        "filter expand a.msg -o a.msg",
        "filter delta a.grove b.grove -o b.grove",
        "filter apply a.grove b.delta -o b.delta",
    ] {
        shop.run(command).fails_with(&["would be overwritten"]);
    }
    assert_eq!(shop.names(), before);
    shop.run("filter expand a.msg -o back.grove").ends(0);
    shop.run("filter info back.grove --verify").ends(0);
}

#[test]
fn damage_and_claims_are_refused() {
    let shop = Shop::new();
    two_versions(&shop);
    shop.run("filter compress a.grove -o a.msg").ends(0);
    let whole = std::fs::read(shop.path("a.msg")).unwrap();
    shop.write("cut.msg", &whole[..whole.len() / 2]);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    shop.write("flipped.msg", &flipped);
    shop.write("longer.msg", [&whole[..], b"more"].concat());
    for (name, part) in [
        ("cut", "cut short"),
        ("flipped", "checksum"),
        ("longer", "after its end"),
    ] {
        shop.run(&format!("filter expand {name}.msg -o out.grove"))
            .fails_with(&[&format!("{name}.msg"), part, "sent again"]);
    }
    shop.run("filter expand a.msg -o out.grove --memory 1kB")
        .fails_with(&["25,000 bytes", "--memory"]);
    assert!(!shop.path("out.grove").exists());
    shop.run("filter expand a.msg -o out.grove --memory 25kB")
        .ends(0);
}
