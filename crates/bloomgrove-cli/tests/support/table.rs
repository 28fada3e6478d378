//! Random tables with nulls, lists and structs, written as Parquet, and the rows of such files.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// Numbers that are the same in every run (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ x >> 31) % bound
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

pub(crate) const SCHEMA: &str = "message t {
    optional int64 k;
    required int32 n;
    optional binary s (string);
    optional group tags (list) { repeated group list { optional binary element (string); } }
    optional group p { required double x; optional int96 t; }
    optional fixed_len_byte_array(3) f;
    optional boolean b;
    required float g;
}";

/// One column of some rows, with its levels.
struct Levels<T> {
    values: Vec<T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl<T> Levels<T> {
    fn new() -> Self {
        Self {
            values: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
        }
    }

    fn push(&mut self, value: Option<T>, definition: i16, repetition: i16) {
        self.values.extend(value);
        self.definitions.push(definition);
        self.repetitions.push(repetition);
    }

    fn write<D: DataType<T = T>>(&self, group: &mut SerializedRowGroupWriter<'_, std::fs::File>) {
        let mut column = group.next_column().unwrap().unwrap();
        let (definitions, repetitions) = (Some(&self.definitions[..]), Some(&self.repetitions[..]));
        let write = column.typed::<D>();
        write
            .write_batch(&self.values, definitions, repetitions)
            .unwrap();
        column.close().unwrap();
    }
}

/// A table with keys below `keys`, one in ten of them null, in row groups of these sizes.
pub(crate) fn write(path: &Path, dice: &mut Dice, keys: u64, groups: &[usize]) {
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let properties = WriterProperties::builder()
        .set_compression(compressions[dice.below(5) as usize])
        .set_writer_version(versions[dice.below(2) as usize])
        .set_dictionary_enabled(dice.chance(2))
        .set_data_page_row_count_limit([30, 1000][dice.below(2) as usize])
        .set_write_batch_size(16)
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "made by".into(),
            "a test".to_owned(),
        )]))
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for &rows in groups {
        let mut group = writer.next_row_group().unwrap();
        write_group(&mut group, dice, keys, rows);
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn write_group(
    group: &mut SerializedRowGroupWriter<'_, std::fs::File>,
    dice: &mut Dice,
    keys: u64,
    rows: usize,
) {
    let text = |number: u64| ByteArray::from(format!("text {number}").into_bytes());
    let mut k = Levels::<i64>::new();
    let mut n = Levels::<i32>::new();
    let mut s = Levels::<ByteArray>::new();
    let mut tags = Levels::<ByteArray>::new();
    let mut x = Levels::<f64>::new();
    let mut t = Levels::<Int96>::new();
    let mut f = Levels::<FixedLenByteArray>::new();
    let mut b = Levels::<bool>::new();
    let mut g = Levels::<f32>::new();
    for row in 0..rows {
        match dice.chance(10) {
            true => k.push(None, 0, 0),
            false => k.push(Some(dice.below(keys).cast_signed()), 1, 0),
        }
        n.push(Some(row as i32), 0, 0);
        match dice.below(4) {
            0 => s.push(None, 0, 0),
            1 => s.push(Some(text(dice.below(5))), 1, 0),
            2 => s.push(Some(ByteArray::from(vec![])), 1, 0),
            _ => s.push(Some(text(dice.below(1 << 40))), 1, 0),
        }
        match dice.below(5) {
            0 => tags.push(None, 0, 0),
            1 => tags.push(None, 1, 0),
            len => {
                for at in 0..len {
                    let repetition = i16::from(at > 0);
                    match dice.chance(4) {
                        true => tags.push(None, 2, repetition),
                        false => tags.push(Some(text(dice.below(20))), 3, repetition),
                    }
                }
            }
        }
        match dice.below(3) {
            0 => {
                x.push(None, 0, 0);
                t.push(None, 0, 0);
            }
            1 => {
                x.push(Some(dice.below(1000) as f64 / 8.0), 1, 0);
                t.push(None, 1, 0);
            }
            _ => {
                x.push(Some(0.1), 1, 0);
                let mut time = Int96::new();
                time.set_data(dice.below(1000) as u32, 0, 2_440_588);
                t.push(Some(time), 2, 0);
            }
        }
        match dice.chance(3) {
            true => f.push(None, 0, 0),
            false => {
                let bytes = dice.below(1 << 24).to_le_bytes()[..3].to_vec();
                f.push(Some(FixedLenByteArray::from(bytes)), 1, 0);
            }
        }
        match dice.chance(3) {
            true => b.push(None, 0, 0),
            false => b.push(Some(dice.chance(2)), 1, 0),
        }
        g.push(Some(dice.below(1 << 20) as f32), 0, 0);
    }
    k.write::<Int64Type>(group);
    n.write::<Int32Type>(group);
    s.write::<ByteArrayType>(group);
    tags.write::<ByteArrayType>(group);
    x.write::<DoubleType>(group);
    t.write::<Int96Type>(group);
    f.write::<FixedLenByteArrayType>(group);
    b.write::<BoolType>(group);
    g.write::<FloatType>(group);
}

/// A row as a test compares it: its key, its number and all of it as text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) k: Option<i64>,
    pub(crate) n: i32,
    pub(crate) all: String,
}

pub(crate) fn reader(path: &Path) -> SerializedFileReader<std::fs::File> {
    SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap()
}

pub(crate) fn rows(path: &Path) -> Vec<Row> {
    use parquet::record::RowAccessor;
    let reader = reader(path);
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| {
        let row = row.unwrap();
        Row {
            k: row.get_long(0).ok(),
            n: row.get_int(1).unwrap(),
            all: row.to_string(),
        }
    })
    .collect()
}
