//! `bloomgrove bloofi`: built, queried, changed, drawn, and everything that can be asked wrong.

use crate::support::{Shop, json, lines, set};

/// Three sets in a directory, one of them deeper, and a tree of them.
fn built() -> Shop {
    let shop = Shop::new();
    shop.write("data/a.txt", "apple\npear\n");
    shop.write("data/b.txt", "pear\nplum\n");
    shop.write("data/deep/c.txt", "plum\ncherry\n");
    let said = shop.run("bloofi build data -o x.grove --items 100").ends(0);
    assert!(
        said.out.starts_with("x.grove: 3 sets, 4 nodes, height 1"),
        "{}",
        said.out
    );
    shop
}

fn which(shop: &Shop, key: &str) -> Vec<String> {
    let said = shop.run(&format!("bloofi which x.grove {key}"));
    let mut names: Vec<String> = said.out.lines().map(str::to_owned).collect();
    assert_eq!(said.code, Some(i32::from(names.is_empty())), "{said:?}");
    names.sort();
    names
}

#[test]
fn queried_in_every_form() {
    let shop = built();
    assert_eq!(which(&shop, "pear"), ["a.txt", "b.txt"]);
    assert_eq!(which(&shop, "cherry"), ["deep/c.txt"]);
    assert!(which(&shop, "quince").is_empty());
    shop.write("wanted", "apple\nquince\n");
    let said = shop.run("bloofi which x.grove --keys-from wanted").ends(0);
    assert_eq!(said.out, "apple\ta.txt\n");
    let said = shop.run("bloofi which x.grove pear quince -c").ends(0);
    assert_eq!(said.out, "pear\t2\nquince\t0\n");
    let said = shop.run("bloofi which x.grove quince apple -q").ends(0);
    assert_eq!(said.out, "");
    // The root and its three leaves, or the root alone: the paper's counter.
    let said = shop.run("bloofi which x.grove apple --costs").ends(0);
    assert_eq!(said.err, "bloomgrove: 4 of 4 nodes checked\n");
    let said = shop
        .run("bloofi which x.grove apple quince --json --costs")
        .ends(0);
    assert_eq!(
        said.out,
        "{\"key\":\"apple\",\"count\":1,\"sets\":[\"a.txt\"],\"nodes_checked\":4}\n\
         {\"key\":\"quince\",\"count\":0,\"sets\":[],\"nodes_checked\":1}\n"
    );
}

#[test]
fn changed_set_by_set() {
    let shop = built();
    shop.write("d.txt", "quince\n");
    let said = shop.run("bloofi add x.grove d.txt --costs").ends(0);
    assert_eq!(said.out, "added d.txt, 5 nodes accessed\n");
    assert_eq!(which(&shop, "quince"), ["d.txt"]);
    shop.run("bloofi add x.grove d.txt")
        .fails_with(&["d.txt", "already"]);
    shop.write("d.txt", "melon\n");
    shop.run("bloofi add x.grove d.txt --replace").ends(0);
    assert!(which(&shop, "quince").is_empty());
    assert_eq!(which(&shop, "melon"), ["d.txt"]);

    let said = shop.run("bloofi update x.grove a.txt quince lemon --costs");
    assert_eq!(
        said.ends(0).out,
        "updated a.txt: 2 keys, 3 nodes accessed\n"
    );
    assert_eq!(which(&shop, "lemon"), ["a.txt"]);
    assert_eq!(which(&shop, "apple"), ["a.txt"]);
    shop.run("filter build data/b.txt -o b.grove --items 100 --fpr 0.001")
        .ends(0);
    shop.run("bloofi update x.grove d.txt --filter b.grove --rename e.txt")
        .ends(0);
    assert_eq!(which(&shop, "pear"), ["a.txt", "b.txt", "e.txt"]);

    let said = shop.run("bloofi remove x.grove a.txt nosuch").ends(2);
    assert_eq!(said.out, "removed a.txt\n");
    assert!(said.err.contains("no set named nosuch"), "{}", said.err);
    assert_eq!(which(&shop, "pear"), ["b.txt", "e.txt"]);
    for bulk in ["packed", "given", "chain"] {
        shop.run(&format!("bloofi rebuild x.grove --bulk {bulk}"))
            .ends(0);
        assert_eq!(which(&shop, "pear"), ["b.txt", "e.txt"]);
    }
    shop.run("verify x.grove").ends(0);
}

