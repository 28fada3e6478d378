//! `/livez`: the process answers. `/readyz`: it wants requests; not while it starts or stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::routing::get;
use http::StatusCode;

/// Whether the server wants requests; not before [`set_ready`](Self::set_ready).
#[derive(Clone, Debug, Default)]
pub struct Health {
    ready: Arc<AtomicBool>,
}

impl Health {
    /// From now on, or no longer.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// Whether it does.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// The two paths.
    pub fn router<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        let health = self.clone();
        let readyz = move || async move {
            if health.is_ready() {
                (StatusCode::OK, "ok")
            } else {
                let why = "starting or stopping: ask another server, or later";
                (StatusCode::SERVICE_UNAVAILABLE, why)
            }
        };
        Router::new()
            .route("/livez", get(|| async { "ok" }))
            .route("/readyz", get(readyz))
    }
}
