//! Limits on what a request may send and how long it may take.
//!
//! [`enforce`] is the middleware. However a handler reads its body (by an extractor, or frame
//! by frame), it gets no more than [`Limits::body`]; when there is more, or when it takes too
//! long, the answer of the handler is replaced by a clear refusal:
//!
//! | what | answer |
//! |---|---|
//! | `Content-Length` above the limit | 413 `too_large`, before a byte is read |
//! | a body that turns out larger | 413 `too_large` |
//! | all bodies together take too much memory | 503 `busy` |
//! | a body that does not come in [`Limits::request_time`] | 408 `timeout` |
//! | an answer that is not ready by then | 503 `timeout` |

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bloomgrove_client::api::{Code, Problem};
use bytes::Bytes;
use http::{StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, SizeHint};

use crate::config::Limits;
use crate::refusal::{problem, respond};

/// What [`enforce`] needs: the limits, and how many bytes of bodies are in memory now.
#[derive(Clone, Debug)]
pub struct Enforce {
    limits: Limits,
    held: Arc<AtomicU64>,
}

impl Enforce {
    /// With these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            held: Arc::default(),
        }
    }

    /// How many bytes all bodies together may take: a quarter of what filters may, but enough
    /// for a few of the largest.
    fn room(&self) -> u64 {
        (self.limits.memory / 4).max(self.limits.body.saturating_mul(4))
    }
}

/// The middleware.
pub async fn enforce(State(enforce): State<Enforce>, request: Request, next: Next) -> Response {
    let limit = enforce.limits.body;
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|value| value.to_str().ok()?.parse().ok());
    if declared.is_some_and(|declared: u64| declared > limit) {
        return respond(too_large(limit));
    }
    let tally = Arc::new(Tally {
        limit,
        room: enforce.room(),
        held: enforce.held.clone(),
        seen: AtomicU64::new(0),
        complete: AtomicBool::new(request.body().is_end_stream()),
        busy: AtomicBool::new(false),
    });
    let request = request.map(|body| {
        Body::new(Tallied {
            body,
            tally: tally.clone(),
        })
    });
    let time = enforce.limits.request_time;
    let response = tokio::time::timeout(time, next.run(request)).await;
    let seconds = time.as_secs_f64();
    if tally.is_too_large() {
        respond(too_large(limit))
    } else if tally.busy.load(Ordering::Relaxed) {
        respond(problem(
            StatusCode::SERVICE_UNAVAILABLE,
            Code::Busy,
            "the bodies of all requests under way take too much memory; try again in a moment",
        ))
    } else if let Ok(response) = response {
        response
    } else if tally.complete.load(Ordering::Relaxed) {
        respond(problem(
            StatusCode::SERVICE_UNAVAILABLE,
            Code::Timeout,
            format!(
                "no answer within {seconds} s. A change may be made all the same; ask for less \
                 at a time, or raise `limits.request_time`"
            ),
        ))
    } else {
        respond(problem(
            StatusCode::REQUEST_TIMEOUT,
            Code::Timeout,
            format!("the body did not come within {seconds} s; nothing was changed"),
        ))
    }
}

/// The whole body. What it refuses, [`enforce`] says in its own words.
///
/// # Errors
///
/// When the body is too large, or breaks off.
pub async fn read_body(body: Body) -> Result<Bytes, Problem> {
    let whole = body.collect().await.map_err(|error| {
        problem(
            StatusCode::BAD_REQUEST,
            Code::Invalid,
            format!("the body broke off: {error}"),
        )
    })?;
    Ok(whole.to_bytes())
}

fn too_large(limit: u64) -> Problem {
    problem(
        StatusCode::PAYLOAD_TOO_LARGE,
        Code::TooLarge,
        format!(
            "the body is larger than the {limit} bytes that this server takes; send less at a \
             time, or raise `limits.body`"
        ),
    )
}

/// What was seen of one body. Its bytes are held until the request is done.
#[derive(Debug)]
struct Tally {
    limit: u64,
    room: u64,
    held: Arc<AtomicU64>,
    seen: AtomicU64,
    complete: AtomicBool,
    busy: AtomicBool,
}

impl Tally {
    fn is_too_large(&self) -> bool {
        self.seen.load(Ordering::Relaxed) > self.limit
    }

    fn add(&self, bytes: u64) -> Result<(), axum::Error> {
        self.seen.fetch_add(bytes, Ordering::Relaxed);
        let held = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if self.is_too_large() {
            return Err(axum::Error::new("larger than this server takes"));
        }
        if held > self.room {
            self.busy.store(true, Ordering::Relaxed);
            return Err(axum::Error::new("too many bodies at a time"));
        }
        Ok(())
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let seen = self.seen.load(Ordering::Relaxed);
        self.held.fetch_sub(seen, Ordering::Relaxed);
    }
}

struct Tallied {
    body: Body,
    tally: Arc<Tally>,
}

impl hyper::body::Body for Tallied {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
            && let Err(error) = self.tally.add(data.len() as u64)
        {
            return Poll::Ready(Some(Err(error)));
        }
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.tally.complete.store(true, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        let end = self.body.is_end_stream();
        if end {
            self.tally.complete.store(true, Ordering::Relaxed);
        }
        end
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
