//! The tree compared with straightforward implementations: bit by bit, path by path.

use std::collections::{BTreeSet, HashSet};

use proptest::prelude::*;

use super::walk::{Place, Visit, Way};
use super::*;
use bloomgrove::{Derivation, Family};

/// Any small shape, with either hashing, partitioned or not.
fn shapes() -> impl Strategy<Value = TreeShape> {
    let lower = prop::collection::vec((1u64..=10, 1u32..=4), 0..=3);
    let hashing = (any::<bool>(), any::<bool>(), any::<u64>(), 0usize..3);
    (1u64..=300, 1u32..=6, lower, hashing).prop_map(|(bits, hashes, lower, hashing)| {
        let levels: Vec<_> = std::iter::once((bits, hashes)).chain(lower).collect();
        let (partitioned, paper, seed, family) = hashing;
        let mut shape = TreeShape::new(&levels).unwrap().with_seed(seed).unwrap();
        if partitioned {
            shape = shape.partitioned().unwrap();
        }
        if paper {
            shape = shape
                .with_derivation(Derivation::KirschMitzenmacher)
                .unwrap();
        }
        let family = [Family::Xxh3, Family::Xxh3Wide, Family::Murmur3][family].clone();
        shape.with_family(family).unwrap()
    })
}

fn built(shape: &TreeShape, keys: &[u64]) -> BloomTree {
    let mut tree = BloomTree::new(shape.clone()).unwrap();
    tree.insert_batch(keys);
    tree
}

/// All bits of a key, as described in the paper: level by level, a set of filters at a time.
fn bits_of(shape: &TreeShape, key: u64) -> BTreeSet<u64> {
    #[derive(Default)]
    struct All(BTreeSet<u64>, Vec<(usize, u64, u64)>);
    impl Visit for All {
        fn root(&mut self, position: u64) -> bool {
            self.0.insert(position);
            true
        }
        fn filter(&mut self, place: Place) -> bool {
            self.1.push((place.level, place.filter, place.mask));
            let places = (0..64).filter(|bit| place.mask >> bit & 1 == 1);
            self.0.extend(places.map(|bit| place.offset + bit));
            true
        }
    }
    let mut all = All::default();
    key.with_bytes(|bytes| Way::new(shape, bytes).visit(&mut all));
    // Every filter visited is below a bit that the key has, and every such filter is visited.
    let mut wanted = HashSet::new();
    for level in 1..shape.depth() {
        let range = shape.start(level - 1)..shape.start(level);
        wanted.extend(
            all.0
                .range(range.clone())
                .map(|bit| (level, bit - range.start)),
        );
    }
    let visited: HashSet<_> = all
        .1
        .iter()
        .map(|&(level, filter, _)| (level, filter))
        .collect();
    assert_eq!(visited, wanted);
    all.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_tree_is_the_bits_of_its_keys(shape in shapes(), keys in prop::collection::vec(any::<u64>(), 0..40)) {
        let tree = built(&shape, &keys);
        let wanted: BTreeSet<u64> = keys.iter().flat_map(|key| bits_of(&shape, *key)).collect();
        let found: BTreeSet<u64> = bits::ones(tree.words()).collect();
        prop_assert_eq!(&found, &wanted);
        for key in &keys {
            prop_assert!(tree.contains(key));
        }
        for key in 0..200u64 {
            prop_assert_eq!(tree.contains(&key), bits_of(&shape, key).is_subset(&wanted));
        }
        // Levels fill the array without gaps, and their ones are all ones of the tree.
        let ones: u64 = (0..shape.depth()).map(|level| tree.level_ones(level)).sum();
        prop_assert_eq!(ones, wanted.len() as u64);
    }

    #[test]
    fn threads_set_and_see_the_same_bits(
        shape in shapes(),
        keys in prop::collection::vec(any::<u64>(), 0..60),
        threads in 1usize..6,
    ) {
        let threads = threads.try_into().unwrap();
        let one = built(&shape, &keys);
        let mut many = BloomTree::new(shape).unwrap();
        many.insert_parallel(&keys, threads);
        prop_assert!(one == many);
        let asked: Vec<u64> = keys.iter().copied().chain(0..100).collect();
        prop_assert_eq!(one.contains_batch(&asked), many.contains_parallel(&asked, threads));
    }

    #[test]
    fn unions_and_intersections_are_those_of_the_answers(
        shape in shapes(),
        a in prop::collection::vec(0u64..200, 0..40),
        b in prop::collection::vec(0u64..200, 0..40),
    ) {
        let (left, right) = (built(&shape, &a), built(&shape, &b));
        let mut union = left.to_owned().unwrap();
        union.union_with(&right).unwrap();
        let both: Vec<u64> = a.iter().chain(&b).copied().collect();
        prop_assert!(union == built(&shape, &both));

        let mut plain = left.to_owned().unwrap();
        plain.intersect_with(&right).unwrap();
        let mut pruned = plain.to_owned().unwrap();
        let before = bits::count(plain.words());
        prop_assert_eq!(pruned.prune(), before - bits::count(pruned.words()));
        for key in 0..400u64 {
            let wanted = left.contains(&key) && right.contains(&key);
            prop_assert_eq!(plain.contains(&key), wanted);
            prop_assert_eq!(pruned.contains(&key), wanted);
        }
        let common = BloomTree::intersection(&[left, right]).unwrap().unwrap();
        prop_assert!(common == pruned);
    }

    #[test]
    fn the_recursion_is_the_mean_over_all_paths(
        lower in prop::collection::vec((1u64..=3, 1u32..=2), 0..=2),
        root in (1u64..=4, 1u32..=2),
        keys in prop::collection::vec(any::<u64>(), 0..6),
    ) {
        let levels: Vec<_> = std::iter::once(root).chain(lower).collect();
        let tree = built(&TreeShape::new(&levels).unwrap(), &keys);
        let wanted = mean_over_ways(&tree, 0, 0);
        prop_assert!((tree.expected_fpr() - wanted).abs() <= 1e-12, "{} {wanted}", tree.expected_fpr());
    }

    #[test]
    fn fields_are_their_bits(words in prop::collection::vec(any::<u64>(), 3), offset in 0u64..128, bits in 1u64..=64) {
        let wanted = (0..bits).filter(|i| bits::get(&words, offset + i)).fold(0, |all, i| all | 1u64 << i);
        prop_assert_eq!(field(&words, offset, bits), wanted);
        prop_assert!(holds(&words, offset, wanted));
        prop_assert_eq!(count_between(&words, offset, offset + bits), u64::from(wanted.count_ones()));
        prop_assert_eq!(count_between(&words, 3, offset + bits.max(4)),
            (3..offset + bits.max(4)).filter(|i| bits::get(&words, *i)).count() as u64);
    }
}

