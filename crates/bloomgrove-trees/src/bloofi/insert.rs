//! Insertion and updates: Algorithms 2, 3 and 5.
//!
//! ```text
//!   insert X, order 2        A overflows               A is split
//!
//!         A                      A                     A       A'
//!      / | | \               / | | | \               / | \    / \
//!     1  2 3  4             1  2 3 X  4             1  2  3  X   4
//!          ^ closest to X
//! ```
//!
//! On the way down, every node gets the bits of the new filter, and the search continues with the
//! closest child. A split leaves the first half in place and moves the rest to a new sibling; the
//! parent may overflow in turn, up to the root.

use super::Bloofi;
use super::nodes::NONE;
use bloomgrove::{Error, Filter, Probe};

impl Bloofi {
    /// Adds a filter next to the most similar one, and returns how many nodes were accessed; returns
    /// `None`, without a change, if the slot is in use.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a filter with other parameters,
    /// [`Error::OutOfMemory`]. The tree is then unchanged.
    pub fn insert<S: AsRef<[u64]>>(
        &mut self,
        slot: u32,
        filter: &Filter<S>,
    ) -> Result<Option<u64>, Error> {
        self.insert_by(slot, filter, |least, distance, _| distance < least)
    }

    /// Like [`insert`](Self::insert), with another rule for the most similar child. The children of a
    /// node are compared in order: `closer(least, distance, children)` decides whether one at this
    /// distance replaces the best so far, at distance `least`, in a node with this many children. The
    /// first is always taken.
    ///
    /// # Errors
    /// Those of [`insert`](Self::insert).
    pub fn insert_by<S: AsRef<[u64]>>(
        &mut self,
        slot: u32,
        filter: &Filter<S>,
        closer: impl FnMut(f64, f64, usize) -> bool,
    ) -> Result<Option<u64>, Error> {
        self.params.check_equal(filter.params())?;
        if self.contains_slot(slot) {
            return Ok(None);
        }
        // A split at every level, and a new root.
        self.nodes.reserve(self.height as usize + 2)?;
        let leaf = self.add_leaf(slot, filter.words())?;
        Ok(Some(self.insert_near(leaf, closer)))
    }

    /// A leaf that is not yet part of the tree.
    pub(super) fn add_leaf(&mut self, slot: u32, words: &[u64]) -> Result<u32, Error> {
        self.nodes.reserve(1)?;
        let bytes = self.leaves.len() as u64 * 9;
        let room = self.leaves.try_reserve(1);
        room.map_err(|_| Error::OutOfMemory { bytes })?;
        let leaf = self.nodes.add();
        self.nodes.set_value(leaf, words);
        self.nodes.set_slot(leaf, slot);
        self.leaves.insert(slot, leaf);
        Ok(leaf)
    }

    /// Algorithm 2: descends to the closest leaf, and adds this one next to it.
    fn insert_near(&mut self, leaf: u32, mut closer: impl FnMut(f64, f64, usize) -> bool) -> u64 {
        if self.root == NONE {
            self.root = leaf;
            return 1;
        }
        let mut accessed = 2; // the new leaf and the root
        let mut node = self.root;
        let mut common = self.nodes.common(node, leaf);
        for _ in 0..self.height {
            self.nodes.add_node(node, leaf, common);
            accessed += self.nodes.children(node).len() as u64;
            (node, common) = self.closest_child(node, leaf, &mut closer);
        }
        accessed + self.insert_beside(leaf, node)
    }

    /// The child closest to the leaf according to `closer`, and how many bits the two share.
    fn closest_child(
        &self,
        node: u32,
        leaf: u32,
        closer: &mut impl FnMut(f64, f64, usize) -> bool,
    ) -> (u32, u64) {
        let ones = self.nodes.ones(leaf);
        let mut closest = (NONE, 0);
        let mut least = f64::INFINITY;
        let children = self.nodes.children(node);
        for &child in children {
            let common = self.nodes.common(child, leaf);
            let metric = self.options.metric;
            let distance = metric.distance(self.nodes.ones(child), ones, common);
            // The first is always taken, so that there is a child whatever the rule says.
            if closest.0 == NONE || closer(least, distance, children.len()) {
                least = distance;
                closest = (child, common);
            }
        }
        closest
    }

    /// Algorithm 3, repeated up the tree: adds `new` after `node` to the same parent, whose value
    /// already has its bits, and splits nodes that overflow. Returns the nodes accessed.
    pub(super) fn insert_beside(&mut self, mut new: u32, mut node: u32) -> u64 {
        let mut accessed = 0;
        loop {
            let parent = self.nodes.parent(node);
            if parent == NONE {
                self.root = self.nodes.add();
                self.nodes.adopt(self.root, 0, &[node, new]);
                self.nodes.gather(self.root);
                self.height += 1;
                return accessed + 1;
            }
            let rank = self.nodes.rank(parent, node);
            self.nodes.adopt(parent, rank + 1, &[new]);
            let children = self.nodes.children(parent).len();
            let fits = children <= 2 * self.options.order;
            if fits || (!self.options.split_full && self.is_full(parent)) {
                return accessed;
            }
            // The last d of 2d + 1 are moved. There are more if a removal cleared a bit of a node that
            // had grown while it was saturated.
            let sibling = self.nodes.add();
            let moved = self.nodes.give(parent, children - children / 2..children);
            self.nodes.adopt(sibling, 0, &moved);
            self.nodes.gather(parent);
            self.nodes.gather(sibling);
            // The new node, and each child read for one of the two values.
            accessed += 1 + children as u64;
            (new, node) = (sibling, parent);
        }
    }

    /// Adds a leaf after all others. Memory for its parents must be reserved.
    pub(super) fn insert_last(&mut self, leaf: u32) {
        if self.root == NONE {
            self.root = leaf;
            return;
        }
        let mut last = self.root;
        for _ in 0..self.height {
            let common = self.nodes.common(last, leaf);
            self.nodes.add_node(last, leaf, common);
            last = *self.nodes.children(last).last().unwrap_or(&NONE);
        }
        self.insert_beside(leaf, last);
    }

    /// Algorithm 5: adds the bits of `filter` to the filter of a slot, in place. Returns the nodes
    /// accessed; `None` for an unknown slot.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a filter with other parameters.
    pub fn update<S: AsRef<[u64]>>(
        &mut self,
        slot: u32,
        filter: &Filter<S>,
    ) -> Result<Option<u64>, Error> {
        self.params.check_equal(filter.params())?;
        let Some(&leaf) = self.leaves.get(&slot) else {
            return Ok(None);
        };
        let mut accessed = 0;
        let mut node = leaf;
        while node != NONE {
            self.nodes.add_words(node, filter.words());
            accessed += 1;
            node = self.nodes.parent(node);
        }
        Ok(Some(accessed))
    }

    /// Adds one key to the filter of a slot, in place: k bits in each node on the way up, up to the
    /// first that has them all, because those above have them, too. Returns the nodes accessed;
    /// `None` for an unknown slot.
    ///
    /// # Panics
    /// If the probe has other parameters.
    pub fn insert_key(&mut self, slot: u32, probe: &Probe) -> Option<u64> {
        let positions = self.positions_of(probe);
        let mut node = *self.leaves.get(&slot)?;
        let mut accessed = 0;
        while node != NONE {
            accessed += 1;
            if !self.nodes.set_bits(node, positions) {
                break;
            }
            node = self.nodes.parent(node);
        }
        Some(accessed)
    }
}
