//! Work that takes milliseconds, aside from the threads that answer.
//!
//! A worker that joins the parts of a body, parses it, hashes its keys or frees them keeps everybody
//! else waiting: 38 ms for a body of 60 MB. Such work goes to threads of their own, as many at a time
//! as there are processors, which [step back](process::step_back) behind the workers.

use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::Error;
use crate::observe::process;

/// Does this work on a thread of its own, once there is a place.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Semaphore::new(threads))
    });
    let place = PLACES.clone().acquire_owned().await;
    let place = place.map_err(|_| Error::broken_off())?;
    let work = tokio::task::spawn_blocking(move || {
        process::step_back();
        let done = work();
        drop(place);
        done
    });
    work.await.map_err(|_| Error::broken_off())
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
