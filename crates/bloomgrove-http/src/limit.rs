//! Limits on the size and duration of requests.
//!
//! [`Enforce`] is in front of all handlers. However a handler reads its body (with an extractor, or frame by frame), it
//! gets no more than [`Limits::body`]. If there is more, or if it takes too long, the handler's response is
//! replaced by a clear error:
//!
//! | what | response |
//! |---|---|
//! | `Content-Length` above the limit | 413 `too_large`, before a byte is read |
//! | a body that turns out to be larger | 413 `too_large` |
//! | a request that needs more memory than all requests may use | 413 `too_large` |
//! | all requests together use too much memory | 503 `busy` |
//! | a body that does not arrive within [`Limits::request_time`] | 408 `timeout` |
//! | a response that is not ready by then | 503 `timeout` |
//!
//! Every request gets a [`Charge`] on the [`Budget`] of all requests, which handlers find in its extensions;
//! it lasts until the response has been sent.

use std::convert::Infallible;
use std::fmt::Display;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bloomgrove_client::api::{Code, Problem};
use bytes::{Buf, Bytes};
use http::{StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::Error;
use crate::access::Caller;
use crate::budget::{Budget, Charge, SMALL};
use crate::config::Limits;
use crate::error::respond;
use crate::observe::request::Peer;
use crate::work::aside;

/// The limits, and the memory for all requests.
#[derive(Clone, Debug)]
pub struct Enforce {
    limits: Limits,
    budget: Budget,
}

impl Enforce {
    /// With these limits and this budget.
    #[must_use]
    pub fn new(limits: Limits, budget: Budget) -> Self {
        Self { limits, budget }
    }

    /// Lets `next` respond to a request within the limits, or responds that they are exceeded.
    pub(crate) async fn around<B: HttpBody, F: Future<Output = Response>>(
        &self,
        request: http::Request<B>,
        peer: Option<Peer>,
        caller: Option<&Caller>,
        next: impl FnOnce(http::Request<Tallied<B>>, Charge) -> F,
    ) -> Response {
        let limit = self.limits.body;
        let declared = request.headers().get(header::CONTENT_LENGTH);
        let declared = declared.and_then(|value| value.to_str().ok()?.parse().ok());
        if declared.is_some_and(|declared: u64| declared > limit) {
            return too_large(limit).into_response();
        }
        let charge = self.budget.charge(payer(caller, peer));
        let tally = Arc::new(Tally {
            limit,
            charge: charge.clone(),
            paid: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            admitted: AtomicBool::new(false),
            complete: AtomicBool::new(request.body().is_end_stream()),
            refused: OnceLock::new(),
        });
        let request = request.map(|body| Tallied {
            body,
            tally: tally.clone(),
        });
        let time = self.limits.request_time;
        let work = async {
            // While this waits, the client can send only what fits into buffers.
            if let Some(declared) = declared {
                if let Err(error) = charge.wait_for_body(declared).await {
                    return error.into_response();
                }
                tally.paid.store(declared, Ordering::Relaxed);
            }
            tally.admitted.store(true, Ordering::Relaxed);
            next(request, charge.clone()).await
        };
        let response = tokio::time::timeout(time, work).await;
        if tally.is_too_large() {
            too_large(limit).into_response()
        } else if let Some(error) = tally.refused.get() {
            error.clone().into_response()
        } else if let Ok(response) = response {
            pay(response, charge).await
        } else {
            tally.too_late(time)
        }
    }
}

/// Who is charged for a request: its access key, or the address that it comes from.
fn payer(caller: Option<&Caller>, peer: Option<Peer>) -> Arc<str> {
    match caller.filter(|caller| !caller.name().is_empty()) {
        Some(caller) => caller.shared_name(),
        None => peer
            .map_or_else(String::new, |Peer(peer)| peer.ip().to_string())
            .into(),
    }
}

/// The response, whose bytes stay charged until they have been sent.
async fn pay(response: Response, charge: Charge) -> Response {
    let Some(size) = response
        .body()
        .size_hint()
        .exact()
        .filter(|&size| size > SMALL)
    else {
        return response;
    };
    // What the request itself used has been freed by now, or is about to be.
    if let Err(error) = charge.settle(size) {
        return error.into_response();
    }
    let (parts, body) = response.into_parts();
    // All of it is in memory already.
    match body.collect().await {
        Ok(body) => {
            let pieces = Pieces(charge.with(body.to_bytes()));
            Response::from_parts(parts, Body::new(pieces))
        }
        Err(error) => {
            let detail = format!("the response was interrupted: {error}");
            Error::new(Code::Internal, detail).into_response()
        }
    }
}

/// A response in pieces, since what hyper has taken and not yet sent is not counted.
struct Pieces(Bytes);

impl Pieces {
    const BYTES: usize = 32 << 10;
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.len().min(Self::BYTES);
        Poll::Ready(match piece {
            0 => None,
            _ => Some(Ok(Frame::data(self.0.split_to(piece)))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

/// Reads the whole body. If it exceeds a limit, [`Enforce`] replaces the error with its own.
///
/// # Errors
///
/// If the body is too large or incomplete.
pub async fn read_body<B>(body: B) -> Result<Bytes, Error>
where
    B: HttpBody<Data = Bytes, Error: Display>,
{
    let whole = body
        .collect()
        .await
        .map_err(|error| Error::invalid(format!("the body is incomplete: {error}")))?;
    // Its size. A collected body only has it as a buffer: its `size_hint` is always 0.
    let mut whole = whole.aggregate();
    let size = whole.remaining();
    // Joining the parts of a large body takes milliseconds.
    match size > AT_ONCE {
        true => aside(move || whole.copy_to_bytes(size)).await,
        false => Ok(whole.copy_to_bytes(size)),
    }
}

/// Bodies up to this size are joined immediately.
const AT_ONCE: usize = 256 << 10;

fn too_large(limit: u64) -> Error {
    Error::new(
        Code::TooLarge,
        format!(
            "the body is larger than the {limit} bytes that this server allows; send less at a \
             time, or raise `limits.body`"
        ),
    )
}

/// Counts the bytes of one body, which stay charged until the request ends.
#[derive(Debug)]
struct Tally {
    limit: u64,
    charge: Charge,
    /// Bytes that were charged before they arrived.
    paid: AtomicU64,
    seen: AtomicU64,
    /// Whether there was enough memory.
    admitted: AtomicBool,
    complete: AtomicBool,
    refused: OnceLock<Error>,
}

impl Tally {
    /// The response to a request that took longer than this.
    fn too_late(&self, time: Duration) -> Response {
        let seconds = time.as_secs_f64();
        if !self.admitted.load(Ordering::Relaxed) {
            let detail = format!(
                "no memory became free for this request within {seconds} s; nothing was changed. Send \
                 fewer requests at a time"
            );
            Error::new(Code::Busy, detail).into_response()
        } else if self.complete.load(Ordering::Relaxed) {
            let detail = format!(
                "timed out after {seconds} s. A change may still be made. Request less at a \
                 time, or raise `limits.request_time`"
            );
            Error::new(Code::Timeout, detail).into_response()
        } else {
            let detail = format!("the body did not arrive within {seconds} s; nothing was changed");
            // Of the two time limits, this one is the client's.
            respond(Problem {
                status: StatusCode::REQUEST_TIMEOUT.as_u16(),
                ..Error::new(Code::Timeout, detail).into()
            })
        }
    }

    fn is_too_large(&self) -> bool {
        self.seen.load(Ordering::Relaxed) > self.limit
    }

    fn add(&self, bytes: u64) -> Result<(), axum::Error> {
        let seen = self.seen.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if self.is_too_large() {
            return Err(axum::Error::new("larger than this server allows"));
        }
        let paid = self.paid.load(Ordering::Relaxed);
        if seen > paid {
            self.charge.take_for_body(seen - paid).map_err(|error| {
                let _ = self.refused.set(error.clone());
                axum::Error::new(error)
            })?;
            self.paid.store(seen, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A body whose bytes are counted.
pub(crate) struct Tallied<B> {
    body: B,
    tally: Arc<Tally>,
}

impl<B> HttpBody for Tallied<B>
where
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Unpin,
{
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
        frame.map_err(axum::Error::new)
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

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 1 << 20;

    #[tokio::test]
    async fn an_answer_is_paid_for_until_its_last_piece_has_gone() {
        let budget = Budget::new(64 << 20);
        let enforce = Enforce::new(Limits::default(), budget.clone());
        let request = http::Request::new(Body::empty());
        let large = async |_, _| vec![7u8; LENGTH].into_response();
        let response = enforce.around(request, None, None, large).await;
        let mut body = response.into_body();
        assert_eq!(body.size_hint().exact(), Some(LENGTH as u64));
        assert_eq!(budget.held(), LENGTH as u64);
        let mut last = Bytes::new();
        let mut seen = 0;
        while let Some(frame) = body.frame().await {
            last = frame.unwrap().into_data().unwrap();
            assert!(last.len() < LENGTH / 8, "all at once");
            seen += last.len();
        }
        assert_eq!(seen, LENGTH);
        drop(body);
        assert_eq!(budget.held(), LENGTH as u64);
        drop(last);
        assert_eq!(budget.held(), 0);
    }
}
