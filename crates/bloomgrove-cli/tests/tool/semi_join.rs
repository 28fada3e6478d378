//! `bloomgrove semi-join` against a naive join of random tables.

use std::collections::BTreeSet;

use crate::support::{Said, Shop, json};
use crate::table::{Dice, Row, reader, rows, write};
use parquet::file::reader::FileReader;

/// So few false positives that a test sees none.
const EXACT: &str = "--fpr 1e-9";

fn keys(rows: &[Row]) -> BTreeSet<i64> {
    rows.iter().filter_map(|row| row.k).collect()
}

/// Like `assert_eq`, but prints only the first row that differs.
#[track_caller]
fn assert_rows(found: &[Row], expected: &[Row]) {
    let differs = found.iter().zip(expected).find(|(a, b)| a != b);
    assert_eq!(differs, None);
    assert_eq!(found.len(), expected.len());
}

fn joining(rows: &[Row], keys: &BTreeSet<i64>) -> Vec<Row> {
    let joins = |row: &&Row| row.k.is_some_and(|key| keys.contains(&key));
    rows.iter().filter(joins).cloned().collect()
}

#[test]
fn the_output_is_the_sql_semi_join_of_random_tables() {
    let mut dice = Dice(1);
    for round in 0..12 {
        let shop = Shop::new();
        let [build, probe, output] =
            ["b.parquet", "p.parquet", "o.parquet"].map(|name| shop.path(name));
        // From few rows that join to all of them.
        let space = [20, 200, 2000, 20_000][round % 4];
        write(&build, &mut dice, space, &[300]);
        let groups = [[700, 100, 1, 800], [64, 128, 4000, 63], [1, 1, 1, 1]][round % 3];
        write(&probe, &mut dice, space, &groups);
        let line = format!("semi-join b.parquet k p.parquet k -o o.parquet {EXACT} --json");
        let said = shop.run(&line).ends(0);
        let (before, after) = (rows(&probe), rows(&output));
        assert_rows(&after, &joining(&before, &keys(&rows(&build))));
        let report = json(&said);
        assert_eq!(report["probe"]["rows"], before.len());
        assert_eq!(report["probe"]["output_rows"], after.len());
        let with_key = before.iter().filter(|row| row.k.is_some()).count();
        assert_eq!(report["probe"]["rows_with_key"], with_key);
        assert_eq!(
            report["probe"]["output_bytes"],
            std::fs::metadata(&output).unwrap().len()
        );

        let (before, after) = (reader(&probe), reader(&output));
        let (before, after) = (before.metadata(), after.metadata());
        let about = |about: &parquet::file::metadata::ParquetMetaData| {
            let file = about.file_metadata();
            (file.schema().clone(), file.key_value_metadata().cloned())
        };
        assert_eq!(about(before), about(after));
        if after.num_row_groups() > 0 {
            let codec = |about: &parquet::file::metadata::ParquetMetaData| {
                let group = about.row_group(0);
                group
                    .columns()
                    .iter()
                    .map(|chunk| chunk.compression())
                    .collect::<Vec<_>>()
            };
            assert_eq!(codec(before), codec(after));
        }
    }
}

/// Small row groups become fewer, and none is larger than the largest was.
#[test]
fn what_is_left_of_row_groups_is_merged() {
    let shop = Shop::new();
    let mut dice = Dice(2);
    write(&shop.path("b.parquet"), &mut dice, 1000, &[100]);
    write(&shop.path("p.parquet"), &mut dice, 1000, &[500; 40]);
    shop.run("semi-join b.parquet k p.parquet k -o o.parquet")
        .ends(0);
    let after = reader(&shop.path("o.parquet"));
    let sizes = after
        .metadata()
        .row_groups()
        .iter()
        .map(|group| group.num_rows());
    let (most, count) = (sizes.clone().max().unwrap(), sizes.len());
    assert!(most <= 500 && count <= 6, "{:?}", sizes.collect::<Vec<_>>());
}