#[test]
fn changes_are_reported_as_json() {
    let shop = built();
    shop.write("d.txt", "quince\n");
    let said = shop.run("bloofi add x.grove d.txt --json --costs").ends(0);
    assert_eq!(said.out, "{\"added\":\"d.txt\",\"nodes_accessed\":5}\n");
    let said = shop.run("bloofi update x.grove d.txt lemon --rename e.txt --json");
    assert_eq!(
        json(&said.ends(0)),
        serde_json::json!({ "updated": "d.txt", "name": "e.txt", "keys": 1 })
    );
    let said = shop.run("bloofi remove x.grove e.txt nosuch --json");
    assert_eq!(
        json(&said.ends(2)),
        serde_json::json!({ "removed": ["e.txt"] })
    );
    let facts = json(&shop.run("bloofi info x.grove --json").ends(0));
    for verb in ["rebuild x.grove", "widen x.grove data --items 200"] {
        let said = json(&shop.run(&format!("bloofi {verb} --json")).ends(0));
        assert_eq!(said["file"], "x.grove");
        assert_eq!(said["sets"], facts["sets"]);
    }
}

/// No change is lost when several are made at once.
#[test]
fn changes_wait_for_each_other() {
    let shop = built();
    for i in 0..8 {
        shop.write(&format!("new-{i}.txt"), format!("key-{i}\n"));
    }
    let line = (0..8).map(|i| format!("$BLOOMGROVE bloofi add x.grove new-{i}.txt & "));
    shop.shell(&(line.collect::<String>() + "wait")).ends(0);
    for i in 0..8 {
        assert_eq!(which(&shop, &format!("key-{i}")), [format!("new-{i}.txt")]);
    }
}

#[test]
fn all_of_the_papers_options() {
    let shop = Shop::new();
    for i in 0..30 {
        shop.write(
            &format!("data/{i}.txt"),
            lines((0..50).map(|key| key * (i + 1))),
        );
    }
    shop.run("index build data -o i.grove --items 60").ends(0);
    let mut costs = Vec::new();
    for options in [
        "",
        "--order 4",
        "--metric jaccard",
        "--metric cosine --insert",
        "--split-full --bulk chain",
        "--bulk given",
    ] {
        shop.run(&format!("bloofi build i.grove -o x.grove {options}"))
            .ends(0);
        let wanted = shop.run("index which i.grove 120 7 --trust").ends(0).out;
        let said = shop
            .run("bloofi which x.grove 120 7 --json --costs")
            .ends(0);
        let found = shop.run("bloofi which x.grove 120 7").ends(0).out;
        assert_eq!(set(&found), set(&wanted), "{options}");
        costs.push(said.out);
        let facts = json(&shop.run("bloofi info x.grove --json").ends(0));
        assert_eq!(facts["sets"], 30);
        assert_eq!(facts["split_full"], options.contains("split"));
        assert_eq!(
            facts["order"],
            if options.contains("order") { 4 } else { 2 }
        );
    }
    costs.sort();
    costs.dedup();
    assert!(costs.len() > 1, "all options cost the same");
    let said = shop.run("bloofi info x.grove --sets").ends(0);
    assert_eq!(said.out.lines().count(), 30);

    // Too small, until it is widened.
    shop.run("bloofi build data -o small.grove --bits 64 --hashes 3")
        .ends(0);
    let said = shop.run("bloofi info small.grove").ends(0);
    assert!(said.out.contains("saturated"), "{}", said.out);
    shop.run("bloofi widen small.grove data --items 60").ends(0);
    let facts = json(&shop.run("bloofi info small.grove --json").ends(0));
    assert_eq!(facts["saturated"], false);
    let said = shop.run("bloofi which small.grove 120 7").ends(0);
    let wanted = shop.run("index which i.grove 120 7 --trust").ends(0).out;
    assert!(set(&said.out).is_superset(&set(&wanted)));
}

