//! One query to one site: sent when there is capacity, answered in time, checked.
//!
//! Errors are reported to the client in our own words. What a server that is not a site responds is not repeated: otherwise,
//! by registering a site, one could read through the coordinator what only it can reach.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bloomgrove_client::api::{Direction, LineageQuery};
use bloomgrove_client::{Error, Site};
use bloomgrove_http::budget::Charge;
use tokio::sync::Semaphore;

use super::check::{self, Checked};
use super::graph::{SiteNo, Starts};
use super::pool::ANSWER;
use super::share::Size;

/// Maximum number of characters repeated from the message of a site.
const REPEATED: usize = 200;

/// A query to one site.
pub(super) struct SiteQuery {
    pub(super) number: SiteNo,
    /// Set when it is sent.
    pub(super) sent: Arc<AtomicBool>,
    /// The site, or why it cannot be queried.
    pub(super) site: Result<Site, String>,
    pub(super) starts: Starts,
    pub(super) direction: Direction,
    /// How much to query at once.
    pub(super) size: Size,
    /// Time limit for one answer.
    pub(super) time: Duration,
    /// For the memory of its answer.
    pub(super) charge: Charge,
}

/// The outcome of a query.
#[derive(Debug)]
pub(super) struct SiteAnswer {
    pub(super) number: SiteNo,
    pub(super) starts: Starts,
    /// The ids that were too many for one query.
    pub(super) left: Starts,
    /// What fits into an answer of this site.
    pub(super) size: Size,
    /// Bytes of the query, each time it was sent.
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
    /// Bytes of the answer that is kept.
    pub(super) bytes: u64,
    pub(super) requests: u64,
    pub(super) time: Duration,
    pub(super) answer: Result<Checked, String>,
}

impl SiteQuery {
    /// Sends the query once there is capacity in this trace and then in total; again if the connection breaks, and for less if
    /// the answer is too large.
    pub(super) async fn send(self, own: Arc<Semaphore>, all: Arc<Semaphore>) -> SiteAnswer {
        let mut outcome = SiteAnswer {
            number: self.number,
            starts: Vec::new(),
            left: Vec::new(),
            size: self.size,
            bytes_sent: 0,
            bytes_received: 0,
            bytes: 0,
            requests: 0,
            time: Duration::ZERO,
            answer: Err("the server is shutting down".into()),
        };
        let mut request = LineageQuery {
            ids: self.starts,
            direction: self.direction,
            links: links(self.size),
        };
        // Also for its answer, however large it is.
        let room = async {
            let permits = (own.acquire().await.ok()?, all.acquire().await.ok()?);
            self.charge.wait(ANSWER).await.ok()?;
            Some(permits)
        };
        match (self.site, room.await) {
            (Ok(site), Some(_permits)) => {
                self.sent.store(true, Relaxed);
                let started = Instant::now();
                let sent =
                    tokio::time::timeout(self.time, send(&site, &mut request, &mut outcome)).await;
                let limit = self.time.as_secs_f64();
                let bytes = sent.unwrap_or_else(|_| Err(format!("no answer within {limit:.1} s")));
                outcome.time = started.elapsed();
                match bytes {
                    Ok(bytes) => {
                        outcome.bytes = bytes.len() as u64;
                        outcome.bytes_received += outcome.bytes;
                        // Takes milliseconds for the largest.
                        let work = tokio::task::spawn_blocking(move || {
                            let checked = check::check(&bytes, &request.ids, request.direction);
                            (checked, request.ids)
                        });
                        match work.await {
                            Ok((checked, ids)) => (outcome.answer, outcome.starts) = (checked, ids),
                            Err(_) => {
                                outcome.answer = Err("its answer could not be checked".into())
                            }
                        }
                    }
                    Err(why) => (outcome.answer, outcome.starts) = (Err(why), request.ids),
                }
            }
            (Err(why), _) => (outcome.answer, outcome.starts) = (Err(why), request.ids),
            (_, None) => outcome.starts = request.ids,
        }
        outcome
    }
}

/// The number of links to request, unless it is the maximum.
fn links(size: Size) -> Option<u64> {
    size.is_fewer_links().then_some(size.links)
}

impl SiteAnswer {
    /// Ids whose links did not fit because fewer were requested, on account of others, have to be queried again.
    pub(super) fn leave_cut_open(&mut self) {
        let Ok(answer) = &mut self.answer else {
            return;
        };
        if answer.cut.is_empty() || self.starts.len() == 1 || !self.size.is_fewer_links() {
            return;
        }
        answer.leave_cut_open();
        self.size = self.size.alone();
    }
}

async fn send(
    site: &Site,
    request: &mut LineageQuery,
    outcome: &mut SiteAnswer,
) -> Result<Vec<u8>, String> {
    let mut starts = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    let mut broke = false;
    loop {
        outcome.requests += 1;
        outcome.bytes_sent += starts.len() as u64;
        match site.lineage_bytes(starts.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(Error::Transport { source, .. }) if !broke && !source.is_timeout() => {
                broke = true;
                tracing::debug!(error = %source, "retrying a query to a site");
            }
            Err(error @ Error::Answer { status: 200, .. }) => {
                outcome.bytes_received += ANSWER;
                // Long ids and texts: send the query in smaller parts, and the rest another time.
                if !outcome.size.shrink(request.ids.len()) {
                    return Err(told(&error));
                }
                request.links = links(outcome.size);
                let kept = outcome.size.ids.min(request.ids.len());
                outcome.left.extend(request.ids.drain(kept..));
                starts = serde_json::to_vec(request).map_err(|error| error.to_string())?;
            }
            Err(error) => {
                tracing::debug!(%error, "a site does not answer");
                return Err(told(&error));
            }
        }
    }
}

/// An error as reported to the client.
fn told(error: &Error) -> String {
    match error {
        Error::Problem(problem) => {
            let said = problem.detail.chars().take(REPEATED);
            let said = said.map(|c| if c.is_control() { ' ' } else { c });
            format!("it refused: {}", said.collect::<String>())
        }
        Error::Transport { source, .. } if source.is_timeout() => "no answer in time".into(),
        Error::Transport { .. } if error.to_string().contains("certificate") => {
            "its certificate is not trusted (`sites.ca` in the server's configuration sets the certificate \
             authority)"
                .into()
        }
        Error::Transport { source, .. } if source.is_connect() => "it cannot be reached".into(),
        Error::Transport { .. } => "the connection broke".into(),
        Error::Answer { status: 200, .. } => {
            format!("its answer is larger than {} MiB", ANSWER >> 20)
        }
        Error::Answer { status, .. } => {
            format!("unexpected status {status}; is this the URL of a site?")
        }
        error => error.to_string(),
    }
}
