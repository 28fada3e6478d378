//! A shared index against one that nobody shares, and beside readers that never stop.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use bloomgrove::index::{Index, Shape, SharedIndex};
use bloomgrove::{Filter, Params};
use proptest::prelude::*;

use crate::support::scatter;

fn params(kind: u8) -> Params {
    // The second is sparse, the third has more bits than one part of a change.
    let (bits, hashes) = [(640, 4), (4096, 3), (30_000, 3)][usize::from(kind % 3)];
    Params::builder(bits, hashes).build().unwrap()
}

fn filter(params: Params, keys: impl IntoIterator<Item = u64>) -> Filter {
    let mut filter = Filter::new(params).unwrap();
    for key in keys {
        filter.insert(&key);
    }
    filter
}

#[derive(Clone, Debug)]
enum Op {
    /// Of this kind, from this key on, with this many keys.
    Put(u8, u8, u16, u16),
    SetBits(u8, u16, u16),
    Remove(u8),
    Rename(u8, u8),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..180u8, 0..3u8, 0..1000u16, 0..200u16).prop_map(|(n, k, a, b)| Op::Put(n, k, a, b)),
        2 => (0..180u8, 0..1000u16, 0..60u16).prop_map(|(n, a, b)| Op::SetBits(n, a, b)),
        2 => (0..180u8).prop_map(Op::Remove),
        1 => (0..180u8, 0..180u8).prop_map(|(a, b)| Op::Rename(a, b)),
    ]
}

fn name(number: u8) -> String {
    format!("set-{number}")
}

/// The same change to both; whether it is refused must be the same, too.
fn apply(op: &Op, shared: &SharedIndex, plain: &mut Index) {
    let keys = |from: u16, count: u16| (from..from + count).map(|key| scatter(key.into()));
    let results = match *op {
        Op::Put(number, kind, from, count) => {
            let (name, filter) = (name(number), filter(params(kind), keys(from, count)));
            match plain.get(&name).is_ok() {
                true => (
                    plain.replace(&name, &filter).is_ok(),
                    shared.replace(&name, filter).is_ok(),
                ),
                false => (
                    plain.add(&name, &filter).is_ok(),
                    shared.add(&name, filter).is_ok(),
                ),
            }
        }
        Op::SetBits(number, from, count) => {
            let name = name(number);
            let bits: Vec<u64> = match plain.filter(&name) {
                Ok(own) => filter(own.params().clone(), keys(from, count))
                    .ones()
                    .collect(),
                Err(_) => vec![0],
            };
            (
                plain.set_bits(&name, &bits).is_ok(),
                shared.set_bits(&name, &bits).is_ok(),
            )
        }
        Op::Remove(number) => {
            let name = name(number);
            (plain.remove(&name).is_ok(), shared.remove(&name).is_ok())
        }
        Op::Rename(from, to) => {
            let (from, to) = (name(from), name(to));
            (
                plain.rename(&from, &to).is_ok(),
                shared.rename(&from, &to).is_ok(),
            )
        }
    };
    assert_eq!(results.0, results.1, "{op:?}");
}

