//! A request queue in front of the blocks, which limits how long a probe is buffered to
//! `t_max`.
//!
//! ```text
//!   submit --> [ request queue ] --> [ blocks ] --> pages --> answers --> receive
//!              |-- queue time --|   |------- block time ------|
//! ```
//!
//! A block is flushed when it is full, and also when its first entry has been pending for
//! `t_max`. With a short `t_max`, many blocks become due at once, and the disk can handle only
//! a limited number of pages in that time. So each block is flushed early enough to meet its
//! deadline; and once as many blocks are pending as can be flushed within `t_max`, a request
//! that would start another block stays in the queue, together with all others for its page;
//! they start their block together. This is the trade-off of the paper's Figure 3: a shorter
//! `t_max` moves waiting time from the blocks to the queue.
//!
//! Source: Buffered Bloom Filters, section 4.2. We differ: the paper flushes at the timeout,
//! lets overdue blocks wait for one another, and keeps the queue in order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::Error;
use crate::hash::{AnyHasher, Hasher, Key};

use super::engine::{BufferOptions, Figures};
use super::file::PageFile;
use super::geometry::Geometry;
use super::latency::{Histogram, Latencies};
use super::serve::{Inner, Request, Shared, serve, wait};
use super::state::State;

/// Longer than any real wait, and short enough not to overflow in arithmetic.
const FAR: Duration = Duration::from_secs(1 << 30);

/// Options for a [`ProbeQueue`].
#[derive(Clone, Copy, Debug)]
pub struct QueueOptions {
    /// The capacity of the queue: submitting more requests blocks.
    pub requests: usize,
    /// Times one probe in every `time_every`.
    pub time_every: u64,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            // The paper's 3 MB, at 40 bytes each.
            requests: 75_000,
            time_every: 128,
        }
    }
}

/// A queue of probes of one filter from any number of threads, with bounded delay.
///
/// ```
/// use std::time::Duration;
/// use bloomgrove::buffered::{Builder, Filter, BufferOptions, Geometry, QueueOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("orders.grove");
/// # let mut builder = Builder::create(&path, &Geometry::for_items(1000, 0.001)?, &BufferOptions::default())?;
/// # builder.insert_batch(&[17u64, 23, 42])?;
/// # builder.finish()?;
/// let filter = Filter::open(&path)?;
/// let t_max = Some(Duration::from_millis(20));
/// let options = BufferOptions { t_max, ..BufferOptions::default() };
/// let queue = filter.probe_queue(&options, &QueueOptions::default())?;
/// queue.submit(&17u64, 1)?;
/// queue.submit(&18u64, 2)?;
/// let mut answers = queue.receive(Duration::from_secs(10))?;
/// while answers.len() < 2 {
///     answers.extend(queue.receive(Duration::from_secs(10))?);
/// }
/// answers.sort();
/// assert_eq!(answers, [(1, true), (2, false)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ProbeQueue {
    geometry: Geometry,
    most: usize,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for ProbeQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProbeQueue({} open)", self.shared.lock().open)
    }
}

impl ProbeQueue {
    pub(super) fn start(
        file: &PageFile,
        state: State,
        options: &BufferOptions,
        queue: &QueueOptions,
    ) -> Result<Self, Error> {
        options.check(file.geometry())?;
        let shared = Arc::new(Shared::default());
        let geometry = file.geometry().clone();
        let run = {
            let (file, options) = (file.clone(), options.clone());
            let (shared, every) = (Arc::clone(&shared), queue.time_every.max(1));
            move || {
                let run = AssertUnwindSafe(|| serve(&file, state, &options, every, &shared));
                // Threads waiting for an answer must be notified.
                let outcome = catch_unwind(run).unwrap_or_else(|_| {
                    let what = std::io::Error::other("the queue's thread panicked");
                    Err(Error::io("probing")(what))
                });
                let mut inner = shared.lock();
                inner.dead = true;
                inner.failed = outcome.err();
                shared.room.notify_all();
                shared.answered.notify_all();
            }
        };
        let thread = std::thread::Builder::new().name("bloomgrove-queue".into());
        let thread = thread.spawn(run).map_err(Error::io("starting a thread"))?;
        Ok(Self {
            geometry,
            most: queue.requests.max(1),
            shared,
            thread: Some(thread),
        })
    }

