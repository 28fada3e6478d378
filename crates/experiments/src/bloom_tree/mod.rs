//! BloomTree (Fu and Biersack): Table III, figures 2, 4, 6 and 8 to 18.
//!
//! ```text
//!   table3         all rows             rates, bytes, hashing
//!   speed          all rows             times, and Eq. 16 to 20
//!   literal        Eq. 6, 8 and 9       for the hashing of Table III
//!   means          geometric and real   not in the paper
//!   flat           the dilemma          figure 2
//!   coding         by filter, by level  figure 4
//!   threads        partitions           figure 6
//!   levels         items per filter     figures 8 and 18
//!   poisson        items per filter     appendix B
//!   search         all of two levels    figure 9
//!   bred           genetic search       figure 10
//!   optimal        both, for Table III  d = 2 to 5
//!   sensitivity    one parameter        figure 11
//!   growth         filling up           figure 12
//!   rivals         Bloofi and Yoon      figure 13
//!   intersection   common items         figures 14 to 16
//!   trace          common packets       figure 17
//!   repeats        ten runs             intervals of figures 12 to 17
//! ```
//!
//! The paper reports the geometric mean of the probabilities of false positives. That is not the
//! rate at which absent keys are accepted, which is their arithmetic mean. Here, both are given
//! everywhere; the rate is exact for each tree, by recursion, and also counted where it is high
//! enough.
//!
//! Sizes are entropies, as in the paper. Keys are random 64-bit numbers, as in the paper; they also
//! replace the packets of figure 17, which are not available. The paper uses 10^8 items, we use as
//! many as [`Effort`] says; rates and ratios do not depend on it.
//!
//! Numbers in the text become [`Claim`](crate::Claim)s. Figures 1, 3, 5 and 7 are drawings, and the curves
//! were printed as pictures, of which we have the captions.

mod bred;
mod coding;
mod flat;
mod growth;
mod intersection;
mod levels;
mod literal;
mod means;
mod optimal;
mod poisson;
mod repeats;
mod rivals;
mod search;
mod sensitivity;
mod setup;
mod speed;
mod table3;
mod threads;
mod trace;

use anyhow::Result;

use crate::paper::{self, Group, claim};
use crate::{Figure, Progress, Report, Table};

/// Every table and figure: id and title.
pub const FIGURES: [(&str, &str); 49] = [
    ("table3", "Table III: rates and sizes"),
    (
        "table3-wire",
        "Table III: bytes to send, against standard and compressed filters",
    ),
    ("table3-hashing", "Table III: the hashing of Eq. 8 and 9"),
    (
        "table3-time",
        "Table III: hash functions and time, against a standard filter",
    ),
    (
        "table3-speed",
        "Table III: time by Eq. 16 to 20, and as measured",
    ),
    (
        "table3-optimal",
        "Table III: trees that beat its rows, of all with d = 2 and 3",
    ),
    (
        "bred",
        "Table III: trees that beat its rows, by genetic search, d = 3 to 5",
    ),
    ("bred-fronts", "Fronts of the genetic search, d = 3 to 5"),
    (
        "means",
        "Paths through a tree by probability, and their share of the rate",
    ),
    ("means-share", "A few paths account for most of the rate"),
    (
        "fig02",
        "A standard filter: compression and rate vs hash functions",
    ),
    ("fig04a", "Compression by level and by filter, d = 3"),
    ("fig04b", "Compression by level and by filter, d = 4"),
    ("fig06", "Time vs threads, a partitioned tree"),
    ("fig08a", "Items of a filter, by level"),
    ("fig08b", "Fill of a filter, by level"),
    ("fig08c", "Probability that a query is accepted, by level"),
    ("poisson", "Appendix B: items per filter, against the model"),
    (
        "poisson-shares",
        "Appendix B: distribution of the items per filter",
    ),
    ("fig09a", "Bytes to send vs rate, every tree with d = 2"),
    (
        "fig09b",
        "Bytes relative to a standard filter vs rate, d = 2",
    ),
    ("fig09-front", "Trees with d = 2 that no other beats"),
    ("fig10a", "Fronts: exhaustive and genetic, d = 2"),
    (
        "fig10b",
        "Fronts relative to a standard filter's bytes, d = 2",
    ),
    (
        "fig10-trees",
        "Trees that the genetic search found in six rounds",
    ),
    ("fig11a", "Rate vs number of items"),
    ("fig11b", "Rate vs depth"),
    ("fig11c", "Rate vs rho_1"),
    ("fig11d", "Rate vs size of the filters below the root"),
    ("fig11e", "Rate vs hash functions of the root"),
    ("fig11f", "Rate vs hash functions below the root"),
    ("fig12a", "Rate as a tree fills up, d = 4"),
    ("fig12b", "Bytes to send as a tree fills up, d = 4"),
    ("fig12-repeats", "Figure 12: intervals of ten runs"),
    ("fig13a", "Rate in the same storage: three trees"),
    ("fig13b", "Bytes to send in the same storage: three trees"),
    ("fig13-full", "Three trees, full"),
    ("fig13-repeats", "Figure 13: intervals of ten runs"),
    (
        "fig14",
        "Intersection: rate vs common items, equal bytes sent",
    ),
    (
        "fig15",
        "Intersection: rate vs size of the sets, equal bytes sent",
    ),
    ("fig16", "Intersection: rate vs skewness, equal bytes sent"),
    (
        "intersection",
        "Intersection: size and false-positive rate of each filter",
    ),
    ("fig14-repeats", "Figures 14 to 16: intervals of ten runs"),
    (
        "fig17",
        "Two sets of random keys: items of neither, counted",
    ),
    (
        "fig17-one",
        "Two sets of random keys: items of one only, counted",
    ),
    ("fig17-cost", "Two sets of random keys: size of each filter"),
    ("fig17-repeats", "Figure 17: intervals of ten runs"),
    ("fig18", "Error of the fill predicted by Eq. 1"),
    (
        "fig18-printed",
        "Error of the fill predicted as printed in appendix A",
    ),
];

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Items of the trees of Table III.
    pub table_items: u64,
    /// Absent keys to query in them.
    pub queries: u64,
    /// Items of the trees that are timed.
    pub time_items: u64,
    /// Paths through a tree for a geometric mean: N_b of Eq. 12, 5000 in the paper.
    pub samples: u32,
    /// n_max of sections 5 to 7: figures 8, 9, 11 and 18.
    pub items: u64,
    /// Trees per point of figures 9 and 11, which is their mean.
    pub trees: u64,
    /// The most items of figure 11a.
    pub most_items: u64,
    /// The most levels of figure 11b.
    pub most_depth: usize,
    /// n_max of section 8: figures 2 and 12 to 16.
    pub set_items: u64,
    /// Items of a set in figure 17.
    pub trace_items: u64,
    /// Runs of each experiment of section 8, with different keys; and trees that must confirm that
    /// another tree is better.
    pub repeats: u64,
    /// The most levels of the trees that are all evaluated.
    pub complete_depth: usize,
    /// The most levels of the trees that are bred.
    pub bred_depth: usize,
    /// Rounds of breeding.
    pub bred_rounds: u32,
    /// Items of figure 6.
    pub thread_items: u64,
    /// The number of rounds; the best time counts.
    pub rounds: usize,
}

