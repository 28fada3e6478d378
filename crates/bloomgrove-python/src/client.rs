//! `Client`: a server, one request at a time.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use bloomgrove_client::api::{CreateSet, Key, WhichQuery};
use bloomgrove_client::{ClientBuilder, Error, ListQuery, PutOptions};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

use crate::error::Outcome;
use crate::filter::{AnyFilter, PyFilter};
use crate::key::{KeyRef, key};

/// A connection to a Bloomgrove server.
///
/// `key` is an access key, `ca` the path of certificates to trust instead of the system's, `timeout`
/// the time in seconds for a whole response. Methods raise ServerError if the server refuses (`code`
/// says why) or cannot be reached. What they return is what the HTTP API returns.
///
///   client = Client("http://127.0.0.1:7117", key="...")
///   client.put_filter("site/galway", filter)
///   client.which(["heron", "crane"])        # [['site/galway'], []]
#[pyclass(frozen, module = "bloomgrove", name = "Client")]
pub(crate) struct PyClient {
    client: bloomgrove_client::Client,
    runtime: Runtime,
}

impl PyClient {
    /// Waits for an answer, detached from the interpreter.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        answer: impl Future<Output = Result<T, Error>> + Send,
    ) -> Outcome<T> {
        Ok(py.detach(|| self.runtime.block_on(answer))?)
    }
}

/// What serde has, as Python objects.
fn objects<'py>(py: Python<'py>, value: &impl serde::Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value);
    let text = text.map_err(|error| PyValueError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

fn keys_of(keys: &Bound<'_, PyAny>) -> PyResult<Vec<Key>> {
    let one = |object: PyResult<Bound<'_, PyAny>>| {
        Ok(match key(&object?)? {
            KeyRef::Integer(number) => Key::U64(number),
            KeyRef::Bytes(bytes) => Key::from(bytes.to_vec()),
            KeyRef::Owned(bytes) => Key::from(bytes),
        })
    };
    keys.try_iter()?.map(one).collect()
}

#[pymethods]
impl PyClient {
    #[new]
    #[pyo3(signature = (url, *, key=None, ca=None, timeout=60.0))]
    fn new(url: String, key: Option<String>, ca: Option<PathBuf>, timeout: f64) -> Outcome<Self> {
        let timeout = Duration::try_from_secs_f64(timeout);
        let timeout = timeout.map_err(|_| PyValueError::new_err("timeout: a number of seconds"))?;
        let mut builder: ClientBuilder = bloomgrove_client::Client::builder(url).timeout(timeout);
        if let Some(key) = key {
            builder = builder.key(key);
        }
        if let Some(path) = ca {
            builder = builder.ca_certificate(std::fs::read(path).map_err(PyErr::from)?);
        }
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            client: builder.build()?,
            runtime: runtime.map_err(|error| PyOSError::new_err(error.to_string()))?,
        })
    }

    /// The address of the server.
    #[getter]
    fn server(&self) -> &str {
        self.client.server()
    }

    /// The names of the sets that may contain each key. At most `limit` per key, 1000 by default;
    /// only those with this tag, or whose names start with this prefix.
    #[pyo3(signature = (keys, *, prefix=None, tag=None, limit=None))]
    fn which(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        prefix: Option<String>,
        tag: Option<String>,
        limit: Option<u64>,
    ) -> Outcome<Vec<Vec<String>>> {
        let query = WhichQuery {
            keys: keys_of(keys)?,
            prefix,
            tag,
            limit,
            ..WhichQuery::default()
        };
        let which = self.wait(py, self.client.which(&query))?;
        let answers = which.answers.into_iter();
        Ok(answers
            .map(|answer| answer.sets.unwrap_or_default())
            .collect())
    }

    /// Creates an empty set for this many items with this false-positive rate.
    #[pyo3(signature = (name, *, items, fpr=None, tags=Vec::new()))]
    fn create<'py>(
        &self,
        py: Python<'py>,
        name: String,
        items: u64,
        fpr: Option<f64>,
        tags: Vec<String>,
    ) -> Outcome<Bound<'py, PyAny>> {
        let set = CreateSet {
            name,
            items: Some(items),
            fpr,
            tags,
            ..CreateSet::default()
        };
        Ok(objects(py, &self.wait(py, self.client.create(&set))?)?)
    }

    /// Adds keys to a set.
    fn insert<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        keys: &Bound<'py, PyAny>,
    ) -> Outcome<Bound<'py, PyAny>> {
        let keys = keys_of(keys)?;
        Ok(objects(
            py,
            &self.wait(py, self.client.insert(name, keys, None))?,
        )?)
    }

    /// Uploads the filter of a set, creating the set or replacing its filter.
    #[pyo3(signature = (name, filter, *, tags=Vec::new(), base=None))]
    fn put_filter<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        filter: AnyFilter<'py>,
        tags: Vec<String>,
        base: Option<u64>,
    ) -> Outcome<Bound<'py, PyAny>> {
        let options = PutOptions {
            tags,
            base,
            ..PutOptions::default()
        };
        let filter = filter.with(py, |filter| filter.to_owned())??;
        let put = self.client.put_filter_with(name, &filter, &options);
        let (updated, _) = self.wait(py, put)?;
        Ok(objects(py, &updated)?)
    }

    /// Adds all keys of a filter to a set with equal params.
    #[pyo3(signature = (name, filter, *, base=None))]
    fn merge<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        filter: AnyFilter<'py>,
        base: Option<u64>,
    ) -> Outcome<Bound<'py, PyAny>> {
        let filter = filter.with(py, |filter| filter.to_owned())??;
        let updated = self.wait(py, self.client.merge(name, &filter, base))?;
        Ok(objects(py, &updated)?)
    }

    /// The filter of a set, and its version: the `base` of the next update.
    fn filter(&self, py: Python<'_>, name: &str) -> Outcome<(PyFilter, u64)> {
        let (filter, version) = self.wait(py, self.client.filter(name))?;
        Ok((PyFilter::of(filter), version))
    }

    /// The properties of a set.
    fn set<'py>(&self, py: Python<'py>, name: &str) -> Outcome<Bound<'py, PyAny>> {
        Ok(objects(py, &self.wait(py, self.client.set(name))?)?)
    }

    /// All sets, with their properties.
    #[pyo3(signature = (*, prefix=None, tag=None))]
    fn list<'py>(
        &self,
        py: Python<'py>,
        prefix: Option<String>,
        tag: Option<String>,
    ) -> Outcome<Bound<'py, PyAny>> {
        let wanted = ListQuery {
            prefix,
            tag,
            ..ListQuery::default()
        };
        let sets = self.wait(py, async {
            let mut sets = Vec::new();
            let mut listing = self.client.list_all(wanted);
            while let Some(set) = listing.next().await? {
                sets.push(set);
            }
            Ok(sets)
        })?;
        Ok(objects(py, &sets)?)
    }

    /// Removes a set.
    fn remove(&self, py: Python<'_>, name: &str) -> Outcome<()> {
        self.wait(py, self.client.remove(name))
    }

    /// The status of the server.
    fn status<'py>(&self, py: Python<'py>) -> Outcome<Bound<'py, PyAny>> {
        Ok(objects(py, &self.wait(py, self.client.status())?)?)
    }

    fn __repr__(&self) -> String {
        format!("<Client: {}>", self.client.server())
    }
}
