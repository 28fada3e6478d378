//! A disk that fails: what the store reports about a commit is true.

use std::io;
use std::sync::atomic::AtomicI64;

use redb::StorageBackend;
use redb::backends::FileBackend;

use super::*;

/// A file whose n-th sync fails, once.
#[derive(Debug)]
struct Failing {
    file: FileBackend,
    left: Arc<AtomicI64>,
}

impl StorageBackend for Failing {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.left.fetch_sub(1, Relaxed) {
            0 => Err(io::Error::other("the disk is broken")),
            _ => self.file.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}

fn record(name: &str, version: u64) -> Write {
    let record = Record {
        name: name.into(),
        tags: Vec::new(),
        version,
        whole: version,
        created: 0,
        changed: 0,
        expires: None,
    };
    Write::Set(version, record)
}

fn names(store: &Store) -> Vec<String> {
    let read = store.reading().unwrap();
    let sets = read.open_table(SETS).unwrap();
    let names = sets.iter().unwrap().map(|set| {
        let (id, record) = set.unwrap();
        let record = verified(SETS, &id.value(), record.value())
            .unwrap()
            .to_vec();
        let record: Record = serde_json::from_slice(&record).unwrap();
        record.name
    });
    names.collect()
}

#[test]
fn a_commit_that_failed_is_not_there_or_said_to_be() {
    let mut told = Vec::new();
    for fails in 0..4 {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), None).unwrap();
        store.commit(&[record("first", 1)], 1).unwrap();
        // The same file, on a disk that fails.
        *store.slot() = None;
        let left = Arc::new(AtomicI64::new(i64::MAX));
        let file = std::fs::File::options()
            .read(true)
            .write(true)
            .open(&store.path);
        let failing = Failing {
            file: FileBackend::new(file.unwrap()).unwrap(),
            left: left.clone(),
        };
        let database = Database::builder().create_with_backend(failing).unwrap();
        *store.slot() = Some(Arc::new(database));
        left.store(fails, Relaxed);
        let committed = store.commit(&[record("second", 2)], 2);
        left.store(i64::MAX, Relaxed);
        match committed {
            Ok(()) => {
                told.push("made");
                assert_eq!(names(&store), ["first", "second"]);
            }
            Err(CommitError::NotMade(_)) => {
                told.push("not made");
                assert_eq!(names(&store), ["first"]);
                store.commit(&[record("third", 3)], 3).unwrap();
                assert_eq!(names(&store), ["first", "third"]);
            }
            Err(CommitError::Diverged(_)) => {
                told.push("diverged");
                drop(store);
                let again = Store::open(directory.path(), None).unwrap();
                assert_eq!(names(&again), ["first", "second"]);
            }
            Err(CommitError::Unknown(error)) => panic!("{error:#}"),
        }
    }
    assert!(told.contains(&"made"), "no commit succeeded: {told:?}");
    assert!(
        told.iter().any(|told| *told != "made"),
        "no commit failed: {told:?}"
    );
}

#[test]
fn a_store_that_is_gone_is_not_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), None).unwrap();
    store.commit(&[record("first", 1)], 1).unwrap();
    *store.slot() = None;
    let away = directory.path().join("away");
    std::fs::rename(&store.path, &away).unwrap();
    let lost = store.commit(&[record("second", 2)], 2);
    assert!(matches!(lost, Err(CommitError::Unknown(_))), "{lost:?}");
    assert!(!store.path.exists());
    // Another file in its place is not accepted.
    drop(Store::open(&directory.path().join("."), None).unwrap());
    let other = store.commit(&[record("second", 2)], 2);
    assert!(matches!(other, Err(CommitError::Diverged(_))), "{other:?}");
    std::fs::rename(&away, &store.path).unwrap();
    store.commit(&[record("second", 2)], 2).unwrap();
    assert_eq!(names(&store), ["first", "second"]);
}

#[test]
fn a_set_is_stored_as_format_md_says() {
    let json =
        r#"{"name":"a","tags":["x"],"version":5,"whole":3,"created":1,"changed":2,"expires":9}"#;
    let record: Record = serde_json::from_str(json).unwrap();
    assert_eq!(
        (record.version, record.whole, record.expires),
        (5, 3, Some(9))
    );
    assert_eq!(serde_json::to_string(&record).unwrap(), json);
    let least = r#"{"name":"a","version":5,"whole":3,"created":1,"changed":2}"#;
    let record: Record = serde_json::from_str(least).unwrap();
    assert_eq!(serde_json::to_string(&record).unwrap(), least);
}

#[test]
fn damaged_stores_are_named_and_nothing_is_made_in_their_place() {
    for length in [0, 10, 5000, 100_000] {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), None).unwrap();
        store.commit(&[record("first", 1)], 1).unwrap();
        let path = store.path.clone();
        drop(store);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();
        let told = format!("{:#}", Store::open(directory.path(), None).unwrap_err());
        assert!(
            told.contains("damaged") && told.contains("--restore") && told.contains("--salvage"),
            "{length}: {told}"
        );
        assert_eq!(std::fs::metadata(&path).unwrap().len(), length);
    }
}

#[test]
fn sites_are_kept_and_their_keys_are_not_shown() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), None).unwrap();
    let site = SiteRecord {
        url: "http://a".into(),
        key: Some("s3cret".into()),
        period: 60,
    };
    assert!(!format!("{site:?}").contains("s3cret"));
    let write = Write::Site("a".into(), Some(site.clone()));
    store.commit(&[write], 2).unwrap();
    drop(store);
    let store = Store::open(directory.path(), None).unwrap();
    assert_eq!(store.sites().unwrap(), [("a".to_owned(), site)]);
}

