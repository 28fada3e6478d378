//! Searching the tree: results, costs, and the weights of children.

use super::*;
use crate::bloom_sample_tree::dictionary_attack;
use crate::bloom_sample_tree::nodes::Node;

#[test]
fn pruned_trees_find_occupied_members_only() {
    for params in kinds() {
        let occupied = scattered(0..5000, 400);
        let tree = BloomSampleTree::pruned(&params, 0..5000, 7, occupied.clone()).unwrap();
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
        let complete = BloomSampleTree::complete(&params, 0..100, 4).unwrap();
        let none = BloomSampleTree::pruned(&params, 0..100, 4, []).unwrap();
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
        let tree = BloomSampleTree::complete(&params, 0..100, 4).unwrap();
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
            // One path down: two children on each of four levels, and one leaf.
            assert_eq!((work.intersections, work.nodes), (8, 5));
            assert!((6..=7).contains(&work.memberships));
        }
    }
}

#[test]
fn a_tree_of_one_node_tests_every_name() {
    let params = Params::builder(1000, 3).build().unwrap();
    let tree = BloomSampleTree::complete(&params, 0..50, 0).unwrap();
    let query = filter_of(&params, [7]);
    let mut work = Operations::default();
    let drawn = tree.sample(&query, Threshold::Safe, &mut random(), &mut work);
    assert_eq!(drawn.unwrap(), Some(7));
    assert_eq!((work.intersections, work.memberships), (0, 50));
}

#[test]
fn children_are_chosen_in_proportion_to_their_estimates() {
    let params = Params::builder(20_000, 3).build().unwrap();
    let tree = BloomSampleTree::complete(&params, 0..2000, 1).unwrap();
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
fn a_path_without_members_is_abandoned() {
    // Few enough bits that every leaf has some in common with any query.
    let params = Params::builder(2000, 4).build().unwrap();
    let tree = BloomSampleTree::complete(&params, 0..1000, 4).unwrap();
    let query = filter_of(&params, [123, 124]);
    let (mut random, mut work) = (random(), Operations::default());
    for _ in 0..200 {
        let drawn = tree.sample(&query, Threshold::NoCommonBit, &mut random, &mut work);
        assert!(matches!(drawn, Ok(Some(123 | 124))), "{drawn:?}");
    }
    assert!(work.nodes > 200 * 5, "{work:?}");
}

#[test]
fn queries_with_other_parameters_are_refused() {
    let params = Params::builder(1000, 3).build().unwrap();
    let tree = BloomSampleTree::complete(&params, 0..100, 2).unwrap();
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
    // The sum minus the union.
    let (a, b) = (filter_of(&params, 0..90), filter_of(&params, 60..120));
    let both = bits::and_count(a.words(), b.words());
    let ours = estimate_common(&params, a.count_ones(), b.count_ones(), both);
    let union = a.estimated_common_items(&b).unwrap();
    assert!((ours / union - 1.0).abs() < 0.001, "{ours} {union}");
    // As many common bits as expected by chance: no names in common.
    assert_eq!(estimate_common(&params, 300, 200, 60), 0.0);
    assert!(estimate_common(&params, 300, 200, 20) < 0.0);
    // No bit is 0 in both: no estimate is possible.
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
    // Estimated above the total.
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
