//! The generated data set of section 8: ids in use, hash tags, and parts of the namespace.
//!
//! The paper has 7.2 million user ids out of 2.2 billion from a crawl of Twitter, and the
//! users of each of 24,000 hash tags as query sets. Ours is generated with
//! the same shape: ids drawn uniformly, and 200 sets of at least 1000 users with heavy-tailed sizes.

use std::ops::Range;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::setup::Spread;

/// M.
pub(super) const NAMES: u64 = 2_200_000_000;
/// 256 leaves; the text says 7, which would be 128.
pub(super) const DEPTH: u32 = 8;
const LEAVES: u64 = 1 << DEPTH;
const TAGS: usize = 200;
const LEAST_USERS: f64 = 1000.0;
const MOST_USERS: f64 = 200_000.0;
/// The exponent of the tail of the sizes: one tag in ten has more than 6300 users.
const TAIL: f64 = 1.25;

/// Users and hash tags.
pub(super) struct World {
    /// In ascending order.
    pub(super) users: Vec<u64>,
    /// The users of each tag, in ascending order.
    pub(super) tags: Vec<Vec<u64>>,
}

impl World {
    pub(super) fn new(count: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut users = Vec::new();
        while (users.len() as u64) < count {
            let missing = count - users.len() as u64;
            users.extend((0..missing).map(|_| random.random_range(0..NAMES)));
            users.sort_unstable();
            users.dedup();
        }
        let tag = |_| {
            let size = LEAST_USERS * random.random::<f64>().powf(-1.0 / TAIL);
            let size = size.min(MOST_USERS).min(count as f64 / 2.0) as u64;
            let places = Spread::Uniform.draw(count, size, &mut random);
            places.iter().map(|&place| users[place as usize]).collect()
        };
        let tags = (0..TAGS).map(tag).collect();
        Self { users, tags }
    }

    /// The part of it in a fraction of the leaves.
    pub(super) fn part(&self, spread: Spread, fraction: f64) -> Part {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let count = (fraction * LEAVES as f64).round() as u64;
        let leaves = spread.draw(LEAVES, count, &mut random);
        let inside = |all: &[u64]| -> Vec<u64> {
            let ranges = leaves.iter().map(|&leaf| leaf_range(leaf));
            ranges
                .flat_map(|range| between(all, range))
                .copied()
                .collect()
        };
        Part {
            users: inside(&self.users),
            tags: self.tags.iter().map(|tag| inside(tag)).collect(),
        }
    }
}

/// The names of a leaf, as the tree divides them.
fn leaf_range(leaf: u64) -> Range<u64> {
    let bound = |leaf: u64| (leaf * NAMES) >> DEPTH;
    bound(leaf)..bound(leaf + 1)
}

/// Those of ascending numbers that are in a range.
fn between(all: &[u64], range: Range<u64>) -> &[u64] {
    let place = |bound: u64| all.partition_point(|&number| number < bound);
    &all[place(range.start)..place(range.end)]
}

/// Users and tags of a part of the namespace.
pub(super) struct Part {
    pub(super) users: Vec<u64>,
    pub(super) tags: Vec<Vec<u64>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_users_of_its_leaves() {
        let world = World::new(50_000);
        assert_eq!(world.users.len(), 50_000);
        assert!(world.users.is_sorted_by(|a, b| a < b));
        assert!(world.tags.iter().all(|tag| tag.len() >= 1000));
        let sizes: Vec<usize> = world.tags.iter().map(Vec::len).collect();
        let large = sizes.iter().filter(|&&size| size > 6300).count();
        assert!((8..35).contains(&large), "a heavy tail: {large} of {TAGS}");
        for spread in Spread::ALL {
            let part = world.part(spread, 0.5);
            let share = part.users.len() as f64 / 50_000.0;
            assert!((share - 0.5).abs() < 0.02, "{share}");
            assert!(part.users.is_sorted());
            for (tag, whole) in part.tags.iter().zip(&world.tags) {
                assert!(
                    tag.iter()
                        .all(|user| part.users.binary_search(user).is_ok())
                );
                assert!(tag.len() < whole.len());
            }
            assert_eq!(world.part(spread, 1.0).users, world.users);
        }
    }

    #[test]
    fn leaves_divide_the_namespace_as_the_tree_does() {
        assert_eq!(leaf_range(0).start, 0);
        assert_eq!(leaf_range(LEAVES - 1).end, NAMES);
        for leaf in 1..LEAVES {
            assert_eq!(leaf_range(leaf - 1).end, leaf_range(leaf).start);
        }
    }
}
