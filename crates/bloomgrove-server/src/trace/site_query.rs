//! One question to one site: sent when there is room, answered in time, checked.
//!
//! What goes wrong is told to who traces in words of ours. What a server says that is no site is not repeated: whoever
//! registers a site could otherwise read through the coordinator what only it can reach.

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

/// Of what a site says for people, so many characters are repeated.
const REPEATED: usize = 200;

/// What is to be asked.
pub(super) struct SiteQuery {
    pub(super) number: SiteNo,
    /// Set when it goes out.
    pub(super) sent: Arc<AtomicBool>,
    /// The site, or why it cannot be asked.
    pub(super) site: Result<Site, String>,
    pub(super) question: Starts,
    pub(super) direction: Direction,
    /// What to ask for at once.
    pub(super) size: Size,
    /// How long one answer may take.
    pub(super) time: Duration,
    /// For its answer.
    pub(super) charge: Charge,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct SiteAnswer {
    pub(super) number: SiteNo,
    pub(super) question: Starts,
    /// Of the question, what was too much.
    pub(super) left: Starts,
    /// What fits into an answer of this site.
    pub(super) size: Size,
    /// Of the question, all times it was sent.
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
    /// Those of the answer that is kept.
    pub(super) bytes: u64,
    pub(super) requests: u64,
    pub(super) time: Duration,
    pub(super) answer: Result<Checked, String>,
}

impl SiteQuery {
    /// Asks, once there is room in this trace and then among all; once more if the connection breaks, and for less if the answer is too
    /// large.
    pub(super) async fn ask(self, own: Arc<Semaphore>, all: Arc<Semaphore>) -> SiteAnswer {
        let mut asked = SiteAnswer {
            number: self.number,
            question: Vec::new(),
            left: Vec::new(),
            size: self.size,
            bytes_sent: 0,
            bytes_received: 0,
            bytes: 0,
            requests: 0,
            time: Duration::ZERO,
            answer: Err("the server is stopping".into()),
        };
        let mut request = LineageQuery {
            ids: self.question,
            direction: self.direction,
            links: links(self.size),
        };
        // For its answer, too, however large it is.
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
                    tokio::time::timeout(self.time, send(&site, &mut request, &mut asked)).await;
                let limit = self.time.as_secs_f64();
                let bytes = sent.unwrap_or_else(|_| Err(format!("no answer within {limit:.1} s")));
                asked.time = started.elapsed();
                match bytes {
                    Ok(bytes) => {
                        asked.bytes = bytes.len() as u64;
                        asked.bytes_received += asked.bytes;
                        // Milliseconds, for the largest.
                        let work = tokio::task::spawn_blocking(move || {
                            let checked = check::check(&bytes, &request.ids, request.direction);
                            (checked, request.ids)
                        });
                        match work.await {
                            Ok((checked, ids)) => (asked.answer, asked.question) = (checked, ids),
                            Err(_) => asked.answer = Err("its answer could not be read".into()),
                        }
                    }
                    Err(why) => (asked.answer, asked.question) = (Err(why), request.ids),
                }
            }
            (Err(why), _) => (asked.answer, asked.question) = (Err(why), request.ids),
            (_, None) => asked.question = request.ids,
        }
        asked
    }
}

/// How many are asked for, unless it is as many as sites tell.
fn links(size: Size) -> Option<u64> {
    size.is_fewer_links().then_some(size.links)
}

impl SiteAnswer {
    /// Ids whose links did not fit because fewer were asked for, on behalf of others, are open.
    pub(super) fn leave_cut_open(&mut self) {
        let Ok(answer) = &mut self.answer else {
            return;
        };
        if answer.cut.is_empty() || self.question.len() == 1 || !self.size.is_fewer_links() {
            return;
        }
        answer.leave_cut_open();
        self.size = self.size.alone();
    }
}

async fn send(
    site: &Site,
    request: &mut LineageQuery,
    asked: &mut SiteAnswer,
) -> Result<Vec<u8>, String> {
    let mut question = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    let mut broke = false;
    loop {
        asked.requests += 1;
        asked.bytes_sent += question.len() as u64;
        match site.lineage_bytes(question.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(Error::Transport { source, .. }) if !broke && !source.is_timeout() => {
                broke = true;
                tracing::debug!(error = %source, "a site is asked once more");
            }
            Err(error @ Error::Answer { status: 200, .. }) => {
                asked.bytes_received += ANSWER;
                // Long ids and texts: the same in smaller parts, and the rest another time.
                if !asked.size.shrink(request.ids.len()) {
                    return Err(told(&error));
                }
                request.links = links(asked.size);
                let kept = asked.size.ids.min(request.ids.len());
                asked.left.extend(request.ids.drain(kept..));
                question = serde_json::to_vec(request).map_err(|error| error.to_string())?;
            }
            Err(error) => {
                tracing::debug!(%error, "a site does not answer");
                return Err(told(&error));
            }
        }
    }
}

/// What went wrong, as it is told to who traces.
fn told(error: &Error) -> String {
    match error {
        Error::Problem(problem) => {
            let said = problem.detail.chars().take(REPEATED);
            let said = said.map(|c| if c.is_control() { ' ' } else { c });
            format!("it refused: {}", said.collect::<String>())
        }
        Error::Transport { source, .. } if source.is_timeout() => "no answer in time".into(),
        Error::Transport { .. } if error.to_string().contains("certificate") => {
            "its certificate is not trusted here (`sites.ca` in the server's configuration names an \
             authority)"
                .into()
        }
        Error::Transport { source, .. } if source.is_connect() => "it cannot be reached".into(),
        Error::Transport { .. } => "the connection broke".into(),
        Error::Answer { status: 200, .. } => {
            format!("its answer has more than {} MiB", ANSWER >> 20)
        }
        Error::Answer { status, .. } => {
            format!("it answered with status {status}, as no site does")
        }
        error => error.to_string(),
    }
}