#[test]
fn sized_for_the_largest_set_or_as_its_filters_are() {
    let shop = Shop::new();
    shop.write("data/small.txt", "1\n");
    shop.write("data/large.txt", lines(0..5000));
    shop.run("bloofi build data -o x.grove --keys integer")
        .ends(0);
    let said = shop.run("bloofi which x.grove 1 4999").ends(0);
    assert_eq!(
        set(&said.out),
        set("1\tsmall.txt\n1\tlarge.txt\n4999\tlarge.txt")
    );
    let facts = json(&shop.run("bloofi info x.grove --json").ends(0));
    assert!(facts["bits"].as_u64().unwrap() > 5000 * 10, "{facts}");
    // A tree cannot have filters of two sizes, which is reported once.
    shop.run("index build data -o mixed.grove --keys integer")
        .ends(0);
    shop.run("bloofi build mixed.grove -o y.grove --keys integer")
        .fails_with(&[
            "1 set has other filter parameters than the tree",
            "add the files of keys instead",
            "no tree was written",
        ]);
    shop.run("bloofi build mixed.grove -o y.grove")
        .fails_with(&["integer", "text"]);
    shop.run("filter build data/small.txt -o small.grove --keys integer --bits 1000 --hashes 3")
        .ends(0);
    shop.run("bloofi build small.grove data/large.txt -o y.grove --keys integer")
        .ends(0);
    assert_eq!(
        json(&shop.run("bloofi info y.grove --json").ends(0))["bits"],
        1000
    );
}

#[test]
fn the_tree_is_drawn_in_three_forms() {
    let shop = built();
    let said = shop.run("bloofi draw x.grove").ends(0);
    for name in ["a.txt", "b.txt", "deep/c.txt"] {
        assert!(said.out.contains(name), "{}", said.out);
    }
    for (file, part) in [("x.svg", "<svg"), ("x.dot", "digraph")] {
        shop.run(&format!("bloofi draw x.grove -o {file}")).ends(0);
        let drawn = std::fs::read_to_string(shop.path(file)).unwrap();
        assert!(drawn.contains(part) && drawn.contains("b.txt"), "{drawn}");
    }
    shop.run("bloofi draw x.grove -o x.pdf")
        .fails_with(&[".svg", ".dot"]);
}

#[test]
fn wrong_requests_say_what_is_wrong_and_harm_nothing() {
    let shop = built();
    let before = std::fs::read(shop.path("x.grove")).unwrap();
    shop.run("filter build data/a.txt -o f.grove").ends(0);
    let fails = |line: &str, parts: &[&str]| shop.run(line).fails_with(parts);
    fails("bloofi which x.grove", &["no key"]);
    fails("bloofi which f.grove x", &["a Bloofi tree", "filter info"]);
    fails("filter check x.grove x", &["a Bloofi tree", "bloofi info"]);
    fails(
        "bloofi build data -o f.grove",
        &["f.grove", "would be overwritten"],
    );
    fails("bloofi build data -o y.grove --order 1", &["--order"]);
    fails(
        "bloofi build data -o y.grove --metric manhattan",
        &["jaccard"],
    );
    fails("bloofi build nowhere -o y.grove", &["nowhere"]);
    fails(
        "bloofi build data -o y.grove --insert --bulk chain",
        &["--insert", "--bulk"],
    );
    fails(
        "bloofi build f.grove -o y.grove --fpr 1%",
        &["--fpr does not apply"],
    );
    fails("bloofi add x.grove f.grove", &["cannot be added"]);
    fails("bloofi add x.grove data --name one", &["--name"]);
    fails("bloofi add gone.grove data", &["gone.grove"]);
    fails("bloofi update x.grove a.txt", &["nothing to update"]);
    fails("bloofi update x.grove nosuch x", &["no set named nosuch"]);
    fails("bloofi update x.grove a.txt --rename b.txt", &["already"]);
    fails("bloofi widen x.grove data", &["no size given"]);
    fails(
        "bloofi widen x.grove data/a.txt --items 9",
        &["a.txt", "deep/c.txt"],
    );
    fails("which pear x.grove", &["bloofi which"]);
    assert!(std::fs::read(shop.path("x.grove")).unwrap() == before);
    // A tree among the files that it was built from is not a set.
    std::fs::copy(shop.path("x.grove"), shop.path("data/x.grove")).unwrap();
    shop.run("bloofi build data -o x.grove --items 100").ends(0);
    assert!(std::fs::read(shop.path("x.grove")).unwrap() == before);

    let mut flipped = before.clone();
    flipped[before.len() / 2] ^= 1;
    shop.write("flipped.grove", &flipped);
    for verb in [
        "which flipped.grove x",
        "info flipped.grove",
        "draw flipped.grove",
    ] {
        fails(&format!("bloofi {verb}"), &["flipped.grove", "damaged"]);
    }
    assert!(shop.names().iter().all(|name| !name.ends_with(".tmp")));
}
