//! Whole columns of keys: what has an Arrow array or a stream of them (pyarrow, pandas, Polars,
//! DuckDB), a NumPy array of integers, or any iterable of keys.
//!
//! ```text
//!   object --> chunks: Arrow arrays --> batches: &[u64] or &[&[u8]] --> insert_batch, contains_batch
//!              one by one, attached      in Rust alone, detached: `batch.rs`
//! ```

use arrow_array::builder::{LargeBinaryBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
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
