//! The figures of the paper, exactly, and random operations compared with plain filters.

mod draw;
mod random;

use super::*;
use bloomgrove::{Affine, Family, Layout};

/// Eight bits, one function, x mod 8: the hashing of the paper's examples.
pub(super) fn figure_params() -> Params {
    let modulo = Affine::new(&[(1, 0)], 8).unwrap();
    Params::builder(8, 1)
        .family(Family::Affine(modulo))
        .build()
        .unwrap()
}

/// A filter written as in the figures, bit 0 first.
fn filter(digits: &str) -> Filter {
    let mut filter = Filter::new(figure_params()).unwrap();
    for (i, _) in digits.match_indices('1') {
        filter.insert(&(i as u64));
    }
    filter
}

/// Figure 1. The text gives node 5, that node 7 is the parent of 1 to 4 and node 8 of 5 and 6,
/// that nodes 7 and 8 are both at distance 4 from 00100100, and that only 5 matches 4.
pub(super) fn figure_1() -> Bloofi {
    let leaves = [
        "10000000", "01000000", "00100000", "00010000", "00001000", "00000010",
    ];
    let leaves: Vec<(u32, Filter)> = (1..).zip(leaves.map(filter)).collect();
    let groups = [&leaves[..4], &leaves[4..]];
    let tree = Bloofi::grouped(figure_params(), BloofiOptions::default(), &groups).unwrap();
    tree.assert_invariants();
    tree
}

/// The values of each level, and the slots under each parent of leaves.
fn shape(tree: &Bloofi) -> (Vec<Vec<String>>, Vec<Vec<u32>>) {
    let mut levels = Vec::new();
    let mut groups = Vec::new();
    let mut level = vec![tree.root];
    for depth in 0..=tree.height {
        let digits = |&node: &u32| -> String {
            let value = tree.nodes.value(node);
            (0..8)
                .map(|i| if value[0] >> i & 1 == 1 { '1' } else { '0' })
                .collect()
        };
        levels.push(level.iter().map(digits).collect());
        if depth + 1 == tree.height {
            let slots = |&node: &u32| -> Vec<u32> {
                let leaves = tree.nodes.children(node).iter();
                leaves.map(|&leaf| tree.nodes.slot(leaf)).collect()
            };
            groups = level.iter().map(slots).collect();
        }
        let below = level.iter().flat_map(|&node| tree.nodes.children(node));
        level = below.copied().collect();
    }
    (levels, groups)
}

#[test]
fn figure_1_is_searched_as_the_example_says() {
    let tree = figure_1();
    assert_eq!(shape(&tree).0[0], ["11111010"]);
    assert_eq!(shape(&tree).0[1], ["11110000", "00001010"]);
    let mut found = vec![77];
    // The root, nodes 7 and 8, leaves 5 and 6; what was in `found` stays.
    assert_eq!(tree.search(&[4], &mut found), 5);
    assert_eq!(found, [77, 5]);
    // The root alone rules it out.
    assert_eq!(tree.search(&[7], &mut found), 1);
    assert_eq!(tree.which(&tree.params().probe(&12u64)), [5]);
}

#[test]
fn algorithm_1_as_printed_finds_the_same_by_as_many_checks() {
    let tree = figure_1();
    for (position, checks, slots) in [
        (4, 5, vec![77, 5]),
        (7, 1, vec![77]),
        (2, 7, vec![77, 3]),
        (6, 5, vec![77, 6]),
    ] {
        let (mut found, mut by_level) = (vec![77], vec![77]);
        assert_eq!(tree.find_matches(&[position], &mut found), checks);
        assert_eq!(found, slots, "key {position}");
        assert_eq!(tree.search(&[position], &mut by_level), checks);
        assert_eq!(by_level, slots, "key {position}");
    }
    let empty = Bloofi::new(figure_params(), BloofiOptions::default()).unwrap();
    assert_eq!(empty.find_matches(&[4], &mut Vec::new()), 0);
}

