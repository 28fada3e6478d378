//! The coordinator: stores named sets and answers queries, independent of the protocol.
//!
//! ```text
//!   http, later RESP
//!        | commands                          | queries
//!        v                                   v
//!      writer --commit--> store (redb)     catalog (index in memory)
//!        `------ then --------------------->
//! ```
//!
//! Everything is in memory for queries; the store is read at the start and written by every change. A change is
//! acknowledged once it is on disk.
//!
//! | file | contents |
//! |---|---|
//! | `commands.rs` | the changes that callers can make |
//! | `change.rs`, `prepare.rs` | what each change does, and which updates are accepted |
//! | `writer.rs` | the thread that makes the changes, many at a time |
//! | `store.rs`, `gaps.rs` | what is on disk |
//! | `catalog.rs` | what is in memory |
//! | `query.rs` | which, list, info, picture |
//! | `members.rs` | estimate, sample, reconstruct |
//! | `sites.rs` | the sites of a federation: their URLs and heartbeats |
//! | `quota.rs` | quotas of access keys |
//! | `text.rs` | checks of names, tags, parameters |
//! | `texts.rs` | texts cut into keys |
//!
//! Cost: memory for all filters and the properties of each set (`size_of_set` in `catalog.rs` charges for both); a start reads the whole store.

mod catalog;
mod change;
mod commands;
mod gaps;
mod load;
mod members;
mod prepare;
mod query;
mod quota;
mod sites;
mod store;
mod text;
mod texts;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use bloomgrove_client::clock::now;
use tokio::sync::mpsc;

use bloomgrove::index::SharedIndex;
use catalog::{Catalog, Effect};
pub use change::{Done, Upload};
pub use quota::Quota;
pub use sites::{KnownSite, Named};
use store::Store;
pub use store::salvage;
use writer::Job;

use bloomgrove_http::private::{self, make_directory, tidy};

/// Maximum number of changes that wait for the writer; further clients wait with theirs.
const QUEUE: usize = 1024;
const SNAPSHOTS: &str = "snapshots";

/// The limits of a coordinator.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum number of keys in one request.
    pub keys: usize,
    /// Maximum number of bytes of all filters.
    pub memory: u64,
    /// Maximum number of bytes of one filter.
    pub filter: u64,
    /// Time limit for an estimate, sample or reconstruction.
    pub time: Duration,
    /// Quotas for sets below prefixes.
    pub quotas: Vec<Quota>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            keys: 100_000,
            memory: 4 << 30,
            filter: 256 << 20,
            time: Duration::from_secs(20),
            quotas: Vec::new(),
        }
    }
}

/// Named sets, stored in a directory and queried in memory.
#[derive(Debug)]
pub struct Coordinator {
    shared: Arc<Shared>,
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Locked while a site is registered that counts against a key's limit.
    newcomers: tokio::sync::Mutex<()>,
}

/// What queries and the writer share.
#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    limits: Limits,
    store: Store,
    index: SharedIndex,
    catalog: RwLock<Catalog>,
    /// Memory of all sets, as in the catalog.
    bytes: Arc<AtomicU64>,
    /// The version most recently assigned. Only the writer changes it.
    version: AtomicU64,
    totals: Totals,
    started: Instant,
}

#[derive(Debug, Default)]
struct Totals {
    keys_queried: AtomicU64,
    sets_listed: AtomicU64,
    changes: AtomicU64,
    commits: AtomicU64,
    keys_added: AtomicU64,
}

impl Shared {
    /// Makes a change in memory that is already in the store. What will be missing is announced first, so that a reader that
    /// does not find it can see why.
    fn apply(&self, effect: Effect) -> Result<(), bloomgrove::Error> {
        self.write().announce(&effect);
        let noted = effect.apply(&self.index)?;
        let mut catalog = self.write();
        catalog.note(noted);
        self.bytes.store(catalog.bytes(), Relaxed);
        Ok(())
    }

    // No thread panics while it holds the lock for writing; if one did, the process would abort.
    fn read(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Catalog> {
        self.catalog.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coordinator {
    /// Opens the coordinator of a data directory, which is created if it does not exist; from a snapshot, if one is given.
    /// Reads everything: this takes seconds for a hundred thousand sets.
    ///
    /// # Errors
    /// If the directory cannot be used, or its store is damaged or open elsewhere.
    pub fn open(directory: &Path, restore: Option<&Path>, limits: Limits) -> anyhow::Result<Self> {
        let started = Instant::now();
        make_directory(directory)
            .with_context(|| format!("cannot create the data directory {}", directory.display()))?;
        let store = Store::open(directory, restore)?;
        private::warn_if_open(&[directory, &directory.join("store.redb")]);
        // Only after the store is locked: another server may be using this directory.
        tidy(directory);
        tidy(&directory.join(SNAPSHOTS));
        let load::Memory {
            index,
            catalog,
            version,
        } = load::load(&store, &limits)?;
        let shared = Arc::new(Shared {
            directory: directory.to_owned(),
            limits,
            store,
            index: SharedIndex::new(index),
            bytes: Arc::new(AtomicU64::new(catalog.bytes())),
            catalog: RwLock::new(catalog),
            version: AtomicU64::new(version),
            totals: Totals::default(),
            started,
        });
        let (jobs, receiver) = mpsc::channel(QUEUE);
        let own = shared.clone();
        let writer = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || {
                let _guard = AbortOnPanic;
                writer::run(&own, receiver);
            })?;
        Ok(Self {
            shared,
            jobs: Mutex::new(Some(jobs)),
            writer: Mutex::new(Some(writer)),
            newcomers: tokio::sync::Mutex::default(),
        })
    }

    /// Stops after all changes sent so far are made. Later ones are rejected; queries still work.
    pub fn close(&self) {
        drop(
            self.jobs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        let writer = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(writer) = writer {
            // The writer aborts the process rather than panic.
            let _ = writer.join();
        }
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.close();
    }
}

/// Without the writer nothing could be changed any more, and the state it left behind would be unknown: restarting is quick
/// and safe.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// Checks a store or a snapshot without writing to it; returns the number of its sets and sites.
///
/// # Errors
/// What is damaged, by name; or if it is not a store, or in use by a server.
pub fn verify(path: &Path) -> anyhow::Result<(u64, u64)> {
    store::verify(path)
}

#[cfg(test)]
mod tests;
