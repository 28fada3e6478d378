//! `bloomgrove which` and `bloomgrove grep` on texts: the answers of GNU grep, from all kinds of
//! files, before and after changes.

use std::fmt::Write;

use crate::support::Shop;

/// Words of many kinds, from which texts and queries are made.
const WORDS: [&str; 16] = [
    "GET", "order", "Order", "order_id", "4711", "47", "error", "timeout", "time", "out", "a-b",
    "x=7", "10.0.0.1", "the", "7f3a", "of",
];

/// Lines of words, the same every time.
fn text(seed: u64, lines: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut text = String::new();
    for _ in 0..lines {
        for _ in 0..1 + next() % 4 {
            let word = WORDS[next() % WORDS.len()];
            let by = [" ", ", ", "-", "\"", ""][next() % 5];
            write!(text, "{word}{by}").unwrap();
        }
        text.push('\n');
    }
    text
}

fn queries() -> Vec<(&'static str, &'static str)> {
    let mut all: Vec<(&str, &str)> = WORDS.iter().map(|word| ("-F -w", *word)).collect();
    all.extend([
        ("-F -w", "absent"),
        ("-F -w", "order, error"),
        ("-F -w -i", "ORDER"),
        ("-F -w -i", "get order"),
        ("-F", "rder"),
        ("-F", "order error"),
        ("-F", "-order"),
        ("", "order|timeout"),
        ("", "^GET"),
        ("", "time(out)? "),
        ("", "[0-9]+-order"),
        ("-w", "time.*"),
        ("-i", " (order|ERROR) "),
        ("-x", "GET order "),
        ("-F -x", "error"),
    ]);
    all
}

/// Ours against GNU grep: the files, the lines, their numbers and their counts.
fn agrees(shop: &Shop, when: &str) {
    for (flags, pattern) in queries() {
        let dialect = if flags.contains("-F") { "" } else { "-E" };
        for form in ["-l", "-n", "-c"] {
            let theirs = format!(
                "cd data && LC_ALL=C grep -r {dialect} {flags} {form} --exclude='.*' -e '{pattern}' . | \
                 sed 's,^\\./,,' | grep -v ':0$' | sort"
            );
            let ours = format!(
                "cd data && $BLOOMGROVE grep {flags} {form} -e '{pattern}' . | sed 's,^\\./,,' | sort"
            );
            let (theirs, ours) = (shop.shell(&theirs), shop.shell(&ours));
            assert_eq!(
                ours.out, theirs.out,
                "{when}: grep {flags} {form} {pattern:?}\n{}",
                ours.err
            );
        }
        if flags.starts_with("-F -w") {
            let case = if flags.contains("-i") { "-i" } else { "" };
            let which = shop.shell(&format!("$BLOOMGROVE which {case} '{pattern}' data"));
            let listed = shop.shell(&format!(
                "LC_ALL=C grep -r {flags} -l --exclude='.*' -e '{pattern}' data | sort"
            ));
            assert_eq!(which.out, listed.out, "{when}: which {pattern:?}");
        }
    }
}

#[test]
fn answers_are_those_of_grep_also_after_changes() {
    let shop = Shop::new();
    for file in 0..30 {
        shop.write(
            &format!("data/{}/{file}.log", file % 3),
            text(file, 1 + file as usize * 3 % 40),
        );
    }
    shop.write("data/empty", "");
    agrees(&shop, "at first");
    agrees(&shop, "again");
    for file in 0..6 {
        shop.write(&format!("data/0/{}.log", file * 3), text(100 + file, 5));
    }
    std::fs::remove_file(shop.path("data/1/1.log")).unwrap();
    std::fs::rename(shop.path("data/2/2.log"), shop.path("data/2/moved.log")).unwrap();
    shop.shell(": > data/2/5.log; printf 'GET order ' >> data/1/4.log")
        .ends(0);
    agrees(&shop, "after changes");
}

