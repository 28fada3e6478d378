//! A large stack for the parsers of others, which recurse as deep as what they read.

use std::thread;

/// Its bytes. It is touched only as far as it is used.
const STACK: usize = 256 << 20;

/// Does this on a thread of its own, and waits for it.
///
/// # Errors
/// No thread, or one that panicked.
pub(crate) fn on_a_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .map_err(|error| format!("no thread: {error}"))?
            .join()
            .map_err(|_| "the parser gave up on it".to_owned())
    })
}
