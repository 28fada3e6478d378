//! The log: all triples recorded by a site, in the order in which they came, in one redb file.
//!
//! ```text
//!   log        0, 1, 2, ...   -> time and new triples of one batch, as N-Triples
//!   published  name of a set  -> what the coordinator has acknowledged of it, as JSON
//!   meta       "format", "name", "key", "settled"; totals of each table
//! ```
//!
//! Every entry has a checksum, and all are checked before the log is opened: see
//! [`disk`](bloomgrove_http::disk).
//!
//! A batch is on disk when [`append`](Log::append) returns. At every start, the contents of memory are rebuilt from the
//! log. FORMAT.md section 18 describes every byte.
//!
//! After a failed write (a full or failing disk) the file is reopened, which shows whether the batch was written
//! nevertheless. If that is not possible yet, the next batch finds out, and memory catches up
//! ([`AppendError::Behind`]).

mod salvage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use bloomgrove_http::access::new_key;
use bloomgrove_http::disk::{self, Damaged, Head, Kind, Ledger, Meta, verified};
use bloomgrove_http::private;
use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};
use xxhash_rust::xxh3::xxh3_64;

pub(crate) use salvage::salvage;
pub use salvage::verify;

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
const PUBLISHED: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("published");

/// FORMAT.md section 18.
const KIND: Kind = Kind {
    what: "log of a site",
    tables: &["log", "published"],
    format: 2,
};
const FILE: &str = "site.redb";
/// The cache size of redb. The log is read once, at the start.
const CACHE: usize = 4 << 20;
/// Bytes of an entry before its triples.
const HEAD: usize = 8;

/// Why a batch was not appended.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// Writing failed.
    Storage(anyhow::Error),
    /// The log contains more than memory: a batch whose write seemed to have failed. Read what is missing, and append
    /// again.
    Behind,
}

/// The log of one site.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    key: String,
    /// None after a failure, until it can be reopened.
    database: Mutex<Option<Arc<Database>>>,
    /// The number of the next entry.
    next: AtomicU64,
    /// Closed for good.
    closed: AtomicBool,
    head: Head,
}

impl Log {
    /// Opens the log in a data directory, creating both if they do not exist.
    ///
    /// # Errors
    /// If the directory belongs to another site, or the file is damaged or open in another process.
    pub(crate) fn open(directory: &Path, site: &str) -> Result<Self> {
        let made = private::make_directory(directory);
        made.with_context(|| format!("cannot create the data directory {}", directory.display()))?;
        let path = directory.join(FILE);
        private::make_database(&path, |database| {
            let key = new_key().map_err(anyhow::Error::msg)?;
            fill(database, site, &key)
        })?;
        let log =
            Self::check_and_open(path, site).map_err(|error| match error.is::<Damaged>() {
                true => error.context(DAMAGED),
                false => error,
            })?;
        private::warn_if_open(&[directory, &log.path]);
        // Only after the log is locked.
        private::tidy(directory);
        Ok(log)
    }

    fn check_and_open(path: PathBuf, site: &str) -> Result<Self> {
        let told = || path.display().to_string();
        let (next, key) = salvage::check(&path, Some(site)).with_context(told)?;
        let database = disk::open(&path, CACHE)?;
        let opened = next_of(&database).with_context(told)?;
        if opened != next {
            let what = format!("it has {next} entries, but redb finds {opened}");
            return Err(Damaged::of(vec![what])).with_context(told);
        }
        Ok(Self {
            head: Head::open(&path, mark(&key), next)?,
            path,
            key,
            database: Mutex::new(Some(Arc::new(database))),
            next: AtomicU64::new(next),
            closed: AtomicBool::new(false),
        })
    }

