//! HTTP: handlers that parse, call the site and render.
//!
//! | path | needs | does |
//! |---|---|---|
//! | `POST /v1/events` | write | records events |
//! | `POST /v1/import` | write | imports a document in RDF or PROV-JSON |
//! | `POST /v1/lineage` | read | returns what the site knows about some ids |
//! | `GET`, `POST /v1/sparql` | read, but not the coordinator's key | answers SPARQL queries |
//! | `GET /v1/status`, `/metrics` | read | returns the status of the site |
//! | `GET /livez`, `/readyz` | | health checks |
//!
//! The middleware in front of every handler (access keys, limits, ids, the log) is in [`bloomgrove_http::front`].

mod metrics;

use axum::Json as Answer;
use axum::Router;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bloomgrove_client::api::{
    Code, Imported, Lineage, LineageQuery, RecordEvents, Recorded, SiteStatus,
};
use bloomgrove_http::Error;
use bloomgrove_http::extract::{Json, QueryParams, Reader, Who, media_type};
use bloomgrove_http::limit::read_body;
use bloomgrove_http::observe::metrics::MEDIA;
use http::request::Parts;
use http::{HeaderMap, header};
use serde::Deserialize;

use crate::handle::Handle;
use crate::import::Format;

/// The name of the coordinator's access key, which permits lineage, status and metrics.
pub(crate) const COORDINATOR: &str = "(the coordinator)";

/// All routes except the health checks.
pub(crate) fn router(site: Handle) -> Router {
    Router::new()
        .route("/v1/events", post(record))
        .route("/v1/import", post(import))
        .route("/v1/lineage", post(lineage))
        .route("/v1/sparql", get(sparql).post(sparql_body))
        .route("/v1/status", get(status))
        .route("/metrics", get(prometheus))
        .fallback(async || {
            let detail = "no such path; a site has /v1/events, \
                          /v1/import, /v1/lineage, /v1/sparql and /v1/status";
            Error::new(Code::NotFound, detail)
        })
        .method_not_allowed_fallback(async || {
            Error::new(Code::Method, "this path does not support this method")
        })
        .with_state(site)
}

/// A caller that may record; checked before any body is read.
struct Writer;

impl FromRequestParts<Handle> for Writer {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, site: &Handle) -> Result<Self, Error> {
        let Who(who) = Who::from_request_parts(parts, site).await?;
        // A key for the sets of this site, as at the coordinator, is also valid for the site itself.
        who.may_write(&format!("{}/", site.name()))?;
        Ok(Self)
    }
}

/// A caller that may run any query. The coordinator may only follow links and see the status and metrics: it must not
/// learn about documents whose ids it does not know, or knows only in encrypted form.
struct MayQuery;

impl<S: Sync> FromRequestParts<S> for MayQuery {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let Who(who) = Who::from_request_parts(parts, state).await?;
        who.may_read()?;
        match who.name() == COORDINATOR {
            true => Err(Error::new(
                Code::Forbidden,
                "the coordinator's access key only permits queries for lineage, status and \
                 metrics",
            )),
            false => Ok(Self),
        }
    }
}

async fn record(
    _: Writer,
    State(site): State<Handle>,
    Json(wanted): Json<RecordEvents>,
) -> Result<Answer<Recorded>, Error> {
    Ok(Answer(site.record(wanted.events).await?))
}

/// The query string of an import.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportParams {
    /// The base of relative IRIs.
    base: Option<String>,
}

async fn import(
    _: Writer,
    State(site): State<Handle>,
    QueryParams(query): QueryParams<ImportParams>,
    request: Request,
) -> Result<Answer<Imported>, Error> {
    let media = media_type(request.headers());
    let format = Format::from_media(&media).ok_or_else(|| {
        let detail = format!(
            "unsupported media type {media:?}; send a document as text/turtle, application/n-triples, application/n-quads, \
             application/trig, application/rdf+xml, application/ld+json or application/json (PROV-JSON)"
        );
        Error::new(Code::MediaType, detail)
    })?;
    let document = read_body(request.into_body()).await?;
    Ok(Answer(site.import(format, document, query.base).await?))
}

async fn lineage(
    _: Reader,
    State(site): State<Handle>,
    Json(question): Json<LineageQuery>,
) -> Result<Answer<Lineage>, Error> {
    Ok(Answer(site.lineage(question).await?))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SparqlParams {
    query: String,
}

async fn sparql(
    _: MayQuery,
    State(site): State<Handle>,
    QueryParams(asked): QueryParams<SparqlParams>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    answer(site, asked.query, &headers).await
}

async fn sparql_body(
    _: MayQuery,
    State(site): State<Handle>,
    request: Request,
) -> Result<Response, Error> {
    let (parts, body) = request.into_parts();
    let body = match media_type(&parts.headers).as_str() {
        "application/sparql-query" => read_body(body).await?,
        "application/sparql-update" => {
            let detail =
                "SPARQL updates are not supported; record events or import documents instead";
            return Err(Error::new(Code::Invalid, detail));
        }
        _ => {
            let detail = "send the query with `Content-Type: application/sparql-query`";
            return Err(Error::new(Code::MediaType, detail));
        }
    };
    let query = String::from_utf8(body.to_vec())
        .map_err(|_| Error::new(Code::Invalid, "the query is not UTF-8"))?;
    answer(site, query, &parts.headers).await
}

async fn answer(site: Handle, query: String, headers: &HeaderMap) -> Result<Response, Error> {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok());
    let (bytes, media) = site.sparql(query, accept.unwrap_or_default()).await?;
    Ok(([(header::CONTENT_TYPE, media)], bytes).into_response())
}

async fn status(_: Reader, State(site): State<Handle>) -> Result<Answer<SiteStatus>, Error> {
    Ok(Answer(status_of(site).await?))
}

async fn prometheus(_: Reader, State(site): State<Handle>) -> Result<Response, Error> {
    let text = metrics::render(&status_of(site).await?);
    Ok(([(header::CONTENT_TYPE, MEDIA)], text).into_response())
}

/// On a separate thread: it may have to wait while events are recorded.
async fn status_of(site: Handle) -> Result<SiteStatus, Error> {
    let status = tokio::task::spawn_blocking(move || site.status()).await;
    status.map_err(|_| Error::broken_off())
}
