//! The store: everything that is persistent, in one redb file.
//!
//! ```text
//!   sets      id              -> the properties of the set, as JSON
//!   filters   id              -> its bits, as a message of FORMAT.md section 15
//!   deltas    id, version     -> time, and the bits that were set then, as gaps
//!   sites     name            -> the URL and the access key of a site, as JSON
//!   meta      "version", "format", "store"; totals of each table
//! ```
//!
//! Every entry has a checksum, and all are checked before the store is opened: see [`disk`](bloomgrove_http::disk).
//!
//! A commit is on disk when it returns. After one that failed (a full or failing disk) the file is reopened, and its version
//! shows whether the commit was written nevertheless: then memory, which does not have it, must not be used any further
//! ([`CommitError::Diverged`]).

mod salvage;
mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};
use serde::{Deserialize, Serialize};

use bloomgrove_http::disk::{self, Damaged, Head, Kind, Meta, verified};
use bloomgrove_http::private::make_database;

pub use salvage::salvage;
pub(super) use salvage::verify;

const SETS: TableDefinition<u64, &[u8]> = TableDefinition::new("sets");
const FILTERS: TableDefinition<u64, &[u8]> = TableDefinition::new("filters");
const DELTAS: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("deltas");
const SITES: TableDefinition<&str, &[u8]> = TableDefinition::new("sites");

/// FORMAT.md section 17.
const STORE: Kind = Kind {
    what: "store of a server",
    tables: &["sets", "filters", "deltas", "sites"],
    format: 2,
};
const FILE: &str = "store.redb";
const WAY_OUT: &str = "restore a snapshot into a new data directory (`--restore SNAPSHOT`), or start \
                       with `--salvage`, which keeps the damaged file and drops what is unreadable";
/// The cache size of redb. The state is in memory anyway; this is for writing.
const CACHE: usize = 64 << 20;
/// What is stored of a set in addition to its bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    /// Of its last change of properties; deltas have their own.
    pub(super) version: u64,
    pub(super) whole: u64,
    pub(super) created: u64,
    pub(super) changed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires: Option<u64>,
}

/// What is stored of a site of a federation.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SiteRecord {
    pub(super) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    pub(super) period: u64,
}

impl std::fmt::Debug for SiteRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the access key.
        f.debug_struct("SiteRecord")
            .field("url", &self.url)
            .field("period", &self.period)
            .finish_non_exhaustive()
    }
}

/// A single write.
#[derive(Debug)]
pub(super) enum Write {
    Set(u64, Record),
    /// The whole filter, which replaces earlier deltas.
    Filter(u64, Vec<u8>),
    Delta {
        id: u64,
        version: u64,
        bytes: Vec<u8>,
    },
    Remove(u64),
    /// A site, or its removal.
    Site(Arc<str>, Option<SiteRecord>),
}

/// A set as stored.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) id: u64,
    pub(super) record: Record,
    pub(super) filter: Vec<u8>,
    /// By version.
    pub(super) deltas: Vec<(u64, Vec<u8>)>,
}

/// Why a commit may not be on disk.
#[derive(Debug)]
pub(super) enum CommitError {
    /// It was not made.
    NotMade(anyhow::Error),
    /// It is unknown yet: the store cannot be opened.
    Unknown(anyhow::Error),
    /// The store is not in the expected state: it has the commit that failed, or is another file.
    Diverged(anyhow::Error),
}

#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    /// None after a failure, until it can be reopened.
    database: Mutex<Option<Arc<Database>>>,
    /// The version of the last commit.
    committed: AtomicU64,
    /// Identifies the store.
    id: u64,
    head: Head,
}