impl Effort {
    /// Some minutes.
    pub const DEFAULT: Self = Self {
        table_items: 1_000_000,
        queries: 10_000_000,
        time_items: 500_000,
        samples: 20_000,
        items: 10_000,
        trees: 3,
        most_items: 1_000_000,
        most_depth: 7,
        set_items: 200_000,
        trace_items: 500_000,
        repeats: 10,
        complete_depth: 3,
        bred_depth: 5,
        bred_rounds: 100,
        thread_items: 1_000_000,
        rounds: 3,
    };
    /// Ten million items, and as many keys in place of packets as in the paper: takes several times
    /// as long.
    pub const FULL: Self = Self {
        table_items: 10_000_000,
        time_items: 2_000_000,
        trees: 10,
        most_items: 10_000_000,
        set_items: 2_000_000,
        trace_items: 2_000_000,
        thread_items: 4_000_000,
        rounds: 5,
        ..Self::DEFAULT
    };
}

/// Runs the figures with these ids, or all if none are given. `progress` is called before each
/// step; its error ends the run.
///
/// # Errors
/// An unknown id, too little memory, a lost key, or the error of `progress`.
pub fn run(ids: &[String], effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let groups: [(&[&str], Group<Effort>); 17] = [
        (&["table3", "table3-wire", "table3-hashing"], table3::run),
        (&["table3-time", "table3-speed"], speed::run),
        (&["table3-optimal"], optimal::exhaustive),
        (&["bred", "bred-fronts"], optimal::genetic),
        (&["poisson", "poisson-shares"], poisson::run),
        (&["means", "means-share"], means::run),
        (&["fig02"], flat::run),
        (&["fig04a", "fig04b"], coding::run),
        (&["fig06"], threads::run),
        (
            &["fig08a", "fig08b", "fig08c", "fig18", "fig18-printed"],
            levels::run,
        ),
        (&["fig09a", "fig09b", "fig09-front"], search::exhaustive),
        (&["fig10a", "fig10b", "fig10-trees"], bred::run),
        (
            &["fig11a", "fig11b", "fig11c", "fig11d", "fig11e", "fig11f"],
            sensitivity::run,
        ),
        (&["fig12a", "fig12b", "fig12-repeats"], growth::run),
        (
            &["fig13a", "fig13b", "fig13-full", "fig13-repeats"],
            rivals::run,
        ),
        (
            &["fig14", "fig15", "fig16", "intersection", "fig14-repeats"],
            intersection::run,
        ),
        (
            &["fig17", "fig17-one", "fig17-cost", "fig17-repeats"],
            trace::run,
        ),
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
