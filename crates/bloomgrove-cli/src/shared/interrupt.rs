//! Ctrl-C: long work checks here now and then, stops cleanly, and keeps what is done.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

static ASKED: AtomicBool = AtomicBool::new(false);
/// Set while waiting for input that may never come, with nothing half written.
static WAITING: AtomicBool = AtomicBool::new(false);

/// What to do before the process ends while it waits.
type LastWish = Box<dyn FnOnce() + Send>;
static LAST_WISH: Mutex<Option<LastWish>> = Mutex::new(None);

/// A second signal this soon is the same one again: `timeout` sends it twice.
const SAME: Duration = Duration::from_millis(500);

/// From now on the first Ctrl-C (or SIGTERM) sets a flag, and the second ends the process; while
/// it waits for standard input, the first does, once the last wish is done.
pub(crate) fn catch() {
    let mut first: Option<Instant> = None;
    // Without a handler, Ctrl-C just ends the process: nothing is damaged then either.
    let _ = ctrlc::set_handler(move || {
        ASKED.store(true, Relaxed);
        let since = first.get_or_insert_with(Instant::now).elapsed();
        if since > SAME {
            std::process::exit(130);
        }
        if WAITING.load(Relaxed) {
            match LAST_WISH.lock().ok().and_then(|mut wish| wish.take()) {
                None => std::process::exit(130),
                // In another thread, so that the second Ctrl-C is handled.
                Some(wish) => std::thread::spawn(wish),
            };
        }
    });
}

/// While this lives, Ctrl-C while waiting for input does not end the process: `wish` does, by
/// another thread.
pub(crate) fn before_end(wish: impl FnOnce() + Send + 'static) -> BeforeEnd {
    if let Ok(mut last) = LAST_WISH.lock() {
        *last = Some(Box::new(wish));
    }
    BeforeEnd
}

pub(crate) struct BeforeEnd;

impl Drop for BeforeEnd {
    fn drop(&mut self) {
        if let Ok(mut last) = LAST_WISH.lock() {
            *last = None;
        }
    }
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
