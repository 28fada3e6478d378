//! `bloomgrove lake`: no file that contains a value is ever left out, and few others are listed.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Said, Shop, json};
use crate::written::{Chunk, required};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;

/// Waits until file times are older than the coarsest clock, so that what is indexed
/// now counts as settled.
fn settle() {
    std::thread::sleep(std::time::Duration::from_millis(100));
}

fn properties(with_filters: bool) -> WriterProperties {
    let builder = WriterProperties::builder();
    match with_filters {
        true => builder.set_bloom_filter_fpp(0.001).build(),
        false => builder.build(),
    }
}

/// Values of one type: which are nulls, and how they are spelled.
struct Type<'t, T: DataType> {
    /// The field in the schema, called x.
    field: &'t str,
    value: &'t dyn Fn(u64) -> (T::T, String),
}

const FILES: u64 = 6;
const GROUPS: u64 = 2;
const ROWS: u64 = 40;

/// A table of one column, half of its files with Bloom filters. Every value must lead to its file and
/// row group, whether the index is made from values or footers; absent ones to hardly any.
fn check_type<T: DataType>(case: &Type<'_, T>) {
    let shop = Shop::new();
    std::fs::create_dir_all(shop.path("t/deep")).unwrap();
    let is_optional = case.field.starts_with("optional");
    let number = |file: u64, group: u64, row: u64| (file * GROUPS + group) * ROWS + row;
    let is_null = |row: u64| is_optional && row.is_multiple_of(5);
    for file in 0..FILES {
        let chunks: Vec<Chunk<T>> = (0..GROUPS)
            .map(|group| {
                let rows = (0..ROWS).filter(|row| !is_null(*row));
                Chunk {
                    values: rows
                        .map(|row| (case.value)(number(file, group, row)).0)
                        .collect(),
                    definitions: is_optional
                        .then(|| (0..ROWS).map(|row| i16::from(!is_null(row))).collect()),
                    repetitions: None,
                }
            })
            .collect();
        let path = shop.path(format!("t/deep/{file}.parquet"));
        crate::written::write(&path, case.field, properties(file % 2 == 0), &chunks);
    }
    settle();
    for options in ["", "--from-footers"] {
        let made = shop.run(&format!("lake index t --column x --replace {options}"));
        assert_eq!(made.ends(0).err, "", "{}", case.field);
        for (file, group) in [(0, 0), (1, 1), (2, 1), (5, 0)] {
            for row in (0..ROWS).filter(|row| !is_null(*row)).step_by(7) {
                let text = (case.value)(number(file, group, row)).1;
                let said = shop.run_args(&["lake", "which", "t", "--format=json", "--", &text]);
                assert_eq!(said.err, "", "{} {text}", case.field);
                let found = json(&said);
                let wanted = format!("t/deep/{file}.parquet");
                let files = found["files"].as_array().unwrap();
                let this = files.iter().find(|one| one["path"] == wanted.as_str());
                let groups = this.unwrap_or_else(|| panic!("{} {text}: {found}", case.field));
                assert!(
                    groups["row_groups"]
                        .as_array()
                        .unwrap()
                        .contains(&group.into()),
                    "{} {text}: {found}",
                    case.field
                );
            }
        }
        // 20 absent values in 12 filters, with a rate of at most 1% or so.
        let absent: Vec<String> = (1000..1020).map(|at| (case.value)(at).1).collect();
        shop.write("absent.txt", absent.join("\n"));
        let said = shop.run("lake which t --keys-from absent.txt --column x");
        let most = if case.field.contains("boolean") || case.field.contains("INTEGER(8") {
            FILES as usize
        } else {
            4
        };
        assert!(
            said.out.lines().count() <= most,
            "{}: {}",
            case.field,
            said.out
        );
        assert_eq!(said.err, "");
    }
}

