//! The store: everything that survives, in one redb file.
//!
//! ```text
//!   sets      id              -> what is known of the set, as JSON
//!   filters   id              -> its bits, as a message of FORMAT.md section 15
//!   deltas    id, version     -> time, and the bits that were set then, as gaps
//!   sites     name            -> where a site is, and with which key, as JSON
//!   meta      "version", "format", "store"
//! ```
//!
//! A commit is on disk when it returns. After one that failed (a full disk, a broken one) the file is opened
//! anew, and its version tells whether the commit is there all the same: then memory, which has
//! not got it, must not go on ([`CommitError::Diverged`]).

mod snapshot;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use redb::{
    Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};
use serde::{Deserialize, Serialize};

use crate::private::make_database;

const SETS: TableDefinition<u64, &[u8]> = TableDefinition::new("sets");
const FILTERS: TableDefinition<u64, &[u8]> = TableDefinition::new("filters");
const DELTAS: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("deltas");
const SITES: TableDefinition<&str, &[u8]> = TableDefinition::new("sites");
const META: TableDefinition<&str, u64> = TableDefinition::new("meta");

/// FORMAT.md section 17.
const FORMAT: u64 = 1;
/// What redb may keep in memory. The state is in memory anyway; this is for writing.
const CACHE: usize = 64 << 20;
/// What is kept of a set besides its bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    /// Of its last description; deltas have their own.
    pub(super) version: u64,
    pub(super) whole: u64,
    pub(super) created: u64,
    pub(super) changed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires: Option<u64>,
}

/// What is kept of a site of a federation.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SiteRecord {
    pub(super) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    pub(super) period: u64,
}

impl std::fmt::Debug for SiteRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the key.
        f.debug_struct("SiteRecord")
            .field("url", &self.url)
            .field("period", &self.period)
            .finish_non_exhaustive()
    }
}

/// One thing to write.
#[derive(Debug)]
pub(super) enum Write {
    Set(u64, Record),
    /// The whole filter: deltas before it go.
    Filter(u64, Vec<u8>),
    Delta {
        id: u64,
        version: u64,
        bytes: Vec<u8>,
    },
    Remove(u64),
    /// A site, or that there is none of this name.
    Site(Arc<str>, Option<SiteRecord>),
}

/// A set as the store has it.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) id: u64,
    pub(super) record: Record,
    pub(super) filter: Vec<u8>,
    /// By version.
    pub(super) deltas: Vec<(u64, Vec<u8>)>,
}

/// Why a commit is not known to be on disk.
#[derive(Debug)]
pub(super) enum CommitError {
    /// It was not made.
    NotMade(anyhow::Error),
    /// Nobody can tell yet: the store cannot be opened.
    Unknown(anyhow::Error),
    /// The store has another state than it was left in: the commit that failed, or another file.
    Diverged(anyhow::Error),
}

#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    /// None after a failure, until it can be opened again.
    database: Mutex<Option<Arc<Database>>>,
    /// The version of the last commit.
    committed: AtomicU64,
    /// Tells stores apart.
    id: u64,
}

impl Store {
    /// Opens the store of a data folder, which is made if there is none; of a snapshot, if one is
    /// given, and then there must be none.
    pub(super) fn open(folder: &Path, restore: Option<&Path>) -> Result<Self> {
        let path = folder.join("store.redb");
        if let Some(snapshot) = restore {
            snapshot::restore(snapshot, &path)?;
        }
        make_database(&path, |database| prepare(database).map(drop))?;
        let database = open(&path)?;
        let (version, id) = prepare(&database).with_context(|| path.display().to_string())?;
        Ok(Self {
            path,
            id,
            database: Mutex::new(Some(Arc::new(database))),
            committed: AtomicU64::new(version),
        })
    }

    /// A number that no other store has: versions are worth nothing elsewhere.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Database>>> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database, opened again if it was closed after a failure: then it must be as it was left.
    fn opened(&self) -> Result<Arc<Database>, CommitError> {
        let mut slot = self.slot();
        if let Some(database) = &*slot {
            return Ok(database.clone());
        }
        // Not made anew: an empty store in its place would lose everything.
        let opened = Database::builder().set_cache_size(CACHE).open(&self.path);
        let database = opened.map_err(|error| {
            let told = format!("{}: opening the store again", self.path.display());
            CommitError::Unknown(anyhow::Error::new(error).context(told))
        })?;
        let version = version_of(&database).map_err(CommitError::Unknown)?;
        let wanted = self.committed.load(Relaxed);
        if version != wanted {
            return Err(CommitError::Diverged(anyhow::anyhow!(
                "{}: its last version is {version}, and {wanted} was left",
                self.path.display()
            )));
        }
        Ok(slot.insert(Arc::new(database)).clone())
    }

    /// To read from.
    fn reading(&self) -> Result<redb::ReadTransaction> {
        let database = self.opened().map_err(|error| match error {
            CommitError::NotMade(error)
            | CommitError::Unknown(error)
            | CommitError::Diverged(error) => error,
        })?;
        Ok(database.begin_read()?)
    }

