//! `bloomgrove index`: every verb, what it says, and what it refuses.

use crate::support::Shop;

fn shop() -> Shop {
    let shop = Shop::new();
    shop.write("data/a.txt", "apple\npear\n");
    shop.write("data/b.txt", "pear\nplum\n");
    shop.write("data/deep/c.txt", "cherry\n");
    shop.write("data/.hidden", "secret\n");
    shop
}

/// With filters of one size, which can be combined.
fn built() -> Shop {
    let shop = shop();
    let said = shop.run("index build data -o x.grove --items 1000").ends(0);
    assert!(said.out.starts_with("x.grove: 3 sets, "), "{}", said.out);
    shop
}

#[test]
fn sets_are_built_asked_and_listed() {
    for sizing in ["", " --items 1000", " --bits 1e4 --hashes 5", " --fpr 1%"] {
        let shop = shop();
        shop.run(&format!("index build data -o x.grove{sizing}"))
            .ends(0);
        assert_eq!(
            shop.run("index which x.grove pear").ends(0).out,
            "a.txt\nb.txt\n"
        );
        assert_eq!(
            shop.run("index which x.grove cherry").ends(0).out,
            "deep/c.txt\n"
        );
        assert_eq!(
            shop.run("index which x.grove quince secret").ends(1).out,
            ""
        );
        assert_eq!(shop.run("index which x.grove -c pear").ends(0).out, "2\n");
        assert_eq!(shop.run("index which x.grove -q pear").ends(0).out, "");
        assert_eq!(
            shop.run("index which x.grove plum cherry").ends(0).out,
            "plum\tb.txt\ncherry\tdeep/c.txt\n"
        );
        assert_eq!(
            shop.run("index which x.grove --json pear").ends(0).out,
            "{\"key\":\"pear\",\"count\":2,\"sets\":[\"a.txt\",\"b.txt\"]}\n"
        );
        assert_eq!(
            shop.run("index info x.grove --sets").ends(0).out,
            "0\ta.txt\n1\tb.txt\n2\tdeep/c.txt\n"
        );
        let said = shop.run("index which x.grove --explain pear").ends(0);
        assert!(said.err.contains("filters tested"), "{}", said.err);
        let said = shop.run("index verify x.grove").ends(0);
        assert!(said.out.contains("3 sets"), "{}", said.out);
    }
}

#[test]
fn the_same_sets_make_the_same_file() {
    let shop = shop();
    for i in 0..200 {
        shop.write(&format!("data/{i}"), format!("key-{i}\n"));
    }
    shop.run("index build data -o one.grove").ends(0);
    shop.run("index build data -o two.grove").ends(0);
    let read = |name: &str| std::fs::read(shop.path(name)).unwrap();
    assert!(read("one.grove") == read("two.grove"));
    assert_eq!(shop.run("index which one.grove key-17").ends(0).out, "17\n");
    let said = shop.run("index info one.grove").ends(0);
    assert!(said.out.contains("why: "), "{}", said.out);
}

