//! Damaged Parquet files: cut off, with flipped bits, with numbers beyond all measure.
//! Whatever is wrong with them, they end in an error and not the program.

use std::path::Path;

use crate::support::Shop;
use crate::written::{Chunk, keys, required, text, write};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArrayType, Int64Type};
use parquet::file::properties::{WriterProperties, WriterVersion};

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
        shop.run_here("filter build ./cut.parquet --column k -o ./f.grove")
            .fails_with(&["cut.parquet"]);
        // The front or the middle missing, the end in place.
        shop.write("cut.parquet", &whole[whole.len() - len..]);
        shop.run_here("filter build ./cut.parquet --column k -o ./f.grove")
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
            let said =
                shop.run_here("filter check --json ./k.grove --keys-from ./f.parquet --column k");
            let clear = said.code == Some(2) && said.err.contains("f.parquet: ");
            let answered = matches!(said.code, Some(0 | 1)) && right(said.out.lines().collect());
            assert!(answered || clear, "byte {at} ^ {flip}: {said:?}");
            errors += usize::from(clear);
            all += 1;
        }
    }
    assert!(errors > all / 10, "{errors} of {all}");
}

/// Set for the process with little memory.
const INSIDE: &str = "BLOOMGROVE_TEST_DAMAGED_NUMBERS";

/// A number of 2^32 wherever a number can be: in counts of values, of different values, of
/// lengths, of columns. None of them may take the memory it asks for: in a separate process, which
/// has little.
#[test]
fn damaged_numbers_take_no_memory() {
    let done = std::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -v 1000000; exec \"$0\" --exact \"$1\" --nocapture",
        ])
        .arg(std::env::current_exe().unwrap())
        .arg("parquet_damage::with_little_memory")
        .env(INSIDE, "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    let wrong = String::from_utf8_lossy(&done.stderr);
    let last = said.lines().rev().take(5).collect::<Vec<_>>();
    assert!(done.status.success(), "{last:?} {wrong}");
    assert!(said.matches(" at byte ").count() > 1000, "{last:?}");
}

/// What the separate process does.
#[test]
fn with_little_memory() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
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
                println!("{encoding:?} at byte {at}");
                let said =
                    shop.run_here("filter check -q ./k.grove --keys-from ./f.parquet --column k");
                let ended = matches!(said.code, Some(0..=2));
                assert!(ended, "{encoding:?} {at}: {said:?}");
            }
        }
    }
}
