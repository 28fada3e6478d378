//! The memory used by requests and their responses: one budget for all of them.
//!
//! ```text
//!   limits.memory   |---- kept ----|------ free ------|
//!   requests get                   |- half -|          + an eighth of limits.memory
//! ```
//!
//! A request has one [`Charge`]: for its body, for what the body is decoded into, for results, and for
//! its response until the last byte has been sent or the client is dropped. Anything large is charged
//! before it is allocated.
//!
//! | a request | when memory is short |
//! |---|---|
//! | that uses little (16 KiB) | proceeds: the number of connections is limited, too |
//! | that can never fit | is rejected: 413 |
//! | whose body, or what it is decoded into, is large | waits: for its body until its time limit, for more than that a few seconds: 503 |
//! | that grows while it is processed | is rejected: 503, try again |
//!
//! One caller (an access key, or an address on a server without keys) gets half of the memory, or what a
//! single request needs if it has no other: clients that stall lock out only themselves.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use bloomgrove_client::api::Code;
use bytes::Bytes;
use tokio::sync::Notify;

use crate::Error;
use crate::work::free;

/// What a request may use, whatever other requests use.
pub(crate) const SMALL: u64 = 16 << 10;
/// The minimum for all requests together.
const LEAST: u64 = 32 << 20;
/// How long a request that already uses memory waits for more.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that can be returned to the system within a millisecond.
const FREED_AT_ONCE: usize = 4 << 20;
/// Bodies of one caller leave three quarters of its share for what they are decoded into.
const BODIES: u64 = 4;

/// The memory for all requests.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Room>);

#[derive(Debug)]
struct Room {
    memory: u64,
    /// What is used apart from requests, once it is known.
    kept: OnceLock<Arc<AtomicU64>>,
    held: Mutex<Held>,
    /// What requests use that use little: most do, and are not listed by caller.
    little: AtomicU64,
    freed: Notify,
}

/// What other requests use.
#[derive(Debug, Default)]
struct Held {
    all: u64,
    callers: HashMap<Arc<str>, u64>,
}

/// Why a charge does not fit.
enum Full {
    /// It is larger than the whole budget.
    Never(u64),
    /// Other requests use it.
    Now,
}

impl Budget {
    /// A budget in addition to what is kept, which may take this much memory.
    #[must_use]
    pub fn new(memory: u64) -> Self {
        Self(Arc::new(Room {
            memory,
            kept: OnceLock::new(),
            held: Mutex::default(),
            little: AtomicU64::new(0),
            freed: Notify::new(),
        }))
    }

    /// Sets the counter of what is kept.
    pub fn beside(&self, kept: Arc<AtomicU64>) {
        // Set only once, at the start.
        let _ = self.0.kept.set(kept);
    }

    /// What all requests together may use.
    pub(crate) fn capacity(&self) -> u64 {
        let kept = self.0.kept.get().map_or(0, |kept| kept.load(Relaxed));
        (self.0.memory / 8).max(LEAST) + self.0.memory.saturating_sub(kept) / 2
    }

