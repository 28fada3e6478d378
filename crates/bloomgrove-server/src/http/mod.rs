//! HTTP: handlers that parse, call the coordinator and render, and the OpenAPI document that describes them.
//!
//! | file | paths |
//! |---|---|
//! | `sets.rs` | `/v1/sets`, `/v1/sets/{name}`, `/v1/sets/{name}/items` |
//! | `filters.rs` | `/v1/sets/{name}/filter` |
//! | `which.rs` | `/v1/which` |
//! | `members.rs` | `/v1/estimate`, `/v1/sample`, `/v1/reconstruct` |
//! | `sites.rs` | `/v1/sites`, `/v1/sites/{name}` |
//! | `trace.rs` | `/v1/trace` |
//! | `state.rs` | `/v1/status`, `/v1/picture`, `/v1/snapshots` |
//! | `metrics.rs` | `/metrics` |
//! | `extract.rs` | what handlers receive: the coordinator, its threads, names, keys, filters |
//! | `problems.rs` | the problems in the OpenAPI document |
//!
//! What is in front of every handler (access keys, limits, ids, the log) is in [`bloomgrove_http::front`]; it answers short
//! queries without the router.

mod extract;
mod filters;
mod members;
pub(crate) mod metrics;
mod problems;
mod sets;
mod sites;
mod state;
mod trace;
mod which;

pub(crate) use which::shortcut;

use std::sync::{Arc, LazyLock, OnceLock};

use axum::Router;
use axum::routing::get;
use bloomgrove_client::api::{Code, Problem};
use bloomgrove_http::work::{Places, processors};
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::Error;
use crate::coordinator::Coordinator;
use crate::trace::Tracer;

/// What handlers share.
#[derive(Clone, Debug)]
pub struct App(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Set once everything has been read.
    coordinator: OnceLock<Arc<Coordinator>>,
    /// Separate places for long requests (samples), with a limit per caller; for what takes
    /// milliseconds (batches, filters); and for snapshots.
    searches: Places,
    work: Places,
    /// For what only has to wait for the index.
    looks: Places,
    snapshots: Places,
    tracer: Tracer,
    /// Keys to try in the demo.
    examples: Vec<String>,
}

impl App {
    /// Without a coordinator yet: until there is one, all requests are answered with "starting".
    #[must_use]
    pub fn new(examples: Vec<String>, tracer: Tracer) -> Self {
        let threads = processors();
        Self(Arc::new(Inner {
            coordinator: OnceLock::new(),
            searches: Places::with_turns(threads, (threads / 2).max(1)),
            work: Places::with_turns(2 * threads, threads),
            looks: Places::new(2 * threads),
            snapshots: Places::new(1),
            tracer,
            examples,
        }))
    }

    /// Whether it serves demo data.
    #[must_use]
    pub fn is_demo(&self) -> bool {
        !self.0.examples.is_empty()
    }

    /// What runs traces.
    #[must_use]
    pub fn tracer(&self) -> &Tracer {
        &self.0.tracer
    }

    /// Starts answering requests.
    pub fn start(&self, coordinator: Arc<Coordinator>) {
        // Set only once.
        let _ = self.0.coordinator.set(coordinator);
    }

    /// The coordinator, once it has read everything.
    #[must_use]
    pub fn coordinator(&self) -> Option<&Arc<Coordinator>> {
        self.0.coordinator.get()
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Bloomgrove",
        description = "Which of my sets contain this key? Sets are stored as Bloom filters: a set \
            that is not listed does not contain the key; a set that is listed may contain it.\n\n\
            A change is acknowledged once it is on disk. Errors are `application/problem+json`.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(Problem)),
    tags(
        (name = "sets", description = "Sets, and the items in them"),
        (name = "queries", description = "Which sets contain a key, and what is in them"),
        (name = "sites", description = "The sites of a federation, and traces across all of them"),
        (name = "server", description = "The server itself")
    )
)]
struct Document;

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(sets::list, sets::create))
        .routes(routes!(sets::info, sets::change, sets::delete))
        .routes(routes!(sets::add_items))
        .routes(routes!(filters::download, filters::replace, filters::merge))
        .routes(routes!(which::which, which::which_one))
        .routes(routes!(members::estimate))
        .routes(routes!(members::sample))
        .routes(routes!(members::reconstruct))
        .routes(routes!(sites::list_sites))
        .routes(routes!(sites::register_site, sites::remove_site))
        .routes(routes!(trace::trace, trace::trace_one))
        .routes(routes!(state::status))
        .routes(routes!(state::picture))
        .routes(routes!(state::make_snapshot, state::snapshots))
}

/// The OpenAPI document.
#[must_use]
pub fn document() -> utoipa::openapi::OpenApi {
    let (_, mut document) = routes().split_for_parts();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("key", SecurityScheme::Http(bearer));
    document
}

/// The document as it is served and stored: `docs/openapi.json`.
///
/// # Errors
/// None in practice: it consists of texts and numbers.
pub fn document_text() -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(&document())? + "\n")
}

/// All routes of the API.
pub fn router(app: App) -> Router {
    let (router, _) = routes().split_for_parts();
    // The same for every server of a process.
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| document_text().unwrap_or_default());
    let document = async || ([("content-type", "application/json")], DOCUMENT.as_str());
    router
        .route("/openapi.json", get(document))
        .fallback(async || {
            let detail = "no such path; /openapi.json lists all of them. A / in \
                          the name of a set is written %2F";
            Error::new(Code::NotFound, detail)
        })
        .method_not_allowed_fallback(async || {
            let detail = "this path does not support this method; see /openapi.json";
            Error::new(Code::Method, detail)
        })
        .with_state(app)
}
