//! Storage of the nodes: their values in a few large slabs, their links in one array.
//!
//! ```text
//!   slab 0   [node 0]
//!   slab 1   [node 1][node 2]
//!   slab 2   [node 3][node 4][node 5][node 6]        slab s has 2^s values
//! ```
//!
//! Each slab is one allocation of zeroed memory, on huge pages if large. The tree grows by a slab as
//! large as all before it, whose untouched pages cost nothing: values never move, and growing never
//! needs the old and the new memory at the same time.
//!
//! Nodes are numbers. Freed nodes are reused before the slabs grow.

use bloomgrove::Error;
use bloomgrove::raw::bits::{self, LINE_WORDS, Words};

/// No node: the parent of the root, the slot of an inner node.
pub(super) const NONE: u32 = u32::MAX;

/// How many of a key's words are prefetched. A node that does not match mostly fails within its
/// first bits. Of 0, 1, 2, 4 and 7, four was fastest with 10,000 and 100,000 filters: about half the
/// time of prefetching none, or all.
const AHEAD: usize = 4;

pub(super) struct Nodes {
    words: usize,
    /// From one value to the next.
    stride: usize,
    slabs: Vec<Words>,
    links: Vec<Links>,
    free: Vec<u32>,
}

struct Links {
    parent: u32,
    slot: u32,
    /// How many bits of the value are set.
    ones: u64,
    children: Vec<u32>,
}

impl Nodes {
    /// No nodes yet; values have this many words.
    pub(super) fn new(words: usize) -> Self {
        // Small values do not cross a cache line. Larger ones take an odd number of lines: a search
        // reads the same position of many nodes, and with a stride of, say, 4 KiB, all of them would
        // map to the same few cache lines.
        let stride = if words < LINE_WORDS {
            words.next_power_of_two()
        } else {
            (words.div_ceil(LINE_WORDS) | 1).saturating_mul(LINE_WORDS)
        };
        Self {
            words,
            stride,
            slabs: Vec::new(),
            links: Vec::new(),
            free: Vec::new(),
        }
    }

    /// How many nodes are in use.
    pub(super) fn len(&self) -> usize {
        self.links.len() - self.free.len()
    }

    /// The freed numbers, for `check`.
    pub(super) fn free(&self) -> &[u32] {
        &self.free
    }

    pub(super) fn bytes(&self) -> u64 {
        let lists = self.links.iter().map(|links| links.children.capacity());
        let links = self.links.capacity() * size_of::<Links>()
            + (self.free.capacity() + lists.sum::<usize>()) * size_of::<u32>();
        (self.links.len() as u64)
            .saturating_mul(self.stride as u64 * 8)
            .saturating_add(links as u64)
    }

    /// Reserves memory for this many more nodes, so that `add` cannot fail.
    pub(super) fn reserve(&mut self, more: usize) -> Result<(), Error> {
        let fresh = more.saturating_sub(self.free.len());
        let wanted = self.links.len().saturating_add(fresh);
        let out_of_memory = || Error::OutOfMemory {
            bytes: (wanted as u64).saturating_mul(self.stride as u64 * 8),
        };
        if wanted >= NONE as usize {
            return Err(out_of_memory());
        }
        self.links.try_reserve(fresh).map_err(|_| out_of_memory())?;
        // 2^0 + ... + 2^(s-1) nodes fit in s slabs.
        while (1usize << self.slabs.len()) - 1 < wanted {
            let values = 1usize << self.slabs.len();
            let words = values.checked_mul(self.stride).ok_or_else(out_of_memory)?;
            self.slabs.push(Words::zeroed(words)?);
        }
        Ok(())
    }

    /// Adds a node without bits, parent, children or slot; memory for it must be reserved.
    pub(super) fn add(&mut self) -> u32 {
        let links = Links {
            parent: NONE,
            slot: NONE,
            ones: 0,
            children: Vec::new(),
        };
        match self.free.pop() {
            Some(node) => {
                self.value_mut(node).fill(0);
                self.links[node as usize] = links;
                node
            }
            None => {
                self.links.push(links);
                (self.links.len() - 1) as u32
            }
        }
    }

    /// Frees a node.
    pub(super) fn release(&mut self, node: u32) {
        self.links[node as usize].children = Vec::new();
        self.free.push(node);
    }

    /// The slab of a node, and where the node's value begins in it.
    #[inline(always)]
    fn place(&self, node: u32) -> (usize, usize) {
        let slab = (node + 1).ilog2();
        let within = node + 1 - (1 << slab);
        (slab as usize, within as usize * self.stride)
    }

    #[inline(always)]
    pub(super) fn value(&self, node: u32) -> &[u64] {
        let (slab, start) = self.place(node);
        &self.slabs[slab].as_ref()[start..start + self.words]
    }

    fn value_mut(&mut self, node: u32) -> &mut [u64] {
        let (slab, start) = self.place(node);
        &mut self.slabs[slab].as_mut()[start..start + self.words]
    }

