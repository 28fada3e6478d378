//! BloomTrees from the outside: rates and sizes compared with simulations, messages, files, damage.

use std::path::{Path, PathBuf};

use crate::support::{parts, sealed};
use bloomgrove::format::Notes;
use bloomgrove::{Derivation, Error, Family};
use bloomgrove_trees::bloom_tree::{BloomTree, Coding, MappedBloomTree, TreeShape};
use proptest::prelude::*;

const CODINGS: [Coding; 2] = [Coding::Context, Coding::Levels];

fn built(shape: TreeShape, items: u64) -> BloomTree {
    let keys: Vec<u64> = (0..items).collect();
    let mut tree = BloomTree::new(shape).unwrap();
    tree.insert_parallel(&keys, 2.try_into().unwrap());
    tree
}

fn message(tree: &BloomTree, coding: Coding) -> Vec<u8> {
    let mut message = Vec::new();
    let bytes = tree.compress(coding, &mut message).unwrap();
    assert_eq!(bytes, message.len() as u64);
    message
}

fn near(found: f64, wanted: f64, percent: f64) {
    let off = (found / wanted - 1.0) * 100.0;
    assert!(off.abs() <= percent, "{found} is {off:.2}% off {wanted}");
}

/// Rows of Table III: rates and sizes, and that absent keys are accepted as often as computed by
/// recursion.
#[test]
fn table_iii_has_the_right_rates_and_sizes() {
    const ITEMS: u64 = 200_000;
    const QUERIES: u64 = 4_000_000;
    struct Row {
        rho: f64,
        bits: &'static [u64],
        hashes: &'static [u32],
        fpr: (f64, f64),
        levels: f64,
        context: f64,
    }
    let rows = [
        Row {
            rho: 1.0,
            bits: &[4, 3],
            hashes: &[6, 3, 2],
            fpr: (0.0535, 3.0),
            levels: 8.0,
            context: 6.76,
        },
        Row {
            rho: 0.5,
            bits: &[5, 3, 3],
            hashes: &[6, 3, 2, 2],
            fpr: (3.73e-3, 4.0),
            levels: 16.35,
            context: 13.7,
        },
        Row {
            rho: 0.5,
            bits: &[4, 4, 2, 3],
            hashes: &[6, 3, 3, 1, 2],
            fpr: (7.4e-7, 5.0),
            levels: 54.0,
            context: 40.5,
        },
    ];
    for row in rows {
        let tree = built(
            TreeShape::for_items(ITEMS, row.rho, row.bits, row.hashes).unwrap(),
            ITEMS,
        );
        let accuracy = tree.accuracy(QUERIES, 1);
        near(accuracy.expected, row.fpr.0, row.fpr.1);
        assert!(accuracy.geometric < accuracy.expected / 5.0, "{accuracy}");
        let wanted = accuracy.expected * QUERIES as f64;
        let off = accuracy.accepted as f64 - wanted;
        // If almost none are expected, a few are allowed.
        assert!(off.abs() < 4.0 * wanted.sqrt() + 4.0, "{accuracy}");
        let per_item = |bits: f64| bits / ITEMS as f64;
        near(per_item(tree.level_entropy().iter().sum()), row.levels, 2.0);
        near(
            per_item(tree.context_entropy().iter().sum()),
            row.context,
            2.0,
        );
        // Messages are within half a percent of the entropy.
        for (coding, bits) in [
            (Coding::Levels, tree.level_entropy()),
            (Coding::Context, tree.context_entropy()),
        ] {
            let sent = message(&tree, coding).len() as f64 * 8.0;
            let entropy: f64 = bits.iter().sum();
            assert!(sent / entropy < 1.005, "{coding:?}: {}", sent / entropy);
        }
    }
}