#[test]
fn sets_are_added_removed_updated_and_renamed() {
    let shop = built();
    shop.write("d.txt", "damson\n");
    assert_eq!(
        shop.run("index add x.grove d.txt").ends(0).out,
        "added d.txt\n"
    );
    assert_eq!(
        shop.run("index which x.grove damson").ends(0).out,
        "d.txt\n"
    );
    shop.run("index add x.grove d.txt")
        .fails_with(&["d.txt", "already"]);
    shop.write("d.txt", "date\n");
    shop.run("index add x.grove d.txt --replace").ends(0);
    shop.run("index which x.grove damson").ends(1);
    assert_eq!(shop.run("index which x.grove date").ends(0).out, "d.txt\n");

    let said = shop
        .run("index update x.grove d.txt dewberry durian")
        .ends(0);
    assert_eq!(said.out, "updated d.txt: 2 keys\n");
    shop.write("more", "dragonfruit\n");
    shop.run("index update x.grove d.txt --keys-from more --rename e.txt")
        .ends(0);
    for key in ["date", "dewberry", "durian", "dragonfruit"] {
        assert_eq!(
            shop.run(&format!("index which x.grove {key}")).ends(0).out,
            "e.txt\n"
        );
    }
    shop.run("index update x.grove d.txt fig")
        .fails_with(&["no set named d.txt"]);
    shop.run("index update x.grove e.txt")
        .fails_with(&["--keys-from"]);
    shop.run("index update x.grove e.txt --rename a.txt")
        .fails_with(&["already"]);

    assert_eq!(
        shop.run("index remove x.grove e.txt").ends(0).out,
        "removed e.txt\n"
    );
    shop.run("index which x.grove date").ends(1);
    let said = shop.run("index remove x.grove nobody a.txt").ends(2);
    assert_eq!(said.out, "removed a.txt\n");
    assert!(said.err.contains("no set named nobody"), "{}", said.err);
    assert_eq!(shop.run("index which x.grove pear").ends(0).out, "b.txt\n");
    shop.run("index verify x.grove").ends(0);
    let said = shop.run("index compact x.grove").ends(0);
    assert!(said.out.contains(", was "), "{}", said.out);
    assert_eq!(shop.run("index which x.grove pear").ends(0).out, "b.txt\n");
}

#[test]
fn slices_of_time_come_and_go() {
    let shop = built();
    for day in 1..=3 {
        shop.write("day", format!("key-{day}\n"));
        shop.run(&format!("index add x.grove day --name site --slice {day}"))
            .ends(0);
    }
    shop.run("index add x.grove day --name site --slice 3")
        .fails_with(&["already"]);
    for day in 1..=3 {
        assert_eq!(
            shop.run(&format!("index which x.grove key-{day}"))
                .ends(0)
                .out,
            "site\n"
        );
    }
    assert_eq!(
        shop.run("index which x.grove key-1 --to 1").ends(0).out,
        "site\n"
    );
    shop.run("index which x.grove key-1 --from 2").ends(1);
    assert_eq!(
        shop.run("index remove x.grove --before 3").ends(0).out,
        "removed 2 slices\n"
    );
    shop.run("index which x.grove key-2").ends(1);
    assert_eq!(shop.run("index which x.grove key-3").ends(0).out, "site\n");
    assert_eq!(
        shop.run("index which x.grove pear").ends(0).out,
        "a.txt\nb.txt\n"
    );
    shop.run("index remove x.grove --before 9").ends(0);
    assert!(
        !shop
            .run("index info x.grove --sets")
            .ends(0)
            .out
            .contains("site")
    );
}

#[test]
fn filters_columns_and_other_indexes_can_be_sets() {
    let shop = built();
    shop.run("filter build data/a.txt -o f.grove --items 1000 --fpr 0.1%")
        .ends(0);
    assert_eq!(
        shop.run("index add x.grove f.grove").ends(0).out,
        "added f\n"
    );
    assert_eq!(
        shop.run("index which x.grove apple").ends(0).out,
        "a.txt\nf\n"
    );
    shop.run("index build f.grove -o y.grove").ends(0);
    shop.run("index add x.grove y.grove")
        .fails_with(&["y.grove", "a set named f already exists"]);
    shop.run("index remove x.grove f").ends(0);
    assert_eq!(
        shop.run("index add x.grove y.grove").ends(0).out,
        "added f\n"
    );
    shop.run("filter build data/a.txt -o other.grove").ends(0);
    shop.run("index add x.grove other.grove")
        .fails_with(&["other.grove", "parameters differ"]);
    shop.run("index update x.grove f --filter other.grove")
        .fails_with(&["parameters differ"]);
    shop.run("index update x.grove a.txt --filter f.grove")
        .ends(0);

    shop.write("t.csv", "id,city\n17,Oslo\n18,Lima\n");
    shop.run("index build t.csv --column city -o cities.grove")
        .ends(0);
    assert_eq!(
        shop.run("index which cities.grove Lima").ends(0).out,
        "t.csv\n"
    );
    shop.run("index which cities.grove 17").ends(1);
    shop.run("index build t.csv --column id --keys integer -o ids.grove")
        .ends(0);
    assert_eq!(shop.run("index which ids.grove 17").ends(0).out, "t.csv\n");
    shop.run("index which ids.grove Oslo")
        .fails_with(&["not an integer"]);
    // A number hashed as a number is not found as text, so the two do not go together.
    shop.run("index add x.grove ids.grove")
        .fails_with(&["ids.grove", "contains integer keys"]);
    shop.run("index add ids.grove f.grove")
        .fails_with(&["f.grove", "contains text keys"]);
    shop.run("index build x.grove ids.grove -o z.grove")
        .fails_with(&["contains integer keys"]);
    // Filters of different sizes make a mixed index.
    shop.run("index build f.grove other.grove -o z.grove")
        .ends(0);
    assert_eq!(
        shop.run("index which z.grove apple").ends(0).out,
        "f\nother\n"
    );
}

