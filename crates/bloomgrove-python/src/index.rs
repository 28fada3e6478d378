//! `Index`: many sets.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use bloomgrove::index::{Duplicates, Index, IndexFile, Shape};
use bloomgrove::{Error, Filter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyString, PyTuple};

use crate::answer::{Answers, sets};
use crate::batch::{Keys, Nulls, each_batch};
use crate::column::Column;
use crate::error::{Failure, Outcome};
use crate::filter::{AnyFilter, PyFilter};
use crate::key::{name, text, with_key};
use crate::params::PyParams;

/// Where an index is.
enum Store {
    Memory(Index),
    File(Box<IndexFile>),
    Closed,
}

fn closed() -> Failure {
    PyValueError::new_err("this index is closed").into()
}

impl Store {
    fn index(&self) -> Outcome<&Index> {
        match self {
            Store::Memory(index) => Ok(index),
            Store::File(file) => Ok(file),
            Store::Closed => Err(closed()),
        }
    }
}

/// Many named sets, stored as filters and queried together: which of them contain this key?
///
/// `Index(params)` takes filters with these params; `Index()` takes any. `Index.open(path)` maps a
/// file. An index is also a mapping of names to filters.
///
/// >>> from bloomgrove import Filter, Index, Params
/// >>> params = Params.for_items(1000, 0.001)
/// >>> index = Index(params)
/// >>> for site, document in [("oslo", "doc-1"), ("lima", "doc-2"), ("pune", "doc-2")]:
/// ...     filter = Filter(params)
/// ...     _ = filter.insert(document)
/// ...     index.add(site, filter)
/// >>> index.which("doc-2")
/// ['lima', 'pune']
/// >>> index.which_many(["doc-1", "doc-3"]).to_list()
/// [['oslo'], []]
#[pyclass(frozen, subclass, module = "bloomgrove", name = "Index")]
pub(crate) struct PyIndex(RwLock<Store>);

/// Changes an index in memory or in a file.
macro_rules! changed {
    ($this:expr, $index:ident => $body:expr) => {{
        let mut store = $this.0.write().unwrap_or_else(PoisonError::into_inner);
        match &mut *store {
            Store::Memory($index) => Ok($body?),
            Store::File($index) => Ok($body?),
            Store::Closed => Err(closed()),
        }
    }};
}

/// Same as `changed!`, detached from the interpreter.
macro_rules! change {
    ($this:expr, $py:expr, $index:ident => $body:expr) => {
        $py.detach(|| -> Outcome<_> { changed!($this, $index => $body) })
    };
}

impl PyIndex {
    pub(crate) fn of(index: Index) -> Self {
        Self(RwLock::new(Store::Memory(index)))
    }

    pub(crate) fn of_file(file: IndexFile) -> Self {
        Self(RwLock::new(Store::File(Box::new(file))))
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(&*self.shared(), Store::Closed)
    }

    pub(crate) fn close(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Store::Closed;
    }

    fn shared(&self) -> RwLockReadGuard<'_, Store> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `then` with the index, detached from the interpreter.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        then: impl FnOnce(&Index) -> R + Send,
    ) -> Outcome<R> {
        py.detach(|| self.shared().index().map(then))
    }

    fn all_names(&self, py: Python<'_>) -> Outcome<Vec<Vec<u8>>> {
        self.with(py, |index| {
            let mut seen = HashSet::new();
            let names = index.sets().filter(|set| seen.insert(set.id()));
            names.map(|set| set.name().to_vec()).collect()
        })
    }
}

#[pymethods]
impl PyIndex {
    #[new]
    #[pyo3(signature = (params=None))]
    fn new(params: Option<&Bound<'_, PyParams>>) -> Self {
        Self::of(match params {
            Some(params) => Index::new(params.get().0.clone()),
            None => Index::mixed(),
        })
    }