#[test]
fn values_of_every_type_lead_to_their_row_groups() {
    let text = |at: u64| {
        (
            ByteArray::from(format!("v {at}").as_bytes()),
            format!("v {at}"),
        )
    };
    for field in [
        "required binary x (UTF8);",
        "optional binary x (UTF8);",
        "optional binary x;",
    ] {
        let value = &text;
        check_type::<ByteArrayType>(&Type { field, value });
    }
    let number = |at: u64| at as i32 * 7919 - 100_000;
    check_type::<Int32Type>(&Type {
        field: "optional int32 x;",
        value: &|at| (number(at), number(at).to_string()),
    });
    check_type::<Int32Type>(&Type {
        field: "required int32 x (INTEGER(8, true));",
        value: &|at| {
            (
                (at % 100) as i32 - 50,
                format!("{:+}", (at % 100) as i32 - 50),
            )
        },
    });
    check_type::<Int64Type>(&Type {
        field: "required int64 x;",
        value: &|at| (i64::from(number(at)), format!("{}", number(at))),
    });
    check_type::<Int64Type>(&Type {
        field: "required int64 x (INTEGER(64, false));",
        value: &|at| ((u64::MAX - at).cast_signed(), (u64::MAX - at).to_string()),
    });
    check_type::<Int64Type>(&Type {
        field: "required int64 x (DECIMAL(12, 2));",
        value: &|at| (at as i64 * 100 + 50, format!("{at}.5")),
    });
    check_type::<Int32Type>(&Type {
        field: "optional int32 x (DATE);",
        value: &|at| (at as i32 + 19_723, date(at)),
    });
    check_type::<Int64Type>(&Type {
        field: "required int64 x (TIMESTAMP(MICROS, true));",
        value: &|at| {
            (
                1_704_067_200_000_000 + at as i64,
                format!("2024-01-01 00:00:00.{at:06}"),
            )
        },
    });
    let bytes = |at: u64| {
        let mut bytes = [7; 16];
        bytes[..8].copy_from_slice(&at.to_le_bytes());
        FixedLenByteArray::from(bytes.to_vec())
    };
    let hex = |at: u64| {
        bytes(at)
            .data()
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect()
    };
    check_type::<FixedLenByteArrayType>(&Type {
        field: "required fixed_len_byte_array(16) x (UUID);",
        value: &|at| (bytes(at), hex(at)),
    });
    check_type::<FixedLenByteArrayType>(&Type {
        field: "required fixed_len_byte_array(3) x (DECIMAL(6, 1));",
        value: &|at| {
            let number = -(at as i32);
            let [a, b, c, _] = number.to_le_bytes();
            let bytes = FixedLenByteArray::from(vec![c, b, a]);
            (bytes, format!("-{}.{}", at / 10, at % 10))
        },
    });
    check_type::<ByteArrayType>(&Type {
        field: "required binary x (DECIMAL(6, 1));",
        value: &|at| {
            let [low, high, ..] = at.to_le_bytes();
            (
                ByteArray::from(vec![high, low]),
                format!("{}.{}", at / 10, at % 10),
            )
        },
    });
    check_type::<BoolType>(&Type {
        field: "required boolean x;",
        value: &|at| (at % 3 == 0, (at % 3 == 0).to_string()),
    });
}

fn date(after: u64) -> String {
    // The days of 2024 and of the years after it.
    let start = std::time::UNIX_EPOCH + std::time::Duration::from_secs((19_723 + after) * 86_400);
    let date = jiff::Timestamp::try_from(start).unwrap().to_string();
    date[..10].to_owned()
}

/// Files of texts `FILE-ROW`.
fn texts(shop: &Shop, name: &str, rows: std::ops::Range<u64>) {
    let path = shop.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let values = crate::written::text(rows.map(|row| format!("id-{row}")));
    let chunk = required::<ByteArrayType>(values);
    crate::written::write(
        &path,
        "required binary x (UTF8);",
        properties(true),
        &[chunk],
    );
}

fn paths(said: &Said) -> BTreeSet<String> {
    said.out.lines().map(String::from).collect()
}

fn shop() -> Shop {
    let shop = Shop::new();
    for file in 0..5 {
        texts(
            &shop,
            &format!("t/{file}.parquet"),
            file * 100..file * 100 + 100,
        );
    }
    settle();
    shop
}