    /// What all requests together use.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.lock().all + self.0.little.load(Relaxed)
    }

    /// A charge for a request of this caller.
    #[must_use]
    pub fn charge(&self, caller: Arc<str>) -> Charge {
        Charge(Arc::new(Account {
            budget: self.clone(),
            caller,
            own: Mutex::default(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one request uses; returned to the budget when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Charge(Arc<Account>);

#[derive(Debug)]
struct Account {
    budget: Budget,
    caller: Arc<str>,
    own: Mutex<Own>,
}

/// What one request uses.
#[derive(Debug, Default)]
struct Own {
    bytes: u64,
    /// Whether it is listed by caller, as it is once it uses more than [`SMALL`].
    is_listed: bool,
}

impl Charge {
    /// The caller that is charged.
    #[must_use]
    pub fn caller(&self) -> &str {
        &self.0.caller
    }

    /// A separate charge for a part of the request, which ends before the rest.
    #[must_use]
    pub fn part(&self) -> Self {
        self.0.budget.charge(self.0.caller.clone())
    }

    /// Charges more, or fails immediately.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn take(&self, bytes: u64) -> Result<(), Error> {
        self.try_take(bytes, 1).map_err(Full::into)
    }

    /// Charges more, waiting until other requests have finished. Not for long: they may be waiting for this one.
    ///
    /// # Errors
    /// If it can never fit, or does not within a few seconds.
    pub async fn wait(&self, bytes: u64) -> Result<(), Error> {
        let waiting = tokio::time::timeout(PATIENCE, self.wait_within(bytes, 1));
        waiting.await.unwrap_or_else(|_| Err(Full::Now.into()))
    }

    /// Like [`wait`](Self::wait), for a body.
    pub(crate) async fn wait_for_body(&self, bytes: u64) -> Result<(), Error> {
        self.wait_within(bytes, BODIES).await
    }

    /// Like [`take`](Self::take), for a body.
    pub(crate) fn take_for_body(&self, bytes: u64) -> Result<(), Error> {
        self.try_take(bytes, BODIES).map_err(Full::into)
    }

    async fn wait_within(&self, bytes: u64, part: u64) -> Result<(), Error> {
        match self.try_take(bytes, part) {
            Err(Full::Now) => {}
            taken => return taken.map_err(Full::into),
        }
        loop {
            let mut freed = std::pin::pin!(self.0.budget.0.freed.notified());
            // Registered before the attempt, so that no notification is missed.
            freed.as_mut().enable();
            match self.try_take(bytes, part) {
                Err(Full::Now) => freed.await,
                taken => return taken.map_err(Full::into),
            }
        }
    }

    /// Sets the charge to this much, more or less than before.
    pub(crate) fn settle(&self, bytes: u64) -> Result<(), Error> {
        let now = self.0.own().bytes;
        if bytes > now {
            return self.take(bytes - now);
        }
        self.0.give_back(now - bytes);
        Ok(())
    }

    /// Bytes that stay charged as long as they, or a part of them, exist.
    pub(crate) fn with(self, bytes: Bytes) -> Bytes {
        struct Paid(Bytes, Option<Charge>);

        impl AsRef<[u8]> for Paid {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        impl Drop for Paid {
            fn drop(&mut self) {
                let (bytes, charge) = (std::mem::take(&mut self.0), self.1.take());
                if bytes.len() > FREED_AT_ONCE {
                    free((bytes, charge));
                }
            }
        }

        Bytes::from_owner(Paid(bytes, Some(self)))
    }

    fn try_take(&self, bytes: u64, part: u64) -> Result<(), Full> {
        let Account { budget, caller, .. } = &*self.0;
        let mut own = self.0.own();
        let after = own.bytes.saturating_add(bytes);
        if !own.is_listed && after <= SMALL {
            budget.0.little.fetch_add(bytes, Relaxed);
            own.bytes = after;
            return Ok(());
        }
        let capacity = budget.capacity();
        let mut held = budget.lock();
        let listed = if own.is_listed { own.bytes } else { 0 };
        let all = held.all + budget.0.little.load(Relaxed);
        let of_caller = held.callers.get(caller).copied().unwrap_or(0);
        let is_only = of_caller == listed;
        let fits = |held: u64, room: u64| held.saturating_add(bytes) <= room;
        // A body may take long to arrive.
        let most = if part == 1 { capacity } else { capacity / 2 };
        if after > SMALL {
            if !fits(own.bytes, most) {
                return Err(Full::Never(most));
            }
            if !fits(all, capacity) || !(is_only || fits(of_caller, capacity / 2 / part)) {
                return Err(Full::Now);
            }
        }
        if !own.is_listed {
            budget.0.little.fetch_sub(own.bytes, Relaxed);
        }
        held.all += after - listed;
        *held.callers.entry(caller.clone()).or_default() += after - listed;
        *own = Own {
            bytes: after,
            is_listed: true,
        };
        Ok(())
    }
}

impl Account {
    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut own = self.own();
        own.bytes -= bytes;
        if own.is_listed {
            let mut held = self.budget.lock();
            held.all -= bytes;
            if let Some(of_caller) = held.callers.get_mut(&self.caller) {
                *of_caller -= bytes;
                if *of_caller == 0 {
                    held.callers.remove(&self.caller);
                }
            }
        } else {
            self.budget.0.little.fetch_sub(bytes, Relaxed);
        }
        drop(own);
        self.budget.0.freed.notify_waiters();
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let bytes = self.own().bytes;
        self.give_back(bytes);
    }
}

impl From<Full> for Error {
    fn from(full: Full) -> Self {
        match full {
            Full::Never(capacity) => Error::new(
                Code::TooLarge,
                format!(
                    "the request needs more memory than the {capacity} bytes that this server has for \
                     requests; send or query less at a time, or raise `limits.memory`"
                ),
            ),
            Full::Now => Error::new(
                Code::Busy,
                "the server has no free memory for this request at the moment; try again shortly",
            ),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Charge {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        // Set by `limit`.
        let charge = parts.extensions.get::<Self>().cloned();
        Ok(charge.unwrap_or_else(|| Budget::new(0).charge("".into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn code(taken: Result<(), Error>) -> Option<Code> {
        taken.err().map(|error| error.code)
    }

    #[test]
    fn what_can_never_fit_is_told_from_what_does_not_fit_now() {
        // Room: 32 MiB, and half of 64.
        let budget = Budget::new(64 * MB);
        assert_eq!(budget.capacity(), 64 * MB);
        let (a, b) = (budget.charge("a".into()), budget.charge("b".into()));
        assert_eq!(code(a.take(65 * MB)), Some(Code::TooLarge));
        assert_eq!(code(a.take(60 * MB)), None);
        assert_eq!(code(b.take(5 * MB)), Some(Code::Busy));
        assert_eq!(code(b.take(SMALL)), None, "little is always taken");
        drop(a);
        assert_eq!(code(b.take(5 * MB)), None);
        drop(b);
        assert_eq!(budget.held(), 0);
        assert!(budget.lock().callers.is_empty());
    }

    #[test]
    fn one_caller_leaves_half_to_others() {
        let budget = Budget::new(64 * MB);
        let first = budget.charge("a".into());
        assert_eq!(code(first.take(30 * MB)), None);
        assert_eq!(
            code(budget.charge("a".into()).take(3 * MB)),
            Some(Code::Busy)
        );
        assert_eq!(code(budget.charge("b".into()).take(30 * MB)), None);
        // A request may have all if its caller has no other.
        assert_eq!(code(first.take(34 * MB)), None);
    }

    #[test]
    fn what_is_kept_leaves_less_to_requests() {
        let budget = Budget::new(800 * MB);
        assert_eq!(budget.capacity(), 500 * MB);
        budget.beside(Arc::new(AtomicU64::new(800 * MB)));
        assert_eq!(budget.capacity(), 100 * MB);
    }

    #[tokio::test]
    async fn who_waits_is_woken_by_what_is_given_back() {
        let budget = Budget::new(64 * MB);
        let (a, b) = (budget.charge("a".into()), budget.charge("b".into()));
        a.take(60 * MB).unwrap();
        let waiting = tokio::spawn(async move {
            b.wait(20 * MB).await.unwrap();
            b
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        a.settle(10 * MB).unwrap();
        let b = waiting.await.unwrap();
        assert_eq!(budget.held(), 30 * MB);
        assert_eq!(code(b.wait(65 * MB).await), Some(Code::TooLarge));
        // Paid for until the last slice is gone.
        let answer = b.with(Bytes::from(vec![1; 100]));
        let slice = answer.slice(3..5);
        drop(answer);
        assert_eq!(budget.held(), 30 * MB);
        drop(slice);
        assert_eq!(budget.held(), 10 * MB);
    }
}