    /// Maps the index in a file, of any size. Changes stay in memory: IndexFile changes the file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> Outcome<Self> {
        Ok(Self::of(py.detach(|| Index::open(path))?))
    }

    /// The names of the sets that may contain the key. All others certainly do not.
    fn which<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> Outcome<Vec<Bound<'py, PyString>>> {
        with_key!(key, key => self.which_key(py, key))
    }

    /// Which sets may contain each key of a whole column: an Arrow array of any library, a NumPy array
    /// of integers, or an iterable. Returns a list of names per key; with `numbers`, of set numbers.
    #[pyo3(signature = (keys, *, numbers=false))]
    fn which_many(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        numbers: bool,
    ) -> Outcome<Answers> {
        sets(py, keys, numbers, |then| Ok(then(self.shared().index()?)?))
    }

    /// The number of sets that may contain the key.
    fn count(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Outcome<usize> {
        with_key!(key, key => self.with(py, |index| index.count(key)))
    }

    /// Whether any set may contain the key.
    fn any(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Outcome<bool> {
        with_key!(key, key => self.with(py, |index| index.any(key)))
    }

    /// The expected number of false positives for a key that no set contains.
    fn expected_false(&self, py: Python<'_>) -> Outcome<f64> {
        self.with(py, |index| index.view().expected_false())
    }

    /// Adds a set, with a tag: bytes for your own use.
    #[pyo3(signature = (name, filter, tag=None))]
    fn add(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = name)] name: Vec<u8>,
        filter: AnyFilter<'_>,
        tag: Option<&[u8]>,
    ) -> Outcome<()> {
        let tag = tag.unwrap_or_default();
        filter.with(
            py,
            |filter| changed!(self, index => index.add_tagged(&name, tag, filter).map(drop)),
        )?
    }

    /// Replaces the filter of a set.
    fn replace(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = name)] name: Vec<u8>,
        filter: AnyFilter<'_>,
    ) -> Outcome<()> {
        filter.with(
            py,
            |filter| changed!(self, index => index.replace(&name, filter).map(drop)),
        )?
    }

    /// Adds all keys of a filter to a set.
    fn update(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = name)] name: Vec<u8>,
        filter: AnyFilter<'_>,
    ) -> Outcome<()> {
        filter.with(
            py,
            |filter| changed!(self, index => index.update(&name, filter)),
        )?
    }

    /// Inserts a key into a set.
    fn insert(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = name)] name: Vec<u8>,
        key: &Bound<'_, PyAny>,
    ) -> Outcome<()> {
        with_key!(key, key => change!(self, py, index => index.insert(&name, key)))
    }

    /// Inserts a whole column of keys into a set: see `Filter.insert_many`.
    fn insert_many(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = name)] name: Vec<u8>,
        keys: &Bound<'_, PyAny>,
    ) -> Outcome<()> {
        let mut column = Column::of(keys)?;
        let params = self
            .with(py, |index| index.filter(&name))??
            .params()
            .clone();
        let mut filter = Filter::new(params)?;
        while let Some(chunk) = column.next(py)? {
            py.detach(|| {
                each_batch(&chunk, Nulls::Skip, &mut |keys| {
                    match keys {
                        Keys::Integers(keys) => filter.insert_batch(keys),
                        Keys::Bytes(keys) => filter.insert_batch(keys),
                    }
                    Ok(())
                })
            })?;
        }
        change!(self, py, index => index.update(&name, &filter))
    }

    /// Removes a set.
    fn remove(&self, py: Python<'_>, #[pyo3(from_py_with = name)] name: Vec<u8>) -> Outcome<()> {
        change!(self, py, index => index.remove(&name).map(drop))
    }

    /// Renames a set.
    fn rename(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = name)] old: Vec<u8>,
        #[pyo3(from_py_with = name)] new: Vec<u8>,
    ) -> Outcome<()> {
        change!(self, py, index => index.rename(&old, &new).map(drop))
    }

    /// Adds all sets of another index. Sets of the same name are an error, or with `unite` are united.
    #[pyo3(signature = (other, *, unite=false))]
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>, unite: bool) -> Outcome<()> {
        let other = other.get();
        if std::ptr::eq(self, other) {
            return Err(PyValueError::new_err("an index cannot be merged into itself").into());
        }
        let duplicates = if unite {
            Duplicates::Unite
        } else {
            Duplicates::Refuse
        };
        // Not both locks at once: another thread may merge the two the other way round.
        let bytes = self.bytes_of(py, other)?;
        change!(self, py, index => Index::from_bytes(&bytes).and_then(|other| index.merge(&other, duplicates)))
    }

    /// The tag that was stored with a set.
    fn tag<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = name)] name: Vec<u8>,
    ) -> Outcome<Bound<'py, PyBytes>> {
        let tag = self.with(py, |index| index.get(&name).map(|set| set.tag().to_vec()))??;
        Ok(PyBytes::new(py, &tag))
    }

    /// The number of a set, which never changes: what `which_many(..., numbers=True)` returns.
    fn number(&self, py: Python<'_>, #[pyo3(from_py_with = name)] name: Vec<u8>) -> Outcome<u64> {
        Ok(self.with(py, |index| index.get(&name).map(|set| u64::from(set.id())))??)
    }

    /// The names of all sets.
    fn names<'py>(&self, py: Python<'py>) -> Outcome<Bound<'py, PyList>> {
        let names = self.all_names(py)?;
        let names = names.iter().map(|name| text(py, name));
        Ok(PyList::new(py, names.collect::<PyResult<Vec<_>>>()?)?)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> Outcome<Bound<'py, PyIterator>> {
        Ok(self.names(py)?.try_iter()?)
    }

    fn __len__(&self, py: Python<'_>) -> Outcome<usize> {
        self.with(py, Index::len)
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __contains__(&self, py: Python<'_>, set: &Bound<'_, PyAny>) -> Outcome<bool> {
        let set = name(set)?;
        self.with(py, |index| index.get(&set).is_ok())
    }

    fn __getitem__(&self, py: Python<'_>, set: &Bound<'_, PyAny>) -> Outcome<PyFilter> {
        let set = name(set)?;
        Ok(PyFilter::of(self.with(py, |index| index.filter(&set))??))
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        set: &Bound<'_, PyAny>,
        filter: AnyFilter<'_>,
    ) -> Outcome<()> {
        match self.__contains__(py, set)? {
            true => self.replace(py, name(set)?, filter),
            false => self.add(py, name(set)?, filter, None),
        }
    }

    fn __delitem__(&self, py: Python<'_>, set: &Bound<'_, PyAny>) -> Outcome<()> {
        self.remove(py, name(set)?)
    }

    /// Stores all filters in the shape that suits them best, or in one of "loose", "flat", "sliced".
    #[pyo3(signature = (shape=None))]
    fn rearrange(&self, py: Python<'_>, shape: Option<&str>) -> Outcome<()> {
        let shape = match shape {
            None => None,
            Some("loose") => Some(Shape::Loose),
            Some("flat") => Some(Shape::Flat),
            Some("sliced") => Some(Shape::Sliced),
            Some(other) => {
                let what = format!("shape {other:?}: choose \"loose\", \"flat\" or \"sliced\"");
                return Err(PyValueError::new_err(what).into());
            }
        };
        change!(self, py, index => index.rearrange(shape))
    }

    /// Compresses the index by omitting empty words, where that saves memory.
    fn seal(&self, py: Python<'_>) -> Outcome<()> {
        change!(self, py, index => index.seal())
    }

    /// The parts of the index: params, shape, number of sets, bytes, density.
    fn segments<'py>(&self, py: Python<'py>) -> Outcome<Vec<Bound<'py, PyDict>>> {
        let segments = self.with(py, |index| {
            let segments = index.segments().into_iter();
            let facts = segments.map(|it| {
                (
                    it.params.clone(),
                    it.shape.to_string(),
                    it.sets,
                    it.bytes,
                    it.density,
                )
            });
            facts.collect::<Vec<_>>()
        })?;
        let segments = segments
            .into_iter()
            .map(|(params, shape, sets, bytes, density)| {
                let facts = PyDict::new(py);
                facts.set_item("params", PyParams(params))?;
                facts.set_item("shape", shape)?;
                facts.set_item("sets", sets)?;
                facts.set_item("bytes", bytes)?;
                facts.set_item("density", density)?;
                Ok(facts)
            });
        Ok(segments.collect::<PyResult<_>>()?)
    }

    /// Writes the index to a file, atomically replacing any index there.
    fn save(&self, py: Python<'_>, path: PathBuf) -> Outcome<()> {
        Ok(self.with(py, |index| index.save(path))??)
    }

    /// The bytes of the file that `save` would write.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Outcome<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.bytes_of(py, self)?))
    }

    /// An index from the bytes of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> Outcome<Self> {
        Ok(Self::of(py.detach(|| Index::from_bytes(bytes))?))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> Outcome<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let rebuild = py.get_type::<PyIndex>().getattr("from_bytes")?;
        Ok((rebuild, PyTuple::new(py, [self.to_bytes(py)?])?))
    }

    fn __repr__(&self) -> String {
        match self.shared().index() {
            Ok(index) => format!("<Index of {} sets>", index.len()),
            Err(_) => "<Index: closed>".into(),
        }
    }
}

