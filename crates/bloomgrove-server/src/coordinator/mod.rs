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
//! | `change.rs` | what each change does, and when an update fits |
//! | `writer.rs` | the thread that makes them, many at a time |
//! | `store.rs`, `gaps.rs` | what is on disk |
//! | `catalog.rs` | what is in memory |
//! | `ask.rs` | which, list, info, picture |
//! | `members.rs` | estimate, sample, reconstruct |
//! | `text.rs` | what may be a name, a tag, parameters |
//!
//! Cost: memory for all filters and some 300 bytes for each set; a start reads the whole store.

mod ask;
mod catalog;
mod change;
mod gaps;
mod load;
mod members;
mod refusal;
mod store;
mod text;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use bloomgrove::{Error, Filter, codec};
use bloomgrove_client::api::{self, Code, Key};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use catalog::Catalog;
pub use change::Done;
use change::{About, Bits, Change};
pub use refusal::Refusal;
use store::Store;
use writer::Job;

/// Changes that wait for the writer at most; more clients wait with theirs.
const QUEUE: usize = 1024;
const SNAPSHOTS: &str = "snapshots";
/// How the names of files begin that nobody needs after a restart.
const TEMPORARY: &str = ".temporary-";

/// How much the coordinator takes on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Keys in one request.
    pub keys: usize,
    /// Bytes that all filters may take.
    pub memory: u64,
    /// Bytes that one filter may take.
    pub filter: u64,
    /// How long one estimate, sample or reconstruction may take.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            keys: 100_000,
            memory: 4 << 30,
            filter: 256 << 20,
            time: Duration::from_secs(20),
        }
    }
}

/// Named sets, kept in a folder and asked in memory.
#[derive(Debug)]
pub struct Coordinator {
    shared: Arc<Shared>,
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// What questions and the writer share.
#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    limits: Limits,
    store: Store,
    catalog: RwLock<Catalog>,
    /// The version that was last given. Only the writer changes it.
    version: AtomicU64,
    totals: Totals,
    started: Instant,
}

#[derive(Debug, Default)]
struct Totals {
    keys_asked: AtomicU64,
    sets_named: AtomicU64,
    changes: AtomicU64,
    commits: AtomicU64,
    keys_added: AtomicU64,
}

