//! Errors and summaries say what is wrong in our own words, not in those of a parser.

use crate::support::Shop;

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

#[test]
fn an_empty_key_or_name_is_refused() {
    let shop = Shop::new();
    shop.write("data/a.txt", "apple\n");
    shop.run_args(&["which", "", "data"])
        .fails_with(&["the key is empty; pass the text to search for"]);
    shop.run("index build data -o x.grove").ends(0);
    shop.run_args(&["index", "update", "x.grove", "a.txt", "--rename", ""])
        .fails_with(&["--rename: the name is empty"]);
    // An empty line is a key where whole lines are.
    shop.write("data/b.txt", "\n");
    let said = shop.run_args(&["which", "", "data", "--extract", "lines"]);
    assert_eq!(said.ends(0).out, "data/b.txt\n");
}

#[test]
fn a_damaged_index_of_which_is_rebuilt_and_nothing_else_is_asked_for() {
    let shop = Shop::new();
    shop.write("data/a.txt", "apple\n");
    shop.run("which apple data").ends(0);
    let index = shop.path("data/.bloomgrove.grove");
    let good = std::fs::read(&index).unwrap();
    std::fs::write(&index, &good[..100]).unwrap();
    let said = shop.run("which apple data").ends(0);
    assert!(
        said.err.contains("; the index is being rebuilt\n"),
        "{}",
        said.err
    );
    assert!(!said.err.contains("backup"), "{}", said.err);
}

#[test]
fn several_keys_are_not_several_paths() {
    let shop = Shop::new();
    shop.write("data/a.txt", "apple\n");
    let said = shop.run("which apple pear data").ends(2);
    assert_eq!(said.out, "data/a.txt\n");
    assert!(
        said.err.contains(
            "pear: No such file or directory (to search for several keys, use --keys-from)"
        ),
        "{}",
        said.err
    );
}

#[test]
fn unknown_and_duplicate_sets_are_named_with_the_file_and_the_command() {
    let shop = Shop::new();
    shop.write("data/a.txt", "apple\n");
    shop.run("index build data -o x.grove").ends(0);
    shop.run("bloofi build data -o t.grove").ends(0);
    let listed = "t.grove: there is no set named b; `bloomgrove bloofi info --sets`";
    shop.run("bloofi update t.grove b pear")
        .fails_with(&[listed]);
    let said = shop.run("bloofi remove t.grove b").ends(2);
    assert!(said.err.contains(listed), "{}", said.err);
    shop.run("index update x.grove b pear")
        .fails_with(&["x.grove: there is no set named b; `bloomgrove index info --sets`"]);
    let said = shop.run("bloofi add t.grove data").ends(2);
    assert!(
        said.err.contains("; --replace replaces it, and --name"),
        "{}",
        said.err
    );
    shop.run("index build data data -o y.grove")
        .fails_with(&["data/a.txt: two inputs have this set name; pass each file only once"]);
}

#[test]
fn what_cannot_be_is_said_before_any_answer() {
    let shop = Shop::new();
    shop.write("a.txt", "apple\n");
    shop.write("n.txt", "1\n2\n");
    shop.write("empty.txt", "");
    std::fs::create_dir(shop.path("none")).unwrap();
    shop.run("filter build a.txt -o a.grove --items 9").ends(0);
    shop.run("filter build n.txt -o n.grove --items 9 --keys integer")
        .ends(0);
    shop.run("index build a.txt -o x.grove").ends(0);
    for (line, part) in [
        (
            "filter union a.grove n.grove -o u.grove",
            "a.grove contains text keys, but n.grove contains integer keys, so they cannot be combined",
        ),
        (
            "filter expand empty.txt -o u.grove",
            "empty.txt: the file is empty, not a compressed filter",
        ),
        (
            "filter fold a.grove -o u.grove --times 50",
            "cannot be folded 50 times: after ",
        ),
        (
            "index build none -o u.grove",
            "none: no files; no index was written",
        ),
        (
            "index build n.grove a.txt -o u.grove",
            "n.grove: contains integer keys, but the other sets",
        ),
        (
            "index which x.grove apple --from 5 --to 1",
            "--from 5 is after --to 1",
        ),
        (
            "sample a.grove --namespace a.txt --method invert",
            "requires a filter built with --hash affine",
        ),
        (
            "sample a.grove --namespace a.txt --within 0..5",
            "--within applies only to integers",
        ),
        (
            "grep apple a.txt --extract column=x",
            "supports only --extract tokens",
        ),
        ("man a.txt", "a.txt: this is a file; pass a directory"),
        (
            "filter build n.txt -o u.grove --items 1e30",
            "the number is too large; write",
        ),
        (
            "filter build n.txt -o u.grove --hash affine --modulus 7 --bits 64 --hashes 3 --coefficients 1,0 5,4",
            "--coefficients has 2 pairs, but --hashes is 3; pass one pair per hash",
        ),
        (
            "remote list --server ftp://a",
            "only http:// and https:// addresses are supported",
        ),
    ] {
        shop.run(line).fails_with(&[part]);
    }
    assert!(!shop.path("u.grove").exists());
    let said = shop.run("index which x.grove apple --at-least 5").ends(1);
    assert!(
        said.err.contains("--at-least 5 cannot be met with 1 key"),
        "{}",
        said.err
    );
    // Every bit of a filter that is far too small is set.
    shop.write(
        "many.txt",
        (0..999).map(|i| format!("{i}\n")).collect::<String>(),
    );
    let said = shop
        .run("filter build many.txt -o full.grove --bits 64 --hashes 8")
        .ends(0);
    assert_eq!(
        said.out,
        "full.grove: 999 keys read, 8 B, false-positive rate 100% (every bit is set)\n"
    );
}
