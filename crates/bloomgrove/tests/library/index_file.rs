//! What can go wrong with scopes, names and files of an index: each test is a way in which an
//! earlier version did go wrong.

use bloomgrove::index::{Duplicates, Index, IndexFile, Scope, Shape};
use bloomgrove::{Error, Filter, Params, verify};
use tempfile::TempDir;

fn params(bits: u64) -> Params {
    Params::builder(bits, 3).build().unwrap()
}

fn filter(params: &Params, key: &str) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    filter.insert(key);
    filter
}

/// Sets that all hold `x`.
fn index(params: &Params, names: &[&str]) -> Index {
    let mut index = Index::new(params.clone());
    for name in names {
        index.add(name, &filter(params, "x")).unwrap();
    }
    index
}

fn named(index: &Index, scope: &Scope, key: &str) -> Result<Vec<String>, Error> {
    let found = index.within(scope)?.which(key);
    let name = |set: &bloomgrove::index::Set<'_>| String::from_utf8(set.name().to_vec()).unwrap();
    Ok(found.iter().map(name).collect())
}

#[test]
fn a_scope_is_right_or_stale_after_every_change() {
    let params = params(4096);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    type Change = fn(&mut IndexFile, &Filter);
    let changes: [(&str, Change); 11] = [
        ("remove", |index, _| {
            index.remove("a").unwrap();
        }),
        ("insert", |index, _| index.insert("a", "y").unwrap()),
        ("update", |index, more| index.update("a", more).unwrap()),
        ("replace", |index, more| {
            index.replace("a", more).unwrap();
        }),
        ("rename", |index, _| {
            index.rename("a", "n").unwrap();
        }),
        ("retag", |index, _| {
            index.set_tag("a", "t").unwrap();
        }),
        ("add", |index, more| {
            index.add("n", more).unwrap();
        }),
        ("remove and add", |index, more| {
            index.remove("a").unwrap();
            index.add("n", more).unwrap();
        }),
        ("commit", |index, _| {
            index.remove("a").unwrap();
            index.commit().unwrap();
        }),
        ("compact", |index, _| {
            index.remove("a").unwrap();
            index.compact().unwrap();
        }),
        ("merge", |index, more| {
            let mut other = Index::new(more.params().clone());
            other.add("a", more).unwrap();
            index.merge(&other, Duplicates::Unite).unwrap();
        }),
    ];
    for (what, change) in changes {
        for in_memory in [false, true] {
            let mut file = IndexFile::create(&path, &index(&params, &["a", "b", "c"])).unwrap();
            if in_memory {
                file.rearrange(Some(Shape::Loose)).unwrap();
            }
            let all = file.scope(|_| true);
            let only_b = file.scope(|set| set.name() == b"b");
            let mut more = filter(&params, "x");
            more.insert("y");
            change(&mut file, &more);
            match named(&file, &only_b, "x") {
                Ok(names) => assert_eq!(names, ["b"], "{what}"),
                Err(error) => assert!(matches!(error, Error::Stale), "{what}"),
            }
            match named(&file, &all, "x") {
                // Sets that came later are not in it; those that stayed are.
                Ok(names) => {
                    assert!(
                        names.ends_with(&["b".into(), "c".into()]),
                        "{what}: {names:?}"
                    );
                    assert_eq!(names.len() == 3, file.get("a").is_ok(), "{what}: {names:?}");
                }
                Err(error) => assert!(matches!(error, Error::Stale), "{what}"),
            }
        }
    }
    // Nor does it fit another index, whatever that has been through.
    let one = index(&params, &["a", "b"]);
    let other = index(&params, &["c", "d"]);
    assert!(matches!(
        other.within(&one.scope(|_| true)),
        Err(Error::Stale)
    ));
}

#[test]
fn a_set_of_slices_is_renamed_as_a_whole() {
    let params = params(4096);
    let mut index = Index::new(params.clone());
    for slice in 1..=3 {
        index
            .add_slice("old", slice, &filter(&params, "x"))
            .unwrap();
    }
    index.rename("old", "new").unwrap();
    index.assert_invariants();
    assert_eq!(index.len(), 1);
    assert!(index.get("old").is_err());
    index.add("old", &filter(&params, "z")).unwrap();
    let folder = TempDir::new().unwrap();
    index.save(folder.path().join("index.grove")).unwrap();
    verify(folder.path().join("index.grove")).unwrap();
}

