//! `/livez`: the process responds. `/readyz`: it accepts requests, which it does not while starting or stopping.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::routing::get;
use http::StatusCode;

/// Whether the server accepts requests; not before [`set_ready`](Self::set_ready).
#[derive(Clone, Debug, Default)]
pub struct Health {
    ready: Arc<AtomicBool>,
}

impl Health {
    /// Sets whether it does.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// Whether it does.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// The routes of the two paths.
    pub fn router<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        let health = self.clone();
        let readyz = move || async move {
            if health.is_ready() {
                (StatusCode::OK, "ok")
            } else {
                let why = "starting or shutting down; try another server, or try again later";
                (StatusCode::SERVICE_UNAVAILABLE, why)
            }
        };
        Router::new()
            .route("/livez", get(|| async { "ok" }))
            .route("/readyz", get(readyz))
    }
}
