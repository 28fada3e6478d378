//! Buffered Bloom filters (Canim et al.): figures 1, 3 and 4, sections 3.3, 4.3 and 4.5.
//!
//! ```text
//!   cache        one bit by filter size    figure 1
//!   waiting      t_max                     figure 3
//!   buffers      memory for buffers        figure 4; false positives, 4.4
//!   literal      Algorithms 1 and 2        to the letter, for figure 4 and section 6
//!   ideas        each idea alone           6
//!   strategies   which block is flushed    4.3, and the time of a hard disk
//!   ratio        probes to inserts         4.5
//!   pages        false positives           3.3, formula (6)
//!   growth       keys, pages, budget       not in the paper
//!   large        much larger than memory   not in the paper
//!   semi_join    Lineitem x Orders         1.1; only if named
//! ```
//!
//! Unless stated otherwise, the parameters are those of Table 2: 50 million keys inserted and 50
//! million queried, half of them present; 256 MB on disk in pages of 2 MB, two bits per key, a block
//! of equal size for each page. "Ours" is the same size with our defaults: pages of 512 KB, eight
//! bits per key in one line, and the longest block is flushed. A megabyte is 2^20 bytes, as it must
//! be in the paper for 128 pages of 2 MB. Files are written with direct I/O.
//!
//! One difference from the paper: its blocks contain k offsets per key while building and the record
//! while probing; ours contain one entry of four bytes, plus a tag for probes. The same buffers
//! therefore contain more keys here. `literal` does as the paper does.
//!
//! Contenders take turns in every round; the best round of each counts. Numbers in the text become
//! [`Claim`](crate::Claim)s. Figure 2 is a drawing, and the curves were printed as pictures, of which
//! we have only the captions.

mod buffers;
mod cache;
mod growth;
mod ideas;
mod large;
mod literal;
mod page_file;
mod pages;
mod ratio;
mod semi_join;
mod setup;
mod strategies;
mod waiting;

use std::path::Path;

use anyhow::Result;

use crate::paper::{self, Group, claim};
use crate::{Figure, Progress, Report, Table};

use setup::Task;

/// Every table and figure: id and title.
pub const FIGURES: [(&str, &str); 16] = [
    ("fig01", "Cost of a bit operation vs filter size"),
    ("fig03", "Mean waiting time vs t_max"),
    (
        "fig03-tail",
        "How long probes wait, and how many are answered",
    ),
    ("fig03-spread", "Mean waiting time: least, median and most"),
    ("fig04", "Build and probe vs buffers, 50 M + 50 M keys"),
    ("fig04-cost", "Time, memory and false-positive rate"),
    (
        "ideas",
        "Sub-filters and buffers, each alone and both: 32 MB of buffers",
    ),
    ("strategies", "Which block is flushed: 16 MB of buffers"),
    ("ratio", "100 M keys, inserted or queried, 32 MB of buffers"),
    ("ratio-cost", "Cost of each part, 32 MB of buffers"),
    (
        "fpr",
        "False positives vs number of pages, % of absent keys",
    ),
    ("growth", "How time and memory grow"),
    ("growth-keys", "Time per key vs keys, 1 % false positives"),
    ("growth-pages", "Time per key vs page size"),
    ("growth-memory", "Time per key vs memory"),
    ("large", "A filter much larger than its buffers"),
];

