//! `bloomgrove.tune`: sizes and kinds of filters.

use bloomgrove::tune;
use pyo3::prelude::*;

use crate::error::Outcome;
use crate::params::{PyParams, family_of, layout_of};

/// Size and kind of a filter for a number of items and a false-positive rate, and the reason.
#[pyclass(frozen, get_all, module = "bloomgrove.tune")]
pub(crate) struct Recommendation {
    /// The number of items it is sized for.
    items: u64,
    /// The number of bits.
    bits: u64,
    /// The number of bits that each key sets.
    hashes: u32,
    /// How the bits of a key are laid out.
    layout: String,
    /// The hash family.
    family: String,
    /// The expected false-positive rate once all items are inserted.
    fpr: f64,
    /// The reason for the choice.
    why: String,
    /// The params of such a filter.
    params: Py<PyParams>,
}

#[pymethods]
impl Recommendation {
    fn __repr__(&self) -> String {
        format!(
            "<Recommendation: {} bits, {} hashes, {}: {}>",
            self.bits, self.hashes, self.layout, self.why
        )
    }
}

/// Recommends a filter. With `layout` or `family`, only filters of that layout or family.
#[pyfunction]
#[pyo3(signature = (items, fpr, *, layout=None, family=None))]
pub(crate) fn recommend(
    py: Python<'_>,
    items: u64,
    fpr: f64,
    layout: Option<&str>,
    family: Option<&str>,
) -> Outcome<Recommendation> {
    let layout = layout.map(layout_of).transpose()?;
    let family = family.map(family_of).transpose()?;
    let choice = tune::choose(items, fpr, layout, family)?;
    Ok(Recommendation {
        items: choice.items,
        bits: choice.bits,
        hashes: choice.hashes,
        layout: choice.layout.to_string(),
        family: choice.family.to_string(),
        fpr: choice.fpr,
        params: Py::new(py, PyParams(choice.params()?))?,
        why: choice.why,
    })
}

/// The share of true items among the members of a filter, for a namespace of `names` names.
#[pyfunction]
pub(crate) fn accuracy(names: u64, items: u64, fpr: f64) -> f64 {
    tune::accuracy(names, items, fpr)
}

/// The number of bits for which that share is `accuracy`.
#[pyfunction]
pub(crate) fn bits_for_accuracy(names: u64, items: u64, hashes: u32, accuracy: f64) -> f64 {
    tune::bits_for_accuracy(names, items, hashes, accuracy)
}
