//! A disk that fails: what the store says of a commit is true.

use std::sync::atomic::AtomicI64;

use redb::StorageBackend;
use redb::backends::FileBackend;

use super::*;

/// A file whose n-th wait for the disk fails, once.
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
        let record: Record = serde_json::from_slice(set.unwrap().1.value()).unwrap();
        record.name
    });
    names.collect()
}

#[test]
fn a_commit_that_failed_is_not_there_or_said_to_be() {
    let mut told = Vec::new();
    for fails in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), None).unwrap();
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
                let again = Store::open(folder.path(), None).unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    store.commit(&[record("first", 1)], 1).unwrap();
    *store.slot() = None;
    let away = folder.path().join("away");
    std::fs::rename(&store.path, &away).unwrap();
    let lost = store.commit(&[record("second", 2)], 2);
    assert!(matches!(lost, Err(CommitError::Unknown(_))), "{lost:?}");
    assert!(!store.path.exists());
    // Another one in its place is not taken for it.
    drop(Store::open(&folder.path().join("."), None).unwrap());
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
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), None).unwrap();
        store.commit(&[record("first", 1)], 1).unwrap();
        let path = store.path.clone();
        drop(store);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();
        let told = format!("{:#}", Store::open(folder.path(), None).unwrap_err());
        assert!(
            told.contains("damaged") && told.contains("--restore"),
            "{length}: {told}"
        );
        assert_eq!(std::fs::metadata(&path).unwrap().len(), length);
    }
}

#[test]
fn stores_from_before_there_were_sites_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    store.commit(&[record("first", 1)], 1).unwrap();
    {
        let database = store.opened().unwrap();
        let write = database.begin_write().unwrap();
        assert!(write.delete_table(SITES).unwrap());
        write.commit().unwrap();
    }
    drop(store);
    let store = Store::open(folder.path(), None).unwrap();
    assert_eq!(names(&store), ["first"]);
    assert_eq!(store.sites().unwrap(), []);
    let site = SiteRecord {
        url: "http://a".into(),
        key: Some("s3cret".into()),
        period: 60,
    };
    assert!(!format!("{site:?}").contains("s3cret"));
    let write = Write::Site("a".into(), Some(site.clone()));
    store.commit(&[write], 2).unwrap();
    drop(store);
    let store = Store::open(folder.path(), None).unwrap();
    assert_eq!(store.sites().unwrap(), [("a".to_owned(), site)]);
}

#[test]
fn a_store_has_a_number_of_its_own_that_stays() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let id = |folder: &Path| Store::open(folder, None).unwrap().id();
    let first = id(one.path());
    assert_eq!(id(one.path()), first);
    assert_ne!(id(two.path()), first);
    // One from before there were numbers gets its own when it is opened.
    {
        let database = Database::create(one.path().join("store.redb")).unwrap();
        let write = database.begin_write().unwrap();
        write.open_table(META).unwrap().remove("store").unwrap();
        write.commit().unwrap();
    }
    let second = id(one.path());
    assert_ne!(second, first);
    assert_eq!(id(one.path()), second);
}
