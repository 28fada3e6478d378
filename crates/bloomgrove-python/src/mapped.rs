//! `MappedFilter`: one set, in a memory-mapped file.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use bloomgrove::{Error, Filter, MappedFilter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use crate::answer::{Answers, booleans};
use crate::error::Outcome;
use crate::filter::{PyFilter, contains_batch};
use crate::key::with_key;
use crate::params::PyParams;

/// A filter in a memory-mapped file, of any size. Processes that map the same file share its memory.
///
/// The bits are read when they are needed. The file must not be modified in place meanwhile;
/// replacing it, as `save` does, is fine. Pickling stores the path.
///
/// >>> import tempfile, os.path
/// >>> from bloomgrove import Filter, MappedFilter
/// >>> path = os.path.join(tempfile.mkdtemp(), "users.grove")
/// >>> filter = Filter(items=1000, fpr=0.01)
/// >>> _ = filter.insert("ada")
/// >>> filter.save(path)
/// >>> with MappedFilter(path) as mapped:
/// ...     "ada" in mapped
/// True
#[pyclass(frozen, module = "bloomgrove", name = "MappedFilter")]
pub(crate) struct PyMapped {
    path: PathBuf,
    /// None once it is closed.
    filter: RwLock<Option<MappedFilter>>,
}

impl PyMapped {
    /// Calls `then` with the filter, detached from the interpreter.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        then: impl FnOnce(&MappedFilter) -> R + Send,
    ) -> PyResult<R> {
        py.detach(|| {
            let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
            filter.as_ref().map(then)
        })
        .ok_or_else(|| PyValueError::new_err("this filter is closed"))
    }
}

#[pymethods]
impl PyMapped {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> Outcome<Self> {
        let filter = py.detach(|| MappedFilter::map(&path))?;
        Ok(Self {
            path,
            filter: RwLock::new(Some(filter)),
        })
    }

    /// The path of the file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Size, hashing and layout.
    #[getter]
    fn params(&self, py: Python<'_>) -> PyResult<PyParams> {
        self.with(py, |filter| PyParams(filter.params().clone()))
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        with_key!(key, key => {
            // Detaching would cost more than the answer.
            let filter = self.filter.try_read().ok();
            let found = filter.and_then(|filter| filter.as_ref().map(|filter| filter.contains(key)));
            match found {
                Some(found) => Ok(found),
                None => self.with(py, |filter| filter.contains(key)),
            }
        })
    }

    /// Tests a whole column of keys: see `Filter.contains_many`.
    fn contains_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> Outcome<Answers> {
        self.with(py, |_| ())?;
        booleans(py, keys, |keys, found| {
            let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
            let filter = filter
                .as_ref()
                .ok_or_else(|| Error::params("this filter is closed"))?;
            contains_batch(filter, keys, found);
            Ok(())
        })
    }

    /// A copy in memory, which can be changed.
    fn to_filter(&self, py: Python<'_>) -> Outcome<PyFilter> {
        Ok(PyFilter::of(self.with(py, |filter| filter.to_owned())??))
    }

    /// About how many distinct keys were inserted.
    fn estimated_items(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, Filter::estimated_items)
    }

    /// The share of bits that are set, from 0 to 1.
    fn fill(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, Filter::fill)
    }

    /// Unmaps the file. The filter cannot be used afterwards.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let mut filter = self.filter.write().unwrap_or_else(PoisonError::into_inner);
            filter.take();
        });
    }

    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let path = this.get().path.clone();
        Ok((this.get_type(), PyTuple::new(this.py(), [path])?))
    }

    fn __repr__(&self) -> String {
        format!("<MappedFilter: {}>", self.path.display())
    }
}
