//! `bloomgrove.codec`: compressed filters and deltas.

use bloomgrove::codec;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::Outcome;
use crate::filter::{AnyFilter, PyFilter};

/// A filter as a message, for the wire. It is smaller than the filter unless that is about half full.
#[pyfunction]
pub(crate) fn compress<'py>(
    py: Python<'py>,
    filter: AnyFilter<'py>,
) -> Outcome<Bound<'py, PyBytes>> {
    let mut message = Vec::new();
    filter.with(py, |filter| codec::compress(filter, &mut message))??;
    Ok(PyBytes::new(py, &message))
}

/// The filter in a message. A message can expand to far more than its size, so `limit` is the largest
/// number of bytes that is accepted.
#[pyfunction]
#[pyo3(signature = (message, *, limit=codec::LIMIT))]
pub(crate) fn expand(py: Python<'_>, message: &[u8], limit: u64) -> Outcome<PyFilter> {
    let (filter, _) = py.detach(|| codec::expand_within(message, limit))?;
    Ok(PyFilter::of(filter))
}

/// What changed from one version of a filter to another, as a message.
#[pyfunction]
pub(crate) fn delta<'py>(
    py: Python<'py>,
    old: AnyFilter<'py>,
    new: AnyFilter<'py>,
) -> Outcome<Bound<'py, PyBytes>> {
    let mut message = Vec::new();
    old.with_two(py, &new, |old, new| codec::delta(old, new, &mut message))??;
    Ok(PyBytes::new(py, &message))
}

/// Applies a delta to the version of the filter that it was made from.
#[pyfunction]
pub(crate) fn apply(py: Python<'_>, filter: &Bound<'_, PyFilter>, delta: &[u8]) -> Outcome<()> {
    let filter = filter.get();
    py.detach(|| codec::apply(&mut filter.exclusive(), delta))?;
    Ok(())
}
