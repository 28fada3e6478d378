//! Keys from columns of Parquet files that are written here.

use std::sync::Arc;

use crate::support::Shop;
use crate::written::{Chunk, keys, required, text, write};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

fn plain() -> WriterProperties {
    WriterProperties::builder().build()
}

#[track_caller]
fn keys_of<T: DataType>(field: &str, values: Vec<T::T>) -> Vec<String> {
    let shop = Shop::new();
    write::<T>(&shop.path("a.parquet"), field, plain(), &[required(values)]);
    keys(&shop, "a.parquet", "k")
}

#[test]
fn values_become_the_text_people_ask_for() {
    assert_eq!(
        keys_of::<ByteArrayType>("required binary k (string);", text(["é".into(), "".into()])),
        ["é", ""]
    );
    assert_eq!(
        keys_of::<ByteArrayType>("required binary k;", text(["raw".into()])),
        ["raw"]
    );
    assert_eq!(
        keys_of::<BoolType>("required boolean k;", vec![true, false]),
        ["true", "false"]
    );
    for (field, values, expected) in [
        ("int32 k;", vec![42, -7], ["42", "-7"]),
        (
            "int32 k (integer(8,true));",
            vec![127, -128],
            ["127", "-128"],
        ),
        (
            "int32 k (integer(32,false));",
            vec![-1, 1],
            ["4294967295", "1"],
        ),
        ("int32 k (uint_8);", vec![200, 0], ["200", "0"]),
        ("int32 k (decimal(9,0));", vec![42, -7], ["42", "-7"]),
        (
            "int32 k (decimal(9,2));",
            vec![1250, -5],
            ["12.50", "-0.05"],
        ),
        (
            "int32 k (date);",
            vec![19_782, -1],
            ["2024-02-29", "1969-12-31"],
        ),
    ] {
        let field = format!("required {field}");
        assert_eq!(keys_of::<Int32Type>(&field, values), expected, "{field}");
    }
    for (field, value, expected) in [
        ("int64 k;", i64::MIN, "-9223372036854775808"),
        ("int64 k (integer(64,false));", -1, "18446744073709551615"),
        ("int64 k (decimal(18,3));", 1, "0.001"),
        (
            "int64 k (timestamp(millis,true));",
            500,
            "1970-01-01T00:00:00.500Z",
        ),
        (
            "int64 k (timestamp(micros,false));",
            500,
            "1970-01-01T00:00:00.000500",
        ),
        (
            "int64 k (timestamp(nanos,true));",
            -1,
            "1969-12-31T23:59:59.999999999Z",
        ),
        ("int64 k (timestamp_millis);", 0, "1970-01-01T00:00:00Z"),
    ] {
        let field = format!("required {field}");
        assert_eq!(
            keys_of::<Int64Type>(&field, vec![value]),
            [expected],
            "{field}"
        );
    }
    let sixteen = (1..=16).collect::<Vec<u8>>();
    for (field, value, expected) in [
        (
            "(16) k (uuid);",
            sixteen,
            "01020304-0506-0708-090a-0b0c0d0e0f10",
        ),
        ("(3) k;", b"abc".to_vec(), "abc"),
        ("(3) k (decimal(6,1));", vec![0xff, 0xff, 0xf5], "-1.1"),
    ] {
        let field = format!("required fixed_len_byte_array {field}");
        let value = FixedLenByteArray::from(value);
        assert_eq!(
            keys_of::<FixedLenByteArrayType>(&field, vec![value]),
            [expected]
        );
    }
}

#[test]
fn a_type_without_one_spelling_is_refused_by_name() {
    let shop = Shop::new();
    let path = shop.path("a.parquet");
    let refused = |parts: &[&str]| {
        shop.run("filter build a.parquet --column k -o f.grove")
            .fails_with(&[&["a.parquet", "column k"], parts].concat());
    };
    write::<DoubleType>(&path, "required double k;", plain(), &[required(vec![1.0])]);
    refused(&["DOUBLE", "float", "integer or text"]);
    write::<Int96Type>(
        &path,
        "required int96 k;",
        plain(),
        &[required(vec![Int96::new()])],
    );
    refused(&["INT96", "64 bits"]);
    let field = "required int32 k (time(millis,true));";
    write::<Int32Type>(&path, field, plain(), &[required(vec![1])]);
    refused(&["Time", "INT32"]);
    let field = "required fixed_len_byte_array (12) k (interval);";
    let value = FixedLenByteArray::from(vec![0; 12]);
    write::<FixedLenByteArrayType>(&path, field, plain(), &[required(vec![value])]);
    refused(&["INTERVAL"]);
    assert_eq!(shop.names(), ["a.parquet"]);
}