#[test]
fn a_stale_index_loses_no_rows() {
    let shop = shop();
    shop.run("lake index t --column x").ends(0);
    let which = |value: &str| shop.run(&format!("lake which t {value}"));
    assert_eq!(
        paths(&which("id-250")),
        BTreeSet::from(["t/2.parquet".into()])
    );
    assert_eq!(which("id-9000").ends(1).out, "");

    // Replaced, added, removed.
    texts(&shop, "t/2.parquet", 9000..9100);
    texts(&shop, "t/new/5.parquet", 500..600);
    std::fs::remove_file(shop.path("t/4.parquet")).unwrap();
    for (value, file) in [("id-9000", "t/2.parquet"), ("id-550", "t/new/5.parquet")] {
        let said = which(value).ends(0);
        assert!(paths(&said).contains(file), "{}", said.out);
        assert!(
            said.err
                .contains("2 files are listed without being checked"),
            "{}",
            said.err
        );
        assert!(said.err.contains("lake sync"));
    }
    assert!(!paths(&which("id-450")).contains("t/4.parquet"));
    let said = shop.run("lake which t id-9000 --trust").ends(1);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));

    settle();
    let said = shop.run("lake sync t").ends(0);
    assert!(
        said.out
            .contains("1 file added, 1 updated, 1 removed, 3 unchanged"),
        "{}",
        said.out
    );
    let said = which("id-9000").ends(0);
    assert_eq!(
        (said.out.as_str(), said.err.as_str()),
        ("t/2.parquet\n", "")
    );
    which("id-250").ends(1);
    let said = shop.run("lake sync t --json").ends(0);
    assert_eq!(
        (
            json(&said)["unchanged"].as_u64(),
            json(&said)["added"].as_u64()
        ),
        (Some(5), Some(0))
    );

    // Truncated: it cannot be read, and is listed for as long as it is there.
    let whole = std::fs::read(shop.path("t/0.parquet")).unwrap();
    shop.write("t/0.parquet", &whole[..whole.len() / 2]);
    let said = shop.run("lake sync t").ends(2);
    assert!(said.err.contains("t/0.parquet"), "{}", said.err);
    assert!(paths(&which("id-5")).contains("t/0.parquet"));
}

#[test]
fn a_missing_damaged_or_foreign_index_costs_time_and_no_rows() {
    let shop = shop();
    let all = 5;
    let said = shop.run("lake which t id-250 --column x").ends(0);
    assert_eq!(said.out.lines().count(), all);
    assert!(said.err.contains("there is no index"), "{}", said.err);
    shop.run("lake index t --column x").ends(0);

    let index = shop.path("t/.bloomgrove-lake.grove");
    let whole = std::fs::read(&index).unwrap();
    for at in [whole.len() / 2, 100, whole.len() - 10] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(&index, &damaged).unwrap();
        let said = shop.run("lake which t id-250").ends(0);
        assert!(paths(&said).contains("t/2.parquet"), "{at}");
        std::fs::write(&index, &whole[..at]).unwrap();
        let said = shop.run("lake which t id-250").ends(0);
        assert!(paths(&said).contains("t/2.parquet"), "{at}");
    }
    // Of another table.
    texts(&shop, "u/x.parquet", 0..10);
    settle();
    shop.run("lake index u --column x").ends(0);
    std::fs::copy(shop.path("u/.bloomgrove-lake.grove"), &index).unwrap();
    let said = shop.run("lake which t id-250").ends(0);
    assert_eq!(said.out.lines().count(), all);
    assert!(
        said.err
            .contains("5 files are listed without being checked, because they are new"),
        "{}",
        said.err
    );
    // Of something else.
    shop.write("keys.txt", "a\nb\n");
    shop.run("index build keys.txt -o other.grove").ends(0);
    let said = shop.run("lake which t id-250 --index other.grove");
    assert!(said.ends(2).err.contains("not the index of a table"));
    shop.run("filter build keys.txt -o f.grove").ends(0);
    let said = shop.run("lake which t id-250 --index f.grove").ends(0);
    assert_eq!(said.out.lines().count(), all);
    assert!(
        said.err.contains(
            "f.grove: contains a filter, not an index, so every file is listed; pass the index of the \
             table"
        ),
        "{}",
        said.err
    );
    assert!(!said.err.contains("--replace"), "{}", said.err);
    // An empty list is a mistake, and so is a directory without files: neither is about the index.
    shop.write("list.txt", "\n");
    shop.run("lake which t id-250 --files-from list.txt")
        .fails_with(&["list.txt: the list of files is empty; pass one path per line"]);
    std::fs::create_dir(shop.path("none")).unwrap();
    let said = shop.run("lake which none id-250").ends(2);
    assert!(
        said.err.starts_with("bloomgrove: none: no Parquet files"),
        "{}",
        said.err
    );
}

