//! What must hold of every filter of every kind, against `HashSet`.

use std::collections::HashSet;

use crate::support::every_kind;
use bloomgrove::{Collector, ConcurrentFilter, Error, Filter, MappedFilter, Params};
use proptest::collection::{hash_set, vec};
use proptest::prelude::*;

fn filter_of(params: &Params, keys: &HashSet<Vec<u8>>) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    for key in keys {
        filter.insert(key);
    }
    filter
}

fn keys() -> impl Strategy<Value = HashSet<Vec<u8>>> {
    hash_set(vec(any::<u8>(), 0..40), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn inserted_keys_are_always_found(set in keys(), bits in 64u64..5000, hashes in 1u32..16) {
        for params in every_kind(bits, hashes) {
            let mut filter = Filter::new(params.clone()).unwrap();
            for key in &set {
                let was_there = filter.contains(key);
                // "Certainly new" is said exactly when the key was not accepted before.
                prop_assert_eq!(filter.insert(key), !was_there);
                prop_assert!(!filter.insert(key));
            }
            for key in &set {
                prop_assert!(filter.contains(key), "{}", params);
                prop_assert!(filter.contains_probe(&params.probe(key)));
            }
        }
    }

    #[test]
    fn one_key_at_a_time_and_batches_make_the_same_bits(set in keys(), hashes in 1u32..16) {
        let list: Vec<_> = set.iter().cloned().collect();
        for params in every_kind(2048, hashes) {
            let single = filter_of(&params, &set);
            let mut batch = Filter::new(params.clone()).unwrap();
            batch.insert_batch(&list);
            prop_assert!(single == batch, "{}", params);

            let shared = ConcurrentFilter::new(params.clone()).unwrap();
            for key in &list {
                shared.insert(key);
                prop_assert!(shared.contains(key));
            }
            prop_assert!(single == shared.into_filter(), "{}", params);

            let mut from_probes = vec![0; params.words()];
            for key in &list {
                for position in params.probe(key).positions() {
                    from_probes[*position as usize / 64] |= 1 << (position % 64);
                }
            }
            prop_assert_eq!(single.words(), from_probes);
        }
    }

    #[test]
    fn batches_answer_as_single_keys_do(set in keys(), others in keys(), hashes in 1u32..16) {
        let asked: Vec<_> = set.iter().chain(&others).cloned().collect();
        for params in every_kind(1024, hashes) {
            let filter = filter_of(&params, &set);
            let mut found = vec![false; asked.len()];
            filter.contains_batch(&asked, &mut found);
            for (key, found) in asked.iter().zip(found) {
                prop_assert_eq!(filter.contains(key), found, "{}", params);
            }
        }
    }

    #[test]
    fn union_equals_filter_of_union(one in keys(), two in keys(), hashes in 1u32..16) {
        let both: HashSet<_> = one.union(&two).cloned().collect();
        for params in every_kind(2048, hashes) {
            let mut a = filter_of(&params, &one);
            let mut b = filter_of(&params, &two);
            let (before_a, before_b) = (a.to_owned().unwrap(), b.to_owned().unwrap());
            a.union_with(&before_b).unwrap();
            prop_assert!(a == filter_of(&params, &both));
            b.union_with(&before_a).unwrap();
            prop_assert!(a == b, "unions are commutative");
            b.union_with(&before_a).unwrap();
            prop_assert!(a == b, "unions are idempotent");
        }
    }

    #[test]
    fn intersection_keeps_common_keys(one in keys(), two in keys(), common in keys()) {
        let one: HashSet<_> = one.union(&common).cloned().collect();
        let two: HashSet<_> = two.union(&common).cloned().collect();
        for params in every_kind(4096, 5) {
            let (a, b) = (filter_of(&params, &one), filter_of(&params, &two));
            let mut meet = a.to_owned().unwrap();
            meet.intersect_with(&b).unwrap();
            for key in one.intersection(&two) {
                prop_assert!(meet.contains(key));
            }
            // Nothing is accepted that either refuses.
            for key in one.union(&two) {
                prop_assert!(!meet.contains(key) || (a.contains(key) && b.contains(key)));
            }
            let mut other = b.to_owned().unwrap();
            other.intersect_with(&a).unwrap();
            prop_assert!(meet == other, "intersections are commutative");
        }
    }

    #[test]
    fn folding_equals_building_at_half_the_size(set in keys(), bits in 64u64..9000, hashes in 1u32..16) {
        for params in every_kind(bits, hashes) {
            let folded = filter_of(&params, &set).fold().unwrap();
            let half = params.with_bits(params.bits() / 2).unwrap();
            prop_assert!(folded == filter_of(&half, &set), "{}", params);
            for key in &set {
                prop_assert!(folded.contains(key));
            }
        }
    }

    #[test]
    fn odd_sizes_fold_as_far_as_they_can(set in keys(), odd in 0u64..300, hashes in 1u32..9) {
        // Widths that are no multiple of a word: 2 (2k + 1) bits fold once.
        for params in [
            Params::builder(2 * (2 * odd + 1), hashes).build().unwrap(),
            Params::builder(2 * (2 * odd + 1), hashes)
                .derivation(bloomgrove::Derivation::KirschMitzenmacher).build().unwrap(),
        ] {
            let once = filter_of(&params, &set).fold().unwrap();
            let half = params.with_bits(params.bits() / 2).unwrap();
            prop_assert!(once == filter_of(&half, &set), "{}", params);
            let again = matches!(once.fold(), Err(Error::Unfoldable { .. }));
            prop_assert!(again, "an odd number of bits has no half");
        }
    }

    #[test]
    fn save_and_open_change_nothing(set in keys(), hashes in 1u32..16) {
        let folder = tempfile::tempdir().unwrap();
        for (i, params) in every_kind(2048, hashes).into_iter().enumerate() {
            let filter = filter_of(&params, &set);
            let path = folder.path().join(format!("{i}.grove"));
            filter.save(&path).unwrap();
            prop_assert!(Filter::load(&path).unwrap() == filter);
            let mapped = MappedFilter::map(&path).unwrap();
            prop_assert!(mapped == filter);
            for key in &set {
                prop_assert!(mapped.contains(key));
            }
            bloomgrove::verify(&path).unwrap();
        }
    }

    #[test]
    fn collected_keys_are_all_found(set in keys(), repeat in 1usize..4) {
        let mut collector = Collector::new(0.01).unwrap();
        for key in set.iter().cycle().take(set.len() * repeat) {
            collector.insert(key).unwrap();
        }
        prop_assert_eq!(collector.keys(), (set.len() * repeat) as u64);
        let filter = collector.finish().unwrap();
        for key in &set {
            prop_assert!(filter.contains(key));
        }
    }
}

#[test]
fn mismatched_parameters_are_an_error_with_both() {
    let a = Params::builder(1024, 4).build().unwrap();
    let others = [
        Params::builder(2048, 4).build().unwrap(),
        Params::builder(1024, 5).build().unwrap(),
        Params::builder(1024, 4).seed(1).build().unwrap(),
    ];
    for b in others {
        let mut left = Filter::new(a.clone()).unwrap();
        left.insert("kept");
        let right = Filter::new(b.clone()).unwrap();
        let errors = [
            left.union_with(&right).unwrap_err(),
            left.intersect_with(&right).unwrap_err(),
            left.estimated_common_items(&right).unwrap_err(),
        ];
        for error in errors {
            let message = error.to_string();
            assert!(message.contains(&a.to_string()) && message.contains(&b.to_string()));
            let Error::Incompatible { left, right } = error else {
                panic!("{message}")
            };
            assert_eq!((left, right), (a.to_string(), b.to_string()));
        }
        assert!(left.contains("kept"), "a refused operation changes nothing");
    }
}

#[test]
#[should_panic(expected = "different parameters")]
fn a_probe_for_other_parameters_is_refused() {
    let one = Params::builder(1024, 4).build().unwrap();
    let two = one.with_bits(2048).unwrap();
    Filter::new(one).unwrap().contains_probe(&two.probe("key"));
}

#[test]
fn many_threads_lose_no_key() {
    for params in every_kind(1 << 20, 7) {
        let filter = ConcurrentFilter::new(params.clone()).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let filter = &filter;
                scope.spawn(move || {
                    for i in 0..5000 {
                        let key = thread * 2500 + i; // half of them in two threads
                        filter.insert(&key);
                        assert!(filter.contains(&key));
                    }
                });
            }
        });
        let shared = filter.into_filter();
        let mut single = Filter::new(params).unwrap();
        single.insert_batch(&(0..12_500u64).collect::<Vec<_>>());
        assert!(shared == single);
    }
}

