//! Building a whole tree at once: in bulk, again from its leaves, or with larger filters.
//!
//! ```text
//!   leaves in a good order:   f3 f0 f9 f4 | f7 f1 f8 f2 | f5 f6 f10
//!                              \ |  | /      \ |  | /      \ |  /
//!   packed from below:            A             B            C
//!                                  \            |           /
//!                                             root
//! ```
//!
//! The paper (section 5.1) sorts the filters into a chain of nearest neighbors and inserts each
//! after the last one. We pack instead, level by level from the leaves, and read each value once.
//! The number of children for the nodes of each level is computed in advance (`widths`). If the root
//! is saturated, levels of nearly full nodes are omitted, and the root has as many children as
//! remain: the no-split rule of section 3.4, applied in advance.

use std::collections::hash_map::Entry;

use super::nodes::NONE;
use super::widths::Widths;
use super::{Bloofi, BloofiOptions, chain};
use bloomgrove::raw::bits;
use bloomgrove::{Error, Filter, Params};

/// The order of the leaves of a bulk-built tree, and how they are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BulkOrder {
    /// Similar filters together, found by sampling; packed. Takes O(N log N) time.
    #[default]
    Fast,
    /// As given (when rebuilding: the current order of the leaves); packed.
    Given,
    /// The paper's: starting from the filter closest to the empty one, always to the nearest
    /// remaining one, each inserted after the last. Takes O(N²) time.
    PaperChain,
}

impl Bloofi {
    /// Builds a tree of many filters at once: better packed, and faster than inserting them one by
    /// one.
    ///
    /// ```
    /// use bloomgrove_trees::bloofi::{BulkOrder, Bloofi, BloofiOptions};
    /// use bloomgrove::{Filter, Params};
    ///
    /// let params = Params::for_items(100, 0.01)?;
    /// let filters = (0..50u32).map(|slot| {
    ///     let mut filter = Filter::new(params.clone()).expect("memory for 100 items");
    ///     filter.insert(&slot);
    ///     (slot, filter)
    /// });
    /// let tree = Bloofi::bulk(params.clone(), BloofiOptions::default(), filters, BulkOrder::Fast)?;
    /// assert_eq!(tree.len(), 50);
    /// assert!(tree.which(&params.probe(&17u32)).contains(&17));
    /// # Ok::<(), bloomgrove::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a filter with other parameters, [`Error::Params`] for
    /// a duplicate slot or an invalid order, [`Error::OutOfMemory`].
    pub fn bulk<S: AsRef<[u64]>>(
        params: Params,
        options: BloofiOptions,
        filters: impl IntoIterator<Item = (u32, Filter<S>)>,
        order: BulkOrder,
    ) -> Result<Self, Error> {
        let mut tree = Self::new(params, options)?;
        let mut leaves = Vec::new();
        for (slot, filter) in filters {
            tree.params.check_equal(filter.params())?;
            if let Entry::Occupied(_) = tree.leaves.entry(slot) {
                return Err(Error::params(format!("two filters with slot {slot}")));
            }
            leaves.push(tree.add_leaf(slot, filter.words())?);
        }
        tree.join(leaves, order)?;
        Ok(tree)
    }

    /// A tree of three levels with its leaves in the given groups: the paper's examples start from
    /// one.
    ///
    /// # Errors
    /// Those of [`bulk`](Self::bulk); [`Error::Params`] for groups that a tree of this order cannot
    /// have.
    pub fn grouped<S: AsRef<[u64]>>(
        params: Params,
        options: BloofiOptions,
        groups: &[&[(u32, Filter<S>)]],
    ) -> Result<Self, Error> {
        let mut tree = Self::new(params, options)?;
        let children = options.order..=2 * options.order;
        let mut families = Vec::new();
        for group in groups {
            if !children.contains(&group.len()) || !(2..=2 * options.order).contains(&groups.len())
            {
                let what = format!("a tree of order {} cannot have these groups", options.order);
                return Err(Error::params(what));
            }
            let mut leaves = Vec::new();
            for (slot, filter) in *group {
                tree.params.check_equal(filter.params())?;
                if tree.contains_slot(*slot) {
                    return Err(Error::params(format!("two filters with slot {slot}")));
                }
                leaves.push(tree.add_leaf(*slot, filter.words())?);
            }
            families.push(leaves);
        }
        let parents = families.iter().map(|leaves| tree.add_parent(leaves));
        let parents: Vec<u32> = parents.collect::<Result<_, _>>()?;
        tree.root = tree.add_parent(&parents)?;
        tree.height = 2;
        Ok(tree)
    }

