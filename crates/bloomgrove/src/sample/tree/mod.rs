//! The tree of the sampling paper: the namespace halved, level by level.
mod build;
mod chances;
mod costs;
mod descend;
mod estimate;
mod grow;
mod nodes;

pub use costs::Costs;
pub use estimate::{Threshold, estimate_common};

use std::ops::Range;

use crate::{Error, Filter, Params};
use nodes::Nodes;

/// The paper's BloomSampleTree.
#[derive(Debug)]
pub struct SampleTree {
    params: Params,
    span: Span,
    pruned: bool,
    nodes: Nodes,
}

impl SampleTree {
    /// The complete tree of Definition 5.1 over a range of names: `depth` levels below the
    /// root, 2^(depth + 1) - 1 filters. Built on all processors.
    ///
    /// # Errors
    /// [`Error::Namespace`] when the range has fewer names than the tree would have leaves,
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
    /// occupied names are sought in leaves. [`insert`](Self::insert) adds more. Names may
    /// come in any order, and more than once.
    ///
    /// # Errors
    /// [`Error::Namespace`] when the range has fewer names than a complete tree would have
    /// leaves, or a name is not in it; [`Error::OutOfMemory`].
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

    /// The parameters of every node, and of every filter that can be asked about.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The namespace.
    pub fn names(&self) -> Range<u64> {
        self.span.range(0, 0)
    }

    /// How many levels there are below the root.
    pub fn depth(&self) -> u32 {
        self.span.depth
    }

    /// How many names of the namespace a leaf covers; some cover one more. The paper's
    /// `M / 2^depth`, rounded down.
    pub fn leaf_size(&self) -> u64 {
        self.span.len >> self.span.depth
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Whether only occupied names are in the tree.
    pub fn is_pruned(&self) -> bool {
        self.pruned
    }

    /// Bytes of memory, everything counted: [`filter_bytes`](Self::filter_bytes), links and
    /// counts, and [`name_bytes`](Self::name_bytes).
    pub fn bytes(&self) -> u64 {
        self.filter_bytes() + self.name_bytes() + self.nodes.link_bytes()
    }

    /// Bytes of the filters: what the paper calls memory.
    pub fn filter_bytes(&self) -> u64 {
        self.nodes.filter_bytes()
    }

    /// Bytes of the occupied names that a pruned tree has to keep, which the paper leaves
    /// out of its account.
    pub fn name_bytes(&self) -> u64 {
        self.nodes.name_bytes()
    }

    /// The filter of node `index` on `level`, where the root is level 0. None if there is
    /// no such node.
    pub fn node(&self, level: u32, index: u64) -> Option<Filter<&[u64]>> {
        let slot = self.slot(level, index)?;
        Filter::from_words(self.params.clone(), self.nodes.words(slot)).ok()
    }
}

/// A range of names and how often it is halved.
#[derive(Clone, Debug)]
struct Span {
    start: u64,
    /// How many names; at least as many as leaves.
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
                "{len} names cannot be halved {depth} times, at most {}",
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
            // At most `len`, so neither conversion nor sum can lose anything.
            let offset = (u128::from(index) * u128::from(self.len)) >> level;
            self.start + offset as u64
        };
        bound(index)..bound(index + 1)
    }

    /// The leaf of a name of the span: the last that begins at or before it.
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
