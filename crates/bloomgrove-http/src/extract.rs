//! What handlers receive: the caller, query parameters, bodies. All errors have the same form.

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use bloomgrove_client::api::{Code, MOST_KEYS};
use http::{HeaderMap, Uri, header};
use serde::de::DeserializeOwned;

use crate::Error;
use crate::access::Caller;
use crate::budget::Charge;
use crate::limit::read_body;
use crate::work::aside;

/// Bodies up to this size are parsed immediately, without a separate thread.
const LITTLE: usize = 32 << 10;
/// Maximum number of values of a body: lists are limited to [`MOST_KEYS`], and no request has two lists of
/// that length.
const MOST_VALUES: usize = 2 * MOST_KEYS;
/// The most memory that a JSON value takes, apart from its text.
const JSON_VALUE: u64 = 96;

/// A caller that may at least read.
#[derive(Debug)]
pub struct Reader;

impl<S: Sync> FromRequestParts<S> for Reader {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        caller(parts)?.may_read()?;
        Ok(Self)
    }
}

/// The caller; each change checks whether it is permitted.
#[derive(Debug)]
pub struct Who(pub Caller);

impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        caller(parts).map(Self)
    }
}

/// The caller of a request.
///
/// # Errors
/// If the path is not guarded, so that the caller is unknown.
pub fn caller(parts: &Parts) -> Result<Caller, Error> {
    // Set by `guard`, unless the path was not meant to be guarded.
    let caller = parts.extensions.get::<Caller>().cloned();
    caller.ok_or_else(|| {
        Error::new(
            Code::Unauthorized,
            "the caller is unknown: this path takes no access key",
        )
    })
}

/// The query string of the URL.
#[derive(Debug)]
pub struct QueryParams<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        query_params(&parts.uri).map(Self)
    }
}

/// The query string of a URL.
///
/// # Errors
/// If it is not UTF-8, or not this.
pub fn query_params<T: DeserializeOwned>(uri: &Uri) -> Result<T, Error> {
    utf8(uri.query())?;
    let Query(query) = Query::try_from_uri(uri).map_err(|error| {
        let text = error.body_text();
        let what = text
            .split_once(": ")
            .map_or(text.as_str(), |(_, what)| what);
        let detail = format!("invalid query string: {what}");
        Error::new(Code::Invalid, detail)
    })?;
    Ok(query)
}

/// Rejects a query string that does not decode to UTF-8: it would be read as a different one.
///
/// # Errors
/// If it does not.
pub fn utf8(query: Option<&str>) -> Result<(), Error> {
    let query = percent_encoding::percent_decode_str(query.unwrap_or_default());
    let detail = "the query string is not UTF-8; send binary keys with POST, as \
                  {\"base64\": ...}";
    let checked = query.decode_utf8().map(drop);
    checked.map_err(|_| Error::new(Code::Invalid, detail))
}

/// A JSON body.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned + Send + 'static, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        if media_type(request.headers()) != "application/json" {
            let detail = "the body must be JSON; send it with `Content-Type: application/json`";
            return Err(Error::new(Code::MediaType, detail));
        }
        parsed(request, json).await.map(Self)
    }
}

/// Reads and parses the body once there is memory for its values; on a separate thread if it is large.
///
/// # Errors
/// If the body is too large or incomplete, or there is no memory for it; the errors of `parse`.
pub async fn parsed<T: Send + 'static>(
    request: Request,
    parse: fn(&[u8]) -> Result<T, Error>,
) -> Result<T, Error> {
    let charge = request.extensions().get::<Charge>().cloned();
    let body = read_body(request.into_body()).await?;
    if body.len() <= LITTLE {
        if let Some(charge) = charge {
            charge_values(&charge, &body)?;
        }
        return parse(&body);
    }
    if let Some(charge) = charge {
        let counted = body.clone();
        let bytes = aside(move || size_of_values(&counted)).await?;
        charge.wait(bytes).await?;
    }
    aside(move || parse(&body)).await?
}

/// Charges for the values of a small body.
///
/// # Errors
/// If there is no memory for them.
pub fn charge_values(charge: &Charge, body: &[u8]) -> Result<(), Error> {
    charge.take(size_of_values(body))
}

/// The most memory that the values of a body take, apart from their text.
fn size_of_values(body: &[u8]) -> u64 {
    // Every value but the first is preceded by one of these.
    let values = memchr::memchr3_iter(b',', b'[', b'\n', body);
    body.len() as u64 + JSON_VALUE * values.take(MOST_VALUES).count() as u64
}

/// Parses a JSON object.
///
/// # Errors
/// If it is not an object, or not this one.
pub fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    // Serde would accept an array for a struct: its fields in order, without names.
    if body
        .trim_ascii_start()
        .first()
        .is_some_and(|&first| first != b'{')
    {
        let detail = "the body must be a JSON object, in braces";
        return Err(Error::new(Code::Invalid, detail));
    }
    serde_json::from_slice(body).map_err(|error| {
        let detail = format!("the JSON body is invalid: {error}");
        Error::new(Code::Invalid, detail)
    })
}

/// The media type of the body, without parameters, in lower case.
#[must_use]
pub fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE);
    let value = value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media = value.split(';').next().unwrap_or_default();
    media.trim().to_ascii_lowercase()
}
