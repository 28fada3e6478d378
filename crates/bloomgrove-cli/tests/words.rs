//! Errors and summaries say what is wrong in our own words, not in those of a parser.

mod support;

use support::Shop;

#[test]
fn numbers_are_refused_with_what_is_allowed() {
    let shop = Shop::new();
    shop.write("a.txt", "apple\n");
    for (line, part) in [
        (
            "bloofi build a.txt -o x.grove --order 1",
            "from 2 to 65,536",
        ),
        ("filter build a.txt -o x.grove --seed x", "a whole number"),
        (
            "filter build a.txt -o x.grove --bits 100 --hashes 65",
            "from 1 to 64",
        ),
        ("filter fold x.grove -o y.grove --times 0", "from 1 to 64"),
        (
            "bloom-tree build a.txt -o x.grove --rho half",
            "such as 2 or 0.5",
        ),
        ("trace a --depth many", "a whole number"),
        ("index which x.grove a --at-least 1,0", "a whole number"),
    ] {
        let said = shop.run(line).ends(2);
        assert!(said.err.contains(part), "{line}: {}", said.err);
        for foreign in ["invalid digit", "invalid float", " is not in "] {
            assert!(!said.err.contains(foreign), "{line}: {}", said.err);
        }
    }
}

#[test]
fn numbers_are_read_as_they_are_printed() {
    let shop = Shop::new();
    shop.write("one.txt", "apple\n");
    let said = shop
        .run("filter build one.txt -o x.grove --items 1,000")
        .ends(0);
    assert!(
        said.out.contains("1 key read, about 1 distinct"),
        "{}",
        said.out
    );
    let said = shop
        .run("filter build one.txt -o y.grove --bits 14,336 --hashes 3")
        .ends(0);
    assert!(!said.out.contains(" %"), "{}", said.out);
    shop.run("filter union x.grove y.grove -o z.grove")
        .fails_with(&["14,336 bits"]);
    shop.run("filter build one.txt -o x.grove --items 1,00")
        .fails_with(&["1,00"]);
    let said = shop.run("filter union x.grove x.grove -o z.grove").ends(0);
    assert!(
        said.out.starts_with("z.grove: about 1 item, "),
        "{}",
        said.out
    );
}

#[test]
fn a_bad_integer_is_named_by_its_line() {
    let shop = Shop::new();
    shop.write("ids.txt", "1\n2\nthree\n4\n");
    shop.run("filter build ids.txt -o x.grove --keys integer")
        .fails_with(&["ids.txt: line 3: \"three\""]);
}

#[test]
fn files_that_are_not_ours_need_no_backup() {
    let shop = Shop::new();
    shop.write("empty.grove", "");
    shop.write(
        "text.grove",
        "some text that is longer than a header of a file of ours, which has 64",
    );
    for (file, what) in [
        ("empty.grove", "empty.grove: the file is empty"),
        ("text.grove", "text.grove: not a .grove file"),
        ("missing.grove", "missing.grove: No such file"),
    ] {
        for command in ["info", "filter info", "verify", "index which", "check"] {
            let said = shop.run(&format!("{command} {file} key")).ends(2);
            let is_usage = said.err.contains("Usage:");
            let is_not_ours = said.err.contains("text.grove: not a Bloomgrove file");
            assert!(
                is_usage || is_not_ours || said.err.contains(what),
                "{command}: {}",
                said.err
            );
            assert!(!said.err.contains("backup"), "{command}: {}", said.err);
        }
        shop.run(&format!("info {file}")).fails_with(&[what]);
    }
}

#[test]
fn a_buffered_filter_is_checked_for_keys_not_for_files() {
    let shop = Shop::new();
    shop.write("a.txt", "apple\n");
    shop.run("buffered build a.txt -o b.grove --items 100")
        .ends(0);
    let said = shop.run("check b.grove").ends(2);
    assert!(said.err.contains("no key given"), "{}", said.err);
    assert!(!said.err.contains("files of keys"), "{}", said.err);
}

#[test]
fn addresses_are_explained() {
    let shop = Shop::new();
    shop.run("remote list --server localhost").fails_with(&[
        "localhost",
        "http:// or https:// is missing",
        "http://127.0.0.1:7117",
    ]);
    shop.run("site info --site http://127.0.0.1:1")
        .fails_with(&["is a site running there?"]);
    shop.run("remote list --server http://127.0.0.1:1")
        .fails_with(&["is a server running there?"]);
}
