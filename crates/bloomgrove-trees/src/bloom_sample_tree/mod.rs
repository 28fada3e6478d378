//! The sampling paper's tree: a namespace halved level by level, with a filter for each part.
//!
//! ```text
//!  level 0                  0..16                    every filter has the query's Params
//!                         /       \
//!  level 1            0..8         8..16             parent = OR of its halves
//!                    /    \        /    \
//!  level 2        0..4   4..8   8..12  12..16        leaf: its names are tested one by one
//!
//!  query {4, 6}:  0..8 has bits in common with it, perhaps 8..16 by chance;
//!                 4..8 has; test 4, 5, 6 and 7
//! ```
//!
//! A name in the query and in a node sets its bits in both. So the search for members descends only
//! where the AND of query and node does not look empty, and tests names only in the leaves that it
//! reaches. The tree is built once for a namespace and [`Params`], and serves every filter with
//! those `Params`.
//!
//! Source: Sengupta et al. (sampling), section 5 (definition 5.1, Algorithm 1) and section 6. The
//! complete tree is its BloomSampleTree, the pruned one its Pruned-BloomSampleTree.
//!
//! Cost, M names, depth d, filters of m bits: building hashes each name once. Memory is
//! (2^(d+1) - 1) m bits; a pruned tree has only nodes with names, plus 8 bytes per name. A sample
//! takes two intersections per level and M / 2^d membership queries, and as many again for each path
//! that ends in a leaf without members.
//!
//! Where we differ:
//! * Names are inserted into leaves only; the other nodes are ORs (`build`).
//! * Algorithm 1, as printed, tries the other child even if that was found to be empty. Section 5.3
//!   prunes such a child, and so do we.
//! * The estimator has no value if query and child together set every bit; the paper does not say
//!   what happens then. Such a child is kept, and weighs its share of the query's items. No child
//!   weighs more than all items.
//! * A child without a common bit is empty under every [`Threshold`], and there is a threshold that
//!   loses no members, [`Threshold::Safe`].
//! * A leaf of a pruned tree lists its occupied names, and no others are tested.
//! * Memory is counted for every node of the definition; the paper's Tables 2 and 3 have half of
//!   that.
//!
//! Bad at:
//! * Uniformity. *The samples are not uniform*, despite Proposition 5.2: deep in the tree, the
//!   estimates are mostly noise, and some members are drawn far more often than others. With the
//!   paper's thresholding, many are never drawn, and reconstruction loses them.
//! * Pruning. Unless query and nodes are very sparse, they have a few bits in common everywhere, and
//!   a threshold that loses nothing prunes nothing.
//!
//! `docs/papers/sampling.md` has the figures for both, and for methods without these faults.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` and its siblings | `build.rs`, `nodes.rs`, names added later `grow.rs`, BSTSample and reconstruction `descend.rs`, the estimator and thresholds `estimate.rs`, leaf size `costs.rs`, exact chances of its samples `chances.rs`, in a `.grove` file `file.rs` |
//! | `baselines.rs` | dictionary attack, HashInvert |
//! | `operations.rs` | their costs, in the paper's units |

mod baselines;
mod build;
mod chances;
mod costs;
mod descend;
mod estimate;
mod file;
mod grow;
mod nodes;
mod operations;

pub use baselines::{Bits, HashInvert, dictionary_attack, dictionary_sample};
pub use costs::Costs;
pub use estimate::{Threshold, estimate_common};
pub use operations::Operations;

use std::ops::Range;

use bloomgrove::raw::numbers::Grouped;
use bloomgrove::{Error, Filter, Params};
use nodes::{Below, Nodes};

/// The sampling paper's BloomSampleTree: finds the names that a filter contains.
///
/// Its samples are *not uniform*, and with the paper's thresholding
/// ([`Threshold::Estimate`]) many members are never found: it is provided for comparison.
///
/// ```
/// use bloomgrove_trees::bloom_sample_tree::{Operations, BloomSampleTree, Threshold};
/// use bloomgrove::{Filter, Params};
/// use rand::{SeedableRng, rngs::Xoshiro256PlusPlus};
///
/// let params = Params::builder(60_870, 3).build()?;
/// let tree = BloomSampleTree::complete(&params, 0..100_000, 7)?;
///
/// let mut filter = Filter::new(params)?;
/// filter.insert_batch(&[17u64, 23, 42]);
///
/// let mut work = Operations::default();
/// let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
/// let drawn = tree.sample(&filter, Threshold::Safe, &mut random, &mut work)?;
/// assert!(drawn.is_some_and(|name| filter.contains(&name)));
/// assert!(work.memberships < 100_000);
///
/// let mut all = Vec::new();
/// tree.reconstruct(&filter, Threshold::Safe, &mut work, |name| all.push(name))?;
/// assert_eq!(all, [17, 23, 42]);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct BloomSampleTree {
    params: Params,
    span: Span,
    pruned: bool,
    nodes: Nodes,
}

impl BloomSampleTree {
    /// The complete tree of Definition 5.1 over a range of names: `depth` levels below the
    /// root, 2^(depth + 1) - 1 filters. Built on all processors.
    ///
    /// # Errors
    /// [`Error::Namespace`] if the range has fewer names than the tree would have leaves,
    /// [`Error::OutOfMemory`].
    pub fn complete(params: &Params, names: Range<u64>, depth: u32) -> Result<Self, Error> {
        let span = Span::new(names, depth)?;
        Ok(Self {
            params: params.clone(),
            nodes: build::complete(params, &span)?,
            span,
            pruned: false,
        })
    }

