//! Adding a name: it is inserted into the nodes on its path, which are created if necessary.

use std::num::NonZeroUsize;

use super::BloomSampleTree;
use super::nodes::{Below, Node};
use bloomgrove::Error;
use bloomgrove::raw::bits;

impl BloomSampleTree {
    /// Adds a name to a pruned tree (section 5.2). Returns true if it was new; a complete tree already
    /// has every name. On an error, nothing changes.
    ///
    /// ```
    /// use bloomgrove_trees::bloom_sample_tree::BloomSampleTree;
    /// use bloomgrove::Params;
    ///
    /// let params = Params::for_items(1000, 0.01)?;
    /// let mut tree = BloomSampleTree::pruned(&params, 0..1 << 40, 10, [7, 8])?;
    /// assert_eq!(tree.nodes(), 11); // one per level
    /// assert!(tree.insert(1 << 39)?);
    /// assert!(!tree.insert(1 << 39)?);
    /// assert_eq!(tree.nodes(), 21); // the other half of the root, and down to a leaf
    /// # Ok::<(), bloomgrove::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Namespace`] if the name is not in the range, [`Error::OutOfMemory`].
    pub fn insert(&mut self, name: u64) -> Result<bool, Error> {
        self.span.check(name)?;
        if !self.pruned {
            return Ok(false);
        }
        let leaf = self.span.leaf(name);
        let mut path = self.path(leaf);
        let missing = self.span.depth as usize + 1 - path.len();
        self.nodes.reserve(missing)?;
        if missing == 0 {
            let last = path[path.len() - 1];
            if let Below::Names(names) = &mut self.nodes.get_mut(last).below {
                let Err(at) = names.binary_search(&name) else {
                    return Ok(false);
                };
                let bytes = (names.len() as u64 + 1) * 8;
                let too_large = |_| Error::OutOfMemory { bytes };
                names.try_reserve(1).map_err(too_large)?;
                names.insert(at, name);
            }
        }
        while path.len() <= self.span.depth as usize {
            path.push(self.extend(&path, leaf, name));
        }

        let probe = self.params.probe(&name);
        let mut distinct = probe.positions().to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        for slot in path {
            let (words, node) = self.nodes.both_mut(slot);
            node.ones += distinct
                .iter()
                .map(|&p| u64::from(bits::set(words, p)))
                .sum::<u64>();
            node.names += 1;
            node.least = node.least.min(distinct.len() as u32);
        }
        Ok(true)
    }

    /// The slot of a node, if there is one.
    pub(super) fn slot(&self, level: u32, index: u64) -> Option<usize> {
        if level > self.span.depth || index >> level != 0 {
            return None;
        }
        let path = self.path(index << (self.span.depth - level));
        path.get(level as usize).copied()
    }

    /// The slots from the root towards a leaf, as far as nodes exist.
    fn path(&self, leaf: u64) -> Vec<usize> {
        let mut path = Vec::with_capacity(self.span.depth as usize + 1);
        let mut next = (self.nodes.len() > 0).then_some(0);
        while let Some(slot) = next {
            path.push(slot);
            next = match self.nodes.get(slot).below {
                Below::Halves(halves) => halves[self.side(path.len(), leaf)].map(NonZeroUsize::get),
                _ => None,
            };
        }
        path
    }

    /// Creates the node after `path` on the way to `leaf`, with an empty filter; if it is a leaf,
    /// `name` will be its only name.
    fn extend(&mut self, path: &[usize], leaf: u64, name: u64) -> usize {
        let below = match path.len() == self.span.depth as usize {
            true => Below::Names(vec![name]),
            false => Below::Halves([None; 2]),
        };
        let slot = self.nodes.push(Node::new(0, below));
        if let Some(&parent) = path.last() {
            let side = self.side(path.len(), leaf);
            if let Below::Halves(halves) = &mut self.nodes.get_mut(parent).below {
                halves[side] = NonZeroUsize::new(slot);
            }
        }
        slot
    }

    /// Which half the node of `level` on the way to `leaf` is: 0 or 1.
    fn side(&self, level: usize, leaf: u64) -> usize {
        (leaf >> (self.span.depth as usize - level) & 1) as usize
    }
}
