//! Listing, creating, changing and filling sets.

use axum::Json as Answer;
use axum::extract::{FromRequest, Request, State};
use bloomgrove_client::api::{AddItems, ChangeSet, CreateSet, Key, Set, SetList, Updated};
use bloomgrove_http::budget::Charge;
use bloomgrove_http::extract::{Json, QueryParams, Reader, Who};
use bloomgrove_http::work::Bulk;
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::App;
use super::extract::{Keys, Name, Ready, Writable, text, to_the_end};
use super::problems::Problems;
use crate::Error;
use crate::coordinator::Done;

/// Which sets to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// Only sets whose names start with this prefix.
    #[serde(default)]
    prefix: String,
    /// Only sets with this tag.
    tag: Option<String>,
    /// Only sets whose names come after this one: the `next` of the previous page.
    after: Option<String>,
    /// Maximum number of sets; 100 by default, at most 1000.
    limit: Option<usize>,
}

/// Lists sets by name
#[utoipa::path(get, path = "/v1/sets", tag = "sets", params(ListParams),
    responses((status = 200, body = SetList), Problems), security((), ("key" = [])))]
pub(super) async fn list(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
    charge: Charge,
    QueryParams(query): QueryParams<ListParams>,
) -> Result<Answer<SetList>, Error> {
    let list = app.work(charge, move || {
        let (tag, after) = (query.tag.as_deref(), query.after.as_deref());
        coordinator.list(&query.prefix, tag, after, query.limit)
    });
    Ok(Answer(list.await?))
}

/// Creates an empty set
#[utoipa::path(post, path = "/v1/sets", tag = "sets", request_body = CreateSet,
    responses((status = 201, body = Set), Problems), security((), ("key" = [])))]
pub(super) async fn create(
    Who(who): Who,
    Ready(coordinator): Ready,
    Json(wanted): Json<CreateSet>,
) -> Result<(StatusCode, Answer<Set>), Error> {
    who.may_write(&wanted.name)?;
    let set = coordinator.create(wanted).await?;
    Ok((StatusCode::CREATED, Answer(set)))
}

/// Returns the properties of a set
#[utoipa::path(get, path = "/v1/sets/{name}", tag = "sets", params(("name" = String, Path, description = "The name of the set")),
    responses((status = 200, body = Set), Problems), security((), ("key" = [])))]
pub(super) async fn info(
    _: Reader,
    Ready(coordinator): Ready,
    Name(name): Name,
) -> Result<Answer<Set>, Error> {
    Ok(Answer(coordinator.info(&name)?))
}

/// Changes the name, tags or expiry of a set
#[utoipa::path(patch, path = "/v1/sets/{name}", tag = "sets", params(("name" = String, Path, description = "The name of the set")),
    request_body = ChangeSet, responses((status = 200, body = Set), Problems),
    security((), ("key" = [])))]
pub(super) async fn change(
    Who(who): Who,
    Writable(name): Writable,
    Ready(coordinator): Ready,
    Json(wanted): Json<ChangeSet>,
) -> Result<Answer<Set>, Error> {
    if let Some(new) = &wanted.name {
        who.may_write(new)?;
    }
    Ok(Answer(coordinator.describe(&name, wanted).await?))
}

/// Deletes a set
#[utoipa::path(delete, path = "/v1/sets/{name}", tag = "sets", params(("name" = String, Path, description = "The name of the set")),
    responses((status = 204), Problems), security((), ("key" = [])))]
pub(super) async fn delete(
    Writable(name): Writable,
    Ready(coordinator): Ready,
) -> Result<StatusCode, Error> {
    coordinator.delete(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What an update is based on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct UpdateParams {
    /// The version of the set that the update is based on; it may be older than the current version. The update is
    /// rejected with `send_whole` if the set has not reached this version, or if its whole filter has been replaced
    /// since then.
    pub(super) base: Option<u64>,
}

/// What an update is based on, and how a text becomes keys.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ItemsParams {
    /// The version of the set that the update is based on; see `POST /v1/sets/{name}/filter`.
    base: Option<u64>,
    /// How a `text/plain` body is split into keys: `lines` (the default), `tokens` (words, case-insensitive),
    /// `ngrams=N`, `regex=PATTERN` (each match of its first group) or `json=PATH` (values of JSON lines). Queries on
    /// sets filled with `tokens` or `ngrams=N` must pass the same parameter.
    extract: Option<String>,
}

impl From<Vec<Key>> for AddItemsBody {
    fn from(keys: Vec<Key>) -> Self {
        Self(AddItems { keys })
    }
}

/// Keys in either form.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct AddItemsBody(AddItems);

/// Adds keys to a set
#[utoipa::path(post, path = "/v1/sets/{name}/items", tag = "sets",
    params(("name" = String, Path, description = "The name of the set"), ItemsParams),
    request_body(content((AddItems = "application/json"), (String = "text/plain"))),
    responses((status = 200, body = Updated), Problems), security((), ("key" = [])))]
pub(super) async fn add_items(
    Writable(name): Writable,
    State(app): State<App>,
    Ready(coordinator): Ready,
    QueryParams(query): QueryParams<ItemsParams>,
    charge: Charge,
    request: Request,
) -> Result<Answer<Updated>, Error> {
    let keys = match query.extract {
        None => {
            let Keys(AddItemsBody(items)) = Keys::from_request(request, &app).await?;
            items.keys
        }
        Some(extract) => {
            let text = text(request).await?;
            let (reader, paid) = (coordinator.clone(), charge.clone());
            let cut = move || reader.keys_of_text(&text, &extract, |bytes| paid.take(bytes));
            app.work(charge.clone(), cut).await??
        }
    };
    let keys = Bulk::from(keys);
    // The bits of the keys, and what the writer makes of them.
    charge
        .wait(2 * coordinator.bytes_of_keys(&name, keys.len())?)
        .await?;
    let insert = async move { coordinator.insert(&name, keys, query.base).await };
    let done = to_the_end(charge, insert).await?;
    Ok(Answer(updated(done)))
}

pub(super) fn updated(done: Done) -> Updated {
    Updated {
        version: done.version,
        changed_bits: done.changed_bits,
    }
}
