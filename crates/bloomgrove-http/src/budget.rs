//! The memory that requests hold, in and out: one budget for all of them.
//!
//! ```text
//!   limits.memory   |---- kept ----|------ free ------|
//!   requests get                   |- half -|          + an eighth of limits.memory
//! ```
//!
//! A request has one [`Charge`]: its body, what that becomes (values, results), and its answer
//! until the last byte has gone or the client is given up. Whatever is large is charged before
//! it is made.
//!
//! | a request | when the room is taken |
//! |---|---|
//! | that holds little (16 KiB) | goes on: connections are limited, too |
//! | that can never fit | is refused: 413 |
//! | whose body, or what that becomes, is large | waits: for its body until its time is up, for more than that a few seconds: 503 |
//! | that grows while it works | is refused: 503, try again |
//!
//! One caller (a key; without keys, an address) gets half of the room, or what one request needs when it
//! has no other: clients that stall lock out nobody but themselves.

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

/// What a request may hold whatever others do.
pub(crate) const SMALL: u64 = 16 << 10;
/// The least room that there is.
const LEAST: u64 = 32 << 20;
/// How long a request that holds something waits for more.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that are given back to the system at once: in a millisecond.
const FREED_AT_ONCE: usize = 4 << 20;
/// Bodies of one caller leave three quarters of its share for what they become.
const BODIES: u64 = 4;

/// The room for all requests.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Room>);

#[derive(Debug)]
struct Room {
    memory: u64,
    /// What is kept beside requests, once it is known.
    kept: OnceLock<Arc<AtomicU64>>,
    held: Mutex<Held>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Held {
    all: u64,
    callers: HashMap<String, u64>,
}

/// Why something does not fit.
enum Full {
    /// It is larger than the whole room.
    Never(u64),
    /// Others hold it.
    Now,
}

impl Budget {
    /// Beside what is kept, which may take this much memory.
    #[must_use]
    pub fn new(memory: u64) -> Self {
        Self(Arc::new(Room {
            memory,
            kept: OnceLock::new(),
            held: Mutex::default(),
            freed: Notify::new(),
        }))
    }

    /// From now on, what is kept takes this much.
    pub fn beside(&self, kept: Arc<AtomicU64>) {
        // There is only one start.
        let _ = self.0.kept.set(kept);
    }

    /// What all requests may hold together.
    pub(crate) fn capacity(&self) -> u64 {
        let kept = self.0.kept.get().map_or(0, |kept| kept.load(Relaxed));
        (self.0.memory / 8).max(LEAST) + self.0.memory.saturating_sub(kept) / 2
    }

    /// What they hold.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.lock().all
    }

    /// The account of a request of this caller.
    #[must_use]
    pub fn charge(&self, caller: String) -> Charge {
        Charge(Arc::new(Account {
            budget: self.clone(),
            caller,
            bytes: AtomicU64::new(0),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one request holds; given back when the last copy is dropped.
#[derive(Clone, Debug)]
pub struct Charge(Arc<Account>);

#[derive(Debug)]
struct Account {
    budget: Budget,
    caller: String,
    bytes: AtomicU64,
}

impl Charge {
    /// Who pays.
    #[must_use]
    pub fn caller(&self) -> &str {
        &self.0.caller
    }

    /// An account of its own for a part of the request, given back before the rest.
    #[must_use]
    pub fn part(&self) -> Self {
        self.0.budget.charge(self.0.caller.clone())
    }

    /// Takes more, at once or not at all.
    ///
    /// # Errors
    /// It does not fit.
    pub fn take(&self, bytes: u64) -> Result<(), Error> {
        self.try_take(bytes, 1).map_err(Full::into)
    }

    /// Takes more, when others have given it back. Not for long: they may wait for this one.
    ///
    /// # Errors
    /// It can never fit, or does not within a few seconds.
    pub async fn wait(&self, bytes: u64) -> Result<(), Error> {
        let waiting = tokio::time::timeout(PATIENCE, self.wait_within(bytes, 1));
        waiting.await.unwrap_or_else(|_| Err(Full::Now.into()))
    }

    /// As [`wait`](Self::wait), for a body.
    pub(crate) async fn wait_for_body(&self, bytes: u64) -> Result<(), Error> {
        self.wait_within(bytes, BODIES).await
    }

    /// As [`take`](Self::take), for a body.
    pub(crate) fn take_for_body(&self, bytes: u64) -> Result<(), Error> {
        self.try_take(bytes, BODIES).map_err(Full::into)
    }

    async fn wait_within(&self, bytes: u64, part: u64) -> Result<(), Error> {
        loop {
            let mut freed = std::pin::pin!(self.0.budget.0.freed.notified());
            // Heard from now on, so that nothing is given back unnoticed.
            freed.as_mut().enable();
            match self.try_take(bytes, part) {
                Err(Full::Now) => freed.await,
                taken => return taken.map_err(Full::into),
            }
        }
    }

    /// Holds this much from now on, more or less than before.
    pub(crate) fn settle(&self, bytes: u64) -> Result<(), Error> {
        let now = self.0.bytes.load(Relaxed);
        if bytes > now {
            return self.take(bytes - now);
        }
        self.0.give_back(now - bytes);
        Ok(())
    }

    /// Bytes that are paid for as long as anybody has them, or a part of them.
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
        let Account {
            budget,
            caller,
            bytes: own,
        } = &*self.0;
        let capacity = budget.capacity();
        let mut held = budget.lock();
        let before = own.load(Relaxed);
        let of_caller = held.callers.get(caller).copied().unwrap_or(0);
        let is_small = before.saturating_add(bytes) <= SMALL;
        let is_only = of_caller == before;
        let fits = |held: u64, room: u64| held.saturating_add(bytes) <= room;
        // A body may be long in coming.
        let most = if part == 1 { capacity } else { capacity / 2 };
        if !is_small {
            if !fits(before, most) {
                return Err(Full::Never(most));
            }
            if !fits(held.all, capacity) || !(is_only || fits(of_caller, capacity / 2 / part)) {
                return Err(Full::Now);
            }
        }
        held.all += bytes;
        *held.callers.entry(caller.clone()).or_default() += bytes;
        own.fetch_add(bytes, Relaxed);
        Ok(())
    }
}

impl Account {
    fn give_back(&self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut held = self.budget.lock();
        held.all -= bytes;
        if let Some(own) = held.callers.get_mut(&self.caller) {
            *own -= bytes;
            if *own == 0 {
                held.callers.remove(&self.caller);
            }
        }
        self.bytes.fetch_sub(bytes, Relaxed);
        drop(held);
        self.budget.0.freed.notify_waiters();
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.give_back(self.bytes.load(Relaxed));
    }
}

impl From<Full> for Error {
    fn from(full: Full) -> Self {
        match full {
            Full::Never(capacity) => Error::new(
                Code::TooLarge,
                format!(
                    "the request needs more memory than the {capacity} bytes that this server has for \
                     it; send or query less at a time, or raise `limits.memory`"
                ),
            ),
            Full::Now => Error::new(
                Code::Busy,
                "the server has no memory free for this request right now; try again shortly",
            ),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Charge {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        // `limit` has put it there.
        let charge = parts.extensions.get::<Self>().cloned();
        Ok(charge.unwrap_or_else(|| Budget::new(0).charge(String::new())))
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