#[test]
fn false_positives_come_at_the_predicted_rate() {
    let shop = Shop::new();
    let numbers = |from: u64, to: u64| {
        let rows: String = (from..to).map(|i| format!("{i},x\n")).collect();
        format!("id,other\n{rows}")
    };
    shop.write("b.csv", numbers(0, 20_000));
    shop.write("p.csv", numbers(0, 220_000));
    let line = "semi-join b.csv id p.csv id -o o.csv --fpr 5% --json";
    let report = json(&shop.run(line).ends(0));
    let kept = report["probe"]["output_rows"].as_u64().unwrap();
    let false_ones = kept as f64 - 20_000.0;
    let rate = report["probe"]["filter"]["expected_fpr"].as_f64().unwrap();
    assert!((0.04..=0.051).contains(&rate), "{rate}");
    // Two hundred thousand trials: four standard deviations.
    let (mean, trials) = (200_000.0 * rate, 200_000.0);
    let allowed = 4.0 * (trials * rate * (1.0 - rate)).sqrt();
    assert!((false_ones - mean).abs() < allowed, "{false_ones} {mean}");
    let expected = report["probe"]["expected_false_positives"]
        .as_f64()
        .unwrap();
    assert!(
        (false_ones - expected).abs() < 1.1 * allowed,
        "{false_ones} {expected}"
    );
    // All rows that join are there, in order.
    let output = std::fs::read_to_string(shop.path("o.csv")).unwrap();
    assert!(output.starts_with(&numbers(0, 20_000)));
}

#[test]
fn both_sides_are_reduced() {
    let mut dice = Dice(3);
    for _ in 0..4 {
        let shop = Shop::new();
        let [build, probe] = ["b.parquet", "p.parquet"].map(|name| shop.path(name));
        write(&build, &mut dice, 3000, &[500, 900]);
        write(&probe, &mut dice, 3000, &[700, 100]);
        let line = format!(
            "semi-join b.parquet k p.parquet k -o po.parquet --both bo.parquet {EXACT} --json"
        );
        let report = json(&shop.run(&line).ends(0));
        let (build, probe) = (rows(&build), rows(&probe));
        let kept = joining(&probe, &keys(&build));
        assert_rows(&rows(&shop.path("po.parquet")), &kept);
        let back = joining(&build, &keys(&kept));
        assert_rows(&rows(&shop.path("bo.parquet")), &back);
        assert_eq!(report["both"]["output_rows"], back.len());
        assert_eq!(report["both"]["file"], "b.parquet");
    }
}

/// A million keys at a rate of 1e-9 take more than the 4 MiB that are left of 38 MB.
#[test]
fn a_filter_that_does_not_fit_in_memory_is_on_disk() {
    let shop = Shop::new();
    let build: String = (0..1_000_000).map(|i| format!("{}\n", i * 3)).collect();
    shop.write("b.csv", format!("id\n{build}"));
    let probe: String = (0..300_000).map(|i| format!("{},{i}\n", i * 7)).collect();
    shop.write("p.csv", format!("id,n\n{probe}"));
    let expected: String = (0..300_000)
        .filter(|i| (i * 7) % 3 == 0)
        .map(|i| format!("{},{i}\n", i * 7))
        .collect();
    for memory in ["38MB", "1GB"] {
        let line = format!(
            "semi-join b.csv id p.csv id -o o.csv --both bo.csv --replace {EXACT} --memory {memory} --json"
        );
        let report = json(&shop.run(&line).ends(0));
        assert_eq!(report["probe"]["filter"]["on_disk"], memory == "38MB");
        assert_eq!(report["probe"]["filter"]["keys"], 1_000_000);
        let output = std::fs::read_to_string(shop.path("o.csv")).unwrap();
        assert!(output == format!("id,n\n{expected}"), "{memory}");
        let back = std::fs::read_to_string(shop.path("bo.csv")).unwrap();
        let common: String = (0..100_000).map(|i| format!("{}\n", i * 21)).collect();
        assert!(back == format!("id\n{common}"), "{memory}");
    }
    assert_eq!(shop.names(), ["b.csv", "bo.csv", "o.csv", "p.csv"]);
}

