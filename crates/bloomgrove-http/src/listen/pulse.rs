//! What a connection is doing, since when, and for how long it may.
//!
//! ```text
//! Idle ──first byte──▶ Head ──parsed──▶ Busy ──response ready──▶ Answer ──written──▶ Idle
//! idle_time            header_time      (limit.rs)               idle_time
//!                                                                without progress
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
    /// Receiving a head.
    Head,
    /// Processing a request; its body may still be arriving.
    Busy,
    /// Sending a response.
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

/// Everything happens in the connection's task; the atomics only share it between the stream, the bodies and
/// the timer.
#[derive(Debug)]
pub(super) struct Pulse {
    start: Instant,
    phase: AtomicU8,
    /// Microseconds after `start`.
    since: AtomicU64,
    /// The response was ready before the whole body had arrived: see [`linger`](super::connection::linger).
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

    /// There was progress, but the phase is the same.
    pub(super) fn touch(&self) {
        let now = self.start.elapsed().as_micros();
        self.since
            .store(u64::try_from(now).unwrap_or(u64::MAX), Relaxed);
    }

    /// Whether there has been a request.
    pub(super) fn was_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    pub(super) fn set_unread(&self, unread: bool) {
        self.unread.store(unread, Relaxed);
    }

    pub(super) fn is_unread(&self) -> bool {
        self.unread.load(Relaxed)
    }

    /// When the phase must have ended.
    pub(super) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let time = match self.phase() {
            Phase::Idle | Phase::Answer => limits.idle_time,
            Phase::Head => limits.header_time,
            Phase::Busy => return None,
        };
        let since = Duration::from_micros(self.since.load(Relaxed));
        // A deadline that cannot be represented never comes.
        self.start.checked_add(since)?.checked_add(time)
    }
}
