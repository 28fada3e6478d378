//! The log of requests: the caller, the path, the duration, and an id for each request.
//!
//! Every request has an id: the client's `x-request-id` if it is suitable, otherwise a new one. It is in a
//! header of the response, in every problem, and in every log line that the request causes.
//!
//! | level | requests |
//! |---|---|
//! | warn | that failed in the server (5xx), or were slow |
//! | info | that were rejected (4xx) |
//! | debug | all |
//!
//! Only the path of the URL is logged, since the query string may contain the keys that were looked up.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bloomgrove_client::api::Problem;
use bloomgrove_client::shorten;
use http::{HeaderName, HeaderValue, Method};
use metrics::{counter, gauge, histogram};
use tracing::Instrument;

use super::metrics::{IN_PROGRESS, REQUESTS, SECONDS};
use crate::access::Caller;

/// Maximum length of a path in the log, in bytes.
const LONGEST_PATH: usize = 500;
const HEADER: HeaderName = HeaderName::from_static("x-request-id");

tokio::task_local! {
    static ID: String;
}

/// The id of the request that this task serves; empty outside of one.
#[must_use]
pub fn current_id() -> String {
    ID.try_with(Clone::clone).unwrap_or_default()
}

/// The address at the other end of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The middleware; its state is the duration from which a request is slow.
pub async fn watch(State(slow): State<Duration>, mut request: Request, next: Next) -> Response {
    let id = id_of(&request);
    let route = match request.extensions().get::<MatchedPath>() {
        Some(path) => path.as_str().to_owned(),
        None => "other".to_owned(),
    };
    let measure = Measure {
        start: Instant::now(),
        method: method_of(request.method()),
        route,
        status: None,
    };
    gauge!(IN_PROGRESS).increment(1.0);
    let peer = request.extensions().get::<Peer>();
    // At the highest level, so that its fields are there at every log level.
    let span = tracing::error_span!(
        "request",
        id,
        method = measure.method,
        path = &*shorten(request.uri().path(), LONGEST_PATH),
        peer = peer.map(|Peer(addr)| tracing::field::display(*addr)),
    );
    if let Ok(value) = HeaderValue::from_str(&id) {
        request.headers_mut().insert(HEADER, value);
    }
    let work = async move {
        let mut response = next.run(request).await;
        finish(measure, &mut response, slow);
        response
    };
    ID.scope(id, work).instrument(span).await
}

fn finish(mut measure: Measure, response: &mut Response, slow: Duration) {
    if let Ok(value) = HeaderValue::from_str(&current_id()) {
        response.headers_mut().insert(HEADER, value);
    }
    let status = response.status();
    measure.status = Some(status.as_u16());
    let time = measure.start.elapsed();
    let ms = time.as_secs_f64() * 1e3;
    let key = response.extensions().get::<Caller>().map(Caller::name);
    let reason = response.extensions().get::<Problem>();
    let reason = reason.map(|problem| problem.detail.as_str());
    let status = status.as_u16();
    // A server that is not ready is normal, and is checked every few seconds.
    let failed = status >= 500 && measure.route != "/readyz";
    if failed {
        tracing::warn!(status, ms, key, reason, "failed");
    } else if time >= slow {
        tracing::warn!(status, ms, key, reason, "slow");
    } else if (400..500).contains(&status) {
        tracing::info!(status, ms, key, reason, "rejected");
    } else {
        tracing::debug!(status, ms, key, "done");
    }
}

/// Counted when dropped, so also if the client disconnects before the response.
struct Measure {
    start: Instant,
    method: &'static str,
    route: String,
    status: Option<u16>,
}

impl Drop for Measure {
    fn drop(&mut self) {
        let route = std::mem::take(&mut self.route);
        let status = match self.status {
            Some(status) => status.to_string(),
            None => "gone".to_owned(),
        };
        gauge!(IN_PROGRESS).decrement(1.0);
        histogram!(SECONDS, "route" => route.clone(), "method" => self.method)
            .record(self.start.elapsed());
        counter!(REQUESTS, "route" => route, "method" => self.method, "status" => status)
            .increment(1);
    }
}

/// One of a few words: a client must not be able to create new ones, each of which would be a time series.
fn method_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// The client's id, if it is suitable for a log; otherwise a new one.
fn id_of(request: &Request) -> String {
    let own = request.headers().get(HEADER);
    let own = own.and_then(|value| value.to_str().ok()).filter(|id| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (1..=64).contains(&id.len()) && id.bytes().all(fits)
    });
    own.map_or_else(new_id, str::to_owned)
}

/// Sixteen digits, unique within a process and almost certainly across processes.
fn new_id() -> String {
    static FIRST: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("request"));
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}", FIRST.wrapping_add(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensible_ids_are_kept_and_others_replaced() {
        let with = |id: &str| {
            let request = Request::builder().header("x-request-id", id);
            id_of(&request.body(axum::body::Body::empty()).unwrap())
        };
        for good in ["a", "7f-3_B.x", &"x".repeat(64)] {
            assert_eq!(with(good), good);
        }
        for bad in ["", "two words", "a\"b", &"x".repeat(65)] {
            assert_ne!(with(bad), bad);
            assert_eq!(with(bad).len(), 16);
        }
        assert_ne!(new_id(), new_id());
    }
}
