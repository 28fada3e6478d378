//! Whole columns of keys: what has an Arrow array or a stream of them (pyarrow, pandas, Polars,
//! DuckDB), a NumPy array of integers, or any iterable of keys.
//!
//! ```text
//!   object --> chunks: Arrow arrays --> batches: &[u64] or &[&[u8]] --> insert_batch, contains_batch
//!              one by one, attached      in Rust alone, detached
//! ```
//!
//! Integers of every width mean what a Python `int` does: they are widened to 64 bits. Those that
//! have 64 bits, and all bytes and text, are used where they are.

use arrow_array::builder::{LargeBinaryBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use bloomgrove::Error;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyString};
use pyo3::{Borrowed, intern};
use std::sync::Arc;

use crate::ffi;
use crate::key::{KeyRef, key};

/// The number of Python objects that are converted at once.
const CHUNK: usize = 1 << 14;
/// The number of bytes after which such a chunk ends early.
const CHUNK_BYTES: usize = 1 << 26;
/// The number of keys in a batch that is gathered.
const BATCH: usize = 1 << 10;

/// A column of keys, read chunk by chunk.
pub(crate) enum Column<'py> {
    One(Option<ArrayRef>),
    Stream(ffi::Stream),
    Objects(Bound<'py, PyIterator>),
}

impl<'py> Column<'py> {
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err(
                "this is one key, not a column of keys; pass a list of it",
            ));
        }
        // A type that has both is usually chunked, and would copy to make one array.
        if let Some(export) = object.getattr_opt(intern!(py, "__arrow_c_stream__"))? {
            return ffi::Stream::new(py, &export.call0()?).map(Column::Stream);
        }
        if let Some(export) = object.getattr_opt(intern!(py, "__arrow_c_array__"))? {
            return Ok(Column::One(Some(ffi::array(&export.call0()?)?)));
        }
        if let Some(array) = numpy(object)? {
            return Ok(Column::One(Some(array)));
        }
        if let Some(array) = pandas(object)? {
            return Self::of(&array);
        }
        let objects = object.try_iter().map_err(|_| {
            PyTypeError::new_err(format!(
                "a column of keys is an Arrow or NumPy array, or an iterable of keys, not {}",
                type_name(object.as_borrowed())
            ))
        })?;
        Ok(Column::Objects(objects))
    }

    /// The next chunk, of a type that can be keys; none after the last.
    pub(crate) fn next(&mut self, py: Python<'py>) -> PyResult<Option<ArrayRef>> {
        let chunk = match self {
            Column::One(array) => array.take(),
            Column::Stream(stream) => stream.next(py)?,
            Column::Objects(objects) => return chunk_of(objects),
        };
        chunk.map(only_column).transpose()
    }
}

/// A table with one column is that column.
fn only_column(array: ArrayRef) -> PyResult<ArrayRef> {
    let array = match array.as_struct_opt() {
        Some(table) if table.num_columns() == 1 && table.null_count() == 0 => {
            Arc::clone(table.column(0))
        }
        Some(table) => {
            return Err(PyTypeError::new_err(format!(
                "a column of keys, not a table of {} columns; select one",
                table.num_columns()
            )));
        }
        None => array,
    };
    let values = match array.data_type() {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    match values {
        kind if kind.is_integer() => Ok(array),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(array),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Ok(array),
        DataType::FixedSizeBinary(_) | DataType::Null => Ok(array),
        other => Err(PyTypeError::new_err(format!(
            "a column of type {other} cannot be keys; cast it to text, binary or integers"
        ))),
    }
}

/// The numbers of a one-dimensional NumPy array of integers, without a copy if they are contiguous.
fn numpy(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let py = object.py();
    let modules = py.import("sys")?.getattr("modules")?;
    let Ok(numpy) = modules.get_item("numpy") else {
        return Ok(None);
    };
    if !object.is_instance(&numpy.getattr("ndarray")?)? {
        return Ok(None);
    }
    if object.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(PyValueError::new_err(
            "a column of keys has one dimension; use ravel()",
        ));
    }
    let kind: String = object.getattr("dtype")?.getattr("kind")?.extract()?;
    let width: usize = object.getattr("dtype")?.getattr("itemsize")?.extract()?;
    let kind = match (kind.as_str(), width) {
        ("i", 1) => DataType::Int8,
        ("i", 2) => DataType::Int16,
        ("i", 4) => DataType::Int32,
        ("i", 8) => DataType::Int64,
        ("u", 1) => DataType::UInt8,
        ("u", 2) => DataType::UInt16,
        ("u", 4) => DataType::UInt32,
        ("u", 8) => DataType::UInt64,
        // Text, bytes and objects, one by one; each is checked.
        ("O" | "S" | "U" | "T", _) => return Ok(None),
        _ => {
            return Err(PyTypeError::new_err(format!(
                "an array of {} cannot be keys; convert it to integers, str or bytes",
                object.getattr("dtype")?
            )));
        }
    };
    let native = object
        .getattr("dtype")?
        .call_method1("newbyteorder", ("=",))?;
    // Copies only what is not in order already.
    let array = numpy.call_method1("require", (object, native, ["C", "A"]))?;
    let data = ArrayData::builder(kind)
        .len(array.len()?)
        .add_buffer(ffi::numpy_bytes(&array)?)
        .build()
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Some(make_array(data)))
}

