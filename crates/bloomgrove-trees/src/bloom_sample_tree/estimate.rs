//! The estimated number of names that a node and the query have in common, and when it counts as
//! zero.
//!
//! Source: Sengupta et al. (sampling), sections 5.3 and 5.6.

use super::nodes::Node;
use bloomgrove::Params;

/// When a child's intersection with the query counts as empty (section 5.6). Without a common bit,
/// it always does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// If the estimated number of common names is below this, or not above 0: the paper's
    /// thresholding. It loses members of nodes whose estimate is too low. A child without an
    /// estimate, because it and the query together set every bit, is kept.
    Estimate(f64),
    /// Only if no bit is common ("even a single set bit", section 5.6). Loses no members.
    NoCommonBit,
    /// If fewer bits are common than any single name of the child sets. The strictest threshold on
    /// common bits that loses no members.
    Safe,
}

/// A child that is kept regardless of its estimate weighs at least this many names: with less, its
/// members would hardly ever be drawn, and with zero, never first.
const LEAST_WEIGHT: f64 = 0.5;

/// The estimated number of items that two filters of `params` share, from their numbers of
/// ones and that of their AND: Papapetrou, Siberski and Nejdl's estimator, as printed in
/// section 5.3.
///
/// ```text
///   ln(m - (t m - t1 t2) / (m - t1 - t2 + t)) - ln m
///   ------------------------------------------------
///                 k ln(1 - 1/m)
/// ```
///
/// It is below 0 if fewer bits are common than expected by chance, and infinite or not a number if
/// no bit is 0 in both: then the bits have no information. Expanded, it is the number of items of
/// the one plus that of the other minus that of their union, each estimated from its fill, as in
/// [`Filter::estimated_common_items`](bloomgrove::Filter::estimated_common_items).
///
/// ```
/// use bloomgrove::raw::bits;
/// use bloomgrove::{Filter, Params};
/// use bloomgrove_trees::bloom_sample_tree::estimate_common;
///
/// let params = Params::builder(100_000, 3).build()?;
/// let (mut a, mut b) = (Filter::new(params.clone())?, Filter::new(params.clone())?);
/// (0..2000u64).for_each(|x| _ = a.insert(&x));
/// (1000..3000u64).for_each(|x| _ = b.insert(&x));
/// let both = bits::and_count(a.words(), b.words());
/// let common = estimate_common(&params, a.count_ones(), b.count_ones(), both);
/// assert!((common - 1000.0).abs() < 30.0);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
pub fn estimate_common(params: &Params, ones_a: u64, ones_b: u64, ones_both: u64) -> f64 {
    let (m, k) = (params.bits() as f64, f64::from(params.hashes()));
    let (t1, t2, t) = (ones_a as f64, ones_b as f64, ones_both as f64);
    let share = (t * m - t1 * t2) / (m - t1 - t2 + t) / m;
    // ln(m - m share) - ln(m), without loss of precision.
    (-share).ln_1p() / (k * (-1.0 / m).ln_1p())
}

/// The weights of the children of a node.
pub(super) struct Judge<'a> {
    params: &'a Params,
    threshold: Threshold,
    /// Set bits of the query.
    ones: u64,
    /// Items of the query, if no two shared a bit.
    items: f64,
    /// Names of the whole tree.
    names: f64,
}

impl<'a> Judge<'a> {
    pub(super) fn new(params: &'a Params, threshold: Threshold, ones: u64, root: &Node) -> Self {
        Self {
            params,
            threshold,
            ones,
            items: ones as f64 / f64::from(params.hashes()),
            names: root.names as f64,
        }
    }

    /// The weight of a child that has `common` bits in common with the query; `None` if it counts as
    /// empty.
    ///
    /// A child without an estimate weighs its share of the query's items, as if they were spread
    /// evenly over the names; none weighs more than all items.
    pub(super) fn weight(&self, child: &Node, common: u64) -> Option<f64> {
        if common == 0 {
            return None;
        }
        let estimate = estimate_common(self.params, child.ones, self.ones, common);
        let weight = match estimate.is_finite() {
            true => estimate.min(self.items),
            false => self.items * (child.names as f64 / self.names),
        };
        match self.threshold {
            Threshold::Estimate(least) => {
                let kept = !estimate.is_finite() || (weight >= least && weight > 0.0);
                kept.then_some(weight)
            }
            Threshold::NoCommonBit => Some(weight.max(LEAST_WEIGHT)),
            Threshold::Safe => (common >= child.least.into()).then(|| weight.max(LEAST_WEIGHT)),
        }
    }
}
