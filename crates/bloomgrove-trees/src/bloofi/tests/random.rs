//! Random operations, compared with a plain list of filters after each.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::bloofi::*;

#[derive(Clone, Debug)]
enum Op {
    Insert(u32, Vec<u16>),
    Remove(usize, bool),
    Update(usize, Vec<u16>),
    InsertKey(usize, u16),
    Rebuild(BulkOrder),
}

fn op() -> impl Strategy<Value = Op> {
    let keys = || prop::collection::vec(0..200u16, 0..6);
    let order = prop_oneof![
        Just(BulkOrder::Fast),
        Just(BulkOrder::Given),
        Just(BulkOrder::PaperChain)
    ];
    prop_oneof![
        8 => (0..60u32, keys()).prop_map(|(slot, keys)| Op::Insert(slot, keys)),
        4 => any::<(usize, bool)>().prop_map(|(i, printed)| Op::Remove(i, printed)),
        2 => (any::<usize>(), keys()).prop_map(|(i, keys)| Op::Update(i, keys)),
        2 => (any::<usize>(), 0..200u16).prop_map(|(i, key)| Op::InsertKey(i, key)),
        1 => order.prop_map(Op::Rebuild),
    ]
}

fn options() -> impl Strategy<Value = BloofiOptions> {
    let metric = prop_oneof![
        Just(Metric::Hamming),
        Just(Metric::Jaccard),
        Just(Metric::Cosine)
    ];
    (
        prop_oneof![Just(2), Just(3), Just(8)],
        metric,
        any::<bool>(),
    )
        .prop_map(|(order, metric, split)| {
            let options = BloofiOptions::default().order(order);
            options.metric(metric).split_full(split)
        })
}

fn filter_of(params: &Params, keys: &[u16]) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    for key in keys {
        filter.insert(key);
    }
    filter
}

/// The tree must contain exactly these filters, and give the same answers.
fn check(tree: &Bloofi, sets: &BTreeMap<u32, Filter>) {
    tree.assert_invariants();
    let mut slots = tree.slots();
    slots.sort_unstable();
    assert!(slots.iter().eq(sets.keys()));
    for (slot, filter) in sets {
        assert_eq!(&tree.filter(*slot).unwrap(), filter);
    }
    let mut found = Vec::new();
    for key in 0..40u16 {
        let probe = tree.params().probe(&key);
        found.clear();
        let checked = tree.search(probe.positions(), &mut found);
        assert!(checked as usize <= tree.node_count());
        let mut by_branch = Vec::new();
        assert_eq!(
            tree.find_matches(probe.positions(), &mut by_branch),
            checked
        );
        assert_eq!(by_branch, found);
        found.sort_unstable();
        let holds = sets.iter().filter(|(_, filter)| filter.contains(&key));
        assert!(found.iter().eq(holds.map(|(slot, _)| slot)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn every_operation_leaves_a_valid_tree(
        options in options(),
        // Few bits saturate, many do not; 600 bits take more than a line.
        bits in prop_oneof![Just(8u64), Just(60), Just(600)],
        ops in prop::collection::vec(op(), 1..120),
    ) {
        let params = Params::builder(bits, 2).build().unwrap();
        let mut tree = Bloofi::new(params.clone(), options).unwrap();
        let mut sets: BTreeMap<u32, Filter> = BTreeMap::new();
        let mut removed = false;
        for op in ops {
            let nth = |i: usize| sets.keys().nth(i % sets.len().max(1)).copied();
            match op {
                Op::Insert(slot, keys) => {
                    let filter = filter_of(&params, &keys);
                    let cost = tree.insert(slot, &filter).unwrap();
                    assert_eq!(cost.is_some(), !sets.contains_key(&slot));
                    sets.entry(slot).or_insert(filter);
                }
                Op::Remove(i, printed) => {
                    if let Some(slot) = nth(i) {
                        let cost = match printed {
                            true => tree.remove_as_printed(slot),
                            false => tree.remove(slot),
                        };
                        assert!(cost.is_some());
                        sets.remove(&slot);
                        removed = true;
                    }
                }
                Op::Update(i, keys) => {
                    if let Some(slot) = nth(i) {
                        let more = filter_of(&params, &keys);
                        let cost = tree.update(slot, &more).unwrap();
                        assert_eq!(cost, Some(u64::from(tree.height()) + 1));
                        sets.get_mut(&slot).unwrap().union_with(&more).unwrap();
                    }
                }
                Op::InsertKey(i, key) => {
                    if let Some(slot) = nth(i) {
                        tree.insert_key(slot, &params.probe(&key)).unwrap();
                        sets.get_mut(&slot).unwrap().insert(&key);
                    }
                }
                Op::Rebuild(order) => {
                    tree.rebuild(order).unwrap();
                    removed = false;
                }
            }
            check(&tree, &sets);
            // Only a removal clears a bit of a node that grew while it was full.
            assert!(removed || tree.overfull() == 0);
        }
    }

    #[test]
    fn bulk_contains_what_it_was_given(
        options in options(),
        bits in prop_oneof![Just(8u64), Just(300), Just(5000)],
        sets in prop::collection::vec(prop::collection::vec(0..200u16, 0..6), 0..150),
    ) {
        let params = Params::builder(bits, 2).build().unwrap();
        let filters = || (0..).zip(sets.iter().map(|keys| filter_of(&params, keys)));
        for order in [BulkOrder::Fast, BulkOrder::Given, BulkOrder::PaperChain] {
            let tree = Bloofi::bulk(params.clone(), options, filters(), order).unwrap();
            check(&tree, &filters().collect());
            assert_eq!(tree.overfull(), 0);
            if order == BulkOrder::Given {
                assert!(tree.slots().into_iter().eq(0..sets.len() as u32));
            }
        }
    }
}
