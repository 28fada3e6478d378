//! Load: connections that send a query as soon as the last one is answered, and deltas at a given
//! rate.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::sets::{self, ITEMS, Question};
use super::wire::{Result, Wire, find, render};

/// Connections that fill a server: sets sent at the same time share a commit.
const FILLERS: usize = 64;

/// Sends all sets; returns how many seconds it took.
pub(super) fn fill(address: SocketAddr, count: usize) -> Result<f64> {
    let started = Instant::now();
    let next = AtomicUsize::new(0);
    let filler = || -> Result<()> {
        let mut wire = Wire::open(address)?;
        loop {
            let set = next.fetch_add(1, Relaxed);
            if set >= count {
                return Ok(());
            }
            wire.expect(201, &sets::put(set)?)?;
        }
    };
    together(FILLERS.min(count), |_| filler())?;
    Ok(started.elapsed().as_secs_f64())
}

/// Runs the same work on this many threads.
fn together<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let work = &work;
        let spawn = |i| scope.spawn(move || work(i));
        let threads: Vec<_> = (0..count).map(spawn).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<T>>| match thread.join() {
            Ok(done) => done,
            Err(_) => Err("a connection panicked".into()),
        };
        threads.into_iter().map(join).collect()
    })
}

/// The times of requests.
#[derive(Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn sorted(parts: impl IntoIterator<Item = Vec<Duration>>) -> Self {
        let mut all: Vec<Duration> = parts.into_iter().flatten().collect();
        all.sort_unstable();
        Self(all)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The time within which this share of the requests finished, in milliseconds.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let place = ((self.0.len() as f64 * share).ceil() as usize).clamp(1, last + 1) - 1;
        self.0
            .get(place)
            .map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
    }
}

/// Counters from the status of the server.
#[derive(Clone, Copy)]
pub(super) struct Counters {
    pub(super) cpu: f64,
    pub(super) resident: f64,
    pub(super) store: f64,
    pub(super) commits: f64,
    pub(super) sets: f64,
}

pub(super) fn counters(address: SocketAddr) -> Result<Counters> {
    let mut wire = Wire::open(address)?;
    let body = wire.expect(200, &render("GET", "/v1/status", "", b""))?;
    let status: Value = serde_json::from_slice(body)?;
    let number = |value: &Value| value.as_f64().ok_or("no such number in the status");
    Ok(Counters {
        cpu: number(&status["cpu_seconds"])?,
        resident: number(&status["resident_bytes"])?,
        store: number(&status["store_bytes"])?,
        commits: number(&status["totals"]["commits"])?,
        sets: number(&status["sets"])?,
    })
}

/// The result of a period of load.
pub(super) struct Measured {
    pub(super) seconds: f64,
    pub(super) keys: usize,
    pub(super) asked: Times,
    pub(super) deltas: Times,
    /// Processor time of the server, in seconds.
    pub(super) cpu: f64,
    pub(super) commits: f64,
}

/// The load on a server.
pub(super) struct Load<'l> {
    pub(super) address: SocketAddr,
    pub(super) questions: &'l [Question],
    /// Each sends its next query when the last one is answered.
    pub(super) connections: usize,
    /// Deltas per second, on a separate connection.
    pub(super) deltas: f64,
    pub(super) seconds: f64,
}

impl Load<'_> {
    /// Applies the load, after a short warm-up that is not counted.
    pub(super) fn run(&self, source: &mut Deltas) -> Result<Measured> {
        if self.connections > 0 {
            let end = Instant::now() + Duration::from_secs_f64((self.seconds / 10.0).min(1.0));
            together(self.connections, |i| self.ask(i, end))?;
        }
        let before = counters(self.address)?;
        let started = Instant::now();
        let end = started + Duration::from_secs_f64(self.seconds);
        let stop = AtomicBool::new(false);
        let (asked, deltas) = std::thread::scope(|scope| {
            let changing = scope.spawn(|| match self.deltas > 0.0 {
                true => source.send(self.address, self.deltas, end, &stop),
                false => Ok(Vec::new()),
            });
            let asked = together(self.connections, |i| self.ask(i, end));
            if asked.is_err() {
                stop.store(true, Relaxed);
            }
            let deltas = changing.join();
            (
                asked,
                deltas.unwrap_or_else(|_| Err("deltas panicked".into())),
            )
        });
        let seconds = started.elapsed().as_secs_f64();
        let after = counters(self.address)?;
        let asked = Times::sorted(asked?);
        Ok(Measured {
            seconds,
            keys: asked.len() * self.questions.first().map_or(0, |question| question.keys),
            asked,
            deltas: Times::sorted([deltas?]),
            cpu: after.cpu - before.cpu,
            commits: after.commits - before.commits,
        })
    }

    fn ask(&self, connection: usize, end: Instant) -> Result<Vec<Duration>> {
        let mut wire = Wire::open(self.address)?;
        let mut times = Vec::new();
        // The connections do not send the same query at the same time.
        let from = connection * self.questions.len() / self.connections;
        for question in self.questions.iter().cycle().skip(from) {
            let started = Instant::now();
            if started >= end {
                break;
            }
            let body = wire.expect(200, &question.request)?;
            times.push(started.elapsed());
            // The answer for the first key must contain its set.
            let first = &body[..find(body, b"]").unwrap_or(body.len())];
            if find(first, &question.wanted).is_none() {
                return Err(format!(
                    "{} is not in the answer: {}",
                    String::from_utf8_lossy(&question.wanted),
                    String::from_utf8_lossy(&body[..body.len().min(300)])
                )
                .into());
            }
        }
        Ok(times)
    }
}

/// Sets that receive one more item each, in turn.
pub(super) struct Deltas {
    /// The number of items of each.
    items: Vec<u64>,
    next: usize,
}

/// A large stride, so that neighbouring sets do not change in succession.
const STRIDE: usize = 7919;

impl Deltas {
    pub(super) fn new(sets: usize) -> Self {
        Self {
            items: vec![ITEMS; sets],
            next: 0,
        }
    }

    /// This many per second: each is sent when it is due and the previous one has been answered.
    fn send(
        &mut self,
        address: SocketAddr,
        rate: f64,
        end: Instant,
        stop: &AtomicBool,
    ) -> Result<Vec<Duration>> {
        let mut wire = Wire::open(address)?;
        let started = Instant::now();
        let mut times = Vec::new();
        loop {
            let due = started + Duration::from_secs_f64(times.len() as f64 / rate);
            if due >= end || Instant::now() >= end || stop.load(Relaxed) {
                return Ok(times);
            }
            let set = self.next;
            let request = sets::delta(set, self.items[set])?;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let sent = Instant::now();
            wire.expect(200, &request)?;
            times.push(sent.elapsed());
            self.items[set] += 1;
            self.next = (set + STRIDE) % self.items.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_requests_are_those_of_the_sorted_times() {
        let times = Times::sorted([(1..=100).rev().map(Duration::from_millis).collect()]);
        assert_eq!(times.len(), 100);
        for (share, wanted) in [
            (0.0, 1.0),
            (0.5, 50.0),
            (0.99, 99.0),
            (0.999, 100.0),
            (1.0, 100.0),
        ] {
            assert!((times.at(share) - wanted).abs() < 1e-9, "{share}");
        }
        assert!(Times::default().at(0.5).is_nan());
    }
}