#[test]
fn large_files_are_read_in_blocks() {
    let shop = Shop::new();
    let filler = text(1, 100_000).replace("4711", "nothing");
    // More than two blocks, with the needle in the second, twice, and at the very end.
    let mut large = filler.repeat(15);
    assert!(large.len() > 20 << 20, "{}", large.len());
    let middle = large[..11 << 20].rfind('\n').unwrap() + 1;
    large.insert_str(middle, "a needle\nbetween\nanother needle 4711\n");
    large.push_str("the last needle");
    shop.write("data/large.log", &large);
    shop.write("data/small.log", "no such thing\n");
    let lines = |pattern: &str| {
        shop.shell(&format!(
            "cd data && LC_ALL=C grep -n -w {pattern} large.log"
        ))
        .out
    };
    let said = shop
        .run("grep --explain -n -w needle data/large.log")
        .ends(0);
    assert_eq!(said.out, lines("needle"));
    let said = shop.run("grep -n -w -C1 -I 4711 data").ends(0);
    assert_eq!(said.out, lines("-C1 4711"));
    for pattern in ["needle", "between", "nothing -m 3"] {
        let said = shop.shell(&format!("$BLOOMGROVE grep -c -w {pattern} data/large.log"));
        let theirs = shop.shell(&format!("LC_ALL=C grep -c -w {pattern} data/large.log"));
        assert_eq!(said.out, theirs.out, "{pattern}");
    }
    let json = shop.run("grep --json -w 4711 data/large.log").ends(0);
    let offset = format!(
        "\"absolute_offset\":{}",
        middle + "a needle\nbetween\n".len()
    );
    assert!(json.out.contains(&offset), "{}", json.out);
}

#[test]
fn compressed_files_and_archives_are_recognised_by_content() {
    let shop = Shop::new();
    shop.write("plain", "alpha order-4711\n");
    shop.write("other", "beta order-4712\n");
    let script = "mkdir data && gzip -c plain > data/gz && gzip -c plain > data/a.log && \
                  tar cf data/t plain other && tar czf data/t.tar.gz plain other && \
                  bzip2 -c plain > data/bz; xz -c plain > data/xz; true";
    shop.shell(script).ends(0);
    let mut expected: Vec<&str> = vec![
        "data/a.log",
        "data/gz",
        "data/t.tar.gz:plain",
        "data/t:plain",
    ];
    // Where these are not installed, nothing was written.
    for (file, tool) in [("data/bz", "bzip2"), ("data/xz", "xz")] {
        let is_there = std::fs::metadata(shop.path(file)).is_ok_and(|about| about.len() > 0);
        if is_there && shop.shell(&format!("command -v {tool}")).code == Some(0) {
            expected.push(file);
        }
    }
    expected.sort_unstable();
    let listed =
        |said: crate::support::Said| said.out.lines().map(String::from).collect::<Vec<_>>();
    assert_eq!(listed(shop.run("which order-4711 data").ends(0)), expected);
    assert_eq!(
        listed(shop.run("which --maybe order-4711 data").ends(0)),
        expected
    );
    let said = shop.run("grep -w beta data").ends(0);
    assert_eq!(
        said.out,
        "data/t:other:beta order-4712\ndata/t.tar.gz:other:beta order-4712\n"
    );
    shop.run("which order-4713 data").ends(1);
}

#[test]
fn byte_order_marks_utf16_and_binary_files() {
    let shop = Shop::new();
    shop.write("data/bom", b"\xef\xbb\xbffirst word\n");
    let wide = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    shop.write(
        "data/wide",
        [b"\xff\xfe".to_vec(), wide("first in UTF-16\n")].concat(),
    );
    shop.write("data/binary", b"early \0 late\n");
    shop.write("data/quotes", "“first”, naïve\n");
    assert_eq!(
        shop.run("which first data").ends(0).out,
        "data/bom\ndata/quotes\ndata/wide\n"
    );
    assert_eq!(
        shop.run_args(&["which", "-x", "-i", "FIRST word", "data"])
            .ends(0)
            .out,
        "data/bom\n"
    );
    assert_eq!(shop.run("which naïve data").ends(0).out, "data/quotes\n");
    assert_eq!(shop.run("which -i NAÏVE data").ends(0).out, "data/quotes\n");
    // A binary file is searched beyond its first NUL byte only if it is named.
    shop.run("which late data").ends(1);
    assert_eq!(
        shop.run("which late data/binary").ends(0).out,
        "data/binary\n"
    );
}

