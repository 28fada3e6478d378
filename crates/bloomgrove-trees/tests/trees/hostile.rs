//! Arbitrary bytes: every reader returns an error or a correct answer, never panics, and never
//! allocates more than the bytes justify.
//!
//! Fuzz targets for bolero: a bounded number of cases here, unbounded under `cargo bolero test`.

use std::path::Path;

use bloomgrove::format::Notes;
use bloomgrove::index::{Index, IndexFile, Shape};
use bloomgrove::{Error, Filter, MappedFilter, Params};
use bloomgrove_trees::bloofi::{BloofiOptions, NamedBloofi};
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, Operations, Threshold};
use bloomgrove_trees::bloom_tree::{self, BloomTree, Coding, MappedBloomTree};

fn open_everything(path: &Path) {
    let keys = ["key", "", "other"];
    if let Ok(filter) = MappedFilter::map(path) {
        let mut found = [false; 3];
        filter.contains_batch(&keys, &mut found);
        assert_eq!(found, keys.map(|key| filter.contains(key)));
        let _ = (
            filter.fill(),
            filter.expected_fpr(),
            filter.estimated_items(),
        );
        let _ = filter.fold();
        if let Ok(loaded) = Filter::load(path) {
            assert!(loaded == filter);
        }
    }
    let _ = Filter::load(path);
    let _ = Notes::of_file(path);
    let _ = bloomgrove::verify(path);
    if let Ok(mut index) = Index::open(path) {
        let many = index.which_many(&keys);
        for (key, sets) in keys.iter().zip(many.iter()) {
            assert_eq!(index.which(key).len(), sets.len());
        }
        let _ = (index.view().explain("key"), index.segments());
        let names: Vec<Vec<u8>> = index.sets().map(|set| set.name().to_vec()).collect();
        for name in names {
            let _ = (
                index.filter(&name),
                index.insert(&name, "more"),
                index.remove(&name),
            );
        }
    }
    let _ = bloomgrove::raw::index::open_checked(path, bloomgrove::raw::index::Origin::Named);
    if let Ok(tree) = MappedBloomTree::map(path) {
        let _ = (keys.map(|key| tree.contains(key)), tree.estimated_items());
        let _ = tree.expected_fpr();
        let mut message = Vec::new();
        for coding in [Coding::Context, Coding::Levels] {
            message.clear();
            tree.compress(coding, &mut message).unwrap();
            let back = BloomTree::expand(&message[..]).unwrap();
            assert_eq!(
                keys.map(|key| back.contains(key)),
                keys.map(|key| tree.contains(key))
            );
        }
        if let Ok(loaded) = BloomTree::load(path) {
            assert!(loaded == tree);
        }
    }
    // Whatever loads is a valid tree, and can be changed like any other.
    if let Ok(mut sets) = NamedBloofi::load(path) {
        sets.tree().assert_invariants();
        let params = sets.tree().params().clone();
        for key in keys {
            sets.search(&params.probe(key), &mut Vec::new());
        }
        let names: Vec<Vec<u8>> = sets.names().map(<[u8]>::to_vec).collect();
        let _ = sets.insert("another", &Filter::new(params).unwrap());
        for name in names {
            sets.remove(&name).unwrap();
            sets.tree().assert_invariants();
        }
    }
    if let Ok(mut tree) = BloomSampleTree::load(path) {
        // A namespace may be too large to iterate over.
        if tree.len() > 1 << 20 {
            let _ = bloomgrove_trees::verify(path);
            return;
        }
        assert_eq!(tree.iter().count() as u64, tree.len());
        let mut query = Filter::new(tree.params().clone()).unwrap();
        query.insert_batch(&[1u64, 5, 8]);
        let work = &mut Operations::default();
        for threshold in [Threshold::Safe, Threshold::Estimate(0.5)] {
            let member = |name| assert!(query.contains(&name));
            tree.reconstruct(&query, threshold, work, member).unwrap();
        }
        let _ = (tree.insert(7), tree.insert(u64::MAX));
    }
    let _ = bloomgrove_trees::verify(path);
}

