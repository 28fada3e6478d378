//! `IndexBuilder`: a filter for each of many sets, from rows of (set, key).
//!
//! ```text
//!   rows of a partition --insert_many--> a filter per set --drain--> (name, message)
//!   messages of all partitions --update_many--> united --index--> Index
//! ```
//!
//! Cost per row: one hash lookup and one insert.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::{Array, ArrayRef};
use bloomgrove::index::Index;
use bloomgrove::{Error, Filter, Params, codec};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch::{Keys, Nulls, each_batch};
use crate::column::Column;
use crate::error::Outcome;
use crate::filter::params_of;
use crate::index::PyIndex;
use crate::params::PyParams;

/// Builds an index from two columns: the set of each row, and its key.
///
/// All filters have the same params. Sets are named by text, or by integers as their digits. A row in
/// which either is null is skipped. `drain` and `update_many` move filters from one builder to another,
/// which may be in another process: see `bloomgrove.spark`.
///
/// >>> from bloomgrove import IndexBuilder
/// >>> builder = IndexBuilder(items=1000, fpr=0.001)
/// >>> builder.insert_many(["oslo", "lima", "oslo"], [17, 23, 42])
/// >>> builder.index().which(42)
/// ['oslo']
#[pyclass(frozen, module = "bloomgrove", name = "IndexBuilder")]
pub(crate) struct IndexBuilder {
    params: Params,
    groups: Mutex<Groups>,
}

#[derive(Default)]
struct Groups {
    numbers: HashMap<Vec<u8>, usize>,
    filters: Vec<Filter>,
}

impl Groups {
    /// The number of the set, which is created if it is new.
    fn number(&mut self, name: &[u8], params: &Params) -> Result<usize, Error> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        self.filters.push(Filter::new(params.clone())?);
        let number = self.filters.len() - 1;
        self.numbers.insert(name.to_vec(), number);
        Ok(number)
    }

    /// The number of the set of each row.
    fn numbers(&mut self, sets: &dyn Array, params: &Params) -> Result<Vec<usize>, Error> {
        let mut numbers = Vec::with_capacity(sets.len());
        let is_signed = !sets.data_type().is_unsigned_integer();
        let absent = sets.logical_nulls();
        // What a null stands for must not become a set.
        let skipped = |row: usize| absent.as_ref().is_some_and(|absent| absent.is_null(row));
        let mut add = |numbers: &mut Vec<usize>, name: &[u8]| {
            let number = match skipped(numbers.len()) {
                true => usize::MAX,
                false => self.number(name, params)?,
            };
            numbers.push(number);
            Ok::<_, Error>(())
        };
        each_batch(sets, Nulls::Keep, &mut |names| match names {
            Keys::Bytes(names) => names.iter().try_for_each(|name| add(&mut numbers, name)),
            Keys::Integers(names) => names.iter().try_for_each(|&name| {
                let digits = match is_signed {
                    true => (name as i64).to_string(),
                    false => name.to_string(),
                };
                add(&mut numbers, digits.as_bytes())
            }),
        })?;
        Ok(numbers)
    }

    /// Inserts the key of each row.
    fn insert(&mut self, sets: &dyn Array, keys: &dyn Array, params: &Params) -> Result<(), Error> {
        let numbers = self.numbers(sets, params)?;
        let absent = keys.logical_nulls();
        let mut row = 0;
        let filters = &mut self.filters;
        let mut next = || {
            let number = numbers[row];
            let is_absent = absent.as_ref().is_some_and(|absent| absent.is_null(row));
            row += 1;
            (number, is_absent)
        };
        each_batch(keys, Nulls::Keep, &mut |keys| {
            macro_rules! insert {
                ($keys:expr) => {
                    for key in $keys {
                        let (number, is_absent) = next();
                        if let Some(filter) = filters.get_mut(number)
                            && !is_absent
                        {
                            filter.insert(key);
                        }
                    }
                };
            }
            match keys {
                Keys::Integers(keys) => insert!(keys),
                Keys::Bytes(keys) => insert!(keys),
            }
            Ok(())
        })
    }

    fn sorted(self) -> Vec<(Vec<u8>, Filter)> {
        let mut filters: Vec<Option<Filter>> = self.filters.into_iter().map(Some).collect();
        let mut names: Vec<_> = self.numbers.into_iter().collect();
        names.sort_unstable();
        let named = |(name, number): (Vec<u8>, usize)| Some((name, filters[number].take()?));
        names.into_iter().filter_map(named).collect()
    }
}

