//! Files that redb wrote, read without redb.

use std::collections::BTreeMap;

use redb::{Database, ReadableDatabase, TableDefinition, TableHandle};

use super::layout::Table;
use super::pages::Row;
use super::*;

const NUMBERS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("numbers");
const PAIRS: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("pairs");
const TEXTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("texts");
const KIND: Kind = Kind {
    what: "test",
    tables: &["numbers", "pairs", "texts"],
    format: 1,
};

/// Values of very different sizes, depending on a number.
fn value(n: u64) -> Vec<u8> {
    let size = match n % 97 {
        0 => 300_000,
        1..5 => 5000,
        small => small as usize,
    };
    (0..size).map(|i| (i as u64 * 31 + n) as u8).collect()
}

fn filled(path: &Path, entries: u64) {
    let file = new_beside(path, 1 << 20, |database| {
        for some in 0..4 {
            let write = database.begin_write()?;
            {
                let mut meta = Meta::open(&write)?;
                let mut numbers = meta.ledger(&write, NUMBERS)?;
                let mut pairs = meta.ledger(&write, PAIRS)?;
                let mut texts = meta.ledger(&write, TEXTS)?;
                for n in (some * entries / 4)..((some + 1) * entries / 4) {
                    let n = n * 7919 % entries;
                    numbers.insert(n, &value(n))?;
                    pairs.insert((n / 10, n), &value(n + 1))?;
                    texts.insert(format!("text {n}").as_str(), &value(n + 2))?;
                }
                numbers.remove(some)?;
                pairs.remove_all((some, 0)..=(some, u64::MAX))?;
                meta.close(numbers)?;
                meta.close(pairs)?;
                meta.close(texts)?;
                meta.set("format", &1u64.to_le_bytes())?;
            }
            write.commit()?;
        }
        Ok(())
    });
    file.unwrap().persist(path).unwrap();
}

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

fn by_pages(pages: &Pages, table: &Table) -> Entries {
    let mut entries = BTreeMap::new();
    let each = |row: Row<'_>| match row {
        Row::Entry(key, value) => {
            entries.insert(key.to_vec(), value.to_vec());
            Ok(())
        }
        Row::Lost(at) => anyhow::bail!("lost at {at}"),
    };
    pages.rows(table, each).unwrap();
    entries
}

fn by_redb<K: redb::Key + 'static>(
    database: &Database,
    table: TableDefinition<'static, K, &'static [u8]>,
) -> (String, Entries) {
    use redb::ReadableTable;
    let read = database.begin_read().unwrap();
    let entries = read.open_table(table).unwrap();
    let entries = entries.iter().unwrap().map(|entry| {
        let (key, value) = entry.unwrap();
        let key = K::as_bytes(&key.value()).as_ref().to_vec();
        (key, value.value().to_vec())
    });
    (table.name().to_owned(), entries.collect())
}

#[test]
fn pages_have_what_redb_finds() {
    for entries in [0, 4, 400, 4000] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.redb");
        filled(&path, entries);
        let found = {
            let pages = Pages::open(&path).unwrap();
            assert!(pages.examine(&KIND).unwrap().is_sound());
            let (tables, whole) = pages.tables(&pages.slots[0], true).unwrap();
            assert!(whole);
            let each = tables.iter().filter(|(name, _)| *name != "meta");
            let each = each.map(|(name, table)| (name.clone(), by_pages(&pages, table)));
            each.collect::<BTreeMap<_, _>>()
        };
        let database = Database::open(&path).unwrap();
        let wanted = [
            by_redb(&database, NUMBERS),
            by_redb(&database, PAIRS),
            by_redb(&database, TEXTS),
        ];
        assert_eq!(found, BTreeMap::from(wanted), "{entries}");
    }
}

#[test]
fn a_file_that_is_in_use_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.redb");
    filled(&path, 10);
    let database = open(&path, 1 << 20).unwrap();
    let told = format!("{:#}", Pages::open(&path).unwrap_err());
    assert!(told.contains("another process"), "{told}");
    assert!(format!("{:#}", open(&path, 0).unwrap_err()).contains("another process"));
    drop(database);
    Pages::open(&path).unwrap();
}

#[test]
fn what_is_noted_beside_a_file_is_of_that_file_or_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.redb");
    assert_eq!(Head::missed(&path, 1, 0), None);
    {
        let head = Head::open(&path, 1, 5).unwrap();
        head.note(7).unwrap();
    }
    assert!(Head::missed(&path, 1, 6).unwrap().contains("version 7"));
    assert_eq!(Head::missed(&path, 1, 7), None);
    assert_eq!(Head::missed(&path, 2, 6), None);
    let note = path.with_extension("head");
    let good = std::fs::read(&note).unwrap();
    for byte in 0..good.len() {
        let mut bad = good.clone();
        bad[byte] ^= 4;
        std::fs::write(&note, bad).unwrap();
        assert_eq!(Head::missed(&path, 1, 6), None);
    }
}

/// A file that accepts `left` more writes, and then fails.
#[derive(Debug)]
struct Failing {
    file: redb::backends::FileBackend,
    left: std::sync::atomic::AtomicUsize,
}

impl Failing {
    fn spend(&self) -> std::io::Result<()> {
        use std::sync::atomic::Ordering::Relaxed;
        let spent = self
            .left
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        spent
            .map(drop)
            .map_err(|_| std::io::Error::other("the power is gone"))
    }
}

impl redb::StorageBackend for Failing {
    fn len(&self) -> std::io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.spend()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.spend()?;
        self.file.write(offset, data)
    }

    fn close(&self) -> std::io::Result<()> {
        self.file.close()
    }
}

/// When redb opens a file that was not closed, it repairs it; whenever that is interrupted, nothing is damaged. The header
/// may then name the older of two commits though it says that the file was closed.
#[test]
fn a_repair_that_was_cut_off_is_no_damage() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, open) = (
        directory.path().join("a.redb"),
        directory.path().join("b.redb"),
    );
    filled(&whole, 100);
    {
        let database = Database::open(&whole).unwrap();
        let write = database.begin_write().unwrap();
        let mut meta = Meta::open(&write).unwrap();
        let mut numbers = meta.ledger(&write, NUMBERS).unwrap();
        numbers.insert(1 << 20, b"one more").unwrap();
        meta.close(numbers).unwrap();
        drop(meta);
        write.commit().unwrap();
        std::fs::copy(&whole, &open).unwrap();
    }
    let path = directory.path().join("c.redb");
    for writes in 0.. {
        std::fs::copy(&open, &path).unwrap();
        let mut options = std::fs::File::options();
        let file = options.read(true).write(true).open(&path).unwrap();
        let failing = Failing {
            file: redb::backends::FileBackend::new(file).unwrap(),
            left: writes.into(),
        };
        let opened = Database::builder().create_with_backend(failing);
        let was_cut = opened.is_err();
        drop(opened);
        let pages = Pages::open(&path).unwrap();
        let examined = pages.examine(&KIND).unwrap();
        assert!(examined.is_sound(), "{writes}: {:?}", examined.faults);
        if !was_cut {
            break;
        }
        assert!(writes < 1000, "the repair does not end");
    }
}
