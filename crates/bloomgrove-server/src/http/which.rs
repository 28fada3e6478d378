//! Which sets contain a key.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bloomgrove_client::api::{Key, Which, WhichQuery};
use bloomgrove_http::budget::Charge;
use bloomgrove_http::extract::{QueryParams, Reader, charge_values, query_params};
use bloomgrove_http::front::Shortcut;
use http::Method;
use serde::Deserialize;
use utoipa::IntoParams;

use super::App;
use super::extract::{Keys, Ready, parser};
use super::problems::Problems;
use crate::Error;

/// A query in either form.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct WhichBody(WhichQuery);

impl From<Vec<Key>> for WhichBody {
    fn from(keys: Vec<Key>) -> Self {
        Self(WhichQuery {
            keys,
            ..WhichQuery::default()
        })
    }
}

/// Finds the sets that may contain each of the keys
#[utoipa::path(post, path = "/v1/which", tag = "queries",
    request_body(content((WhichQuery = "application/json"), (String = "text/plain"))),
    responses((status = 200, body = Which), Problems), security((), ("key" = [])))]
pub(super) async fn which(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
    charge: Charge,
    Keys(WhichBody(request)): Keys<WhichBody>,
) -> Result<Response, Error> {
    if let Some(which) = coordinator.which_at_once(&request) {
        return Ok(Answer(which?).into_response());
    }
    // A single key that only has to wait for the index does not queue behind long ones.
    let is_short = !request.explain && request.extract.is_none() && request.tag.is_none();
    if request.keys.len() == 1 && is_short {
        let which = move || coordinator.which(&request, |bytes| charge.take(bytes));
        return Ok(Answer(app.look(which).await??).into_response());
    }
    // Encoded there, too: a long answer takes as long to encode as to find.
    let answer = app.work(charge.clone(), move || -> Result<_, Error> {
        let which = coordinator.which(&request, |bytes| charge.take(bytes))?;
        Ok(Answer(which).into_response())
    });
    answer.await?
}

/// One key, and which sets to search.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichParams {
    /// The key, as text.
    key: String,
    /// What the key is split into before it is looked up: `tokens` or `ngrams=N`, as when the sets were filled. A set must
    /// then contain all tokens or n-grams of the key.
    extract: Option<String>,
    /// Only sets whose names start with this prefix.
    prefix: Option<String>,
    /// Only sets with this tag.
    tag: Option<String>,
    /// List at most this many sets; 1000 by default. The count includes all matching sets.
    #[param(maximum = 100_000)]
    limit: Option<u64>,
    /// Return only the count, without names.
    #[serde(default)]
    count_only: bool,
    /// Include what the answer cost.
    #[serde(default)]
    explain: bool,
}

/// Finds the sets that may contain one key
#[utoipa::path(get, path = "/v1/which", tag = "queries", params(WhichParams),
    responses((status = 200, body = Which), Problems), security((), ("key" = [])))]
pub(super) async fn which_one(
    reader: Reader,
    app: State<App>,
    ready: Ready,
    charge: Charge,
    QueryParams(query): QueryParams<WhichParams>,
) -> Result<Response, Error> {
    let request = WhichBody(query.into());
    which(reader, app, ready, charge, Keys(request)).await
}

impl From<WhichParams> for WhichQuery {
    fn from(query: WhichParams) -> Self {
        Self {
            keys: vec![Key::Text(query.key)],
            extract: query.extract,
            prefix: query.prefix,
            tag: query.tag,
            limit: query.limit,
            count_only: query.count_only,
            explain: query.explain,
        }
    }
}

/// Answers either form without the router, if that takes almost no time.
pub(crate) fn shortcut(app: App) -> Shortcut {
    Shortcut {
        path: "/v1/which",
        answer: Box::new(move |parts, body, caller, charge| {
            caller.may_read().ok()?;
            let coordinator = app.coordinator()?;
            let request = match parts.method {
                Method::GET => query_params::<WhichParams>(&parts.uri).ok()?.into(),
                _ => {
                    let parse = parser(&parts.headers).ok()?;
                    charge_values(charge, body).ok()?;
                    let WhichBody(request) = parse(body).ok()?;
                    request
                }
            };
            let which = coordinator.which_at_once(&request)?.ok()?;
            Some(Answer(which).into_response())
        }),
    }
}