/// Tries every choice of positions of one filter, and recursively those of the filters below.
fn mean_over_ways(tree: &BloomTree, level: usize, filter: u64) -> f64 {
    let Level { bits, hashes } = tree.shape.levels()[level];
    let choices = bits.pow(hashes);
    let mut sum = 0.0;
    for mut choice in 0..choices {
        let mut mask = 0u64;
        for _ in 0..hashes {
            mask |= 1 << (choice % bits);
            choice /= bits;
        }
        let set = field(tree.words(), tree.shape.offset(level, filter), bits);
        if set & mask != mask {
            continue;
        }
        let children = (0..bits).filter(|bit| mask >> bit & 1 == 1);
        sum += match level + 1 == tree.shape.depth() {
            true => 1.0,
            false => children
                .map(|bit| mean_over_ways(tree, level + 1, filter * bits + bit))
                .product(),
        };
    }
    sum / choices as f64
}

#[test]
fn filters_are_where_equation_6_says() {
    let shape = TreeShape::new(&[(10, 2), (4, 2), (3, 1)]).unwrap();
    // Counted from 1 as in the paper: filter b of level a begins after all previous levels and
    // b - 1 filters.
    let printed = |a: usize, b: u64| {
        let m = [10, 4, 3];
        let before: u64 = (1..a).map(|i| m[..i].iter().product::<u64>()).sum();
        before + (b - 1) * m[a - 1] + 1
    };
    for (level, filter) in [(0, 0), (1, 0), (1, 9), (2, 0), (2, 39)] {
        assert_eq!(
            shape.offset(level, filter) + 1,
            printed(level + 1, filter + 1)
        );
    }
    assert_eq!(shape.bits(), 10 + 40 + 120);
}