    fn add_parent(&mut self, children: &[u32]) -> Result<u32, Error> {
        self.nodes.reserve(1)?;
        let parent = self.nodes.add();
        self.nodes.adopt(parent, 0, children);
        self.nodes.gather(parent);
        Ok(parent)
    }

    /// Rebuilds the inner nodes over the same leaves: after many updates, similar filters may no
    /// longer be close together.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the tree is then unchanged.
    pub fn rebuild(&mut self, order: BulkOrder) -> Result<(), Error> {
        let leaves = self.leaves_in_order();
        // No tree has more inner nodes than leaves.
        self.nodes.reserve(leaves.len())?;
        let mut level = vec![self.root];
        for _ in 0..self.height {
            let below = level.iter().flat_map(|&node| self.nodes.children(node));
            let below: Vec<u32> = below.copied().collect();
            for node in level {
                self.nodes.release(node);
            }
            level = below;
        }
        for &leaf in &leaves {
            self.nodes.orphan(leaf);
        }
        self.join(leaves, order)
    }

    /// Replaces the filters by ones of another size: the remedy for a saturated root. `keys` fills a
    /// new, empty filter for each slot, and the tree is rebuilt from these.
    ///
    /// # Errors
    /// What `keys` returns, and [`Error::OutOfMemory`]; the tree is then unchanged.
    pub fn widen(
        &mut self,
        params: Params,
        mut keys: impl FnMut(u32, &mut Filter) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut wide = Self::new(params, self.options)?;
        let mut filter = Filter::new(wide.params.clone())?;
        let mut leaves = Vec::new();
        for slot in self.slots() {
            filter.clear();
            keys(slot, &mut filter)?;
            wide.params.check_equal(filter.params())?;
            leaves.push(wide.add_leaf(slot, filter.words())?);
        }
        wide.join(leaves, BulkOrder::Fast)?;
        *self = wide;
        Ok(())
    }

    /// Combines leaves without parents into a tree.
    fn join(&mut self, leaves: Vec<u32>, order: BulkOrder) -> Result<(), Error> {
        self.nodes.reserve(leaves.len())?;
        (self.root, self.height) = (NONE, 0);
        match order {
            BulkOrder::Given => self.pack(leaves),
            BulkOrder::Fast => {
                let leaves = chain::near(&self.nodes, leaves, self.options.metric);
                self.pack(leaves);
            }
            BulkOrder::PaperChain => {
                for leaf in chain::nearest(&self.nodes, leaves, self.options.metric) {
                    self.insert_last(leaf);
                }
            }
        }
        Ok(())
    }

    /// Builds level upon level over nodes in this order.
    fn pack(&mut self, mut level: Vec<u32>) {
        let ones: u64 = level.iter().map(|&leaf| self.nodes.ones(leaf)).sum();
        let bits = level.len() as f64 * self.params.bits() as f64;
        let widths = Widths {
            order: self.options.order,
            long_root: !self.options.split_full && self.is_union_full(&level),
            leaves: level.len(),
            empty: 1.0 - ones as f64 / bits.max(1.0),
            hashes: self.params.hashes(),
        };
        for count in widths.levels() {
            // Shares as even as possible.
            let share = |i: usize| i * level.len() / count;
            level = (0..count)
                .map(|i| self.parent_of(&level[share(i)..share(i + 1)]))
                .collect();
            self.height += 1;
        }
        self.root = match level[..] {
            [] => NONE,
            [only] => only,
            _ => {
                self.height += 1;
                self.parent_of(&level)
            }
        };
    }

    pub(super) fn parent_of(&mut self, children: &[u32]) -> u32 {
        let parent = self.nodes.add();
        self.nodes.adopt(parent, 0, children);
        self.nodes.gather(parent);
        parent
    }

    /// Whether the union of these has every bit set.
    fn is_union_full(&mut self, nodes: &[u32]) -> bool {
        let union = self.scratch.as_mut();
        union.fill(0);
        for &node in nodes {
            bits::or_assign(union, self.nodes.value(node));
        }
        bits::count(union) == self.params.bits()
    }
}
