//! A tree over many Bloom filters: each inner node is the OR of its descendants.
//!
//! ```text
//!                     11111010                        root
//!                   /          \
//!           11110000            00001010              inner: OR of the children
//!          /   |  |  \            /    \
//!   10000000  ...  00010000  00001000  00000010       leaves: one filter per set
//!      1      2 3      4         5         6          their slots
//! ```
//!
//! A key that is not in a node is in no leaf below it, so a search descends only where all k bits
//! are set. Similar filters share a parent, which keeps the upper nodes as sparse as possible.
//!
//! Source: Crainiceanu (Bloofi), sections 2 and 3. Search is Algorithm 1,
//! [`Bloofi::insert`] Algorithms 2 and 3, [`Bloofi::remove`] Algorithm 4,
//! [`Bloofi::update`] Algorithm 5; [`BloofiOptions::split_full`] and [`Bloofi::widen`] are
//! the two remedies of section 3.4, [`Bloofi::bulk`] the construction of section 5.1.
//!
//! Cost, N filters of order d: while the root is not saturated, a search checks about
//! `l log_l N + 1` nodes, l children each (d to 2d), and so does an insertion or a
//! removal; an update touches `height + 1`. Memory: N leaves and at most N inner nodes.
//! Every operation returns how many nodes it accessed, counted as in the paper: those whose value or
//! links are read or changed, plus those that a split, a merge or a redistribution reads.
//!
//! Where we differ:
//! * A search proceeds level by level instead of branch by branch. It checks the same nodes, and the
//!   processor fetches a level's words concurrently: 1.3 times as fast among 100,000 sparse filters,
//!   but slower among dense ones (docs/bench/index.md).
//!   [`Bloofi::find_matches`] is the search as printed.
//! * The number of ones of each node is stored. One AND with the new filter then gives every metric,
//!   and saturation is known without a scan.
//! * A removal propagates upwards only the bits that are lost, and stops where none are.
//!   [`Bloofi::remove_as_printed`] recomputes all values up to the root, as printed.
//! * A lone leaf is the root itself, so an inner node always has two children.
//! * The default bulk construction is not the quadratic one (`bulk`, `chain`).
//!
//! Not for: many thousands of sets. If the root is saturated, a search checks a constant share of all
//! nodes, however they are arranged.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | `Bloofi`, its options, search |
//! | `insert.rs`, `remove.rs` | insertion, splits, updates; removal, merges |
//! | `bulk.rs`, `chain.rs`, `widths.rs` | many filters at once: in which order, and with how many children per node |
//! | `nodes.rs` | values in slabs, links, free nodes |
//! | `check.rs` | every invariant, for tests |
//! | `named.rs`, `file.rs` | sets by name; a tree in a `.grove` file |
//! | `draw/` | the tree as text, Graphviz and SVG |

mod bulk;
mod chain;
mod check;
mod draw;
mod file;
mod insert;
mod named;
mod nodes;
mod remove;
mod widths;

pub use bulk::BulkOrder;
pub use draw::Drawing;
pub use named::NamedBloofi;

use std::collections::HashMap;
use std::fmt;

use bloomgrove::raw::bits::Words;
use bloomgrove::{Error, Filter, Params, Probe};
use nodes::{NONE, Nodes};

/// The distance between filters, which decides where a new one is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Metric {
    /// The number of bits in which they differ.
    #[default]
    Hamming,
    /// 1 minus the share of set bits that they have in common.
    Jaccard,
    /// 1 minus the cosine of the angle between them.
    Cosine,
}

impl Metric {
    /// The name used on the command line and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Hamming => "hamming",
            Metric::Jaccard => "jaccard",
            Metric::Cosine => "cosine",
        }
    }

    /// The distance of two filters with `a` and `b` ones, `both` of them common.
    fn distance(self, a: u64, b: u64, both: u64) -> f64 {
        // Two empty filters are equal, whatever the division gives.
        if a + b == 0 {
            return 0.0;
        }
        match self {
            Metric::Hamming => (a + b - 2 * both) as f64,
            Metric::Jaccard => 1.0 - both as f64 / (a + b - both) as f64,
            Metric::Cosine if both == 0 => 1.0,
            Metric::Cosine => 1.0 - both as f64 / ((a as f64).sqrt() * (b as f64).sqrt()),
        }
    }
}