#[test]
fn a_column_may_change_its_type_or_be_missing() {
    let shop = Shop::new();
    std::fs::create_dir(shop.path("t")).unwrap();
    let path = |name: &str| shop.path(format!("t/{name}.parquet"));
    let with = properties(true);
    let narrow = required::<Int32Type>((0..50).collect());
    crate::written::write(&path("a"), "required int32 x;", with.clone(), &[narrow]);
    let wide = required::<Int64Type>((25..75).chain([1 << 40]).collect());
    crate::written::write(&path("b"), "required int64 x;", with.clone(), &[wide]);
    let other = required::<Int64Type>(vec![1]);
    crate::written::write(&path("c"), "required int64 y;", with.clone(), &[other]);
    let empty: Chunk<Int64Type> = required(vec![]);
    crate::written::write(&path("d"), "required int64 x;", with, &[empty]);
    settle();
    for options in ["", "--from-footers"] {
        shop.run(&format!("lake index t --column x --replace {options}"))
            .ends(0);
        for (value, files) in [
            ("10", &["t/a.parquet"][..]),
            ("30", &["t/a.parquet", "t/b.parquet"]),
            ("060", &["t/b.parquet"]),
            ("1099511627776", &["t/b.parquet"]),
            ("99", &[]),
        ] {
            let said = shop.run(&format!("lake which t {value}"));
            assert_eq!(Vec::from_iter(paths(&said)), files, "{value} {options}");
            assert_eq!(said.err, "");
        }
        let said = shop.run("lake which t ten").ends(2);
        assert!(
            said.err
                .contains("\"ten\" cannot be in column \"x\", which contains integers"),
            "{}",
            said.err
        );
        // With a file that is not indexed, an impossible value is a warning: the others still count.
        std::fs::copy(path("c"), path("new")).unwrap();
        let said = shop.run("lake which t ten 10").ends(0);
        assert!(
            said.err.contains("\"ten\" cannot be in column"),
            "{}",
            said.err
        );
        assert_eq!(
            Vec::from_iter(paths(&said)),
            ["t/a.parquet", "t/new.parquet"]
        );
        std::fs::remove_file(path("new")).unwrap();
        let info = json(&shop.run("lake info t --json").ends(0));
        assert_eq!(info["current"], 4, "{info}");
    }
    let said = shop.run("lake index t --column z --replace").ends(2);
    assert!(
        said.err.contains("no column \"z\"; the columns are x"),
        "{}",
        said.err
    );
    let said = shop.run("lake which t 1 --column y").ends(2);
    assert!(
        said.err.contains("column \"y\" is not indexed; indexed: x"),
        "{}",
        said.err
    );
}

/// Where engines find rows in ways that a file does not show, it is listed.
#[test]
fn columns_in_paths_in_other_cases_and_behind_links_are_not_lost() {
    let shop = Shop::new();
    let write = |name: &str, field: &str, rows: std::ops::Range<u64>| {
        let path = shop.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let values = crate::written::text(rows.map(|row| format!("id-{row}")));
        let chunk = required::<ByteArrayType>(values);
        crate::written::write(&path, field, properties(true), &[chunk]);
    };
    write("t/a.parquet", "required binary x (UTF8);", 0..10);
    write("t/b.parquet", "required binary X (UTF8);", 10..20);
    write("t/_day=1/c.parquet", "required binary x (UTF8);", 20..30);
    write("t/x=id-35/d.parquet", "required binary y (UTF8);", 0..1);
    write("elsewhere/e.parquet", "required binary x (UTF8);", 40..50);
    std::os::unix::fs::symlink("../elsewhere/e.parquet", shop.path("t/e.parquet")).unwrap();
    settle();
    let said = shop.run("lake index t --column x").ends(2);
    assert!(
        said.err.contains("column x is in the path of this file"),
        "{}",
        said.err
    );
    for (value, file) in [
        ("id-5", "t/a.parquet"),
        ("id-15", "t/b.parquet"),
        ("id-25", "t/_day=1/c.parquet"),
        ("id-35", "t/x=id-35/d.parquet"),
        ("id-45", "t/e.parquet"),
    ] {
        let said = shop.run(&format!("lake which t {value}")).ends(0);
        assert!(paths(&said).contains(file), "{value}: {}", said.out);
    }
    std::os::unix::fs::symlink("../elsewhere", shop.path("t/more")).unwrap();
    let said = shop.run("lake which t id-5").ends(2);
    assert!(
        said.err.contains("links to directories are not followed"),
        "{}",
        said.err
    );
}

