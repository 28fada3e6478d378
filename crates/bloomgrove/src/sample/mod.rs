//! Items back out of a filter: draw members of a namespace, or list them all.
//!
//! ```text
//!   filter     1 0 0 1 0 1 1 0 ...            which names does it accept?
//!   names      0..10_000_000, or a list
//!                 |
//!                 +-- Sampler          a few of them, each with the same chance
//!                 +-- Reconstruction   all of them
//! ```
//!
//! A filter cannot be read backwards: it can only be asked. What it accepts are the items that
//! were inserted and a few other names, and nothing tells them apart; how few is known beforehand
//! ([`Estimate::accuracy`]).
//!
//! | You have | Use |
//! |---|---|
//! | integers of a range, a list, texts | [`Namespace`] |
//! | many filters of the same names | a [`NameIndex`], built once |
//! | one filter, or an expression of filters | [`Query`] |
//! | a wish for a few members | [`Sampler`] |
//! | a wish for all | [`Reconstruction`] |
//!
//! Both are exact: every member has the same chance, and no member is left out. How they find
//! members is planned by cost ([`Plan`]), with an index, by turning the hash round, or by asking
//! for every name.
//!
//! The structures of the paper (BloomSampleTree, HashInvert, DictionaryAttack) are in the crate
//! `bloomgrove-trees`: the tree's samples are not uniform, and its thresholding loses members.
//!
//! Source: Sengupta et al. (sampling). `docs/papers/sampling.md` has its experiments, run again.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | `SampleOptions`, `Names`: what all of it shares |
//! | `namespace/` | `Namespace`: ranges, lists of integers (`integers.rs`) and texts (`lines.rs`), as keys (`key.rs`), growing (`grow.rs`) |
//! | `expression.rs` | `Expression`: a query as text, `a & (b \| c)` |
//! | `query.rs` | `Query`: a filter, or several joined by and / or; how many members to expect |
//! | `planner.rs` | which way to the members, and why |
//! | `uniform.rs` | `Sampler`: draws, each member with the same chance |
//! | `reconstruct.rs` | `Reconstruction`: all members, by all processors (`parallel.rs`) |
//! | `candidates.rs` | names that may be members: by index, by inversion, or all |
//! | `name_index/` | `NameIndex`: names by first position; `build.rs` sorts them, `file.rs` keeps them |
//! | `quality.rs` | is a sampler uniform? |

mod candidates;
pub(crate) mod expression;
mod name_index;
mod namespace;
mod parallel;
mod planner;
pub(crate) mod quality;
mod query;
mod reconstruct;
mod uniform;

pub(crate) use name_index::check_file;
pub use name_index::{NameIndex, NameIndexOptions, Progress};
pub use namespace::{Form, Name, Namespace, Spelling};
pub use planner::{Method, Plan, Way};
pub use query::{Estimate, Query};
pub use reconstruct::{Found, Reconstruction};
pub use uniform::Sampler;

use std::ops::Range;

use candidates::Domain;

use crate::Error;

/// The names to draw from: a namespace, or an index of one.
#[derive(Clone, Copy, Debug)]
pub enum Names<'n> {
    /// Names alone.
    Namespace(&'n Namespace),
    /// Names indexed for the parameters of the filter.
    Index(&'n NameIndex),
}

impl<'n> From<&'n Namespace> for Names<'n> {
    fn from(names: &'n Namespace) -> Self {
        Names::Namespace(names)
    }
}

impl<'n> From<&'n NameIndex> for Names<'n> {
    fn from(index: &'n NameIndex) -> Self {
        Names::Index(index)
    }
}

impl<'n> Names<'n> {
    /// The names, however they come.
    fn namespace(self) -> &'n Namespace {
        match self {
            Names::Namespace(names) => names,
            Names::Index(index) => index.namespace(),
        }
    }

    /// The ranks to ask a query about.
    fn domain(self, query: &Query, within: Option<&Range<u64>>) -> Result<Domain<'n>, Error> {
        if let Names::Index(index) = self {
            index.params().check_equal(query.params())?;
        }
        let namespace = self.namespace();
        namespace.check_family(query.params())?;
        Domain::new(namespace, within)
    }
}

/// How to draw or to reconstruct.
///
/// ```
/// use bloomgrove::sample::{Method, SampleOptions};
///
/// let options = SampleOptions { seed: 7, method: Some(Method::List), ..SampleOptions::default() };
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
pub struct SampleOptions {
    /// How many members are going to be drawn, as far as one knows; one by default.
    pub draws: u64,
    /// Only integers of this range.
    pub within: Option<Range<u64>>,
    /// How a sampler draws; the cheapest way by default.
    pub method: Option<Method>,
    /// How a reconstruction finds members; the cheapest way by default.
    pub way: Option<Way>,
    /// Bytes it may use beside filters, names and index; 1 GiB by default.
    pub memory: u64,
    /// Where randomness starts: the same seed draws the same members.
    pub seed: u64,
    /// How many threads list members; all processors by default.
    pub threads: Option<usize>,
}

impl Default for SampleOptions {
    fn default() -> Self {
        Self {
            draws: 1,
            within: None,
            method: None,
            way: None,
            memory: 1 << 30,
            seed: 0,
            threads: None,
        }
    }
}

impl SampleOptions {
    fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(all).max(1)
    }
}

/// What drawing or reconstructing took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Candidates looked at.
    pub looks: u64,
    /// Names tested: hashed, and asked of the filters.
    pub tests: u64,
}
