//! Snapshots: a copy of a store at one point in time in a separate file, and restoring a store from one.

use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove_http::disk::{Damaged, Examined, Meta, Pages, new_beside, sync_name, verified};
use redb::{Database, Durability, ReadTransaction, ReadableTable, TableDefinition, TableHandle};
use tempfile::NamedTempFile;

use super::{DELTAS, FILTERS, Record, SETS, SITES, STORE, SiteRecord, Store, Write, fill, put};

/// After a restore, versions continue this much higher, plus a random number: clients may know versions
/// that the snapshot does not have, and neither these nor those of another restore may be assigned again.
const RESTORED: u64 = 1 << 32;
/// Bytes copied per transaction of a snapshot, all of which are in memory at once.
const CHUNK: usize = 8 << 20;

impl Store {
    /// Copies everything to a new file, while others write; returns the number of bytes.
    pub(in crate::coordinator) fn snapshot(&self, to: &Path) -> Result<u64> {
        let read = self.reading()?;
        let file = new_beside(to, CHUNK, |copy| {
            copy_table(&read, copy, SETS)?;
            copy_table(&read, copy, FILTERS)?;
            copy_table(&read, copy, DELTAS)?;
            copy_table(&read, copy, SITES)?;
            // The first synced commit, which also makes all earlier ones durable.
            copy_meta(&read, copy)
        })?;
        let bytes = file.as_file().metadata()?.len();
        file.persist_noclobber(to)?;
        sync_name(to)?;
        Ok(bytes)
    }
}

/// Copies a table, some megabytes per transaction, and checks that it is complete.
fn copy_table<K: redb::Key + 'static>(
    from: &ReadTransaction,
    to: &Database,
    table: TableDefinition<'static, K, &'static [u8]>,
) -> Result<()> {
    let rows = from.open_table(table)?;
    let mut rows = rows.iter()?.peekable();
    loop {
        let mut write = to.begin_write()?;
        write.set_durability(Durability::None)?;
        {
            let mut meta = Meta::open(&write)?;
            let mut into = meta.ledger(&write, table)?;
            let mut bytes = 0;
            while bytes < CHUNK
                && let Some(row) = rows.next()
            {
                let (key, value) = row?;
                let payload = verified(table, &key.value(), value.value())?;
                bytes += payload.len() + 64;
                into.insert(key.value(), payload)?;
            }
            if rows.peek().is_none() && into.account() != Meta::read_account(from, table.name())? {
                let what = format!(
                    "`{}` does not contain the entries that were written",
                    table.name()
                );
                return Err(Damaged::of(vec![what]));
            }
            meta.close(into)?;
        }
        write.commit()?;
        if rows.peek().is_none() {
            return Ok(());
        }
    }
}

fn copy_meta(from: &ReadTransaction, to: &Database) -> Result<()> {
    let write = to.begin_write()?;
    {
        let mut meta = Meta::open(&write)?;
        for key in ["format", "version", "store"] {
            meta.set(key, &Meta::read(from, key)?)?;
        }
    }
    Ok(write.commit()?)
}

/// Restores a snapshot to a path where no store exists: completely or not at all.
///
/// The versions that clients know belong to a state that may be gone, so every set gets a new one: a client that builds on
/// another is told to send the whole filter.
pub(super) fn restore(snapshot: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        bail!(
            "{}: there is already a store, and restoring {} would overwrite it; restore into an \
             empty data directory",
            to.display(),
            snapshot.display()
        );
    }
    let restore = || -> Result<()> {
        let pages = Pages::open(snapshot).map_err(|error| match error.is::<Damaged>() {
            true => error.context("not a snapshot of a server, or damaged"),
            false => error,
        })?;
        let examined = pages.examine(&STORE)?;
        if !examined.is_sound() {
            let damaged = Damaged::of(examined.faults);
            return Err(damaged.context("the snapshot is damaged; use another one"));
        }
        let file = rebuild(&pages, &examined, to, 0, |_| true)?;
        file.persist_noclobber(to)?;
        sync_name(to)
    };
    restore().with_context(|| format!("cannot restore {}", snapshot.display()))
}