#[test]
fn other_keys_than_words() {
    let shop = Shop::new();
    shop.write(
        "data/1.jsonl",
        "{\"user\":{\"id\":\"ann\"}}\n{\"user\":{\"id\":7}}\n",
    );
    shop.write("data/2.jsonl", "{\"user\":{\"id\":\"bob\"}}\n");
    shop.write("csv/1.csv", "id;name\n7;a b\n");
    assert_eq!(
        shop.run("which --extract json=user.id ann data")
            .ends(0)
            .out,
        "data/1.jsonl\n"
    );
    assert_eq!(
        shop.run("which --extract json=user.id 7 data").ends(0).out,
        "data/1.jsonl\n"
    );
    shop.run("which --extract json=user.id user data").ends(1);
    let regex = ["which", "--extract", r#"regex="id":"(\w+)""#, "bob", "data"];
    assert_eq!(shop.run_args(&regex).ends(0).out, "data/2.jsonl\n");
    let column = [
        "which",
        "--column",
        "name",
        "--delimiter",
        ";",
        "a b",
        "csv",
    ];
    assert_eq!(shop.run_args(&column).ends(0).out, "csv/1.csv\n");
    assert_eq!(
        shop.run("which --extract ngrams=3 --no-word nn data")
            .ends(0)
            .out,
        "data/1.jsonl\n"
    );
    let said = shop
        .run("grep --extract ngrams=3 --explain ser data -l")
        .ends(0);
    assert!(said.err.contains("candidates contain: ser"), "{}", said.err);
    shop.run("which --extract json=user.id -i ANN data")
        .fails_with(&["found as a whole"]);
    shop.run("which --extract words x data")
        .fails_with(&["not a way to extract keys"]);
    shop.write("data/3.jsonl", "{\n");
    let said = shop.run("which --extract json=user.id ann data").ends(2);
    assert_eq!(said.out, "data/1.jsonl\n");
    assert!(
        said.err
            .contains("3.jsonl: line 1 is not valid JSON (error at column "),
        "{}",
        said.err
    );
}

#[test]
fn which_files_are_searched_can_be_chosen() {
    let shop = Shop::new();
    shop.write("data/a.log", "needle\n");
    shop.write("data/b.txt", "needle\n");
    shop.write("data/skip/c.log", "needle\n");
    shop.write("data/.gitignore", "skip/\n");
    let out = |line: &str| shop.run(line).ends(0).out;
    assert_eq!(
        out("which needle data -g *.log"),
        "data/a.log\ndata/skip/c.log\n"
    );
    assert_eq!(out("which needle data -g !*.log"), "data/b.txt\n");
    assert_eq!(
        out("which needle data --gitignore"),
        "data/a.log\ndata/b.txt\n"
    );
    shop.shell("touch -d 2020-01-01 data/a.log data/b.txt")
        .ends(0);
    assert_eq!(
        out("which needle data --since 2024-01-01"),
        "data/skip/c.log\n"
    );
    assert_eq!(
        out("which needle data -0"),
        "data/a.log\0data/b.txt\0data/skip/c.log\0"
    );
    shop.run("which needle data --since yesterday")
        .fails_with(&["2026-11-01"]);
}

#[test]
fn an_index_of_words_finds_them_and_follows_its_directory() {
    let shop = Shop::new();
    shop.write("in/1/a.log", "GET order-4711\n");
    shop.write("in/2/a.log", "GET order-4712\n");
    shop.write("plain", "order-4713\n");
    shop.shell("tar czf in/old.tar.gz plain && rm plain")
        .ends(0);
    shop.run("index build in --extract tokens -o i.grove")
        .ends(0);
    let found = |key: &str| shop.run(&format!("index which i.grove {key}")).out;
    assert_eq!(found("order-4711"), "1/a.log\n");
    assert_eq!(found("4713"), "old.tar.gz:plain\n");
    assert_eq!(found("absent"), "");
    shop.run("index which i.grove ... --trust")
        .fails_with(&["none of the keys"]);

    // A part of the directory is named as the whole was.
    shop.write("in/3/a.log", "GET order-4714\n");
    shop.run("index add i.grove in/3").ends(0);
    assert_eq!(found("4714"), "3/a.log\n");
    shop.run("index add i.grove in/3 --extract lines")
        .fails_with(&["the keys of this index are tokens"]);

    std::fs::remove_file(shop.path("in/1/a.log")).unwrap();
    std::fs::rename(shop.path("in/2"), shop.path("in/moved")).unwrap();
    shop.write("in/3/a.log", "GET order-4715\n");
    let said = shop.run("index sync i.grove in").ends(0);
    assert_eq!(
        said.out,
        "i.grove: 1 file added, 1 updated, 2 removed, 1 unchanged\n"
    );
    assert_eq!(found("4711"), "");
    assert_eq!(found("4712"), "moved/a.log\n");
    assert_eq!(found("4714"), "");
    assert_eq!(found("4715"), "3/a.log\n");
    assert_eq!(found("4713"), "old.tar.gz:plain\n");
    let said = shop.run("index sync i.grove in --json").ends(0);
    assert_eq!(crate::support::json(&said)["unchanged"], 3);

    let said = shop.run_with_input("index add i.grove - --name piped", b"one two\n");
    said.ends(0);
    assert_eq!(found("two"), "piped\n");
    shop.run("index add i.grove -").fails_with(&["--name"]);
    shop.write("more", "three\n");
    shop.run("index add i.grove more --prefix 2026/").ends(0);
    assert_eq!(found("three"), "2026/more\n");
    assert_eq!(
        shop.run("index remove i.grove --prefix 2026/").ends(0).out,
        "removed 2026/more\n"
    );
}

#[test]
fn updates_beyond_the_rate_of_an_index_are_noticed() {
    let shop = Shop::new();
    shop.write("in/a", "one\n");
    shop.run("index build in -o i.grove").ends(0);
    shop.write("more", crate::support::lines(0..85));
    let said = shop.run("index update i.grove a --keys-from more").ends(0);
    assert!(
        said.err.contains("its false-positive rate is"),
        "{}",
        said.err
    );
}

#[test]
fn what_was_misread_is_read() {
    let shop = Shop::new();
    // A separator of any kind, a byte-order mark, a compressed file without an ending, an archive.
    shop.write("a.csv", "id e\n7 x\n");
    let build = [
        "filter",
        "build",
        "a.csv",
        "--column",
        "e",
        "--delimiter",
        " ",
        "-o",
        "a.grove",
    ];
    shop.run_args(&build).ends(0);
    shop.run("filter check a.grove x").ends(0);
    shop.write("bom", b"\xef\xbb\xbffirst\nsecond\n");
    shop.run("filter build bom -o b.grove").ends(0);
    shop.run("filter check b.grove first").ends(0);
    shop.shell("printf 'zipped\\n' | gzip > packed && tar czf t.tar.gz bom")
        .ends(0);
    shop.run("filter build packed -o c.grove").ends(0);
    shop.run("filter check c.grove zipped").ends(0);
    shop.run("filter build t.tar.gz -o d.grove").ends(0);
    shop.run("filter check d.grove second").ends(0);
    shop.write("text", "GET Order-7\n");
    shop.run("filter build text --extract tokens -o e.grove")
        .ends(0);
    shop.run("filter check e.grove order-7").ends(0);
    shop.run("filter check e.grove order-8").ends(1);
    let wrong: String = shop.run("which 42 a.parquet").err;
    assert!(wrong.contains("a.parquet"), "{wrong}");
    shop.write("p/a.parquet", b"PAR1 and more PAR1");
    let said = shop.run("which 42 p").ends(2);
    assert!(said.err.contains("name one with --column"), "{}", said.err);
}

#[test]
fn many_unreadable_files_do_not_flood_the_terminal() {
    let shop = Shop::new();
    for file in 0..50 {
        shop.write(&format!("data/{file}"), b"\x1f\x8b\x08 broken");
    }
    let said = shop.run("which x data").ends(2);
    assert_eq!(said.err.lines().count(), 11, "{}", said.err);
    assert!(
        said.err.contains("and 40 more files could not be read"),
        "{}",
        said.err
    );
}
