//! Damaged files, and files of another content, are rejected.

use bloomgrove::Error;
use bloomgrove_trees::bloofi::NamedBloofi;
use bloomgrove_trees::bloom_sample_tree::BloomSampleTree;

use super::{bytes_of, golden_sets, golden_trees, payload, tree_bytes};
use crate::support::reseal;

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