/// A new store with some sets of another one, and all its sites. Its versions are higher than all versions assigned before,
/// and higher than `least`.
pub(super) fn rebuild(
    pages: &Pages,
    from: &Examined,
    beside: &Path,
    least: u64,
    wanted: impl Fn(u64) -> bool,
) -> Result<NamedTempFile> {
    let version = from.number("version").unwrap_or(0).max(least);
    let version = version + RESTORED + u64::from(rand::random::<u32>());
    new_beside(beside, CHUNK, |database| {
        fill(database, version)?;
        let mut batch = Rewrite {
            database,
            version,
            writes: Vec::new(),
            bytes: 0,
        };
        from.rows(pages, "sets", |row| match row.and_then(set) {
            Some((id, mut record)) if wanted(id) => {
                (record.version, record.whole) = (version, version);
                batch.add(Write::Set(id, record), 200)
            }
            // An unreadable set in this version must not vanish silently.
            None if from.is_sound() => bail!("the properties of a set are unreadable"),
            _ => Ok(()),
        })?;
        from.rows(pages, "filters", |row| match row.and_then(filter) {
            Some((id, message)) if wanted(id) => {
                batch.add(Write::Filter(id, message.to_vec()), message.len())
            }
            _ => Ok(()),
        })?;
        from.rows(pages, "deltas", |row| match row.and_then(delta) {
            Some((id, version, bytes)) if wanted(id) => {
                let (bytes, size) = (bytes.to_vec(), bytes.len());
                batch.add(Write::Delta { id, version, bytes }, size)
            }
            _ => Ok(()),
        })?;
        from.rows(pages, "sites", |row| match row.and_then(site) {
            Some((name, record)) => batch.add(Write::Site(name.into(), Some(record)), 200),
            None => Ok(()),
        })?;
        batch.write(Durability::Immediate)
    })
}

/// Writes for a new store, some megabytes per transaction.
struct Rewrite<'a> {
    database: &'a Database,
    version: u64,
    writes: Vec<Write>,
    bytes: usize,
}

impl Rewrite<'_> {
    fn add(&mut self, write: Write, bytes: usize) -> Result<()> {
        self.writes.push(write);
        self.bytes += bytes + 64;
        match self.bytes < CHUNK {
            true => Ok(()),
            // The last one is synced, which also makes all earlier ones durable.
            false => self.write(Durability::None),
        }
    }

    fn write(&mut self, durability: Durability) -> Result<()> {
        let mut write = self.database.begin_write()?;
        write.set_durability(durability)?;
        put(&write, &self.writes, self.version)?;
        self.writes.clear();
        self.bytes = 0;
        Ok(write.commit()?)
    }
}

/// Decodes a key.
fn id(key: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(key.try_into().ok()?))
}

/// Decodes the entry of a set.
pub(super) fn set((key, record): (&[u8], &[u8])) -> Option<(u64, Record)> {
    Some((id(key)?, serde_json::from_slice(record).ok()?))
}

/// Decodes the entry of a filter: its set, and the filter.
pub(super) fn filter<'a>((key, message): (&[u8], &'a [u8])) -> Option<(u64, &'a [u8])> {
    Some((id(key)?, message))
}

/// Decodes the entry of a delta: its set, the version and the bytes.
pub(super) fn delta<'a>((key, bytes): (&[u8], &'a [u8])) -> Option<(u64, u64, &'a [u8])> {
    let (set, version) = key.split_at_checked(8)?;
    Some((id(set)?, id(version)?, bytes))
}

/// Decodes the entry of a site.
pub(super) fn site<'a>((name, record): (&'a [u8], &[u8])) -> Option<(&'a str, SiteRecord)> {
    let name = std::str::from_utf8(name).ok()?;
    Some((name, serde_json::from_slice(record).ok()?))
}
