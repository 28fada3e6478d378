//! Provenance across sites (Crainiceanu, section 4): the cost of a trace with the index, compared
//! with querying every site.
//!
//! ```text
//!   shape      extent of histories                      of the generated events
//!   current    bytes to stay current over a day         whole, compressed, deltas
//!   traces     exactness, cost and depth                against broadcast, real and estimated
//!   by_sites   cost by number of sites
//!   by_fpr     empty answers by size of filters
//! ```
//!
//! The paper describes this application but gives no numbers for it, so the only thing to compare
//! with is querying all sites, which it says costs too much.
//!
//! The events are generated ([`bloomgrove_site::generate`]). A coordinator and all sites run in this
//! process and communicate over HTTP on the loopback interface, each site with its log on disk; a
//! network would add its delay once per round. Every trace is compared with the graph of a single
//! store with all events (`truth.rs`): nodes, links and the statements about them.
//!
//! Documents are sampled in two ways: *any*, each with the same probability, most of which have short
//! histories; and *long*, from the hundredth of all documents with the most ancestors.

mod by_fpr;
mod by_sites;
mod current;
mod federation;
mod shape;
mod traces;
mod truth;

use anyhow::Result;

use crate::paper::{self, Group};
use crate::{Figure, Progress, Report, Table};

/// Every table and figure: id and title.
pub const FIGURES: [(&str, &str); 11] = [
    ("shape", "Extent of histories"),
    (
        "current",
        "Bytes that all sites send to stay current over a day",
    ),
    (
        "current-push",
        "Bytes that all sites send in a day vs minutes between pushes",
    ),
    ("traces", "Traces with the index and by broadcast"),
    (
        "traces-share",
        "Messages, % of those of a broadcast, vs ancestors (any and long)",
    ),
    ("depth", "Traces by depth"),
    ("sites", "Traces by number of sites"),
    ("sites-messages", "Messages per trace vs number of sites"),
    ("fpr", "Traces by false-positive rate of the filters"),
    ("fpr-empty", "Empty answers vs false-positive rate"),
    ("fpr-bytes", "Size of all filters vs false-positive rate"),
];

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Sites of `shape`, `current`, `traces` and `depth`.
    pub sites: u32,
    /// Events at all of them together.
    pub events: u64,
    /// Documents to trace, for each method of sampling.
    pub documents: usize,
    /// How many of these to trace by broadcast, too.
    pub broadcasts: usize,
    /// Numbers of sites of `sites`.
    pub site_counts: &'static [u32],
    /// Events at each of them.
    pub site_events: u64,
    /// The false-positive rate of the filters, except in `fpr` and `current`.
    pub fpr: f64,
    /// Events of `fpr`, at as many sites as above.
    pub fpr_events: u64,
    /// Documents to trace there, for each method of sampling.
    pub fpr_documents: usize,
    /// Rates of `fpr`.
    pub rates: &'static [f64],
}

impl Effort {
    /// Some minutes, and 1 GB of memory.
    pub const DEFAULT: Self = Self {
        sites: 200,
        events: 200_000,
        documents: 100,
        broadcasts: 10,
        site_counts: &[10, 30, 100, 300],
        site_events: 500,
        fpr: 0.001,
        fpr_events: 100_000,
        fpr_documents: 50,
        rates: &[0.1, 0.01, 0.001, 0.0001],
    };
    /// A million events, and up to a thousand sites: a quarter of an hour, and 3 GB of memory.
    pub const FULL: Self = Self {
        events: 1_000_000,
        documents: 500,
        broadcasts: 25,
        site_counts: &[10, 30, 100, 300, 1000],
        fpr_documents: 500,
        ..Self::DEFAULT
    };
}

/// Runs the experiments for the tables and figures with these ids, or all if none are given.
///
/// # Errors
/// If an id is unknown, a trace fails, or `progress` returns an error.
pub fn run(ids: &[String], effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let groups: [(&[&str], Group<Effort>); 5] = [
        (&["shape"], shape::run),
        (&["current", "current-push"], current::run),
        (&["traces", "traces-share", "depth"], traces::run),
        (&["sites", "sites-messages"], by_sites::run),
        (&["fpr", "fpr-empty", "fpr-bytes"], by_fpr::run),
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
