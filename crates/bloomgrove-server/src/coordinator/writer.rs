//! The writer: the thread that makes all changes.
//!
//! ```text
//!   changes --> check against the state --> commit together --> memory --> answers
//!               (a batch has each set once)   (waits for disk)
//! ```
//!
//! Changes that arrive during a commit share the next one, so that many clients do not wait for each other. Memory is
//! changed after the disk: nothing that was acknowledged or found is ever lost. If writing fails, nothing of the batch has
//! happened; if it is unknown whether it has, the process exits, and the next one reads what is there.
//!
//! The writer runs at the same priority as queries. With a lower one, changes would starve while queries keep all processors
//! busy, and queries would wait for a lock of a thread that does not run. Only large filters, which take milliseconds to merge
//! and compress, are processed by a thread that steps back; it locks the index for one part of a filter at a time.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bloomgrove_client::api::Code;
use bloomgrove_http::observe::process;
use tokio::sync::{mpsc, oneshot};

use super::catalog::Effect;
use super::change::{Change, Done, Prepared};
use super::prepare::Present;
use super::quota;
use super::store::CommitError;
use super::{Shared, now};
use crate::Error;

/// Maximum number of changes per commit: a reader waits for one of them, the disk for all.
const BATCH: usize = 64;
/// From this size of a filter on, in bytes, a change of all of it takes milliseconds.
const LARGE: u64 = 64 << 10;

/// A change, and where to send its result.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) change: Change,
    pub(super) reply: oneshot::Sender<Result<Done, Error>>,
}

/// Changes that can be made, and where to send their results.
struct Batch {
    version: u64,
    prepared: Vec<Ready>,
    names: HashSet<Arc<str>>,
    /// The memory that they add, and to which sets.
    bytes: u64,
    grown: Vec<(Arc<str>, u64)>,
}

/// A change that can be made, and where to send its result.
struct Ready {
    prepared: Prepared,
    reply: oneshot::Sender<Result<Done, Error>>,
    /// Whether it changes all of a [`LARGE`] filter.
    is_large: bool,
}

/// Processes changes until all senders are gone.
pub(super) fn run(shared: &Shared, mut jobs: mpsc::Receiver<Job>) {
    let mut waiting: Option<Job> = None;
    while let Some(first) = waiting.take().or_else(|| jobs.blocking_recv()) {
        let mut batch = Batch {
            version: shared.version.load(Relaxed),
            prepared: Vec::new(),
            names: HashSet::new(),
            bytes: 0,
            grown: Vec::new(),
        };
        let mut next = Some(first);
        let mut taken = 0;
        while let Some(job) = next {
            if job.change.names().any(|name| batch.names.contains(name)) {
                // It must see what the batch does to its set.
                waiting = Some(job);
                break;
            }
            batch.take(shared, job);
            taken += 1;
            next = match taken < BATCH {
                true => jobs.try_recv().ok(),
                false => None,
            };
        }
        batch.commit(shared);
    }
}

impl Batch {
    /// Prepares a change, or reports why it cannot be made.
    fn take(&mut self, shared: &Shared, Job { change, reply }: Job) {
        let names: Vec<Arc<str>> = change.names().cloned().collect();
        let catalog = shared.read();
        let grown = change.grown(&catalog);
        let bytes = grown.as_ref().map_or(0, |grown| grown.below("").1);
        let (used, limit) = (catalog.bytes() + self.bytes, shared.limits.memory);
        if bytes > 0 && used.saturating_add(bytes) > limit {
            let detail = format!(
                "the sets take {used} bytes, and {bytes} more would exceed the limit of \
                 {limit}; delete sets, or raise `limits.memory`"
            );
            let _ = reply.send(Err(Error::new(Code::Memory, detail)));
            return;
        }
        if let Some(grown) = &grown
            && let Err(error) = quota::check(grown, &catalog, &self.grown)
        {
            return drop(reply.send(Err(error)));
        }
        let grown = grown.map(|grown| (grown.name.clone(), bytes));
        // No other thread changes it, so none waits for this lock.
        let index = shared.index.read();
        let present = Present {
            catalog: &catalog,
            index: &index,
            now: now(),
            version: self.version + 1,
        };
        let is_large = change.filter_bytes(&catalog) >= LARGE;
        match stepping_back(is_large, || present.prepare(change)) {
            Ok(prepared) if prepared.effect.is_some() => {
                self.version = present.version;
                self.bytes += bytes;
                self.grown.extend(grown);
                self.names.extend(names);
                self.prepared.push(Ready {
                    prepared,
                    reply,
                    is_large,
                });
            }
            // Nothing to write. If the client is gone, no answer is needed, here and below.
            Ok(prepared) => drop(reply.send(Ok(prepared.done))),
            Err(error) => drop(reply.send(Err(error))),
        }
    }

    /// Writes all changes, then makes them in memory, then acknowledges them.
    fn commit(mut self, shared: &Shared) {
        if self.prepared.is_empty() {
            return;
        }
        let prepared = self.prepared.iter_mut();
        let writes: Vec<_> = prepared
            .flat_map(|ready| std::mem::take(&mut ready.prepared.writes))
            .collect();
        if let Err(error) = shared.store.commit(&writes, self.version) {
            return self.refuse(error);
        }
        shared.version.store(self.version, Relaxed);
        shared.totals.commits.fetch_add(1, Relaxed);
        shared
            .totals
            .changes
            .fetch_add(self.prepared.len() as u64, Relaxed);
        for ready in self.prepared {
            let Some(effect) = ready.prepared.effect else {
                continue;
            };
            // A few bits are set at once, however large the filter is.
            let is_long = ready.is_large && !matches!(effect, Effect::SetBits(..));
            if let Err(error) = stepping_back(is_long, || shared.apply(effect)) {
                diverged(error);
            }
            let _ = ready.reply.send(Ok(ready.prepared.done));
        }
    }

    fn refuse(self, error: CommitError) {
        let detail = match error {
            CommitError::NotMade(error) => format!(
                "the change could not be written, and was not made: {error:#}; check the disk of \
                 the server, and send it again"
            ),
            CommitError::Unknown(error) => format!(
                "the change could not be written, and it is unknown whether it was made: \
                 {error:#}; check the disk of the server, and send it again"
            ),
            CommitError::Diverged(error) => diverged(error),
        };
        tracing::error!(changes = self.prepared.len(), "{detail}");
        for ready in self.prepared {
            let _ = ready
                .reply
                .send(Err(Error::new(Code::Storage, detail.clone())));
        }
    }
}

/// Does work. If it is long, that is done by another thread that [steps back](process::step_back), since a thread cannot raise its
/// priority again; or here, if the system has no more threads.
fn stepping_back<T: Send>(is_long: bool, work: impl FnOnce() -> T + Send) -> T {
    let (mut work, mut done) = (Some(work), None);
    if is_long {
        std::thread::scope(|scope| {
            let aside = || {
                process::step_back();
                done = work.take().map(|work| work());
            };
            // The scope ends when the thread does, and panics if it panicked.
            let _ = std::thread::Builder::new().spawn_scoped(scope, aside);
        });
    }
    done.or_else(|| work.map(|work| work()))
        .expect("done there or here")
}

/// The store has something that memory does not, so answers would lack it. Restarting makes both equal again.
fn diverged(error: impl std::fmt::Display) -> ! {
    tracing::error!("the index in memory no longer matches the store: {error:#}; exiting");
    std::process::abort();
}