fn names(index: &Index, key: u64) -> Vec<Vec<u8>> {
    let mut names: Vec<_> = index
        .which(&key)
        .iter()
        .map(|set| set.name().to_vec())
        .collect();
    names.sort_unstable();
    names
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn changes_in_parts_leave_what_changes_at_once_do(
        // Enough of one kind to lie in a matrix first.
        start in 60..140u8,
        kind in 0..3u8,
        ops in prop::collection::vec(op(), 1..120),
    ) {
        let (shared, mut plain) = (SharedIndex::new(Index::mixed()), Index::mixed());
        for number in 0..start {
            apply(&Op::Put(number, kind, u16::from(number), 40), &shared, &mut plain);
        }
        for op in &ops {
            apply(op, &shared, &mut plain);
        }
        shared.read().assert_invariants();
        prop_assert_eq!(shared.read().len(), plain.len());
        for key in (0..1200).map(scatter) {
            prop_assert_eq!(names(&shared.read(), key), names(&plain, key));
        }
        for set in plain.sets() {
            let wanted = plain.filter(set.name()).unwrap();
            prop_assert!(shared.filter(set.name()).unwrap() == wanted);
            prop_assert!(shared.read().filter(set.name()).unwrap() == wanted);
        }
        // At most this many of each answer, and the number of all.
        let keys: Vec<u64> = (0..100).map(scatter).collect();
        let index = shared.read();
        let even = |set: &bloomgrove::index::Set<'_>| set.name().last().is_some_and(|c| c % 2 == 0);
        let some = index.view().which_some(&keys, 3, even);
        for (at, key) in keys.iter().enumerate() {
            let all: Vec<_> = index.which(key).into_iter().filter(|set| even(set)).collect();
            prop_assert_eq!(some.count(at), all.len());
            prop_assert_eq!(some.sets(at).len(), all.len().min(3));
            prop_assert!(some.sets(at).all(|set| all.iter().any(|own| own.id() == set.id())));
        }
    }
}

/// Sets that stay are found by every reader at every moment, with every key that they had before the
/// query, whatever the writer does meanwhile: adds, replaces, grows, removes, moves to another layout.
#[test]
fn readers_miss_nothing_while_a_writer_works() {
    for (bits, shape) in [
        (4096, None),
        (4096, Some(Shape::Flat)),
        (20_000, Some(Shape::Sliced)),
    ] {
        let params = Params::builder(bits, 4).build().unwrap();
        let mut index = Index::new(params.clone());
        index.set_shape(shape);
        let shared = SharedIndex::new(index);
        for i in 0..100u64 {
            shared
                .add(format!("fixed-{i}"), filter(params.clone(), [i]))
                .unwrap();
        }
        let (added, done) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for reader in 0..2 {
                let (shared, added, done) = (&shared, &added, &done);
                scope.spawn(move || {
                    let mut queries = 0u64;
                    while !done.load(Relaxed) || queries < 1000 {
                        let i = scatter(queries * 3 + reader) % 100;
                        let name = format!("fixed-{i}");
                        let before = added.load(Acquire);
                        let has = |sets: &[bloomgrove::index::Set<'_>]| {
                            sets.iter().any(|set| set.name() == name.as_bytes())
                        };
                        let index = shared.read();
                        assert!(has(&index.which(&i)), "{name} lacks its first key");
                        // Set `n % 100` got the key 1000 + n in change n, and keeps it for a hundred.
                        if let Some(n) = before.checked_sub(1)
                            && n % 100 == i
                        {
                            let sets = index.which_many(&[1000 + n]);
                            let now = added.load(Acquire);
                            assert!(
                                has(&sets.sets(0).collect::<Vec<_>>()) || now > n + 99,
                                "{name} lacks change {n}"
                            );
                        }
                        drop(index);
                        if queries.is_multiple_of(64) {
                            assert!(shared.filter(&name).unwrap().contains(&i));
                        }
                        queries += 1;
                    }
                });
            }
            for n in 0..1500u64 {
                let i = n % 100;
                let name = format!("fixed-{i}");
                match n % 3 {
                    0 => {
                        let new = filter(params.clone(), [i, 1000 + n]);
                        shared.replace(&name, new).unwrap();
                    }
                    _ => {
                        let more = filter(params.clone(), [1000 + n]);
                        shared
                            .set_bits(&name, &more.ones().collect::<Vec<_>>())
                            .unwrap();
                    }
                }
                added.store(n + 1, Release);
                let passing = format!("new-{n}");
                shared.add(&passing, filter(params.clone(), [n])).unwrap();
                if n >= 300 {
                    shared.remove(format!("new-{}", n - 300)).unwrap();
                }
            }
            done.store(true, Relaxed);
        });
        shared.read().assert_invariants();
    }
}