    /// The pruned tree of section 5.2: only nodes with an occupied name exist, and only
    /// occupied names are tested in leaves. [`insert`](Self::insert) adds more. Names may be in any
    /// order, and may repeat.
    ///
    /// # Errors
    /// [`Error::Namespace`] if the range has fewer names than a complete tree would have leaves, or a
    /// name is not in it; [`Error::OutOfMemory`].
    pub fn pruned(
        params: &Params,
        names: Range<u64>,
        depth: u32,
        occupied: impl IntoIterator<Item = u64>,
    ) -> Result<Self, Error> {
        let span = Span::new(names, depth)?;
        let mut names: Vec<u64> = occupied.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        for name in names.first().into_iter().chain(names.last()) {
            span.check(*name)?;
        }
        Ok(Self {
            params: params.clone(),
            nodes: build::pruned(params, &span, &names)?,
            span,
            pruned: true,
        })
    }

    /// The parameters of every node, and of every filter that can be queried.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The namespace.
    pub fn names(&self) -> Range<u64> {
        self.span.range(0, 0)
    }

    /// The number of names in the tree: all of the namespace, or those that are occupied.
    pub fn len(&self) -> u64 {
        match self.nodes.len() {
            0 => 0,
            _ => self.nodes.get(0).names,
        }
    }

    /// Whether the tree has no names.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names in the tree, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let range = match self.pruned {
            true => 0..0,
            false => self.names(),
        };
        let listed = self.leaves().into_iter();
        let listed = listed.flat_map(|slot| match &self.nodes.get(slot).below {
            Below::Names(names) => &names[..],
            _ => &[],
        });
        range.chain(listed.copied())
    }

    /// The slots of the leaves, from the first name to the last.
    fn leaves(&self) -> Vec<usize> {
        let mut level: Vec<usize> = (0..self.nodes.len().min(1)).collect();
        for _ in 0..self.span.depth {
            let halves = |&slot: &usize| self.nodes.get(slot).halves();
            level = level.iter().flat_map(halves).collect();
        }
        level
    }

    /// The number of levels below the root.
    pub fn depth(&self) -> u32 {
        self.span.depth
    }

    /// The number of names of the namespace that a leaf covers; some cover one more. The paper's
    /// `M / 2^depth`, rounded down.
    pub fn leaf_size(&self) -> u64 {
        self.span.len >> self.span.depth
    }

    /// The number of nodes.
    pub fn nodes(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Whether only occupied names are in the tree.
    pub fn is_pruned(&self) -> bool {
        self.pruned
    }

    /// Bytes of memory in total: [`filter_bytes`](Self::filter_bytes), links and counts, and
    /// [`name_bytes`](Self::name_bytes).
    pub fn bytes(&self) -> u64 {
        self.filter_bytes() + self.name_bytes() + self.nodes.link_bytes()
    }

    /// Bytes of the filters: what the paper calls memory.
    pub fn filter_bytes(&self) -> u64 {
        self.nodes.filter_bytes()
    }

    /// Bytes of the occupied names that a pruned tree has to store, which the paper does not count.
    pub fn name_bytes(&self) -> u64 {
        self.nodes.name_bytes()
    }

    /// The filter of node `index` on `level`, where the root is level 0. `None` if there
    /// is no such node.
    pub fn node(&self, level: u32, index: u64) -> Option<Filter<&[u64]>> {
        let slot = self.slot(level, index)?;
        Filter::from_words(self.params.clone(), self.nodes.words(slot)).ok()
    }
}

/// A range of names and how often it is halved.
#[derive(Clone, Debug)]
struct Span {
    start: u64,
    /// The number of names; at least that of the leaves.
    len: u64,
    depth: u32,
}

impl Span {
    fn new(names: Range<u64>, depth: u32) -> Result<Self, Error> {
        let len = names.end.saturating_sub(names.start);
        if len == 0 {
            return Err(Error::namespace(format!("{names:?} has no names")));
        }
        if depth > len.ilog2() {
            return Err(Error::namespace(format!(
                "{} names can be halved at most {} times, not {depth} times",
                Grouped(len),
                len.ilog2()
            )));
        }
        Ok(Self {
            start: names.start,
            len,
            depth,
        })
    }

    fn leaves(&self) -> u64 {
        1 << self.depth
    }

    /// The names of node `index` on `level`.
    fn range(&self, level: u32, index: u64) -> Range<u64> {
        let bound = |index: u64| {
            // At most `len`, so neither conversion nor sum can overflow.
            let offset = (u128::from(index) * u128::from(self.len)) >> level;
            self.start + offset as u64
        };
        bound(index)..bound(index + 1)
    }

    /// The leaf of a name of the span: the last one that begins at or before it.
    fn leaf(&self, name: u64) -> u64 {
        let next = u128::from(name - self.start) + 1;
        (((next << self.depth) - 1) / u128::from(self.len)) as u64
    }

    fn check(&self, name: u64) -> Result<(), Error> {
        let range = self.range(0, 0);
        match range.contains(&name) {
            true => Ok(()),
            false => Err(Error::namespace(format!("{name} is not in {range:?}"))),
        }
    }
}

#[cfg(test)]
mod tests;
