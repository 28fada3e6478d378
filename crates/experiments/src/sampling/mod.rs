//! Sampling and reconstruction (Sengupta et al.): tables 2 to 6, figures 1 to 15.
//!
//! ```text
//!   example          a tree, drawn        figure 1
//!   scenario         a sample, drawn      figure 2
//!   sizes            filters and trees    tables 2, 3; creation 4
//!   by_accuracy      one sample           operations: figures 3, 4; time: 5, 6
//!   families         hash functions       figure 7, accuracy: table 6
//!   quality          uniformity           table 5; calibration, not in the paper
//!   leaves           Proposition 5.2      not in the paper
//!   bounds           Equation 1, Claim 5.4, Proposition 5.3, section 6
//!   reconstruction   the whole set        operations: figures 8, 9, 10; time: 11, 12; recall
//!   compared         with our own         not in the paper
//!   sparse           few names in use     figures 13, 14, 15
//! ```
//!
//! Unless stated otherwise, m is what section 5.4 gives for the accuracy and the size of the set,
//! k = 3, the depth is as printed or from a fixed ratio of costs ([`Setup::depth`]), and an
//! intersection counts as empty below half an item ([`PAPER`]). Operations are averages over several
//! sets; they are the same on every machine. Times are those of the machine.
//!
//! Numbers in the text become [`Claim`](crate::Claim)s; those of tables are next to ours in the
//! tables. The curves were printed as pictures, of which we have the captions.

mod bounds;
mod by_accuracy;
mod clustered;
mod compared;
mod example;
mod families;
mod leaves;
mod quality;
mod reconstruction;
mod scenario;
mod setup;
mod sizes;
mod sparse;
mod ways;
mod world;

use anyhow::Result;

use crate::paper::{self, Group, claim};
use crate::{Figure, Progress, Report, Table};

pub use setup::{ACCURACIES, HASHES, Hashing, ITEMS, PAPER, Setup, Spread};

/// Every table and figure: id and title.
pub const FIGURES: [(&str, &str); 39] = [
    ("fig01", "A BloomSampleTree over 16 names, and a query"),
    ("fig02", "The nodes that a sample visits, in order"),
    ("table2", "Filters and trees, n = 1000, M = 1e6"),
    ("table3", "Filters and trees, n = 1000, M = 1e7"),
    ("table4", "Time to create a tree, n = 1000"),
    ("fig03-1e5", "Operations per sample, uniform sets, M = 1e5"),
    ("fig03-1e6", "Operations per sample, uniform sets, M = 1e6"),
    ("fig03-1e7", "Operations per sample, uniform sets, M = 1e7"),
    (
        "fig04-1e5",
        "Operations per sample, clustered sets, M = 1e5",
    ),
    (
        "fig04-1e6",
        "Operations per sample, clustered sets, M = 1e6",
    ),
    (
        "fig04-1e7",
        "Operations per sample, clustered sets, M = 1e7",
    ),
    ("fig05-uniform", "Time per sample, uniform sets, M = 1e7"),
    (
        "fig05-clustered",
        "Time per sample, clustered sets, M = 1e7",
    ),
    ("fig06-uniform", "Time per sample, uniform sets, M = 1e6"),
    (
        "fig06-clustered",
        "Time per sample, clustered sets, M = 1e6",
    ),
    (
        "fig07",
        "Time per sample for different hash families, M = 1e6",
    ),
    ("table5", "p-values of BSTSample, M = 1e6"),
    (
        "calibration",
        "Is a sampler uniform? Many sets, M = 1e6, accuracy 0.9",
    ),
    (
        "leaves",
        "How often a leaf is chosen (Proposition 5.2), M = 1e6, n = 1000",
    ),
    (
        "bounds",
        "The bounds of the analysis, accuracy 0.9, and measurements",
    ),
    ("samplers", "Cost of a sample, all samplers, accuracy 0.9"),
    ("table6", "Measured accuracy, n = 1000"),
    (
        "fig08-uniform",
        "Operations to reconstruct, uniform sets, M = 1e5",
    ),
    (
        "fig08-clustered",
        "Operations to reconstruct, clustered sets, M = 1e5",
    ),
    (
        "fig09-uniform",
        "Operations to reconstruct, uniform sets, M = 1e6",
    ),
    (
        "fig09-clustered",
        "Operations to reconstruct, clustered sets, M = 1e6",
    ),
    (
        "fig10-uniform",
        "Operations to reconstruct, uniform sets, M = 1e7",
    ),
    (
        "fig10-clustered",
        "Operations to reconstruct, clustered sets, M = 1e7",
    ),
    (
        "fig11-uniform",
        "Time to reconstruct, uniform sets, M = 1e6",
    ),
    (
        "fig11-clustered",
        "Time to reconstruct, clustered sets, M = 1e6",
    ),
    (
        "fig12-uniform",
        "Time to reconstruct, uniform sets, M = 1e7",
    ),
    (
        "fig12-clustered",
        "Time to reconstruct, clustered sets, M = 1e7",
    ),
    (
        "recall",
        "Share of the set that the tree reconstructs, M = 1e6",
    ),
    (
        "thresholds",
        "What a threshold saves and loses, n = 1000, accuracy 0.9",
    ),
    (
        "reconstructors",
        "Cost of a reconstruction, all methods, accuracy 0.9",
    ),
    ("fig13", "Time per sample vs fraction of the namespace"),
    ("fig14", "Memory vs fraction of the namespace"),
    ("fig15", "Accuracy vs fraction of the namespace"),
    ("sparse", "Trees over a part of the namespace"),
];

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Samples per point of figures 3 to 7, which is their average.
    pub samples: u64,
    /// Query sets that they are drawn from, and sets to reconstruct.
    pub sets: u64,
    /// The largest namespace. Figures of larger ones are left out.
    pub most_names: u64,
    /// Sets of a hundred to test a sampler with.
    pub hundreds: u64,
    /// Sets of a thousand.
    pub thousands: u64,
    /// Sets of ten thousand.
    pub ten_thousands: u64,
    /// The largest sets of the p-values.
    pub most_items: u64,
    /// Names in use in the sparse namespace.
    pub users: u64,
}

