//! Trees load as they were saved.

use std::collections::BTreeMap;

use bloomgrove::{Error, Filter, Params};
use bloomgrove_trees::bloofi::{BloofiOptions, BulkOrder, Metric, NamedBloofi};
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, Operations, Threshold};
use proptest::prelude::*;

use super::{bytes_of, filter_of, tree_bytes, which};
use crate::support::{every_kind, scatter};

#[derive(Clone, Debug)]
enum Op {
    Insert(u8, Vec<u16>),
    Replace(u8, Vec<u16>),
    Update(u8, Vec<u16>),
    Rename(u8, u8),
    Remove(u8),
    Rebuild(BulkOrder),
    Save,
}

fn op() -> impl Strategy<Value = Op> {
    let name = || 0..40u8;
    let keys = || prop::collection::vec(0..200u16, 0..6);
    let order = prop_oneof![
        Just(BulkOrder::Fast),
        Just(BulkOrder::Given),
        Just(BulkOrder::PaperChain)
    ];
    prop_oneof![
        8 => (name(), keys()).prop_map(|(name, keys)| Op::Insert(name, keys)),
        2 => (name(), keys()).prop_map(|(name, keys)| Op::Replace(name, keys)),
        2 => (name(), keys()).prop_map(|(name, keys)| Op::Update(name, keys)),
        1 => (name(), name()).prop_map(|(name, new)| Op::Rename(name, new)),
        4 => name().prop_map(Op::Remove),
        1 => order.prop_map(Op::Rebuild),
        4 => Just(Op::Save),
    ]
}

