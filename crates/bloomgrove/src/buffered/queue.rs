//! A request queue before the blocks, in which no probe is to wait for longer than `t_max`.
//!
//! ```text
//!   submit --> [ request queue ] --> [ blocks ] --> pages --> answers --> receive
//!              |-- queue time --|   |------- block time ------|
//! ```
//!
//! A block is flushed when it is full, and also when its first entry has waited for `t_max`.
//! With a short `t_max` many blocks fall due at once, and the disk can bring only so many to
//! their pages in that time. So blocks are begun early enough that each is under way by its
//! time; and when as many blocks wait as can be flushed within `t_max`, a request that would
//! begin another one stays in the queue, with all others for its page; they begin their block
//! together. That is the trade of the paper's Figure 3: a shorter `t_max` takes time from the
//! blocks and adds it to the queue.
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

/// Longer than anybody waits, and short enough to reckon with.
const FAR: Duration = Duration::from_secs(1 << 30);

/// How a [`ProbeQueue`] queues.
#[derive(Clone, Copy, Debug)]
pub struct QueueOptions {
    /// How many requests the queue holds: whoever submits more waits.
    pub requests: usize,
    /// One in so many probes is timed.
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

/// Probes of one filter from any number of threads, each answered soon.
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
                // Whoever waits for it must hear of it.
                let outcome = catch_unwind(run).unwrap_or_else(|_| {
                    let what = std::io::Error::other("the thread of the queue has panicked");
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

    /// Asks for a key; waits while the queue is full.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Corrupt`] when a page could not be read: the queue has then
    /// come to its end.
    pub fn submit<K: Key + ?Sized>(&self, key: &K, tag: u64) -> Result<(), Error> {
        self.submit_batch(&[key], tag)
    }

    /// Asks for many keys, whose tags are `first` and those that follow it.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
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

    /// The answers that have come since, in no order; waits for some if there are none, unless
    /// nothing is asked for or the time is over. Answers are kept until they are received.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
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

    /// How many probes have been submitted and not answered.
    pub fn open(&self) -> u64 {
        self.shared.lock().open
    }

    /// How long those timed have waited so far.
    pub fn latencies(&self) -> Latencies {
        let inner = self.shared.lock();
        let [queue, block, total] = inner.times.each_ref().map(Histogram::latency);
        Latencies {
            queue,
            block,
            total,
        }
    }

    /// What has been done so far.
    pub fn figures(&self) -> Figures {
        self.shared.lock().figures
    }

    /// Flushes all blocks, now, and returns when every probe has been answered and can be
    /// received. No more can be submitted.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
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
            // It reports by `failed`.
            let _ = thread.join();
        }
    }
}

impl Drop for ProbeQueue {
    fn drop(&mut self) {
        self.end();
    }
}

/// The error that ended the queue, the first time; later, that it has ended.
fn alive(inner: &mut Inner) -> Result<(), Error> {
    if !inner.dead && !inner.closing {
        return Ok(());
    }
    Err(reason(inner))
}

fn reason(inner: &mut Inner) -> Error {
    inner.failed.take().unwrap_or_else(|| {
        Error::io("probing")(std::io::Error::other(
            "the queue has come to its end, by an error or because it was closed",
        ))
    })
}