impl Effort {
    /// A few minutes.
    pub const DEFAULT: Self = Self {
        samples: 1000,
        sets: 4,
        most_names: 10_000_000,
        hundreds: 100,
        thousands: 10,
        ten_thousands: 4,
        most_items: 50_000,
        users: 7_200_000,
    };
    /// As many samples as in the paper; takes several times as long.
    pub const FULL: Self = Self {
        samples: 10_000,
        sets: 20,
        hundreds: 100,
        thousands: 100,
        ten_thousands: 100,
        ..Self::DEFAULT
    };
}

/// Runs the figures with these ids, or all if none are given. `progress` is called before each
/// step; its error ends the run.
///
/// # Errors
/// An unknown id, too little memory, or the error of `progress`.
pub fn run(ids: &[String], effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let groups: [(&[&str], Group<Effort>); 18] = [
        (&["fig01"], example::run),
        (&["fig02"], scenario::run),
        (&["table2", "table3"], sizes::tables),
        (&["table4"], sizes::creation),
        (&["fig03-1e5", "fig04-1e5"], by_accuracy::hundred_thousand),
        (
            &["fig03-1e6", "fig04-1e6", "fig06-uniform", "fig06-clustered"],
            by_accuracy::million,
        ),
        (
            &["fig03-1e7", "fig04-1e7", "fig05-uniform", "fig05-clustered"],
            by_accuracy::ten_million,
        ),
        (&["fig07"], families::time),
        (&["table5"], quality::p_values),
        (&["calibration"], quality::calibration),
        (&["leaves"], leaves::run),
        (&["bounds"], bounds::run),
        (&["samplers"], compared::samplers),
        (&["table6"], families::accuracy),
        (
            &[
                "fig08-uniform",
                "fig08-clustered",
                "fig09-uniform",
                "fig09-clustered",
                "fig10-uniform",
                "fig10-clustered",
                "fig11-uniform",
                "fig11-clustered",
                "fig12-uniform",
                "fig12-clustered",
                "recall",
            ],
            reconstruction::run,
        ),
        (&["thresholds"], compared::thresholds),
        (&["reconstructors"], compared::reconstructors),
        (&["fig13", "fig14", "fig15", "sparse"], sparse::run),
    ];
    paper::run(&FIGURES, &groups, ids, effort, progress)
}

/// An empty figure with its title from [`FIGURES`].
fn figure(id: &'static str, x: (&'static str, bool), y: (&'static str, bool)) -> Figure {
    paper::figure(&FIGURES, id, x, y)
}

/// An empty table with its title from [`FIGURES`].
fn table(id: &'static str, head: &[&str]) -> Table {
    paper::table(&FIGURES, id, head)
}