#[test]
fn parts_of_the_root_have_one_bit_of_each_key() {
    let shape = TreeShape::new(&[(1000, 5), (4, 2)])
        .unwrap()
        .partitioned()
        .unwrap();
    assert_eq!(shape.levels()[0].bits, 1280);
    for key in 0..100u64 {
        let roots = bits_of(&shape, key);
        let parts: Vec<u64> = roots.range(..1280).map(|bit| bit / 256).collect();
        assert_eq!(parts, [0, 1, 2, 3, 4]);
    }
}

#[test]
fn items_are_counted_also_where_the_root_is_full() {
    let shapes = [
        TreeShape::for_items(20_000, 1.0, &[4, 3], &[6, 3, 2]).unwrap(),
        TreeShape::for_items(20_000, 0.5, &[5, 3, 3], &[6, 3, 2, 2]).unwrap(),
        TreeShape::for_items(20_000, 0.5, &[5, 3, 3], &[12, 3, 2, 2]).unwrap(),
        TreeShape::for_items(20_000, 8.0, &[], &[5]).unwrap(),
    ];
    for shape in shapes
        .iter()
        .cloned()
        .chain(shapes.clone().map(|s| s.partitioned().unwrap()))
    {
        for items in [0u64, 1000, 20_000] {
            let tree = built(&shape, &(0..items).collect::<Vec<_>>());
            let off = (tree.estimated_items() - items as f64).abs();
            assert!(
                off <= items as f64 * 0.03,
                "{shape}: {} of {items}",
                tree.estimated_items()
            );
        }
    }
}

#[test]
fn the_three_answers_agree_as_they_should() {
    let keys: Vec<u64> = (0..20_000).collect();
    let shape = TreeShape::for_items(20_000, 1.0, &[4, 3], &[6, 3, 2]).unwrap();
    let mixed = built(&shape, &keys);
    let accuracy = mixed.accuracy(400_000, 7);
    // docs/papers/bloomtree.md: 0.0535 and 0.0067 for this shape.
    assert!(
        (accuracy.expected / 0.0535 - 1.0).abs() < 0.05,
        "{accuracy}"
    );
    assert!(
        (accuracy.geometric / 0.0067 - 1.0).abs() < 0.25,
        "{accuracy}"
    );
    let sigma = (accuracy.expected * (1.0 - accuracy.expected) / 400_000.0).sqrt();
    let measured = accuracy.measured().unwrap();
    assert!(
        (measured - accuracy.expected).abs() < 4.0 * sigma,
        "{accuracy}"
    );

    // The paper's hashing accepts about four times as many.
    let printed = built(
        &shape
            .with_derivation(Derivation::KirschMitzenmacher)
            .unwrap(),
        &keys,
    );
    let measured = printed.accuracy(100_000, 7).measured().unwrap();
    assert!((0.15..0.3).contains(&measured), "{measured}");
}

#[test]
fn impossible_shapes_say_why() {
    let fails = |levels: &[(u64, u32)], why: &str| {
        let error = TreeShape::new(levels).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    fails(&[], "without levels");
    fails(&[(0, 1)], "0 bits");
    fails(&[(10, 1), (65, 1)], "65 bits on level 2");
    fails(&[(10, 1), (3, 17)], "17 hashes on level 2");
    fails(&[(10, 1); 9], "9 levels");
    fails(
        &[(1 << 47, 1), (2, 1)],
        "more than 281,474,976,710,656 bits",
    );
    fails(&[(100, 64), (64, 16), (64, 16), (64, 16)], "hash functions");
    let error = TreeShape::for_items(100, 0.0, &[4], &[6, 3]).unwrap_err();
    assert!(error.to_string().contains("a root of 0 bits"), "{error}");
    let error = TreeShape::for_items(100, 1.0, &[4], &[6]).unwrap_err();
    assert!(error.to_string().contains("one more"), "{error}");
}

#[test]
fn different_shapes_cannot_be_combined() {
    let shape = TreeShape::new(&[(100, 2), (4, 1)]).unwrap();
    let mut one = BloomTree::new(shape.clone()).unwrap();
    let other = BloomTree::new(shape.with_seed(3).unwrap()).unwrap();
    let error = one.union_with(&other).unwrap_err().to_string();
    assert!(
        error.contains("seed 0") && error.contains("seed 3"),
        "{error}"
    );
    assert!(one.intersect_with(&other).is_err());
}
