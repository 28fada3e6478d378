//! A bar for work that takes more than two seconds, on a terminal.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
}

impl Progress {
    /// Progress in bytes; `total` 0 means that it is unknown.
    pub(crate) fn bytes(total: u64, what: &'static str) -> Self {
        let template = if total == 0 {
            "{msg} {bytes} ({bytes_per_sec})"
        } else {
            "{msg} {bar:30} {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left)"
        };
        Self::new((total > 0).then_some(total), template, what)
    }

    /// Progress of work other than reading: [`at`](Self::at) reports how much of how much is done.
    pub(crate) fn share(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Some(1), "{msg} {bar:30} {percent}% ({eta} left)", what)
    }

    fn new(total: Option<u64>, template: &str, what: impl Into<Cow<'static, str>>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden())
            .with_style(ProgressStyle::with_template(template).expect("a right template"))
            .with_message(what);
        Self {
            bar,
            started: Instant::now(),
            // Without a terminal the bar stays hidden.
            shown: AtomicBool::new(!std::io::stderr().is_terminal()),
        }
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.bar.inc(bytes);
        self.show();
    }

    /// Changes the text before the bar.
    pub(crate) fn say(&self, what: impl Into<Cow<'static, str>>) {
        self.bar.set_message(what);
    }

    /// Removes the bar, to print in its place.
    pub(crate) fn hide(&self) {
        self.bar.finish_and_clear();
    }

    /// Reports how much is done, and how much there is in all.
    pub(crate) fn at(&self, done: u64, total: u64) {
        self.bar.set_length(total.max(1));
        self.bar.set_position(done);
        self.show();
    }

    /// Makes the bar visible when it is time.
    fn show(&self) {
        if !self.shown.load(Relaxed)
            && self.started.elapsed() > PATIENCE
            && !self.shown.swap(true, Relaxed)
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.hide();
    }
}