#[test]
fn a_store_has_a_number_of_its_own_that_stays() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let id = |directory: &Path| Store::open(directory, None).unwrap().id();
    let first = id(one.path());
    assert_eq!(id(one.path()), first);
    assert_ne!(id(two.path()), first);
}

/// A page that is damaged while the store is open gets a valid checksum from redb when its neighbours change. The checksums
/// of entries and the totals of tables detect it nevertheless.
#[test]
fn entries_that_changed_moved_or_vanished_behind_our_back_are_noticed() {
    type Change = fn(&mut redb::Table<'_, (u64, u64), &'static [u8]>);
    let changes: [(&str, Change); 4] = [
        ("wrong checksum", |deltas| {
            let mut value = deltas.get((1, 5)).unwrap().unwrap().value().to_vec();
            value[0] ^= 1;
            deltas.insert((1, 5), value.as_slice()).unwrap();
        }),
        ("wrong checksum", |deltas| {
            let one = deltas.get((1, 5)).unwrap().unwrap().value().to_vec();
            deltas.insert((2, 6), one.as_slice()).unwrap();
        }),
        ("3 entries, but 4 were written", |deltas| {
            deltas.remove((1, 5)).unwrap();
        }),
        ("not the ones that were written", |deltas| {
            // An older entry instead of the current one.
            deltas.remove((1, 5)).unwrap();
            let old = [&b"gone"[..], &disk::checksum("deltas", &key(1, 4), b"gone")].concat();
            deltas.insert((1, 4), old.as_slice()).unwrap();
        }),
    ];
    for (word, change) in changes {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), None).unwrap();
        let mut writes = vec![record("first", 1), record("second", 2)];
        writes.extend([1, 2].map(|id| Write::Filter(id, vec![7])));
        writes.extend(
            [(1, 5), (2, 6), (1, 7), (2, 8)].map(|(id, version)| Write::Delta {
                id,
                version,
                bytes: vec![id as u8, version as u8],
            }),
        );
        store.commit(&writes, 8).unwrap();
        let path = store.path.clone();
        drop(store);
        {
            let database = Database::open(&path).unwrap();
            let write = database.begin_write().unwrap();
            change(&mut write.open_table(DELTAS).unwrap());
            write.commit().unwrap();
        }
        let told = format!("{:#}", Store::open(directory.path(), None).unwrap_err());
        assert!(told.contains(word) && told.contains("`deltas`"), "{told}");
        // Nothing is kept that may be incomplete.
        let said = salvage(directory.path()).unwrap().join("\n");
        assert!(said.contains("first"), "{said}");
        assert!(
            !names(&Store::open(directory.path(), None).unwrap()).contains(&"first".to_owned())
        );
    }
}

fn key(id: u64, version: u64) -> Vec<u8> {
    [id.to_le_bytes(), version.to_le_bytes()].concat()
}

#[test]
fn stores_of_other_formats_are_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE);
    {
        // As it was before there were checksums.
        let database = Database::create(&path).unwrap();
        let write = database.begin_write().unwrap();
        let meta: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
        write.open_table(meta).unwrap().insert("format", 1).unwrap();
        for table in STORE.tables {
            let table: TableDefinition<'_, u64, &[u8]> = TableDefinition::new(table);
            write.open_table(table).unwrap();
        }
        write.commit().unwrap();
    }
    let before = std::fs::read(&path).unwrap();
    let told = format!("{:#}", Store::open(directory.path(), None).unwrap_err());
    assert!(told.contains("format"), "{told}");
    assert!(salvage(directory.path()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// Prints the cost of checking at a start, and of checksums and totals in a commit. By hand:
/// `cargo test --release -p bloomgrove-server --lib what_checks_cost -- --ignored --nocapture`, with `TMPDIR` in memory, so
/// that the disk is not measured.
#[test]
#[ignore = "a measurement"]
fn what_checks_cost() {
    use std::time::Instant;
    const SETS: u64 = 100_000;
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), None).unwrap();
    for some in (0..SETS).step_by(1000) {
        let of = |n: u64| {
            let id = some + n + 1;
            [
                record(&format!("set-{id}"), id),
                Write::Filter(id, vec![n as u8; 200]),
            ]
        };
        let writes: Vec<Write> = (0..1000).flat_map(of).collect();
        store.commit(&writes, some + 1000).unwrap();
    }
    let each = |version: u64| Write::Delta {
        id: version % SETS + 1,
        version,
        bytes: vec![1; 40],
    };
    let started = Instant::now();
    for version in SETS..SETS + 2000 {
        store.commit(&[each(version)], version).unwrap();
    }
    let ours = started.elapsed() / 2000;
    drop(store);
    let path = directory.path().join(FILE);
    let bytes = std::fs::metadata(&path).unwrap().len();
    let started = Instant::now();
    salvage::check(&path).unwrap();
    println!("checking {bytes} bytes: {:?}", started.elapsed());
    // The same without checksums and totals. This damages the store.
    let database = disk::open(&path, CACHE).unwrap();
    let plain: TableDefinition<'_, &str, u64> = TableDefinition::new("plain");
    let started = Instant::now();
    for version in SETS..SETS + 2000 {
        let write = database.begin_write().unwrap();
        let key = (version % SETS + 1, version + 2000);
        let mut deltas = write.open_table(DELTAS).unwrap();
        deltas.insert(key, &[1; 40][..]).unwrap();
        drop(deltas);
        let mut versions = write.open_table(plain).unwrap();
        versions.insert("version", version).unwrap();
        drop(versions);
        write.commit().unwrap();
    }
    let without = started.elapsed() / 2000;
    println!("a commit of one delta: {ours:?}; without checks {without:?}");
}
