//! Keys from columns of Parquet files that are written here, whole and damaged.

mod support;

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use support::Shop;

/// One column of one row group: its values, and what says where they are.
struct Chunk<T: DataType> {
    values: Vec<T::T>,
    definitions: Option<Vec<i16>>,
    repetitions: Option<Vec<i16>>,
}

/// A file with a single column, in as many row groups as there are chunks.
fn write<T: DataType>(path: &Path, field: &str, properties: WriterProperties, chunks: &[Chunk<T>]) {
    let schema = parse_message_type(&format!("message keys {{ {field} }}")).unwrap();
    let file = std::fs::File::create(path).unwrap();
    let properties = Arc::new(properties);
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), properties).unwrap();
    for chunk in chunks {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let (definitions, repetitions) = (&chunk.definitions, &chunk.repetitions);
        column
            .typed::<T>()
            .write_batch(
                &chunk.values,
                definitions.as_deref(),
                repetitions.as_deref(),
            )
            .unwrap();
        column.close().unwrap();
        assert!(group.next_column().unwrap().is_none());
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn required<T: DataType>(values: Vec<T::T>) -> Chunk<T> {
    Chunk {
        values,
        definitions: None,
        repetitions: None,
    }
}

fn text(values: impl IntoIterator<Item = String>) -> Vec<ByteArray> {
    values
        .into_iter()
        .map(|value| ByteArray::from(value.into_bytes()))
        .collect()
}

fn plain() -> WriterProperties {
    WriterProperties::builder().build()
}

/// The keys of a column as `filter check` prints them, all in the filter made of it.
#[track_caller]
fn keys(shop: &Shop, file: &str, column: &str) -> Vec<String> {
    shop.run(&format!("filter build {file} --column {column} -o k.grove"))
        .ends(0);
    let check = format!("filter check k.grove --keys-from {file} --column {column}");
    let said = shop.run(&check);
    assert_eq!(said.err, "");
    let keys = said.out.lines().map(|line| line.strip_suffix("\tmaybe"));
    keys.map(|key| key.unwrap().to_owned()).collect()
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
            vec!["--delimiter means nothing"],
        ),
    ] {
        shop.run(&format!("filter build a.parquet -o f.grove {options}"))
            .fails_with(&parts);
    }
    shop.shell("gzip -k a.parquet; mkdir folder.parquet; echo text > text.parquet; : > no.parquet")
        .ends(0);
    for (file, part) in [
        ("a.parquet.gz", "unpack it first"),
        ("folder.parquet", "folder"),
        ("text.parquet", "too short"),
        ("no.parquet", "too short"),
    ] {
        shop.run(&format!("filter build {file} --column id -o f.grove"))
            .fails_with(&[file, part]);
    }
}

/// A small file with dictionaries, levels and two row groups of several pages.
fn small(path: &Path, version: WriterVersion, compression: Compression) {
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(compression)
        .set_data_page_size_limit(64)
        .set_write_batch_size(4)
        .build();
    let chunks = [0, 10].map(|from| Chunk::<ByteArrayType> {
        values: text((from..from + 10).map(|i| format!("key-{}", i % 7))),
        definitions: Some([2, 2, 1, 2, 2, 0, 2, 2, 2, 2, 2, 2].to_vec()),
        repetitions: Some([0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0].to_vec()),
    });
    let field = "optional group k (list) { repeated binary array (utf8); }";
    write(path, field, properties, &chunks);
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    let shop = Shop::new();
    small(
        &shop.path("whole.parquet"),
        WriterVersion::PARQUET_1_0,
        Compression::SNAPPY,
    );
    assert_eq!(keys(&shop, "whole.parquet", "k").len(), 20);
    let whole = std::fs::read(shop.path("whole.parquet")).unwrap();
    for len in 0..whole.len() {
        shop.write("cut.parquet", &whole[..len]);
        shop.run("filter build cut.parquet --column k -o f.grove")
            .fails_with(&["cut.parquet"]);
        // The front or the middle missing, the end in place.
        shop.write("cut.parquet", &whole[whole.len() - len..]);
        shop.run("filter build cut.parquet --column k -o f.grove")
            .fails_with(&["cut.parquet"]);
    }
    assert!(!shop.path("f.grove").exists());
}

