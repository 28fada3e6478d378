//! What is in front of every handler, from the outside in:
//!
//! ```text
//! observe::request   an id, the duration, a line in the log
//! panics             become a 500, and the server keeps running
//! guard              turns the access key into a Caller, or 401; foreign pages get 403
//! limit              too large, too slow, too much memory in use
//! a shortcut, or the router and its handler
//! ```
//!
//! These are functions that call each other. As layers of the router, each would allocate its future and a copy of
//! everything below it for every request.

use std::any::Any;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request};
use axum::response::{IntoResponse, Response};
use bloomgrove_client::api::Code;
use bytes::Bytes;
use futures_util::FutureExt;
use http::Method;
use http::request::Parts;
use hyper::body::Body as HttpBody;
use tower::Service;

use crate::Error;
use crate::access::Caller;
use crate::budget::{Budget, Charge};
use crate::config::Limits;
use crate::guard::{self, Guard};
use crate::limit::{Enforce, Tallied, read_body};
use crate::observe::metrics;
use crate::observe::request::{NoteRoute, Peer, Seen};

/// Maximum length of a body for a shortcut.
const SHORT: u64 = 4 << 10;

/// Handlers, with all of it in front of them.
#[derive(Clone)]
pub struct Front(Arc<Inner>);

struct Inner {
    router: Router,
    shortcut: Option<Shortcut>,
    guard: Guard,
    enforce: Enforce,
    slow: Duration,
}

/// A path whose simplest requests are answered without the router, which takes longer than answering them.
pub struct Shortcut {
    /// The path, which is also its route in metrics.
    pub path: &'static str,
    /// Answers a request with this body, or leaves it to the router. It leaves all that it does not answer with
    /// success, so that every error has one origin.
    pub answer: Box<Answer>,
}

/// See [`Shortcut`].
pub type Answer = dyn Fn(&Parts, &Bytes, &Caller, &Charge) -> Option<Response> + Send + Sync;

/// Puts all of it in front of the routes of `router` and of its fallback. Requests that take longer than
/// `slow` are logged.
pub fn before(
    router: Router,
    guard: Guard,
    limits: &Limits,
    budget: Budget,
    slow: Duration,
) -> Front {
    with_shortcut(router, None, guard, limits, budget, slow)
}

/// Like [`before`], with a shortcut.
pub fn with_shortcut(
    router: Router,
    shortcut: Option<Shortcut>,
    guard: Guard,
    limits: &Limits,
    budget: Budget,
    slow: Duration,
) -> Front {
    // Requests keep hold of what they are counted by.
    metrics::start();
    Front(Arc::new(Inner {
        router: router.layer(NoteRoute),
        shortcut,
        guard,
        enforce: Enforce::new(limits.clone(), budget),
        slow,
    }))
}

impl Front {
    /// Responds to a request from this address.
    pub(crate) async fn answer<B>(
        &self,
        mut request: http::Request<B>,
        peer: Option<Peer>,
    ) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
    {
        let inner = &*self.0;
        let shortcut = inner.shortcut_for(&request);
        let seen = Seen::new(&mut request, peer, shortcut.map(|shortcut| shortcut.path));
        let work = AssertUnwindSafe(inner.admitted(request, peer, shortcut)).catch_unwind();
        let work = async { work.await.unwrap_or_else(|panic| (panicked(&*panic), None)) };
        seen.through(work, inner.slow).await
    }
}

impl Inner {
    /// The shortcut that may answer a request.
    fn shortcut_for<B: HttpBody>(&self, request: &http::Request<B>) -> Option<&Shortcut> {
        let fits = |shortcut: &&Shortcut| {
            request.uri().path() == shortcut.path
                && matches!(*request.method(), Method::GET | Method::POST)
                && request
                    .body()
                    .size_hint()
                    .upper()
                    .is_some_and(|bytes| bytes <= SHORT)
        };
        self.shortcut.as_ref().filter(fits)
    }

    async fn admitted<B>(
        &self,
        request: http::Request<B>,
        peer: Option<Peer>,
        shortcut: Option<&Shortcut>,
    ) -> (Response, Option<Caller>)
    where
        B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
    {
        let (mut response, caller) = match guard::caller(&self.guard, &request) {
            Err(error) => (error.into_response(), None),
            Ok(caller) => {
                let handled = |request, charge| self.handled(request, shortcut, &caller, charge);
                let enforced = self.enforce.around(request, peer, caller.as_ref(), handled);
                (enforced.await, caller)
            }
        };
        guard::shield(&mut response);
        (response, caller)
    }

    async fn handled<B>(
        &self,
        request: http::Request<Tallied<B>>,
        shortcut: Option<&Shortcut>,
        caller: &Option<Caller>,
        charge: Charge,
    ) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
    {
        let mut request = match (shortcut, caller) {
            (Some(shortcut), Some(caller)) => {
                let (parts, body) = request.into_parts();
                let body = match read_body(body).await {
                    Ok(body) => body,
                    Err(error) => return error.into_response(),
                };
                if let Some(response) = (shortcut.answer)(&parts, &body, caller, &charge) {
                    return response;
                }
                Request::from_parts(parts, Body::from(body))
            }
            _ => request.map(Body::new),
        };
        request.extensions_mut().insert(charge);
        if let Some(caller) = caller {
            request.extensions_mut().insert(caller.clone());
        }
        // Boxed, since all that is around it is moved several times before it starts.
        Box::pin(self.routed(request)).await
    }

    async fn routed(&self, mut request: Request) -> Response {
        // Ours applies however a handler reads the body.
        DefaultBodyLimit::disable().apply(&mut request);
        match self.router.clone().call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// In memory, without a connection.
impl Service<Request> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let front = self.clone();
        Box::pin(async move { Ok(front.answer(request, None).await) })
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Response {
    let what = panic.downcast_ref::<&str>().copied();
    let what = what.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = what.unwrap_or("?"), "a request panicked");
    let detail = "internal error; for details, look up the id of this request in the server's log";
    Error::new(Code::Internal, detail).into_response()
}
