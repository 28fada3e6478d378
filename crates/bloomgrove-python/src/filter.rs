//! `Filter` and `MappedFilter`: one set.
//!
//! Objects are immutable to pyo3 (`frozen`) and have a lock of their own, so they can be used from
//! any number of threads, with or without a global interpreter lock. Whoever works through a column
//! detaches from the interpreter first and takes the lock then, so nobody waits for the lock while
//! others wait for the interpreter.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bloomgrove::{Error, Filter, Params, codec};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;
use pyo3::types::{PyBool, PyBytes, PyTuple};

use crate::answer::{Answers, booleans};
use crate::batch::{Keys, Nulls, each_batch};
use crate::column::Column;
use crate::error::Outcome;
use crate::key::with_key;
use crate::mapped::PyMapped;
use crate::params::PyParams;

/// One set as a Bloom filter: is this key in the set? "No" is certain; "yes" is wrong at a rate that
/// you choose.
///
/// `Filter(items=..., fpr=...)` is sized for a number of items and a false-positive rate;
/// `Filter(params)` has these params. A key is bytes, str or int.
///
/// >>> from bloomgrove import Filter
/// >>> filter = Filter(items=1_000_000, fpr=0.01)
/// >>> filter.insert("alice@example.org")
/// True
/// >>> filter.insert_many([17, 23, 42])
/// >>> "alice@example.org" in filter, 42 in filter, "bob@example.org" in filter
/// (True, True, False)
#[pyclass(frozen, module = "bloomgrove", name = "Filter")]
pub(crate) struct PyFilter(RwLock<Filter>);

impl PyFilter {
    pub(crate) fn of(filter: Filter) -> Self {
        Self(RwLock::new(filter))
    }

