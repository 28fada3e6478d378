//! Keys from columns of CSV and TSV files, as a user takes them.

use crate::support::Shop;

/// The keys of a column, as `filter check` prints them; all must be in the filter that
/// `filter build` makes of the same column.
#[track_caller]
fn keys(shop: &Shop, file: &str, column: &str) -> Vec<String> {
    shop.run(&format!("filter build {file} --column {column} -o k.grove"))
        .ends(0);
    let said = shop.run(&format!(
        "filter check --json k.grove --keys-from {file} --column {column}"
    ));
    let keys = said.out.lines().map(|line| {
        let answer: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(answer["maybe"], true, "{line}");
        answer["key"].as_str().unwrap().to_owned()
    });
    keys.collect()
}

const PEOPLE: &str = "\
id,name,city
7,\"Lovelace, Ada\",London
8,\"says \"\"no\"\"\",
9,\"two
lines\",Oslo

10,,\"\"
11,Grace, space kept \n";

#[test]
fn quotes_commas_and_line_feeds_are_part_of_fields() {
    let shop = Shop::new();
    shop.write("p.csv", PEOPLE);
    assert_eq!(keys(&shop, "p.csv", "id"), ["7", "8", "9", "10", "11"]);
    assert_eq!(
        keys(&shop, "p.csv", "name"),
        ["Lovelace, Ada", "says \"no\"", "two\nlines", "Grace"]
    );
    // Empty fields, also quoted ones, are no keys.
    assert_eq!(
        keys(&shop, "p.csv", "city"),
        ["London", "Oslo", " space kept "]
    );
    let said = shop
        .run("filter build p.csv --column city -o k.grove")
        .ends(0);
    assert!(said.out.contains("3 keys read"), "{}", said.out);
    shop.run("filter check k.grove London").ends(0);
    shop.run("filter check k.grove city").ends(1);
}

#[test]
fn the_same_keys_however_the_file_is_written() {
    let shop = Shop::new();
    let plain = "id,city\n1,Oslo\n2,Lima\n";
    let crlf = plain.replace('\n', "\r\n");
    let tabs = plain.replace(',', "\t");
    shop.write("plain.csv", plain);
    shop.write("UPPER.CSV", plain);
    shop.write("open.csv", plain.trim_end());
    shop.write("crlf.csv", &crlf);
    shop.write("bom.csv", format!("\u{feff}{plain}"));
    shop.write("bom-crlf.csv", format!("\u{feff}{crlf}"));
    shop.write(
        "quoted.csv",
        "\"id\",\"city\"\n\"1\",\"Oslo\"\n\"2\",\"Lima\"",
    );
    shop.write(
        "bom-quoted.csv",
        "\u{feff}\"id\",\"city\"\n1,Oslo\n2,Lima\n",
    );
    shop.write("tabs.tsv", &tabs);
    shop.write("z.csv.zst", zstd::encode_all(plain.as_bytes(), 3).unwrap());
    shop.write("t.tsv.zstd", zstd::encode_all(tabs.as_bytes(), 3).unwrap());
    shop.write("g.csv", plain);
    shop.shell("gzip g.csv").ends(0);
    for file in shop.names() {
        assert_eq!(keys(&shop, &file, "id"), ["1", "2"], "{file}");
        assert_eq!(keys(&shop, &file, "#2"), ["Oslo", "Lima"], "{file}");
    }
    let semicolons = plain.replace(',', ";");
    for (options, input) in [
        ("", plain),
        ("--delimiter ;", &semicolons),
        ("--delimiter \\t", &tabs),
    ] {
        let line = format!("filter build - --column city -o k.grove {options}");
        shop.run_with_input(&line, input.as_bytes()).ends(0);
        let said = shop.run("filter check k.grove Oslo Lima Rome").ends(0);
        assert_eq!(said.out, "Oslo\tmaybe\nLima\tmaybe\nRome\tno\n");
    }
    shop.write("odd.txt", semicolons);
    shop.run("filter build odd.txt --column city --delimiter ; -o k.grove")
        .ends(0);
}

#[test]
fn without_a_column_a_csv_file_is_lines() {
    let shop = Shop::new();
    shop.write("p.csv", "id,city\n1,Oslo\n");
    shop.run("filter build p.csv -o k.grove").ends(0);
    let said = shop.run("filter check k.grove id,city 1,Oslo Oslo").ends(0);
    assert_eq!(said.out, "id,city\tmaybe\n1,Oslo\tmaybe\nOslo\tno\n");
}

