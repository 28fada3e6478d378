//! Work of a millisecond or more, on threads other than those that serve requests.
//!
//! A worker that joins the parts of a body, parses it, hashes its keys or frees them keeps all other requests
//! waiting: 38 ms for a body of 60 MB. Such work runs on separate threads with a
//! [lower priority](process::step_back). How many run at a time is limited, in total and per caller.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bloomgrove_client::api::Code;
use tokio::runtime::Handle;
use tokio::sync::{AcquireError, Semaphore};

use crate::Error;
use crate::budget::Charge;
use crate::observe::process;

/// The number of processors.
#[must_use]
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A limited number of places for one kind of work.
#[derive(Debug)]
pub struct Places {
    all: Arc<Semaphore>,
    /// How many of them one caller may occupy.
    each: usize,
    callers: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Places {
    /// This many places, for any caller.
    #[must_use]
    pub fn new(places: usize) -> Self {
        Self::with_turns(places, places)
    }

    /// This many places, of which one caller may occupy `each`.
    #[must_use]
    pub fn with_turns(places: usize, each: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(places)),
            each,
            callers: Mutex::default(),
        }
    }

    /// Runs work on a separate thread once there is a place.
    ///
    /// # Errors
    /// `internal` if it panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.run_holding((), work).await
    }

    /// Like [`run`](Self::run), once it is the turn of the caller that is charged. The charge lasts until the work
    /// is done, even if the client has gone.
    ///
    /// # Errors
    /// `internal` if it panics.
    pub async fn run_for<T: Send + 'static>(
        &self,
        charge: Charge,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let turns = {
            let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
            // Remove those not in use, so that addresses do not accumulate.
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
    Error::new(Code::Busy, "the server is shutting down")
}

/// Runs work of a millisecond or more on a separate thread; as many at a time as there are processors.
///
/// # Errors
/// `internal` if it panics.
pub async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    static PLACES: LazyLock<Places> = LazyLock::new(|| Places::new(processors()));
    PLACES.run(work).await
}

/// A value of many parts, which takes milliseconds to free and is freed on a separate thread.
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

/// Frees a value that takes milliseconds to free.
pub(crate) fn free(value: impl Send + 'static) {
    // Outside of a runtime, nothing is kept waiting.
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn_blocking(move || {
            process::step_back();
            drop(value);
        });
    }
}
