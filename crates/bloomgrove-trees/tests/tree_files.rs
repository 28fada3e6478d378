//! Bloofi trees and BloomSampleTrees in files: they load as they were saved, in all versions, and
//! damaged files are rejected.

#[path = "../../bloomgrove/tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bloomgrove::format::Notes;
use bloomgrove::{Error, Filter, Layout, Params};
use bloomgrove_trees::bloofi::{BloofiOptions, BulkOrder, Metric, NamedBloofi};
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, Operations, Threshold};
use proptest::prelude::*;
use support::{every_kind, reseal, scatter};

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

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// A file as written by version 1, which never changes, and the bytes written now.
fn check_golden(name: &str, save: impl Fn(&Path)) -> Vec<u8> {
    let path = golden(name);
    if std::env::var_os("BLOOMGROVE_WRITE_GOLDEN").is_some() && !path.exists() {
        save(&path);
    }
    bloomgrove_trees::verify(&path).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let again = directory.path().join("again.grove");
    save(&again);
    let kept = std::fs::read(path).unwrap();
    assert!(std::fs::read(again).unwrap() == kept, "{name}");
    kept
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

#[test]
fn golden_bloofi_trees() {
    let notes = Notes::new().with("keys", "text");
    let kept = check_golden("v1-bloofi.grove", |path| {
        golden_sets().save_with(path, &notes).unwrap();
    });
    let loaded = NamedBloofi::from_bytes(&kept).unwrap();
    assert!(bytes_of(&loaded) == bytes_of(&golden_sets()));
    assert_eq!(
        Notes::of_file(golden("v1-bloofi.grove")).unwrap(),
        notes,
        "what was noted"
    );
    assert_eq!(which(&loaded, 4), [b"set 4"]);

    let params = Params::builder(1024, 3).layout(Layout::Blocked);
    let sets = |count: u16| {
        let params = params.clone().build().unwrap();
        let filters = (0..count).map(|i| (vec![i as u8], filter_of(&params, &[i, 7])));
        let options = BloofiOptions::default().order(3).split_full(true);
        NamedBloofi::bulk(params.clone(), options, filters, BulkOrder::Given).unwrap()
    };
    for (name, count) in [
        ("v1-bloofi-empty.grove", 0),
        ("v1-bloofi-lone.grove", 1),
        ("v1-bloofi-wide.grove", 20),
    ] {
        let kept = check_golden(name, |path| sets(count).save(path).unwrap());
        let loaded = NamedBloofi::from_bytes(&kept).unwrap();
        assert_eq!(loaded.tree().len(), usize::from(count));
        assert_eq!(which(&loaded, 7).len(), usize::from(count));
    }
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

#[test]
fn golden_sample_trees() {
    for (name, tree) in golden_trees() {
        let kept = check_golden(name, |path| tree.save(path).unwrap());
        let loaded = BloomSampleTree::from_bytes(&kept).unwrap();
        assert!(loaded.iter().eq(tree.iter()), "{name}");
        assert!(tree_bytes(&loaded) == kept, "{name}");
    }
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

/// At the offsets that FORMAT.md gives, without our reader.
#[test]
fn files_are_as_the_format_says() {
    let file = std::fs::read(golden("v1-bloofi.grove")).unwrap();
    assert_eq!(file[10], 6);
    let shape = &file[payload(&file, 9)];
    let numbers: Vec<u32> = shape
        .chunks(4)
        .map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    // Order 2, Jaccard; 6 leaves; a root, and what is below it.
    assert_eq!(numbers[..4], [2, 1, 6, 0]);
    let (root, level) = (numbers[4] as usize, &numbers[5..]);
    assert_eq!((level.len(), level.iter().sum::<u32>()), (root, 6));
    let names = &file[payload(&file, 7)];
    assert_eq!(names[..24], [5, 0, 0, 0].repeat(6));
    let sets = golden_sets();
    let bits = &file[payload(&file, 2)];
    assert_eq!(bits.len(), 6 * 16);
    for (i, name) in sets.names().enumerate() {
        assert_eq!(&names[24 + 5 * i..][..5], name);
        let filter = sets.filter(name).unwrap();
        let words: Vec<u8> = filter
            .words()
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        assert_eq!(bits[16 * i..][..16], words);
    }

    for (name, tree) in golden_trees() {
        let file = std::fs::read(golden(name)).unwrap();
        assert_eq!(file[10], 7);
        let shape = &file[payload(&file, 9)];
        let number = |at: usize| u64::from_le_bytes(shape[at..at + 8].try_into().unwrap());
        assert_eq!(number(0)..number(8), tree.names());
        let pruned = u64::from(tree.is_pruned());
        assert_eq!(number(16), u64::from(tree.depth()) | pruned << 32);
        let leaves = match tree.is_pruned() {
            true => {
                let names = file[payload(&file, 7)].chunks(8);
                let names = names.map(|name| u64::from_le_bytes(name.try_into().unwrap()));
                assert!(names.eq(tree.iter()));
                // 10 and 11 are adjacent.
                3
            }
            false => 8,
        };
        assert_eq!(shape.len(), 24 + leaves);
        assert!(shape[24..].iter().all(|least| (1..=3).contains(least)));
        assert_eq!(file[payload(&file, 2)].len(), 16 * leaves);
    }
}

/// Every reader rejects it, and so does `verify`.
fn refused(bytes: &[u8], what: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.grove");
    std::fs::write(&path, bytes).unwrap();
    let loaded = match bytes.get(10) {
        Some(6) => NamedBloofi::load(&path).map(|_| ()),
        _ => BloomSampleTree::load(&path).map(|_| ()),
    };
    let verified = bloomgrove_trees::verify(&path);
    assert!(loaded.is_err() && verified.is_err(), "{what}: accepted");
    let message = loaded.unwrap_err().to_string();
    assert_eq!(message.matches("x.grove").count(), 1, "{message}");
    message
}

#[test]
fn cut_and_flipped_files_are_refused() {
    let samples = golden_trees().map(|(_, tree)| tree_bytes(&tree));
    for good in [bytes_of(&golden_sets())].into_iter().chain(samples) {
        for len in (0..good.len()).step_by(7) {
            refused(&good[..len], &format!("{len} bytes"));
        }
        for bit in (0..good.len() * 8).step_by(11) {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            refused(&bytes, &format!("bit {bit}"));
        }
    }
}

/// What FORMAT.md forbids, with valid checksums: each change of bytes, and its error.
#[test]
fn forbidden_shapes_are_refused() {
    let sets = bytes_of(&golden_sets());
    let [(_, complete), (_, pruned)] = golden_trees().map(|(_, tree)| ((), tree_bytes(&tree)));
    let change = |good: &[u8], kind: u16, at: usize, value: &[u8], said: &str| {
        let mut bytes = good.to_vec();
        let start = payload(&bytes, kind).start + at;
        bytes[start..start + value.len()].copy_from_slice(value);
        reseal(&mut bytes);
        let message = refused(&bytes, said);
        assert!(message.contains(said), "{said}: {message}");
    };
    const NAMES: u16 = 7;
    const SHAPE: u16 = 9;
    const BITS: u16 = 2;
    let huge = u64::MAX.to_le_bytes();
    for (at, value, said) in [
        (0, &[1u8][..], "order"),
        (0, &[0, 0, 2], "order"),
        (4, &[3], "metric 3"),
        (5, &[2], "reserved"),
        (6, &[1], "reserved"),
        (8, &[7], "7"),
        (8, &[0; 8], "level of 0 nodes"),
        (8, &huge, "leaves"),
        (16, &[1], "1 children"),
        (16, &[3], "inside a level"),
        (16, &[255, 255, 255, 255], "inside a level"),
        (20, &[0], "0 children"),
        (20, &[255, 255, 255, 255], "leaves"),
    ] {
        change(&sets, SHAPE, at, value, said);
    }
    change(&sets, NAMES, 0, &[6], "inside a name");
    change(&sets, NAMES, 0, &[4], "after the last name");
    change(&sets, NAMES, 0, &[255; 4], "inside a name");
    let twice = sets[payload(&sets, NAMES)][24..29].to_vec();
    change(&sets, NAMES, 29, &twice, "already");
    change(&sets, BITS, 15, &[128], "beyond the last");
    for (good, at, value, said) in [
        (&complete, 8, &[5u8, 0, 0, 0, 0, 0, 0, 0][..], "no names"),
        (&complete, 16, &[4], "16"),
        (&complete, 16, &[63], "halved"),
        (&complete, 16, &[255; 4], "halved"),
        (&complete, 20, &[1], "names section"),
        (&complete, 20, &[2], "unknown"),
        (&complete, 24, &[0], "sets 0 bits"),
        (&complete, 24, &[4], "sets 4 bits"),
        (&pruned, 20, &[0], "must not list names"),
        (&pruned, 8, &[74, 0, 0, 0, 0, 0, 0, 0], "not in"),
        (&pruned, 16, &[0], "1 have names"),
    ] {
        change(good, SHAPE, at, value, said);
    }
    change(&pruned, NAMES, 0, &[11], "ascending");
    change(&pruned, NAMES, 0, &[9], "not in");
    change(&pruned, NAMES, 24, &huge, "not in");
    change(&complete, BITS, 15, &[128], "beyond the last");
}

/// A valid tree with wrong filters: only hashing the names again reveals it.
#[test]
fn verify_hashes_the_names_of_a_sample_tree_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.grove");
    for (_, tree) in golden_trees() {
        let good = tree_bytes(&tree);
        let (bits, shape) = (payload(&good, 2), payload(&good, 9));
        for (at, flip) in [(bits.start, 1), (bits.start, 2), (shape.start + 24, 1)] {
            let mut bytes = good.clone();
            bytes[at] ^= flip;
            reseal(&mut bytes);
            std::fs::write(&path, bytes).unwrap();
            let error = bloomgrove_trees::verify(&path).unwrap_err().to_string();
            assert!(error.contains("leaf 0"), "{error}");
        }
        std::fs::write(&path, good).unwrap();
        bloomgrove_trees::verify(&path).unwrap();
    }
}

/// Sections of one file in place of another's, each valid in itself.
#[test]
fn swapped_sections_are_refused() {
    let [(_, complete), (_, pruned)] = golden_trees();
    let files = [
        bytes_of(&golden_sets()),
        tree_bytes(&complete),
        tree_bytes(&pruned),
    ];
    for (i, file) in files.iter().enumerate() {
        for (j, other) in files.iter().enumerate().filter(|(j, _)| *j != i) {
            // The header of one, and all sections of the other.
            let mut bytes = [&file[..64], &other[64..]].concat();
            reseal(&mut bytes);
            let kinds = (i.min(j), i.max(j));
            match kinds {
                (1, 2) => assert!(BloomSampleTree::from_bytes(&bytes).is_ok()),
                _ => _ = refused(&bytes, &format!("header {i}, sections {j}")),
            }
        }
    }
    // The bits of a tree with more leaves.
    let wider = {
        let params = complete.params();
        tree_bytes(&BloomSampleTree::complete(params, complete.names(), 4).unwrap())
    };
    let (bits, shape) = (payload(&wider, 2), payload(&files[1], 9));
    let mut bytes = files[1][..shape.end.next_multiple_of(64)].to_vec();
    bytes.extend(&wider[bits.start - 64..]);
    // Heads contain the positions of payloads.
    let at = shape.end.next_multiple_of(64);
    bytes[at + 8..at + 16].copy_from_slice(&(at as u64 + 64).to_le_bytes());
    let end = (at + 64 + bits.len()).next_multiple_of(64);
    bytes[end + 8..end + 16].copy_from_slice(&(end as u64 + 64).to_le_bytes());
    reseal(&mut bytes);
    let message = refused(&bytes, "bits of another tree");
    assert!(message.contains("8 leaves"), "{message}");
}

#[test]
fn other_contents_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.grove");
    golden_sets().save(&path).unwrap();
    let error = BloomSampleTree::load(&path).unwrap_err().to_string();
    assert!(error.contains("a Bloofi tree") && error.contains("a BloomSampleTree"));
    let error = golden_trees()[0].1.save(&path).unwrap_err();
    assert!(
        matches!(error.kind(), Error::WouldReplace { .. }),
        "{error}"
    );
    assert!(NamedBloofi::load(&path).is_ok());
}
