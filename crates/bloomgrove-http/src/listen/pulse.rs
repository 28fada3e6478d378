//! What a connection is doing, since when, and how long it may.
//!
//! ```text
//! Idle ──first byte──▶ Head ──parsed──▶ Busy ──answer ready──▶ Answer ──written──▶ Idle
//! idle_time            header_time      (limit.rs)             idle_time
//!                                                              without progress
//! ```

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use crate::config::Limits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// Between requests.
    Idle,
    /// A head is coming.
    Head,
    /// A request is worked on; its body may still be coming.
    Busy,
    /// An answer is being written.
    Answer,
}

impl Phase {
    fn of(number: u8) -> Self {
        match number {
            0 => Self::Idle,
            1 => Self::Head,
            2 => Self::Busy,
            _ => Self::Answer,
        }
    }
}

/// All of it happens in the task of the connection; the atomics only share it between the
/// stream, the bodies and the timer.
#[derive(Debug)]
pub(super) struct Pulse {
    start: Instant,
    phase: AtomicU8,
    /// Microseconds after `start`.
    since: AtomicU64,
    /// The answer came before the whole body had: see [`linger`](super::connection::linger).
    unread: AtomicBool,
    asked: AtomicBool,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            phase: AtomicU8::new(Phase::Idle as u8),
            since: AtomicU64::new(0),
            unread: AtomicBool::new(false),
            asked: AtomicBool::new(false),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        Phase::of(self.phase.load(Relaxed))
    }

    pub(super) fn enter(&self, phase: Phase) {
        if phase == Phase::Busy {
            self.asked.store(true, Relaxed);
        }
        self.phase.store(phase as u8, Relaxed);
        self.touch();
    }

    /// The phase goes on, but something happened.
    pub(super) fn touch(&self) {
        let now = self.start.elapsed().as_micros();
        self.since
            .store(u64::try_from(now).unwrap_or(u64::MAX), Relaxed);
    }

    /// Whether there was a request at all.
    pub(super) fn was_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    pub(super) fn set_unread(&self, unread: bool) {
        self.unread.store(unread, Relaxed);
    }

    pub(super) fn is_unread(&self) -> bool {
        self.unread.load(Relaxed)
    }

    /// When the phase must be over.
    pub(super) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let time = match self.phase() {
            Phase::Idle | Phase::Answer => limits.idle_time,
            Phase::Head => limits.header_time,
            Phase::Busy => return None,
        };
        let since = Duration::from_micros(self.since.load(Relaxed));
        // Later than time itself is never.
        self.start.checked_add(since)?.checked_add(time)
    }
}