    /// The value of one node, mutable, and that of another.
    fn pair(&mut self, node: u32, other: u32) -> (&mut [u64], &[u64]) {
        const DISTINCT: &str = "the nodes are distinct";
        let ((a, from_a), (b, from_b)) = (self.place(node), self.place(other));
        let (in_a, in_b) = (from_a..from_a + self.words, from_b..from_b + self.words);
        if a == b {
            let slab = self.slabs[a].as_mut();
            let [x, y] = slab.get_disjoint_mut([in_a, in_b]).expect(DISTINCT);
            (x, y)
        } else {
            let [x, y] = self.slabs.get_disjoint_mut([a, b]).expect(DISTINCT);
            (&mut x.as_mut()[in_a], &y.as_mut()[in_b])
        }
    }

    /// Whether all these bits of the node are set.
    #[inline(always)]
    pub(super) fn holds(&self, node: u32, positions: &[u64]) -> bool {
        let value = self.value(node);
        positions.iter().all(|&position| bits::get(value, position))
    }

    /// Prefetches the words that `holds` will read first.
    #[inline(always)]
    pub(super) fn prefetch(&self, node: u32, positions: &[u64]) {
        let value = self.value(node);
        for &position in positions.iter().take(AHEAD) {
            bits::prefetch(value, (position >> 6) as usize);
        }
    }

    /// How many bits two nodes have in common.
    pub(super) fn common(&self, a: u32, b: u32) -> u64 {
        bits::and_count(self.value(a), self.value(b))
    }

    pub(super) fn ones(&self, node: u32) -> u64 {
        self.links[node as usize].ones
    }

    /// Gives an empty node a value.
    pub(super) fn set_value(&mut self, node: u32, words: &[u64]) {
        self.value_mut(node).copy_from_slice(words);
        self.links[node as usize].ones = bits::count(words);
    }

    /// Adds bits to a node.
    pub(super) fn add_words(&mut self, node: u32, words: &[u64]) {
        bits::or_assign(self.value_mut(node), words);
        self.links[node as usize].ones = bits::count(self.value(node));
    }

    /// Adds the bits of another node; `common` of them are set already.
    pub(super) fn add_node(&mut self, node: u32, other: u32, common: u64) {
        let (value, bits) = self.pair(node, other);
        bits::or_assign(value, bits);
        self.links[node as usize].ones += self.ones(other) - common;
    }

    /// Sets single bits; false if all of them were set already.
    pub(super) fn set_bits(&mut self, node: u32, positions: &[u64]) -> bool {
        let value = self.value_mut(node);
        // Two positions of a key may be the same bit, which counts once.
        let fresh = positions
            .iter()
            .filter(|&&position| bits::set(value, position));
        let fresh = fresh.count() as u64;
        self.links[node as usize].ones += fresh;
        fresh > 0
    }

    /// Clears the bits of `lost`, all of which are set.
    pub(super) fn clear_words(&mut self, node: u32, lost: &[u64]) {
        bits::and_not_assign(self.value_mut(node), lost);
        self.links[node as usize].ones -= bits::count(lost);
    }

    /// Recomputes the value as the OR of the children.
    pub(super) fn gather(&mut self, node: u32) {
        self.value_mut(node).fill(0);
        for i in 0..self.children(node).len() {
            let child = self.children(node)[i];
            let (value, bits) = self.pair(node, child);
            bits::or_assign(value, bits);
        }
        self.links[node as usize].ones = bits::count(self.value(node));
    }

    pub(super) fn slot(&self, node: u32) -> u32 {
        self.links[node as usize].slot
    }

    pub(super) fn set_slot(&mut self, node: u32, slot: u32) {
        self.links[node as usize].slot = slot;
    }

    pub(super) fn parent(&self, node: u32) -> u32 {
        self.links[node as usize].parent
    }

    /// Makes a node the root, without a parent.
    pub(super) fn orphan(&mut self, node: u32) {
        self.links[node as usize].parent = NONE;
    }

    pub(super) fn children(&self, node: u32) -> &[u32] {
        &self.links[node as usize].children
    }

    /// The position of a node among its parent's children.
    pub(super) fn rank(&self, parent: u32, child: u32) -> usize {
        let rank = self.children(parent).iter().position(|&c| c == child);
        rank.expect("a node is among the children of its parent")
    }

    /// Inserts nodes into the children of `parent`, the first of them at `rank`. Values do not
    /// change.
    pub(super) fn adopt(&mut self, parent: u32, rank: usize, nodes: &[u32]) {
        for &node in nodes {
            self.links[node as usize].parent = parent;
        }
        let children = &mut self.links[parent as usize].children;
        children.splice(rank..rank, nodes.iter().copied());
    }

    /// Removes a range of the children from `parent`.
    pub(super) fn give(&mut self, parent: u32, ranks: std::ops::Range<usize>) -> Vec<u32> {
        self.links[parent as usize].children.drain(ranks).collect()
    }
}
