//! Random changes to an index, in every layout and on disk, against a plain list of filters.
//!
//! The list answers by asking each filter, so it has the same false positives: answers must
//! be equal, not just free of omissions. What was inserted is remembered besides, and must
//! be found whatever the filters say.

use std::collections::BTreeMap;

use crate::support::scatter;
use bloomgrove::index::{Duplicates, Index, IndexFile, Shape};
use bloomgrove::{Error, Family, Filter, Layout, Params, verify};
use proptest::prelude::*;
use tempfile::TempDir;

/// What an index should say.
#[derive(Default)]
struct Naive {
    sets: BTreeMap<String, NaiveSet>,
}

struct NaiveSet {
    id: u64,
    tag: Vec<u8>,
    /// None is a set that is not made of slices.
    slices: BTreeMap<Option<u64>, (Filter, Vec<u64>)>,
}

impl Naive {
    fn which(&self, key: u64, keep: impl Fn(&NaiveSet) -> bool) -> Vec<(u64, String)> {
        let holds = |set: &NaiveSet| set.slices.values().any(|(filter, _)| filter.contains(&key));
        let mut found: Vec<_> = self
            .sets
            .iter()
            .filter(|(_, set)| keep(set) && holds(set))
            .map(|(name, set)| (set.id, name.clone()))
            .collect();
        found.sort();
        found
    }
}

#[derive(Clone, Debug)]
enum Op {
    Add { name: u8, items: u16 },
    AddSlice { name: u8, slice: u64, items: u16 },
    AddMany { items: u16 },
    Remove { name: u8 },
    RemoveMany { from: u8, count: u8 },
    Expire { before: u64 },
    Update { name: u8, items: u16 },
    Insert { name: u8, key: u64 },
    Replace { name: u8, items: u16 },
    Rename { name: u8, to: u8 },
    Retag { name: u8, tag: u8 },
    Merge { names: Vec<u8>, unite: bool },
    Seal,
    Rearrange(Option<Shape>),
    SaveAndOpen,
    Commit,
    Compact,
    CommitAndOpen,
}

fn op() -> impl Strategy<Value = Op> {
    let name = || any::<u8>();
    let items = || 0..60u16;
    let shape = prop_oneof![
        Just(None),
        Just(Some(Shape::Loose)),
        Just(Some(Shape::Flat)),
        Just(Some(Shape::Sliced)),
        Just(Some(Shape::Sealed)),
    ];
    prop_oneof![
        6 => (name(), items()).prop_map(|(name, items)| Op::Add { name, items }),
        3 => (name(), 0..5u64, items())
            .prop_map(|(name, slice, items)| Op::AddSlice { name, slice, items }),
        3 => items().prop_map(|items| Op::AddMany { items }),
        4 => name().prop_map(|name| Op::Remove { name }),
        2 => (name(), any::<u8>()).prop_map(|(from, count)| Op::RemoveMany { from, count }),
        1 => (0..6u64).prop_map(|before| Op::Expire { before }),
        3 => (name(), items()).prop_map(|(name, items)| Op::Update { name, items }),
        3 => (name(), any::<u64>()).prop_map(|(name, key)| Op::Insert { name, key }),
        2 => (name(), items()).prop_map(|(name, items)| Op::Replace { name, items }),
        2 => (name(), name()).prop_map(|(name, to)| Op::Rename { name, to }),
        1 => (name(), any::<u8>()).prop_map(|(name, tag)| Op::Retag { name, tag }),
        1 => (prop::collection::vec(name(), 0..8), any::<bool>())
            .prop_map(|(names, unite)| Op::Merge { names, unite }),
        1 => Just(Op::Seal),
        2 => shape.prop_map(Op::Rearrange),
        2 => Just(Op::SaveAndOpen),
        2 => Just(Op::Commit),
        1 => Just(Op::Compact),
        1 => Just(Op::CommitAndOpen),
    ]
}

/// An index in a file and what it should say, changed together.
struct Pair {
    folder: TempDir,
    file: IndexFile,
    naive: Naive,
    params: Params,
    counter: u64,
}

fn text(name: u8) -> String {
    format!("set-{name}")
}

