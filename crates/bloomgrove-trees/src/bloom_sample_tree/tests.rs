//! The shape of the tree: which names are in which node, whether built at once or name by name.

mod search;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::nodes::Below;
use super::*;
use crate::bloom_sample_tree::Operations;
use bloomgrove::raw::bits;
use bloomgrove::{Affine, Family, Layout};

fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

fn filter_of(params: &Params, names: impl IntoIterator<Item = u64>) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    names.into_iter().for_each(|name| _ = filter.insert(&name));
    filter
}

fn reconstructed(tree: &BloomSampleTree, query: &Filter, threshold: Threshold) -> Vec<u64> {
    let mut found = Vec::new();
    tree.reconstruct(query, threshold, &mut Operations::default(), |x| {
        found.push(x)
    })
    .unwrap();
    found
}

/// Standard and blocked, few and many hashes, positions that repeat.
fn kinds() -> Vec<Params> {
    let textbook = Affine::new(&[(1, 0), (5, 4)], 10).unwrap();
    let builders = [
        Params::builder(1000, 3),
        Params::builder(40, 20).family(Family::Murmur3),
        Params::builder(512, 11).layout(Layout::Blocked),
        Params::builder(10, 2).family(Family::Affine(textbook)),
    ];
    builders.map(|builder| builder.build().unwrap()).into()
}

/// Names that look random.
fn scattered(names: Range<u64>, count: u64) -> Vec<u64> {
    let len = names.end - names.start;
    let mut some: Vec<u64> = (0..count)
        .map(|i| names.start + bloomgrove::raw::hash::remix(i + 1) % len)
        .collect();
    some.sort_unstable();
    some.dedup();
    some
}

/// Checks the invariants of a tree over `names` that contains `occupied`: a node exists where there
/// are names, has the filter of its names and the right counts, and every parent is the OR of its
/// halves.
fn assert_is_tree_of(tree: &BloomSampleTree, occupied: &[u64]) {
    let mut nodes = 0;
    for level in 0..=tree.depth() {
        for index in 0..1u64 << level {
            let range = tree.span.range(level, index);
            let inside: Vec<u64> = occupied
                .iter()
                .copied()
                .filter(|name| range.contains(name))
                .collect();
            let Some(slot) = tree.slot(level, index) else {
                assert!(inside.is_empty(), "no node {level}, {index}");
                continue;
            };
            nodes += 1;
            assert!(!inside.is_empty(), "an empty node {level}, {index}");
            assert_counts(tree, slot, &inside);

            let node = tree.nodes.get(slot);
            assert_eq!(level < tree.depth(), matches!(node.below, Below::Halves(_)));
            if level < tree.depth() {
                let mut or = vec![0; tree.params.words()];
                for half in node.halves() {
                    bits::or_assign(&mut or, tree.nodes.words(half));
                }
                assert_eq!(tree.nodes.words(slot), or, "not the OR of its halves");
            }
            if let Below::Names(names) = &node.below {
                assert_eq!(*names, inside);
            }
        }
    }
    assert_eq!(tree.nodes(), nodes);
}

fn assert_counts(tree: &BloomSampleTree, slot: usize, names: &[u64]) {
    let node = tree.nodes.get(slot);
    let filter = filter_of(&tree.params, names.iter().copied());
    assert_eq!(tree.nodes.words(slot), filter.words());
    assert_eq!(node.ones, filter.count_ones());
    assert_eq!(node.names, names.len() as u64);
    let distinct = names
        .iter()
        .map(|&name| filter_of(&tree.params, [name]).count_ones());
    assert_eq!(Some(u64::from(node.least)), distinct.min());
}

#[test]
fn figure_1() {
    // 4 maps to bit 4 twice, 6 to bits 6 and 4; and so does 14, by chance.
    let functions = Affine::new(&[(1, 0), (5, 4)], 10).unwrap();
    let params = Params::builder(10, 2)
        .family(Family::Affine(functions))
        .build()
        .unwrap();
    let query = filter_of(&params, [4, 6]);
    assert_eq!(query.ones().collect::<Vec<_>>(), [4, 6]);
    for depth in [2, 3] {
        let tree = BloomSampleTree::complete(&params, 0..16, depth).unwrap();
        assert_eq!(tree.nodes(), (2 << depth) - 1);
        assert_eq!(tree.leaf_size(), 16 >> depth);
        assert_eq!(
            *tree.node(depth, 0).unwrap().words(),
            *filter_of(&params, 0..16 >> depth).words()
        );
        assert_is_tree_of(&tree, &(0..16).collect::<Vec<_>>());
        assert_eq!(reconstructed(&tree, &query, Threshold::Safe), [4, 6, 14]);

        let (mut random, mut drawn) = (random(), Vec::new());
        for _ in 0..100 {
            let work = &mut Operations::default();
            drawn.extend(
                tree.sample(&query, Threshold::Safe, &mut random, work)
                    .unwrap(),
            );
        }
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [4, 6, 14]);
    }
}

