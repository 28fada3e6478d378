//! The time used by coordinators and sites: that of the machine, or of a simulation.
//!
//! The time of day jumps when someone sets the clock. The elapsed time does not, but it does not advance
//! while a machine sleeps.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

static IS_SIMULATED: AtomicBool = AtomicBool::new(false);
static NOW: AtomicU64 = AtomicU64::new(0);
static PASSED: AtomicU64 = AtomicU64::new(0);

/// The time of day, in seconds since 1970.
#[must_use]
pub fn now() -> u64 {
    if IS_SIMULATED.load(Relaxed) {
        return NOW.load(Relaxed);
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The time that has passed since the first call in this process.
#[must_use]
pub fn passed() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    if IS_SIMULATED.load(Relaxed) {
        return Duration::from_secs(PASSED.load(Relaxed));
    }
    START.get_or_init(Instant::now).elapsed()
}

/// Sets the time of day (seconds since 1970) and the elapsed seconds for the whole process: for
/// simulations, in which one machine acts at a time.
#[doc(hidden)]
pub fn simulate(now: u64, passed: u64) {
    NOW.store(now, Relaxed);
    PASSED.store(passed, Relaxed);
    IS_SIMULATED.store(true, Relaxed);
}