impl Pair {
    fn new(params: Params) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("index.grove");
        let index = Index::new(params.clone());
        Self {
            file: IndexFile::create(&path, &index).unwrap(),
            folder,
            naive: Naive::default(),
            params,
            counter: 0,
        }
    }

    /// A filter of keys not used before, and the keys.
    fn filter(&mut self, items: u16) -> (Filter, Vec<u64>) {
        let mut filter = Filter::new(self.params.clone()).unwrap();
        let from = self.counter;
        self.counter += u64::from(items);
        let keys: Vec<u64> = (from..self.counter).map(scatter).collect();
        filter.insert_batch(&keys);
        (filter, keys)
    }

    fn add(&mut self, name: String, items: u16) {
        let (filter, keys) = self.filter(items);
        let tag = vec![items as u8 % 3];
        let added = self.file.add_tagged(&name, &tag, &filter);
        if self.naive.sets.contains_key(&name) {
            assert!(matches!(added, Err(Error::DuplicateSet { .. })));
            return;
        }
        let set = NaiveSet {
            id: u64::from(added.unwrap()),
            tag,
            slices: [(None, (filter, keys))].into(),
        };
        assert!(self.naive.sets.values().all(|other| other.id != set.id));
        self.naive.sets.insert(name, set);
    }

    fn remove(&mut self, name: &str) {
        let removed = self.file.remove(name);
        match self.naive.sets.remove(name) {
            Some(set) => assert_eq!(u64::from(removed.unwrap()), set.id),
            None => assert!(matches!(removed, Err(Error::UnknownSet { .. }))),
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Add { name, items } => self.add(text(name), items),
            Op::AddMany { items } => {
                // Enough to fill blocks and change layouts.
                for i in 0..70 {
                    self.add(format!("many-{i}"), items);
                }
            }
            Op::Remove { name } => self.remove(&text(name)),
            Op::RemoveMany { from, count } => {
                for i in 0..u32::from(count) {
                    self.remove(&format!("many-{}", (u32::from(from) + i) % 70));
                }
            }
            Op::AddSlice { name, slice, items } => {
                let (filter, keys) = self.filter(items);
                let name = text(name);
                let added = self.file.add_slice(&name, slice, &filter);
                let set = self.naive.sets.get(&name);
                if set.is_some_and(|set| {
                    set.slices.contains_key(&None) || set.slices.contains_key(&Some(slice))
                }) {
                    assert!(matches!(added, Err(Error::DuplicateSet { .. })));
                    return;
                }
                let id = u64::from(added.unwrap());
                let set = self.naive.sets.entry(name).or_insert(NaiveSet {
                    id,
                    tag: Vec::new(),
                    slices: BTreeMap::new(),
                });
                assert_eq!(set.id, id);
                set.slices.insert(Some(slice), (filter, keys));
            }
            Op::Expire { before } => {
                self.file.expire(before).unwrap();
                self.naive.sets.retain(|_, set| {
                    let old = |slice: &Option<u64>| slice.is_some_and(|slice| slice < before);
                    set.slices.retain(|slice, _| !old(slice));
                    !set.slices.is_empty()
                });
            }
            Op::Update { name, items } => {
                let (filter, keys) = self.filter(items);
                let updated = self.file.update(text(name), &filter);
                let Some(set) = self.naive.sets.get_mut(&text(name)) else {
                    assert!(matches!(updated, Err(Error::UnknownSet { .. })));
                    return;
                };
                updated.unwrap();
                let mut newest = set.slices.last_entry().unwrap();
                newest.get_mut().0.union_with(&filter).unwrap();
                newest.get_mut().1.extend(keys);
            }
            Op::Insert { name, key } => {
                let inserted = self.file.insert(text(name), &key);
                let Some(set) = self.naive.sets.get_mut(&text(name)) else {
                    assert!(matches!(inserted, Err(Error::UnknownSet { .. })));
                    return;
                };
                inserted.unwrap();
                let mut newest = set.slices.last_entry().unwrap();
                newest.get_mut().0.insert(&key);
                newest.get_mut().1.push(key);
            }
            Op::Replace { name, items } => {
                let (filter, keys) = self.filter(items);
                let replaced = self.file.replace(text(name), &filter);
                let Some(set) = self.naive.sets.get_mut(&text(name)) else {
                    assert!(matches!(replaced, Err(Error::UnknownSet { .. })));
                    return;
                };
                assert_eq!(u64::from(replaced.unwrap()), set.id);
                set.slices = [(None, (filter, keys))].into();
            }
            Op::Rename { name, to } => {
                let renamed = self.file.rename(text(name), text(to));
                let (has, taken) = (
                    self.naive.sets.contains_key(&text(name)),
                    self.naive.sets.contains_key(&text(to)),
                );
                match (has, taken) {
                    (false, _) => assert!(matches!(renamed, Err(Error::UnknownSet { .. }))),
                    (true, true) => assert!(matches!(renamed, Err(Error::DuplicateSet { .. }))),
                    (true, false) => {
                        let set = self.naive.sets.remove(&text(name)).unwrap();
                        assert_eq!(u64::from(renamed.unwrap()), set.id);
                        self.naive.sets.insert(text(to), set);
                    }
                }
            }
            Op::Retag { name, tag } => {
                let tagged = self.file.set_tag(text(name), [tag]);
                match self.naive.sets.get_mut(&text(name)) {
                    Some(set) => {
                        tagged.unwrap();
                        set.tag = vec![tag];
                    }
                    None => assert!(matches!(tagged, Err(Error::UnknownSet { .. }))),
                }
            }
            Op::Merge { names, unite } => self.merge(&names, unite),
            Op::Seal => self.file.seal().unwrap(),
            Op::Rearrange(shape) => self.file.rearrange(shape).unwrap(),
            Op::SaveAndOpen => {
                // Not onto itself: it is locked.
                self.counter += 1;
                let path = self.folder.path().join(format!("{}.grove", self.counter));
                self.file.save(&path).unwrap();
                let index = Index::open(&path).unwrap();
                index.assert_invariants();
                self.file = IndexFile::open(&path).unwrap();
            }
            Op::Commit => self.file.commit().unwrap(),
            Op::Compact => self.file.compact().unwrap(),
            Op::CommitAndOpen => {
                self.file.commit().unwrap();
                let path = self.file.path().to_owned();
                verify(&path).unwrap();
                // The file must let go of its lock first.
                let other = self.folder.path().join("unused.grove");
                let empty = Index::new(self.params.clone());
                self.file = IndexFile::create(other, &empty).unwrap();
                self.file = IndexFile::open(path).unwrap();
            }
        }
    }

    fn merge(&mut self, names: &[u8], unite: bool) {
        let mut other = Index::new(self.params.clone());
        let mut added: BTreeMap<String, (Filter, Vec<u64>)> = BTreeMap::new();
        for &name in names {
            let (filter, keys) = self.filter(5);
            if other.add(text(name), &filter).is_ok() {
                added.insert(text(name), (filter, keys));
            }
        }
        let clash = added.keys().any(|name| match self.naive.sets.get(name) {
            Some(set) => !unite || !set.slices.contains_key(&None),
            None => false,
        });
        let how = if unite {
            Duplicates::Unite
        } else {
            Duplicates::Refuse
        };
        let merged = self.file.merge(&other, how);
        if clash {
            assert!(matches!(merged, Err(Error::DuplicateSet { .. })));
            return;
        }
        merged.unwrap();
        for (name, (filter, keys)) in added {
            let id = self.file.get(&name).unwrap().id().into();
            let set = self.naive.sets.entry(name).or_insert(NaiveSet {
                id,
                tag: Vec::new(),
                slices: BTreeMap::new(),
            });
            assert_eq!(set.id, id);
            match set.slices.get_mut(&None) {
                Some((own, own_keys)) => {
                    own.union_with(&filter).unwrap();
                    own_keys.extend(keys);
                }
                None => {
                    set.slices.insert(None, (filter, keys));
                }
            }
        }
    }

    /// Asks everything there is to ask.
    fn check(&mut self) {
        let index: &Index = &self.file;
        index.assert_invariants();
        assert_eq!(index.len(), self.naive.sets.len());
        for (name, set) in &self.naive.sets {
            let found = index.get(name).unwrap();
            assert_eq!((u64::from(found.id()), found.tag()), (set.id, &*set.tag));
            let mut whole = Filter::new(self.params.clone()).unwrap();
            for (filter, _) in set.slices.values() {
                whole.union_with(filter).unwrap();
            }
            assert!(index.filter(name).unwrap() == whole);
        }
        assert!(matches!(index.get("nobody"), Err(Error::UnknownSet { .. })));

        // Keys that are there, of all sets alike, and keys that are not.
        let inserted = self.naive.sets.iter().flat_map(|(name, set)| {
            let keys = set.slices.values().flat_map(|(_, keys)| keys);
            keys.step_by(7).map(move |key| (name, *key))
        });
        let inserted: Vec<(&String, u64)> = inserted.collect();
        let absent = (0..50).map(|i| scatter(u64::MAX - i));
        let keys: Vec<u64> = inserted.iter().map(|(_, key)| *key).chain(absent).collect();

        let names = |sets: &[bloomgrove::index::Set<'_>]| -> Vec<(u64, String)> {
            let name = |set: &bloomgrove::index::Set<'_>| {
                (
                    u64::from(set.id()),
                    String::from_utf8(set.name().to_vec()).unwrap(),
                )
            };
            sets.iter().map(name).collect()
        };
        let many = index.which_many(&keys);
        let scope = index.scope(|set| set.tag() == [1]);
        let within = index.within(&scope).unwrap();
        for (i, &key) in keys.iter().enumerate() {
            let wanted = self.naive.which(key, |_| true);
            assert_eq!(names(&Vec::from_iter(many.sets(i))), wanted);
            if i % 8 == 0 {
                let (sets, figures) = index.view().explain(&key);
                assert_eq!(names(&sets), wanted);
                assert!(figures.filters_tested >= wanted.len() as u64);
                let filters: usize = index.segments().iter().map(|one| one.sets).sum();
                assert!(figures.filters_tested <= filters as u64, "{figures:?}");
                assert_eq!(index.count(&key), wanted.len());
                assert_eq!(index.any(&key), !wanted.is_empty());
                // Both keys, where no set has slices: a slice must contain all of them.
                let pair = [key, keys[(i + 1) % keys.len()]];
                let also = self.naive.which(pair[1], |_| true);
                let mut both = wanted.clone();
                both.retain(|one| also.contains(one));
                let all = index.view().which_all(&pair, usize::MAX, |_| true);
                let sliced = |set: &bloomgrove::index::Set<'_>| set.slice().is_some();
                if !index.sets().any(|set| sliced(&set)) {
                    assert_eq!(names(&Vec::from_iter(all.sets(0))), both);
                    assert_eq!(
                        index.view().which_all(&pair, 0, |_| true).count(0),
                        both.len()
                    );
                }
                let tagged = self.naive.which(key, |set| set.tag == [1]);
                assert_eq!(names(&within.which(&key)), tagged);
            }
            if let Some((name, _)) = inserted.get(i) {
                assert!(
                    wanted.iter().any(|(_, own)| own == *name),
                    "a set is missing"
                );
            }
        }

        let asked = &keys[..keys.len().min(20)];
        let mut counts: BTreeMap<(u64, String), usize> = BTreeMap::new();
        for &key in asked {
            for found in self.naive.which(key, |_| true) {
                *counts.entry(found).or_default() += 1;
            }
        }
        counts.retain(|_, count| *count >= 2);
        let found = index.view().at_least(2, asked);
        assert!(found.is_sorted_by_key(|(_, count)| std::cmp::Reverse(*count)));
        let found: BTreeMap<_, _> = found
            .iter()
            .map(|(set, count)| (names(&[*set]).remove(0), *count))
            .collect();
        assert_eq!(found, counts);
    }
}

fn run(params: Params, ops: Vec<Op>) {
    let mut pair = Pair::new(params);
    for op in ops {
        pair.apply(op);
        pair.check();
    }
}

fn some_params() -> impl Strategy<Value = Params> {
    // Sparse and dense, more and fewer bits than a word takes, both layouts.
    prop_oneof![
        Just(Params::builder(20_000, 4).build().unwrap()),
        Just(Params::builder(777, 3).build().unwrap()),
        Just(Params::builder(130, 1).seed(9).build().unwrap()),
        Just(
            Params::builder(2048, 8)
                .layout(Layout::Blocked)
                .build()
                .unwrap()
        ),
        Just(
            Params::builder(768, 8)
                .layout(Layout::SplitBlock)
                .family(Family::Xxh64)
                .build()
                .unwrap()
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 2000, ..Default::default() })]

    #[test]
    fn any_changes_leave_what_a_list_of_filters_would_say(
        params in some_params(),
        ops in prop::collection::vec(op(), 1..25),
    ) {
        run(params, ops);
    }
}
