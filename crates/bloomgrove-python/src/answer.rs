//! Answers for whole columns: an Arrow array that any library can take over without a copy.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, StringArray, UInt64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer, NullBufferBuilder, OffsetBuffer};
use arrow_schema::{DataType, Field};
use bloomgrove::Error;
use bloomgrove::index::Index;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyList, PyTuple};

use crate::batch::{Keys, Nulls, each_batch};
use crate::column::Column;
use crate::error::{Outcome, raise};
use crate::ffi;

/// The answers for a column of keys: an Arrow array, of booleans (`contains_many`), of lists of
/// names (`which_many`) or of lists of set numbers.
///
/// pyarrow, Polars and others take it over without a copy, by the Arrow PyCapsule interface:
/// `pyarrow.array(answers)`, `polars.Series(answers)`. NumPy takes booleans: `numpy.asarray(answers)`.
/// A key that is null has null as its answer.
///
/// >>> from bloomgrove import Filter
/// >>> filter = Filter(items=100, fpr=1e-6)
/// >>> filter.insert_many([1, 2, 3])
/// >>> filter.contains_many([2, 4, None]).to_list()
/// [True, False, None]
#[pyclass(frozen, module = "bloomgrove", name = "Answers")]
pub(crate) struct Answers(ArrayRef);

#[pymethods]
impl Answers {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: isize) -> PyResult<Bound<'py, PyAny>> {
        let len = self.0.len();
        let at = if at < 0 { at + len as isize } else { at };
        match usize::try_from(at) {
            Ok(at) if at < len => value(py, &self.0, at),
            _ => Err(PyIndexError::new_err("there are fewer answers")),
        }
    }

    /// The answers as a list.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let values = (0..self.0.len()).map(|at| value(py, &self.0, at));
        PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }

    /// The number of answers that are true, or of lists that are not empty.
    fn count(&self) -> usize {
        match self.0.as_boolean_opt() {
            Some(found) => found.true_count(),
            None => {
                let lists = self.0.as_list::<i32>();
                let is_found = |&at: &usize| lists.is_valid(at) && lists.value_length(at) > 0;
                (0..lists.len()).filter(is_found).count()
            }
        }
    }

    /// The Arrow PyCapsule interface. A requested schema is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        ffi::export(py, &self.0)
    }

    /// The Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ffi::export(py, &self.0)?.get_item(0)
    }

    /// The booleans as a NumPy array of `bool`.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = self.0.as_boolean_opt().ok_or_else(|| {
            PyValueError::new_err("NumPy has no lists; use to_list() or pyarrow.array()")
        })?;
        if found.null_count() > 0 {
            return Err(PyValueError::new_err(
                "NumPy has no null booleans; use to_list() or pyarrow.array()",
            ));
        }
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "NumPy has no packed booleans: this copies",
            ));
        }
        let bytes: Vec<u8> = found.values().iter().map(u8::from).collect();
        let numpy = py.import("numpy")?;
        let array = numpy.call_method1("frombuffer", (PyBytes::new(py, &bytes), "?"))?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    fn __repr__(&self) -> String {
        format!(
            "<Answers for {} keys: {}>",
            self.0.len(),
            self.0.data_type()
        )
    }
}

fn value<'py>(py: Python<'py>, array: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    if let Some(found) = array.as_boolean_opt() {
        return Ok(PyBool::new(py, found.value(at)).to_owned().into_any());
    }
    let sets = array.as_list::<i32>().value(at);
    match sets.as_string_opt::<i32>() {
        Some(names) => Ok(PyList::new(py, names.iter().flatten())?.into_any()),
        None => Ok(PyList::new(py, sets.as_primitive::<UInt64Type>().values())?.into_any()),
    }
}