/// The shape of a [`Bloofi`].
///
/// ```
/// use bloomgrove_trees::bloofi::{BloofiOptions, Metric};
///
/// let options = BloofiOptions::default().order(4).metric(Metric::Jaccard);
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct BloofiOptions {
    /// See [`order`](Self::order()).
    pub order: usize,
    /// See [`metric`](Self::metric()).
    pub metric: Metric,
    /// See [`split_full`](Self::split_full()).
    pub split_full: bool,
}

impl Default for BloofiOptions {
    /// Order 2, Hamming distance, saturated nodes not split.
    fn default() -> Self {
        Self {
            order: 2,
            metric: Metric::Hamming,
            split_full: false,
        }
    }
}

/// With more children, it would be a list and not a tree.
const MAX_ORDER: usize = 1 << 16;

impl BloofiOptions {
    /// d: inner nodes have d to 2d children. Low orders have the fastest searches and updates, high
    /// orders fewer inner nodes. At least 2: with 1, nodes could have a single child, and the height
    /// would be unbounded.
    pub fn order(mut self, order: usize) -> Self {
        self.order = order;
        self
    }

    /// How similar filters are found.
    pub fn metric(mut self, metric: Metric) -> Self {
        self.metric = metric;
        self
    }

    /// Whether a node with every bit set is split when it overflows. Off by default: such a node
    /// rules out no search, so a level of them only adds work. The price is paid by insertions, which
    /// compare all children of the root once it is saturated.
    pub fn split_full(mut self, split: bool) -> Self {
        self.split_full = split;
        self
    }

    fn check(&self) -> Result<(), Error> {
        match (2..=MAX_ORDER).contains(&self.order) {
            true => Ok(()),
            false => Err(Error::params(format!(
                "a Bloofi tree of order {}: the order is 2 to {MAX_ORDER}",
                self.order
            ))),
        }
    }
}

/// Filters of equal [`Params`], each with a number chosen by the caller (its slot), in a tree that
/// finds those that may contain a key.
///
/// ```
/// use bloomgrove_trees::bloofi::{Bloofi, BloofiOptions};
/// use bloomgrove::{Filter, Params};
///
/// let params = Params::for_items(100, 0.01)?;
/// let mut tree = Bloofi::new(params.clone(), BloofiOptions::default())?;
/// for (slot, word) in ["apple", "pear", "plum"].into_iter().enumerate() {
///     let mut filter = Filter::new(params.clone())?;
///     filter.insert(word);
///     tree.insert(slot as u32, &filter)?;
/// }
/// assert_eq!(tree.which(&params.probe("pear")), [1]);
/// tree.remove(1);
/// assert!(tree.which(&params.probe("pear")).is_empty());
/// # Ok::<(), bloomgrove::Error>(())
/// ```
pub struct Bloofi {
    params: Params,
    options: BloofiOptions,
    nodes: Nodes,
    /// The leaf of each slot.
    leaves: HashMap<u32, u32>,
    /// A leaf if there is only one filter; `NONE` if there is none.
    root: u32,
    /// The number of edges from the root to any leaf.
    height: u32,
    /// Memory for one filter, so that a removal cannot run out of memory.
    scratch: Words,
}

impl Bloofi {
    /// An empty tree.
    ///
    /// # Errors
    /// [`Error::Params`] for an order below 2 or above 65,536, [`Error::OutOfMemory`].
    pub fn new(params: Params, options: BloofiOptions) -> Result<Self, Error> {
        options.check()?;
        Ok(Self {
            nodes: Nodes::new(params.words()),
            scratch: Words::zeroed(params.words())?,
            params,
            options,
            leaves: HashMap::new(),
            root: NONE,
            height: 0,
        })
    }

    /// The parameters of every filter in the tree.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The options that it was created with.
    pub fn options(&self) -> BloofiOptions {
        self.options
    }

    /// The number of filters in the tree.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether the tree has no filters.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// The number of edges between the root and any leaf; 0 for an empty tree.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Inner nodes and leaves.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Memory in use for values and links.
    pub fn bytes(&self) -> u64 {
        // An entry of the map takes its two numbers and one more byte.
        self.nodes.bytes() + self.leaves.capacity() as u64 * 9
    }

    /// Whether there is a filter with this slot.
    pub fn contains_slot(&self, slot: u32) -> bool {
        self.leaves.contains_key(&slot)
    }

    /// The filter of a slot.
    pub fn filter(&self, slot: u32) -> Option<Filter<&[u64]>> {
        let leaf = *self.leaves.get(&slot)?;
        self.as_filter(leaf)
    }

