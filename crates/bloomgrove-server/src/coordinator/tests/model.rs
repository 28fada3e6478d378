//! Random changes and restarts against plain filters by name.

use std::collections::{BTreeMap, BTreeSet};

use bloomgrove::Filter;
use bloomgrove_client::api::{ChangeSet, Key};
use proptest::prelude::*;

use super::{holders, open, params, wait};

/// Random operations.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, Vec<u16>),
    Insert(u8, Vec<u16>),
    Merge(u8, Vec<u16>),
    Rename(u8, u8),
    Delete(u8),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let set = 0..8u8;
    let some = || prop::collection::vec(0..400u16, 0..20);
    prop_oneof![
        3 => (set.clone(), some()).prop_map(|(set, keys)| Step::Put(set, keys)),
        5 => (set.clone(), some()).prop_map(|(set, keys)| Step::Insert(set, keys)),
        3 => (set.clone(), some()).prop_map(|(set, keys)| Step::Merge(set, keys)),
        2 => (set.clone(), set.clone()).prop_map(|(old, new)| Step::Rename(old, new)),
        1 => set.prop_map(Step::Delete),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Against plain filters by name: the same sets with the same bits, before and after a restart.
    #[test]
    fn it_holds_what_a_list_of_filters_holds(steps in prop::collection::vec(step(), 1..60)) {
        let directory = tempfile::tempdir().unwrap();
        let mut coordinator = open(&directory);
        let mut model: BTreeMap<String, Filter> = BTreeMap::new();
        let name = |set: u8| format!("set-{set}");
        let filled = |keys: &[u16]| {
            let mut filter = Filter::new(params()).unwrap();
            keys.iter().for_each(|key| _ = filter.insert(key.to_string().as_str()));
            filter
        };
        for step in steps {
            match step {
                Step::Put(set, keys) => {
                    wait(coordinator.put(&name(set), filled(&keys), None, None, None)).unwrap();
                    model.insert(name(set), filled(&keys));
                }
                Step::Insert(set, keys) => {
                    let sent: Vec<Key> = keys.iter().map(|key| Key::from(key.to_string())).collect();
                    let done = wait(coordinator.insert(&name(set), sent, None));
                    prop_assert_eq!(done.is_ok(), model.contains_key(&name(set)));
                    if let Some(held) = model.get_mut(&name(set)) {
                        held.union_with(&filled(&keys)).unwrap();
                    }
                }
                Step::Merge(set, keys) => {
                    let done = wait(coordinator.merge(&name(set), filled(&keys), None));
                    prop_assert_eq!(done.is_ok(), model.contains_key(&name(set)));
                    if let Some(held) = model.get_mut(&name(set)) {
                        held.union_with(&filled(&keys)).unwrap();
                    }
                }
                Step::Rename(old, new) => {
                    let change = ChangeSet { name: Some(name(new)), ..ChangeSet::default() };
                    let done = wait(coordinator.describe(&name(old), change));
                    let free = old == new || !model.contains_key(&name(new));
                    prop_assert_eq!(done.is_ok(), model.contains_key(&name(old)) && free);
                    if done.is_ok() && let Some(held) = model.remove(&name(old)) {
                        model.insert(name(new), held);
                    }
                }
                Step::Delete(set) => {
                    let done = wait(coordinator.delete(&name(set)));
                    prop_assert_eq!(done.is_ok(), model.remove(&name(set)).is_some());
                }
                Step::Reopen => {
                    drop(coordinator);
                    coordinator = open(&directory);
                }
            }
        }
        for _ in 0..2 {
            prop_assert_eq!(coordinator.len(), model.len());
            coordinator.shared.index.read().assert_invariants();
            for (name, held) in &model {
                prop_assert!(coordinator.filter(name).unwrap().0 == *held, "{}", name);
            }
            for key in (0..400).step_by(7).map(|key: u16| key.to_string()) {
                let wanted = model.iter().filter(|(_, held)| held.contains(key.as_str()));
                let wanted: BTreeSet<String> = wanted.map(|(name, _)| name.clone()).collect();
                let found: BTreeSet<String> = holders(&coordinator, &key).into_iter().collect();
                prop_assert_eq!(found, wanted);
            }
            drop(coordinator);
            coordinator = open(&directory);
        }
    }
}
