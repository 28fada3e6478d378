//! The log: every triple that a site was told, in the order of its coming, in one redb file.
//!
//! ```text
//!   log        0, 1, 2, ...   -> when, and the new triples of one batch, as N-Triples
//!   published  name of a set  -> what the coordinator has acknowledged of it, as JSON
//!   meta       "format", "name", "key"
//! ```
//!
//! A batch is on disk when [`append`](Log::append) returns; what is in memory is made from the log
//! at every start. FORMAT.md section 18 tells every byte.
//!
//! After a write that failed (a full disk, a broken one) the file is opened anew, which tells
//! whether the batch is there all the same. If that cannot be told yet, the next batch finds out,
//! and memory takes in what it has missed ([`AppendError::Behind`]).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use bloomgrove_server::access::new_key;
use bloomgrove_server::private;
use redb::{Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, TableDefinition};

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
const PUBLISHED: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("published");
const META: TableDefinition<'_, &str, &str> = TableDefinition::new("meta");

/// FORMAT.md section 18.
const FORMAT: &str = "1";
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
}

impl Log {
    /// Opens the log in a data folder; both are made if they are not there.
    ///
    /// # Errors
    /// A folder of another site, a damaged file, one that another process has open.
    pub(crate) fn open(folder: &Path, site: &str) -> Result<Self> {
        let made = private::make_folder(folder);
        made.with_context(|| format!("{}: making the data folder", folder.display()))?;
        let path = folder.join("site.redb");
        private::make_database(&path, |database| prepare(database, site).map(drop))?;
        let database = open(&path)?;
        let key = prepare(&database, site).with_context(|| path.display().to_string())?;
        let next = next_of(&database).with_context(|| path.display().to_string())?;
        private::warn_if_open(&[folder, &path]);
        // Only who has the log may.
        private::tidy(folder);
        Ok(Self {
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
        let open = || Database::builder().set_cache_size(CACHE).open(&self.path);
        let again = || format!("{}: opening the log again", self.path.display());
        let opened = std::panic::catch_unwind(open).map_err(|_| anyhow::anyhow!(DAMAGED));
        let opened = opened.and_then(|opened| opened.map_err(anyhow::Error::new));
        let database = opened.with_context(again)?;
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
            write.open_table(LOG)?.insert(number, entry.as_slice())?;
            Ok(write.commit()?)
        };
        let Err(error) = write() else {
            self.next.store(number + 1, Relaxed);
            return Ok(number);
        };
        // After a failed write redb refuses all others; opening it again tells what is there.
        drop(database);
        *self.slot() = None;
        match self.opened().and_then(|database| next_of(&database)) {
            // It is on disk all the same.
            Ok(next) if next > number => {
                self.next.store(next, Relaxed);
                Ok(number)
            }
            Ok(_) => Err(AppendError::Storage(error)),
            Err(why) => Err(AppendError::Storage(error.context(format!("{why:#}")))),
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
        for entry in read.open_table(LOG)?.range(from..)? {
            let (number, entry) = entry?;
            let number = number.value();
            let short = || format!("{}: entry {number} is cut short", self.path.display());
            let (seconds, triples) = entry
                .value()
                .split_first_chunk::<HEAD>()
                .with_context(short)?;
            each(number, u64::from_le_bytes(*seconds), triples)
                .with_context(|| format!("{}: entry {number}", self.path.display()))?;
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
            Ok((name.value().to_owned(), about.value().to_owned()))
        });
        entries.collect()
    }

    /// Notes what the coordinator has acknowledged of a set, or that nothing is known any more. It
    /// need not survive: a note that is lost costs one whole filter.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn note_published(&self, set: &str, about: Option<&[u8]>) -> Result<()> {
        let database = self.opened()?;
        let write = || -> Result<()> {
            let mut write = database.begin_write()?;
            write.set_durability(Durability::Immediate)?;
            {
                let mut table = write.open_table(PUBLISHED)?;
                match about {
                    Some(about) => drop(table.insert(set, about)?),
                    None => drop(table.remove(set)?),
                }
            }
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

const DAMAGED: &str = "the log of the site is damaged; put back a copy of the data folder";

/// Opens the log at a path.
fn open(path: &Path) -> Result<Database> {
    let told = || path.display().to_string();
    // An empty file would be taken for a new log, and what was in it for forgotten.
    if std::fs::metadata(path).is_ok_and(|about| about.len() == 0) {
        return Err(anyhow::anyhow!("it is empty").context(DAMAGED)).with_context(told);
    }
    let open = || Database::builder().set_cache_size(CACHE).open(path);
    // A file that was cut short makes redb panic.
    let opened = std::panic::catch_unwind(open)
        .map_err(|_| anyhow::anyhow!(DAMAGED))
        .with_context(told)?;
    opened.map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => anyhow::anyhow!(
            "{}: another process has this data folder open; stop it, or take another folder",
            path.display()
        ),
        DatabaseError::Storage(redb::StorageError::Io(error))
            if !matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ) =>
        {
            anyhow::Error::new(error).context(format!("{}: opening the log", path.display()))
        }
        error => anyhow::Error::new(error).context(DAMAGED).context(told()),
    })
}

/// Sees that the tables are there, of a format that is known and of this site; gives the key for
/// the coordinator, which is made once.
fn prepare(database: &Database, site: &str) -> Result<String> {
    let write = database.begin_write().context("writing to the log")?;
    let key = {
        let mut meta = write.open_table(META)?;
        let format = meta.get("format")?.map(|format| format.value().to_owned());
        match format.as_deref() {
            None => {
                meta.insert("format", FORMAT)?;
                meta.insert("name", site)?;
                meta.insert("key", new_key().map_err(anyhow::Error::msg)?.as_str())?;
            }
            Some(FORMAT) => {}
            Some(other) => bail!(
                "written in format {other}, and this build reads {FORMAT}; use a newer bloomgrove"
            ),
        }
        let name = meta.get("name")?.map(|name| name.value().to_owned());
        match name {
            Some(name) if name == site => {}
            Some(name) => bail!(
                "this is the data folder of the site {name:?}, and not of {site:?}; name the site \
                 so, or take another folder"
            ),
            None => bail!("it does not say whose it is: {DAMAGED}"),
        }
        write.open_table(LOG)?;
        write.open_table(PUBLISHED)?;
        let key = meta.get("key")?.map(|key| key.value().to_owned());
        key.with_context(|| format!("it has no key for the coordinator: {DAMAGED}"))?
    };
    write.commit().context("writing to the log")?;
    Ok(key)
}

/// The number of the next entry.
fn next_of(database: &Database) -> Result<u64> {
    let table = database.begin_read()?.open_table(LOG)?;
    let last = table.last()?;
    Ok(last.map_or(0, |(number, _)| number.value() + 1))
}

#[cfg(test)]
mod tests;
