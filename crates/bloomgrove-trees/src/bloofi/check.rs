//! The invariants of every tree, checked in full: the list of section 2.1.

use super::Bloofi;
use super::nodes::NONE;
use bloomgrove::raw::bits;

impl Bloofi {
    /// Checks that
    /// * inner nodes have d to 2d children, the root at least 2; more only where
    ///   saturated nodes are not split,
    /// * the value of an inner node is the OR of its children's, and its count of ones is correct,
    /// * parents and children are linked both ways, and all leaves are on one level,
    /// * slots and leaves correspond one to one,
    /// * a node is either in the tree or free, never both.
    ///
    /// # Panics
    /// If any of these does not hold. For tests.
    #[doc(hidden)]
    pub fn assert_invariants(&self) {
        let mut level: Vec<u32> = (self.root != NONE)
            .then_some(self.root)
            .into_iter()
            .collect();
        assert_eq!(level.is_empty(), self.is_empty());
        assert!(self.root == NONE || self.nodes.parent(self.root) == NONE);
        let mut seen = level.clone();
        for depth in 0..self.height {
            let mut below = Vec::new();
            for &node in &level {
                assert_eq!(self.nodes.slot(node), NONE, "an inner node with a slot");
                self.assert_inner(node);
                below.extend_from_slice(self.nodes.children(node));
            }
            assert!(!below.is_empty(), "no leaf at depth {}", depth + 1);
            seen.extend_from_slice(&below);
            level = below;
        }
        assert_eq!(level.len(), self.len(), "as many leaves as slots");
        for &leaf in &level {
            assert!(
                self.nodes.children(leaf).is_empty(),
                "a leaf above the lowest level"
            );
            let slot = self.nodes.slot(leaf);
            assert_eq!(self.leaves.get(&slot), Some(&leaf), "slot {slot}");
            self.assert_ones(leaf);
        }
        assert_eq!(
            seen.len(),
            self.nodes.len(),
            "a node that is neither in the tree nor free"
        );
        seen.extend_from_slice(self.nodes.free());
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all, "a node that is in the tree and free");
    }

    fn assert_inner(&self, node: u32) {
        let order = self.options.order;
        let children = self.nodes.children(node);
        let least = if node == self.root { 2 } else { order };
        assert!(children.len() >= least, "{} children", children.len());
        if self.options.split_full {
            assert!(children.len() <= 2 * order, "{} children", children.len());
        }
        let mut union = vec![0; self.params.words()];
        for &child in children {
            assert_eq!(self.nodes.parent(child), node);
            bits::or_assign(&mut union, self.nodes.value(child));
        }
        assert_eq!(self.nodes.value(node), union, "a value that is not the OR");
        self.assert_ones(node);
    }

    fn assert_ones(&self, node: u32) {
        assert_eq!(self.nodes.ones(node), bits::count(self.nodes.value(node)));
    }

    /// How many inner nodes have more than 2d children without being saturated. Only removals, which
    /// lose bits, leave such nodes behind.
    #[cfg(test)]
    pub(super) fn overfull(&self) -> usize {
        let mut level: Vec<u32> = (self.root != NONE)
            .then_some(self.root)
            .into_iter()
            .collect();
        let mut count = 0;
        for _ in 0..self.height {
            let over = |&&node: &&u32| {
                self.nodes.children(node).len() > 2 * self.options.order && !self.is_full(node)
            };
            count += level.iter().filter(over).count();
            let below = level.iter().flat_map(|&node| self.nodes.children(node));
            level = below.copied().collect();
        }
        count
    }
}
