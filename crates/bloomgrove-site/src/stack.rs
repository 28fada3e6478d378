//! A large stack for third-party parsers, which recurse as deeply as their input is nested.

use std::thread;

/// Its size in bytes. Only the part in use takes memory.
const STACK: usize = 256 << 20;

/// Runs this on a separate thread, and waits for it.
///
/// # Errors
/// If no thread can be created, or it panics.
pub(crate) fn on_a_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .map_err(|error| format!("cannot start a thread: {error}"))?
            .join()
            .map_err(|_| "the parser failed".to_owned())
    })
}
