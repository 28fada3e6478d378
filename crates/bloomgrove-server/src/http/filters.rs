//! Uploading and downloading filters, whole or as updates.

use axum::Json as Answer;
use axum::extract::{RawQuery, State};
use axum::http::HeaderName;
use axum::response::{IntoResponse, Response};
use bloomgrove::codec;
use bloomgrove::raw::codec::Kind;
use bloomgrove_client::api::{Code, MEDIA_GROVE, MEDIA_MESSAGE, Updated};
use bloomgrove_http::budget::Charge;
use bloomgrove_http::extract::{QueryParams, Reader, utf8};
use http::{StatusCode, header};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::extract::{Binary, Name, Ready, Writable, to_the_end};
use super::problems::Problems;
use super::sets::{UpdateParams, updated};
use crate::Error;

/// The version of the filter in the response.
const VERSION: HeaderName = HeaderName::from_static("x-bloomgrove-version");

#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    /// Compressed.
    #[default]
    Message,
    /// A file that `bloomgrove filter` can open.
    Grove,
}

/// A filter in binary form.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[allow(dead_code, reason = "only described, never made")]
struct BytesOfFilter(Vec<u8>);

/// The format of a download.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DownloadParams {
    /// `message` (default) or `grove`.
    #[serde(default)]
    #[param(inline)]
    form: Form,
}

/// Downloads the filter of a set
#[utoipa::path(get, path = "/v1/sets/{name}/filter", tag = "sets",
    params(("name" = String, Path, description = "The name of the set"), DownloadParams),
    responses(
        (status = 200, description = "The filter",
            content((BytesOfFilter = "application/vnd.bloomgrove.message"),
                (BytesOfFilter = "application/vnd.bloomgrove.grove")),
            headers(("x-bloomgrove-version" = u64, description = "The version of the set"))),
        Problems),
    security((), ("key" = [])))]
pub(super) async fn download(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
    Name(name): Name,
    charge: Charge,
    QueryParams(query): QueryParams<DownloadParams>,
) -> Result<Response, Error> {
    let (media, ending) = match query.form {
        Form::Message => (MEDIA_MESSAGE, "msg"),
        Form::Grove => (MEDIA_GROVE, "grove"),
    };
    // The file name for browsers: plain letters, whatever the set is called.
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let file: String = name.chars().map(plain).take(100).collect();
    let file = format!("attachment; filename=\"{file}.{ending}\"");
    // The filter, and its bytes.
    charge
        .wait(coordinator.info(&name)?.bytes.saturating_mul(2))
        .await?;
    let made = app.work(charge, move || -> Result<_, Error> {
        let (filter, version) = coordinator.filter(&name)?;
        let mut bytes = Vec::new();
        match query.form {
            Form::Grove => filter.write_to(&mut bytes)?,
            Form::Message => drop(codec::compress(&filter, &mut bytes)?),
        }
        Ok((bytes, version))
    });
    let (bytes, version) = made.await??;
    let headers = [
        (header::CONTENT_TYPE, media.to_owned()),
        (header::CONTENT_DISPOSITION, file),
        (VERSION, version.to_string()),
    ];
    Ok((headers, bytes).into_response())
}

/// The properties of a set that is uploaded.
#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(
    dead_code,
    reason = "described here, but parsed by hand: a tag may occur more than once"
)]
pub(super) struct ReplaceParams {
    /// A tag; may be repeated. If omitted, an existing set keeps its tags.
    tag: Option<Vec<String>>,
    /// Seconds until the set expires.
    #[param(minimum = 1)]
    expires_in: Option<u64>,
    /// Replaces the set only if it has this version, so that no later change is lost. 0 means that the set must not
    /// exist yet. If the set has a different version, the request is rejected with `changed`.
    base: Option<u64>,
}

impl ReplaceParams {
    fn read(query: Option<&str>) -> Result<Self, Error> {
        utf8(query)?;
        let mut read = Self::default();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match name.as_ref() {
                "tag" => read.tag.get_or_insert_default().push(value.into_owned()),
                "expires_in" | "base" => {
                    let detail = || format!("{name} is {value:?}, which is not a whole number");
                    let number = value
                        .parse()
                        .map_err(|_| Error::new(Code::Invalid, detail()))?;
                    match &*name {
                        "base" => read.base = Some(number),
                        _ => read.expires_in = Some(number),
                    }
                }
                other => {
                    let detail =
                        format!("unknown parameter {other:?}; use tag, expires_in or base");
                    return Err(Error::new(Code::Invalid, detail));
                }
            }
        }
        Ok(read)
    }
}

/// Uploads the whole filter of a set, creating the set or replacing its filter
#[utoipa::path(put, path = "/v1/sets/{name}/filter", tag = "sets",
    params(("name" = String, Path, description = "The name of the set"), ReplaceParams),
    request_body(content = BytesOfFilter, content_type = "application/octet-stream",
        description = "A `.grove` file, or a compressed filter (FORMAT.md section 15)"),
    responses(
        (status = 200, description = "Replaced", body = Updated),
        (status = 201, description = "Created", body = Updated),
        Problems),
    security((), ("key" = [])))]
pub(super) async fn replace(
    Writable(name): Writable,
    State(app): State<App>,
    Ready(coordinator): Ready,
    RawQuery(query): RawQuery,
    charge: Charge,
    Binary(bytes): Binary,
) -> Result<(StatusCode, Answer<Updated>), Error> {
    let query = ReplaceParams::read(query.as_deref())?;
    let filter = app.filter(&coordinator, bytes, &charge).await?;
    let put = async move {
        let ReplaceParams {
            tag,
            expires_in,
            base,
        } = query;
        coordinator.put(&name, filter, tag, expires_in, base).await
    };
    let done = to_the_end(charge, put).await?;
    let status = match done.made {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok((status, Answer(updated(done))))
}

/// Adds all items of a filter to a set, or applies a delta
#[utoipa::path(post, path = "/v1/sets/{name}/filter", tag = "sets",
    params(("name" = String, Path, description = "The name of the set"), UpdateParams),
    request_body(content = BytesOfFilter, content_type = "application/octet-stream",
        description = "A `.grove` file or a compressed filter, to be added; or a delta (FORMAT.md section 15), \
            which is applied to the version of the filter it was computed from"),
    responses((status = 200, body = Updated), Problems), security((), ("key" = [])))]
pub(super) async fn merge(
    Writable(name): Writable,
    State(app): State<App>,
    Ready(coordinator): Ready,
    QueryParams(query): QueryParams<UpdateParams>,
    charge: Charge,
    Binary(bytes): Binary,
) -> Result<Answer<Updated>, Error> {
    let done = if Kind::of_start(&bytes) == Some(Kind::Delta) {
        // What it is applied to, twice the result, and what is stored.
        let size = coordinator.info(&name)?.bytes;
        charge.wait(size.saturating_mul(4)).await?;
        let delta = async move { coordinator.delta(&name, bytes, query.base).await };
        to_the_end(charge, delta).await?
    } else {
        let filter = app.filter(&coordinator, bytes, &charge).await?;
        let merge = async move { coordinator.merge(&name, filter, query.base).await };
        to_the_end(charge, merge).await?
    };
    Ok(Answer(updated(done)))
}
