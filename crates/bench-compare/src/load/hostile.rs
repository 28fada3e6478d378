//! One hostile client: its attacks, as fast as the server allows.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::SHARED;
use super::http::{Http, JSON, TEXT};
use crate::server::sets::name;
use crate::server::wire::{Result, render};

/// What the client does.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub(super) enum Attack {
    /// Nothing: the ordinary load alone
    Nothing,
    /// A query of 5.6 kB: 512 times a key that all sets contain
    SharedKey,
    /// 30 downloads of 64 MiB that are never read
    Downloads,
    /// 60 concurrent insertions of 100,000 keys into a set with 64 hashes
    Batches,
    /// A JSON list of 60 MB of possible members
    List,
    /// New sets with the longest names and tags
    Tags,
    /// 4 concurrent requests for all numbers below 10^9 that are in a set
    Reconstruct,
    /// All of these in turn, for two seconds each
    InTurn,
}

/// All but the first and the last.
const SINGLE: [Attack; 6] = [
    Attack::SharedKey,
    Attack::Downloads,
    Attack::Batches,
    Attack::List,
    Attack::Tags,
    Attack::Reconstruct,
];
const TURN: Duration = Duration::from_secs(2);
/// A client that is rejected retries after this time.
const PAUSE: Duration = Duration::from_millis(20);

const LARGE: &str = "hostile-large";
const HASHED: &str = "hostile-hashed";

/// The number of sets created, which makes their names unique.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// The number of answers of each status; 0 stands for no answer in time.
pub(super) type Statuses = BTreeMap<u16, usize>;

/// Creates the sets that the attacks need.
pub(super) async fn prepare(http: &Http) -> Result<()> {
    for (name, bits, hashes) in [(LARGE, 64_u64 << 23, 7), (HASHED, 1 << 23, 64)] {
        let body = format!(r#"{{"name":"{name}","params":{{"bits":{bits},"hashes":{hashes}}}}}"#);
        http.get_done("POST", "/v1/sets", JSON, body).await?;
    }
    Ok(())
}

impl Attack {
    /// Attacks until this time.
    pub(super) async fn run(self, http: &Http, until: Instant) -> Statuses {
        let mut statuses = Statuses::new();
        if self == Self::InTurn {
            for attack in SINGLE.into_iter().cycle() {
                let end = until.min(Instant::now() + TURN);
                attack.one(http, end, &mut statuses).await;
                if Instant::now() >= until {
                    break;
                }
            }
        } else {
            self.one(http, until, &mut statuses).await;
        }
        statuses
    }

    async fn one(self, http: &Http, until: Instant, statuses: &mut Statuses) {
        let (workers, body) = match self {
            Self::Nothing | Self::InTurn => (0, String::new()),
            Self::SharedKey => (1, format!(r#"{{"keys":{}}}"#, list(SHARED, 512))),
            Self::Downloads => (30, String::new()),
            Self::Batches => (60, (0..100_000).fold(String::new(), line)),
            Self::List => (
                1,
                members(&format!(r#"{{"texts":{}}}"#, list("a", 15_000_000))),
            ),
            Self::Tags => (16, String::new()),
            Self::Reconstruct => (4, members(r#"{"range":[0,1000000000]}"#)),
        };
        let body = Bytes::from(body);
        let mut all = JoinSet::new();
        for _ in 0..workers {
            let (http, body) = (http.clone(), body.clone());
            all.spawn(async move {
                let mut own = Statuses::new();
                while Instant::now() + PAUSE < until {
                    let request = self.request(&http, &body, until);
                    let status = timeout_at(until, request).await;
                    let status = status.map_or(0, |status| status.unwrap_or(0));
                    *own.entry(status).or_default() += 1;
                    if !(200..300).contains(&status) {
                        sleep_until(until.min(Instant::now() + PAUSE)).await;
                    }
                }
                own
            });
        }
        sleep_until(until).await;
        for (status, count) in all.join_all().await.into_iter().flatten() {
            *statuses.entry(status).or_default() += count;
        }
    }

    /// One request of the attack, and the status of its answer.
    async fn request(self, http: &Http, body: &Bytes, until: Instant) -> Result<u16> {
        let body = body.clone();
        let (status, _) = match self {
            Self::Nothing | Self::InTurn => return Ok(0),
            Self::Downloads => return download(http, until).await,
            Self::SharedKey => http.ask("POST", "/v1/which", JSON, body).await?,
            Self::Batches => {
                let path = format!("/v1/sets/{HASHED}/items");
                http.ask("POST", &path, TEXT, body).await?
            }
            Self::List | Self::Reconstruct => {
                http.ask("POST", "/v1/reconstruct", JSON, body).await?
            }
            Self::Tags => {
                let own = format!("hostile-{}", MADE.fetch_add(1, Relaxed));
                let small = format!(r#"{{"name":"{own}","params":{{"bits":64,"hashes":1}}}}"#);
                let (status, answer) = http.ask("POST", "/v1/sets", JSON, small).await?;
                if status == 201 {
                    let path = format!("/v1/sets/{own}");
                    http.ask("PATCH", &path, JSON, longest(&own)).await?
                } else {
                    (status, answer)
                }
            }
        };
        Ok(status)
    }
}

/// A JSON list that repeats one text.
fn list(text: &str, times: usize) -> String {
    format!(r#"["{text}"{}]"#, format!(r#","{text}""#).repeat(times - 1))
}

fn line(mut lines: String, number: u32) -> String {
    // Writing to a string cannot fail.
    let _ = writeln!(lines, "{number}");
    lines
}

/// A query for those of these names that are in a set.
fn members(names: &str) -> String {
    let set = name(0);
    format!(r#"{{"expression":"\"{set}\"","names":{names}}}"#)
}

/// Renames a set to the longest name with this prefix, with as many and as long tags as allowed.
fn longest(own: &str) -> String {
    let tags: Vec<String> = (0..32)
        .map(|tag| format!(r#""{own:x<97}{tag:03}""#))
        .collect();
    format!(r#"{{"name":"{own:x<500}","tags":[{}]}}"#, tags.join(","))
}

/// Requests the large filter, and reads only the status of the answer.
async fn download(http: &Http, until: Instant) -> Result<u16> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    let mut stream = socket.connect(http.address).await?;
    let path = format!("/v1/sets/{LARGE}/filter?form=grove");
    stream.write_all(&render("GET", &path, "", b"")).await?;
    let mut start = [0; 12];
    while stream.peek(&mut start).await? < start.len() {
        tokio::time::sleep(PAUSE).await;
    }
    let status = std::str::from_utf8(&start[9..])?.parse()?;
    if status == 200 {
        // Stop shortly before the end, so that it is counted.
        sleep_until(until - PAUSE).await;
    }
    Ok(status)
}