impl PyIndex {
    fn which_key<'py, K: bloomgrove::Key + Sync + ?Sized>(
        &self,
        py: Python<'py>,
        key: &K,
    ) -> Outcome<Vec<Bound<'py, PyString>>> {
        // Detaching would cost more than the answer, so only if someone changes the index.
        if let Ok(store) = self.0.try_read() {
            let found = store.index()?.which(key);
            let names = found.iter().map(|set| text(py, set.name()));
            return Ok(names.collect::<PyResult<_>>()?);
        }
        let found: Vec<Vec<u8>> = self.with(py, |index| {
            let found = index.which(key);
            found.iter().map(|set| set.name().to_vec()).collect()
        })?;
        let names = found.iter().map(|name| text(py, name));
        Ok(names.collect::<PyResult<_>>()?)
    }

    fn bytes_of(&self, py: Python<'_>, index: &Self) -> Outcome<Vec<u8>> {
        let mut bytes = Vec::new();
        index.with(py, |index| index.write_to(&mut bytes))??;
        Ok(bytes)
    }

    /// Calls `then` with the file.
    pub(crate) fn with_file<R: Send>(
        &self,
        py: Python<'_>,
        then: impl FnOnce(&mut IndexFile) -> Result<R, Error> + Send,
    ) -> Outcome<R> {
        py.detach(|| {
            let mut store = self.0.write().unwrap_or_else(PoisonError::into_inner);
            match &mut *store {
                Store::File(file) => Ok(then(file)?),
                _ => Err(closed()),
            }
        })
    }
}
