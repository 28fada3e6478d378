//! Ctrl-C: long work asks here now and then, stops cleanly, and keeps what it has.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

static ASKED: AtomicBool = AtomicBool::new(false);
/// Set while waiting for input that may never come, with nothing half written.
static WAITING: AtomicBool = AtomicBool::new(false);

/// So soon after the first, a signal is the same one again: `timeout` sends its own twice.
const SAME: Duration = Duration::from_millis(500);

/// From now on the first Ctrl-C (or a polite kill) sets a flag, and the second ends
/// the process; while it waits for standard input, the first does.
pub(crate) fn catch() {
    let mut first: Option<Instant> = None;
    // Without a handler, Ctrl-C just ends the process: nothing is damaged then either.
    let _ = ctrlc::set_handler(move || {
        ASKED.store(true, Relaxed);
        let since = first.get_or_insert_with(Instant::now).elapsed();
        if since > SAME || WAITING.load(Relaxed) {
            std::process::exit(130);
        }
    });
}

pub(crate) fn was_asked() -> bool {
    ASKED.load(Relaxed)
}

/// An error once Ctrl-C was pressed.
pub(crate) fn check() -> anyhow::Result<()> {
    anyhow::ensure!(!was_asked(), "interrupted; nothing was changed");
    Ok(())
}

/// While it lives, Ctrl-C ends the process at once.
pub(crate) struct Waiting;

impl Waiting {
    pub(crate) fn new() -> Self {
        WAITING.store(true, Relaxed);
        Self
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.store(false, Relaxed);
    }
}
