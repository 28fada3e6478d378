//! `bloomgrove semi-join`: conditions of every type, and what can go wrong.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Shop, json};
use crate::table::Dice;
use crate::written::{required, text};
use parquet::data_type::{ByteArrayType, DataType, FixedLenByteArray};
use parquet::data_type::{FixedLenByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;

/// How many rows of a column, joined with itself, satisfy the condition.
#[track_caller]
fn holding(shop: &Shop, file: &str, condition: &str) -> u64 {
    let args = [
        "semi-join",
        file,
        "k",
        file,
        "k",
        "-o",
        "o.parquet",
        "--replace",
        "--fpr",
        "1e-9",
        "--where",
        &condition.replace("k ", "probe.k "),
        "--json",
    ];
    let said = shop.run_args(&args);
    assert_eq!(said.code, Some(0), "{condition}: {}", said.err);
    json(&said)["probe"]["output_rows"].as_u64().unwrap()
}

#[track_caller]
fn check<T: DataType>(field: &str, values: Vec<T::T>, cases: &[(&str, u64)]) {
    let shop = Shop::new();
    let properties = WriterProperties::builder().build();
    let chunks = [required::<T>(values)];
    let field = format!("required {field};");
    crate::written::write(&shop.path("t.parquet"), &field, properties, &chunks);
    for &(condition, rows) in cases {
        assert_eq!(holding(&shop, "t.parquet", condition), rows, "{condition}");
    }
}

#[test]
fn keys_that_would_never_be_equal_and_links_are_refused() {
    let shop = Shop::new();
    std::fs::create_dir(shop.path("d")).unwrap();
    let write = |name: &str, field: &str| {
        let properties = WriterProperties::builder().build();
        let chunk = required::<Int64Type>(vec![1200]);
        crate::written::write(&shop.path(name), field, properties, &[chunk]);
    };
    write("two.parquet", "required int64 k (DECIMAL(9, 2));");
    write("four.parquet", "required int64 k (DECIMAL(9, 4));");
    write("utc.parquet", "required int64 k (TIMESTAMP(MILLIS, true));");
    write(
        "local.parquet",
        "required int64 k (TIMESTAMP(MICROS, false));",
    );
    write("d/one.parquet", "required int64 k (DECIMAL(9, 2));");
    for (build, probe) in [("two", "four"), ("utc", "local"), ("two", "utc")] {
        let line = format!("semi-join {build}.parquet k {probe}.parquet k -o o.parquet");
        let said = shop.run(&line).ends(2);
        assert!(
            said.err.contains("equal values are written differently"),
            "{}",
            said.err
        );
        assert!(!shop.path("o.parquet").exists());
    }
    shop.run("semi-join two.parquet k d k -o o.parquet").ends(0);
    let said = shop
        .run("semi-join two.parquet k d k -o o2.parquet --both ./o2.parquet")
        .ends(2);
    assert!(said.err.contains("name the same file"), "{}", said.err);
    std::os::unix::fs::symlink("../two.parquet", shop.path("d/link.parquet")).unwrap();
    let said = shop
        .run("semi-join d k two.parquet k -o o3.parquet")
        .ends(2);
    assert!(said.err.contains("links are not followed"), "{}", said.err);
}

#[test]
fn conditions_compare_by_the_type_of_the_column() {
    let integers = [
        ("k > 9", 2),
        ("k >= 9.5", 2),
        ("k = 10", 1),
        ("k = 10.0", 1),
        ("k = 10.5", 0),
        ("k != -3", 3),
        ("k <> 10", 3),
        ("k <= -2.5", 1),
        ("k < 99999999999999999999999", 4),
    ];
    check::<Int64Type>("int64 k", vec![-3, 9, 10, 100], &integers);
    check::<Int32Type>("int32 k", vec![-3, 9, 10, 100], &integers);
    check::<Int32Type>("int32 k (integer(32,false))", vec![-1, 1], &[("k > 1", 1)]);
    let decimals = [
        ("k > 1.5", 2),
        ("k = 12.5", 1),
        ("k < 1.499", 1),
        ("k <= 1.5001", 2),
    ];
    check::<Int64Type>(
        "int64 k (decimal(9,2))",
        vec![-5, 150, 1250, 151],
        &decimals,
    );
    let bytes = [-5i32, 150, 1250, 151].map(|value| {
        let [d, c, b, a] = value.to_le_bytes();
        FixedLenByteArray::from(vec![a, b, c, d])
    });
    let field = "fixed_len_byte_array(4) k (decimal(9,2))";
    check::<FixedLenByteArrayType>(field, bytes.to_vec(), &decimals);
    check::<Int32Type>(
        "int32 k (date)",
        vec![19_781, 19_782, 19_783],
        &[
            ("k >= 2024-02-29", 2),
            ("k = '2024-02-29'", 1),
            ("k < 1970-01-01", 0),
        ],
    );
    check::<Int64Type>(
        "int64 k (timestamp(millis,true))",
        vec![1_709_207_999_999, 1_709_208_000_000, 1_709_208_000_001],
        &[
            ("k >= 2024-02-29T12:00:00Z", 2),
            ("k > 2024-02-29T12:00:00", 1),
            ("k = 2024-02-29T13:00:00+01:00", 1),
            ("k > 2024-02-29T12:00:00.0005Z", 1),
            ("k > 2024-02-29", 3),
        ],
    );
    check::<ByteArrayType>(
        "binary k (string)",
        text(["b".into(), "B".into(), "it's".into(), "10".into()]),
        &[
            ("k = b", 1),
            ("k >= 'b'", 2),
            ("k = 'it''s'", 1),
            ("k < 9", 1),
            ("k != ''", 4),
        ],
    );
    let uuid = FixedLenByteArray::from((0..16).collect::<Vec<u8>>());
    check::<FixedLenByteArrayType>(
        "fixed_len_byte_array(16) k (uuid)",
        vec![uuid],
        &[
            ("k = 00010203-0405-0607-0809-0A0B0C0D0E0F", 1),
            ("k = 00010203-0405-0607-0809-0a0b0c0d0e10", 0),
        ],
    );
}

/// Of a float column, with keys from another; and null matches neither a condition nor its
/// opposite.
#[test]
fn floats_can_be_compared_and_nulls_match_nothing() {
    let shop = Shop::new();
    crate::table::write(&shop.path("t.parquet"), &mut Dice(1), 10, &[500]);
    let count = |condition: &str| {
        let file = "t.parquet";
        let condition = format!("probe.{condition}");
        let args = [
            "semi-join",
            file,
            "n",
            file,
            "n",
            "-o",
            "o.parquet",
            "--replace",
            "--where",
        ];
        let args = [&args[..], &[&condition, "--json"]].concat();
        json(&shop.run_args(&args).ends(0))["probe"]["output_rows"]
            .as_u64()
            .unwrap()
    };
    let all = crate::table::rows(&shop.path("t.parquet"));
    let nulls = all.iter().filter(|row| row.k.is_none()).count();
    assert!(nulls > 20);
    assert_eq!(count("k = 3") + count("k != 3"), (all.len() - nulls) as u64);
    let xs = count("p.x >= 0");
    assert!(xs > 200 && xs < 450);
    assert_eq!(count("p.x < 1e1") + count("p.x >= 10"), xs);
    assert_eq!(count("b = true") + count("b = false"), count("b >= false"));
    assert_eq!(count("g < 0"), 0);
}

#[test]
fn a_condition_is_for_the_side_that_has_the_column() {
    let shop = Shop::new();
    shop.write("b.csv", "id,x,status\n1,1,P\n2,2,F\n3,3,P\n");
    shop.write("p.csv", "id,x,qty\n1,1,10\n2,2,9\n3,3,\n4,4,10\n");
    let run = |conditions: &[&str]| {
        let mut args = vec![
            "semi-join",
            "b.csv",
            "id",
            "p.csv",
            "id",
            "-o",
            "o.csv",
            "--replace",
        ];
        conditions
            .iter()
            .for_each(|condition| args.extend(["--where", condition]));
        shop.run_args(&args)
    };
    let output = |conditions: &[&str]| {
        run(conditions).ends(0);
        std::fs::read_to_string(shop.path("o.csv")).unwrap()
    };
    assert_eq!(output(&["status = P"]), "id,x,qty\n1,1,10\n3,3,\n");
    assert_eq!(output(&["status = P", "qty > 9"]), "id,x,qty\n1,1,10\n");
    assert_eq!(output(&["build.x > 1", "probe.x < 3"]), "id,x,qty\n2,2,9\n");
    run(&["x = 1"]).fails_with(&["both tables", "build.x", "probe.x"]);
    run(&["y = 1"]).fails_with(&["no column \"y\"", "b.csv has id, x, status", "p.csv has id"]);
    run(&["status"]).fails_with(&["COLUMN OP VALUE"]);
    run(&["status > 1"]).fails_with(&["b.csv", "line 2, column status", "single quotes"]);
}

#[test]
fn what_cannot_be_done_is_an_error_before_any_work() {
    let shop = Shop::new();
    crate::table::write(&shop.path("t.parquet"), &mut Dice(1), 10, &[10]);
    shop.write("t.csv", "k,j\n1,2\n");
    shop.write("other.csv", "something\n");
    for (line, parts) in [
        (
            "t.csv x t.csv k -o o.csv",
            &["t.csv", "no column \"x\"", "k, j"][..],
        ),
        (
            "t.csv k t.parquet tags -o o.parquet",
            &["tags.list.element", "in a list"],
        ),
        ("t.parquet p.x t.csv k -o o.csv", &["column p.x", "float"]),
        ("t.csv k t.parquet p.t -o o.parquet", &["INT96"]),
        ("t.csv k t.csv k -o o.parquet", &["o.parquet", "CSV"]),
        ("t.csv k t.parquet k -o o.csv", &["o.csv", "Parquet"]),
        ("t.csv k t.csv k -o o.csv.xz", &[".gz or .zst"]),
        (
            "t.csv k t.csv k -o other.csv",
            &[
                "bloomgrove: other.csv: the file already exists",
                "--replace",
            ],
        ),
        ("t.csv k t.csv k -o o.csv --both o.csv", &["same file"]),
        ("t.csv k none.csv k -o o.csv", &["none.csv"]),
        (
            "- k t.csv k -o o.csv",
            &["standard input", "save it to a file"],
        ),
        (
            "t.csv k /dev/null k -o o.csv",
            &["/dev/null", "save it to a file"],
        ),
        ("t.csv k t.csv k -o o.csv --memory 10MB", &["at least 38MB"]),
        ("t.csv k . k -o o.csv", &["Parquet files and others"]),
    ] {
        shop.run(&format!("semi-join {line}")).fails_with(parts);
    }
    for (condition, part) in [
        ("n = one", "not a number"),
        ("f = 1", ""),
        ("b = yes", "neither true nor false"),
        ("p.t = 1", "cannot be compared"),
        ("tags.list.element = 1", "in a list"),
    ] {
        let line = [
            "semi-join",
            "t.csv",
            "k",
            "t.parquet",
            "k",
            "-o",
            "o.parquet",
        ];
        let said = shop.run_args(&[&line[..], &["--where", condition]].concat());
        match part {
            "" => {
                said.ends(0);
                std::fs::remove_file(shop.path("o.parquet")).unwrap();
            }
            part => said.fails_with(&[condition.split(' ').next().unwrap(), part]),
        }
    }
    assert_eq!(shop.names(), ["other.csv", "t.csv", "t.parquet"]);
}

#[test]
fn the_files_of_a_table_have_the_same_columns() {
    let shop = Shop::new();
    shop.write("b.csv", "k\n1\n");
    shop.write("p/1.csv", "k,a\n1,2\n");
    shop.write("p/2.csv", "a,k\n1,2\n");
    shop.run("semi-join b.csv k p k -o o.csv")
        .fails_with(&["p/2.csv", "a, k", "k, a"]);
    shop.write("r/1.csv", "k\n1\n");
    shop.write("r/2.tsv", "k\n1\n");
    shop.run("semi-join b.csv k r k -o o.csv")
        .fails_with(&["r/2.tsv", "separator"]);
    let write = |name: &str, field: &str| {
        std::fs::create_dir_all(shop.path("q")).unwrap();
        let properties = WriterProperties::builder().build();
        let chunks = [required::<Int64Type>(vec![1])];
        crate::written::write(&shop.path(name), field, properties, &chunks);
    };
    write("q/1.parquet", "required int64 k;");
    write("q/2.parquet", "required int64 k (integer(64,false));");
    shop.run("semi-join b.csv k q k -o o.parquet")
        .fails_with(&["q/2.parquet", "schema"]);
    assert_eq!(shop.names(), ["b.csv", "p", "q", "r"]);
}

#[test]
fn an_output_never_replaces_an_input() {
    let shop = Shop::new();
    shop.write("b.csv", "k\n1\n2\n3\n");
    shop.write("p/1.csv", "k\n2\n3\n4\n");
    std::os::unix::fs::symlink("b.csv", shop.path("link.csv")).unwrap();
    for outputs in [
        "-o p/1.csv",
        "-o b.csv",
        "-o link.csv",
        "-o o.csv --both ./b.csv",
    ] {
        shop.run(&format!("semi-join b.csv k p k {outputs} --replace"))
            .fails_with(&["this input would be overwritten; choose another output"]);
    }
    assert_eq!(shop.names(), ["b.csv", "link.csv", "p"]);
}

/// Ends without an output, and without temporary files beside it.
#[test]
fn an_interrupted_run_leaves_nothing() {
    let shop = Shop::new();
    let rows: String = (0..3_000_000).map(|i| format!("{i}\n")).collect();
    shop.write("t.csv", format!("k\n{rows}"));
    let line = "semi-join t.csv k t.csv k -o o.csv --both b.csv";
    let args: Vec<&str> = line.split(' ').collect();
    let child = shop.command(&args).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(150));
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted; nothing was changed"), "{said}");
    assert_eq!(shop.names(), ["t.csv"]);
}

/// Flipped bits in the other columns end in an output or an error, never in anything else.
#[test]
fn a_damaged_file_gives_an_answer_or_an_error() {
    let shop = Shop::new();
    shop.write("b.csv", "k\n1\n2\n3\n");
    let mut dice = Dice(9);
    for _ in 0..4 {
        crate::table::write(&shop.path("whole.parquet"), &mut dice, 6, &[40, 40]);
        let whole = std::fs::read(shop.path("whole.parquet")).unwrap();
        for _ in 0..60 {
            let mut bytes = whole.clone();
            let at = dice.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << dice.below(8);
            shop.write("t.parquet", &bytes);
            let said = shop.run("semi-join b.csv k t.parquet k -o o.parquet --replace");
            assert!(matches!(said.code, Some(0 | 2)), "byte {at}: {said:?}");
            assert!(
                said.code == Some(0) || said.err.contains("t.parquet"),
                "{said:?}"
            );
        }
    }
}