/// Figures that run only if they are named: they install other programs from the network, and need
/// gigabytes of disk space.
pub const ON_REQUEST: [(&str, &str); 2] = [
    (
        "semi-join",
        "Lineitem and Orders of TPC-H before and after a semi-join",
    ),
    (
        "semi-join-time",
        "Time and memory of their join, as they are and reduced",
    ),
];

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The bytes of a "megabyte"; fewer make everything smaller, for tests.
    pub megabyte: u64,
    /// The number of rounds; the best counts.
    pub rounds: usize,
    /// The number of rounds where the spread counts: figure 3, and each idea alone.
    pub spread_rounds: usize,
    /// Keys per point of figure 1.
    pub bit_keys: u64,
    /// The largest filter of figure 1, in megabytes.
    pub most_bits: u64,
    /// Keys to insert, and keys to query, as in Table 2.
    pub keys: u64,
    /// How long each point of figure 3 is measured, in seconds.
    pub seconds: f64,
    /// Keys to insert and to query, to count false positives.
    pub fpr_keys: u64,
    /// The most keys of `growth`.
    pub most_keys: u64,
    /// Keys for each page size and budget of `growth`.
    pub growth_keys: u64,
    /// Megabytes of buffers when `growth` varies something else.
    pub growth_memory: u64,
    /// Megabytes on disk of `large`.
    pub large: u64,
    /// Megabytes of its buffers.
    pub large_memory: u64,
    /// Keys to insert, and keys to query.
    pub large_keys: u64,
    /// How long contenders may query one key at a time, in seconds; the rest is extrapolated.
    pub patience: f64,
    /// The scale factor of the tables to join.
    pub scale: u32,
}

impl Effort {
    /// Some minutes, and 2 GB of disk.
    pub const DEFAULT: Self = Self {
        megabyte: 1 << 20,
        rounds: 2,
        spread_rounds: 5,
        bit_keys: 2_500_000,
        most_bits: 1024,
        keys: 50_000_000,
        seconds: 2.0,
        fpr_keys: 5_000_000,
        most_keys: 100_000_000,
        growth_keys: 20_000_000,
        growth_memory: 32,
        large: 2048,
        large_memory: 32,
        large_keys: 100_000_000,
        patience: 3.0,
        scale: 1,
    };
    /// A billion keys, and a filter of 16 GB: an hour, and 20 GB of disk.
    pub const FULL: Self = Self {
        rounds: 3,
        bit_keys: 100_000_000,
        seconds: 10.0,
        fpr_keys: 20_000_000,
        most_keys: 1_000_000_000,
        growth_keys: 100_000_000,
        growth_memory: 256,
        large: 16 << 10,
        large_memory: 256,
        large_keys: 500_000_000,
        patience: 20.0,
        scale: 10,
        ..Self::DEFAULT
    };
}

/// Runs the figures with these ids, or all if none are given. Files are created in `directory` and
/// removed; it should be on a disk, because file systems in memory have no direct I/O. `progress` is
/// called before each step; its error ends the run.
///
/// # Errors
/// An unknown id, too little memory or disk space, a lost key, or the error of `progress`.
pub fn run(
    ids: &[String],
    effort: Effort,
    directory: &Path,
    progress: &mut Progress<'_>,
) -> Result<Report> {
    let groups: [(&[&str], Group<Task<'_>>); 9] = [
        (&["fig01"], cache::run),
        (&["fig03", "fig03-tail", "fig03-spread"], waiting::run),
        (&["fig04", "fig04-cost"], buffers::run),
        (&["ideas"], ideas::run),
        (&["strategies"], strategies::run),
        (&["ratio", "ratio-cost"], ratio::run),
        (&["fpr"], pages::run),
        (
            &["growth", "growth-keys", "growth-pages", "growth-memory"],
            growth::run,
        ),
        (&["large"], large::run),
    ];
    let task = Task { effort, directory };
    let is_on_request = |id: &String| ON_REQUEST.iter().any(|(known, _)| known == id);
    if !ids.is_empty() && ids.iter().all(is_on_request) {
        let groups: [(&[&str], Group<Task<'_>>); 1] =
            [(&["semi-join", "semi-join-time"], semi_join::run)];
        return paper::run(&ON_REQUEST, &groups, ids, task, progress);
    }
    paper::run(&FIGURES, &groups, ids, task, progress)
}

/// An empty figure with its title from [`FIGURES`].
fn figure(id: &'static str, x: (&'static str, bool), y: (&'static str, bool)) -> Figure {
    paper::figure(&FIGURES, id, x, y)
}

/// An empty table with its title from [`FIGURES`].
fn table(id: &'static str, head: &[&str]) -> Table {
    paper::table(&FIGURES, id, head)
}
