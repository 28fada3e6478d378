//! `bloomgrove.buffered`: filters larger than memory.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bloomgrove::Error;
use bloomgrove::buffered::{BufferOptions, Builder, Filter, Geometry, Phase};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::answer::{Answers, booleans_of};
use crate::batch::{Keys, Nulls, each_batch};
use crate::column::Column;
use crate::error::{Failure, Outcome};
use crate::key::with_key;
use crate::params::PyParams;

/// The default of `BufferOptions::memory`.
const MEMORY: u64 = 32 << 20;

/// Builds a filter on disk that does not fit in memory.
///
/// `Builder(path, items=..., fpr=...)` creates a file of the full size; `Builder.open(path)` adds keys
/// to one that is not finished. `memory` is for all buffers together. As a context manager it finishes
/// the file at the end; after an exception, the keys before the last `sync` are in it.
///
/// >>> import tempfile, os.path
/// >>> from bloomgrove import buffered
/// >>> path = os.path.join(tempfile.mkdtemp(), "orders.grove")
/// >>> with buffered.Builder(path, items=100_000, fpr=0.01) as builder:
/// ...     builder.insert_many(["order 17", "order 23"])
/// >>> filter = buffered.Filter(path)
/// >>> "order 17" in filter, "order 18" in filter
/// (True, False)
#[pyclass(frozen, module = "bloomgrove.buffered", name = "Builder")]
pub(crate) struct BufferedBuilder(Mutex<Option<Builder>>);

fn finished() -> Failure {
    PyValueError::new_err("this builder is finished or closed").into()
}

impl BufferedBuilder {
    fn of(builder: Builder) -> Self {
        Self(Mutex::new(Some(builder)))
    }

    fn with<R: Send>(
        &self,
        py: Python<'_>,
        then: impl FnOnce(&mut Builder) -> Result<R, Error> + Send,
    ) -> Outcome<R> {
        py.detach(|| {
            let mut builder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(then(builder.as_mut().ok_or_else(finished)?)?)
        })
    }

    fn taken(&self, py: Python<'_>) -> Option<Builder> {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).take())
    }
}

fn options(memory: u64, direct: bool) -> BufferOptions {
    BufferOptions {
        memory,
        direct,
        ..BufferOptions::default()
    }
}

#[pymethods]
impl BufferedBuilder {
    #[new]
    #[pyo3(signature = (path, *, items, fpr, memory=MEMORY, direct=true))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        items: u64,
        fpr: f64,
        memory: u64,
        direct: bool,
    ) -> Outcome<Self> {
        let create = || {
            let geometry = Geometry::for_items(items, fpr)?;
            Builder::create(path, &geometry, &options(memory, direct))
        };
        Ok(Self::of(py.detach(create)?))
    }

    /// Opens an unfinished file to add more keys.
    #[staticmethod]
    #[pyo3(signature = (path, *, memory=MEMORY, direct=true))]
    fn open(py: Python<'_>, path: PathBuf, memory: u64, direct: bool) -> Outcome<Self> {
        let builder = py.detach(|| Builder::open(path, &options(memory, direct)))?;
        Ok(Self::of(builder))
    }

    /// The number of keys inserted, in this session and before.
    #[getter]
    fn keys(&self, py: Python<'_>) -> Outcome<u64> {
        self.with(py, |builder| Ok(builder.keys()))
    }

    /// Inserts a key.
    fn insert(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Outcome<()> {
        with_key!(key, key => self.with(py, |builder| builder.insert(key)))
    }

    /// Inserts a whole column of keys: see `bloomgrove.Filter.insert_many`.
    fn insert_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> Outcome<()> {
        let mut column = Column::of(keys)?;
        while let Some(chunk) = column.next(py)? {
            self.with(py, |builder| {
                each_batch(&chunk, Nulls::Skip, &mut |keys| match keys {
                    Keys::Integers(keys) => builder.insert_batch(keys),
                    Keys::Bytes(keys) => builder.insert_batch(keys),
                })
            })?;
        }
        Ok(())
    }

    /// Makes every key inserted so far durable.
    fn sync(&self, py: Python<'_>) -> Outcome<()> {
        self.with(py, Builder::sync)
    }

    /// Syncs and finishes the file, which then accepts no more keys.
    fn finish(&self, py: Python<'_>) -> Outcome<()> {
        let builder = self.taken(py).ok_or_else(finished)?;
        py.detach(|| builder.finish())?;
        Ok(())
    }

    /// Closes the file, unfinished. Keys inserted since the last `sync` may be lost.
    fn close(&self, py: Python<'_>) {
        let builder = self.taken(py);
        py.detach(|| drop(builder));
    }

    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        exception: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> Outcome<()> {
        match (self.taken(py), exception.is_none()) {
            (Some(builder), true) => py.detach(|| builder.finish().map(drop))?,
            (builder, _) => py.detach(|| drop(builder)),
        }
        Ok(())
    }
}