    #[inline(always)]
    pub(crate) fn read(&self, py: Python<'_>) -> RwLockReadGuard<'_, Filter> {
        let filter = self.0.read_py_attached(py);
        filter.unwrap_or_else(PoisonError::into_inner)
    }

    #[inline(always)]
    fn write(&self, py: Python<'_>) -> RwLockWriteGuard<'_, Filter> {
        let filter = self.0.write_py_attached(py);
        filter.unwrap_or_else(PoisonError::into_inner)
    }

    /// For threads that are detached from the interpreter.
    pub(crate) fn shared(&self) -> RwLockReadGuard<'_, Filter> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn exclusive(&self) -> RwLockWriteGuard<'_, Filter> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A filter of either class.
#[derive(FromPyObject)]
pub(crate) enum AnyFilter<'py> {
    Memory(Bound<'py, PyFilter>),
    Mapped(Bound<'py, PyMapped>),
}

impl AnyFilter<'_> {
    /// Calls `then` with the filter, detached from the interpreter.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        then: impl FnOnce(&Filter<&[u64]>) -> R + Send,
    ) -> PyResult<R> {
        match self {
            AnyFilter::Memory(filter) => {
                let filter = filter.get();
                Ok(py.detach(|| then(&(&*filter.shared()).into())))
            }
            AnyFilter::Mapped(filter) => filter.get().with(py, |filter| then(&filter.into())),
        }
    }

    /// Same as [`with`](Self::with), for `then` that locks another filter. A filter in memory is copied:
    /// another thread may combine the same two the other way round.
    fn apart<R: Send>(
        &self,
        py: Python<'_>,
        then: impl FnOnce(&Filter<&[u64]>) -> R + Send,
    ) -> Outcome<R> {
        match self {
            AnyFilter::Memory(filter) => {
                let copy = filter.get().copy(py)?;
                Ok(py.detach(|| then(&(&*copy.shared()).into())))
            }
            AnyFilter::Mapped(_) => Ok(self.with(py, then)?),
        }
    }

    /// Calls `then` with this filter and another.
    pub(crate) fn with_two<R: Send>(
        &self,
        py: Python<'_>,
        other: &AnyFilter<'_>,
        then: impl FnOnce(&Filter<&[u64]>, &Filter<&[u64]>) -> R + Send,
    ) -> Outcome<R> {
        let this = self.with(py, |this| this.to_owned())??;
        Ok(other.with(py, |other| then(&(&this).into(), other))?)
    }
}

/// The params from what a constructor was given.
pub(crate) fn params_of(
    params: Option<&Bound<'_, PyParams>>,
    items: Option<u64>,
    fpr: Option<f64>,
) -> Outcome<Params> {
    match (params, items, fpr) {
        (Some(params), None, None) => Ok(params.get().0.clone()),
        (None, Some(items), Some(fpr)) => Ok(Params::for_items(items, fpr)?),
        _ => Err(PyTypeError::new_err("pass either params, or both items and fpr").into()),
    }
}

#[pymethods]
impl PyFilter {
    #[new]
    #[pyo3(signature = (params=None, *, items=None, fpr=None))]
    fn new(
        params: Option<&Bound<'_, PyParams>>,
        items: Option<u64>,
        fpr: Option<f64>,
    ) -> Outcome<Self> {
        Ok(Self::of(Filter::new(params_of(params, items, fpr)?)?))
    }

    /// Size, hashing and layout.
    #[getter]
    fn params(&self, py: Python<'_>) -> PyParams {
        PyParams(self.read(py).params().clone())
    }

    #[inline]
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(with_key!(key, key => self.read_of(key)))
    }

    /// Inserts a key. Returns True if it was certainly not in the filter before.
    fn insert(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(with_key!(key, key => self.write(py).insert(key)))
    }

    /// Inserts a whole column of keys: an Arrow array of any library, a NumPy array of integers, or
    /// an iterable. Nulls (None) are skipped. If a key is refused, those before it may be inserted.
    fn insert_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> Outcome<()> {
        let mut column = Column::of(keys)?;
        while let Some(chunk) = column.next(py)? {
            py.detach(|| {
                let mut filter = self.exclusive();
                each_batch(&chunk, Nulls::Skip, &mut |keys| {
                    match keys {
                        Keys::Integers(keys) => filter.insert_batch(keys),
                        Keys::Bytes(keys) => filter.insert_batch(keys),
                    }
                    Ok(())
                })
            })?;
        }
        Ok(())
    }

    /// Tests a whole column of keys: see `insert_many`. Returns one boolean per key, null for a null.
    fn contains_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> Outcome<Answers> {
        booleans(py, keys, |keys, found| {
            contains_batch(&self.shared(), keys, found);
            Ok(())
        })
    }

    /// Removes all keys.
    fn clear(&self, py: Python<'_>) {
        py.detach(|| self.exclusive().clear());
    }

    /// A filter of the same bits.
    fn copy(&self, py: Python<'_>) -> Outcome<Self> {
        Ok(Self::of(py.detach(|| self.shared().to_owned())?))
    }

    fn __copy__(&self, py: Python<'_>) -> Outcome<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> Outcome<Self> {
        let _ = memo;
        self.copy(py)
    }

    fn __or__(&self, py: Python<'_>, other: AnyFilter<'_>) -> Outcome<Self> {
        let result = self.copy(py)?;
        result.union_with(py, other)?;
        Ok(result)
    }

    fn __and__(&self, py: Python<'_>, other: AnyFilter<'_>) -> Outcome<Self> {
        let result = self.copy(py)?;
        result.intersect_with(py, other)?;
        Ok(result)
    }

    fn __ior__(&self, py: Python<'_>, other: AnyFilter<'_>) -> Outcome<()> {
        self.union_with(py, other)
    }

    fn __iand__(&self, py: Python<'_>, other: AnyFilter<'_>) -> Outcome<()> {
        self.intersect_with(py, other)
    }

    /// Turns this into the filter of the union, as `|=` does.
    fn union_with(&self, py: Python<'_>, other: AnyFilter<'_>) -> Outcome<()> {
        self.combine(py, &other, |this, other| this.union_with(other))
    }

    /// Keeps the bits that both have, as `&=` does.
    fn intersect_with(&self, py: Python<'_>, other: AnyFilter<'_>) -> Outcome<()> {
        self.combine(py, &other, |this, other| this.intersect_with(other))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> Outcome<Py<PyAny>> {
        let Ok(other) = other.extract::<AnyFilter<'_>>() else {
            return Ok(py.NotImplemented());
        };
        let equal = other.apart(py, |other| *self.shared() == *other)?;
        Ok(PyBool::new(py, equal).to_owned().into_any().unbind())
    }

    /// A filter of the same set with half the bits.
    fn fold(&self, py: Python<'_>) -> Outcome<Self> {
        Ok(Self::of(py.detach(|| self.shared().fold())?))
    }

    /// The number of bits that are set.
    fn count_ones(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.shared().count_ones())
    }

