//! `IndexFile`: many sets, in a file that can be changed.

use std::path::PathBuf;

use bloomgrove::index::{Index, IndexFile};
use pyo3::prelude::*;

use crate::error::Outcome;
use crate::index::PyIndex;

/// An index in a file that can be changed. Changes are durable after `commit`.
///
/// As a context manager it commits at the end, unless there is an exception.
///
/// >>> import tempfile, os.path
/// >>> from bloomgrove import Filter, Index, IndexFile
/// >>> path = os.path.join(tempfile.mkdtemp(), "sites.grove")
/// >>> with IndexFile.create(path) as file:
/// ...     oslo = Filter(items=1000, fpr=0.01)
/// ...     _ = oslo.insert("doc-1")
/// ...     file.add("oslo", oslo)
/// >>> Index.open(path).which("doc-1")
/// ['oslo']
#[pyclass(frozen, extends = PyIndex, module = "bloomgrove", name = "IndexFile")]
pub(crate) struct PyIndexFile {
    path: PathBuf,
}

#[pymethods]
impl PyIndexFile {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> Outcome<PyClassInitializer<Self>> {
        let file = py.detach(|| IndexFile::open(&path))?;
        let base = PyIndex::of_file(file);
        Ok(PyClassInitializer::from(base).add_subclass(Self { path }))
    }

    /// Saves an index to a file, an empty one by default, and opens it for changes.
    #[staticmethod]
    #[pyo3(signature = (path, index=None))]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        index: Option<&Bound<'_, PyIndex>>,
    ) -> Outcome<Py<Self>> {
        let file = match index {
            Some(index) => index
                .get()
                .with(py, |index| IndexFile::create(&path, index))??,
            None => py.detach(|| IndexFile::create(&path, &Index::mixed()))?,
        };
        let base = PyIndex::of_file(file);
        Ok(Py::new(
            py,
            PyClassInitializer::from(base).add_subclass(Self { path }),
        )?)
    }

    /// The path of the file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Writes all changes to the file. They are durable when this returns.
    fn commit(this: &Bound<'_, Self>) -> Outcome<()> {
        this.as_super()
            .get()
            .with_file(this.py(), IndexFile::commit)
    }

    /// Rewrites the file without unused data.
    fn compact(this: &Bound<'_, Self>) -> Outcome<()> {
        this.as_super()
            .get()
            .with_file(this.py(), IndexFile::compact)
    }

    /// Closes the file, without a commit. The index cannot be used afterwards.
    fn close(this: &Bound<'_, Self>) {
        let index = this.as_super().get();
        this.py().detach(|| index.close());
    }

    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __exit__(
        this: &Bound<'_, Self>,
        exception: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> Outcome<()> {
        let is_open = this.as_super().get().is_open();
        let committed = match exception.is_none() && is_open {
            true => Self::commit(this),
            false => Ok(()),
        };
        Self::close(this);
        committed
    }

    fn __repr__(&self) -> String {
        format!("<IndexFile: {}>", self.path.display())
    }
}
