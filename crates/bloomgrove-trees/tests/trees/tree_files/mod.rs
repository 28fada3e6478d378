//! Bloofi trees and BloomSampleTrees in files.

mod damaged;
mod golden;
mod saved;

use bloomgrove::{Filter, Params};
use bloomgrove_trees::bloofi::{BloofiOptions, Metric, NamedBloofi};
use bloomgrove_trees::bloom_sample_tree::BloomSampleTree;

fn bytes_of(sets: &NamedBloofi) -> Vec<u8> {
    let mut bytes = Vec::new();
    sets.write_to(&mut bytes).unwrap();
    bytes
}

fn tree_bytes(tree: &BloomSampleTree) -> Vec<u8> {
    let mut bytes = Vec::new();
    tree.write_to(&mut bytes).unwrap();
    bytes
}

fn filter_of(params: &Params, keys: &[u16]) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    filter.insert_batch(keys);
    filter
}

fn which(sets: &NamedBloofi, key: u16) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    sets.search(&sets.tree().params().probe(&key), &mut found);
    found.into_iter().map(<[u8]>::to_vec).collect()
}

fn golden_sets() -> NamedBloofi {
    let params = Params::builder(100, 3).build().unwrap();
    let options = BloofiOptions::default().metric(Metric::Jaccard);
    let mut sets = NamedBloofi::new(params.clone(), options).unwrap();
    for i in 0..6u16 {
        let filter = filter_of(&params, &[i, 100 + i / 2]);
        sets.insert(format!("set {i}"), &filter).unwrap();
    }
    sets
}

fn golden_trees() -> [(&'static str, BloomSampleTree); 2] {
    let params = Params::builder(100, 3).build().unwrap();
    let mut pruned = BloomSampleTree::pruned(&params, 10..1 << 40, 5, [10, 11, 1 << 39]).unwrap();
    pruned.insert(1 << 38).unwrap();
    [
        (
            "v1-bloom-sample-tree.grove",
            BloomSampleTree::complete(&params, 5..105, 3).unwrap(),
        ),
        ("v1-bloom-sample-tree-pruned.grove", pruned),
    ]
}

/// Where the payload of a section is, found as FORMAT.md says.
fn payload(file: &[u8], kind: u16) -> std::ops::Range<usize> {
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let mut at = 64;
    while file[at + 4..at + 6] != kind.to_le_bytes() {
        at = (number(at + 8) + number(at + 16)).next_multiple_of(64);
    }
    number(at + 8)..number(at + 8) + number(at + 16)
}