    /// The access key that the coordinator uses at this site.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// The number of the next entry.
    pub(crate) fn next(&self) -> u64 {
        self.next.load(Relaxed)
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Database>>> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database, reopened if it was closed after a failure. It may contain more than memory: only appending compares
    /// them, so reopening it elsewhere does not hide that.
    fn opened(&self) -> Result<Arc<Database>> {
        let mut slot = self.slot();
        if let Some(database) = &*slot {
            return Ok(database.clone());
        }
        if self.closed.load(Relaxed) {
            bail!("the site is shutting down");
        }
        // Must exist: creating an empty log in its place would lose everything.
        let database = disk::open(&self.path, CACHE).context("cannot reopen the log")?;
        let (next, wanted) = (next_of(&database)?, self.next());
        if next < wanted {
            bail!(
                "{}: the file has {next} entries, but {wanted} are expected; restart the site",
                self.path.display()
            );
        }
        Ok(slot.insert(Arc::new(database)).clone())
    }

    fn reading(&self) -> Result<redb::ReadTransaction> {
        Ok(self.opened()?.begin_read()?)
    }

    /// Appends a batch and returns its number. When this returns, it is on disk.
    ///
    /// # Errors
    /// If writing fails; then the batch is not in the log, or [`AppendError::Behind`] will report it. Calls must not
    /// overlap.
    pub(crate) fn append(&self, seconds: u64, triples: &[u8]) -> Result<u64, AppendError> {
        let database = self.opened().map_err(AppendError::Storage)?;
        let number = next_of(&database).map_err(AppendError::Storage)?;
        if number != self.next() {
            self.next.store(number, Relaxed);
            return Err(AppendError::Behind);
        }
        let mut entry = Vec::with_capacity(HEAD + triples.len());
        entry.extend_from_slice(&seconds.to_le_bytes());
        entry.extend_from_slice(triples);
        let write = || -> Result<()> {
            let mut write = database.begin_write()?;
            write.set_durability(Durability::Immediate)?;
            put(&write, LOG, |log| log.insert(number, &entry))?;
            Ok(write.commit()?)
        };
        let Err(error) = write() else {
            self.appended(number + 1);
            return Ok(number);
        };
        // After a failed write redb rejects all others; reopening shows what was written.
        drop(database);
        *self.slot() = None;
        match self.opened().and_then(|database| next_of(&database)) {
            // It is on disk nevertheless.
            Ok(next) if next > number => {
                self.appended(next);
                Ok(number)
            }
            Ok(_) => Err(AppendError::Storage(error)),
            Err(why) => Err(AppendError::Storage(error.context(format!("{why:#}")))),
        }
    }

    /// This many entries are on disk.
    fn appended(&self, next: u64) {
        self.next.store(next, Relaxed);
        if let Err(error) = self.head.note(next) {
            tracing::warn!("cannot record the newest version of the log: {error}");
        }
    }

    /// Calls `each` with all entries from this number on: number, seconds since 1970, N-Triples.
    ///
    /// # Errors
    /// If the log cannot be read; the errors of `each`.
    pub(crate) fn scan(
        &self,
        from: u64,
        mut each: impl FnMut(u64, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let read = self.reading()?;
        let told = || self.path.display().to_string();
        let mut next = from;
        for entry in read.open_table(LOG)?.range(from..)? {
            let (number, entry) = entry?;
            let number = number.value();
            let mut take = || -> Result<()> {
                let payload = verified(LOG, &number, entry.value())?;
                let (seconds, triples) = split(payload).context("the entry is truncated")?;
                each(number, seconds, triples)
            };
            if number != next {
                return Err(missing(next)).with_context(told);
            }
            next += 1;
            take().with_context(|| format!("{}: entry {number}", self.path.display()))?;
        }
        if next < Meta::read_account(&read, "log")?.entries() {
            return Err(missing(next)).with_context(told);
        }
        Ok(())
    }

    /// What the coordinator has acknowledged, by set name.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub(crate) fn published(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let read = self.reading()?;
        let table = read.open_table(PUBLISHED)?;
        let entries = table.iter()?.map(|entry| {
            let (name, about) = entry?;
            let about = verified(PUBLISHED, &name.value(), about.value())?;
            Ok((name.value().to_owned(), about.to_owned()))
        });
        entries.collect()
    }

    /// Records what the coordinator has acknowledged of a set, or that this is no longer known. It is not synced: if it
    /// is lost, a whole filter is sent.
    ///
    /// # Errors
    /// If writing fails.
    pub(crate) fn note_published(&self, set: &str, about: Option<&[u8]>) -> Result<()> {
        self.note(|write| {
            put(write, PUBLISHED, |table| match about {
                Some(about) => table.insert(set, about),
                None => table.remove(set),
            })
        })
    }

    /// Writes to a table other than the log.
    fn note(&self, what: impl FnOnce(&WriteTransaction) -> Result<()>) -> Result<()> {
        let database = self.opened()?;
        let write = || -> Result<()> {
            let mut write = database.begin_write()?;
            write.set_durability(Durability::Immediate)?;
            what(&write)?;
            Ok(write.commit()?)
        };
        let written = write();
        if written.is_err() {
            // As after a failed batch: otherwise the next one would fail because of this.
            drop(database);
            *self.slot() = None;
        }
        written
    }

    /// Entries before this one were acknowledged by a coordinator, in their windows or in later ones.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub(crate) fn settled(&self) -> Result<u64> {
        let settled = Meta::read_number(&self.reading()?, "settled");
        settled.with_context(|| self.path.display().to_string())
    }

