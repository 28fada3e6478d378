use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::nodes::{Below, Node};
use super::*;
use crate::sample::{Operations, dictionary_attack};
use crate::{Affine, Family, Layout, bits};

fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

fn filter_of(params: &Params, names: impl IntoIterator<Item = u64>) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    names.into_iter().for_each(|name| _ = filter.insert(&name));
    filter
}

fn reconstructed(tree: &SampleTree, query: &Filter, threshold: Threshold) -> Vec<u64> {
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
        .map(|i| names.start + crate::hash::remix(i + 1) % len)
        .collect();
    some.sort_unstable();
    some.dedup();
    some
}

/// What holds for every tree over `names` of which `occupied` are in it: a node exists
/// where there are names, has the filter of its names, and the right counts; every parent
/// is the OR of its halves.
fn assert_is_tree_of(tree: &SampleTree, occupied: &[u64]) {
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

fn assert_counts(tree: &SampleTree, slot: usize, names: &[u64]) {
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
    // 4 falls on bit 4 twice, 6 on bits 6 and 4; and so does 14, by chance.
    let functions = Affine::new(&[(1, 0), (5, 4)], 10).unwrap();
    let params = Params::builder(10, 2)
        .family(Family::Affine(functions))
        .build()
        .unwrap();
    let query = filter_of(&params, [4, 6]);
    assert_eq!(query.ones().collect::<Vec<_>>(), [4, 6]);
    for depth in [2, 3] {
        let tree = SampleTree::complete(&params, 0..16, depth).unwrap();
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
fn complete_trees_hold_every_name() {
    for params in kinds() {
        for (names, depth) in [(0..1, 0), (0..2, 1), (3..103, 6), (0..777, 4), (9..300, 0)] {
            let tree = SampleTree::complete(&params, names.clone(), depth).unwrap();
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
    let tree = SampleTree::complete(&params, 0..2000, 7).unwrap();
    assert_is_tree_of(&tree, &(0..2000).collect::<Vec<_>>());
}

#[test]
fn pruned_trees_hold_the_occupied_names() {
    for params in kinds() {
        for (names, depth) in [(0..2u64, 1), (3..1003, 6), (0..777, 4), (9..300, 0)] {
            for count in [0, 1, 2, 10, 300] {
                let occupied = scattered(names.clone(), count);
                // In any order, and some twice.
                let given = occupied.iter().rev().chain(&occupied).copied();
                let tree = SampleTree::pruned(&params, names.clone(), depth, given).unwrap();
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
        let complete = SampleTree::complete(&params, 5..505, 5).unwrap();
        let pruned = SampleTree::pruned(&params, 5..505, 5, 5..505).unwrap();
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
                    SampleTree::pruned(&params, names.clone(), 6, built.iter().copied()).unwrap();
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
    // Two filters to an allocation.
    let params = Params::builder(3 << 20, 2).build().unwrap();
    let mut tree = SampleTree::pruned(&params, 0..1 << 20, 3, [77]).unwrap();
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
fn pruned_trees_find_occupied_members_only() {
    for params in kinds() {
        let occupied = scattered(0..5000, 400);
        let tree = SampleTree::pruned(&params, 0..5000, 7, occupied.clone()).unwrap();
        let query = filter_of(&params, scattered(0..5000, 8));
        let mut wanted = Vec::new();
        let mut work = Operations::default();
        dictionary_attack(&query, occupied, &mut work, |name| wanted.push(name));
        assert_eq!(reconstructed(&tree, &query, Threshold::Safe), wanted);
        assert_eq!(reconstructed(&tree, &query, Threshold::NoCommonBit), wanted);

        let mut work = Operations::default();
        let drawn = tree.sample(&query, Threshold::Safe, &mut random(), &mut work);
        assert_eq!(
            drawn.unwrap().map(|name| wanted.contains(&name)),
            (!wanted.is_empty()).then_some(true)
        );
    }
}

#[test]
fn an_empty_filter_has_no_members() {
    for params in kinds() {
        let query = filter_of(&params, []);
        let complete = SampleTree::complete(&params, 0..100, 4).unwrap();
        let none = SampleTree::pruned(&params, 0..100, 4, []).unwrap();
        for threshold in [
            Threshold::Estimate(0.0),
            Threshold::NoCommonBit,
            Threshold::Safe,
        ] {
            for (tree, looked_at) in [(&complete, 2), (&none, 0)] {
                let mut work = Operations::default();
                let drawn = tree.sample(&query, threshold, &mut random(), &mut work);
                assert_eq!(drawn.unwrap(), None);
                assert_eq!((work.intersections, work.memberships), (looked_at, 0));
                assert!(reconstructed(tree, &query, threshold).is_empty());
            }
        }
    }
}

#[test]
fn a_full_filter_has_every_name() {
    for params in kinds() {
        let query = filter_of(&params, 0..20_000);
        assert_eq!(query.count_ones(), query.params().bits());
        let tree = SampleTree::complete(&params, 0..100, 4).unwrap();
        for threshold in [
            Threshold::Estimate(0.5),
            Threshold::NoCommonBit,
            Threshold::Safe,
        ] {
            let (mut work, mut found) = (Operations::default(), Vec::new());
            tree.reconstruct(&query, threshold, &mut work, |name| found.push(name))
                .unwrap();
            assert_eq!(found, (0..100).collect::<Vec<_>>());
            let all = Operations {
                intersections: 30,
                memberships: 100,
                nodes: 31,
            };
            assert_eq!(work, all);

            let mut work = Operations::default();
            let drawn = tree.sample(&query, threshold, &mut random(), &mut work);
            assert!(drawn.unwrap().is_some());
            // One way down: two children on each of four levels, and one leaf.
            assert_eq!((work.intersections, work.nodes), (8, 5));
            assert!((6..=7).contains(&work.memberships));
        }
    }
}

#[test]
fn a_tree_of_one_node_asks_every_name() {
    let params = Params::builder(1000, 3).build().unwrap();
    let tree = SampleTree::complete(&params, 0..50, 0).unwrap();
    let query = filter_of(&params, [7]);
    let mut work = Operations::default();
    let drawn = tree.sample(&query, Threshold::Safe, &mut random(), &mut work);
    assert_eq!(drawn.unwrap(), Some(7));
    assert_eq!((work.intersections, work.memberships), (0, 50));
}

#[test]
fn children_are_chosen_in_proportion_to_their_estimates() {
    let params = Params::builder(20_000, 3).build().unwrap();
    let tree = SampleTree::complete(&params, 0..2000, 1).unwrap();
    let query = filter_of(&params, (0..30).chain(1000..1010));
    let estimate = |index| {
        let node = tree.node(1, index).unwrap();
        let both = bits::and_count(node.words(), query.words());
        estimate_common(&params, node.count_ones(), query.count_ones(), both)
    };
    let share = estimate(0) / (estimate(0) + estimate(1));
    assert!((0.6..0.9).contains(&share), "{share}");

    let (mut random, trials) = (random(), 20_000);
    let left = (0..trials)
        .filter(|_| {
            let work = &mut Operations::default();
            let drawn = tree.sample(&query, Threshold::Estimate(0.0), &mut random, work);
            drawn.unwrap().unwrap() < 1000
        })
        .count();
    let expected = share * f64::from(trials);
    let deviation = (expected * (1.0 - share)).sqrt();
    assert!((left as f64 - expected).abs() < 5.0 * deviation, "{left}");
}

#[test]
fn a_way_without_members_is_left_again() {
    // So few bits that every leaf has some in common with any query.
    let params = Params::builder(2000, 4).build().unwrap();
    let tree = SampleTree::complete(&params, 0..1000, 4).unwrap();
    let query = filter_of(&params, [123, 124]);
    let (mut random, mut work) = (random(), Operations::default());
    for _ in 0..200 {
        let drawn = tree.sample(&query, Threshold::NoCommonBit, &mut random, &mut work);
        assert!(matches!(drawn, Ok(Some(123 | 124))), "{drawn:?}");
    }
    assert!(work.nodes > 200 * 5, "{work:?}");
}

#[test]
fn impossible_namespaces_are_refused() {
    let params = Params::builder(1000, 3).build().unwrap();
    let message = |result: Result<SampleTree, Error>| match result {
        Err(error @ Error::Namespace { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let backward = Range { start: 9, end: 4 };
    for names in [5..5, backward] {
        let error = message(SampleTree::complete(&params, names.clone(), 0));
        assert!(error.contains("no names"), "{error}");
        message(SampleTree::pruned(&params, names, 0, []));
    }
    for depth in [5, 64, u32::MAX] {
        let error = message(SampleTree::complete(&params, 0..31, depth));
        assert!(error.contains("at most 4"), "{error}");
        message(SampleTree::pruned(&params, 0..31, depth, []));
    }
    for name in [9, 31, u64::MAX] {
        let error = message(SampleTree::pruned(&params, 10..31, 2, [12, name, 13]));
        assert!(error.contains(&name.to_string()), "{error}");
        let mut tree = SampleTree::pruned(&params, 10..31, 2, [12]).unwrap();
        assert!(matches!(tree.insert(name), Err(Error::Namespace { .. })));
    }
}

#[test]
fn trees_larger_than_memory_are_refused() {
    let small = Params::builder(1000, 3).build().unwrap();
    let large = Params::builder(1 << 48, 3).build().unwrap();
    for (params, depth) in [(&small, 63), (&small, 50), (&large, 20)] {
        let tree = SampleTree::complete(params, 0..u64::MAX, depth);
        assert!(matches!(tree, Err(Error::OutOfMemory { .. })), "{tree:?}");
    }
    let tree = SampleTree::pruned(&large, 0..u64::MAX, 63, [1, 1 << 40]);
    assert!(matches!(tree, Err(Error::OutOfMemory { .. })), "{tree:?}");
}

#[test]
fn the_ends_of_the_integers_are_names_like_others() {
    let params = Params::builder(1000, 3).build().unwrap();
    let ends = [0, 1, u64::MAX / 2, u64::MAX - 1];
    let mut tree = SampleTree::pruned(&params, 0..u64::MAX, 63, ends).unwrap();
    assert!(tree.insert(u64::MAX - 2).unwrap());
    let query = filter_of(&params, [1, u64::MAX - 1, u64::MAX - 2]);
    let found = reconstructed(&tree, &query, Threshold::Safe);
    assert_eq!(found, [1, u64::MAX - 2, u64::MAX - 1]);
    assert!(tree.node(64, 0).is_none() && tree.node(3, 8).is_none());
}

#[test]
fn a_complete_tree_has_every_name_already() {
    let params = Params::builder(1000, 3).build().unwrap();
    let mut tree = SampleTree::complete(&params, 0..100, 2).unwrap();
    assert!(!tree.insert(7).unwrap());
    assert!(tree.insert(100).is_err());
}

#[test]
fn queries_with_other_parameters_are_refused() {
    let params = Params::builder(1000, 3).build().unwrap();
    let tree = SampleTree::complete(&params, 0..100, 2).unwrap();
    let other = filter_of(&Params::builder(1000, 3).seed(1).build().unwrap(), [1]);
    let work = &mut Operations::default();
    let drawn = tree.sample(&other, Threshold::Safe, &mut random(), work);
    assert!(matches!(drawn, Err(Error::Incompatible { .. })));
    let listed = tree.reconstruct(&other, Threshold::Safe, work, |_| {});
    assert!(matches!(listed, Err(Error::Incompatible { .. })));
}

#[test]
fn the_estimator_is_the_printed_one() {
    let params = Params::builder(1000, 3).build().unwrap();
    for (t1, t2, t) in [
        (300u64, 200u64, 100u64),
        (300, 200, 60),
        (300, 200, 20),
        (999, 5, 5),
    ] {
        let [a, b, both] = [t1, t2, t].map(|ones| ones as f64);
        let m = 1000f64;
        let printed = ((m - (both * m - a * b) / (m - a - b + both)).ln() - m.ln())
            / (3.0 * (1.0 - 1.0 / m).ln());
        let ours = estimate_common(&params, t1, t2, t);
        assert!(printed.is_nan() == ours.is_nan());
        assert!(
            (printed - ours).abs() < 1e-9 || !printed.is_finite(),
            "{printed} {ours}"
        );
    }
    // As many common bits as chance would have it: none in common. All bits: one of both.
    assert_eq!(estimate_common(&params, 300, 200, 60), 0.0);
    assert!(estimate_common(&params, 300, 200, 20) < 0.0);
    // No bit is 0 in both: nothing can be said.
    for (t1, t2, t) in [
        (1000, 5, 5),
        (1000, 1000, 1000),
        (600, 400, 0),
        (0, 1000, 0),
    ] {
        assert!(!estimate_common(&params, t1, t2, t).is_finite());
    }
}

#[test]
fn weights_follow_their_threshold() {
    let params = Params::builder(1000, 3).build().unwrap();
    let node = |ones, names, least| Node {
        ones,
        names,
        least,
        below: Below::Range,
    };
    let root = node(1000, 80, 3);
    // A query of 200 ones, 66.7 items at most.
    let weight = |threshold, child: &Node, common| {
        estimate::Judge::new(&params, threshold, 200, &root).weight(child, common)
    };
    let (estimate, no_bit, safe) = (
        Threshold::Estimate as fn(f64) -> _,
        Threshold::NoCommonBit,
        Threshold::Safe,
    );
    let child = node(300, 20, 3);
    let some = estimate_common(&params, 300, 200, 100);
    assert!((20.0..25.0).contains(&some), "{some}");

    for threshold in [estimate(0.0), no_bit, safe, estimate(f64::NEG_INFINITY)] {
        assert_eq!(weight(threshold, &child, 0), None);
        assert_eq!(weight(threshold, &child, 100), Some(some));
    }
    assert_eq!(weight(estimate(some + 0.1), &child, 100), None);
    assert_eq!(weight(estimate(f64::NAN), &child, 100), None);
    // Estimated below 0.
    assert_eq!(weight(estimate(-1e9), &child, 20), None);
    assert_eq!(weight(no_bit, &child, 1), Some(0.5));
    assert_eq!(weight(safe, &child, 3), Some(0.5));
    assert_eq!(weight(safe, &child, 2), None);
    assert_eq!(weight(safe, &node(300, 20, 2), 2), Some(0.5));
    // Saturated: a quarter of the names, a quarter of the items.
    for threshold in [estimate(0.0), estimate(1e9), no_bit, safe] {
        let share = weight(threshold, &node(1000, 20, 3), 200).unwrap();
        assert!((share - 200.0 / 3.0 / 4.0).abs() < 1e-9, "{share}");
    }
    // Estimated above all there are.
    let most = weight(no_bit, &node(999, 20, 3), 200).unwrap();
    assert!((most - 200.0 / 3.0).abs() < 1e-9, "{most}");
}

#[test]
fn costs_are_measured_for_every_kind() {
    for params in kinds() {
        let costs = Costs::measure(&params).unwrap();
        assert!(costs.intersection > 0.0 && costs.intersection < 1e9);
        assert!(costs.membership > 0.0 && costs.membership < 1e9);
    }
}