/// A filter on disk, open for queries. Pickling stores the path.
#[pyclass(frozen, module = "bloomgrove.buffered", name = "Filter")]
pub(crate) struct BufferedFilter {
    path: PathBuf,
    filter: Filter,
}

#[pymethods]
impl BufferedFilter {
    #[new]
    #[pyo3(signature = (path, *, direct=true))]
    fn new(py: Python<'_>, path: PathBuf, direct: bool) -> Outcome<Self> {
        let filter = py.detach(|| Filter::open_with(&path, direct))?;
        Ok(Self { path, filter })
    }

    /// The path of the file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Size, hashing and layout of all pages together.
    #[getter]
    fn params(&self) -> PyParams {
        PyParams(self.filter.geometry().params().clone())
    }

    /// The number of keys inserted before the last sync.
    #[getter]
    fn keys(&self, py: Python<'_>) -> Outcome<u64> {
        Ok(py.detach(|| self.filter.state())?.keys)
    }

    /// Whether the file takes no more keys.
    #[getter]
    fn finished(&self, py: Python<'_>) -> Outcome<bool> {
        Ok(py.detach(|| self.filter.state())?.phase == Phase::Finished)
    }

    /// Reads the disk once per key; `contains_many` is far faster.
    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Outcome<bool> {
        Ok(with_key!(key, key => py.detach(|| self.filter.contains(key)))?)
    }

    /// Tests a whole column of keys together: see `bloomgrove.Filter.contains_many`. `memory` is for all
    /// buffers together.
    #[pyo3(signature = (keys, *, memory=MEMORY))]
    fn contains_many(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        memory: u64,
    ) -> Outcome<Answers> {
        let mut column = Column::of(keys)?;
        let mut chunks = Vec::new();
        while let Some(chunk) = column.next(py)? {
            chunks.push(chunk);
        }
        let found = py.detach(|| {
            let len = chunks.iter().map(|chunk| chunk.len()).sum();
            let mut found = vec![false; len];
            let options = options(memory, self.filter.is_direct());
            let sink = |row: u64, is_found| found[row as usize] = is_found;
            let mut prober = self.filter.prober(&options, sink)?;
            let mut at = 0;
            for chunk in &chunks {
                each_batch(chunk, Nulls::Keep, &mut |keys| {
                    let first = at;
                    at += keys.len() as u64;
                    match keys {
                        Keys::Integers(keys) => prober.submit_batch(keys, first),
                        Keys::Bytes(keys) => prober.submit_batch(keys, first),
                    }
                })?;
            }
            prober.finish()?;
            Ok::<_, Error>(found)
        })?;
        Ok(booleans_of(found, &chunks))
    }

    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let path = this.get().path.clone();
        Ok((this.get_type().into_any(), PyTuple::new(this.py(), [path])?))
    }

    fn __repr__(&self) -> String {
        format!("<buffered.Filter: {}>", self.path.display())
    }
}