    /// Calls `each` with every set; says which version was given last.
    pub(super) fn load(&self, mut each: impl FnMut(Loaded) -> Result<()>) -> Result<u64> {
        let read = self.reading()?;
        let (sets, filters) = (read.open_table(SETS)?, read.open_table(FILTERS)?);
        let deltas = read.open_table(DELTAS)?;
        for set in sets.iter()? {
            let (id, record) = set?;
            let id = id.value();
            let record: Record = serde_json::from_slice(record.value())
                .with_context(|| format!("what the store says of set {id} cannot be read"))?;
            let filter = filters.get(id)?.map(|filter| filter.value().to_vec());
            let filter =
                filter.with_context(|| format!("the filter of {} is missing", record.name))?;
            let own = deltas.range((id, 0)..=(id, u64::MAX))?;
            let own = own.map(|delta| {
                let (key, bytes) = delta?;
                Ok((key.value().1, bytes.value().to_vec()))
            });
            each(Loaded {
                id,
                record,
                filter,
                deltas: own.collect::<Result<_>>()?,
            })?;
        }
        let version = read.open_table(META)?.get("version")?;
        Ok(version.map_or(0, |version| version.value()))
    }

    /// All sites, by name.
    pub(super) fn sites(&self) -> Result<Vec<(String, SiteRecord)>> {
        let read = self.reading()?;
        let mut sites = Vec::new();
        for site in read.open_table(SITES)?.iter()? {
            let (name, record) = site?;
            let name = name.value().to_owned();
            let record = serde_json::from_slice(record.value())
                .with_context(|| format!("what the store says of site {name} cannot be read"))?;
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
            return Ok(());
        };
        // After a failed write redb refuses all others; opening it again tells what is there.
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

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |about| about.len())
    }
}

fn put(write: &WriteTransaction, writes: &[Write], version: u64) -> Result<()> {
    let mut sets = write.open_table(SETS)?;
    let mut filters = write.open_table(FILTERS)?;
    let mut deltas = write.open_table(DELTAS)?;
    let mut sites = write.open_table(SITES)?;
    let mut clear = |id: u64| deltas.retain_in((id, 0)..=(id, u64::MAX), |_, _| false);
    for write in writes {
        match write {
            Write::Set(id, record) => {
                sets.insert(id, serde_json::to_vec(record)?.as_slice())?;
            }
            Write::Filter(id, message) => {
                filters.insert(id, message.as_slice())?;
                clear(*id)?;
            }
            Write::Remove(id) => {
                sets.remove(id)?;
                filters.remove(id)?;
                clear(*id)?;
            }
            Write::Site(name, Some(record)) => {
                sites.insert(&**name, serde_json::to_vec(record)?.as_slice())?;
            }
            Write::Site(name, None) => {
                sites.remove(&**name)?;
            }
            Write::Delta { .. } => {}
        }
    }
    for write in writes {
        if let Write::Delta { id, version, bytes } = write {
            deltas.insert((*id, *version), bytes.as_slice())?;
        }
    }
    write.open_table(META)?.insert("version", version)?;
    Ok(())
}

/// Opens the store at a path.
fn open(path: &Path) -> Result<Database> {
    const DAMAGED: &str =
        "the store is damaged; begin a new data folder with a snapshot (`--restore`)";
    let told = || path.display().to_string();
    // An empty file would be taken for a new store, and what was in it for forgotten.
    if std::fs::metadata(path).is_ok_and(|about| about.len() == 0) {
        return Err(anyhow::anyhow!("it is empty").context(DAMAGED)).with_context(told);
    }
    let open = || Database::builder().set_cache_size(CACHE).open(path);
    // A file that was cut short makes redb panic.
    let opened = std::panic::catch_unwind(open);
    let opened = opened
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
            anyhow::Error::new(error).context(format!("{}: opening the store", path.display()))
        }
        error => anyhow::Error::new(error).context(DAMAGED).context(told()),
    })
}

/// Sees that the tables are there and of a format that is known; says which version was given last,
/// and the number of the store.
fn prepare(database: &Database) -> Result<(u64, u64)> {
    let write = database.begin_write().context("writing to the store")?;
    let prepared = {
        let mut meta = write.open_table(META)?;
        let format = meta.get("format")?.map(|format| format.value());
        match format {
            None => {
                meta.insert("format", FORMAT)?;
                meta.insert("version", 0)?;
            }
            Some(FORMAT) => {}
            Some(other) => bail!(
                "written in format {other}, and this build reads {FORMAT}; use a newer bloomgrove"
            ),
        }
        write.open_table(SETS)?;
        write.open_table(FILTERS)?;
        write.open_table(DELTAS)?;
        // Stores from before there were sites get the table here.
        write.open_table(SITES)?;
        let version = meta.get("version")?.map_or(0, |version| version.value());
        let known = meta.get("store")?.map(|id| id.value());
        let id = match known {
            Some(id) => id,
            // A new store, or one from before they had numbers.
            None => {
                let id = new_id();
                meta.insert("store", id)?;
                id
            }
        };
        (version, id)
    };
    write.commit().context("writing to the store")?;
    Ok(prepared)
}

/// By chance, and such that every reader of JSON takes it as a whole number.
fn new_id() -> u64 {
    rand::random::<u64>() >> 11
}

/// The version that was given last.
fn version_of(database: &Database) -> Result<u64> {
    let version = database.begin_read()?.open_table(META)?.get("version")?;
    version
        .map(|version| version.value())
        .context("the store says no version")
}

#[cfg(test)]
mod tests;