fn options() -> impl Strategy<Value = BloofiOptions> {
    let metric = prop_oneof![
        Just(Metric::Hamming),
        Just(Metric::Jaccard),
        Just(Metric::Cosine)
    ];
    (prop_oneof![Just(2), Just(5)], metric, any::<bool>()).prop_map(|(order, metric, split)| {
        let options = BloofiOptions::default().order(order);
        options.metric(metric).split_full(split)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Two trees undergo the same changes, one of them is sometimes saved and loaded: they stay
    /// equal.
    #[test]
    fn a_bloofi_tree_from_a_file_is_the_one_that_was_saved(
        options in options(),
        bits in prop_oneof![Just(8u64), Just(60), Just(600)],
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let params = Params::builder(bits, 2).build().unwrap();
        let mut kept = NamedBloofi::new(params.clone(), options).unwrap();
        let mut filed = NamedBloofi::new(params.clone(), options).unwrap();
        let mut sets: BTreeMap<Vec<u8>, Filter> = BTreeMap::new();
        for op in ops {
            let filter = match &op {
                Op::Insert(_, keys) | Op::Replace(_, keys) | Op::Update(_, keys) => keys,
                _ => &Vec::new(),
            };
            let filter = filter_of(&params, filter);
            let mut both = |change: &dyn Fn(&mut NamedBloofi) -> Result<u64, Error>| {
                let (one, two) = (change(&mut kept), change(&mut filed));
                // With the same cost, too.
                assert_eq!(one.as_ref().ok(), two.as_ref().ok());
                one.is_ok()
            };
            match op {
                Op::Insert(name, _) => {
                    let done = both(&|tree| tree.insert([name], &filter));
                    prop_assert_eq!(done, !sets.contains_key(&[name][..]));
                    sets.entry(vec![name]).or_insert(filter);
                }
                Op::Replace(name, _) => {
                    let done = both(&|tree| tree.replace(&[name], &filter));
                    prop_assert_eq!(done, sets.contains_key(&[name][..]));
                    sets.entry(vec![name]).and_modify(|old| *old = filter);
                }
                Op::Update(name, _) => {
                    let done = both(&|tree| tree.update(&[name], &filter));
                    prop_assert_eq!(done, sets.contains_key(&[name][..]));
                    let add = |old: &mut Filter| old.union_with(&filter).unwrap();
                    sets.entry(vec![name]).and_modify(add);
                }
                Op::Rename(name, new) => {
                    let done = both(&|tree| tree.rename(&[name], [new]).map(|()| 0));
                    let free = !sets.contains_key(&[new][..]);
                    prop_assert_eq!(done, free && sets.contains_key(&[name][..]));
                    if done {
                        let filter = sets.remove(&[name][..]).unwrap();
                        sets.insert(vec![new], filter);
                    }
                }
                Op::Remove(name) => {
                    let done = both(&|tree| tree.remove(&[name]));
                    prop_assert_eq!(done, sets.remove(&[name][..]).is_some());
                }
                Op::Rebuild(order) => {
                    both(&|tree| tree.rebuild(order).map(|()| 0));
                }
                Op::Save => {
                    let bytes = bytes_of(&filed);
                    filed = NamedBloofi::from_bytes(&bytes).unwrap();
                    prop_assert!(bytes_of(&filed) == bytes);
                }
            }
            filed.tree().assert_invariants();
            prop_assert!(bytes_of(&kept) == bytes_of(&filed));
        }
        prop_assert_eq!(filed.tree().options(), options);
        for (name, filter) in &sets {
            prop_assert!(&filed.filter(name).unwrap() == filter);
        }
        for key in 0..60 {
            let mut found = which(&filed, key);
            found.sort();
            let wanted = sets.iter().filter(|(_, filter)| filter.contains(&key));
            prop_assert!(found.iter().eq(wanted.map(|(name, _)| name)));
        }
    }

    #[test]
    fn a_sample_tree_from_a_file_is_the_one_that_was_saved(
        start in 0u64..1000,
        len in 64u64..2000,
        depth in 0u32..=6,
        occupied in prop::option::of(0usize..200),
        added in 0usize..20,
        seed: u64,
    ) {
        let random = |i: usize| start + scatter(seed.wrapping_add(i as u64)) % len;
        for params in every_kind(1024, 3) {
            let names = start..start + len;
            let mut tree = match occupied {
                None => BloomSampleTree::complete(&params, names, depth).unwrap(),
                Some(count) => {
                    let occupied = (0..count).map(random);
                    BloomSampleTree::pruned(&params, names, depth, occupied).unwrap()
                }
            };
            let mut filed = BloomSampleTree::from_bytes(&tree_bytes(&tree)).unwrap();
            for i in 0..added {
                let name = random(1000 + i);
                prop_assert_eq!(tree.insert(name).unwrap(), filed.insert(name).unwrap());
            }
            let bytes = tree_bytes(&tree);
            prop_assert!(tree_bytes(&filed) == bytes);
            let filed = BloomSampleTree::from_bytes(&bytes).unwrap();
            prop_assert!(filed.iter().eq(tree.iter()));
            prop_assert_eq!((filed.len(), filed.nodes()), (tree.len(), tree.nodes()));
            prop_assert_eq!((filed.names(), filed.depth()), (tree.names(), tree.depth()));

            let mut query = Filter::new(params).unwrap();
            (0..40).for_each(|i| _ = query.insert(&random(i)));
            for threshold in [Threshold::Safe, Threshold::NoCommonBit, Threshold::Estimate(0.5)] {
                let found = |tree: &BloomSampleTree| {
                    let (mut found, mut work) = (Vec::new(), Operations::default());
                    tree.reconstruct(&query, threshold, &mut work, |name| found.push(name))
                        .unwrap();
                    (found, work)
                };
                prop_assert_eq!(found(&filed), found(&tree));
            }
            // Nothing in both is lost.
            let mut members = Vec::new();
            filed
                .reconstruct(&query, Threshold::Safe, &mut Operations::default(), |name| {
                    members.push(name)
                })
                .unwrap();
            prop_assert!(filed.iter().filter(|name| query.contains(name)).eq(members));
        }
    }
}