#[test]
fn the_rule_for_the_closest_child_can_be_replaced() {
    type Rule = fn(f64, f64, usize) -> bool;
    let rules: [(Rule, Vec<Vec<u32>>); 3] = [
        // The first of the two at distance 4, as in figure 2.
        (
            |least, distance, _| distance < least,
            vec![vec![1, 2, 3], vec![9, 4], vec![5, 6]],
        ),
        // The last of the two.
        (
            |least, distance, _| distance <= least,
            vec![vec![1, 2, 3, 4], vec![5, 6, 9]],
        ),
        // Always the first child, whatever its distance.
        (|_, _, _| false, vec![vec![1, 9, 2], vec![3, 4], vec![5, 6]]),
    ];
    for (closer, groups) in rules {
        let mut tree = figure_1();
        tree.insert_by(9, &filter("00100100"), closer).unwrap();
        tree.assert_invariants();
        assert_eq!(shape(&tree).1, groups);
    }
    // Always the last child: the tree grows to the right, in the order given.
    let mut tree = Bloofi::new(figure_params(), BloofiOptions::default()).unwrap();
    for slot in 0..30 {
        tree.insert_by(slot, &filter("00001000"), |_, _, _| true)
            .unwrap();
        tree.assert_invariants();
    }
    assert!(tree.slots().into_iter().eq(0..30));
}

#[test]
fn figure_2_insert_splits_node_7() {
    let mut tree = figure_1();
    // The root, its 2 children, node 7's 4, the new leaf; the split makes one node and
    // reads 5 children.
    assert_eq!(tree.insert(9, &filter("00100100")).unwrap(), Some(14));
    tree.assert_invariants();
    let (levels, groups) = shape(&tree);
    assert_eq!(groups, [vec![1, 2, 3], vec![9, 4], vec![5, 6]]);
    assert_eq!(levels[0], ["11111110"]);
    assert_eq!(levels[1], ["11100000", "00110100", "00001010"]);
}

#[test]
fn figure_3_delete_redistributes_between_7_and_8() {
    let mut tree = figure_1();
    // Leaf 5, the 5 leaves left of nodes 7 and 8, these two, and the root.
    assert_eq!(tree.remove(5), Some(9));
    tree.assert_invariants();
    let (levels, groups) = shape(&tree);
    assert_eq!(groups, [vec![1, 2, 3], vec![4, 6]]);
    assert_eq!(levels[0], ["11110010"]);
    assert_eq!(levels[1], ["11100000", "00010010"]);
    // Recomputed from all children, which here are the same nodes.
    let mut printed = figure_1();
    assert_eq!(printed.remove_as_printed(5), Some(9));
    assert_eq!(shape(&printed), (levels, groups));
}

#[test]
fn figure_4_update_is_made_on_the_path() {
    let mut tree = figure_1();
    assert_eq!(tree.update(6, &filter("00000011")).unwrap(), Some(3));
    tree.assert_invariants();
    let (levels, groups) = shape(&tree);
    assert_eq!(groups, [vec![1, 2, 3, 4], vec![5, 6]]);
    assert_eq!(levels[0], ["11111011"]);
    assert_eq!(levels[1], ["11110000", "00001011"]);
    assert_eq!(levels[2][5], "00000011");
}

#[test]
fn removing_down_to_nothing_merges_and_lowers_the_root() {
    let mut tree = figure_1();
    for slot in [3, 4, 5] {
        tree.remove(slot).unwrap();
        tree.assert_invariants();
    }
    // 1, 2 and 6 are left: one node over three leaves.
    assert_eq!((tree.height(), tree.node_count()), (1, 4));
    for slot in [1, 6, 2] {
        tree.remove(slot).unwrap();
        tree.assert_invariants();
    }
    assert!(tree.is_empty() && tree.root().is_none());
    assert_eq!((tree.height(), tree.node_count()), (0, 0));
    assert_eq!(tree.search(&[0], &mut Vec::new()), 0);
    let before = tree.bytes();
    for slot in 1..4 {
        tree.insert(slot, &filter("01000000")).unwrap();
        tree.assert_invariants();
    }
    assert_eq!(tree.slots().len(), 3);
    assert!(tree.bytes() <= before + 200, "freed nodes are reused");
}

#[test]
fn a_lone_filter_is_the_root() {
    let mut tree = Bloofi::new(figure_params(), BloofiOptions::default()).unwrap();
    assert_eq!(tree.insert(u32::MAX, &filter("00001000")).unwrap(), Some(1));
    tree.assert_invariants();
    assert_eq!(
        (tree.height(), tree.node_count(), tree.slots()),
        (0, 1, vec![u32::MAX])
    );
    assert_eq!(tree.search(&[4], &mut Vec::new()), 1);
    assert_eq!(tree.filter(u32::MAX).unwrap(), filter("00001000"));
    tree.rebuild(BulkOrder::Fast).unwrap();
    tree.assert_invariants();
    assert_eq!(tree.remove(u32::MAX), Some(1));
    tree.assert_invariants();
    tree.rebuild(BulkOrder::PaperChain).unwrap();
    tree.assert_invariants();
}

