//! The coordinator: named sets, kept and asked, whatever protocol the commands come by.
//!
//! ```text
//!   http, later RESP
//!        | commands                          | questions
//!        v                                   v
//!      writer --commit--> store (redb)     catalog (index in memory)
//!        `------ then --------------------->
//! ```
//!
//! Everything is in memory, to be asked; the store is read at the start and written to by every
//! change. A change is answered when it is on disk.
//!
//! | file | holds |
//! |---|---|
//! | `commands.rs` | every change, as callers see it |
//! | `change.rs`, `prepare.rs` | what each does, and when an update fits |
//! | `writer.rs` | the thread that makes them, many at a time |
//! | `store.rs`, `gaps.rs` | what is on disk |
//! | `catalog.rs` | what is in memory |
//! | `ask.rs` | which, list, info, picture |
//! | `members.rs` | estimate, sample, reconstruct |
//! | `sites.rs` | sites of a federation: where they are, when they were heard of |
//! | `quota.rs` | what one key may take of what all share |
//! | `text.rs` | what may be a name, a tag, parameters |
//!
//! Cost: memory for all filters, and what is said of each set (`size_of_set` in `catalog.rs` charges for both); a start reads the whole store.

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

/// Changes that wait for the writer at most; more clients wait with theirs.
const QUEUE: usize = 1024;
const SNAPSHOTS: &str = "snapshots";

/// How much the coordinator takes on.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Keys in one request.
    pub keys: usize,
    /// Bytes that all filters may take.
    pub memory: u64,
    /// Bytes that one filter may take.
    pub filter: u64,
    /// How long one estimate, sample or reconstruction may take.
    pub time: Duration,
    /// What sets below prefixes may take.
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

/// Named sets, kept in a directory and asked in memory.
#[derive(Debug)]
pub struct Coordinator {
    shared: Arc<Shared>,
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Held while a site is registered that counts against a key.
    newcomers: tokio::sync::Mutex<()>,
}

/// What questions and the writer share.
#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    limits: Limits,
    store: Store,
    index: SharedIndex,
    catalog: RwLock<Catalog>,
    /// What all sets take, as the catalog says.
    bytes: Arc<AtomicU64>,
    /// The version that was last given. Only the writer changes it.
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
    /// Makes a change in memory, which the store has already. What is going to be missing is noted
    /// before it is, so that whoever did not find it sees why.
    fn apply(&self, effect: Effect) -> Result<(), bloomgrove::Error> {
        self.write().announce(&effect);
        let noted = effect.apply(&self.index)?;
        let mut catalog = self.write();
        catalog.note(noted);
        self.bytes.store(catalog.bytes(), Relaxed);
        Ok(())
    }

    // Nothing panics while it holds the lock for writing; should it, the process ends there.
    fn read(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Catalog> {
        self.catalog.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coordinator {
    /// Opens the coordinator of a data directory, which is made if there is none; from a snapshot,
    /// if one is given. Reads everything: seconds for a hundred thousand sets.
    ///
    /// # Errors
    /// When the directory cannot be used, or its store is damaged or open elsewhere.
    pub fn open(directory: &Path, restore: Option<&Path>, limits: Limits) -> anyhow::Result<Self> {
        let started = Instant::now();
        make_directory(directory)
            .with_context(|| format!("{}: making the data directory", directory.display()))?;
        let store = Store::open(directory, restore)?;
        private::warn_if_open(&[directory, &directory.join("store.redb")]);
        // Only who has the store may: another server may be at work here.
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

    /// Ends after all changes that were sent are made. Later ones are refused; questions are not.
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
            // It ends the process rather than panic.
            let _ = writer.join();
        }
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.close();
    }
}

/// Without a writer nothing could be changed any more, and what it left half done nobody knows:
/// starting anew is quick and right.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// Checks a store or a snapshot, without writing to it: says how many sets and sites it has.
///
/// # Errors
/// What is damaged, by name; what is not a store, or in use by a server.
pub fn verify(path: &Path) -> anyhow::Result<(u64, u64)> {
    store::verify(path)
}

#[cfg(test)]
mod tests;