#[test]
fn csv_and_parquet_join_each_other() {
    let shop = Shop::new();
    let mut dice = Dice(4);
    write(&shop.path("t.parquet"), &mut dice, 50, &[100, 100]);
    shop.write("t.csv", "k,note\n7,\n21,\"a, b\"\n,nothing\n1000,\n");
    shop.run(&format!(
        "semi-join t.csv k t.parquet k -o o.parquet {EXACT}"
    ))
    .ends(0);
    let all = rows(&shop.path("t.parquet"));
    let wanted = BTreeSet::from([7, 21, 1000]);
    assert_rows(&rows(&shop.path("o.parquet")), &joining(&all, &wanted));
    shop.run(&format!("semi-join t.parquet k t.csv k -o o.csv {EXACT}"))
        .ends(0);
    let has = |key| {
        if keys(&all).contains(&key) {
            ""
        } else {
            "not "
        }
    };
    assert_eq!((has(7), has(21)), ("", ""));
    let output = std::fs::read_to_string(shop.path("o.csv")).unwrap();
    assert_eq!(output, "k,note\n7,\n21,\"a, b\"\n");
    // Text in Parquet: the empty string is a key, null is not.
    shop.write("s.csv", "s\ntext 1\ntext 3\n");
    shop.run(&format!(
        "semi-join t.parquet s t.parquet s -o self.parquet {EXACT}"
    ))
    .ends(0);
    let has_text = all
        .iter()
        .filter(|row| !row.all.contains(", s: null"))
        .cloned();
    assert_rows(
        &rows(&shop.path("self.parquet")),
        &has_text.collect::<Vec<_>>(),
    );
}

#[test]
fn csv_rows_are_copied_as_they_are() {
    let shop = Shop::new();
    shop.write("keys.csv", "id\r\n1\r\n2\r\n");
    let rows = [
        "id;text",
        "1;\"quoted; with \"\"quotes\"\"\"",
        "9;dropped",
        "2;\"two\r\nlines\"",
        "\"1\";\"\"",
        "\"\";no key",
        "2;last",
    ];
    let kept = [0, 1, 3, 4, 6].map(|at| rows[at]).join("\r\n") + "\r\n";
    // Without the last end of line, and with blank lines between.
    shop.write("t.csv", rows.join("\r\n\r\n").trim_end());
    for name in ["o.csv", "o.csv.gz", "o.csv.zst"] {
        let line = format!("semi-join keys.csv id t.csv id -o {name} --delimiter ; {EXACT}");
        shop.run(&line).ends(0);
    }
    assert_eq!(std::fs::read_to_string(shop.path("o.csv")).unwrap(), kept);
    let gz = shop.shell("gzip -dc o.csv.gz").ends(0);
    assert_eq!(gz.out, kept);
    // Compressed, it is read again.
    let line = format!("semi-join o.csv.gz id o.csv.zst id -o again.csv --delimiter ; {EXACT}");
    shop.run(&line).ends(0);
    assert_eq!(
        std::fs::read_to_string(shop.path("again.csv")).unwrap(),
        kept
    );
}

#[test]
fn a_directory_is_one_table() {
    let shop = Shop::new();
    let mut dice = Dice(5);
    for (name, rows) in [
        ("p/1.parquet", 100),
        ("p/2/a.parquet", 64),
        ("p/3.parquet", 500),
    ] {
        std::fs::create_dir_all(shop.path("p/2")).unwrap();
        write(&shop.path(name), &mut dice, 100, &[rows, rows]);
    }
    shop.write("p/README", "not data");
    shop.write("b/1.csv", "a,k\nx,1\ny,2\n");
    shop.write("b/2.tsv", "k\tz\n3\t\n4\t\n");
    shop.run(&format!("semi-join b k p k -o o.parquet {EXACT}"))
        .ends(0);
    let names = ["p/1.parquet", "p/2/a.parquet", "p/3.parquet"];
    let all: Vec<Row> = names
        .iter()
        .flat_map(|name| rows(&shop.path(name)))
        .collect();
    let wanted = BTreeSet::from([1, 2, 3, 4]);
    assert_rows(&rows(&shop.path("o.parquet")), &joining(&all, &wanted));
}

#[test]
fn an_empty_side_keeps_nothing() {
    let shop = Shop::new();
    shop.write("none.csv", "k\n");
    shop.write("t.csv", "k\n1\n2\n");
    write(&shop.path("t.parquet"), &mut Dice(6), 10, &[100]);
    let says_none = |said: Said| assert!(said.ends(0).err.contains(": 0 rows"));
    says_none(shop.run("semi-join none.csv k t.csv k -o o.csv"));
    assert_eq!(std::fs::read_to_string(shop.path("o.csv")).unwrap(), "k\n");
    says_none(shop.run("semi-join none.csv k t.parquet k -o o.parquet"));
    assert_rows(&rows(&shop.path("o.parquet")), &[]);
    says_none(shop.run("semi-join t.parquet k none.csv k -o o2.csv"));
    says_none(shop.run("semi-join t.csv k o.parquet k -o o2.parquet"));
}
