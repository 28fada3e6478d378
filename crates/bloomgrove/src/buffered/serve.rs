//! The thread that serves a [`ProbeQueue`](super::ProbeQueue): takes requests, fills blocks,
//! and delivers answers.
//!
//! ```text
//!   requests --take 256--> may its block be flushed in time? --yes--> block --page--> answers
//!                                     | no
//!                                  parked, by page, until it can be
//! ```

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;
use crate::hash::{Digest, remix};

use super::engine::{BufferOptions, Figures};
use super::file::PageFile;
use super::latency::Histogram;
use super::probe::Prober;
use super::state::State;

/// The maximum number of probes timed at once; further probes are answered but not timed.
const TIMED: usize = 1 << 16;
/// How long to wait for a page before checking for requests again.
const GLANCE: Duration = Duration::from_micros(100);
/// Requests added to blocks before the clock is read again.
const BATCH: usize = 256;

pub(super) struct Request {
    pub(super) digest: Digest,
    pub(super) tag: u64,
    pub(super) at: Instant,
}

#[derive(Default)]
pub(super) struct Inner {
    pub(super) requests: VecDeque<Request>,
    /// Requests that the thread has taken but that still count as queued.
    pub(super) parked: usize,
    pub(super) answers: VecDeque<(u64, bool)>,
    /// The number of requests submitted but not yet answered.
    pub(super) open: u64,
    pub(super) closing: bool,
    pub(super) failed: Option<Error>,
    pub(super) dead: bool,
    pub(super) times: [Histogram; 3],
    pub(super) figures: Figures,
}

#[derive(Default)]
pub(super) struct Shared {
    pub(super) inner: Mutex<Inner>,
    pub(super) arrived: Condvar,
    pub(super) room: Condvar,
    pub(super) answered: Condvar,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn wait<'i>(signal: &Condvar, inner: MutexGuard<'i, Inner>) -> MutexGuard<'i, Inner> {
    signal.wait(inner).unwrap_or_else(PoisonError::into_inner)
}

/// When a probe was submitted, and when it was added to its block.
type Times = HashMap<u64, (Instant, Instant)>;

/// Runs the thread of a queue.
pub(super) fn serve(
    file: &PageFile,
    state: State,
    options: &BufferOptions,
    every: u64,
    shared: &Shared,
) -> Result<(), Error> {
    let answers = RefCell::new(Vec::new());
    let sink = |tag, yes| answers.borrow_mut().push((tag, yes));
    let mut prober = Prober::start(file, state, options, sink)?;
    let is_timed = |tag: u64| remix(tag).is_multiple_of(every);
    let mut times = Times::new();
    let mut parked = Parked::default();
    loop {
        let (requests, closing) = {
            let mut inner = shared.lock();
            let most = inner.requests.len().min(BATCH);
            let taken: Vec<Request> = inner.requests.drain(..most).collect();
            // Parked requests count toward the capacity when the next are taken.
            inner.parked = parked.requests;
            shared.room.notify_all();
            let closing = inner.closing && inner.requests.is_empty();
            (taken, closing)
        };
        let now = Instant::now();
        let mut moved = !requests.is_empty();
        let mut put = |prober: &mut Prober<_>, request: Request| {
            if is_timed(request.tag) && times.len() < TIMED {
                times.insert(request.tag, (request.at, now));
            }
            prober.submit_digest(request.digest, request.tag)
        };
        // First the requests that were parked.
        while let Some(page) = parked.first()
            && prober.admits(page)
        {
            for request in parked.take_first() {
                put(&mut prober, request)?;
            }
            moved = true;
        }
        for request in requests {
            let page = prober.page_of(request.digest);
            if parked.has(page) || !prober.admits(page) {
                parked.add(page, request);
            } else {
                put(&mut prober, request)?;
            }
        }
        let ends = closing && parked.requests == 0;
        if ends {
            prober.hurry()?;
        }
        prober.poll()?;
        moved |= deliver(shared, &answers, &mut times, is_timed, prober.figures());
        if ends && prober.is_idle() {
            return Ok(());
        }
        if moved {
            continue;
        }
        // Nothing to do: wait for a page, a request, or the deadline of a block.
        let next = prober.next_deadline();
        let left = next.map(|next| next.saturating_duration_since(Instant::now()));
        if prober.outstanding() > 0 {
            // An overdue block waits for a worker.
            let left = left.filter(|left| !left.is_zero());
            let glance = left.unwrap_or(GLANCE).min(GLANCE);
            prober.wait_until(Instant::now() + glance)?;
            continue;
        }
        let inner = shared.lock();
        if inner.requests.is_empty() && !(inner.closing && parked.requests == 0) {
            match left {
                None => drop(wait(&shared.arrived, inner)),
                Some(left) => drop(shared.arrived.wait_timeout(inner, left.max(GLANCE))),
            }
        }
    }
}

/// Requests that may not start a block yet, by page, in the order of each page's first request.
#[derive(Default)]
struct Parked {
    by_page: HashMap<usize, Vec<Request>>,
    order: VecDeque<usize>,
    requests: usize,
}

impl Parked {
    fn has(&self, page: usize) -> bool {
        self.by_page.contains_key(&page)
    }

    fn add(&mut self, page: usize, request: Request) {
        let waiting = self.by_page.entry(page).or_default();
        if waiting.is_empty() {
            self.order.push_back(page);
        }
        waiting.push(request);
        self.requests += 1;
    }

    fn first(&self) -> Option<usize> {
        self.order.front().copied()
    }

    fn take_first(&mut self) -> Vec<Request> {
        let page = self.order.pop_front();
        let taken = page.and_then(|page| self.by_page.remove(&page));
        let taken = taken.unwrap_or_default();
        self.requests -= taken.len();
        taken
    }
}

/// Delivers answers and records how long they took; returns whether there were any.
fn deliver(
    shared: &Shared,
    answers: &RefCell<Vec<(u64, bool)>>,
    times: &mut Times,
    is_timed: impl Fn(u64) -> bool,
    figures: Figures,
) -> bool {
    let mut answers = answers.borrow_mut();
    if answers.is_empty() {
        return false;
    }
    let now = Instant::now();
    let mut inner = shared.lock();
    for &(tag, _) in answers.iter() {
        if is_timed(tag)
            && let Some((submitted, blocked)) = times.remove(&tag)
        {
            let [queue, block, total] = &mut inner.times;
            queue.add(blocked - submitted);
            block.add(now - blocked);
            total.add(now - submitted);
        }
    }
    inner.open -= answers.len() as u64;
    inner.figures = figures;
    inner.answers.extend(answers.drain(..));
    shared.answered.notify_all();
    true
}
