//! `Params`: size, hashing and layout of a filter.

use std::hash::{Hash, Hasher};

use bloomgrove::raw::codec::{put_params, take_params};
use bloomgrove::{Affine, Derivation, Family, Layout};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::Outcome;

/// Size, hashing and layout of a filter. Filters can be combined only if their params are equal.
///
/// `Params(bits, hashes)` sets them directly; `Params.for_items(items, fpr)` chooses them for a
/// number of items and a false-positive rate. `layout` is "standard", "blocked" or "split-block";
/// `family` is "xxh3", "xxh3-128", "murmur3", "md5", "siphash" (with `key`, 16 bytes), "xxh64" or
/// "affine" (with `coefficients`, a pair for each hash, and `modulus`); `derivation` is "independent"
/// or "kirsch-mitzenmacher".
///
/// >>> from bloomgrove import Params
/// >>> params = Params.for_items(1_000_000, 0.01)
/// >>> params.layout, params.family
/// ('blocked', 'xxh3')
/// >>> Params(1 << 20, 7, seed=42)
/// Params(bits=1048576, hashes=7, layout='standard', family='xxh3', seed=42)
#[pyclass(frozen, eq, hash, module = "bloomgrove", name = "Params")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PyParams(pub(crate) bloomgrove::Params);

impl Hash for PyParams {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[pymethods]
impl PyParams {
    #[new]
    #[pyo3(signature = (bits, hashes, *, layout="standard", family="xxh3", derivation="independent",
                        seed=0, key=None, coefficients=None, modulus=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        bits: u64,
        hashes: u32,
        layout: &str,
        family: &str,
        derivation: &str,
        seed: u64,
        key: Option<[u8; 16]>,
        coefficients: Option<Vec<(u64, u64)>>,
        modulus: Option<u64>,
    ) -> Outcome<Self> {
        let family = match (family, key, coefficients, modulus) {
            ("siphash", Some(key), None, None) => Family::SipHash { key },
            ("affine", None, Some(pairs), Some(modulus)) => {
                Family::Affine(Affine::new(&pairs, modulus)?)
            }
            (family, None, None, None) => family_of(family)?,
            _ => {
                let what = "key is for the family siphash; coefficients and modulus are for affine";
                return Err(PyValueError::new_err(what).into());
            }
        };
        let derivation = match derivation {
            "independent" => Derivation::Independent,
            "kirsch-mitzenmacher" => Derivation::KirschMitzenmacher,
            other => {
                let what = format!(
                    "derivation {other:?}: choose \"independent\" or \"kirsch-mitzenmacher\""
                );
                return Err(PyValueError::new_err(what).into());
            }
        };
        let builder = bloomgrove::Params::builder(bits, hashes).layout(layout_of(layout)?);
        let builder = builder.family(family).derivation(derivation).seed(seed);
        Ok(Self(builder.build()?))
    }

    /// The params of a filter for this many items with this false-positive rate.
    #[staticmethod]
    fn for_items(items: u64, fpr: f64) -> Outcome<Self> {
        Ok(Self(bloomgrove::Params::for_items(items, fpr)?))
    }

    /// The number of bits in the filter.
    #[getter]
    fn bits(&self) -> u64 {
        self.0.bits()
    }

    /// The number of bits that each key sets.
    #[getter]
    fn hashes(&self) -> u32 {
        self.0.hashes()
    }

    /// How the bits of a key are laid out.
    #[getter]
    fn layout(&self) -> String {
        self.0.layout().to_string()
    }

    /// The hash family.
    #[getter]
    fn family(&self) -> String {
        self.0.family().to_string()
    }

    /// How positions are derived from one hash.
    #[getter]
    fn derivation(&self) -> &'static str {
        match self.0.derivation() {
            Derivation::KirschMitzenmacher => "kirsch-mitzenmacher",
            _ => "independent",
        }
    }

    /// The seed of the hash family.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    fn __repr__(&self) -> String {
        let mut text = format!(
            "Params(bits={}, hashes={}, layout='{}', family='{}'",
            self.bits(),
            self.hashes(),
            self.layout(),
            self.family()
        );
        if self.seed() != 0 {
            text += &format!(", seed={}", self.seed());
        }
        if self.derivation() != "independent" {
            text += &format!(", derivation='{}'", self.derivation());
        }
        text + ")"
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let rebuild = py.import("bloomgrove._bloomgrove")?.getattr("_params")?;
        let mut bytes = Vec::new();
        put_params(&mut bytes, &self.0);
        Ok((rebuild, PyTuple::new(py, [PyBytes::new(py, &bytes)])?))
    }
}

/// Params from a pickle.
#[pyfunction]
#[pyo3(name = "_params")]
pub(crate) fn params_of_bytes(mut bytes: &[u8]) -> Outcome<PyParams> {
    Ok(PyParams(take_params(&mut bytes)?))
}

pub(crate) fn layout_of(name: &str) -> PyResult<Layout> {
    match name {
        "standard" => Ok(Layout::Standard),
        "blocked" => Ok(Layout::Blocked),
        "split-block" => Ok(Layout::SplitBlock),
        other => Err(PyValueError::new_err(format!(
            "layout {other:?}: choose \"standard\", \"blocked\" or \"split-block\""
        ))),
    }
}

/// The families that need no more than a name.
pub(crate) fn family_of(name: &str) -> PyResult<Family> {
    match name {
        "xxh3" => Ok(Family::Xxh3),
        "xxh3-128" => Ok(Family::Xxh3Wide),
        "murmur3" => Ok(Family::Murmur3),
        "md5" => Ok(Family::Md5),
        "xxh64" => Ok(Family::Xxh64),
        "siphash" => Err(PyValueError::new_err(
            "the family siphash needs key, 16 bytes",
        )),
        "affine" => Err(PyValueError::new_err(
            "the family affine needs coefficients, a pair for each hash, and modulus",
        )),
        other => Err(PyValueError::new_err(format!(
            "family {other:?}: choose \"xxh3\", \"xxh3-128\", \"murmur3\", \"md5\", \"siphash\", \
             \"xxh64\" or \"affine\""
        ))),
    }
}
