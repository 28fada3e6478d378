//! The middleware in front of every handler, from the outside in:
//!
//! ```text
//! observe::request   an id, the duration, a line in the log
//! panics             become a 500, and the server keeps running
//! guard              turns the access key into a Caller, or 401; foreign pages get 403
//! limit              too large, too slow, too much memory in use
//! the handler
//! ```

use std::any::Any;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use bloomgrove_client::api::Code;
use tower_http::catch_panic::CatchPanicLayer;

use crate::Error;
use crate::budget::Budget;
use crate::config::Limits;
use crate::guard::{self, Guard};
use crate::limit::{self, Enforce};
use crate::observe::request;

/// Puts all of it in front of the routes of `router` and of its fallback. Requests that take longer than
/// `slow` are logged.
pub fn before(
    router: Router,
    guard: Guard,
    limits: &Limits,
    budget: Budget,
    slow: Duration,
) -> Router {
    // The last layer is the outermost.
    router
        // Ours applies however a handler reads the body.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(
            Enforce::new(limits.clone(), budget),
            limit::enforce,
        ))
        .layer(from_fn_with_state(guard, guard::admit))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(slow, request::watch))
}

fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let what = panic.downcast_ref::<&str>().copied();
    let what = what.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = what.unwrap_or("?"), "a request panicked");
    let detail = "internal error; for details, look up the id of this request in the server's log";
    Error::new(Code::Internal, detail).into_response()
}