fn samples() -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sample");
    let mut filter = Filter::new(Params::for_items(10, 0.1).unwrap()).unwrap();
    filter.insert("key");
    let alone = directory.path().join("filter");
    let notes = Notes::new().with("a", 1);
    filter.save_with(&alone, &notes).unwrap();
    let mut samples = vec![std::fs::read(&alone).unwrap()];
    for shape in [Shape::Loose, Shape::Flat, Shape::Sliced, Shape::Sealed] {
        let mut index = Index::new(filter.params().clone());
        index.add_tagged("one", "tag", &filter).unwrap();
        index.add("two", &filter).unwrap();
        index.rearrange(Some(shape)).unwrap();
        index.save(&path).unwrap();
        samples.push(std::fs::read(&path).unwrap());
    }
    let shape = bloom_tree::TreeShape::new(&[(50, 2), (4, 2), (3, 1)]).unwrap();
    let mut tree = BloomTree::new(shape).unwrap();
    tree.insert("key");
    let file = directory.path().join("tree");
    tree.save(&file).unwrap();
    samples.push(std::fs::read(&file).unwrap());
    let mut sets = NamedBloofi::new(filter.params().clone(), BloofiOptions::default()).unwrap();
    for name in ["one", "two", "three", "four", "five", "six", ""] {
        sets.insert(name, &filter).unwrap();
    }
    let mut bytes = Vec::new();
    sets.write_to(&mut bytes).unwrap();
    samples.push(bytes);
    let complete = BloomSampleTree::complete(filter.params(), 0..20, 2).unwrap();
    let pruned = BloomSampleTree::pruned(filter.params(), 0..20, 3, [1, 5, 6, 19]).unwrap();
    for tree in [complete, pruned] {
        let mut bytes = Vec::new();
        tree.write_to(&mut bytes).unwrap();
        samples.push(bytes);
    }
    // And one that has grown, and has lost a set.
    let mut file = IndexFile::open(&path).unwrap();
    file.add("three", &filter).unwrap();
    file.commit().unwrap();
    file.remove("one").unwrap();
    file.commit().unwrap();
    samples.push(std::fs::read(&path).unwrap());
    samples
}

#[test]
fn any_bytes_are_an_error_or_an_answer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("any.grove");
    let header: Vec<Vec<u8>> = samples().iter().map(|file| file[..64].to_vec()).collect();
    bolero::check!()
        .with_type::<(u8, Vec<u8>)>()
        .with_iterations(2000)
        .for_each(|(kind, bytes)| {
            // Unchanged; after a valid header; and as the payload of a valid section.
            let file = match kind % 4 {
                0 => bytes.clone(),
                1 => [&header[0], bytes.as_slice()].concat(),
                _ => with_payload(
                    &header[usize::from(kind / 40) % header.len()],
                    u16::from(kind / 4 % 10),
                    bytes,
                ),
            };
            std::fs::write(&path, file).unwrap();
            open_everything(&path);
        });
}

/// A file whose only section, of any kind, has `payload`, with valid checksums and END.
fn with_payload(header: &[u8], kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut file = header.to_vec();
    for (kind, payload) in [
        (kind, payload),
        (0xffff, &[1u64.to_le_bytes(), [0; 8]].concat()),
    ] {
        let at = file.len();
        file.extend(b"SECT");
        file.extend(kind.to_le_bytes());
        file.extend([0; 2]);
        file.extend((at as u64 + 64).to_le_bytes());
        file.extend((payload.len() as u64).to_le_bytes());
        file.resize(at + 64, 0);
        file.extend(payload);
        file.resize(file.len().next_multiple_of(64), 0);
    }
    crate::support::reseal(&mut file);
    file
}

#[test]
fn damaged_files_with_valid_checksums_are_an_error_or_an_answer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.grove");
    let samples = samples();
    bolero::check!()
        .with_type::<(u8, Vec<(u16, u8)>)>()
        .with_iterations(5000)
        .for_each(|(which, edits)| {
            let bytes =
                crate::support::edited(&samples[usize::from(*which) % samples.len()], edits);
            std::fs::write(&path, bytes).unwrap();
            open_everything(&path);
        });
}

/// Each field of the catalogue and parameters in turn, set to extreme values with valid checksums.
#[test]
fn extreme_values_in_every_word_are_an_error_or_an_answer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("extreme.grove");
    let values = [0, 1, 8, 64, u64::from(u32::MAX), 1 << 47, 1 << 60, u64::MAX];
    for sample in samples() {
        for at in (64..sample.len() - 8).step_by(4) {
            for mut bytes in crate::support::extremes(&sample, at, &values) {
                crate::support::reseal(&mut bytes);
                std::fs::write(&path, bytes).unwrap();
                open_everything(&path);
            }
        }
    }
}

