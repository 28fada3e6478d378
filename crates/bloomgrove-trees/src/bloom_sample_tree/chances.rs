//! The probability that BSTSample draws each member, without drawing.
//!
//! ```text
//!             o               the path down from a node is drawn each time, but its
//!        0.7 / \ 0.3          probabilities depend only on the query, and so does
//!           o   o             whether there is a member below a node at all
//!      0.5 / \   \ 1
//!         a   -   b           a 0.7 (no member in its sibling: back to a), b 0.3
//! ```
//!
//! Not in the paper, which draws 130 n samples and tests them. Cost: that of a reconstruction.

use super::BloomSampleTree;
use super::descend::{Place, ROOT, Search};
use super::estimate::Threshold;
use super::nodes::Below;
use crate::bloom_sample_tree::Operations;
use bloomgrove::{Error, Filter};

impl BloomSampleTree {
    /// Every member that [`sample`](Self::sample) can draw, in ascending order, with its
    /// probability. The probabilities sum to 1, unless there are none.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if the query has other [`Params`](bloomgrove::Params) than the tree.
    pub fn chances<S: AsRef<[u64]>>(
        &self,
        query: &Filter<S>,
        threshold: Threshold,
    ) -> Result<Vec<(u64, f64)>, Error> {
        let mut all = Vec::new();
        let mut work = Operations::default();
        if let Some(mut search) = self.search(query, threshold, &mut work)? {
            search.chances(ROOT, &mut all);
        }
        Ok(all)
    }
}

impl<S: AsRef<[u64]>> Search<'_, S> {
    /// Appends the members below `at` with the probabilities of a search that has reached it.
    fn chances(&mut self, at: Place, all: &mut Vec<(u64, f64)>) {
        let start = all.len();
        let Below::Halves(halves) = self.tree.nodes.get(at.slot).below else {
            self.leaf(at, |name| all.push((name, 1.0)));
            let each = 1.0 / (all.len() - start) as f64;
            all[start..]
                .iter_mut()
                .for_each(|(_, chance)| *chance = each);
            return;
        };
        let [left, right] = self.children(at, halves);
        let mut go = |child: Option<(Place, f64)>| {
            let Some((child, weight)) = child else {
                return (all.len(), 0.0);
            };
            self.chances(child, all);
            (all.len(), weight)
        };
        let ((middle, l), (end, r)) = (go(left), go(right));
        // If one side has no members, the search ends up on the other.
        if start < middle && middle < end {
            let first = l / (l + r);
            let (left, right) = all[start..].split_at_mut(middle - start);
            left.iter_mut().for_each(|(_, chance)| *chance *= first);
            right
                .iter_mut()
                .for_each(|(_, chance)| *chance *= 1.0 - first);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;

    use super::*;
    use bloomgrove::Params;

    #[test]
    fn samples_come_as_often_as_their_chances_say() -> Result<(), Error> {
        let params = Params::builder(400, 3).build()?;
        let tree = BloomSampleTree::complete(&params, 0..2000, 5)?;
        let mut query = Filter::new(params)?;
        query.insert_batch(&[3u64, 4, 77, 500, 501, 502, 1200, 1900, 1950, 1999]);
        for threshold in [
            Threshold::Estimate(0.5),
            Threshold::NoCommonBit,
            Threshold::Safe,
        ] {
            let chances = tree.chances(&query, threshold)?;
            let sum: f64 = chances.iter().map(|(_, chance)| chance).sum();
            assert!((sum - 1.0).abs() < 1e-12);
            assert!(chances.is_sorted_by_key(|(name, _)| *name));
            let mut found = Vec::new();
            let work = &mut Operations::default();
            tree.reconstruct(&query, threshold, work, |name| found.push(name))?;
            assert!(chances.iter().map(|(name, _)| *name).eq(found));

            const DRAWS: u32 = 40_000;
            let mut drawn = BTreeMap::<u64, u32>::new();
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
            for _ in 0..DRAWS {
                let name = tree.sample(&query, threshold, &mut random, work)?;
                *drawn.entry(name.expect("a member")).or_default() += 1;
            }
            for (name, chance) in chances {
                let count = f64::from(drawn.remove(&name).unwrap_or(0));
                let mean = chance * f64::from(DRAWS);
                // Five standard deviations, plus one draw for a name with a tiny probability.
                let bound = 5.0 * (mean * (1.0 - chance)).sqrt() + 1.0;
                assert!((count - mean).abs() <= bound, "{name}: {count} for {mean}");
            }
            assert!(drawn.is_empty(), "drawn with probability 0: {drawn:?}");
        }
        Ok(())
    }
}