#[test]
fn what_is_probably_a_mistake_is_an_error() {
    let shop = shop();
    std::fs::create_dir(shop.path("empty")).unwrap();
    shop.run("lake index t --column x --index i.grove").ends(0);
    for line in ["which empty id-5", "sync empty"] {
        let said = shop.run(&format!("lake {line} --index i.grove")).ends(2);
        assert!(said.err.contains("no Parquet files"), "{}", said.err);
    }
    assert_eq!(
        shop.run("lake which t id-5 --index i.grove").ends(0).out,
        "t/0.parquet\n"
    );
    shop.write("keys.txt", "a\nb\n");
    shop.run("index build keys.txt -o other.grove").ends(0);
    let said = shop
        .run("lake index t --column x --index other.grove --replace")
        .ends(2);
    assert!(said.err.contains("left alone"), "{}", said.err);
    shop.run("lake index t --column x --index i.grove --keys 0")
        .ends(2);
    let said = shop.run("lake which nowhere id-5").ends(2);
    assert!(
        said.err.contains("nowhere: no such directory"),
        "{}",
        said.err
    );
}

#[test]
fn files_are_listed_as_each_engine_wants_them() {
    let shop = Shop::new();
    texts(&shop, "t/it's.parquet", 0..10);
    texts(&shop, "t/_delta_log/0.parquet", 0..10);
    texts(&shop, "t/.hidden.parquet", 0..10);
    settle();
    shop.run("lake index t --column x").ends(0);
    let said = shop.run("lake which t id-3 --format duckdb").ends(0);
    assert_eq!(said.out, "read_parquet(['t/it''s.parquet'])\n");
    let said = shop.run("lake which t id-3 --format polars").ends(0);
    assert_eq!(said.out, "scan_parquet([\"t/it's.parquet\"])\n");
    assert_eq!(
        shop.run("lake which t id-33 --format duckdb").ends(1).out,
        ""
    );
    // The files of a snapshot.
    texts(&shop, "t/old.parquet", 0..10);
    shop.write("snapshot.txt", "t/it's.parquet\n");
    let said = shop
        .run("lake which t id-3 --files-from snapshot.txt")
        .ends(0);
    assert_eq!(
        (said.out.as_str(), said.err.as_str()),
        ("t/it's.parquet\n", "")
    );
    shop.run("lake index t --column x").ends(2);
    assert!(
        shop.run("lake index t --column x")
            .err
            .contains("lake sync")
    );
}

/// Files are replaced and the index is brought up to date while queries run: the files that stay are
/// always found, and nothing is said to be wrong.
#[test]
fn queries_run_while_files_and_index_change() {
    let shop = shop();
    shop.run("lake index t --column x").ends(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..12 {
                texts(&shop, "t/4.parquet.new", round * 1000..round * 1000 + 50);
                std::fs::rename(shop.path("t/4.parquet.new"), shop.path("t/4.parquet")).unwrap();
                shop.run("lake sync t").ends(0);
            }
            stop.store(true, Ordering::Relaxed);
        });
        let mut queries = 0;
        while !stop.load(Ordering::Relaxed) || queries < 10 {
            let file = queries % 4;
            let said = shop.run(&format!("lake which t id-{}", file * 100 + queries % 100));
            let wanted = format!("t/{file}.parquet");
            assert!(paths(&said).contains(&wanted), "{} {}", said.out, said.err);
            queries += 1;
        }
    });
}
