//! Bloofi (Crainiceanu): figures 1 to 4, its example, and 5 to 16, section 5.
//!
//! ```text
//!   example     a tree, drawn    1; after insert 2, delete 3, update 4
//!   by_count    N filters        search cost 5, search time 6, maintenance 7, storage
//!   by_order    order d          search cost 8 and time, storage 9, maintenance 10
//!   by_size     bits m           search cost 11, search time 12
//!   by_metric   distance         search cost 13, search time 14, heights
//!   by_data     distribution     search cost 15, search time 16, results
//!   upkeep      section 3.3, 3.4 the tree rebuilt, filters made larger
//!   window      introduction     a moving window
//!   by_similarity                not in the paper: similar sets
//! ```
//!
//! Each figure from 5 on varies one parameter and leaves the others as in Table 1: N = 1000, d = 2,
//! inserted one by one, Hamming, nonrandom, 100,992 bits, 7 hashes, 100 elements.
//! Costs are averages over five runs with different hash seeds; each queries 1000 keys that are in
//! some set. Times are the shortest of the five.
//!
//! The text of the paper gives few numbers; they become [`Claim`](crate::Claim)s. The
//! curves themselves were printed as pictures, of which we have the captions.

mod by_count;
mod by_data;
mod by_metric;
mod by_order;
mod by_similarity;
mod by_size;
mod data;
mod example;
mod scan;
mod setup;
mod upkeep;
mod window;

use anyhow::Result;

use crate::paper::{self, Group};
use crate::{Figure, Progress, Report};

pub use data::Data;
pub use scan::Scan;
pub use setup::{Built, Closest, Measured, Setup};

/// Every figure: id and title.
pub const FIGURES: [(&str, &str); 26] = [
    ("fig01", "A tree of order 2"),
    ("fig02", "The tree after insert and split"),
    ("fig03", "The tree after delete and redistribute"),
    ("fig04", "The tree after update"),
    ("fig05", "Search cost vs N"),
    ("fig06", "Search time vs N"),
    ("fig07", "Maintenance cost vs N"),
    ("fig08", "Search cost vs order"),
    ("fig09", "Storage cost vs order"),
    ("fig10", "Maintenance cost vs order"),
    ("fig11", "Search cost vs filter size"),
    ("fig12", "Search time vs filter size"),
    ("fig13", "Search cost for different metrics vs N"),
    ("fig14", "Search time for different metrics vs N"),
    ("fig15", "Search cost for different distributions vs N"),
    ("fig16", "Search time for different distributions vs N"),
    ("storage", "Storage cost vs N"),
    ("order-time", "Search time vs order"),
    (
        "fig12-baseline",
        "Search time of the baseline vs filter size",
    ),
    ("heights", "Height for different metrics vs N"),
    ("results", "Filters found for different distributions vs N"),
    ("rebuild", "The tree rebuilt after updates"),
    ("widen", "The tree with larger filters"),
    ("window", "A moving window"),
    ("similar-cost", "Search cost for similar sets vs N"),
    ("similar-build", "Time to build for similar sets vs N"),
];

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The number of runs to average.
    pub runs: u64,
    /// The largest N of figures 5 to 7.
    pub most_filters: u32,
    /// The largest N for which the quadratic bulk construction is run.
    pub most_chained: u32,
}

impl Effort {
    /// A few minutes.
    pub const DEFAULT: Self = Self {
        runs: 5,
        most_filters: 10_000,
        most_chained: 1000,
    };
    /// With N = 100,000, as in the paper: 3 GB, and half an hour.
    pub const FULL: Self = Self {
        runs: 5,
        most_filters: 100_000,
        most_chained: 10_000,
    };
}

/// Runs the figures with these ids, or all if none are given. `progress` is called before each
/// step; its error ends the run.
///
/// # Errors
/// An unknown id, too little memory, or the error of `progress`.
pub fn run(ids: &[String], effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let groups: [(&[&str], Group<Effort>); 9] = [
        (&["fig01", "fig02", "fig03", "fig04"], example::run),
        (&["fig05", "fig06", "fig07", "storage"], by_count::run),
        (&["fig08", "order-time", "fig09", "fig10"], by_order::run),
        (&["fig11", "fig12", "fig12-baseline"], by_size::run),
        (&["fig13", "fig14", "heights"], by_metric::run),
        (&["fig15", "fig16", "results"], by_data::run),
        (&["rebuild", "widen"], upkeep::run),
        (&["window"], window::run),
        (&["similar-cost", "similar-build"], by_similarity::run),
    ];
    paper::run(&FIGURES, &groups, ids, effort, progress)
}

/// An empty figure with its title from [`FIGURES`].
fn figure(id: &'static str, x: (&'static str, bool), y: (&'static str, bool)) -> Figure {
    paper::figure(&FIGURES, id, x, y)
}

/// Search cost when one path is followed and each inner node has `l` children:
/// `l log_l N + 1`.
fn ideal(l: f64, filters: u32) -> f64 {
    l * f64::from(filters).log(l) + 1.0
}