#[test]
fn nulls_are_no_keys_and_elements_of_lists_are() {
    let shop = Shop::new();
    let chunk = Chunk::<ByteArrayType> {
        values: text(["a".into(), "".into(), "b".into()]),
        definitions: Some(vec![0, 1, 1, 0, 1, 0]),
        repetitions: None,
    };
    let path = shop.path("nulls.parquet");
    write(&path, "optional binary k (utf8);", plain(), &[chunk]);
    assert_eq!(keys(&shop, "nulls.parquet", "k"), ["a", "", "b"]);

    // [1, 2], none, [], [null, 3] and, in another row group, [4].
    let field = "optional group tags (list) { repeated group list { optional int64 element; } }";
    let first = Chunk::<Int64Type> {
        values: vec![1, 2, 3],
        definitions: Some(vec![3, 3, 0, 1, 2, 3]),
        repetitions: Some(vec![0, 1, 0, 0, 0, 1]),
    };
    let second = Chunk {
        values: vec![4],
        definitions: Some(vec![3]),
        repetitions: Some(vec![0]),
    };
    write(
        &shop.path("lists.parquet"),
        field,
        plain(),
        &[first, second],
    );
    for column in ["tags", "tags.list.element", "#1"] {
        assert_eq!(keys(&shop, "lists.parquet", column), ["1", "2", "3", "4"]);
    }

    let none = Chunk::<Int64Type> {
        values: vec![],
        definitions: Some(vec![0, 0]),
        repetitions: None,
    };
    write(
        &shop.path("none.parquet"),
        "optional int64 k;",
        plain(),
        &[none],
    );
    assert!(keys(&shop, "none.parquet", "k").is_empty());
    write::<Int64Type>(
        &shop.path("empty.parquet"),
        "optional int64 k;",
        plain(),
        &[],
    );
    assert!(keys(&shop, "empty.parquet", "k").is_empty());
}

/// Every codec and encoding, over several row groups and many pages.
#[test]
fn the_same_keys_however_they_are_packed() {
    let shop = Shop::new();
    let key = |i: u32| format!("customer-{:05}", i % 9000);
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ] {
        for (version, encoding) in [
            (WriterVersion::PARQUET_1_0, None),
            (WriterVersion::PARQUET_1_0, Some(Encoding::PLAIN)),
            (WriterVersion::PARQUET_2_0, Some(Encoding::DELTA_BYTE_ARRAY)),
            (
                WriterVersion::PARQUET_2_0,
                Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
            ),
        ] {
            let mut properties = WriterProperties::builder()
                .set_compression(compression)
                .set_writer_version(version)
                .set_data_page_size_limit(2000)
                .set_write_batch_size(50)
                .set_dictionary_enabled(encoding.is_none());
            if let Some(encoding) = encoding {
                properties = properties.set_encoding(encoding);
            }
            let chunks: Vec<_> = (0..3)
                .map(|group| Chunk::<ByteArrayType> {
                    values: text((group * 4000..(group + 1) * 4000).map(key)),
                    definitions: Some(vec![1; 4000]),
                    repetitions: None,
                })
                .collect();
            let path = shop.path("a.parquet");
            write(
                &path,
                "optional binary k (utf8);",
                properties.build(),
                &chunks,
            );
            let expected = (0..12_000).map(key);
            let same = keys(&shop, "a.parquet", "k").into_iter().eq(expected);
            assert!(same, "{compression} {version:?} {encoding:?}");
        }
    }
}

#[test]
fn the_wrong_column_or_none_lists_those_there_are() {
    let shop = Shop::new();
    let schema = "message m { required int32 id; required group a { required int32 b; \
                  required int32 c; } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(shop.path("a.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(plain())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for value in [1, 2, 3] {
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<Int32Type>();
        typed.write_batch(&[value], None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    for (column, key) in [("id", "1"), ("a.b", "2"), ("a.c", "3"), ("3", "3")] {
        assert_eq!(keys(&shop, "a.parquet", column), [key]);
    }
    for (options, parts) in [
        ("", vec!["columns, not lines", "--column", "id, a.b, a.c"]),
        ("--column ID", vec!["no column \"ID\"", "id, a.b, a.c"]),
        ("--column a", vec!["2 columns", "#2 (a.b)", "#3 (a.c)"]),
        (
            "--column id --delimiter ;",
            vec!["--delimiter does not apply"],
        ),
    ] {
        shop.run(&format!("filter build a.parquet -o f.grove {options}"))
            .fails_with(&parts);
    }
    shop.shell("gzip -k a.parquet; mkdir folder.parquet; echo text > text.parquet; : > no.parquet")
        .ends(0);
    for (file, part) in [
        ("a.parquet.gz", "decompress the file first"),
        ("folder.parquet", "folder"),
        ("text.parquet", "too short"),
        ("no.parquet", "too short"),
    ] {
        shop.run(&format!("filter build {file} --column id -o f.grove"))
            .fails_with(&[file, part]);
    }
}