    /// The share of bits that are set, from 0 to 1.
    fn fill(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.shared().fill())
    }

    /// About how many distinct keys were inserted; infinite if every bit is set.
    fn estimated_items(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.shared().estimated_items())
    }

    /// About how many keys this filter and another have in common.
    fn estimated_common_items(&self, py: Python<'_>, other: AnyFilter<'_>) -> Outcome<f64> {
        Ok(other.apart(py, |other| self.shared().estimated_common_items(other))??)
    }

    /// The expected false-positive rate, given the bits that are set now.
    fn expected_fpr(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.shared().expected_fpr())
    }

    /// Writes the filter to a file, atomically replacing any filter there.
    fn save(&self, py: Python<'_>, path: PathBuf) -> Outcome<()> {
        Ok(py.detach(|| self.shared().save(path))?)
    }

    /// Reads a filter from a file into memory, and checks every byte.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> Outcome<Self> {
        Ok(Self::of(py.detach(|| Filter::load(path))?))
    }

    /// The bytes of the file that `save` would write.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Outcome<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        py.detach(|| self.shared().write_to(&mut bytes))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A filter from the bytes of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> Outcome<Self> {
        Ok(Self::of(py.detach(|| Filter::from_bytes(bytes))?))
    }

    /// A pickle is a message: what `codec.compress` returns.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> Outcome<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let mut message = Vec::new();
        py.detach(|| codec::compress(&*self.shared(), &mut message))?;
        let rebuild = py.import("bloomgrove._bloomgrove")?.getattr("_filter")?;
        Ok((rebuild, PyTuple::new(py, [PyBytes::new(py, &message)])?))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Filter: {}>", self.read(py).params())
    }
}

impl PyFilter {
    #[inline(always)]
    fn read_of<K: bloomgrove::Key + ?Sized>(&self, key: &K) -> bool {
        match self.0.try_read() {
            Ok(filter) => filter.contains(key),
            // Someone is inserting, or has panicked.
            Err(_) => Python::attach(|py| self.read(py).contains(key)),
        }
    }

    fn combine(
        &self,
        py: Python<'_>,
        other: &AnyFilter<'_>,
        by: fn(&mut Filter, &Filter<&[u64]>) -> Result<(), Error>,
    ) -> Outcome<()> {
        Ok(other.apart(py, |other| by(&mut self.exclusive(), other))??)
    }
}

pub(crate) fn contains_batch<S: AsRef<[u64]>>(
    filter: &Filter<S>,
    keys: Keys<'_>,
    found: &mut [bool],
) {
    match keys {
        Keys::Integers(keys) => filter.contains_batch(keys, found),
        Keys::Bytes(keys) => filter.contains_batch(keys, found),
    }
}

/// A filter from a pickle.
#[pyfunction]
#[pyo3(name = "_filter")]
pub(crate) fn filter_of_message(py: Python<'_>, message: &[u8]) -> Outcome<PyFilter> {
    let (filter, _) = py.detach(|| codec::expand_within(message, u64::MAX))?;
    Ok(PyFilter::of(filter))
}
