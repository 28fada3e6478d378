//! The nodes of a sample tree: their filters, in few allocations, and their links and counts.

use std::num::NonZeroUsize;

use bloomgrove::raw::bits::Words;
use bloomgrove::{Error, Params};

/// A growing tree allocates filters in units of this many bytes, or of one filter if that is
/// larger.
const SLAB_BYTES: usize = 1 << 20;

/// A node without its filter.
#[derive(Debug)]
pub(super) struct Node {
    /// How many bits of its filter are set.
    pub(super) ones: u64,
    /// How many names are in its filter.
    pub(super) names: u64,
    /// The fewest distinct bits that any of them sets.
    pub(super) least: u32,
    pub(super) below: Below,
}

/// The contents of a node.
#[derive(Debug)]
pub(super) enum Below {
    /// Inner: the slots of its two halves. The root has slot 0 and is not a child.
    Halves([Option<NonZeroUsize>; 2]),
    /// A leaf with every name of its range.
    Range,
    /// A leaf with these names of its range, in ascending order.
    Names(Vec<u64>),
}

impl Node {
    pub(super) fn new(names: u64, below: Below) -> Self {
        Self {
            ones: 0,
            names,
            least: u32::MAX,
            below,
        }
    }

    /// The slots of the halves that exist.
    pub(super) fn halves(&self) -> impl Iterator<Item = usize> + use<> {
        let halves = match self.below {
            Below::Halves(halves) => halves,
            _ => [None; 2],
        };
        halves.into_iter().flatten().map(NonZeroUsize::get)
    }
}

/// Nodes in slots: the original ones in one allocation, later ones in slabs.
#[derive(Debug)]
pub(super) struct Nodes {
    /// Words of one filter.
    width: usize,
    list: Vec<Node>,
    built: usize,
    words: Words,
    slabs: Vec<Words>,
}

impl Nodes {
    /// `count` nodes with empty filters.
    pub(super) fn with_room(params: &Params, count: usize) -> Result<Self, Error> {
        let width = params.words();
        let bytes = (count as u64)
            .saturating_mul(width as u64)
            .saturating_mul(8);
        let too_large = || Error::OutOfMemory { bytes };
        let words = Words::zeroed(count.checked_mul(width).ok_or_else(too_large)?)?;
        let mut list = Vec::new();
        list.try_reserve_exact(count).map_err(|_| too_large())?;
        Ok(Self {
            width,
            list,
            built: count,
            words,
            slabs: Vec::new(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Words of one filter.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn get(&self, slot: usize) -> &Node {
        &self.list[slot]
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> &mut Node {
        &mut self.list[slot]
    }

    /// The filter of a node.
    pub(super) fn words(&self, slot: usize) -> &[u64] {
        let (slab, start) = self.place(slot);
        let words = slab.map_or(&self.words, |slab| &self.slabs[slab]);
        &words.as_ref()[start..start + self.width]
    }

    /// The filter of a node, and the rest of it.
    pub(super) fn both_mut(&mut self, slot: usize) -> (&mut [u64], &mut Node) {
        let (slab, start) = self.place(slot);
        let words = match slab {
            None => &mut self.words,
            Some(slab) => &mut self.slabs[slab],
        };
        let words = &mut words.as_mut()[start..start + self.width];
        (words, &mut self.list[slot])
    }

    /// All filters and nodes of a tree that has just been built, in the order of slots.
    pub(super) fn all_mut(&mut self) -> (&mut [u64], &mut [Node]) {
        debug_assert!(self.slabs.is_empty());
        (self.words.as_mut(), &mut self.list)
    }

    /// Reserves memory for `more` nodes, so that as many calls of [`push`](Self::push) cannot fail.
    pub(super) fn reserve(&mut self, more: usize) -> Result<(), Error> {
        let per_slab = self.per_slab();
        let too_large = || Error::OutOfMemory {
            bytes: (more as u64).saturating_mul(self.width as u64 * 8),
        };
        self.list.try_reserve(more).map_err(|_| too_large())?;
        while self.built + self.slabs.len() * per_slab < self.list.len() + more {
            self.slabs.try_reserve(1).map_err(|_| too_large())?;
            self.slabs.push(Words::zeroed(per_slab * self.width)?);
        }
        Ok(())
    }

    /// Adds a node with an empty filter, whose memory must be reserved, and returns its slot.
    pub(super) fn push(&mut self, node: Node) -> usize {
        self.list.push(node);
        self.list.len() - 1
    }

    /// Bytes allocated for filters.
    pub(super) fn filter_bytes(&self) -> u64 {
        let room = self.built + self.slabs.len() * self.per_slab();
        (room * self.width * 8) as u64
    }

    /// Bytes of the names that leaves list.
    pub(super) fn name_bytes(&self) -> u64 {
        let names = |node: &Node| match &node.below {
            Below::Names(names) => names.capacity() as u64 * 8,
            _ => 0,
        };
        self.list.iter().map(names).sum()
    }

    /// Bytes of links and counts.
    pub(super) fn link_bytes(&self) -> u64 {
        (self.list.capacity() * size_of::<Node>()) as u64
    }

    fn per_slab(&self) -> usize {
        (SLAB_BYTES / 8 / self.width).max(1)
    }

    /// The slab of a slot (`None` for the first allocation), and its first word there.
    fn place(&self, slot: usize) -> (Option<usize>, usize) {
        match slot.checked_sub(self.built) {
            None => (None, slot * self.width),
            Some(later) => {
                let per_slab = self.per_slab();
                (Some(later / per_slab), later % per_slab * self.width)
            }
        }
    }
}
