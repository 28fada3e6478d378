//! Keys and names as Python objects.
//!
//! A key is `bytes`, `str` (its UTF-8) or `int` (eight bytes, little-endian, as `u64` or `i64`): what
//! it is in Rust, and what `--keys integer` reads. `bool` and `float` are refused, since `True == 1`
//! and `1.0 == 1` in Python but not here.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyMemoryView, PyString};

/// A key, borrowed from its object where that is possible.
pub(crate) enum KeyRef<'a> {
    Integer(u64),
    Bytes(&'a [u8]),
    Owned(Vec<u8>),
}

/// Calls a method with a key, compiled once for integers and once for bytes.
macro_rules! with_key {
    ($object:expr, $key:ident => $body:expr) => {
        match crate::key::key($object)? {
            crate::key::KeyRef::Integer(number) => {
                let $key = &number;
                $body
            }
            crate::key::KeyRef::Bytes($key) => $body,
            crate::key::KeyRef::Owned(bytes) => {
                let $key = &bytes[..];
                $body
            }
        }
    };
}
pub(crate) use with_key;

#[inline(always)]
pub(crate) fn key<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<KeyRef<'a>> {
    if let Ok(text) = object.cast_exact::<PyString>() {
        Ok(KeyRef::Bytes(text.to_str()?.as_bytes()))
    } else if object.cast_exact::<PyInt>().is_ok() {
        integer(object).map(KeyRef::Integer)
    } else if let Ok(bytes) = object.cast_exact::<PyBytes>() {
        Ok(KeyRef::Bytes(bytes.as_bytes()))
    } else {
        other_key(object)
    }
}

#[inline(always)]
fn integer(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    match object.extract::<i64>() {
        Ok(number) => Ok(number as u64),
        Err(_) => object.extract::<u64>().map_err(|_| {
            PyOverflowError::new_err(
                "an integer key is from -2**63 to 2**64 - 1; pass larger ones as str or bytes",
            )
        }),
    }
}

/// Subclasses, other kinds of bytes, and the integers of NumPy.
#[cold]
fn other_key<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<KeyRef<'a>> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(KeyRef::Bytes(text.to_str()?.as_bytes()));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(KeyRef::Bytes(bytes.as_bytes()));
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(KeyRef::Owned(bytes.to_vec()));
    }
    if object.is_instance_of::<PyMemoryView>() {
        let bytes = object.call_method0(intern!(object.py(), "tobytes"))?;
        return Ok(KeyRef::Owned(bytes.extract()?));
    }
    let has_index = object.hasattr(intern!(object.py(), "__index__"))?;
    if has_index && !object.is_instance_of::<PyBool>() {
        return integer(object).map(KeyRef::Integer);
    }
    Err(PyTypeError::new_err(format!(
        "a key is bytes, str or int, not {}",
        object.get_type().name()?
    )))
}

/// The name of a set: text, bytes or a path. Bytes that are not UTF-8 are in text as Python has them
/// in file names.
pub(crate) fn name(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(text) = object.cast::<PyString>()
        && let Ok(text) = text.to_str()
    {
        return Ok(text.as_bytes().to_vec());
    }
    let encoded = object.py().import("os")?.getattr("fsencode")?;
    match encoded.call1((object,)) {
        Ok(bytes) => Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec()),
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => {
            Err(PyTypeError::new_err(format!(
                "the name of a set is str, bytes or a path, not {}",
                object.get_type().name()?
            )))
        }
        Err(error) => Err(error),
    }
}

/// A name as text: see [`name`].
pub(crate) fn text<'py>(py: Python<'py>, name: &[u8]) -> PyResult<Bound<'py, PyString>> {
    match std::str::from_utf8(name) {
        Ok(text) => Ok(PyString::new(py, text)),
        Err(_) => {
            let bytes = PyBytes::new(py, name);
            PyString::from_encoded_object(&bytes, Some(c"utf-8"), Some(c"surrogateescape"))
        }
    }
}
