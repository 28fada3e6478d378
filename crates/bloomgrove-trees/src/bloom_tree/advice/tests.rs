use std::io;

use super::*;
use crate::bloom_tree::{BloomTree, Coding};
use bloomgrove::raw::hash::mix;
use bloomgrove::{Filter, codec};

const FPRS: [f64; 8] = [0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6];

/// Builds a candidate: its bytes on the wire, and its rate.
fn made(structure: &Structure, items: u64, seed: u64) -> (f64, f64) {
    let first = mix(seed);
    let keys: Vec<u64> = (0..items).map(|i| mix(first.wrapping_add(i))).collect();
    if let Structure::Tree(shape) = structure {
        let mut tree = BloomTree::new(shape.clone()).unwrap();
        tree.insert_batch(&keys);
        let bytes = tree.compress(Coding::Context, io::sink()).unwrap();
        return (bytes as f64, tree.expected_fpr());
    }
    let mut filter = Filter::new(structure.params().unwrap().clone()).unwrap();
    filter.insert_batch(&keys);
    let bytes = codec::compress(&filter, io::sink()).unwrap();
    (bytes as f64, filter.expected_fpr())
}

/// Keeps tests from needing gigabytes.
fn modest() -> Limits {
    Limits {
        memory: 1 << 26,
        ..Limits::default()
    }
}

#[test]
fn predicted_bytes_are_those_produced() {
    for (items, fprs) in [
        (100_000, &FPRS[..]),
        (1_000_000, &[0.3, 0.03, 1e-3, 1e-6][..]),
    ] {
        for &fpr in fprs {
            let advice = advise(items, Goal::Fpr(fpr), &modest()).unwrap();
            for (at, candidate) in advice.candidates.iter().enumerate() {
                // Of the large ones, only the recommended one.
                let wanted = items < 1_000_000 || at == advice.best;
                if !candidate.is_possible() || !wanted {
                    continue;
                }
                let (bytes, real) = made(&candidate.structure, items, 7);
                let said = candidate.wire_bytes as f64;
                let what = format!("{items} items at {fpr}: {candidate:?}: {bytes}, {real}");
                assert!((said / bytes - 1.0).abs() < 0.02, "{what}");
                assert!((candidate.fpr / fpr - 1.0).abs() < 0.02, "{what}");
                assert!((real / fpr - 1.0).abs() < 0.15, "{what}");
            }
        }
    }
}

#[test]
fn of_few_items_the_mean_is_predicted_and_how_much_it_varies() {
    let items = 10_000;
    for fpr in FPRS {
        let advice = advise(items, Goal::Fpr(fpr), &modest()).unwrap();
        for candidate in advice.candidates.iter().filter(|c| c.is_possible()) {
            let sets = 8;
            let all = (1..=sets).map(|seed| made(&candidate.structure, items, seed));
            let bytes: Vec<f64> = all.map(|(bytes, _)| bytes).collect();
            let mean = bytes.iter().sum::<f64>() / bytes.len() as f64;
            let said = candidate.wire_bytes as f64;
            let what = format!("{fpr}: {candidate:?}: {mean} of {bytes:?}");
            assert!((said / mean - 1.0).abs() < 0.015, "{what}");
            let off = bytes.iter().map(|bytes| (bytes / said - 1.0).abs());
            let most = off.fold(0.0, f64::max);
            assert!(most < 0.015 + 3.0 * candidate.spread, "{what}: {most}");
        }
    }
}

#[test]
fn within_given_bytes_the_lowest_rate() {
    for (items, by_item) in [(100_000, 2.0), (100_000, 9.0), (30_000, 20.0)] {
        let budget = (items as f64 * by_item / 8.0) as u64;
        let advice = advise(items, Goal::Bytes(budget), &modest()).unwrap();
        assert!(advice.candidates.iter().map(|c| c.fpr).is_sorted());
        let best = advice.best();
        let (bytes, real) = made(&best.structure, items, 7);
        assert!(bytes <= budget as f64, "{best:?}: {bytes} of {budget}");
        assert!(
            bytes >= budget as f64 * 0.98,
            "{best:?}: {bytes} of {budget}"
        );
        assert!((real / best.fpr - 1.0).abs() < 0.1, "{best:?}: {real}");
        // What was found for the bytes is found for its rate, too.
        let back = advise(items, Goal::Fpr(best.fpr), &modest()).unwrap();
        let ratio = back.best().wire_bytes as f64 / budget as f64;
        assert!((0.96..1.0).contains(&ratio), "{ratio}");
    }
}

#[test]
fn no_tree_is_recommended_where_memory_allows_the_rest() {
    for fpr in [0.3, 0.1, 0.01, 1e-5] {
        let limits = Limits {
            memory: u64::MAX,
            ..Limits::default()
        };
        let advice = advise(100_000, Goal::Fpr(fpr), &limits).unwrap();
        assert!(matches!(advice.best().structure, Structure::Compressed(_)));
        assert!(
            advice.why.contains("and the best BloomTree"),
            "{}",
            advice.why
        );
        // A compressed filter is above the bound, and below ordinary filters.
        let bytes = |name: &str| {
            let of = advice
                .candidates
                .iter()
                .find(|c| c.structure.name() == name);
            of.unwrap().wire_bytes
        };
        let best = advice.best().wire_bytes;
        assert!(bytes("information bound") < best && best < bytes("standard filter"));
        assert!(bytes("standard filter") < bytes("blocked filter"));
    }
}

#[test]
fn what_does_not_fit_is_shown_and_not_taken() {
    let limits = Limits {
        memory: 4_000_000,
        hashes: 20,
        depth: 2,
    };
    let advice = advise(1_000_000, Goal::Fpr(1e-3), &limits).unwrap();
    let first = advice
        .candidates
        .iter()
        .find(|c| c.structure.is_producible());
    let why = first.unwrap().excluded.clone().unwrap();
    assert!(
        why.contains("expands to 124,937,") && why.contains("4,000,000 bytes"),
        "{why}"
    );
    assert!(advice.why.contains(&why), "{}", advice.why);
    assert!(advice.best().memory_bytes <= limits.memory && advice.best().hashes <= 20);
    let tight = Limits {
        memory: 1000,
        ..limits
    };
    let error = advise(1_000_000, Goal::Fpr(1e-3), &tight).unwrap_err();
    assert!(error.to_string().contains("would be enough"), "{error}");
}

#[test]
fn impossible_goals_say_why() {
    for (items, goal, part) in [
        (0, Goal::Fpr(0.1), "at least 1"),
        (10, Goal::Fpr(0.0), "above 0"),
        (10, Goal::Fpr(f64::NAN), "above 0"),
        (10, Goal::Fpr(1e-17), "the lowest"),
        (10, Goal::Bytes(20), "head"),
        (u64::MAX, Goal::Fpr(0.1), "would be enough"),
    ] {
        let error = advise(items, goal, &Limits::default()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