impl Shared {
    // Nothing panics while it holds the lock for writing; should it, the process ends there.
    fn read(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Catalog> {
        self.catalog.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coordinator {
    /// Opens the coordinator of a data folder, which is made if there is none; from a snapshot,
    /// if one is given. Reads everything: seconds for a hundred thousand sets.
    ///
    /// # Errors
    /// When the folder cannot be used, or its store is damaged or open elsewhere.
    pub fn open(folder: &Path, restore: Option<&Path>, limits: Limits) -> anyhow::Result<Self> {
        let started = Instant::now();
        std::fs::create_dir_all(folder)
            .with_context(|| format!("{}: making the data folder", folder.display()))?;
        let store = Store::open(folder, restore)?;
        // Only who has the store may: another server may be at work here.
        tidy(folder);
        tidy(&folder.join(SNAPSHOTS));
        let (catalog, version) = load::load(&store, &limits)?;
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            limits,
            store,
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

    /// Makes an empty set.
    ///
    /// # Errors
    /// A name that is taken or impossible, parameters that are impossible or too large.
    pub async fn create(&self, wanted: api::CreateSet) -> Result<api::Set, Refusal> {
        let params = text::params(&wanted)?;
        self.check_filter(params.words() as u64 * 8)?;
        let name = text::name(&wanted.name)?;
        let about = About {
            tags: Some(text::tags(wanted.tags)?),
            expires: wanted.expires_in.map(text::expiry).transpose()?,
        };
        let change = Change::Create {
            name: name.clone(),
            params,
            about,
        };
        self.change(change).await?;
        self.info(&name)
    }

    /// Gives a set a whole filter; makes the set if there is none.
    ///
    /// # Errors
    /// An impossible name, too much memory.
    pub async fn put(
        &self,
        name: &str,
        filter: Filter,
        tags: Option<Vec<String>>,
        expires_in: Option<u64>,
    ) -> Result<Done, Refusal> {
        self.check_filter(filter.params().words() as u64 * 8)?;
        let about = About {
            tags: tags.map(text::tags).transpose()?,
            expires: expires_in.map(text::expiry).transpose()?,
        };
        let name = text::name(name)?;
        let change = Change::Put {
            name,
            filter,
            about,
        };
        self.change(change).await
    }

    /// Adds all of a filter to a set.
    ///
    /// # Errors
    /// No such set, other parameters, or a `base` that does not fit.
    pub async fn merge(
        &self,
        name: &str,
        filter: Filter,
        base: Option<u64>,
    ) -> Result<Done, Refusal> {
        let change = Change::Or {
            name: name.into(),
            params: Arc::new(filter.params().clone()),
            bits: Bits::of(filter),
            base,
        };
        self.change(change).await
    }

    /// Applies a delta, a message of [`codec::delta`], to a set.
    ///
    /// # Errors
    /// No such set, or other bits than it was made from.
    pub async fn delta(
        &self,
        name: &str,
        message: Bytes,
        base: Option<u64>,
    ) -> Result<Done, Refusal> {
        let name = name.into();
        let change = Change::Delta {
            name,
            message,
            base,
        };
        self.change(change).await
    }

    /// Adds keys to a set.
    ///
    /// # Errors
    /// No such set, too many keys, or a `base` that does not fit.
    pub async fn insert(
        &self,
        name: &str,
        keys: &[Key],
        base: Option<u64>,
    ) -> Result<Done, Refusal> {
        self.check_keys(keys.len())?;
        loop {
            let params = self
                .shared
                .read()
                .get(name)
                .map(|entry| entry.params.clone());
            let params = params.ok_or_else(|| Refusal::not_found(name))?;
            let mut positions = Vec::with_capacity(keys.len() * params.hashes() as usize);
            for key in keys {
                positions.extend_from_slice(params.probe(key).positions());
            }
            let change = Change::Or {
                name: name.into(),
                params,
                bits: Bits::Few(positions),
                base,
            };
            match self.change(change).await {
                // Its filter was replaced by one of other parameters in between.
                Err(refusal) if refusal.code == Code::Incompatible => continue,
                Ok(done) => {
                    let added = &self.shared.totals.keys_added;
                    added.fetch_add(keys.len() as u64, Relaxed);
                    return Ok(done);
                }
                refused => return refused,
            }
        }
    }

    /// Renames, tags, or sets the end of a set.
    ///
    /// # Errors
    /// No such set, or a name that is taken or impossible.
    pub async fn describe(&self, name: &str, wanted: api::ChangeSet) -> Result<api::Set, Refusal> {
        let new_name = wanted.name.as_deref().map(text::name).transpose()?;
        let expires = match wanted.expires_in {
            Some(0) => Some(0),
            seconds => seconds.map(text::expiry).transpose()?,
        };
        let shown = new_name.clone();
        let change = Change::Describe {
            name: name.into(),
            new_name,
            about: About {
                tags: wanted.tags.map(text::tags).transpose()?,
                expires,
            },
        };
        self.change(change).await?;
        self.info(shown.as_deref().unwrap_or(name))
    }

    /// Deletes a set.
    ///
    /// # Errors
    /// No such set.
    pub async fn delete(&self, name: &str) -> Result<(), Refusal> {
        self.change(Change::Delete { name: name.into() }).await?;
        Ok(())
    }

    /// Deletes the sets whose time has come; says how many.
    pub async fn expire(&self) -> usize {
        let due = self.shared.read().due(now());
        let mut gone = 0;
        for name in due {
            match self.change(Change::Expire { name }).await {
                Ok(_) => gone += 1,
                Err(refusal) => tracing::warn!("a set could not be expired: {refusal}"),
            }
        }
        gone
    }

    /// The filter of a set, and its version.
    ///
    /// # Errors
    /// No such set; not enough memory.
    pub fn filter(&self, name: &str) -> Result<(Filter, u64), Refusal> {
        let catalog = self.shared.read();
        let entry = catalog.get(name).ok_or_else(|| Refusal::not_found(name))?;
        Ok((catalog.index.filter(name)?, entry.version))
    }

    /// A filter from bytes: those of a `.grove` file, or of a message.
    ///
    /// # Errors
    /// What is neither, or too large.
    pub fn read_filter(&self, bytes: &[u8]) -> Result<Filter, Refusal> {
        if codec::Kind::of_start(bytes).is_some() {
            let (filter, _) = codec::expand_within(bytes, self.shared.limits.filter)?;
            return Ok(filter);
        }
        let file = self.temporary()?;
        std::fs::write(&file, bytes).map_err(storage)?;
        Filter::load(&file).map_err(|error| match error {
            // The name of the file means nothing to who sent it.
            Error::InFile { source, .. } => Refusal::from(*source),
            error => error.into(),
        })
    }

    /// The bytes of a `.grove` file.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn to_grove(&self, filter: &Filter) -> Result<Vec<u8>, Refusal> {
        let file = self.temporary()?;
        filter.save(&file)?;
        std::fs::read(&file).map_err(storage)
    }

    /// A file that is gone when it is dropped, or at the next start.
    fn temporary(&self) -> Result<tempfile::TempPath, Refusal> {
        let file = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempfile_in(&self.shared.folder);
        Ok(file.map_err(storage)?.into_temp_path())
    }

    /// Writes everything to a new file in the folder `snapshots`, while serving.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn snapshot(&self) -> Result<api::Snapshot, Refusal> {
        let storage = |error: anyhow::Error| {
            let detail = format!("the snapshot could not be written: {error:#}");
            Refusal::new(Code::Storage, detail)
        };
        let folder = self.snapshots_folder();
        let (created, version) = (now(), self.shared.version.load(Relaxed));
        let make = || {
            std::fs::create_dir_all(&folder)?;
            let mut file = format!("{created}-{version}.redb");
            // Two in the same second: the first is as good, and stays.
            if folder.join(&file).exists() {
                file = format!("{created}-{version}-{:08x}.redb", rand::random::<u32>());
            }
            let bytes = self.shared.store.snapshot(&folder.join(&file))?;
            Ok(api::Snapshot {
                file,
                bytes,
                created,
            })
        };
        make().map_err(storage)
    }

    /// The folder of snapshots.
    pub fn snapshots_folder(&self) -> PathBuf {
        self.shared.folder.join(SNAPSHOTS)
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    async fn change(&self, change: Change) -> Result<Done, Refusal> {
        let stopping = || Refusal::new(Code::Busy, "the server is stopping; try again later");
        let jobs = self
            .jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let (reply, answer) = oneshot::channel();
        let sent = jobs.ok_or_else(stopping)?.send(Job { change, reply }).await;
        sent.map_err(|_| stopping())?;
        answer.await.map_err(|_| stopping())?
    }

    fn check_keys(&self, keys: usize) -> Result<(), Refusal> {
        let limit = self.shared.limits.keys;
        match keys > limit {
            true => Err(Refusal::new(
                Code::TooLarge,
                format!("{keys} keys, and a request takes {limit} at most; send them in parts"),
            )),
            false => Ok(()),
        }
    }

    fn check_filter(&self, bytes: u64) -> Result<(), Refusal> {
        let limit = self.shared.limits.filter;
        match bytes > limit {
            true => Err(bloomgrove::Error::TooLarge { bytes, limit }.into()),
            false => Ok(()),
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

fn storage(error: std::io::Error) -> Refusal {
    let detail = format!("the disk of the server refuses: {error}; nothing was changed");
    Refusal::new(Code::Storage, detail)
}

/// Removes what a process that was killed has left behind.
fn tidy(folder: &Path) {
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name();
        let is_ours = name
            .to_str()
            .is_some_and(|name| name.starts_with(TEMPORARY));
        if is_ours && let Err(error) = std::fs::remove_file(file.path()) {
            tracing::warn!(%error, file = ?file.path(), "cannot be removed");
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
