//! Where documents come from, and what was made from them, across all sites.

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
/// Queries the sites that may know the documents, then those that may know what was found, until nothing new is found.
/// The response says what may be missing.
#[utoipa::path(post, path = "/v1/trace", tag = "sites", request_body = TraceQuery,
    responses((status = 200, body = Trace), Problems), security((), ("key" = [])))]
pub(super) async fn trace(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
    charge: Charge,
    Json(request): Json<TraceQuery>,
) -> Result<Response, Error> {
    let trace = app.tracer().trace(&coordinator, &request, &charge).await?;
    answer(&app, trace, charge).await
}

/// A trace as JSON, encoded on a separate thread because it may be long.
async fn answer(app: &App, trace: Trace, charge: Charge) -> Result<Response, Error> {
    app.work(charge, move || Answer(trace).into_response())
        .await
}

/// One document to trace.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TraceParams {
    /// The id of the document.
    #[param(min_length = 1, max_length = 2816)]
    id: String,
    /// The direction to follow; ancestors by default.
    #[serde(default)]
    #[param(inline)]
    direction: Direction,
    /// Maximum number of links to follow; unlimited if omitted.
    depth: Option<u32>,
    /// The format of the response; JSON by default.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// The format of a trace.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// The complete trace.
    #[default]
    Json,
    /// Links and descriptions as RDF.
    Turtle,
    /// For Graphviz.
    Dot,
    /// A drawing.
    Svg,
}

/// A drawing contains texts from others: it may load nothing and run nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Traces one document across all sites
#[utoipa::path(get, path = "/v1/trace", tag = "sites", params(TraceParams),
    responses((status = 200, content((Trace = "application/json"), (String = "text/turtle"),
        (String = "text/vnd.graphviz"), (String = "image/svg+xml"))), Problems),
    security((), ("key" = [])))]
pub(super) async fn trace_one(
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