    /// The union of all filters; `None` for an empty tree.
    pub fn root(&self) -> Option<Filter<&[u64]>> {
        self.as_filter(self.root)
    }

    fn as_filter(&self, node: u32) -> Option<Filter<&[u64]>> {
        let words = (node != NONE).then(|| self.nodes.value(node))?;
        Filter::from_words(self.params.clone(), words).ok()
    }

    /// Whether every bit of the root is set, so that it rules out no search: time to
    /// [`widen`](Self::widen).
    pub fn is_saturated(&self) -> bool {
        self.root != NONE && self.is_full(self.root)
    }

    fn is_full(&self, node: u32) -> bool {
        self.nodes.ones(node) == self.params.bits()
    }

    /// All slots, in the order of the leaves.
    pub fn slots(&self) -> Vec<u32> {
        let leaves = self.leaves_in_order();
        leaves.iter().map(|&leaf| self.nodes.slot(leaf)).collect()
    }

    fn leaves_in_order(&self) -> Vec<u32> {
        let mut level: Vec<u32> = (self.root != NONE)
            .then_some(self.root)
            .into_iter()
            .collect();
        for _ in 0..self.height {
            let below = |&node: &u32| self.nodes.children(node).iter().copied();
            level = level.iter().flat_map(below).collect();
        }
        level
    }

    /// The slots whose filters may contain the key, in the order of the leaves.
    ///
    /// # Panics
    /// If the probe has other [`Params`]: the answer would be meaningless.
    pub fn which(&self, probe: &Probe) -> Vec<u32> {
        let mut found = Vec::new();
        self.search(self.positions_of(probe), &mut found);
        found
    }

    fn positions_of<'p>(&self, probe: &'p Probe) -> &'p [u64] {
        assert!(
            probe.is_of(&self.params),
            "the probe has other parameters than the tree"
        );
        probe.positions()
    }

    /// Like [`search`](Self::search), but branch by branch, as in Algorithm 1. It checks the same nodes,
    /// and waits for memory at each of them.
    ///
    /// # Panics
    /// Those of [`search`](Self::search).
    pub fn find_matches(&self, positions: &[u64], found: &mut Vec<u32>) -> u64 {
        if self.root == NONE {
            return 0;
        }
        self.find_below(self.root, positions, found)
    }

    fn find_below(&self, node: u32, positions: &[u64], found: &mut Vec<u32>) -> u64 {
        if !self.nodes.holds(node, positions) {
            return 1;
        }
        let children = self.nodes.children(node);
        if children.is_empty() {
            found.push(self.nodes.slot(node));
            return 1;
        }
        let below = children.iter();
        1 + below
            .map(|&child| self.find_below(child, positions, found))
            .sum::<u64>()
    }

    /// Appends to `found` the slots of the filters that have all these bits set, and
    /// returns how many nodes were checked. Allocates only if `found` must grow.
    ///
    /// # Panics
    /// If a position is beyond the last word of a filter.
    pub fn search(&self, positions: &[u64], found: &mut Vec<u32>) -> u64 {
        if self.root == NONE {
            return 0;
        }
        if !self.nodes.holds(self.root, positions) {
            return 1;
        }
        let mut checked = 1;
        // The matching nodes of a level are stored where the answer will be, followed by all their
        // children; the matching ones of these then replace them.
        let start = found.len();
        found.push(self.root);
        for _ in 0..self.height {
            let end = found.len();
            for i in start..end {
                for &child in self.nodes.children(found[i]) {
                    self.nodes.prefetch(child, positions);
                    found.push(child);
                }
            }
            checked += (found.len() - end) as u64;
            let mut kept = start;
            // As a slice: the pointer and length of the `Vec` would be read again for every child.
            let level = found.as_mut_slice();
            for i in end..level.len() {
                let child = level[i];
                if self.nodes.holds(child, positions) {
                    level[kept] = child;
                    kept += 1;
                }
            }
            found.truncate(kept);
        }
        for node in &mut found[start..] {
            *node = self.nodes.slot(*node);
        }
        checked
    }
}

impl fmt::Debug for Bloofi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bloofi")
            .field("params", &self.params)
            .field("options", &self.options)
            .field("len", &self.len())
            .field("height", &self.height)
            .field("nodes", &self.node_count())
            .finish()
    }
}

#[cfg(test)]
mod tests;