#[test]
fn the_halves_of_a_range_are_the_range() {
    for names in [
        0..1u64,
        0..16,
        7..20,
        0..1_000_003,
        5..u64::MAX,
        0..u64::MAX,
    ] {
        for depth in [0, 1, 3, 13, 40, 63] {
            let Ok(span) = Span::new(names.clone(), depth) else {
                continue;
            };
            assert_eq!(span.range(0, 0), names);
            for level in 0..depth {
                let last = (1u64 << level) - 1;
                for index in [0, 1, last / 3, last / 2, last].map(|index| index.min(last)) {
                    let whole = span.range(level, index);
                    let left = span.range(level + 1, 2 * index);
                    let right = span.range(level + 1, 2 * index + 1);
                    assert_eq!((left.start, right.end), (whole.start, whole.end));
                    assert_eq!(left.end, right.start);
                    assert!(!left.is_empty() && !right.is_empty());
                }
            }
            let last = span.leaves() - 1;
            for leaf in [0, 1, last / 3, last / 2, last].map(|leaf| leaf.min(last)) {
                let range = span.range(depth, leaf);
                assert_eq!(span.leaf(range.start), leaf);
                assert_eq!(span.leaf(range.end - 1), leaf);
            }
        }
    }
}

#[test]
fn complete_trees_contain_every_name() {
    for params in kinds() {
        for (names, depth) in [(0..1, 0), (0..2, 1), (3..103, 6), (0..777, 4), (9..300, 0)] {
            let tree = BloomSampleTree::complete(&params, names.clone(), depth).unwrap();
            assert_eq!((tree.names(), tree.depth()), (names.clone(), depth));
            assert_eq!(tree.name_bytes(), 0);
            assert!(!tree.is_pruned());
            assert_is_tree_of(&tree, &names.collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_tree_built_by_many_threads_is_the_same() {
    // Enough words for several threads, and leaves that no number of pieces divides.
    let params = Params::builder(20_000, 3).build().unwrap();
    let tree = BloomSampleTree::complete(&params, 0..2000, 7).unwrap();
    assert_is_tree_of(&tree, &(0..2000).collect::<Vec<_>>());
}

#[test]
fn pruned_trees_contain_the_occupied_names() {
    for params in kinds() {
        for (names, depth) in [(0..2u64, 1), (3..1003, 6), (0..777, 4), (9..300, 0)] {
            for count in [0, 1, 2, 10, 300] {
                let occupied = scattered(names.clone(), count);
                // In any order, and some twice.
                let given = occupied.iter().rev().chain(&occupied).copied();
                let tree = BloomSampleTree::pruned(&params, names.clone(), depth, given).unwrap();
                assert!(tree.is_pruned());
                assert_eq!(tree.name_bytes(), occupied.len() as u64 * 8);
                assert_is_tree_of(&tree, &occupied);
            }
        }
    }
}

#[test]
fn with_every_name_occupied_pruned_is_complete() {
    for params in kinds() {
        let complete = BloomSampleTree::complete(&params, 5..505, 5).unwrap();
        let pruned = BloomSampleTree::pruned(&params, 5..505, 5, 5..505).unwrap();
        assert_eq!(complete.nodes(), pruned.nodes());
        assert_eq!(complete.filter_bytes(), pruned.filter_bytes());
        for (a, b) in (0..complete.nodes.len()).zip(0..) {
            assert_eq!(complete.nodes.words(a), pruned.nodes.words(b));
        }
        let query = filter_of(&params, scattered(0..600, 20));
        for threshold in [
            Threshold::Estimate(0.5),
            Threshold::NoCommonBit,
            Threshold::Safe,
        ] {
            assert_eq!(
                reconstructed(&complete, &query, threshold),
                reconstructed(&pruned, &query, threshold)
            );
        }
    }
}

#[test]
fn inserting_is_rebuilding() {
    for params in kinds() {
        for names in [0..640u64, 5..10_005] {
            let occupied = scattered(names.clone(), 200);
            let (first, later) = occupied.split_at(occupied.len() / 3);
            for built in [&[][..], first] {
                let mut tree =
                    BloomSampleTree::pruned(&params, names.clone(), 6, built.iter().copied())
                        .unwrap();
                let mut now = built.to_vec();
                for &name in first.iter().chain(later).rev() {
                    assert_eq!(tree.insert(name).unwrap(), !now.contains(&name));
                    assert!(!tree.insert(name).unwrap());
                    if !now.contains(&name) {
                        now.push(name);
                    }
                }
                assert_is_tree_of(&tree, &occupied);
            }
        }
    }
}

#[test]
fn nodes_that_come_later_fill_many_allocations() {
    // Two filters per allocation.
    let params = Params::builder(3 << 20, 2).build().unwrap();
    let mut tree = BloomSampleTree::pruned(&params, 0..1 << 20, 3, [77]).unwrap();
    let occupied = scattered(0..1 << 20, 12);
    for &name in &occupied {
        assert!(tree.insert(name).unwrap());
    }
    let mut all = [occupied, vec![77]].concat();
    all.sort_unstable();
    assert_is_tree_of(&tree, &all);
    assert!(tree.bytes() > tree.filter_bytes());
}

#[test]
fn impossible_namespaces_are_refused() {
    let params = Params::builder(1000, 3).build().unwrap();
    let message = |result: Result<BloomSampleTree, Error>| match result {
        Err(error @ Error::Namespace { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let backward = Range { start: 9, end: 4 };
    for names in [5..5, backward] {
        let error = message(BloomSampleTree::complete(&params, names.clone(), 0));
        assert!(error.contains("no names"), "{error}");
        message(BloomSampleTree::pruned(&params, names, 0, []));
    }
    for depth in [5, 64, u32::MAX] {
        let error = message(BloomSampleTree::complete(&params, 0..31, depth));
        assert!(error.contains("at most 4"), "{error}");
        message(BloomSampleTree::pruned(&params, 0..31, depth, []));
    }
    for name in [9, 31, u64::MAX] {
        let error = message(BloomSampleTree::pruned(&params, 10..31, 2, [12, name, 13]));
        assert!(error.contains(&name.to_string()), "{error}");
        let mut tree = BloomSampleTree::pruned(&params, 10..31, 2, [12]).unwrap();
        assert!(matches!(tree.insert(name), Err(Error::Namespace { .. })));
    }
}

#[test]
fn trees_larger_than_memory_are_refused() {
    let small = Params::builder(1000, 3).build().unwrap();
    let large = Params::builder(1 << 48, 3).build().unwrap();
    for (params, depth) in [(&small, 63), (&small, 50), (&large, 20)] {
        let tree = BloomSampleTree::complete(params, 0..u64::MAX, depth);
        assert!(matches!(tree, Err(Error::OutOfMemory { .. })), "{tree:?}");
    }
    let tree = BloomSampleTree::pruned(&large, 0..u64::MAX, 63, [1, 1 << 40]);
    assert!(matches!(tree, Err(Error::OutOfMemory { .. })), "{tree:?}");
}

#[test]
fn the_ends_of_the_integers_are_names_like_others() {
    let params = Params::builder(1000, 3).build().unwrap();
    let ends = [0, 1, u64::MAX / 2, u64::MAX - 1];
    let mut tree = BloomSampleTree::pruned(&params, 0..u64::MAX, 63, ends).unwrap();
    assert!(tree.insert(u64::MAX - 2).unwrap());
    let query = filter_of(&params, [1, u64::MAX - 1, u64::MAX - 2]);
    let found = reconstructed(&tree, &query, Threshold::Safe);
    assert_eq!(found, [1, u64::MAX - 2, u64::MAX - 1]);
    assert!(tree.node(64, 0).is_none() && tree.node(3, 8).is_none());
}

#[test]
fn a_complete_tree_has_every_name_already() {
    let params = Params::builder(1000, 3).build().unwrap();
    let mut tree = BloomSampleTree::complete(&params, 0..100, 2).unwrap();
    assert!(!tree.insert(7).unwrap());
    assert!(tree.insert(100).is_err());
}