#[test]
fn nobody_replaces_a_file_under_a_writer_and_no_commit_goes_nowhere() {
    let params = params(4096);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    let empty = Index::new(params.clone());
    empty.save(&path).unwrap();
    let mut file = IndexFile::open(&path).unwrap();
    let busy =
        |result: Result<(), Error>| assert!(matches!(result.unwrap_err().kind(), Error::Busy));
    busy(empty.save(&path));
    busy(IndexFile::create(&path, &empty).map(drop));
    file.add("a", &filter(&params, "x")).unwrap();
    file.commit().unwrap();
    assert_eq!(Index::open(&path).unwrap().count("x"), 1);

    // Somebody who knows no locks: said, and not written where nobody looks.
    let other = folder.path().join("other.grove");
    empty.save(&other).unwrap();
    std::fs::rename(&other, &path).unwrap();
    file.add("b", &filter(&params, "x")).unwrap();
    for result in [file.commit(), file.compact()] {
        assert!(matches!(result.unwrap_err().kind(), Error::Replaced));
    }
    assert_eq!(
        Index::open(&path).unwrap().len(),
        0,
        "theirs is as they left it"
    );
    drop(file);
    empty.save(&path).unwrap();
}

#[test]
fn an_unfinished_end_stays_until_something_is_appended() {
    let params = params(4096);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    let mut file = IndexFile::create(&path, &Index::new(params.clone())).unwrap();
    file.add("a", &filter(&params, "x")).unwrap();
    file.commit().unwrap();
    drop(file);
    let whole = std::fs::read(&path).unwrap();
    // A bit of the last commit has gone bad: perhaps somebody can still mend it.
    let mut bad = whole.clone();
    let at = bad.len() - 60;
    bad[at] ^= 1;
    std::fs::write(&path, &bad).unwrap();
    assert!(verify(&path).unwrap().unfinished > 0);
    drop(IndexFile::open(&path).unwrap());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), bad.len() as u64);
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(Index::open(&path).unwrap().count("x"), 1);
    // What was never finished, longer than what comes next.
    let mut torn = whole.clone();
    torn.extend_from_slice(&[7; 100_000]);
    std::fs::write(&path, &torn).unwrap();
    let mut file = IndexFile::open(&path).unwrap();
    file.remove("a").unwrap();
    file.commit().unwrap();
    assert_eq!(verify(&path).unwrap().unfinished, 0);
}