#[test]
fn sets_too_large_for_their_filters_are_told() {
    let shop = built();
    let keys: String = (0..5000).map(|i| format!("{i}\n")).collect();
    shop.write("large", keys);
    let said = shop.run("index add x.grove large").ends(0);
    assert!(said.err.contains("more keys than"), "{}", said.err);
    let said = shop
        .run("index update x.grove a.txt --keys-from large")
        .ends(0);
    assert!(said.err.contains("a.txt now has more keys"), "{}", said.err);
    let said = shop.run("index build large -o y.grove --items 10").ends(0);
    assert!(said.err.contains("--items"), "{}", said.err);
}

#[test]
fn sets_that_hold_most_of_many_keys() {
    let shop = built();
    shop.write("wanted", "apple\npear\nplum\n");
    let said = shop
        .run("index which x.grove --keys-from wanted --at-least 2")
        .ends(0);
    assert_eq!(said.out, "a.txt\t2\nb.txt\t2\n");
    let said = shop
        .run("index which x.grove --at-least 1 cherry pear plum --json")
        .ends(0);
    assert_eq!(
        said.out,
        "{\"set\":\"b.txt\",\"keys\":2}\n{\"set\":\"a.txt\",\"keys\":1}\n\
         {\"set\":\"deep/c.txt\",\"keys\":1}\n"
    );
    shop.run("index which x.grove --keys-from wanted --at-least 3")
        .ends(1);
    let said = shop.run("index which x.grove --prefix b pear").ends(0);
    assert_eq!(said.out, "b.txt\n");
}

