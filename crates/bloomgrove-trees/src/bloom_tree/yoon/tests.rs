use std::collections::{BTreeSet, HashMap};

use super::*;

#[test]
fn every_value_of_every_key_is_found() {
    for (degree, levels) in [(2, 1), (2, 5), (3, 3), (10, 2)] {
        let mut tree = YoonTree::new(50_000, degree, levels, 3).unwrap();
        let mut pairs: HashMap<u64, BTreeSet<u64>> = HashMap::new();
        for i in 0..2000u64 {
            let (key, value) = (remix(i) % 1000, remix(i + 9000) % tree.values());
            tree.insert(&key, value).unwrap();
            pairs.entry(key).or_default().insert(value);
        }
        for (key, values) in &pairs {
            let found: BTreeSet<u64> = tree.lookup(key).into_iter().collect();
            assert!(values.is_subset(&found), "{degree} {levels}: {key}");
            assert!(tree.contains(key));
        }
    }
}

#[test]
fn as_a_set_filter_it_is_wrong_as_often_as_the_formula_says() {
    for (degree, levels, hashes) in [(2, 3, 3), (4, 2, 4), (2, 1, 5), (3, 4, 2)] {
        let (items, queries) = (20_000u64, 400_000u64);
        let mut tree = YoonTree::new(items * 16, degree, levels, hashes).unwrap();
        for key in 0..items {
            tree.insert_key(&key);
        }
        for key in 0..items {
            assert!(tree.contains(&key) && tree.contains_drawn(&key));
            assert!(!tree.lookup(&key).is_empty());
        }
        let absent = || items..items + queries;
        let hits = absent().filter(|key| tree.contains(key)).count() as f64;
        let p = tree.expected_fpr();
        let (mean, deviation) = (p * queries as f64, (p * queries as f64).sqrt());
        assert!(
            (hits - mean).abs() < 4.0 * deviation,
            "{degree} {levels}: {hits} for {mean}"
        );
        // A single path: the product of the rates of the levels.
        let fill = |&(bits, ones): &(u64, u64)| ones as f64 / bits as f64;
        let fills = tree.levels();
        let way: f64 = fills.iter().map(fill).product();
        let mean = way.powi(hashes as i32) * queries as f64;
        let hits = absent().filter(|key| tree.contains_drawn(key)).count() as f64;
        assert!(
            (hits - mean).abs() < 4.0 * mean.sqrt() + 3.0,
            "{hits} {mean}"
        );
    }
}

#[test]
fn bits_and_levels_are_those_requested() {
    let mut tree = YoonTree::new(1000, 3, 3, 2).unwrap();
    assert_eq!(tree.values(), 27);
    // 333 bits per level: 333, 3 * 111, 9 * 37.
    assert_eq!(tree.bits(), 999);
    assert_eq!(tree.expected_fpr(), 0.0);
    for i in 0..500u64 {
        tree.insert_key(&i);
    }
    let levels = tree.levels();
    let ones: u64 = levels.iter().map(|level| level.1).sum();
    assert_eq!(ones, bits::count(tree.words()));
    assert!(levels.iter().all(|level| level.0 == 333 && level.1 > 200));
}

#[test]
fn impossible_trees_and_values_are_refused() {
    for (bits, degree, levels, hashes) in [
        (1000, 1, 2, 3),
        (1000, 2, 0, 3),
        (1000, 2, 2, 0),
        (1000, 2, 60, 3),
        (1 << 30, u32::MAX, 3, 3),
        (u64::MAX, 2, 2, 3),
        (0, 2, 1, 3),
    ] {
        assert!(YoonTree::new(bits, degree, levels, hashes).is_err());
    }
    let mut tree = YoonTree::new(1000, 2, 2, 3).unwrap();
    assert!(tree.insert("x", 4).is_err() && tree.insert("x", 3).is_ok());
}
