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

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use bloomgrove_client::api::Problem;
use bloomgrove_client::shorten;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use tower::{Layer, Service};
use tracing::{Instrument, Span};

use super::metrics::{IN_PROGRESS, REQUESTS, SECONDS};
use crate::access::Caller;

/// Maximum length of a path in the log, in bytes.
const LONGEST_PATH: usize = 500;
const HEADER: HeaderName = HeaderName::from_static("x-request-id");

tokio::task_local! {
    static ID: HeaderValue;
}

/// The id of the request that this task serves; empty outside of one.
#[must_use]
pub fn current_id() -> String {
    let id = ID.try_with(|id| id.to_str().unwrap_or_default().to_owned());
    id.unwrap_or_default()
}

/// The address at the other end of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// A request that is logged and counted.
pub(crate) struct Seen {
    id: HeaderValue,
    span: Span,
    measure: Measure,
}

impl Seen {
    /// Sees a request; `path` is its route, if it is known without the router.
    pub(crate) fn new<B>(
        request: &mut http::Request<B>,
        peer: Option<Peer>,
        path: Option<&'static str>,
    ) -> Self {
        let id = id_of(request.headers());
        let route = match path {
            Some(path) => Route::Known(path),
            None => {
                let found = Found::default();
                request.extensions_mut().insert(found.clone());
                Route::Found(found)
            }
        };
        let method = method_of(request.method());
        // At the highest level, so that its fields are there at every log level.
        let span = tracing::error_span!(
            "request",
            id = id.to_str().unwrap_or_default(),
            method,
            path = &*shorten(request.uri().path(), LONGEST_PATH),
            peer = peer.map(|Peer(addr)| tracing::field::display(addr)),
        );
        Self {
            id,
            span,
            measure: Measure::new(method, route),
        }
    }

    /// Lets `work` respond, logs the response, and counts it. Requests that take longer than `slow` are logged as such.
    pub(crate) async fn through(
        self,
        work: impl Future<Output = (Response, Option<Caller>)>,
        slow: Duration,
    ) -> Response {
        let Self { id, span, measure } = self;
        let work = async {
            let (mut response, caller) = work.await;
            measure.finish(&response, caller.as_ref(), slow);
            if let Ok(id) = ID.try_with(HeaderValue::clone) {
                response.headers_mut().insert(HEADER, id);
            }
            response
        };
        ID.scope(id, work).instrument(span).await
    }
}

/// Counted when dropped, so also if the client disconnects before the response.
struct Measure {
    start: Instant,
    method: &'static str,
    route: Route,
    /// The status, and the time it took.
    done: Option<(u16, Duration)>,
}

impl Measure {
    fn new(method: &'static str, route: Route) -> Self {
        in_progress().increment(1.0);
        Self {
            start: Instant::now(),
            method,
            route,
            done: None,
        }
    }

    /// Logs the response.
    fn finish(mut self, response: &Response, caller: Option<&Caller>, slow: Duration) {
        let (status, time) = (response.status().as_u16(), self.start.elapsed());
        self.done = Some((status, time));
        let ms = time.as_secs_f64() * 1e3;
        let key = caller.map(Caller::name);
        let reason = response.extensions().get::<Problem>();
        let reason = reason.map(|problem| problem.detail.as_str());
        // A server that is not ready is normal, and is checked every few seconds.
        let failed = status >= 500 && self.route.as_str() != "/readyz";
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
}

impl Drop for Measure {
    fn drop(&mut self) {
        in_progress().decrement(1.0);
        let (status, time) = match self.done {
            Some((status, time)) => (Some(status), time),
            None => (None, self.start.elapsed()),
        };
        count(self.route.as_str(), self.method, status, time);
    }
}

fn in_progress() -> &'static Gauge {
    static GAUGE: LazyLock<Gauge> = LazyLock::new(|| gauge!(IN_PROGRESS));
    &GAUGE
}

/// What requests with the same route, method and status are counted by: looking it up by labels would take a
/// microsecond for each of them.
struct Counted {
    method: &'static str,
    status: Option<u16>,
    requests: Counter,
    seconds: Histogram,
}

fn count(route: &str, method: &'static str, status: Option<u16>, time: Duration) {
    static KNOWN: LazyLock<RwLock<HashMap<String, Vec<Counted>>>> = LazyLock::new(RwLock::default);
    let add = |counted: &Counted| {
        counted.requests.increment(1);
        counted.seconds.record(time);
    };
    let is_it = |counted: &&Counted| counted.method == method && counted.status == status;
    {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(counted) = known.get(route).and_then(|all| all.iter().find(is_it)) {
            return add(counted);
        }
    }
    let text = status.map_or_else(|| "gone".to_owned(), |status| status.to_string());
    let owned = || route.to_owned();
    let counted = Counted {
        method,
        status,
        requests: counter!(REQUESTS, "route" => owned(), "method" => method, "status" => text),
        seconds: histogram!(SECONDS, "route" => owned(), "method" => method),
    };
    add(&counted);
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    // If another thread has just added it, too, both are the same.
    known.entry(owned()).or_default().push(counted);
}

/// The route of a request.
enum Route {
    Known(&'static str),
    Found(Found),
}

impl Route {
    fn as_str(&self) -> &str {
        match self {
            Route::Known(path) => path,
            Route::Found(found) => found.0.get().map_or("other", MatchedPath::as_str),
        }
    }
}

/// The route that the router finds; an extension of the request.
#[derive(Clone, Default)]
struct Found(Arc<OnceLock<MatchedPath>>);

/// The layer of the router that notes the route of a request.
#[derive(Clone)]
pub(crate) struct NoteRoute;

impl<S> Layer<S> for NoteRoute {
    type Service = Noting<S>;

    fn layer(&self, inner: S) -> Noting<S> {
        Noting(inner)
    }
}

#[derive(Clone)]
pub(crate) struct Noting<S>(S);

impl<S: Service<Request>> Service<Request> for Noting<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> S::Future {
        let extensions = request.extensions();
        if let (Some(Found(found)), Some(path)) =
            (extensions.get(), extensions.get::<MatchedPath>())
        {
            // A request is routed once.
            let _ = found.set(path.clone());
        }
        self.0.call(request)
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
fn id_of(headers: &HeaderMap) -> HeaderValue {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let own = headers.get(HEADER).filter(|id| {
        let id = id.as_bytes();
        (1..=64).contains(&id.len()) && id.iter().all(fits)
    });
    own.cloned().unwrap_or_else(new_id)
}

/// Sixteen digits, unique within a process and almost certainly across processes.
fn new_id() -> HeaderValue {
    static FIRST: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("request"));
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let id = HeaderValue::try_from(format!("{:016x}", FIRST.wrapping_add(number)));
    id.expect("digits are a header value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensible_ids_are_kept_and_others_replaced() {
        let with = |id: &str| {
            let headers = HeaderMap::from_iter([(HEADER, id.parse().unwrap())]);
            id_of(&headers)
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