/// Answers yes or no for every key of a column, by `contains`, without the interpreter.
pub(crate) fn booleans(
    py: Python<'_>,
    keys: &Bound<'_, PyAny>,
    contains: impl Fn(Keys<'_>, &mut [bool]) -> Result<(), Error> + Send + Sync,
) -> Outcome<Answers> {
    let mut column = Column::of(keys)?;
    let (mut found, mut nulls) = (Vec::new(), NullBufferBuilder::new(0));
    while let Some(chunk) = column.next(py)? {
        py.detach(|| {
            add_nulls(&mut nulls, &chunk);
            let mut at = found.len();
            found.resize(at + chunk.len(), false);
            each_batch(&chunk, Nulls::Keep, &mut |keys| {
                let end = at + keys.len();
                contains(keys, &mut found[at..end])?;
                at = end;
                Ok(())
            })
        })?;
    }
    let found = py.detach(|| BooleanBuffer::from(found));
    Ok(Answers(Arc::new(BooleanArray::new(found, nulls.finish()))))
}

/// The same from answers that are known already, one per row of the chunks.
pub(crate) fn booleans_of(found: Vec<bool>, chunks: &[ArrayRef]) -> Answers {
    let mut nulls = NullBufferBuilder::new(0);
    chunks.iter().for_each(|chunk| add_nulls(&mut nulls, chunk));
    Answers(Arc::new(BooleanArray::new(found.into(), nulls.finish())))
}

fn add_nulls(nulls: &mut NullBufferBuilder, chunk: &ArrayRef) {
    match chunk.logical_nulls() {
        Some(absent) => nulls.append_buffer(&absent),
        None => nulls.append_n_non_nulls(chunk.len()),
    }
}

/// Gathers the answers of an index, list by list.
#[derive(Default)]
struct Lists {
    /// Where each list ends.
    ends: Vec<i32>,
    names: Vec<u8>,
    name_ends: Vec<i32>,
    numbers: Vec<u64>,
}

/// What is wrong if the offsets of the Arrow arrays do not suffice.
const TOO_MUCH: &str = "the answers have more than 2**31 - 1 bytes of names, or sets; query fewer \
                        keys at a time";

impl Lists {
    fn take(&mut self, index: &Index, keys: Keys<'_>, by_number: bool) -> Result<(), Error> {
        match keys {
            Keys::Integers(keys) => self.take_keys(index, keys, by_number),
            Keys::Bytes(keys) => self.take_keys(index, keys, by_number),
        }
    }

    fn take_keys<K: bloomgrove::Key>(
        &mut self,
        index: &Index,
        keys: &[K],
        by_number: bool,
    ) -> Result<(), Error> {
        let offset = |len: usize| i32::try_from(len).map_err(|_| Error::params(TOO_MUCH));
        for keys in keys.chunks(1 << 12) {
            for sets in index.which_many(keys).iter() {
                if by_number {
                    self.numbers.extend(sets.map(|set| u64::from(set.id())));
                    self.ends.push(offset(self.numbers.len())?);
                    continue;
                }
                for set in sets {
                    self.names.extend_from_slice(set.name());
                    self.name_ends.push(offset(self.names.len())?);
                }
                self.ends.push(offset(self.name_ends.len())?);
            }
        }
        Ok(())
    }
}

fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    let mut all = Vec::with_capacity(ends.len() + 1);
    all.push(0);
    all.extend(ends);
    OffsetBuffer::new(all.into())
}

/// Answers which sets of an index may contain each key of a column.
pub(crate) fn sets<'i>(
    py: Python<'_>,
    keys: &Bound<'_, PyAny>,
    by_number: bool,
    index: impl Fn(&mut dyn FnMut(&Index) -> Result<(), Error>) -> Outcome<()> + Send + Sync + 'i,
) -> Outcome<Answers> {
    let mut column = Column::of(keys)?;
    let (mut lists, mut nulls) = (Lists::default(), NullBufferBuilder::new(0));
    while let Some(chunk) = column.next(py)? {
        py.detach(|| {
            add_nulls(&mut nulls, &chunk);
            index(&mut |index| {
                each_batch(&chunk, Nulls::Keep, &mut |keys| {
                    lists.take(index, keys, by_number)
                })
            })
        })?;
    }
    let nulls: Option<NullBuffer> = nulls.finish();
    let values: ArrayRef = match by_number {
        true => Arc::new(UInt64Array::from(lists.numbers)),
        false => {
            let names = StringArray::try_new(offsets(lists.name_ends), lists.names.into(), None);
            Arc::new(names.map_err(|_| {
                let what = "a set has a name that is not UTF-8, which an Arrow column of text \
                            cannot contain; ask for set numbers, with numbers=True";
                raise(py, "Error", what)
            })?)
        }
    };
    let field = Field::new("item", values.data_type().clone(), false);
    let lists = ListArray::try_new(Arc::new(field), offsets(lists.ends), values, nulls)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    debug_assert!(matches!(lists.data_type(), DataType::List(_)));
    Ok(Answers(Arc::new(lists)))
}
