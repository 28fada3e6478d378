//! The log: every triple that a site was told, in the order of its coming, in one redb file.
//!
//! ```text
//!   log        0, 1, 2, ...   -> when, and the new triples of one batch, as N-Triples
//!   published  name of a set  -> what the coordinator has acknowledged of it, as JSON
//!   meta       "format", "name", "key", "settled"; what is in each table
//! ```
//!
//! Every entry has a checksum, and all are checked before the log is opened: see
//! [`disk`](bloomgrove_http::disk).
//!
//! A batch is on disk when [`append`](Log::append) returns; what is in memory is made from the log
//! at every start. FORMAT.md section 18 tells every byte.
//!
//! After a write that failed (a full disk, a broken one) the file is opened anew, which tells
//! whether the batch is there all the same. If that cannot be told yet, the next batch finds out,
//! and memory takes in what it has missed ([`AppendError::Behind`]).

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
/// What redb may keep in memory. The log is read once, at the start.
const CACHE: usize = 4 << 20;
/// Bytes of an entry before its triples.
const HEAD: usize = 8;

/// Why a batch is not in the log.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// The disk refuses.
    Storage(anyhow::Error),
    /// The log has more than memory: a batch whose write seemed to have failed. Take in what is
    /// missing, and append again.
    Behind,
}

/// The log of one site.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    key: String,
    /// None after a failure, until it can be opened again.
    database: Mutex<Option<Arc<Database>>>,
    /// The number of the next entry.
    next: AtomicU64,
    /// For good.
    closed: AtomicBool,
    head: Head,
}

impl Log {
    /// Opens the log in a data directory; both are made if they are not there.
    ///
    /// # Errors
    /// A directory of another site, a damaged file, one that another process has open.
    pub(crate) fn open(directory: &Path, site: &str) -> Result<Self> {
        let made = private::make_directory(directory);
        made.with_context(|| format!("{}: making the data directory", directory.display()))?;
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
        // Only who has the log may.
        private::tidy(directory);
        Ok(log)
    }

    fn check_and_open(path: PathBuf, site: &str) -> Result<Self> {
        let told = || path.display().to_string();
        let (next, key) = salvage::check(&path, Some(site)).with_context(told)?;
        let database = disk::open(&path, CACHE)?;
        let opened = next_of(&database).with_context(told)?;
        if opened != next {
            let what = format!("it has {next} entries, and redb finds {opened}");
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

    /// The key that the coordinator shows to this site.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// The number that the next entry gets.
    pub(crate) fn next(&self) -> u64 {
        self.next.load(Relaxed)
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Database>>> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database, opened again if it was closed after a failure. It may have more than memory:
    /// only who appends compares, and nobody else's opening hides it.
    fn opened(&self) -> Result<Arc<Database>> {
        let mut slot = self.slot();
        if let Some(database) = &*slot {
            return Ok(database.clone());
        }
        if self.closed.load(Relaxed) {
            bail!("the site has stopped");
        }
        // Not made anew: an empty log in its place would lose everything.
        let database = disk::open(&self.path, CACHE).context("opening the log again")?;
        let (next, wanted) = (next_of(&database)?, self.next());
        if next < wanted {
            bail!(
                "{}: it has {next} entries, and {wanted} were left; start the site again",
                self.path.display()
            );
        }
        Ok(slot.insert(Arc::new(database)).clone())
    }

    fn reading(&self) -> Result<redb::ReadTransaction> {
        Ok(self.opened()?.begin_read()?)
    }

    /// Adds a batch; says its number. When this returns, it is on disk.
    ///
    /// # Errors
    /// When the disk refuses: then it is not there, or [`AppendError::Behind`] will tell. Calls
    /// must not overlap.
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
        // After a failed write redb refuses all others; opening it again tells what is there.
        drop(database);
        *self.slot() = None;
        match self.opened().and_then(|database| next_of(&database)) {
            // It is on disk all the same.
            Ok(next) if next > number => {
                self.appended(next);
                Ok(number)
            }
            Ok(_) => Err(AppendError::Storage(error)),
            Err(why) => Err(AppendError::Storage(error.context(format!("{why:#}")))),
        }
    }

    /// So many entries are on disk.
    fn appended(&self, next: u64) {
        self.next.store(next, Relaxed);
        if let Err(error) = self.head.note(next) {
            tracing::warn!("the newest entry is not noted beside the log: {error}");
        }
    }

    /// Calls `each` with all entries from this number on: number, seconds since 1970, N-Triples.
    ///
    /// # Errors
    /// A log that cannot be read; what `each` says.
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
                let (seconds, triples) = split(payload).context("it is cut short")?;
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

    /// What the coordinator has acknowledged, by the names of sets.
    ///
    /// # Errors
    /// A log that cannot be read.
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

    /// Notes what the coordinator has acknowledged of a set, or that nothing is known any more. It
    /// need not survive: a note that is lost costs one whole filter.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn note_published(&self, set: &str, about: Option<&[u8]>) -> Result<()> {
        self.note(|write| {
            put(write, PUBLISHED, |table| match about {
                Some(about) => table.insert(set, about),
                None => table.remove(set),
            })
        })
    }

    /// Writes something beside the entries.
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
            // As after a batch: else the next one would be refused for what happened here.
            drop(database);
            *self.slot() = None;
        }
        written
    }

    /// Entries before this one were acknowledged by a coordinator, in their windows or in later ones.
    ///
    /// # Errors
    /// A log that cannot be read.
    pub(crate) fn settled(&self) -> Result<u64> {
        let settled = Meta::read_number(&self.reading()?, "settled");
        settled.with_context(|| self.path.display().to_string())
    }

    /// Notes that entries before this one were acknowledged.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn settle(&self, position: u64) -> Result<()> {
        self.note(|write| Meta::open(write)?.set("settled", &position.to_le_bytes()))
    }

    /// Closes it for good, so that another process can open it, whoever still holds this one.
    pub(crate) fn close(&self) {
        let mut slot = self.slot();
        self.closed.store(true, Relaxed);
        *slot = None;
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |about| about.len())
    }
}

const DAMAGED: &str = "the log of the site is damaged; put back a copy of the data directory, or \
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

/// Tells logs apart.
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

/// Makes the tables of a new log, without entries.
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