#[test]
fn integers_may_be_keys_of_a_column() {
    let shop = Shop::new();
    shop.write("p.csv", "id,city\n19,Oslo\n132,\n25,Lima\n");
    shop.run("filter build p.csv --column id --keys integer -o k.grove")
        .ends(0);
    let said = shop.run("filter check k.grove 019 20").ends(0);
    assert_eq!(said.out, "019\tmaybe\n20\tno\n");
    shop.run("filter build p.csv --column city --keys integer -o x.grove")
        .fails_with(&["p.csv", "Oslo", "not an integer"]);
}

/// Columns by number, where the header has no such name; twice the same name is none.
#[test]
fn a_name_comes_before_a_number() {
    let shop = Shop::new();
    shop.write("n.csv", "2,1,x,x,2024\na,b,c,d,e\n");
    for (column, key) in [
        ("1", "b"),
        ("2", "a"),
        ("3", "c"),
        ("#1", "a"),
        ("#4", "d"),
        ("2024", "e"),
    ] {
        assert_eq!(keys(&shop, "n.csv", column), [key], "{column}");
    }
    shop.run("filter build n.csv --column x -o f.grove")
        .fails_with(&["2 columns are called \"x\"", "#3", "#4"]);
    shop.run("filter build n.csv --column 6 -o f.grove")
        .fails_with(&["n.csv", "no column \"6\"", "2, 1, x, x, 2024"]);
}

#[test]
fn what_cannot_be_right_says_where_and_what_to_do() {
    let shop = Shop::new();
    shop.write("p.csv", PEOPLE);
    shop.write("empty.csv", "");
    shop.write("blank.csv", "\n\n\n");
    shop.write("lines.txt", "a\nb\n");
    shop.write("short.csv", "a,b\n1,2\n\n3,\"x\ny\"\n4\n5,6\n");
    shop.write("long.csv", "a,b\r\n1,2\r\n\r\n3,\"x\r\ny\"\r\n4,5,6\r\n");
    shop.write("only.csv", "key\nright\n\"never closed\nlost\nlost too\n");
    shop.write("last.csv", "a,b\n1,2\n3,\"open");
    shop.write("packed.csv.xz", "x");
    shop.write("bad.csv.gz", b"\x1f\x8b\x08\x00 this is no archive");
    let mut endless = b"a,b\n1,2\n3,\"".to_vec();
    endless.resize(66 << 20, b'x');
    shop.write("endless.csv", &endless);
    let before = shop.names();
    for (file, column, parts) in [
        (
            "p.csv",
            "town",
            vec!["no column \"town\"", "id, name, city"],
        ),
        ("empty.csv", "a", vec!["empty", "must begin with a header"]),
        ("blank.csv", "a", vec!["empty"]),
        (
            "lines.txt",
            "a",
            vec![".csv, .tsv and .parquet", "--delimiter"],
        ),
        (
            "short.csv",
            "a",
            vec!["line 6 has 1 field,", "header has 2: a, b"],
        ),
        ("long.csv", "a", vec!["line 6 has 3 fields"]),
        ("only.csv", "key", vec!["line 3", "never closed"]),
        ("last.csv", "a", vec!["line 3", "never closed"]),
        (
            "packed.csv.xz",
            "a",
            vec!["named .xz, but its content is not compressed"],
        ),
        ("bad.csv.gz", "a", vec!["damaged: the gzip data"]),
        ("endless.csv", "a", vec!["line 3", "64 MiB"]),
        ("missing.csv", "a", vec!["No such file"]),
        (".", "a", vec![".csv, .tsv"]),
    ] {
        let mut parts = parts;
        parts.push(file);
        shop.run(&format!("filter build {file} --column {column} -o f.grove"))
            .fails_with(&parts);
    }
    for (options, part) in [
        ("--delimiter ;", "--column"),
        ("--column a --delimiter ;;", "one character"),
        ("--column a --delimiter \"", "cannot be a field separator"),
    ] {
        shop.run(&format!("filter build p.csv -o f.grove {options}"))
            .fails_with(&[part]);
    }
    assert_eq!(shop.names(), before, "nothing is left behind");
    shop.run("filter build p.csv --column id -o f.grove")
        .ends(0);
    shop.run("filter check f.grove 7 --column id")
        .fails_with(&["--column requires --keys-from"]);
}

/// More than one batch, more than one block, and a long field.
#[test]
fn large_files_arrive_whole() {
    let shop = Shop::new();
    let long = "x".repeat(3 << 20);
    let mut text = String::from("n,key\n");
    for i in 0..200_000 {
        text.push_str(&format!("{i},\"key {i}\"\n"));
    }
    text.push_str(&format!("last,{long}\n"));
    shop.write("l.csv", text);
    let expected = (0..200_000).map(|i| format!("key {i}")).chain([long]);
    assert!(keys(&shop, "l.csv", "key").into_iter().eq(expected));
}
