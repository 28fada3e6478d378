//! How many children the nodes of each level should have.
//!
//! ```text
//!   1000 leaves --3--> 334 --3--> 112 --4--> 28 --3--> 10 --3--> 4 --> root
//! ```
//!
//! A search for a key that is in one set checks, at each level, all children of the matching nodes
//! above. These are the one that has the key, and each of the other c - 1 with probability p, the
//! probability that all k bits are set in the union of all filters below the node. So a level of n
//! nodes costs
//!
//! ```text
//!   (1 + (c - 1) p) n / c       c nodes in the level above, n / c children each
//! ```
//!
//! and the total is a sum over levels in which each term depends only on two adjacent counts. The
//! minimum is found from the root down, considering each count once.
//!
//! Three children are best as long as nothing matches by chance (l / ln l has its minimum there),
//! more if a level of nearly full nodes can be omitted. Filters are assumed to be equally full and
//! independent; similar ones only match less often.

use std::collections::HashMap;

pub(super) struct Widths {
    /// d: parents have d to 2d children.
    pub(super) order: usize,
    /// Whether the root may have any number of children.
    pub(super) long_root: bool,
    /// How many leaves there are.
    pub(super) leaves: usize,
    /// The share of bits that are not set in a leaf.
    pub(super) empty: f64,
    /// k.
    pub(super) hashes: u32,
}

/// The minimum cost of a level and all above it, and the number of nodes in the level above that
/// gives it; `None` if that is the root.
#[derive(Clone, Copy)]
struct Best {
    cost: f64,
    above: Option<usize>,
}

impl Widths {
    /// How many nodes each level should have, from the one above the leaves up to the
    /// one below the root.
    pub(super) fn levels(&self) -> Vec<usize> {
        let mut known = HashMap::new();
        self.best(self.leaves, &mut known);
        let mut levels = Vec::new();
        let mut count = self.leaves;
        while let Some(above) = known.get(&count).and_then(|best| best.above) {
            levels.push(above);
            count = above;
        }
        levels
    }

    fn best(&self, count: usize, known: &mut HashMap<usize, Best>) -> Best {
        if let Some(best) = known.get(&count) {
            return *best;
        }
        let under_root = Best {
            cost: count as f64 + 1.0,
            above: None,
        };
        let mut best = None;
        if self.long_root || count <= 2 * self.order {
            best = Some(under_root);
        }
        for children in self.order..=2 * self.order {
            // Each parent has at least d children, or there are fewer parents.
            let above = count.div_ceil(children).min(count / self.order);
            if above < 2 {
                break;
            }
            let each = count as f64 / above as f64;
            let cost = self.matching(above) * each + self.best(above, known).cost;
            if best.is_none_or(|best| cost < best.cost) {
                best = Some(Best {
                    cost,
                    above: Some(above),
                });
            }
        }
        // More than 2d nodes have at least two parents, so there is a minimum.
        let best = best.unwrap_or(under_root);
        known.insert(count, best);
        best
    }

    /// How many of `count` nodes match a key that one of them has.
    fn matching(&self, count: usize) -> f64 {
        let below = self.leaves as f64 / count as f64;
        let fill = 1.0 - self.empty.powf(below);
        1.0 + (count - 1) as f64 * fill.powi(self.hashes as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(leaves: usize, order: usize, long_root: bool) -> Widths {
        let empty = (-700.0f64 / 100_992.0).exp();
        Widths {
            order,
            long_root,
            leaves,
            empty,
            hashes: 7,
        }
    }

    #[test]
    fn every_level_has_room_for_d_to_2d_children() {
        for order in [2, 3, 8, 50] {
            for leaves in (0..300).chain([1000, 4097, 100_000]) {
                for long_root in [false, true] {
                    let mut count = leaves;
                    for above in widths(leaves, order, long_root).levels() {
                        assert!(above >= 2 && count / above >= order);
                        assert!(count.div_ceil(above) <= 2 * order);
                        count = above;
                    }
                    assert!(long_root || count <= 2 * order);
                }
            }
        }
    }

    #[test]
    fn threes_are_best_where_nothing_matches_by_chance() {
        let mut sparse = widths(729, 2, false);
        sparse.empty = 1.0 - 1e-9;
        assert_eq!(sparse.levels(), [243, 81, 27, 9, 3]);
    }

    #[test]
    fn a_saturated_tree_has_no_level_that_prunes_nothing() {
        let levels = widths(100_000, 2, true).levels();
        // Nodes above more than about 300 of these filters match nearly everything.
        assert!(levels.last().is_some_and(|&top| top > 300));
    }
}