/// A truncated index is as it was at the last complete commit, or an error; `verify` detects every
/// flipped bit.
#[test]
fn indexes_cut_anywhere_are_as_they_were_or_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.grove");
    // Byte 10 is the content of a file: 2 is an index.
    for sample in samples().iter().filter(|sample| sample[10] == 2) {
        // Where commits end: a section of kind 6 and the 64 bytes of its payload.
        let is_commit = |at: &usize| sample[*at..].starts_with(b"SECT\x06\0");
        let ends = (64..sample.len()).step_by(64).filter(is_commit);
        let ends: Vec<usize> = ends.map(|at| at + 128).collect();
        let names = |index: &Index| -> Vec<Vec<u8>> {
            let mut names: Vec<_> = index.sets().map(|set| set.name().to_vec()).collect();
            names.sort();
            names
        };
        let mut states = Vec::new();
        for &end in &ends {
            std::fs::write(&path, &sample[..end]).unwrap();
            states.push(names(&Index::open(&path).unwrap()));
        }
        for len in 0..sample.len() {
            std::fs::write(&path, &sample[..len]).unwrap();
            let whole = ends.iter().filter(|&&end| end <= len).count();
            let opened = Index::open(&path);
            match whole.checked_sub(1) {
                None => assert!(opened.is_err(), "{len} bytes"),
                Some(last) => {
                    assert_eq!(names(&opened.unwrap()), states[last]);
                    let report = bloomgrove::verify(&path).unwrap();
                    assert_eq!(report.unfinished, (len - ends[last]) as u64);
                }
            }
        }
        for at in 0..sample.len() {
            let mut bytes = sample.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).unwrap();
            // Damage to the last commit leaves the state before it.
            let last = ends[ends.len() - 1] - 128;
            match bloomgrove::verify(&path) {
                Err(_) => {}
                Ok(report) => assert!(at >= last && report.unfinished > 0, "byte {at}"),
            }
        }
    }
}

#[test]
fn what_is_no_file_of_ours_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("empty"), "").unwrap();
    std::fs::write(path("text"), "this is text\n".repeat(100)).unwrap();
    let filter = Filter::new(Params::for_items(10, 0.1).unwrap()).unwrap();
    filter.save(path("filter")).unwrap();
    Index::mixed().save(path("index")).unwrap();

    for (name, part) in [
        ("empty", "the file is empty"),
        ("text", "not a .grove file"),
        ("missing", "No such file"),
        (".", "this is a directory; pass a file"),
        ("index", "contains an index, not a filter"),
    ] {
        for message in [
            MappedFilter::map(path(name)).unwrap_err().to_string(),
            Filter::load(path(name)).unwrap_err().to_string(),
        ] {
            assert!(message.contains(part), "{name}: {message}");
        }
    }
    let message = Index::open(path("filter")).unwrap_err().to_string();
    assert!(message.contains("contains a filter"), "{message}");
    assert!(Index::open(path("index")).unwrap().is_empty());
}

#[test]
fn a_save_that_fails_leaves_the_old_file_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kept.grove");
    let mut filter = Filter::new(Params::for_items(10, 0.1).unwrap()).unwrap();
    filter.insert("old");
    filter.save(&path).unwrap();
    let before = std::fs::read(&path).unwrap();

    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);

    let message = filter.save(directory.path()).unwrap_err().to_string();
    assert!(message.contains("directory"), "{message}");
    let message = filter.save(path.join("below a file")).unwrap_err();
    assert!(matches!(message.kind(), Error::Io { .. }), "{message}");
    #[cfg(target_os = "linux")]
    {
        let message = filter.save("/dev/full").unwrap_err().to_string();
        assert!(message.contains("not a regular file"), "{message}");
    }
}

#[test]
#[cfg(unix)]
fn a_replaced_file_keeps_its_mode_and_a_link_its_target() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let filter = Filter::new(Params::for_items(10, 0.1).unwrap()).unwrap();
    filter.save(path("f")).unwrap();
    for mode in [0o666, 0o660, 0o600, 0o777] {
        std::fs::set_permissions(path("f"), std::fs::Permissions::from_mode(mode)).unwrap();
        filter.save(path("f")).unwrap();
        let now = std::fs::metadata(path("f")).unwrap().permissions().mode();
        assert_eq!(now & 0o777, mode);
    }
    symlink(path("f"), path("link")).unwrap();
    filter.save(path("link")).unwrap();
    assert!(
        std::fs::symlink_metadata(path("link"))
            .unwrap()
            .is_symlink()
    );
    symlink(path("nothing"), path("dangling")).unwrap();
    let message = filter.save(path("dangling")).unwrap_err().to_string();
    assert!(
        message.contains("link to a file that does not exist"),
        "{message}"
    );
    assert!(
        std::fs::symlink_metadata(path("dangling"))
            .unwrap()
            .is_symlink()
    );

    // A pipe without a writer is rejected, not waited for.
    let made = std::process::Command::new("mkfifo")
        .arg(path("pipe"))
        .status();
    assert!(made.unwrap().success());
    assert!(Filter::load(path("pipe")).is_err());
}