impl Store {
    /// Opens the store of a data directory, which is created if it does not exist; from a snapshot, if one is given, in which
    /// case it must not exist.
    ///
    /// # Errors
    /// [`Damaged`]; then nothing was written to it.
    pub(super) fn open(directory: &Path, restore: Option<&Path>) -> Result<Self> {
        let path = directory.join(FILE);
        if let Some(snapshot) = restore {
            snapshot::restore(snapshot, &path)?;
        }
        make_database(&path, |database| fill(database, 0))?;
        Self::check_and_open(path).map_err(|error| match error.is::<Damaged>() {
            true => error.context(format!("the store is damaged; {WAY_OUT}")),
            false => error,
        })
    }

    fn check_and_open(path: PathBuf) -> Result<Self> {
        let told = || path.display().to_string();
        let (version, id) = salvage::check(&path).with_context(told)?;
        let database = disk::open(&path, CACHE)?;
        let opened = version_of(&database).with_context(told)?;
        if opened != version {
            let what = format!("its newest version is {version}, but redb finds {opened}");
            return Err(Damaged::of(vec![what])).with_context(told);
        }
        Ok(Self {
            head: Head::open(&path, id, version)?,
            path,
            id,
            database: Mutex::new(Some(Arc::new(database))),
            committed: AtomicU64::new(version),
        })
    }

    /// A number that no other store has: versions mean nothing elsewhere.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Database>>> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database, reopened if it was closed after a failure: then it must be in the expected state.
    fn opened(&self) -> Result<Arc<Database>, CommitError> {
        let mut slot = self.slot();
        if let Some(database) = &*slot {
            return Ok(database.clone());
        }
        // Must exist: creating an empty store in its place would lose everything.
        let database = disk::open(&self.path, CACHE)
            .map_err(|error| CommitError::Unknown(error.context("cannot reopen the store")))?;
        let version = version_of(&database).map_err(CommitError::Unknown)?;
        let wanted = self.committed.load(Relaxed);
        if version != wanted {
            return Err(CommitError::Diverged(anyhow::anyhow!(
                "{}: its last version is {version}, but {wanted} is expected",
                self.path.display()
            )));
        }
        Ok(slot.insert(Arc::new(database)).clone())
    }

    /// A transaction for reading.
    fn reading(&self) -> Result<redb::ReadTransaction> {
        let database = self.opened().map_err(|error| match error {
            CommitError::NotMade(error)
            | CommitError::Unknown(error)
            | CommitError::Diverged(error) => error,
        })?;
        Ok(database.begin_read()?)
    }

    /// Calls `each` with every set; returns the version most recently assigned.
    pub(super) fn load(&self, mut each: impl FnMut(Loaded) -> Result<()>) -> Result<u64> {
        let read = self.reading()?;
        let (sets, filters) = (read.open_table(SETS)?, read.open_table(FILTERS)?);
        let deltas = read.open_table(DELTAS)?;
        // All are sorted by the numbers of sets. Looking up each number would take several times as long.
        let (mut filters, mut deltas) = (filters.iter()?, deltas.iter()?);
        let mut delta = deltas.next().transpose()?;
        for set in sets.iter()? {
            let (id, record) = set?;
            let id = id.value();
            let record = verified(SETS, &id, record.value())?;
            let record: Record = serde_json::from_slice(record)
                .with_context(|| format!("cannot read the properties of set {id} in the store"))?;
            let filter = loop {
                let next = filters
                    .next()
                    .transpose()?
                    .filter(|(of, _)| of.value() <= id);
                let (of, filter) =
                    next.with_context(|| format!("the filter of {} is missing", record.name))?;
                if of.value() == id {
                    break verified(FILTERS, &id, filter.value())?.to_vec();
                }
            };
            let mut own = Vec::new();
            while let Some((key, bytes)) = &delta
                && key.value().0 <= id
            {
                let (of, version) = key.value();
                if of == id {
                    let bytes = verified(DELTAS, &(of, version), bytes.value())?;
                    own.push((version, bytes.to_vec()));
                }
                delta = deltas.next().transpose()?;
            }
            each(Loaded {
                id,
                record,
                filter,
                deltas: own,
            })?;
        }
        Meta::read_number(&read, "version")
    }