#[test]
fn damaged_bits_are_an_error_when_they_are_moved() {
    let params = params(65);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    index(&params, &["a", "b", "c"]).save(&path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // The payload of the first section, which is bits: bit 127 of a filter of 65.
    bytes[128 + 15] |= 0x80;
    std::fs::write(&path, &bytes).unwrap();
    for shape in Shape::ALL {
        let mut index = Index::open(&path).unwrap();
        let moved = index.rearrange(Some(shape));
        assert!(matches!(moved, Err(Error::Corrupt { .. })), "{shape:?}");
        assert_eq!(index.count("x"), 3, "as it was");
    }
    let mut other = Index::new(params);
    let merged = other.merge(&Index::open(&path).unwrap(), Duplicates::Refuse);
    assert!(merged.is_err());
}

#[test]
fn a_file_is_written_anew_when_it_is_mostly_out_of_use_and_only_then() {
    use std::os::unix::fs::MetadataExt;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    let look = || std::fs::metadata(&path).unwrap();
    // Small filters with long names and tags, as of files: one more is one more.
    let small = params(256);
    let mut file = IndexFile::create(&path, &Index::new(small.clone())).unwrap();
    let one = filter(&small, "x");
    for i in 0..20_000 {
        let name = format!("folder/of/some/length/file-{i:010}.txt.gz");
        file.add_tagged(name, [0; 64], &one).unwrap();
    }
    file.commit().unwrap();
    for i in 0..4 {
        let before = look().ino();
        file.add(format!("more-{i}"), &one).unwrap();
        file.commit().unwrap();
        assert_eq!(look().ino(), before, "appended");
    }
    drop(file);

    // Nearly all removed: the room is given back, sealed or not.
    let large = params(4096);
    for seal in [false, true] {
        let mut index = Index::new(large.clone());
        for i in 0..5000 {
            index
                .add(format!("{i}"), &filter(&large, &format!("k{i}")))
                .unwrap();
        }
        if seal {
            index.seal().unwrap();
        }
        let mut file = IndexFile::create(&path, &index).unwrap();
        let full = look().len();
        for i in 1..5000 {
            file.remove(format!("{i}")).unwrap();
        }
        file.commit().unwrap();
        file.compact().unwrap();
        assert!(
            look().len() < full / 5,
            "sealed {seal}: {} of {full}",
            look().len()
        );
        assert_eq!(file.count("k0"), 1);
        verify(&path).unwrap();
    }
}

#[test]
fn a_file_that_cannot_be_written_anew_grows() {
    let params = params(4096);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    let mut file = IndexFile::create(&path, &Index::new(params.clone())).unwrap();
    for i in 0..2000 {
        file.add(format!("{i}"), &filter(&params, "x")).unwrap();
    }
    file.commit().unwrap();
    // Its folder is gone, as of an index that is not to be kept; the file itself stays open.
    drop(folder);
    for _ in 0..6 {
        for i in 0..2000 {
            file.replace(format!("{i}"), &filter(&params, "x")).unwrap();
        }
        file.commit().unwrap();
        assert_eq!(file.pending_bytes(), 0);
    }
    assert_eq!(file.count("x"), 2000);
}

#[test]
fn replaced_sets_are_laid_out_as_new_ones_are() {
    let params = params(1024);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    let mut index = Index::new(params.clone());
    for i in 0..500 {
        index
            .add(format!("{i}"), &filter(&params, &format!("k{i}")))
            .unwrap();
    }
    let mut file = IndexFile::create(&path, &index).unwrap();
    for i in 0..500 {
        file.replace(format!("{i}"), &filter(&params, &format!("n{i}")))
            .unwrap();
    }
    file.assert_invariants();
    let open = file.segments();
    let open = open.iter().find(|info| !info.in_file).unwrap();
    assert_eq!((open.sets, open.shape), (500, open.choice.shape));
    for i in 0..500 {
        assert!(file.any(format!("n{i}").as_str()));
    }
}

#[test]
fn names_that_come_and_go_do_not_pile_up() {
    let params = params(64);
    let mut index = Index::new(params.clone());
    let one = filter(&params, "x");
    let name = |i: usize| format!("{i:0>200}");
    index.add(name(0), &one).unwrap();
    for i in 1..20_000 {
        index.rename(name(i - 1), name(i)).unwrap();
    }
    index.add("other", &one).unwrap();
    index.assert_invariants();
    assert_eq!(
        index.get(name(19_999)).unwrap().name(),
        name(19_999).as_bytes()
    );
    let folder = TempDir::new().unwrap();
    index.save(folder.path().join("index.grove")).unwrap();
    let size = std::fs::metadata(folder.path().join("index.grove"))
        .unwrap()
        .len();
    assert!(size < 4096, "{size}");
}

/// A reader opens the file while others leave unfinished ends and cut them off.
#[test]
fn opening_beside_a_writer_that_cuts_off_never_fails() {
    use std::io::{Seek, SeekFrom, Write};
    let params = params(1 << 14);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    let mut file = IndexFile::create(&path, &index(&params, &["a"])).unwrap();
    let start = std::fs::metadata(&path).unwrap().len() as usize;
    for i in 0..50 {
        file.add(format!("b{i}"), &filter(&params, "x")).unwrap();
    }
    file.commit().unwrap();
    drop(file);
    // Whole sections, and no commit.
    let bytes = std::fs::read(&path).unwrap();
    let tail = bytes[start..bytes.len() - 128].to_vec();
    let handle = std::fs::File::options().write(true).open(&path).unwrap();
    handle.set_len(start as u64).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut handle = std::fs::File::options().write(true).open(&path).unwrap();
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                handle.seek(SeekFrom::Start(start as u64)).unwrap();
                handle.write_all(&tail).unwrap();
                handle.set_len(start as u64).unwrap();
            }
        });
        for _ in 0..3000 {
            let index = Index::open(&path).unwrap();
            assert_eq!(index.count("x"), 1);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn the_bytes_of_an_index_are_those_of_its_file() {
    let params = params(4096);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    let names: Vec<String> = (0..130).map(|set| format!("set {set}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for shape in Shape::ALL {
        let mut index = index(&params, &names);
        index.rearrange(Some(shape)).unwrap();
        index.save(&path).unwrap();
        let mut bytes = Vec::new();
        index.write_to(&mut bytes).unwrap();
        assert!(bytes == std::fs::read(&path).unwrap(), "{shape:?}");
        let mut back = Index::from_bytes(&bytes).unwrap();
        assert_eq!((back.len(), back.count("x")), (130, 130), "{shape:?}");
        // It can be changed and saved as any other.
        back.insert("set 7", "y").unwrap();
        back.save(&path).unwrap();
        assert_eq!(Index::open(&path).unwrap().count("y"), 1);
        for at in (0..bytes.len()).step_by(211) {
            bytes[at] ^= 1;
            assert!(Index::from_bytes(&bytes).is_err(), "{shape:?}: byte {at}");
            bytes[at] ^= 1;
        }
        assert!(Index::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    }
    let mut bytes = Vec::new();
    filter(&params, "x").write_to(&mut bytes).unwrap();
    let error = Index::from_bytes(&bytes).unwrap_err();
    assert!(matches!(error, Error::WrongContent { .. }), "{error}");
}
