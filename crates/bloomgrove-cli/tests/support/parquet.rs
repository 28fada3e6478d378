//! Parquet files of one column, written for a test, and the keys that are read from them.

use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, DataType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::support::Shop;

/// One column of one row group: its values, and what says where they are.
pub(crate) struct Chunk<T: DataType> {
    pub(crate) values: Vec<T::T>,
    pub(crate) definitions: Option<Vec<i16>>,
    pub(crate) repetitions: Option<Vec<i16>>,
}

/// A file with a single column, in as many row groups as there are chunks.
pub(crate) fn write<T: DataType>(
    path: &Path,
    field: &str,
    properties: WriterProperties,
    chunks: &[Chunk<T>],
) {
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

pub(crate) fn required<T: DataType>(values: Vec<T::T>) -> Chunk<T> {
    Chunk {
        values,
        definitions: None,
        repetitions: None,
    }
}

pub(crate) fn text(values: impl IntoIterator<Item = String>) -> Vec<ByteArray> {
    values
        .into_iter()
        .map(|value| ByteArray::from(value.into_bytes()))
        .collect()
}

#[allow(dead_code, reason = "not every test that shares this file needs it")]
/// The keys of a column as `filter check` prints them, all in the filter made of it.
#[track_caller]
pub(crate) fn keys(shop: &Shop, file: &str, column: &str) -> Vec<String> {
    shop.run(&format!("filter build {file} --column {column} -o k.grove"))
        .ends(0);
    let check = format!("filter check k.grove --keys-from {file} --column {column}");
    let said = shop.run(&check);
    assert_eq!(said.err, "");
    let keys = said.out.lines().map(|line| line.strip_suffix("\tmaybe"));
    keys.map(|key| key.unwrap().to_owned()).collect()
}
