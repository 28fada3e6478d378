//! Ordinary traffic: requests on a fixed schedule, regardless of what happens to earlier ones.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use bloomgrove::codec;
use bloomgrove_client::api::MEDIA_MESSAGE;
use tokio::runtime::Handle;

use super::http::{Http, JSON, TEXT};
use super::small;
use crate::server::load::Times;
use crate::server::sets::{ITEMS, key, name};
use crate::server::wire::{Result, find};

/// A kind of request.
#[derive(Clone, Copy)]
enum Kind {
    /// Whether the server is alive.
    Live,
    /// Which sets contain a key; at least one does.
    Key,
    /// One more item for a set.
    Delta,
    /// A new set.
    Upload,
}

const KINDS: [Kind; 4] = [Kind::Live, Kind::Key, Kind::Delta, Kind::Upload];

/// Requests of each kind per second.
pub(super) struct Rates {
    pub(super) live: f64,
    pub(super) keys: f64,
    pub(super) deltas: f64,
    pub(super) uploads: f64,
}

/// How long after it was due each request was answered.
pub(super) struct Measured {
    pub(super) live: Times,
    pub(super) keys: Times,
    pub(super) deltas: Times,
    pub(super) uploads: Times,
    /// How long after it was due each request was sent: the delay caused by the load generator.
    pub(super) sent: Times,
}

/// A request that is not answered by then counts as never answered, like one that is rejected.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
pub(super) const NEVER: Duration = Duration::MAX;

/// A large stride, so that neighbouring sets are not used in succession.
const STRIDE: usize = 7919;

/// Sends requests at these rates for this time, and waits for their answers.
pub(super) fn run(
    runtime: &Handle,
    http: &Http,
    sets: usize,
    rates: &Rates,
    time: Duration,
) -> Measured {
    let rates = [rates.live, rates.keys, rates.deltas, rates.uploads];
    let (sender, answered) = mpsc::channel();
    let mut counts = [0_usize; KINDS.len()];
    let mut sent = Vec::new();
    let start = Instant::now();
    let due = |at: usize, count: usize| Duration::from_secs_f64(count as f64 / rates[at]);
    // On a thread and not in the runtime, whose clock has a resolution of a millisecond.
    loop {
        let times = counts.iter().enumerate();
        let next = times.map(|(at, &count)| (due(at, count), at)).min();
        let Some((from_start, at)) = next.filter(|&(from_start, _)| from_start < time) else {
            break;
        };
        let due = start + from_start;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        sent.push(due.elapsed());
        let (http, sender, count) = (http.clone(), sender.clone(), counts[at]);
        runtime.spawn(async move {
            let request = one(&http, KINDS[at], sets, count);
            let answer = tokio::time::timeout(PATIENCE, request).await;
            let took = match answer {
                Ok(Ok(())) => due.elapsed(),
                _ => NEVER,
            };
            // Received until the last sender is gone.
            let _ = sender.send((at, took));
        });
        counts[at] += 1;
    }
    drop(sender);
    let mut times: [Vec<Duration>; KINDS.len()] = Default::default();
    for (at, took) in answered {
        times[at].push(took);
    }
    let [live, keys, deltas, uploads] = times.map(|times| Times::sorted([times]));
    Measured {
        live,
        keys,
        deltas,
        uploads,
        sent: Times::sorted([sent]),
    }
}

/// Sends the request of a kind with this number, and checks its answer.
async fn one(http: &Http, kind: Kind, sets: usize, number: usize) -> Result<()> {
    let set = number.wrapping_mul(STRIDE) % sets;
    match kind {
        Kind::Live => {
            http.get_done("GET", "/livez", TEXT, "").await?;
        }
        Kind::Key => {
            let body = format!(r#"{{"keys":["{}"]}}"#, key(set, number as u64 % ITEMS));
            let answer = http.get_done("POST", "/v1/which", JSON, body).await?;
            find(&answer, name(set).as_bytes()).ok_or("the set is not in the answer")?;
        }
        Kind::Delta => {
            let items = ITEMS + (number / sets) as u64;
            let (mut message, old, new) = (Vec::new(), small(set, items)?, small(set, items + 1)?);
            codec::delta(&old, &new, &mut message)?;
            let path = format!("/v1/sets/{}/filter", name(set));
            http.get_done("POST", &path, MEDIA_MESSAGE, message).await?;
        }
        Kind::Upload => {
            let mut message = Vec::new();
            codec::compress(&small(set, ITEMS)?, &mut message)?;
            let path = format!("/v1/sets/upload-{number}/filter");
            http.get_done("PUT", &path, MEDIA_MESSAGE, message).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    /// Answers every request with success, but none before `open`.
    fn stalled(listener: TcpListener, open: Instant) {
        for stream in listener.incoming().map_while(|stream| stream.ok()) {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(&stream);
                loop {
                    let mut line = String::new();
                    match reader.read_line(&mut line) {
                        Ok(0) | Err(_) => return,
                        Ok(_) if line != "\r\n" => continue,
                        Ok(_) => {}
                    }
                    std::thread::sleep(open.saturating_duration_since(Instant::now()));
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                    if (&stream).write_all(answer).is_err() {
                        return;
                    }
                }
            });
        }
    }

    #[test]
    fn a_stall_is_charged_to_every_request_that_falls_into_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let open = Instant::now() + Duration::from_millis(600);
        std::thread::spawn(move || stalled(listener, open));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let rates = Rates {
            live: 50.0,
            keys: 1.0,
            deltas: 1.0,
            uploads: 1.0,
        };
        let time = Duration::from_secs(1);
        let measured = run(runtime.handle(), &Http::new(address), 10, &rates, time);
        assert_eq!(measured.live.len(), 50);
        // 30 were due in the stall; 15 of them more than 300 ms before its end.
        assert!(measured.live.at(0.75) > 250.0, "{}", measured.live.at(0.75));
        assert!(measured.live.at(1.0) > 550.0, "{}", measured.live.at(1.0));
        // An answer that does not list the set does not count.
        assert!(measured.keys.at(0.0) >= NEVER.as_secs_f64());
    }
}