    /// Records that entries before this one were acknowledged.
    ///
    /// # Errors
    /// If writing fails.
    pub(crate) fn settle(&self, position: u64) -> Result<()> {
        self.note(|write| Meta::open(write)?.set("settled", &position.to_le_bytes()))
    }

    /// Closes it for good, even if clones exist, so that another process can open it.
    pub(crate) fn close(&self) {
        let mut slot = self.slot();
        self.closed.store(true, Relaxed);
        *slot = None;
    }

    /// Size on disk.
    pub(crate) fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |about| about.len())
    }
}

const DAMAGED: &str = "the log of the site is damaged; restore a backup of the data directory, or \
                       start with `--salvage`, which keeps the damaged file and drops what cannot \
                       be read";

/// Time and triples of an entry.
fn split(entry: &[u8]) -> Option<(u64, &[u8])> {
    let (seconds, triples) = entry.split_first_chunk::<HEAD>()?;
    Some((u64::from_le_bytes(*seconds), triples))
}

fn missing(entry: u64) -> anyhow::Error {
    Damaged::of(vec![format!("entry {entry} is missing")])
}

/// Identifies a log.
fn mark(key: &str) -> u64 {
    xxh3_64(key.as_bytes())
}

/// Changes a table.
fn put<K: redb::Key + 'static>(
    write: &WriteTransaction,
    table: TableDefinition<'static, K, &'static [u8]>,
    change: impl FnOnce(&mut Ledger<'_, K>) -> Result<()>,
) -> Result<()> {
    let mut meta = Meta::open(write)?;
    let mut ledger = meta.ledger(write, table)?;
    change(&mut ledger)?;
    meta.close(ledger)
}

/// Creates the tables of a new, empty log.
fn fill(database: &Database, site: &str, key: &str) -> Result<()> {
    let write = database.begin_write()?;
    put(&write, LOG, |_| Ok(()))?;
    put(&write, PUBLISHED, |_| Ok(()))?;
    {
        let mut meta = Meta::open(&write)?;
        meta.set("format", &KIND.format.to_le_bytes())?;
        meta.set("name", site.as_bytes())?;
        meta.set("key", key.as_bytes())?;
        meta.set("settled", &0u64.to_le_bytes())?;
    }
    Ok(write.commit()?)
}

/// The number of the next entry.
fn next_of(database: &Database) -> Result<u64> {
    let table = database.begin_read()?.open_table(LOG)?;
    let last = table.last()?;
    Ok(last.map_or(0, |(number, _)| number.value() + 1))
}

#[cfg(test)]
mod tests;
