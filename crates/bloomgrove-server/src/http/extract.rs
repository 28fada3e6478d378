//! What handlers get: the coordinator, who calls, and what was sent. All of them refuse in the same form.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use bloomgrove::Filter;
use bloomgrove_client::api::{Code, Key, MOST_KEYS};
use bytes::Bytes;
use http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::App;
use crate::Error;
use crate::access::Caller;
use crate::aside::aside;
use crate::budget::Charge;
use crate::coordinator::Coordinator;
use crate::limit::read_body;
use crate::observe::process;

/// Bodies of JSON that are parsed at once, without a thread of their own.
const LITTLE_JSON: usize = 32 << 10;
/// Values of a body that are kept: lists are refused beyond [`MOST_KEYS`], and no request has two that
/// are so long.
const MOST_VALUES: usize = 2 * MOST_KEYS;
/// What a value of JSON takes in memory at most, beside its text.
const JSON_VALUE: u64 = 96;

/// The coordinator, once it is ready.
pub(super) struct Ready(pub(super) Arc<Coordinator>);

impl FromRequestParts<App> for Ready {
    type Rejection = Error;

    async fn from_request_parts(_: &mut Parts, app: &App) -> Result<Self, Error> {
        let coordinator = app.coordinator().cloned().map(Ready);
        let starting = "the server is starting and still reads its sets; try again in a moment";
        coordinator.ok_or_else(|| Error::new(Code::Busy, starting))
    }
}

impl App {
    /// Does what may take seconds on a thread of its own: not too many at a time, and not all of them
    /// for one caller.
    pub(super) async fn search<T: Send + 'static>(
        &self,
        charge: Charge,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let turn = self.0.turns.of(charge.caller(), Turn::Search).await?;
        on_a_thread(&self.0.searches, (turn, charge), work).await
    }

    /// As [`search`](Self::search), of what takes milliseconds.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        charge: Charge,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let turn = self.0.turns.of(charge.caller(), Turn::Work).await?;
        on_a_thread(&self.0.work, (turn, charge), work).await
    }

    /// Does what takes next to no time once what it waits for is free.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        on_a_thread(&self.0.looks, (), work).await
    }

    /// Makes a snapshot: one at a time, whatever else is under way.
    pub(super) async fn snapshot<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        on_a_thread(&self.0.snapshots, (), work).await
    }

    /// The filter in these bytes. A few bytes can stand for many, which are charged before the filter
    /// is made; and as many again, for what the store gets.
    pub(super) async fn filter(
        &self,
        coordinator: &Arc<Coordinator>,
        bytes: Bytes,
        charge: &Charge,
    ) -> Result<Filter, Error> {
        let size = coordinator.filter_bytes(&bytes)?;
        charge.wait(size.saturating_mul(2)).await?;
        let reader = coordinator.clone();
        let filter = self.work(charge.clone(), move || reader.read_filter(&bytes));
        Ok(filter.await??)
    }

    pub(super) fn examples(&self) -> &[String] {
        &self.0.examples
    }
}

/// What callers take turns at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Turn {
    Search,
    Work,
}

/// How much each caller may have under way.
#[derive(Debug)]
pub(super) struct Turns {
    threads: usize,
    callers: Mutex<HashMap<(String, Turn), Arc<Semaphore>>>,
}

impl Turns {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            threads,
            callers: Mutex::default(),
        }
    }

    async fn of(&self, caller: &str, turn: Turn) -> Result<OwnedSemaphorePermit, Error> {
        let turns = {
            let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that nobody uses go, so that addresses do not pile up.
            callers.retain(|_, turns| Arc::strong_count(turns) > 1);
            let each = match turn {
                Turn::Search => (self.threads / 2).max(1),
                Turn::Work => self.threads,
            };
            let turns = callers.entry((caller.to_owned(), turn));
            turns
                .or_insert_with(|| Arc::new(Semaphore::new(each)))
                .clone()
        };
        turns.acquire_owned().await.map_err(|_| stopping())
    }
}

/// Goes on with a change when nobody waits for it any more, so that what it holds is paid for until the
/// writer is done with it.
pub(super) async fn to_the_end<T: Send + 'static>(
    charge: Charge,
    change: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let change = tokio::spawn(async move {
        let _paid = charge;
        change.await
    });
    Ok(change.await.map_err(|_| Error::broken_off())??)
}