/// Flipped bits may leave a right file, or give other keys: few files have checksums. They
/// never end in anything but an answer or an error.
#[test]
fn flipped_bits_give_an_answer_or_an_error() {
    let shop = Shop::new();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        small(
            &shop.path("whole.parquet"),
            version,
            Compression::UNCOMPRESSED,
        );
        assert_eq!(keys(&shop, "whole.parquet", "k").len(), 20);
        flip_bits(&shop, |at| vec![1 << (at % 8), 0x80], |_| true);
    }
}

/// Where every row has a value, there are as many keys as rows, or an error: also if a page
/// with a value says that it has none.
#[test]
fn flipped_bits_lose_no_keys_in_silence() {
    let shop = Shop::new();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(1)
        .set_write_batch_size(1)
        .build();
    let values = required::<Int64Type>((0..3).collect());
    write(
        &shop.path("whole.parquet"),
        "required int64 k;",
        properties,
        &[values],
    );
    assert_eq!(keys(&shop, "whole.parquet", "k").len(), 3);
    // The pages come first, and are short.
    let flips = |at| match at {
        0..150 => (0..8).map(|bit| 1 << bit).collect(),
        _ => vec![],
    };
    flip_bits(&shop, flips, |answers| answers.len() == 3);
}

/// Damages the bytes of `whole.parquet`. What is then read without an error must be right.
fn flip_bits(shop: &Shop, flips: impl Fn(usize) -> Vec<u8>, right: impl Fn(Vec<&str>) -> bool) {
    let whole = std::fs::read(shop.path("whole.parquet")).unwrap();
    let (mut errors, mut all) = (0, 0);
    for at in 0..whole.len() {
        for flip in flips(at) {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            shop.write("f.parquet", bytes);
            let said = shop.run("filter check --json k.grove --keys-from f.parquet --column k");
            let clear = said.code == Some(2) && said.err.contains("f.parquet: ");
            let answered = matches!(said.code, Some(0 | 1)) && right(said.out.lines().collect());
            assert!(answered || clear, "byte {at} ^ {flip}: {said:?}");
            errors += usize::from(clear);
            all += 1;
        }
    }
    assert!(errors > all / 10, "{errors} of {all}");
}

/// A number of 2^32 wherever a number can be: in counts of values, of different values, of
/// lengths, of columns. None of them may take the memory it asks for.
#[test]
fn damaged_numbers_take_no_memory() {
    let shop = Shop::new();
    let properties = |encoding: Option<Encoding>| {
        let properties = WriterProperties::builder().set_dictionary_enabled(encoding.is_none());
        encoding
            .map_or(properties.clone(), |it| properties.set_encoding(it))
            .build()
    };
    for encoding in [
        None,
        Some(Encoding::DELTA_BYTE_ARRAY),
        Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
    ] {
        let values = required::<ByteArrayType>(text((0..9).map(|i| format!("key-{i}"))));
        let path = shop.path("whole.parquet");
        write(
            &path,
            "required binary k (utf8);",
            properties(encoding),
            &[values],
        );
        assert_eq!(keys(&shop, "whole.parquet", "k").len(), 9);
        let whole = std::fs::read(&path).unwrap();
        for at in 4..whole.len() - 8 {
            for number in [b"\xff\xff\xff\xff\x0f", b"\xfe\xff\xff\xff\x0e"] {
                // In the place of a number of one byte.
                let mut bytes = whole.clone();
                bytes.splice(at..at + 1, number.iter().copied());
                let footer = bytes.len() - 8;
                let len = u32::from_le_bytes(bytes[footer..footer + 4].try_into().unwrap());
                if at >= whole.len() - 8 - len as usize {
                    bytes[footer..footer + 4].copy_from_slice(&(len + 4).to_le_bytes());
                }
                shop.write("f.parquet", bytes);
                let said = shop.shell(
                    "ulimit -v 1000000
                     exec $BLOOMGROVE filter check -q k.grove --keys-from f.parquet --column k",
                );
                let ended = matches!(said.code, Some(0..=2));
                assert!(ended, "{encoding:?} {at}: {said:?}");
            }
        }
    }
}
