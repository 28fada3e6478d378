//! `sample` and `reconstruct`: items back out of a filter, given the names that may be in it.

use std::path::PathBuf;

use bloomgrove::Error;
use bloomgrove::sample::{Name, Namespace, Reconstruction, SampleOptions, Sampler};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyRange, PyString};

use crate::error::Outcome;
use crate::filter::AnyFilter;
use crate::key::{KeyRef, key, text};

/// Draws members of a filter at random: every name that the filter accepts is equally likely.
///
/// `names` are the names that may be in the filter: a range, an iterable of int or of str, or the path
/// of a file with a sorted list of lines. With `decimal`, integers were inserted as their digits. A
/// member may be drawn twice, unless `distinct`. The same `seed` draws the same members.
///
/// >>> from bloomgrove import Filter, sample
/// >>> filter = Filter(items=1000, fpr=1e-9)
/// >>> filter.insert_many([17, 204, 90_000])
/// >>> sorted(sample(filter, range(100_000), 10, distinct=True))
/// [17, 204, 90000]
#[pyfunction]
#[pyo3(signature = (filter, names, count=1, *, distinct=false, seed=0, decimal=false))]
pub(crate) fn sample<'py>(
    py: Python<'py>,
    filter: AnyFilter<'py>,
    names: &Bound<'py, PyAny>,
    count: usize,
    distinct: bool,
    seed: u64,
    decimal: bool,
) -> Outcome<Bound<'py, PyList>> {
    let namespace = namespace(names, decimal)?;
    let options = SampleOptions {
        draws: count as u64,
        seed,
        ..SampleOptions::default()
    };
    let drawn = filter.with(py, |filter| {
        let mut sampler = Sampler::with(filter, &namespace, &options)?;
        match distinct {
            true => sampler.draw_distinct(count),
            false => sampler.draw(count),
        }
    })??;
    list(py, drawn)
}

/// Lists all members of a filter: every name that it accepts, and no other. See `sample` for `names`.
///
/// >>> from bloomgrove import Filter, reconstruct
/// >>> filter = Filter(items=1000, fpr=1e-9)
/// >>> filter.insert_many(["oslo", "lima"])
/// >>> reconstruct(filter, ["lima", "oslo", "pune"])
/// ['lima', 'oslo']
#[pyfunction]
#[pyo3(signature = (filter, names, *, decimal=false))]
pub(crate) fn reconstruct<'py>(
    py: Python<'py>,
    filter: AnyFilter<'py>,
    names: &Bound<'py, PyAny>,
    decimal: bool,
) -> Outcome<Bound<'py, PyList>> {
    let namespace = namespace(names, decimal)?;
    let mut found = filter.with(py, |filter| {
        Reconstruction::new(filter, &namespace)?.names()
    })??;
    found.sort_unstable();
    list(py, found)
}

fn list(py: Python<'_>, names: Vec<Name>) -> Outcome<Bound<'_, PyList>> {
    let object = |name: Name| -> PyResult<Bound<'_, PyAny>> {
        Ok(match name {
            Name::Integer(number) => number.into_pyobject(py)?.into_any(),
            Name::Text(bytes) => text(py, &bytes)?.into_any(),
        })
    };
    let names = names.into_iter().map(object);
    Ok(PyList::new(py, names.collect::<PyResult<Vec<_>>>()?)?)
}

fn namespace(names: &Bound<'_, PyAny>, decimal: bool) -> Outcome<Namespace> {
    let names = if let Ok(range) = names.cast::<PyRange>() {
        let part = |name: &str| range.getattr(name)?.extract::<i64>();
        let ends = (u64::try_from(part("start")?), u64::try_from(part("stop")?));
        match (ends, part("step")?) {
            ((Ok(start), Ok(stop)), 1) => Namespace::range(start..stop)?,
            _ => {
                let what = "a range of names has a step of 1 and no negative numbers";
                return Err(PyValueError::new_err(what).into());
            }
        }
    } else if names.is_instance_of::<PyString>() || names.hasattr("__fspath__")? {
        Namespace::text_file(names.extract::<PathBuf>()?)?
    } else {
        of_objects(names)?
    };
    Ok(if decimal { names.in_decimal()? } else { names })
}

fn of_objects(names: &Bound<'_, PyAny>) -> Outcome<Namespace> {
    if names.is_instance_of::<PyBytes>() {
        let what = "names are a range, an iterable of int or str, or the path of a file";
        return Err(PyTypeError::new_err(what).into());
    }
    let (mut integers, mut texts) = (Vec::new(), Vec::new());
    for name in names.try_iter()? {
        match key(&name?)? {
            KeyRef::Integer(number) => integers.push(number),
            KeyRef::Bytes(bytes) => texts.push(bytes.to_vec()),
            KeyRef::Owned(bytes) => texts.push(bytes),
        }
    }
    if texts.is_empty() {
        integers.sort_unstable();
        integers.dedup();
        return Ok(Namespace::integers(integers)?);
    }
    if !integers.is_empty() || texts.iter().any(|text| text.contains(&b'\n')) {
        let what = "names are either all int or all str, without line breaks";
        return Err(Error::namespace(what).into());
    }
    texts.sort_unstable();
    texts.dedup();
    let mut lines = texts.join(&b'\n');
    lines.push(b'\n');
    Ok(Namespace::texts(lines)?)
}