#[test]
fn unknown_and_taken_slots_change_nothing() {
    let mut tree = figure_1();
    let before = shape(&tree);
    assert_eq!(tree.insert(3, &filter("11111111")).unwrap(), None);
    assert_eq!(tree.update(7, &filter("11111111")).unwrap(), None);
    assert_eq!(tree.insert_key(7, &figure_params().probe(&7u64)), None);
    assert_eq!(tree.remove(7), None);
    assert_eq!(tree.remove_as_printed(7), None);
    assert!(tree.filter(7).is_none());
    assert_eq!(shape(&tree), before);
}

#[test]
fn other_parameters_are_refused() {
    let mut tree = figure_1();
    let other = Filter::new(Params::builder(8, 2).build().unwrap()).unwrap();
    let is_incompatible = |result| matches!(result, Err(Error::Incompatible { .. }));
    assert!(is_incompatible(tree.insert(10, &other)));
    assert!(is_incompatible(tree.update(1, &other)));
    let bulk = Bloofi::bulk(
        figure_params(),
        tree.options(),
        [(1, other)],
        BulkOrder::Fast,
    );
    assert!(matches!(bulk, Err(Error::Incompatible { .. })));
    let twice = [(1, filter("1")), (1, filter("1"))];
    let bulk = Bloofi::bulk(figure_params(), tree.options(), twice, BulkOrder::Fast);
    assert!(matches!(bulk, Err(Error::Params { .. })));
    for order in [0, 1, MAX_ORDER + 1] {
        let tree = Bloofi::new(figure_params(), BloofiOptions::default().order(order));
        assert!(matches!(tree, Err(Error::Params { .. })), "order {order}");
    }
}

#[test]
fn a_saturated_root_is_split_only_on_request() {
    for (split_full, height) in [(false, 1), (true, 3)] {
        let options = BloofiOptions::default().split_full(split_full);
        let mut tree = Bloofi::new(figure_params(), options).unwrap();
        assert!(!tree.is_saturated());
        for slot in 0..20 {
            tree.insert(slot, &filter("11111111")).unwrap();
            tree.assert_invariants();
        }
        assert!(tree.is_saturated());
        assert!(tree.height() >= height && (split_full || tree.height() == 1));
        // Its only zero bits return when the full filters are removed.
        tree.insert(20, &filter("00000001")).unwrap();
        for slot in 0..20 {
            tree.remove(slot).unwrap();
            tree.assert_invariants();
        }
        assert!(!tree.is_saturated());
        assert_eq!(tree.root().unwrap(), filter("00000001"));
    }
}

#[test]
fn a_wider_tree_has_the_same_sets_and_prunes_again() {
    let keys = |slot: u32| (0..20u64).map(move |i| u64::from(slot) * 20 + i);
    let narrow = Params::builder(512, 3)
        .layout(Layout::Blocked)
        .build()
        .unwrap();
    let fill = |params: &Params, slot| {
        let mut filter = Filter::new(params.clone()).unwrap();
        filter.insert_batch(&keys(slot).collect::<Vec<_>>());
        (slot, filter)
    };
    let filters = (0..150).map(|slot| fill(&narrow, slot));
    let options = BloofiOptions::default();
    let mut tree = Bloofi::bulk(narrow.clone(), options, filters, BulkOrder::Fast).unwrap();
    tree.assert_invariants();
    assert!(tree.is_saturated());

    let wide = narrow.with_bits(1 << 16).unwrap();
    let refused = tree.widen(wide.clone(), |_, _| Err(Error::params("no keys today")));
    assert!(refused.is_err() && tree.params() == &narrow);
    tree.widen(wide.clone(), |slot, filter| {
        filter.insert_batch(&keys(slot).collect::<Vec<_>>());
        Ok(())
    })
    .unwrap();
    tree.assert_invariants();
    assert!(!tree.is_saturated() && tree.len() == 150);
    for slot in 0..150 {
        for key in keys(slot) {
            assert!(tree.which(&wide.probe(&key)).contains(&slot));
        }
    }
}

#[test]
fn the_metrics_are_those_of_the_paper() {
    // 1110 and 0111: two common, one each alone.
    assert_eq!(Metric::Hamming.distance(3, 3, 2), 2.0);
    assert_eq!(Metric::Jaccard.distance(3, 3, 2), 0.5);
    assert!((Metric::Cosine.distance(3, 3, 2) - 1.0 / 3.0).abs() < 1e-12);
    for metric in [Metric::Hamming, Metric::Jaccard, Metric::Cosine] {
        assert_eq!(metric.distance(0, 0, 0), 0.0);
        assert!(metric.distance(5, 5, 5).abs() < 1e-12);
        assert!(metric.distance(5, 0, 0) > 0.0);
    }
}
