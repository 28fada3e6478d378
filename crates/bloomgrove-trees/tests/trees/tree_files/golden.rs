//! Files of all versions load, and their bytes are where FORMAT.md says.

use std::path::{Path, PathBuf};

use bloomgrove::format::Notes;
use bloomgrove::{Layout, Params};
use bloomgrove_trees::bloofi::{BloofiOptions, BulkOrder, NamedBloofi};
use bloomgrove_trees::bloom_sample_tree::BloomSampleTree;

use super::{bytes_of, filter_of, golden_sets, golden_trees, payload, tree_bytes, which};

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

#[test]
fn golden_sample_trees() {
    for (name, tree) in golden_trees() {
        let kept = check_golden(name, |path| tree.save(path).unwrap());
        let loaded = BloomSampleTree::from_bytes(&kept).unwrap();
        assert!(loaded.iter().eq(tree.iter()), "{name}");
        assert!(tree_bytes(&loaded) == kept, "{name}");
    }
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
