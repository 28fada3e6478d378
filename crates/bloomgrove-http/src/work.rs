//! Work that takes milliseconds or more, aside from the threads that answer.
//!
//! A worker that joins the parts of a body, parses it, hashes its keys or frees them keeps everybody
//! else waiting: 38 ms for a body of 60 MB. Such work goes to threads of their own, which
//! [step back](process::step_back) behind the workers. How many run at a time is limited, in all and per caller.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bloomgrove_client::api::Code;
use tokio::runtime::Handle;
use tokio::sync::{AcquireError, Semaphore};

use crate::Error;
use crate::budget::Charge;
use crate::observe::process;

/// How many processors there are.
#[must_use]
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Places for work of one kind.
#[derive(Debug)]
pub struct Places {
    all: Arc<Semaphore>,
    /// How many of them one caller may have.
    each: usize,
    callers: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Places {
    /// This many, for any caller.
    #[must_use]
    pub fn new(places: usize) -> Self {
        Self::with_turns(places, places)
    }

    /// This many, of which one caller may have `each`.
    #[must_use]
    pub fn with_turns(places: usize, each: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(places)),
            each,
            callers: Mutex::default(),
        }
    }

    /// Does work on a thread of its own, once there is a place.
    ///
    /// # Errors
    /// `internal`, if it panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.run_holding((), work).await
    }

    /// As [`run`](Self::run), once it is the turn of who pays. The charge is held until the work is
    /// done, also when nobody waits for it any more.
    ///
    /// # Errors
    /// `internal`, if it panics.
    pub async fn run_for<T: Send + 'static>(
        &self,
        charge: Charge,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let turns = {
            let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that nobody uses go, so that addresses do not pile up.
            callers.retain(|_, turns| Arc::strong_count(turns) > 1);
            let turns = callers.entry(charge.caller().to_owned());
            turns
                .or_insert_with(|| Arc::new(Semaphore::new(self.each)))
                .clone()
        };
        let turn = turns.acquire_owned().await.map_err(stopping)?;
        self.run_holding((turn, charge), work).await
    }

    async fn run_holding<T: Send + 'static>(
        &self,
        held: impl Send + 'static,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let place = self.all.clone().acquire_owned().await.map_err(stopping)?;
        let work = tokio::task::spawn_blocking(move || {
            let _held = (place, held);
            process::step_back();
            work()
        });
        work.await.map_err(|_| Error::broken_off())
    }
}

fn stopping(_: AcquireError) -> Error {
    Error::new(Code::Busy, "the server is stopping")
}

/// Does work that takes milliseconds on a thread of its own: as many at a time as there are processors.
///
/// # Errors
/// `internal`, if it panics.
pub async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    static PLACES: LazyLock<Places> = LazyLock::new(|| Places::new(processors()));
    PLACES.run(work).await
}

/// A value of many parts, which takes milliseconds to free: aside, too.
#[derive(Debug)]
pub struct Bulk<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> From<T> for Bulk<T> {
    fn from(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T: Send + 'static> Deref for Bulk<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("taken only when dropped")
    }
}

impl<T: Send + 'static> Drop for Bulk<T> {
    fn drop(&mut self) {
        free(self.0.take());
    }
}

/// Frees what takes milliseconds to free.
pub(crate) fn free(value: impl Send + 'static) {
    // Outside of a runtime, nobody waits.
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn_blocking(move || {
            process::step_back();
            drop(value);
        });
    }
}
