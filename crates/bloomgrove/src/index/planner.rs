//! The choice of the shape, and the reason for it.
//!
//! The cost of a query is counted in cache lines, as far as it follows from the number of filters
//! N, their bits m, their hashes k and their density x (the share of set bits):
//!
//! ```text
//!   loose    N filters, about one line of each
//!   flat     rows of N/512 lines: k of them, or fewer if sparse rows leave nothing; rows of fewer
//!            than 64 filters share words, and k lines are read
//!   sliced   rows of N/32768 lines, likewise, and k lines for each block of 64 filters
//!            that has all k positions: N/64 * (1 - (1 - x)^64)^k
//! ```
//!
//! The weights below are fitted to `bench-compare index`, which compares the choice with every
//! shape.

use super::body::Shape;
use crate::Params;
use crate::numbers::Grouped;

/// In nanoseconds: hashing and other fixed costs, a line of a row, a word of a block, the block
/// that contains a present key (half of all keys are assumed to be present), and a filter queried
/// by itself.
const BASE: f64 = 30.0;
const LINE: f64 = 10.0;
const BLOCK_WORD: f64 = 10.0;
const OWN_BLOCK: f64 = 100.0;
const LOOSE: f64 = 10.0;
/// With fewer filters than this, a block would be larger than its filters.
const BLOCK: usize = 64;
/// With more bits than this, a block of 64 filters would need too much memory at once.
const HUGE: u64 = 1 << 26;
/// Filters are moved only if the cost of another shape is below this share of the present cost.
const WORTH_MOVING: f64 = 0.9;

/// A shape, and the reason for it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ShapeChoice {
    /// The shape.
    pub shape: Shape,
    /// The reason, in one sentence.
    pub reason: String,
    /// The expected cost per key, in nanoseconds on an ordinary machine. Meant for comparing
    /// shapes, not as a prediction.
    pub nanoseconds: f64,
}

/// Chooses the shape for `sets` filters with this density.
///
/// ```
/// use bloomgrove::Params;
/// use bloomgrove::index::{Shape, choose_shape};
///
/// let params = Params::builder(100_992, 7).build()?;
/// assert_eq!(choose_shape(&params, 10_000, 0.007).shape, Shape::Sliced);
/// assert_eq!(choose_shape(&params, 10_000, 0.5).shape, Shape::Flat);
/// assert_eq!(choose_shape(&params, 5, 0.5).shape, Shape::Loose);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
pub fn choose_shape(params: &Params, sets: usize, density: f64) -> ShapeChoice {
    let costs = Costs::new(params, sets, density);
    let (shape, reason) = if params.bits() > HUGE {
        let reason = "filters this large are queried one by one: 64 of them side by side would \
                      not fit into memory";
        (Shape::Loose, reason.to_owned())
    } else if sets < BLOCK && costs.loose <= costs.flat {
        let reason = "with a few sets, it is fastest to query each filter in turn";
        (Shape::Loose, reason.to_owned())
    } else if sets < BLOCK {
        let reason = format!(
            "reading one row for each of {} bits is faster than querying {sets} filters in turn",
            params.hashes()
        );
        (Shape::Flat, reason)
    } else {
        let set = format!("{:.2}% of the bits are set", density * 100.0);
        let (candidates, blocks) = (short(costs.candidates), Grouped(sets.div_ceil(64) as u64));
        if costs.sliced <= costs.flat {
            let reason =
                format!("{set}, so a query reads {candidates} of {blocks} blocks of 64 sets");
            (Shape::Sliced, reason)
        } else {
            let reason = format!(
                "{set}, so a query would read {candidates} of {blocks} blocks of \
                 64 sets; reading one row for each of {} bits is faster",
                params.hashes()
            );
            (Shape::Flat, reason)
        }
    };
    ShapeChoice {
        shape,
        reason,
        nanoseconds: costs.of(shape),
    }
}

/// Returns the share of set bits in `sets` filters that have `ones` set bits in total; 0 if there
/// are no filters.
pub(super) fn density(params: &Params, sets: usize, ones: u64) -> f64 {
    ones as f64 / (sets.max(1) as f64 * params.bits() as f64)
}

/// Returns the shape to which filters in shape `now` should be moved, if any.
pub(super) fn replan(params: &Params, sets: usize, density: f64, now: Shape) -> Option<Shape> {
    let best = choose_shape(params, sets, density).shape;
    let costs = Costs::new(params, sets, density);
    (best != now && costs.of(best) < WORTH_MOVING * costs.of(now)).then_some(best)
}