/// What FORMAT.md forbids, with valid checksums.
#[test]
fn forbidden_contents_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("forbidden.grove");
    let refused = |bytes: &[u8], part: &str| {
        let mut bytes = bytes.to_vec();
        crate::support::reseal(&mut bytes);
        std::fs::write(&path, &bytes).unwrap();
        let message = bloomgrove::verify(&path).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    let samples = samples();
    let (filter, index) = (&samples[0], &samples[1]);

    // A section of the other content.
    let mut wrong = filter.clone();
    wrong[10] = 2;
    refused(&wrong, "no complete commit");
    let mut wrong = index.clone();
    wrong[10] = 1;
    refused(&wrong, "not allowed in a filter");

    // Notes in another encoding: "a=1" and a line feed, at byte 256.
    assert_eq!(filter[256..260], *b"a=1\n");
    for notes in [b"a=11", b"a\n=1", b"=\n=\n", b"a=\r\n"] {
        let mut wrong = filter.clone();
        wrong[256..260].copy_from_slice(notes);
        refused(&wrong, "sorted list");
    }

    // A label that does not match the bits of its filter: the number of ones of the first. The
    // second name is after the text.
    let labels = index
        .windows(8)
        .position(|bytes| bytes == b"onetagtw")
        .unwrap()
        - 80;
    let mut wrong = index.clone();
    wrong[labels + 16] ^= 1;
    refused(&wrong, "differs from its label");
    let mut wrong = index.clone();
    wrong[labels + 40 + 24] = 200;
    refused(&wrong, "outside the text");
    // Two sets with the same number.
    let mut wrong = index.clone();
    wrong[labels + 40] = 0;
    refused(&wrong, "two sets have the same number");
}

/// A sparse file of 4 GB opens and answers queries: none of it is read.
#[test]
fn a_large_file_opens_without_being_read() {
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small.grove");
    let params = Params::builder(1 << 16, 8).build().unwrap();
    Filter::new(params).unwrap().save(&small).unwrap();
    let mut bytes = std::fs::read(&small).unwrap();

    // The same file with the bits stretched: only heads and END move.
    let large_len = 4u64 << 30;
    let put = |bytes: &mut Vec<u8>, at: usize, value: u64| {
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    };
    let seal = |bytes: &mut Vec<u8>, at: usize| {
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[at..at + 56]);
        put(bytes, at + 56, sum);
    };
    put(&mut bytes, 128, large_len * 8);
    let sum = xxhash_rust::xxh3::xxh3_64(&bytes[128..128 + 56]);
    put(&mut bytes, 64 + 24, sum);
    seal(&mut bytes, 64);
    // Params payload ends at 192, the notes are empty (head 192, payload 256).
    let bits_head = 256;
    let offset = u64::from_le_bytes(bytes[bits_head + 8..bits_head + 16].try_into().unwrap());
    assert_eq!(offset % 4096, 0);
    put(&mut bytes, bits_head + 16, large_len);
    seal(&mut bytes, bits_head);
    let mut end = bytes.split_off((offset + (1 << 13)) as usize);
    put(&mut end, 8, offset + large_len + 64);
    let heads: Vec<u8> = [64, 192, bits_head]
        .iter()
        .flat_map(|at| bytes[at + 56..at + 64].to_vec())
        .collect();
    put(&mut end, 64 + 8, xxhash_rust::xxh3::xxh3_64(&heads));
    let sum = xxhash_rust::xxh3::xxh3_64(&end[64..80]);
    put(&mut end, 24, sum);
    seal(&mut end, 0);

    let large = directory.path().join("large.grove");
    std::fs::write(&large, &bytes).unwrap();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&large)
        .unwrap();
    use std::io::{Seek, SeekFrom, Write};
    let mut file = &file;
    file.seek(SeekFrom::Start(offset + large_len)).unwrap();
    file.write_all(&end).unwrap();

    let filter = MappedFilter::map(&large).unwrap();
    assert_eq!(filter.params().bits(), large_len * 8);
    assert!((0..1000u64).all(|key| !filter.contains(&key)));
}
