//! Where documents come from, and what has become of them, across all sites.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bloomgrove_client::api::{Direction, Trace, TraceQuery};
use bloomgrove_http::budget::Charge;
use bloomgrove_http::extract::{Json, QueryParams, Reader};
use http::header;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::extract::Ready;
use super::problems::Problems;
use crate::Error;
use bloomgrove_render as render;

/// Traces documents across all sites
///
/// Asks the sites that may know them, and then those that may know what was found, until there is
/// nothing new. What may be missing is told in the answer.
#[utoipa::path(post, path = "/v1/trace", tag = "sites", request_body = TraceQuery,
    responses((status = 200, body = Trace), Problems), security((), ("key" = [])))]
pub(super) async fn ask(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
    charge: Charge,
    Json(request): Json<TraceQuery>,
) -> Result<Response, Error> {
    let trace = app.tracer().trace(&coordinator, &request, &charge).await?;
    answer(&app, trace, charge).await
}

/// A trace as JSON, written on a thread of its own: it may be long.
async fn answer(app: &App, trace: Trace, charge: Charge) -> Result<Response, Error> {
    app.work(charge, move || Answer(trace).into_response())
        .await
}

/// One document to trace.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TraceParams {
    /// The document.
    #[param(min_length = 1, max_length = 2816)]
    id: String,
    /// Which way to go: to ancestors by default.
    #[serde(default)]
    #[param(inline)]
    direction: Direction,
    /// Links to follow; without it, as far as it goes.
    depth: Option<u32>,
    /// As what: JSON by default.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// As what a trace is given.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// All of it.
    #[default]
    Json,
    /// The links and what is said, as RDF.
    Turtle,
    /// For Graphviz.
    Dot,
    /// A picture.
    Svg,
}

/// A picture is drawn of what others have said: it loads nothing and runs nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Traces one document across all sites
#[utoipa::path(get, path = "/v1/trace", tag = "sites", params(TraceParams),
    responses((status = 200, content((Trace = "application/json"), (String = "text/turtle"),
        (String = "text/vnd.graphviz"), (String = "image/svg+xml"))), Problems),
    security((), ("key" = [])))]
pub(super) async fn ask_one(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
    charge: Charge,
    QueryParams(query): QueryParams<TraceParams>,
) -> Result<Response, Error> {
    let request = TraceQuery {
        ids: vec![query.id],
        direction: query.direction,
        depth: query.depth,
        ..TraceQuery::default()
    };
    let trace = app.tracer().trace(&coordinator, &request, &charge).await?;
    let (media, draw): (_, fn(&Trace) -> String) = match query.format {
        Format::Json => return answer(&app, trace, charge).await,
        Format::Turtle => ("text/turtle; charset=utf-8", render::turtle),
        Format::Dot => ("text/vnd.graphviz; charset=utf-8", render::dot),
        Format::Svg => ("image/svg+xml", render::svg),
    };
    let text = app.work(charge, move || draw(&trace)).await?;
    let headers = [
        (header::CONTENT_TYPE, media),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, text).into_response())
}