impl IndexBuilder {
    fn groups(&self) -> MutexGuard<'_, Groups> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `each` with the chunks of two columns, cut so that they have the same rows.
fn each_pair(
    py: Python<'_>,
    left: &Bound<'_, PyAny>,
    right: &Bound<'_, PyAny>,
    each: impl Fn(&ArrayRef, &ArrayRef) -> Outcome<()> + Sync,
) -> Outcome<()> {
    let mut columns = [Column::of(left)?, Column::of(right)?];
    let mut rest: [Option<ArrayRef>; 2] = [None, None];
    loop {
        for (column, rest) in columns.iter_mut().zip(&mut rest) {
            while rest.as_ref().is_none_or(|chunk| chunk.is_empty()) {
                *rest = column.next(py)?;
                if rest.is_none() {
                    break;
                }
            }
        }
        let (left, right) = match &rest {
            [None, None] => return Ok(()),
            [Some(left), Some(right)] => (left.clone(), right.clone()),
            _ => return Err(PyValueError::new_err("the columns differ in length").into()),
        };
        let len = left.len().min(right.len());
        py.detach(|| each(&left.slice(0, len), &right.slice(0, len)))?;
        rest = [left, right].map(|chunk| Some(chunk.slice(len, chunk.len() - len)));
    }
}

#[pymethods]
impl IndexBuilder {
    #[new]
    #[pyo3(signature = (params=None, *, items=None, fpr=None))]
    fn new(
        params: Option<&Bound<'_, PyParams>>,
        items: Option<u64>,
        fpr: Option<f64>,
    ) -> Outcome<Self> {
        Ok(Self {
            params: params_of(params, items, fpr)?,
            groups: Mutex::default(),
        })
    }

    /// Inserts the key of every row into the set of that row: two columns, see `Filter.insert_many`.
    fn insert_many(
        &self,
        py: Python<'_>,
        sets: &Bound<'_, PyAny>,
        keys: &Bound<'_, PyAny>,
    ) -> Outcome<()> {
        each_pair(py, sets, keys, |sets, keys| {
            Ok(self.groups().insert(sets, keys, &self.params)?)
        })
    }

    /// Unites sets with the filters in messages, as `drain` returns them: a column of names and one of
    /// messages.
    fn update_many(
        &self,
        py: Python<'_>,
        sets: &Bound<'_, PyAny>,
        messages: &Bound<'_, PyAny>,
    ) -> Outcome<()> {
        each_pair(py, sets, messages, |sets, messages| {
            let mut groups = self.groups();
            let numbers = groups.numbers(sets, &self.params)?;
            let mut numbers = numbers.into_iter();
            each_batch(messages, Nulls::Keep, &mut |messages| {
                let Keys::Bytes(messages) = messages else {
                    return Err(Error::params("a column of messages contains bytes"));
                };
                for (message, number) in messages.iter().zip(&mut numbers) {
                    let (filter, _) = codec::expand_within(*message, u64::MAX)?;
                    match groups.filters.get_mut(number) {
                        Some(own) => own.union_with(&filter)?,
                        None => return Err(Error::params("the name of a set is null")),
                    }
                }
                Ok(())
            })?;
            Ok(())
        })
    }

    /// The size of all filters in bytes.
    #[getter]
    fn bytes(&self, py: Python<'_>) -> u64 {
        let filters = py.detach(|| self.groups().filters.len() as u64);
        filters * self.params.bits().div_ceil(64) * 8
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.groups().filters.len())
    }

    /// Removes all sets, and returns them: pairs of a name and the filter as a message, sorted by name.
    fn drain<'py>(
        &self,
        py: Python<'py>,
    ) -> Outcome<Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        let messages = py.detach(|| {
            let groups = std::mem::take(&mut *self.groups());
            let message = |(name, filter)| {
                let mut message = Vec::new();
                codec::compress(&filter, &mut message)?;
                Ok::<(Vec<u8>, Vec<u8>), Error>((name, message))
            };
            let sorted = groups.sorted().into_iter();
            sorted.map(message).collect::<Result<Vec<_>, _>>()
        })?;
        let pair = |(name, message): (Vec<u8>, Vec<u8>)| {
            (PyBytes::new(py, &name), PyBytes::new(py, &message))
        };
        Ok(messages.into_iter().map(pair).collect())
    }

    /// Removes all sets, and returns an index of them, in the order of their names.
    fn index(&self, py: Python<'_>) -> Outcome<PyIndex> {
        let index = py.detach(|| {
            let groups = std::mem::take(&mut *self.groups());
            let mut index = Index::new(self.params.clone());
            for (name, filter) in groups.sorted() {
                index.add(name, &filter)?;
            }
            Ok::<_, Error>(index)
        })?;
        Ok(PyIndex::of(index))
    }
}
