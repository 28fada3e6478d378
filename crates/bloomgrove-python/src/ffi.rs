//! Memory that others own: Arrow arrays from capsules, and the numbers of NumPy arrays. All unsafe
//! code of this crate is here.
//!
//! Whoever exports an array promises that it is what its schema says, as for every consumer of the
//! Arrow C data interface. Nothing is copied.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, make_array};
use arrow_buffer::Buffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";
const STREAM: &CStr = c"arrow_array_stream";

/// The array in what `__arrow_c_array__` returned.
pub(crate) fn array(capsules: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = capsules.extract()?;
    let schema = pointer(&schema, SCHEMA)?.cast::<FFI_ArrowSchema>();
    let array = pointer(&array, ARRAY)?.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of this name contains this structure, and stays alive until the end of this
    // function. Moving it out leaves one that is marked as released, as the interface demands.
    let (schema, array) = unsafe {
        (
            FFI_ArrowSchema::from_raw(schema.as_ptr()),
            FFI_ArrowArray::from_raw(array.as_ptr()),
        )
    };
    taken(array, &schema)
}

fn pointer(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<std::ffi::c_void>> {
    capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))
}

fn taken(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> PyResult<ArrayRef> {
    if array.is_released() {
        return Err(PyValueError::new_err("the array was consumed already"));
    }
    // SAFETY: the exporter promises that the array is what its schema says.
    let mut data = unsafe { from_ffi(array, schema) }.map_err(refused)?;
    // Buffers may start at any byte.
    data.align_buffers();
    Ok(make_array(data))
}

fn refused(error: arrow_schema::ArrowError) -> PyErr {
    PyTypeError::new_err(format!("this Arrow array cannot be read: {error}"))
}

/// The arrays in what `__arrow_c_stream__` returned, one after another.
pub(crate) struct Stream {
    stream: FFI_ArrowArrayStream,
    schema: FFI_ArrowSchema,
}

impl Stream {
    pub(crate) fn new(py: Python<'_>, capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let stream = pointer(capsule, STREAM)?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: as in `array`.
        let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
        let Some(get_schema) = stream.get_schema() else {
            return Err(PyValueError::new_err("the stream was consumed already"));
        };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the callback gets the stream that it was read from, and a place for the schema.
        let status = py.detach(|| unsafe { get_schema(&raw mut stream, &raw mut schema) });
        let mut this = Self { stream, schema };
        this.check(status)?;
        Ok(this)
    }

    /// The next array; none after the last. Another thread may need the interpreter to produce it.
    pub(crate) fn next(&mut self, py: Python<'_>) -> PyResult<Option<ArrayRef>> {
        let mut array = FFI_ArrowArray::empty();
        let Some(get_next) = self.stream.get_next() else {
            return Ok(None);
        };
        let stream = &mut self.stream;
        // SAFETY: as in `new`.
        let status = py.detach(|| unsafe { get_next(stream, &raw mut array) });
        self.check(status)?;
        match array.is_released() {
            true => Ok(None),
            false => taken(array, &self.schema).map(Some),
        }
    }

    fn check(&mut self, status: i32) -> PyResult<()> {
        if status == 0 {
            return Ok(());
        }
        let what = self.stream.get_last_error().map(|get| {
            // SAFETY: as in `new`; the text stays valid until the next call.
            unsafe {
                let text = get(&raw mut self.stream);
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        });
        let what = what.flatten().unwrap_or_else(|| format!("error {status}"));
        Err(PyValueError::new_err(format!("the stream failed: {what}")))
    }
}

/// What keeps the memory of a NumPy array alive. A panic cannot leave it half changed, since nothing
/// here changes it.
struct Owner(#[expect(dead_code, reason = "only dropped")] AssertUnwindSafe<Py<PyAny>>);

/// Exports an array as `__arrow_c_array__` does.
pub(crate) fn export<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyTuple>> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(refused)?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    PyTuple::new(py, [schema, PyCapsule::new_with_value(py, array, ARRAY)?])
}

/// The bytes of a NumPy array, which must be contiguous; the buffer keeps the array alive.
pub(crate) fn numpy_bytes(array: &Bound<'_, PyAny>) -> PyResult<Buffer> {
    let bytes: usize = array.getattr("nbytes")?.extract()?;
    if bytes == 0 {
        return Ok(Buffer::from(&[]));
    }
    let address: usize = array
        .getattr("__array_interface__")?
        .get_item("data")?
        .get_item(0)?
        .extract()?;
    let start = NonNull::new(address as *mut u8)
        .ok_or_else(|| PyValueError::new_err("the array has no memory"))?;
    let owner = Arc::new(Owner(AssertUnwindSafe(array.clone().unbind())));
    // SAFETY: the caller has checked that this is an array of NumPy, which has this many bytes there
    // for as long as it lives. As with NumPy itself, changing it from another thread in the
    // meantime gives one or the other number.
    Ok(unsafe { Buffer::from_custom_allocation(start, bytes, owner) })
}