#[test]
fn the_example_of_spyropoulos_bit_for_bit() {
    use bloomgrove::{Affine, Family};
    let functions = Affine::new(&[(1, 0), (5, 4)], 10).unwrap();
    let params = Params::builder(10, 2)
        .family(Family::Affine(functions))
        .build()
        .unwrap();
    let mut filter = Filter::new(params.clone()).unwrap();
    let table = |filter: &Filter| -> String {
        (0..10)
            .map(|i| {
                if filter.ones().any(|one| one == i) {
                    '1'
                } else {
                    '0'
                }
            })
            .collect()
    };
    assert_eq!(table(&filter), "0000000000");
    for (key, positions, bits) in [
        (19u64, [9, 9], "0000000001"),
        (132, [2, 4], "0010100001"),
        (25, [5, 9], "0010110001"),
    ] {
        assert_eq!(params.probe(&key).positions(), positions);
        filter.insert(&key);
        assert_eq!(table(&filter), bits);
    }
    for (key, positions, answer) in [
        (133u64, [3, 9], false),
        (25, [5, 9], true),
        (24, [4, 4], true), // the false positive
    ] {
        assert_eq!(params.probe(&key).positions(), positions);
        assert_eq!(filter.contains(&key), answer);
    }
}

#[test]
fn a_collector_that_goes_to_disk_sizes_by_distinct_keys() {
    let folder = tempfile::tempdir().unwrap();
    let build = |memory: usize| {
        let mut collector = Collector::seeded(0.01, 9)
            .unwrap()
            .directory(folder.path())
            .memory(memory);
        for i in 0..300_000u64 {
            collector.insert(&(i % 100_000)).unwrap();
        }
        collector.finish().unwrap()
    };
    let (small, large) = (build(1 << 17), build(64 << 20));
    assert!(small == large, "memory changes nothing but memory");
    assert!((0..100_000u64).all(|key| small.contains(&key)));
    assert!((small.estimated_items() / 100_000.0 - 1.0).abs() < 0.01);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn estimates_are_near_the_truth() {
    for params in every_kind(1 << 20, 7) {
        let of = |range: std::ops::Range<u64>| {
            let mut filter = Filter::new(params.clone()).unwrap();
            filter.insert_batch(&range.map(crate::support::scatter).collect::<Vec<_>>());
            filter
        };
        let (a, b) = (of(0..60_000), of(40_000..100_000));
        let near = |found: f64, truth: f64, share: f64| {
            let off = (found / truth - 1.0).abs();
            assert!(off < share, "{found} for {truth}, {params}");
        };
        near(a.estimated_items(), 60_000.0, 0.01);
        near(a.estimated_common_items(&b).unwrap(), 20_000.0, 0.05);
        let mut union = a.to_owned().unwrap();
        union.union_with(&b).unwrap();
        near(union.estimated_items(), 100_000.0, 0.01);
        assert_eq!(of(0..0).estimated_items(), 0.0);
    }
    let mut full = Filter::new(Params::builder(64, 2).build().unwrap()).unwrap();
    full.insert_batch(&(0..10_000u64).collect::<Vec<_>>());
    assert_eq!(full.estimated_items(), f64::INFINITY);
    assert_eq!(full.estimated_common_items(&full).unwrap(), f64::INFINITY);
    assert_eq!(full.expected_fpr(), 1.0);
}

#[test]
fn empty_batches_and_empty_keys_are_fine() {
    for params in every_kind(1024, 3) {
        let mut filter = Filter::new(params).unwrap();
        filter.insert_batch::<u64>(&[]);
        filter.contains_batch::<u64>(&[], &mut []);
        assert_eq!(filter.count_ones(), 0);
        filter.insert("");
        assert!(filter.contains(b""));
        filter.clear();
        assert!(!filter.contains(""));
    }
}

/// Batches large enough to be sorted by where they go make the same filter.
#[test]
fn a_very_large_batch_is_its_keys_one_by_one() {
    let params = Params::builder((33 << 23) + 5, 7).build().unwrap();
    let keys: Vec<u64> = (0..400_000).map(crate::support::scatter).collect();
    let mut filter = Filter::new(params.clone()).unwrap();
    filter.insert_batch(&keys);
    let mut single = Filter::new(params).unwrap();
    keys.chunks(1000).for_each(|keys| single.insert_batch(keys));
    assert!(filter == single);
}