/// Returns the probability that a block of 64 filters has a given bit.
fn block_share(density: f64) -> f64 {
    1.0 - (1.0 - density).powi(64)
}

struct Costs {
    loose: f64,
    flat: f64,
    sliced: f64,
    /// The number of blocks that have all positions of an absent key.
    candidates: f64,
}

impl Costs {
    fn new(params: &Params, sets: usize, density: f64) -> Self {
        let hashes = f64::from(params.hashes());
        let blocks = sets.div_ceil(64);
        let share = block_share(density);
        let candidates = blocks as f64 * share.powf(hashes);
        Self {
            loose: BASE + sets as f64 * LOOSE,
            flat: BASE
                + match sets < BLOCK {
                    true => hashes * LINE,
                    false => rows_cost(params, blocks, density),
                },
            sliced: BASE
                + rows_cost(params, blocks.div_ceil(64), share)
                + OWN_BLOCK
                + candidates * hashes * BLOCK_WORD,
            candidates,
        }
    }

    fn of(&self, shape: Shape) -> f64 {
        match shape {
            Shape::Loose => self.loose,
            Shape::Flat => self.flat,
            Shape::Sliced => self.sliced,
            // A rank is computed for every word read.
            Shape::Sealed => 2.0 * self.sliced,
        }
    }
}

/// Returns the cost of reading the rows of a key, each `width` words, chunk by chunk until no
/// filter is left.
fn rows_cost(params: &Params, width: usize, density: f64) -> f64 {
    let hashes = params.hashes();
    let left_after = |rows: u32| 1.0 - (-512.0 * density.powi(rows as i32)).exp();
    let rows_read = 2.0f64.min(f64::from(hashes)) + (2..hashes).map(left_after).sum::<f64>();
    // Narrow rows share lines, and these lines stay in the cache.
    let lines = if width < 8 {
        width as f64 / 8.0
    } else {
        width.div_ceil(8) as f64
    };
    // The first eight lines of every row are always prefetched.
    let ahead = lines.min(8.0);
    (ahead * f64::from(hashes) + (lines - ahead) * rows_read) * LINE
}

/// Formats a number of blocks.
fn short(count: f64) -> String {
    if count < 0.01 {
        "almost none".into()
    } else if count < 10.0 {
        format!("{count:.2}")
    } else {
        format!("{count:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_filters_are_sliced_dense_ones_flat_few_and_huge_ones_loose() {
        let params = Params::builder(100_992, 7).build().unwrap();
        for (sets, density, shape) in [
            (7, 0.007, Shape::Loose),
            (8, 0.007, Shape::Flat),
            (63, 0.5, Shape::Flat),
            (1_000, 0.007, Shape::Sliced),
            (10_000, 0.007, Shape::Sliced),
            (100_000, 0.007, Shape::Sliced),
            (1_000, 0.07, Shape::Flat),
            (10_000, 0.07, Shape::Flat),
            (100_000, 0.5, Shape::Flat),
        ] {
            let choice = choose_shape(&params, sets, density);
            assert_eq!(
                choice.shape, shape,
                "{sets} sets at {density}: {}",
                choice.reason
            );
            assert!(choice.nanoseconds > 0.0 && !choice.reason.is_empty());
        }
        let huge = Params::builder(1 << 30, 7).build().unwrap();
        assert_eq!(choose_shape(&huge, 1000, 0.01).shape, Shape::Loose);
    }

    #[test]
    fn nothing_moves_for_a_small_gain() {
        let params = Params::builder(100_992, 7).build().unwrap();
        assert_eq!(replan(&params, 10_000, 0.5, Shape::Flat), None);
        assert_eq!(
            replan(&params, 10_000, 0.5, Shape::Sliced),
            Some(Shape::Flat)
        );
        assert_eq!(
            replan(&params, 10_000, 0.007, Shape::Flat),
            Some(Shape::Sliced)
        );
        // Somewhere in between, both are equally good.
        let even = (1..1000)
            .map(|i| f64::from(i) / 1e4)
            .find(|&density| choose_shape(&params, 10_000, density).shape == Shape::Flat);
        let even = even.unwrap();
        assert_eq!(replan(&params, 10_000, even, Shape::Sliced), None);
        assert_eq!(replan(&params, 10_000, even, Shape::Flat), None);
    }
}
