//! Provenance across sites (Crainiceanu, section 4): what a trace takes by the index, beside
//! asking every site.
//!
//! ```text
//!   shape      how far histories reach                  what is made up, measured
//!   current    bytes to stay current over a day         whole, coded, deltas
//!   traces     exactness and cost, and depth            against broadcast, real and reckoned
//!   by_sites   cost by number of sites
//!   by_fpr     requests in vain by size of filters
//! ```
//!
//! The paper describes this application and gives no numbers for it, so there is nothing to set
//! ours beside but asking all sites, which it says costs too much.
//!
//! The events are made up ([`bloomgrove_site::generate`]). A coordinator and all sites run in this
//! process and talk HTTP over the loopback, each site with its log on disk; what a network would add
//! is the number of rounds times its delay. Every trace is compared with the graph that one store
//! of all events has (`truth.rs`): nodes, links and what is said of them.
//!
//! Documents are sampled in two ways: *any*, each as likely as any other, of which most have short
//! histories; and *long*, from the hundredth of all documents that has most ancestors.

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
    ("fpr-unnecessary", "Unnecessary requests vs false-positive rate"),
    (
        "fpr-bytes",
        "Size of all filters vs false-positive rate",
    ),
];

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Sites of `shape`, `current`, `traces` and `depth`.
    pub sites: u32,
    /// Events at all of them together.
    pub events: u64,
    /// Documents that are traced, for each way of sampling.
    pub documents: usize,
    /// Of these, so many also by asking all sites.
    pub broadcasts: usize,
    /// Numbers of sites of `sites`.
    pub site_counts: &'static [u32],
    /// Events at each of them.
    pub site_events: u64,
    /// False positives of the filters, but in `fpr` and `current`.
    pub fpr: f64,
    /// Events of `fpr`, at as many sites as above.
    pub fpr_events: u64,
    /// Documents that are traced there, for each way of sampling.
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

/// Runs the experiments that make the tables and figures with these ids, all if none are given.
///
/// # Errors
/// When an id is unknown, a trace fails, or `progress` says so.
pub fn run(ids: &[String], effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let groups: [(&[&str], Group<Effort>); 5] = [
        (&["shape"], shape::run),
        (&["current", "current-push"], current::run),
        (&["traces", "traces-share", "depth"], traces::run),
        (&["sites", "sites-messages"], by_sites::run),
        (&["fpr", "fpr-unnecessary", "fpr-bytes"], by_fpr::run),
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