/// Does work on a thread of its own, once there is a place; `held` is held until it is done, also when
/// nobody waits for it any more.
async fn on_a_thread<T: Send + 'static>(
    places: &Arc<Semaphore>,
    held: impl Send + 'static,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let permit = places.clone().acquire_owned().await;
    let permit = permit.map_err(|_| stopping())?;
    let work = tokio::task::spawn_blocking(move || {
        let _held = (permit, held);
        process::step_back();
        work()
    });
    work.await.map_err(|_| Error::broken_off())
}

fn stopping() -> Error {
    Error::new(Code::Busy, "the server is stopping")
}

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

fn caller(parts: &Parts) -> Result<Caller, Error> {
    // `guard` has put it there, unless the path was not meant to be guarded.
    let caller = parts.extensions.get::<Caller>().cloned();
    caller.ok_or_else(|| Error::new(Code::Unauthorized, "nobody knows who asks"))
}

/// The set that a path names.
pub(super) struct Name(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(name) = path.map_err(|error| Error::new(Code::Invalid, error.body_text()))?;
        Ok(Self(name))
    }
}

/// The set that a path names, which the caller may change: seen before any body is read.
pub(super) struct Writable(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Writable {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let Name(name) = Name::from_request_parts(parts, state).await?;
        caller(parts)?.may_write(&name)?;
        Ok(Self(name))
    }
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

/// Refuses a query that is no text once it is decoded: it would be read as another one.
pub(super) fn utf8(query: Option<&str>) -> Result<(), Error> {
    let query = percent_encoding::percent_decode_str(query.unwrap_or_default());
    let detail = "the query is not UTF-8; keys that are no text are asked for by POST, as \
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
        let charge = charge_of(&request);
        let body = read_body(request.into_body()).await?;
        parsed(body, charge, json).await.map(Self)
    }
}

fn charge_of(request: &Request) -> Option<Charge> {
    request.extensions().get::<Charge>().cloned()
}

/// Parses a body once there is room for its values: aside, if it is large.
async fn parsed<T: Send + 'static>(
    body: Bytes,
    charge: Option<Charge>,
    parse: fn(&[u8]) -> Result<T, Error>,
) -> Result<T, Error> {
    if body.len() <= LITTLE_JSON {
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

fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
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

/// A body of keys: JSON of some type that has them, or plain text, a key to a line.
pub(super) struct Keys<T>(pub(super) T);

impl<T, S> FromRequest<S> for Keys<T>
where
    T: DeserializeOwned + From<Vec<Key>> + Send + 'static,
    S: Send + Sync,
{
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let is_text = match media_type(request.headers()).as_str() {
            "application/json" => false,
            "text/plain" => true,
            _ => {
                let detail = "keys come as JSON (`Content-Type: application/json`) or one to a line \
                              (`Content-Type: text/plain`)";
                return Err(Error::new(Code::MediaType, detail));
            }
        };
        let charge = charge_of(&request);
        let body = read_body(request.into_body()).await?;
        let parse: fn(&[u8]) -> Result<T, Error> = match is_text {
            true => |body| Ok(lines(body)?.into()),
            false => json,
        };
        parsed(body, charge, parse).await.map(Self)
    }
}

/// A key to a line; the line ends are no part of it.
fn lines(body: &[u8]) -> Result<Vec<Key>, Error> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    // The end of the last line begins no other.
    let body = body.strip_suffix(b"\n").unwrap_or(body);
    let lines = body.split(|&byte| byte == b'\n');
    // Counted first: a key takes more memory than a short line.
    if lines.clone().count() > MOST_KEYS {
        let detail = format!("more than {MOST_KEYS} keys; send them in parts");
        return Err(Error::new(Code::TooLarge, detail));
    }
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    Ok(lines.map(|line| Key::from(line.to_vec())).collect())
}

/// A body of bytes.
pub(super) struct Binary(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for Binary {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let media = media_type(request.headers());
        let ours = media.starts_with("application/vnd.bloomgrove.");
        if !ours && media != "application/octet-stream" && !media.is_empty() {
            let detail = format!(
                "a filter comes as bytes, with `Content-Type: application/octet-stream`, and not \
                 as {media}"
            );
            return Err(Error::new(Code::MediaType, detail));
        }
        Ok(Self(read_body(request.into_body()).await?))
    }
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