/// A column of pandas before version 3, which exports no array itself, by pyarrow.
fn pandas<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !object.get_type().module()?.to_str()?.starts_with("pandas.") {
        return Ok(None);
    }
    // Without pyarrow, its values are taken one by one.
    let Ok(pyarrow) = object.py().import("pyarrow") else {
        return Ok(None);
    };
    let array = pyarrow.getattr("Array")?;
    array.call_method1("from_pandas", (object,)).map(Some)
}

/// The next keys of an iterable. `None` is a null.
fn chunk_of(objects: &mut Bound<'_, PyIterator>) -> PyResult<Option<ArrayRef>> {
    let mut nulls = 0;
    let mut keys = Gathered::Nothing;
    while nulls + keys.len() < CHUNK && keys.bytes() < CHUNK_BYTES {
        let Some(object) = objects.next() else { break };
        let object = object?;
        if object.is_none() {
            match &mut keys {
                Gathered::Nothing => nulls += 1,
                Gathered::Integers(keys) => keys.append_null(),
                Gathered::Bytes(keys) => keys.append_null(),
            }
            continue;
        }
        keys.push(key(&object)?, std::mem::take(&mut nulls))?;
    }
    Ok(match keys {
        Gathered::Nothing if nulls == 0 => None,
        Gathered::Nothing => Some(arrow_array::new_null_array(&DataType::Null, nulls)),
        Gathered::Integers(mut keys) => Some(Arc::new(keys.finish())),
        Gathered::Bytes(mut keys) => Some(Arc::new(keys.finish())),
    })
}

/// Keys from Python objects. The first decides between integers and bytes.
enum Gathered {
    Nothing,
    Integers(UInt64Builder),
    Bytes(LargeBinaryBuilder),
}

impl Gathered {
    fn len(&self) -> usize {
        use arrow_array::builder::ArrayBuilder;
        match self {
            Gathered::Nothing => 0,
            Gathered::Integers(keys) => keys.len(),
            Gathered::Bytes(keys) => keys.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Gathered::Bytes(keys) => keys.values_slice().len(),
            _ => 0,
        }
    }

    /// Adds a key, after `nulls` that came before the first one.
    fn push(&mut self, key: KeyRef<'_>, nulls: usize) -> PyResult<()> {
        if let Gathered::Nothing = self {
            *self = match key {
                KeyRef::Integer(_) => Gathered::Integers(UInt64Builder::with_capacity(CHUNK)),
                _ => Gathered::Bytes(LargeBinaryBuilder::with_capacity(CHUNK, CHUNK * 16)),
            };
        }
        match (self, key) {
            (Gathered::Integers(keys), KeyRef::Integer(key)) => {
                keys.append_nulls(nulls);
                keys.append_value(key);
            }
            (Gathered::Bytes(keys), KeyRef::Bytes(key)) => {
                keys.append_nulls(nulls);
                keys.append_value(key);
            }
            (Gathered::Bytes(keys), KeyRef::Owned(key)) => {
                keys.append_nulls(nulls);
                keys.append_value(key);
            }
            _ => {
                return Err(PyTypeError::new_err(
                    "the keys are partly int and partly text or bytes; 17 and \"17\" are different \
                     keys, so pass one kind at a time",
                ));
            }
        }
        Ok(())
    }
}

fn type_name(object: Borrowed<'_, '_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map_or("this".into(), |name| name.to_string())
}

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
