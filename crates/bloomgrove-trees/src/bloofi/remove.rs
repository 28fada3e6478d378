//! Removal: Algorithm 4.
//!
//! ```text
//!   too few children, order 2:
//!
//!   redistribute                          merge
//!       A       B         A      B           A      B          A
//!    / | | \    |   ->  / | \   / \   ->    / \     |   ->   / | \
//!   1  2 3  4   6      1  2  3 4   6       1   2    6       1  2  6
//! ```
//!
//! A node with fewer than d children left receives some from a neighbor with more than d, or else
//! gives its own to that neighbor and is removed in turn. A root with a single child is replaced by
//! it.
//!
//! Where we differ: the paper recomputes every value up to the root
//! ([`remove_as_printed`](Bloofi::remove_as_printed)). Only bits of the removed filter can be lost, and
//! a node loses those that none of its children has. So the lost bits are passed upwards, fewer at
//! each node; where none are left, nothing changes any more. Without saturated nodes, this reads the
//! same nodes; with them, it avoids reading hundreds of children.

use super::Bloofi;
use super::nodes::NONE;
use bloomgrove::raw::bits;

impl Bloofi {
    /// Removes a filter, and returns how many nodes were accessed; `None` for an unknown slot.
    pub fn remove(&mut self, slot: u32) -> Option<u64> {
        self.remove_and(slot, Self::lose_bits)
    }

    /// Like [`remove`](Self::remove), but recomputes every value up to the root from all children, as in
    /// Algorithm 4. The tree is the same afterwards; more nodes are accessed if some are saturated.
    pub fn remove_as_printed(&mut self, slot: u32) -> Option<u64> {
        self.remove_and(slot, Self::recompute)
    }

    /// Removes a filter. `correct` updates the values from a node up to the root, and returns the nodes
    /// accessed.
    fn remove_and(&mut self, slot: u32, correct: fn(&mut Self, u32) -> u64) -> Option<u64> {
        let leaf = self.leaves.remove(&slot)?;
        self.scratch
            .as_mut()
            .copy_from_slice(self.nodes.value(leaf));
        let mut accessed = 1;
        let mut gone = leaf;
        loop {
            let parent = self.nodes.parent(gone);
            self.nodes.release(gone);
            if parent == NONE {
                self.root = NONE;
                return Some(accessed);
            }
            let rank = self.nodes.rank(parent, gone);
            self.nodes.give(parent, rank..rank + 1);
            let left = self.nodes.children(parent).len();
            if parent == self.root {
                if left == 1 {
                    return Some(accessed + self.lower_root());
                }
                return Some(accessed + correct(self, parent));
            }
            if left >= self.options.order {
                return Some(accessed + correct(self, parent));
            }
            if let Some(sibling) = self.generous_neighbour(parent) {
                accessed += self.redistribute(parent, sibling);
                let above = self.nodes.parent(parent);
                return Some(accessed + correct(self, above));
            }
            accessed += self.merge(parent);
            gone = parent;
        }
    }

    /// Makes the only child of the root the root. Returns the nodes accessed.
    fn lower_root(&mut self) -> u64 {
        let only = self.nodes.children(self.root)[0];
        self.nodes.release(self.root);
        self.nodes.orphan(only);
        self.root = only;
        self.height -= 1;
        2
    }

    /// The neighbors of a node that is not the root, the left one first.
    fn neighbours(&self, node: u32) -> impl Iterator<Item = u32> {
        let siblings = self.nodes.children(self.nodes.parent(node));
        let rank = self.nodes.rank(self.nodes.parent(node), node);
        let left = rank.checked_sub(1).map(|left| siblings[left]);
        left.into_iter().chain(siblings.get(rank + 1).copied())
    }

    /// A neighbor with more than d children.
    fn generous_neighbour(&self, node: u32) -> Option<u32> {
        self.neighbours(node)
            .find(|&sibling| self.nodes.children(sibling).len() > self.options.order)
    }

    /// Whether `sibling` is to the left of `node`.
    fn is_left(&self, sibling: u32, node: u32) -> bool {
        let parent = self.nodes.parent(node);
        self.nodes.rank(parent, sibling) < self.nodes.rank(parent, node)
    }

    /// Distributes the children of the two evenly, in the order of the leaves. Returns the nodes
    /// accessed.
    fn redistribute(&mut self, node: u32, sibling: u32) -> u64 {
        let own = self.nodes.children(node).len();
        let theirs = self.nodes.children(sibling).len();
        // A saturated neighbor may have hundreds; a node receives at most 2d.
        let taken = ((theirs - own) / 2).min(2 * self.options.order - own);
        if self.is_left(sibling, node) {
            let moved = self.nodes.give(sibling, theirs - taken..theirs);
            self.nodes.adopt(node, 0, &moved);
        } else {
            let moved = self.nodes.give(sibling, 0..taken);
            self.nodes.adopt(node, own, &moved);
        }
        self.nodes.gather(node);
        self.nodes.gather(sibling);
        // Every child of the two; they themselves count as children of their parent.
        (own + theirs) as u64
    }

    /// Moves all children of a node to a neighbor. Returns the nodes accessed.
    fn merge(&mut self, node: u32) -> u64 {
        let Some(sibling) = self.neighbours(node).next() else {
            return 0; // an inner node other than the root has a sibling
        };
        let count = self.nodes.children(node).len();
        let moved = self.nodes.give(node, 0..count);
        let rank = if self.is_left(sibling, node) {
            self.nodes.children(sibling).len()
        } else {
            0
        };
        self.nodes.adopt(sibling, rank, &moved);
        self.nodes.gather(sibling);
        // The node, and every child that is now the sibling's.
        1 + self.nodes.children(sibling).len() as u64
    }

    /// Recomputes the values from `node` up to the root. Returns the nodes accessed.
    fn recompute(&mut self, mut node: u32) -> u64 {
        // A node counts as a child of the one above it; the root has no parent.
        let mut accessed = 1;
        while node != NONE {
            self.nodes.gather(node);
            accessed += self.nodes.children(node).len() as u64;
            node = self.nodes.parent(node);
        }
        accessed
    }

    /// Clears, from `node` up to the root, those bits of `scratch` that no child of
    /// the node has. Returns the nodes accessed.
    fn lose_bits(&mut self, mut node: u32) -> u64 {
        let lost = self.scratch.as_mut();
        let mut accessed = 0;
        while node != NONE {
            for &child in self.nodes.children(node) {
                bits::and_not_assign(lost, self.nodes.value(child));
                accessed += 1;
                if lost.iter().all(|&word| word == 0) {
                    return accessed;
                }
            }
            self.nodes.clear_words(node, lost);
            node = self.nodes.parent(node);
        }
        // A node counts as a child of the one above it; the root has no parent.
        accessed + 1
    }
}