    /// All sites, by name.
    pub(super) fn sites(&self) -> Result<Vec<(String, SiteRecord)>> {
        let read = self.reading()?;
        let mut sites = Vec::new();
        for site in read.open_table(SITES)?.iter()? {
            let (name, record) = site?;
            let name = name.value().to_owned();
            let record = verified(SITES, &name.as_str(), record.value())?;
            let record = serde_json::from_slice(record).with_context(|| {
                format!("cannot read the registration of site {name} in the store")
            })?;
            sites.push((name, record));
        }
        Ok(sites)
    }

    /// Writes all of it or nothing. When this returns, it is on disk.
    pub(super) fn commit(&self, writes: &[Write], version: u64) -> Result<(), CommitError> {
        let database = self.opened()?;
        let write = || -> Result<()> {
            let mut write = database.begin_write()?;
            write.set_durability(Durability::Immediate)?;
            put(&write, writes, version)?;
            Ok(write.commit()?)
        };
        let Err(error) = write() else {
            self.committed.store(version, Relaxed);
            if let Err(error) = self.head.note(version) {
                tracing::warn!("cannot record the newest version of the store: {error}");
            }
            return Ok(());
        };
        // After a failed write redb rejects all others; reopening shows what was written.
        drop(database);
        *self.slot() = None;
        match self.opened() {
            Ok(_) => Err(CommitError::NotMade(error)),
            Err(CommitError::Unknown(why)) => {
                Err(CommitError::Unknown(error.context(format!("{why:#}"))))
            }
            Err(diverged) => Err(diverged),
        }
    }

    /// Size on disk.
    pub(super) fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |about| about.len())
    }
}

fn put(write: &WriteTransaction, writes: &[Write], version: u64) -> Result<()> {
    let mut meta = Meta::open(write)?;
    let mut sets = meta.ledger(write, SETS)?;
    let mut filters = meta.ledger(write, FILTERS)?;
    let mut deltas = meta.ledger(write, DELTAS)?;
    let mut sites = meta.ledger(write, SITES)?;
    let mut clear = |id: u64| deltas.remove_all((id, 0)..=(id, u64::MAX));
    for write in writes {
        match write {
            Write::Set(id, record) => sets.insert(id, &serde_json::to_vec(record)?)?,
            Write::Filter(id, message) => {
                filters.insert(id, message)?;
                clear(*id)?;
            }
            Write::Remove(id) => {
                sets.remove(id)?;
                filters.remove(id)?;
                clear(*id)?;
            }
            Write::Site(name, Some(record)) => {
                sites.insert(&**name, &serde_json::to_vec(record)?)?;
            }
            Write::Site(name, None) => sites.remove(&**name)?,
            Write::Delta { .. } => {}
        }
    }
    for write in writes {
        if let Write::Delta { id, version, bytes } = write {
            deltas.insert((*id, *version), bytes)?;
        }
    }
    meta.close(sets)?;
    meta.close(filters)?;
    meta.close(deltas)?;
    meta.close(sites)?;
    meta.set("version", &version.to_le_bytes())
}

/// Creates the tables of a new, empty store, and gives it a number.
fn fill(database: &Database, version: u64) -> Result<()> {
    let write = database.begin_write()?;
    put(&write, &[], version)?;
    {
        let mut meta = Meta::open(&write)?;
        meta.set("format", &STORE.format.to_le_bytes())?;
        meta.set("store", &new_id().to_le_bytes())?;
    }
    Ok(write.commit()?)
}

/// A random number that every JSON parser reads exactly.
fn new_id() -> u64 {
    rand::random::<u64>() >> 11
}

/// The version most recently assigned.
fn version_of(database: &Database) -> Result<u64> {
    Meta::read_number(&database.begin_read()?, "version")
}

#[cfg(test)]
mod tests;