    /// Queries a key; blocks while the queue is full.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Corrupt`] if a page could not be read; this ends the queue.
    pub fn submit<K: Key + ?Sized>(&self, key: &K, tag: u64) -> Result<(), Error> {
        self.submit_batch(&[key], tag)
    }

    /// Queries many keys, tagged with consecutive numbers from `first` on.
    ///
    /// # Errors
    /// As for [`submit`](Self::submit).
    pub fn submit_batch<K: Key>(&self, keys: &[K], first: u64) -> Result<(), Error> {
        let params = self.geometry.params();
        let hasher = AnyHasher {
            family: params.family(),
            seed: params.seed(),
        };
        let at = Instant::now();
        let mut left = keys.iter().enumerate();
        let mut next = left.next();
        while next.is_some() {
            let mut inner = self.shared.lock();
            while inner.requests.len() + inner.parked >= self.most && !inner.dead {
                inner = wait(&self.shared.room, inner);
            }
            alive(&mut inner)?;
            while inner.requests.len() + inner.parked < self.most
                && let Some((i, key)) = next
            {
                inner.requests.push_back(Request {
                    digest: key.with_bytes(|bytes| hasher.digest(bytes)),
                    tag: first.wrapping_add(i as u64),
                    at,
                });
                inner.open += 1;
                next = left.next();
            }
            self.shared.arrived.notify_one();
        }
        Ok(())
    }

    /// Returns the answers that have arrived since the last call, in no particular order. If
    /// there are none, waits for some until `patience` has passed, unless nothing is
    /// outstanding. Answers are kept until they are received.
    ///
    /// # Errors
    /// As for [`submit`](Self::submit).
    pub fn receive(&self, patience: Duration) -> Result<Vec<(u64, bool)>, Error> {
        let until = Instant::now() + patience.min(FAR);
        let mut inner = self.shared.lock();
        while inner.answers.is_empty() && inner.open > 0 && !inner.dead {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.answered.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if inner.answers.is_empty() && inner.dead && inner.open > 0 {
            return Err(reason(&mut inner));
        }
        Ok(inner.answers.drain(..).collect())
    }

    /// Returns the number of probes submitted but not yet answered.
    pub fn open(&self) -> u64 {
        self.shared.lock().open
    }

    /// Returns how long the timed probes have waited so far.
    pub fn latencies(&self) -> Latencies {
        let inner = self.shared.lock();
        let [queue, block, total] = inner.times.each_ref().map(Histogram::latency);
        Latencies {
            queue,
            block,
            total,
        }
    }

    /// Returns the statistics so far.
    pub fn figures(&self) -> Figures {
        self.shared.lock().figures
    }

    /// Flushes all blocks immediately, and returns once every probe has been answered and can
    /// be received. Nothing more can be submitted.
    ///
    /// # Errors
    /// As for [`submit`](Self::submit).
    pub fn close(&mut self) -> Result<(), Error> {
        self.end();
        let mut inner = self.shared.lock();
        match inner.open {
            0 => Ok(()),
            _ => Err(reason(&mut inner)),
        }
    }

    fn end(&mut self) {
        self.shared.lock().closing = true;
        self.shared.arrived.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread reports errors through `failed`.
            let _ = thread.join();
        }
    }
}

impl Drop for ProbeQueue {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns the error that ended the queue, the first time; later, that the queue has ended.
fn alive(inner: &mut Inner) -> Result<(), Error> {
    if !inner.dead && !inner.closing {
        return Ok(());
    }
    Err(reason(inner))
}

fn reason(inner: &mut Inner) -> Error {
    inner.failed.take().unwrap_or_else(|| {
        Error::io("probing")(std::io::Error::other(
            "the queue has ended, after an error or because it was closed; create a new one",
        ))
    })
}