fn shapes() -> impl Strategy<Value = TreeShape> {
    let lower = prop::collection::vec((1u64..=20, 1u32..=4), 0..=3);
    (1u64..=2000, 1u32..=6, lower, any::<bool>()).prop_map(|(bits, hashes, lower, parts)| {
        let levels: Vec<_> = std::iter::once((bits, hashes)).chain(lower).collect();
        let shape = TreeShape::new(&levels).unwrap();
        match parts {
            true => shape.partitioned().unwrap(),
            false => shape,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn messages_come_back(shape in shapes(), a in 0u64..600, b in 0u64..600) {
        let keys = |from: u64| (from..from + a).collect::<Vec<u64>>();
        let mut tree = BloomTree::new(shape.clone()).unwrap();
        tree.insert_batch(&keys(0));
        let mut other = BloomTree::new(shape).unwrap();
        other.insert_batch(&keys(b));
        // Intersections have bits above empty filters, which must be preserved as well.
        let mut common = tree.to_owned().unwrap();
        common.intersect_with(&other).unwrap();
        for tree in [&tree, &common] {
            for coding in CODINGS {
                let message = message(tree, coding);
                let back = BloomTree::expand(&message[..]).unwrap();
                prop_assert!(back == *tree);
            }
        }
    }

    #[test]
    fn no_message_does_harm(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0usize..300) {
        let tree = built(TreeShape::new(&[(40, 2), (9, 2), (3, 1)]).unwrap(), 20);
        let good = message(&tree, Coding::Context);
        let cut = cut.min(good.len());
        let mixed = [&good[..cut], &bytes[..]].concat();
        if let Ok(back) = BloomTree::expand(&mixed[..]) {
            prop_assert!(back == tree);
        }
    }
}

#[test]
fn every_cut_and_flip_of_a_message_is_noticed() {
    for shape in [
        TreeShape::new(&[(100, 2), (4, 2), (3, 2), (3, 1)]).unwrap(),
        TreeShape::new(&[(64, 2), (12, 3)]).unwrap(),
    ] {
        let tree = built(shape, 30);
        for coding in CODINGS {
            let good = message(&tree, coding);
            for len in 0..good.len() {
                assert!(BloomTree::expand(&good[..len]).is_err(), "{len}");
            }
            for bit in 0..good.len() * 8 {
                let mut bytes = good.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                if let Ok(back) = BloomTree::expand(&bytes[..]) {
                    assert!(back == tree, "bit {bit}");
                }
            }
        }
    }
}

/// With valid checksums, so that shapes, plans, tables and coded filters are reached.
#[test]
fn hostile_messages_with_valid_checksums_are_an_error_or_a_tree() {
    let samples: Vec<_> = [
        TreeShape::new(&[(100, 2), (4, 2), (3, 2), (3, 1)]).unwrap(),
        TreeShape::new(&[(64, 2), (12, 3)]).unwrap(),
        TreeShape::new(&[(1000, 3), (8, 2)]).unwrap(),
    ]
    .into_iter()
    .flat_map(|shape| {
        let tree = built(shape, 40);
        CODINGS.map(|coding| parts(&message(&tree, coding)))
    })
    .collect();
    assert!(
        samples
            .iter()
            .all(|parts| BloomTree::expand(&sealed(parts)[..]).is_ok())
    );
    let (mut errors, mut trees) = (0, 0);
    bolero::check!()
        .with_type::<(u8, Vec<(u8, u8, u8)>)>()
        .with_iterations(20_000)
        .for_each(|(sample, changes)| {
            let mut parts = samples[usize::from(*sample) % samples.len()].clone();
            for (part, byte, value) in changes {
                let count = parts.len();
                let part = &mut parts[usize::from(*part) % count];
                let len = part.len();
                part[usize::from(*byte) % len] = *value;
            }
            // A tree of a few hundred bytes must not take more than this.
            match BloomTree::expand_within(&sealed(&parts)[..], 1 << 24) {
                Ok((tree, _)) => _ = tree.contains("key"),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        });
    // First, single changes of every byte.
    for parts in &samples {
        for (part, byte) in (0..parts.len()).flat_map(|p| (0..parts[p].len()).map(move |b| (p, b)))
        {
            for flip in [1, 0x10, 0x80, 0xff] {
                let mut parts = parts.clone();
                parts[part][byte] ^= flip;
                match BloomTree::expand_within(&sealed(&parts)[..], 1 << 24) {
                    Ok(_) => trees += 1,
                    Err(_) => errors += 1,
                }
            }
        }
    }
    // Both occur, or nothing after the checksums was reached.
    assert!(
        trees > 100 && errors > 100,
        "{trees} trees, {errors} errors"
    );
}

#[test]
fn more_than_the_limit_is_refused() {
    let small = message(
        &built(TreeShape::new(&[(640, 3), (4, 2)]).unwrap(), 3),
        Coding::Context,
    );
    let error = BloomTree::expand_within(&small[..], 100).unwrap_err();
    assert!(
        matches!(error, Error::TooLarge { limit: 100, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("400"), "{error}");
}

/// Bits below unset bits, which no query reads, but which a file may have.
#[test]
fn orphans_do_not_confuse_the_receiver() {
    let shape = TreeShape::new(&[(64, 1), (2, 1), (2, 1)]).unwrap();
    for seed in 0..500u64 {
        let keys: Vec<u64> = (0..20).map(|i| seed * 1000 + i).collect();
        let mut tree = BloomTree::new(shape.clone()).unwrap();
        tree.insert_batch(&keys);
        let (shape, words) = tree.into_parts();
        let mut words = words.as_ref().to_vec();
        let bare = (0..64).find(|bit| words[0] >> bit & 1 == 0).unwrap();
        // A bit of its filter on level 2, and one of the filter below that.
        for bit in [64 + 2 * bare, 64 + 128 + 4 * bare] {
            words[bit / 64] |= 1 << (bit % 64);
        }
        let tree = BloomTree::from_words(shape, words).unwrap();
        for coding in CODINGS {
            let mut message = Vec::new();
            tree.compress(coding, &mut message).unwrap();
            let back = BloomTree::expand(&message[..]).unwrap();
            for key in keys.iter().copied().chain(0..200) {
                assert_eq!(
                    back.contains(&key),
                    tree.contains(&key),
                    "{coding:?} {seed}"
                );
            }
        }
    }
}

#[test]
fn notes_travel_along() {
    let tree = built(TreeShape::new(&[(100, 2), (4, 2)]).unwrap(), 10);
    let notes = Notes::new().with("keys", "integer");
    let mut message = Vec::new();
    tree.compress_with(Coding::Context, &notes, &mut message)
        .unwrap();
    let (back, found) = BloomTree::expand_within(&message[..], 1 << 20).unwrap();
    assert!(back == tree);
    assert_eq!(found.get("keys"), Some("integer"));
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// Trees and messages written by version 1, which never change.
#[test]
fn golden_trees_and_messages() {
    let write = std::env::var_os("BLOOMGROVE_WRITE_GOLDEN").is_some();
    let base = TreeShape::new(&[(200, 3), (4, 2), (3, 1)]).unwrap();
    let shapes = [
        ("v1-tree", base.clone()),
        ("v1-tree-parts", base.clone().partitioned().unwrap()),
        (
            "v1-tree-paper",
            base.with_derivation(Derivation::KirschMitzenmacher)
                .unwrap(),
        ),
        (
            "v1-tree-wide",
            TreeShape::new(&[(100, 2), (20, 3)])
                .unwrap()
                .with_family(Family::Xxh3Wide)
                .unwrap()
                .with_seed(5)
                .unwrap(),
        ),
    ];
    for (name, shape) in shapes {
        let mut tree = BloomTree::new(shape).unwrap();
        tree.insert("ada");
        tree.insert_batch(&(0..50u64).collect::<Vec<_>>());
        let notes = Notes::new().with("keys", "text");
        let file = golden(&format!("{name}.grove"));
        if write && !file.exists() {
            tree.save_with(&file, &notes).unwrap();
        }
        bloomgrove_trees::verify(&file).unwrap();
        assert!(BloomTree::load(&file).unwrap() == tree, "{name}");
        assert!(MappedBloomTree::map(&file).unwrap() == tree, "{name}");
        let directory = tempfile::tempdir().unwrap();
        let again = directory.path().join("again");
        tree.save_with(&again, &notes).unwrap();
        assert!(
            std::fs::read(&again).unwrap() == std::fs::read(&file).unwrap(),
            "{name}"
        );
        for coding in CODINGS {
            let path = golden(&format!("{name}-{}.message", coding.name()));
            let now = message(&tree, coding);
            if write && !path.exists() {
                std::fs::write(&path, &now).unwrap();
            }
            let kept = std::fs::read(&path).unwrap();
            assert!(kept == now, "{name} {coding:?}");
            assert!(BloomTree::expand(&kept[..]).unwrap() == tree);
        }
    }
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tree.grove");
    let tree = built(TreeShape::new(&[(100, 2), (4, 2)]).unwrap(), 10);
    tree.save(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    for bit in (0..good.len() * 8).step_by(7) {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &bytes).unwrap();
        assert!(bloomgrove_trees::verify(&path).is_err(), "bit {bit}");
        assert!(BloomTree::load(&path).is_err(), "bit {bit}");
    }
    for len in (0..good.len()).step_by(13) {
        std::fs::write(&path, &good[..len]).unwrap();
        assert!(MappedBloomTree::map(&path).is_err(), "{len}");
    }
    // A tree is not a filter, and a filter is not a tree.
    std::fs::write(&path, &good).unwrap();
    let error = bloomgrove::Filter::load(&path).unwrap_err().to_string();
    assert!(
        error.contains("contains a BloomTree, not a filter"),
        "{error}"
    );
    let filter = bloomgrove::Filter::new(bloomgrove::Params::for_items(10, 0.01).unwrap()).unwrap();
    let other = path.with_extension("filter");
    filter.save(&other).unwrap();
    let error = BloomTree::load(&other).unwrap_err().to_string();
    assert!(
        error.contains("contains a filter, not a BloomTree"),
        "{error}"
    );
}
