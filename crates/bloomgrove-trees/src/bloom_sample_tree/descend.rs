//! Searching the tree: one member (Algorithm 1, BSTSample), or all of them (section 6).

use std::num::NonZeroUsize;

use rand::{Rng, RngExt};

use super::BloomSampleTree;
use super::estimate::{Judge, Threshold};
use super::nodes::Below;
use crate::bloom_sample_tree::Operations;
use crate::bloom_sample_tree::baselines::Reservoir;
use crate::bloom_sample_tree::operations::members;
use bloomgrove::raw::bits;
use bloomgrove::{Error, Filter};

/// A node, and where it is in the tree.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) slot: usize,
    level: u32,
    index: u64,
}

pub(super) const ROOT: Place = Place {
    slot: 0,
    level: 0,
    index: 0,
};

impl BloomSampleTree {
    /// One member drawn by Algorithm 1, BSTSample. *Not uniform*: members of nodes whose estimate is
    /// too low are drawn rarely, or never.
    ///
    /// `None` if no leaf that the search reached contains a member: the query may still have members
    /// if the threshold is [`Threshold::Estimate`], and has none otherwise.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if the query has other [`Params`](bloomgrove::Params) than the tree.
    pub fn sample<S: AsRef<[u64]>>(
        &self,
        query: &Filter<S>,
        threshold: Threshold,
        random: &mut impl Rng,
        work: &mut Operations,
    ) -> Result<Option<u64>, Error> {
        let search = self.search(query, threshold, work)?;
        Ok(search.and_then(|mut search| search.draw(ROOT, random)))
    }

    /// Calls `each` for every member that the search finds, in ascending order (section 6): all of
    /// them, unless the threshold is [`Threshold::Estimate`].
    ///
    /// # Errors
    /// [`Error::Incompatible`] if the query has other [`Params`](bloomgrove::Params) than the tree.
    pub fn reconstruct<S: AsRef<[u64]>>(
        &self,
        query: &Filter<S>,
        threshold: Threshold,
        work: &mut Operations,
        mut each: impl FnMut(u64),
    ) -> Result<(), Error> {
        if let Some(mut search) = self.search(query, threshold, work)? {
            search.list(ROOT, &mut each);
        }
        Ok(())
    }

    /// A search, unless the tree has no nodes.
    pub(super) fn search<'a, S: AsRef<[u64]>>(
        &'a self,
        query: &'a Filter<S>,
        threshold: Threshold,
        work: &'a mut Operations,
    ) -> Result<Option<Search<'a, S>>, Error> {
        self.params.check_equal(query.params())?;
        if self.nodes.len() == 0 {
            return Ok(None);
        }
        let root = self.nodes.get(ROOT.slot);
        Ok(Some(Search {
            tree: self,
            query,
            judge: Judge::new(&self.params, threshold, query.count_ones(), root),
            work,
        }))
    }
}

/// A query of the tree.
pub(super) struct Search<'a, S> {
    pub(super) tree: &'a BloomSampleTree,
    query: &'a Filter<S>,
    judge: Judge<'a>,
    work: &'a mut Operations,
}

impl<S: AsRef<[u64]>> Search<'_, S> {
    /// A member from below `at`.
    fn draw(&mut self, at: Place, random: &mut impl Rng) -> Option<u64> {
        self.work.nodes += 1;
        let Below::Halves(halves) = self.tree.nodes.get(at.slot).below else {
            let mut reservoir = Reservoir::default();
            self.leaf(at, |name| reservoir.offer(name, random));
            return reservoir.kept;
        };
        let (first, second) = match self.children(at, halves) {
            [None, None] => return None,
            [Some((only, _)), None] | [None, Some((only, _))] => (only, None),
            [Some((left, l)), Some((right, r))] => {
                if random.random::<f64>() < l / (l + r) {
                    (left, Some(right))
                } else {
                    (right, Some(left))
                }
            }
        };
        // No member there: what looked like common names were only common bits.
        match self.draw(first, random) {
            None => self.draw(second?, random),
            found => found,
        }
    }

    /// Every member below `at`.
    fn list(&mut self, at: Place, each: &mut impl FnMut(u64)) {
        self.work.nodes += 1;
        let Below::Halves(halves) = self.tree.nodes.get(at.slot).below else {
            return self.leaf(at, each);
        };
        for (child, _) in self.children(at, halves).into_iter().flatten() {
            self.list(child, each);
        }
    }

    /// The children that do not count as empty, with their weights.
    pub(super) fn children(
        &mut self,
        at: Place,
        halves: [Option<NonZeroUsize>; 2],
    ) -> [Option<(Place, f64)>; 2] {
        [0, 1].map(|side| {
            let slot = halves[side]?.get();
            self.work.intersections += 1;
            let common = bits::and_count(self.tree.nodes.words(slot), self.query.words());
            let weight = self.judge.weight(self.tree.nodes.get(slot), common)?;
            let child = Place {
                slot,
                level: at.level + 1,
                index: 2 * at.index + side as u64,
            };
            Some((child, weight))
        })
    }

    /// The members among the names of a leaf.
    pub(super) fn leaf(&mut self, at: Place, each: impl FnMut(u64)) {
        match &self.tree.nodes.get(at.slot).below {
            Below::Names(names) => members(self.query, names.iter().copied(), self.work, each),
            _ => {
                let names = self.tree.span.range(at.level, at.index);
                members(self.query, names, self.work, each);
            }
        }
    }
}
