//! What handlers get: who calls, and what was sent. All of them refuse in the same form.

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use bloomgrove_client::api::{Code, MOST_KEYS};
use http::{HeaderMap, header};
use serde::de::DeserializeOwned;

use crate::Error;
use crate::access::Caller;
use crate::budget::Charge;
use crate::limit::read_body;
use crate::work::aside;

/// Bodies that are parsed at once, without a thread of their own.
const LITTLE: usize = 32 << 10;
/// Values of a body that are kept: lists are refused beyond [`MOST_KEYS`], and no request has two that
/// are so long.
const MOST_VALUES: usize = 2 * MOST_KEYS;
/// What a value of JSON takes in memory at most, beside its text.
const JSON_VALUE: u64 = 96;

/// Who calls: somebody who may read, at least.
#[derive(Debug)]
pub struct Reader;

impl<S: Sync> FromRequestParts<S> for Reader {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        caller(parts)?.may_read()?;
        Ok(Self)
    }
}

/// Who calls; each change asks whether it may.
#[derive(Debug)]
pub struct Who(pub Caller);

impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        caller(parts).map(Self)
    }
}

/// Who calls.
///
/// # Errors
/// Nobody knows: the path is not guarded.
pub fn caller(parts: &Parts) -> Result<Caller, Error> {
    // `guard` has put it there, unless the path was not meant to be guarded.
    let caller = parts.extensions.get::<Caller>().cloned();
    caller.ok_or_else(|| Error::new(Code::Unauthorized, "nobody knows who asks"))
}

/// What stands behind `?` in the path.
#[derive(Debug)]
pub struct Asked<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        utf8(parts.uri.query())?;
        let query = Query::<T>::from_request_parts(parts, state).await;
        let Query(query) = query.map_err(|error| {
            let text = error.body_text();
            let what = text
                .split_once(": ")
                .map_or(text.as_str(), |(_, what)| what);
            let detail = format!("what stands behind the ? is wrong: {what}");
            Error::new(Code::Invalid, detail)
        })?;
        Ok(Self(query))
    }
}

/// Refuses a query that does not decode to UTF-8: it would be read as another one.
///
/// # Errors
/// Such a query.
pub fn utf8(query: Option<&str>) -> Result<(), Error> {
    let query = percent_encoding::percent_decode_str(query.unwrap_or_default());
    let detail = "the query string is not UTF-8; send keys that are not text by POST, as \
                  {\"base64\": ...}";
    let checked = query.decode_utf8().map(drop);
    checked.map_err(|_| Error::new(Code::Invalid, detail))
}

/// A body of JSON.
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

/// The body, read and parsed once there is room for its values: aside, if it is large.
///
/// # Errors
/// A body that is too large or breaks off, or for which there is no room; what `parse` says.
pub async fn parsed<T: Send + 'static>(
    request: Request,
    parse: fn(&[u8]) -> Result<T, Error>,
) -> Result<T, Error> {
    let charge = request.extensions().get::<Charge>().cloned();
    let body = read_body(request.into_body()).await?;
    if body.len() <= LITTLE {
        if let Some(charge) = charge {
            charge.take(size_of_values(&body))?;
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

/// What the values of a body take at most, beside their text.
fn size_of_values(body: &[u8]) -> u64 {
    // There is no value without one of these before it, but for the first.
    let values = memchr::memchr3_iter(b',', b'[', b'\n', body);
    body.len() as u64 + JSON_VALUE * values.take(MOST_VALUES).count() as u64
}

/// An object of JSON.
///
/// # Errors
/// What is none, or not this one.
pub fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    // Serde would take an array for a struct: its fields in their order, without names.
    if body
        .trim_ascii_start()
        .first()
        .is_some_and(|&first| first != b'{')
    {
        let detail = "the body must be a JSON object, in { and }";
        return Err(Error::new(Code::Invalid, detail));
    }
    serde_json::from_slice(body).map_err(|error| {
        let detail = format!("the body is not the JSON that is wanted here: {error}");
        Error::new(Code::Invalid, detail)
    })
}

/// The type of the body, without parameters, in small letters.
#[must_use]
pub fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE);
    let value = value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media = value.split(';').next().unwrap_or_default();
    media.trim().to_ascii_lowercase()
}