#[test]
fn wrong_requests_say_what_is_wrong_and_harm_nothing() {
    let shop = built();
    let before = std::fs::read(shop.path("x.grove")).unwrap();
    shop.run("filter build data/a.txt -o f.grove").ends(0);
    shop.write("text", "no index\n");
    shop.run("index which f.grove pear")
        .fails_with(&["f.grove", "contains a filter", "an index"]);
    shop.run("filter check x.grove pear")
        .fails_with(&["contains an index"]);
    shop.run("index which text pear")
        .fails_with(&["text", "not a .grove file"]);
    shop.run("index which gone.grove pear")
        .fails_with(&["gone.grove"]);
    shop.run("index which x.grove").fails_with(&["no key"]);
    shop.run("index build gone -o y.grove").fails_with(&[
        "gone",
        "no index was written",
        "--partial",
    ]);
    assert!(!shop.path("y.grove").exists());
    let said = shop
        .run("index build data -o y.grove --bits 1e14 --hashes 3")
        .ends(2);
    assert_eq!(
        said.err.matches("not enough memory").count(),
        1,
        "{}",
        said.err
    );
    shop.run("index build data gone -o x.grove")
        .fails_with(&["gone", "no index was written"]);
    shop.run("index build data gone -o y.grove --partial")
        .ends(2);
    assert_eq!(
        shop.run("index which y.grove plum").ends(0).out,
        "data/b.txt\n"
    );
    shop.run("index build data -o f.grove")
        .fails_with(&["f.grove", "a filter"]);
    shop.run("index build - -o y.grove")
        .fails_with(&["standard input"]);
    shop.shell("mkfifo pipe").ends(0);
    shop.run("index build pipe -o y.grove")
        .fails_with(&["pipe has no name of its own"]);
    shop.run("which pear f.grove").fails_with(&["filter check"]);
    shop.run("index which x.grove pear --at-least 0")
        .fails_with(&["--at-least"]);
    shop.run("index build data -o text")
        .fails_with(&["text", "would be overwritten"]);
    shop.run("index build data -o y.grove --fpr 2").ends(2);
    shop.run("index build data -o y.grove --bits 1e20 --hashes 3")
        .ends(2);
    shop.run("index add x.grove").ends(2);
    shop.write("other.txt", "kiwi\n");
    let said = shop.run("index add x.grove gone other.txt").ends(2);
    assert_eq!(said.out, "added other.txt\n");
    assert!(said.err.contains("gone"), "{}", said.err);

    // Damaged, cut off, and of a newer version.
    let mut bytes = before.clone();
    let at = bytes.len() / 3;
    bytes[at] ^= 4;
    shop.write("damaged.grove", &bytes);
    shop.run("index verify damaged.grove")
        .fails_with(&["damaged.grove", "damaged"]);
    shop.run("index which damaged.grove pear")
        .fails_with(&["damaged.grove", "restore"]);
    shop.write("cut.grove", &before[..before.len() / 2]);
    shop.run("index which cut.grove pear")
        .fails_with(&["cut.grove"]);
    let mut newer = before.clone();
    newer[8] = 9;
    shop.write("newer.grove", &newer);
    for verb in [
        "which newer.grove pear",
        "add newer.grove data",
        "info newer.grove",
    ] {
        shop.run(&format!("index {verb}"))
            .fails_with(&["version 9"]);
    }
    assert!(
        std::fs::read(shop.path("newer.grove")).unwrap() == newer,
        "left alone"
    );
    shop.run("index verify x.grove").ends(0);
}

#[test]
fn a_full_disk_leaves_the_index_as_it_was() {
    let shop = built();
    let keys: String = (0..3000).map(|i| format!("{i}\n")).collect();
    for i in 0..40 {
        shop.write(&format!("big/{i}"), &keys);
    }
    let before = std::fs::read(shop.path("x.grove")).unwrap();
    // No file may grow beyond this many blocks of 512 bytes.
    let blocks = before.len() / 512 + 4;
    let line = format!("ulimit -f {blocks}; trap '' XFSZ; $BLOOMGROVE index add x.grove big");
    let said = shop.shell(&line).ends(2);
    assert!(said.err.contains("x.grove"), "{}", said.err);
    for name in said
        .out
        .lines()
        .map(|line| line.strip_prefix("added ").unwrap())
    {
        let listed = shop.run("index info x.grove --sets").ends(0).out;
        assert!(
            listed.contains(&format!("\t{name}\n")),
            "{name} was reported"
        );
    }
    shop.run("index verify x.grove").ends(0);
    assert_eq!(
        shop.run("index which x.grove pear").ends(0).out,
        "a.txt\nb.txt\n"
    );
    // With room again, it goes on.
    shop.run("index add x.grove big --replace").ends(0);
    shop.run("index verify x.grove").ends(0);
}

#[test]
fn a_coded_filter_is_a_set_and_a_delta_is_none() {
    let shop = Shop::new();
    shop.write("a.txt", "one\ntwo\n");
    shop.write("b.txt", "one\ntwo\nthree\n");
    shop.run("filter build a.txt -o a.grove --items 100")
        .ends(0);
    shop.run("filter build b.txt -o b.grove --items 100")
        .ends(0);
    shop.run("filter compress a.grove -o a.msg").ends(0);
    shop.run("filter delta a.grove b.grove -o ab.delta").ends(0);
    shop.run("index build a.msg -o index.grove").ends(0);
    let said = shop.run("index which index.grove two").ends(0);
    assert_eq!(said.out, "a\n");
    let said = shop.run("index build ab.delta -o other.grove").ends(2);
    assert!(said.err.contains("not a set"), "{}", said.err);
}
