//! The sampling paper's tree compared with testing every name, for filters of every kind.

use crate::support::{every_kind, scatter};
use bloomgrove::{Affine, Family, Filter, Params};
use bloomgrove_trees::bloom_sample_tree::{
    BloomSampleTree, Operations, Threshold, dictionary_attack,
};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

/// A filter with about this share of its bits set.
fn filled(params: &Params, fill: f64, seed: u64, names: u64) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    let mut i = 0;
    // Names first, then keys outside: a filter fuller than its namespace could make it.
    while filter.fill() < fill && i < 20_000 {
        let key = scatter(seed.wrapping_mul(1 << 20) + i);
        filter.insert(&if i < names { key % names } else { key });
        i += 1;
    }
    filter
}

/// What the tree finds, all members, and the number of intersections.
fn both(tree: &BloomSampleTree, query: &Filter, threshold: Threshold) -> (Vec<u64>, Vec<u64>, u64) {
    let (mut found, mut wanted) = (Vec::new(), Vec::new());
    let mut work = Operations::default();
    tree.reconstruct(query, threshold, &mut work, |name| found.push(name))
        .unwrap();
    dictionary_attack(query, tree.names(), &mut Operations::default(), |name| {
        wanted.push(name)
    });
    (found, wanted, work.intersections)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_safe_threshold_loses_nothing(
        bits in 512u64..6000,
        hashes in 1u32..=16,
        fill in 0.01f64..0.9,
        names in 256u64..3000,
        depth in 0u32..=8,
        seed: u64,
    ) {
        for params in every_kind(bits, hashes) {
            let tree = BloomSampleTree::complete(&params, 0..names, depth).unwrap();
            let query = filled(&params, fill, seed, names);
            for threshold in [Threshold::Safe, Threshold::NoCommonBit] {
                let (found, wanted, _) = both(&tree, &query, threshold);
                prop_assert_eq!(&found, &wanted, "{} {:?} {}", params, threshold, fill);
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let work = &mut Operations::default();
                match tree.sample(&query, threshold, &mut random, work).unwrap() {
                    Some(name) => prop_assert!(wanted.contains(&name)),
                    None => prop_assert!(wanted.is_empty()),
                }
            }
        }
    }

    #[test]
    fn the_safe_threshold_loses_nothing_where_positions_repeat(
        bits in 1u64..70,
        hashes in 1u32..=8,
        fill in 0.01f64..0.9,
        depth in 0u32..=7,
        seed: u64,
    ) {
        let textbook: Vec<_> = (0..hashes.into())
            .map(|i| (scatter(seed.wrapping_add(i)) % bits, i))
            .map(|(a, b)| (a.max(1), b))
            .collect();
        let affine = Affine::new(&textbook, bits).unwrap();
        let families = [Family::Xxh3, Family::Murmur3, Family::Affine(affine)];
        for family in families {
            let params = Params::builder(bits, hashes).family(family).build().unwrap();
            let tree = BloomSampleTree::complete(&params, 0..150, depth).unwrap();
            let query = filled(&params, fill, seed, 150);
            let (found, wanted, _) = both(&tree, &query, Threshold::Safe);
            prop_assert_eq!(found, wanted, "{} {}", params, fill);
        }
    }
}

/// Otherwise, the tests above would prove nothing.
#[test]
fn the_safe_threshold_prunes_sparse_trees() {
    for params in every_kind(8192, 4) {
        let tree = BloomSampleTree::complete(&params, 0..1024, 8).unwrap();
        let query = filled(&params, 0.01, 1, 1024);
        let (found, wanted, safe) = both(&tree, &query, Threshold::Safe);
        assert_eq!(found, wanted);
        assert!(!found.is_empty() && found.len() < 100);
        let (_, _, no_bit) = both(&tree, &query, Threshold::NoCommonBit);
        assert!(
            safe < no_bit && no_bit < tree.nodes(),
            "{params}: {safe}, {no_bit}"
        );
    }
}

#[test]
fn the_papers_threshold_loses_members() {
    // The paper's size: Table 2, accuracy 0.9.
    let params = Params::builder(60_870, 3)
        .family(Family::Murmur3)
        .build()
        .unwrap();
    let tree = BloomSampleTree::complete(&params, 0..1_000_000, 9).unwrap();
    let mut query = Filter::new(params).unwrap();
    (0..1000).for_each(|i| _ = query.insert(&(scatter(i) % 1_000_000)));
    let (found, wanted, _) = both(&tree, &query, Threshold::Estimate(0.5));
    assert!(
        found.len() * 2 < wanted.len(),
        "{} of {}",
        found.len(),
        wanted.len()
    );
    let (found, wanted, _) = both(&tree, &query, Threshold::Safe);
    assert_eq!(found, wanted);
}
