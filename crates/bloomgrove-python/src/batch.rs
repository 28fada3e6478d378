//! The keys of an Arrow array, in batches.
//!
//! Integers of every width mean what a Python `int` does: they are widened to 64 bits. Those that
//! have 64 bits, and all bytes and text, are used where they are.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use bloomgrove::Error;

/// The number of keys in a batch that is gathered.
const BATCH: usize = 1 << 10;

/// Keys that are tested or inserted together.
#[derive(Clone, Copy)]
pub(crate) enum Keys<'a> {
    Integers(&'a [u64]),
    Bytes(&'a [&'a [u8]]),
}

impl Keys<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Keys::Integers(keys) => keys.len(),
            Keys::Bytes(keys) => keys.len(),
        }
    }
}

/// What becomes of the rows that are null.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Nulls {
    /// They are left out.
    Skip,
    /// Some key stands for each, so that the keys and the rows correspond.
    Keep,
}

/// Calls `each` with the keys of a chunk in order, in batches.
pub(crate) fn each_batch(
    array: &dyn Array,
    nulls: Nulls,
    each: &mut dyn FnMut(Keys<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    if array.is_empty() {
        return Ok(());
    }
    let absent = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    let rows = Rows {
        len: array.len(),
        absent: absent.as_ref(),
        nulls,
    };
    if absent
        .as_ref()
        .is_some_and(|absent| absent.null_count() == array.len())
    {
        return rows.integers(|_| 0, each);
    }
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let at = dictionary.normalized_keys();
        return rows.of(dictionary.values().as_ref(), |row| at[row], each);
    }
    // 64-bit integers as they are.
    let whole = match array.data_type() {
        DataType::UInt64 => Some(array.as_primitive::<UInt64Type>().values().inner()),
        DataType::Int64 => Some(array.as_primitive::<Int64Type>().values().inner()),
        _ => None,
    };
    match whole {
        Some(buffer) if absent.is_none() || nulls == Nulls::Keep => {
            let keys = ScalarBuffer::<u64>::from(buffer.clone());
            each(Keys::Integers(&keys[..array.len()]))
        }
        _ => rows.of(array, |row| row, each),
    }
}

struct Rows<'a> {
    len: usize,
    absent: Option<&'a NullBuffer>,
    nulls: Nulls,
}

impl Rows<'_> {
    /// Calls `each` with the keys of `values` that the rows are `at`.
    fn of(
        &self,
        values: &dyn Array,
        at: impl Fn(usize) -> usize,
        each: &mut dyn FnMut(Keys<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        macro_rules! bytes {
            ($array:expr) => {{
                let array = $array;
                self.bytes(|row| AsRef::<[u8]>::as_ref(array.value(at(row))), each)
            }};
        }
        macro_rules! signed {
            ($kind:ty) => {{
                let array = values_of::<$kind>(values);
                self.integers(|row| i64::from(array[at(row)]) as u64, each)
            }};
        }
        macro_rules! unsigned {
            ($kind:ty) => {{
                let array = values_of::<$kind>(values);
                self.integers(|row| u64::from(array[at(row)]), each)
            }};
        }
        match values.data_type() {
            DataType::Utf8 => bytes!(values.as_string::<i32>()),
            DataType::LargeUtf8 => bytes!(values.as_string::<i64>()),
            DataType::Utf8View => bytes!(values.as_string_view()),
            DataType::Binary => bytes!(values.as_binary::<i32>()),
            DataType::LargeBinary => bytes!(values.as_binary::<i64>()),
            DataType::BinaryView => bytes!(values.as_binary_view()),
            DataType::FixedSizeBinary(_) => bytes!(values.as_fixed_size_binary()),
            DataType::Int8 => signed!(Int8Type),
            DataType::Int16 => signed!(Int16Type),
            DataType::Int32 => signed!(Int32Type),
            DataType::Int64 => signed!(Int64Type),
            DataType::UInt8 => unsigned!(UInt8Type),
            DataType::UInt16 => unsigned!(UInt16Type),
            DataType::UInt32 => unsigned!(UInt32Type),
            DataType::UInt64 => unsigned!(UInt64Type),
            // `only_column` lets no other through; a null in a dictionary of nulls is absent.
            _ => Ok(()),
        }
    }

    fn integers(
        &self,
        key: impl Fn(usize) -> u64,
        each: &mut dyn FnMut(Keys<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.gather(0, key, |keys| each(Keys::Integers(keys)))
    }

    fn bytes<'k>(
        &self,
        key: impl Fn(usize) -> &'k [u8],
        each: &mut dyn FnMut(Keys<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.gather(&[][..], key, |keys| each(Keys::Bytes(keys)))
    }

    /// Calls `each` with batches of keys; `stand_in` is the one for rows that are null.
    #[inline(always)]
    fn gather<K: Copy>(
        &self,
        stand_in: K,
        key: impl Fn(usize) -> K,
        mut each: impl FnMut(&[K]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut keys = Vec::with_capacity(BATCH.min(self.len));
        for start in (0..self.len).step_by(BATCH) {
            let rows = start..(start + BATCH).min(self.len);
            keys.clear();
            match self.absent {
                None => keys.extend(rows.map(&key)),
                Some(absent) if self.nulls == Nulls::Skip => {
                    keys.extend(rows.filter(|&row| absent.is_valid(row)).map(&key));
                }
                Some(absent) => keys.extend(rows.map(|row| match absent.is_valid(row) {
                    true => key(row),
                    false => stand_in,
                })),
            }
            each(&keys)?;
        }
        Ok(())
    }
}

fn values_of<T: ArrowPrimitiveType>(array: &dyn Array) -> &ScalarBuffer<T::Native> {
    array.as_primitive::<T>().values()
}
