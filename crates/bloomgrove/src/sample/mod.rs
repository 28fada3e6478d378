//! Getting items back out of a filter: draw random members of a namespace, or list them all.
//!
//! ```text
//!   filter     1 0 0 1 0 1 1 0 ...            which names does it accept?
//!   names      0..10_000_000, or a list
//!                 |
//!                 +-- Sampler          a few of them, drawn uniformly
//!                 +-- Reconstruction   all of them
//! ```
//!
//! A filter cannot be read backwards; it can only be queried. It accepts the items that were
//! inserted and a few other names, and nothing distinguishes the two. The proportion is known
//! in advance ([`Estimate::accuracy`]).
//!
//! | For | Use |
//! |---|---|
//! | a range of integers, a list of integers, or strings | [`Namespace`] |
//! | many filters over the same names | [`NameIndex`], built once |
//! | one filter, or an expression of filters | [`Query`] |
//! | drawing a few members | [`Sampler`] |
//! | listing all members | [`Reconstruction`] |
//!
//! The last two are exact: every member is equally likely to be drawn, and no member is left out. A
//! planner picks the cheapest way to find members ([`Plan`]): with an index, by inverting the
//! hash, or by testing every name.
//!
//! The structures of the paper (BloomSampleTree, HashInvert, DictionaryAttack) are in the crate
//! `bloomgrove-trees`: the tree's samples are not uniform, and its thresholding loses members.
//!
//! Source: Sengupta et al. (sampling). `docs/papers/sampling.md` reproduces its experiments.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | `SampleOptions`, `Names`, and what the other files share |
//! | `namespace/` | `Namespace`: ranges, lists of integers (`integers.rs`) and strings (`lines.rs`), as keys (`key.rs`), growing (`grow.rs`) |
//! | `expression.rs` | `Expression`: a query as text, `a & (b \| c)` |
//! | `query.rs` | `Query`: a filter, or several joined by and / or; the expected number of members |
//! | `planner.rs` | how to find the members, and why |
//! | `uniform.rs` | `Sampler`: uniform draws |
//! | `reconstruct.rs` | `Reconstruction`: all members, on all processors (`parallel.rs`) |
//! | `candidates.rs` | names that may be members: by index, by inversion, or all |
//! | `name_index/` | `NameIndex`: names by first position; `build.rs` sorts them, `file.rs` stores them |
//! | `quality.rs` | tests whether a sampler is uniform |

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
    /// A namespace without an index.
    Namespace(&'n Namespace),
    /// A name index, for the parameters of the filter.
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
    /// Returns the namespace, with or without an index.
    fn namespace(self) -> &'n Namespace {
        match self {
            Names::Namespace(names) => names,
            Names::Index(index) => index.namespace(),
        }
    }

    /// Returns the ranks that a query covers.
    fn domain(self, query: &Query, within: Option<&Range<u64>>) -> Result<Domain<'n>, Error> {
        if let Names::Index(index) = self {
            index.params().check_equal(query.params())?;
        }
        let namespace = self.namespace();
        namespace.check_family(query.params())?;
        Domain::new(namespace, within)
    }
}

/// Options for drawing or reconstructing members.
///
/// ```
/// use bloomgrove::sample::{Method, SampleOptions};
///
/// let options = SampleOptions { seed: 7, method: Some(Method::List), ..SampleOptions::default() };
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
pub struct SampleOptions {
    /// The number of members that will be drawn, as far as is known; 1 by default.
    pub draws: u64,
    /// Restricts the names to the integers of this range.
    pub within: Option<Range<u64>>,
    /// How a sampler draws; by default, the cheapest method.
    pub method: Option<Method>,
    /// How a reconstruction finds members; by default, the cheapest way.
    pub way: Option<Way>,
    /// The memory limit in bytes, not counting filters, names and index; 1 GiB by default.
    pub memory: u64,
    /// The seed of the random generator: the same seed draws the same members.
    pub seed: u64,
    /// The number of threads that list members; by default, one per processor.
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

/// The work done by drawing or reconstructing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Candidates examined.
    pub looks: u64,
    /// Names tested: hashed, and looked up in the filters.
    pub tests: u64,
}
