//! Snapshots: all of a store as of one moment in a file of its own, and a store made of one.

use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};
use redb::{Database, Durability, ReadableTable, TableDefinition};

use super::{DELTAS, FILTERS, META, Record, SETS, SITES, Store, new_id, prepare, version_of};
use crate::private::TEMPORARY;

/// After a restore versions go on so much higher, and by chance some more: clients may know versions
/// that the snapshot does not, and none of those may be given again, nor those of another restore.
const RESTORED: u64 = 1 << 32;
/// Copied in one transaction of a snapshot: so much is in memory at once.
const CHUNK: usize = 8 << 20;

impl Store {
    /// Copies everything as of now to a new file, while others write; says how many bytes.
    pub(in crate::coordinator) fn snapshot(&self, to: &Path) -> Result<u64> {
        let read = self.reading()?;
        let folder = to.parent().context("a snapshot needs a folder")?;
        let file = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempfile_in(folder)?;
        let copy = Database::builder()
            .set_cache_size(CHUNK)
            .create_file(file.reopen()?)?;
        copy_table(&read, &copy, SETS, |bytes| bytes.len())?;
        copy_table(&read, &copy, FILTERS, |bytes| bytes.len())?;
        copy_table(&read, &copy, DELTAS, |bytes| bytes.len())?;
        copy_table(&read, &copy, SITES, |bytes| bytes.len())?;
        copy_table(&read, &copy, META, |_| 8)?;
        // The last commit is the first that waits for the disk, and orders all before it.
        copy.begin_write()?.commit()?;
        drop(copy);
        file.as_file().sync_all()?;
        let bytes = file.as_file().metadata()?.len();
        file.persist_noclobber(to)?;
        std::fs::File::open(folder)?.sync_all()?;
        Ok(bytes)
    }
}

/// Copies a table, some megabytes to a transaction.
fn copy_table<K: redb::Key + 'static, V: redb::Value + 'static>(
    from: &redb::ReadTransaction,
    to: &Database,
    table: TableDefinition<K, V>,
    size: impl Fn(&V::SelfType<'_>) -> usize,
) -> Result<()> {
    let from = from.open_table(table)?;
    let mut rows = from.iter()?.peekable();
    loop {
        let mut write = to.begin_write()?;
        write.set_durability(Durability::None)?;
        {
            let mut into = write.open_table(table)?;
            let mut bytes = 0;
            while bytes < CHUNK
                && let Some(row) = rows.next()
            {
                let (key, value) = row?;
                bytes += size(&value.value()) + 64;
                into.insert(key.value(), value.value())?;
            }
        }
        write.commit()?;
        if rows.peek().is_none() {
            return Ok(());
        }
    }
}

/// Makes of a snapshot the store that will be at a path where there is none: whole, or not at all.
///
/// What clients know of versions is of a state that may be gone, so every set gets a new one:
/// who builds on another is told to send the whole filter.
pub(super) fn restore(snapshot: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        bail!(
            "{}: there is a store already, and restoring {} would lose it; restore into an \
             empty data folder",
            to.display(),
            snapshot.display()
        );
    }
    let folder = to.parent().context("a store needs a folder")?;
    let restore = || -> Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempfile_in(folder)?;
        io::copy(&mut std::fs::File::open(snapshot)?, &mut file)?;
        let database = Database::open(file.path()).context("it is no snapshot of a server")?;
        let version = version_of(&database).context("it is no snapshot of a server")?;
        prepare(&database)?;
        let version = version + RESTORED + u64::from(rand::random::<u32>());
        let write = database.begin_write()?;
        {
            let mut sets = write.open_table(SETS)?;
            let ids: Vec<u64> = {
                let all = sets.iter()?;
                all.map(|set| Ok(set?.0.value())).collect::<Result<_>>()?
            };
            for id in ids {
                let record = sets.get(id)?.map(|record| record.value().to_vec());
                let mut record: Record = serde_json::from_slice(&record.unwrap_or_default())?;
                (record.version, record.whole) = (version, version);
                sets.insert(id, serde_json::to_vec(&record)?.as_slice())?;
            }
            let mut meta = write.open_table(META)?;
            meta.insert("version", version)?;
            // The one that the snapshot is of may still be there.
            meta.insert("store", new_id())?;
        }
        write.commit()?;
        drop(database);
        file.as_file().sync_all()?;
        file.persist_noclobber(to)?;
        std::fs::File::open(folder)?.sync_all()?;
        Ok(())
    };
    restore().with_context(|| format!("restoring {}", snapshot.display()))
}
