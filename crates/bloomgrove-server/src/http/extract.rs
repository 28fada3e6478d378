//! What handlers receive: the coordinator, its threads, set names, keys, filters.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use bloomgrove_client::api::{Code, Key, MOST_KEYS};
use bloomgrove_http::budget::Charge;
use bloomgrove_http::extract::{caller, json, media_type, parsed};
use bloomgrove_http::limit::read_body;
use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::App;
use crate::Error;
use crate::coordinator::{Coordinator, Upload};

/// Filters up to this size, in bytes, are decoded immediately: passing them to another thread takes as long.
const AT_ONCE: u64 = 16 << 10;

/// The coordinator, once it is ready.
pub(super) struct Ready(pub(super) Arc<Coordinator>);

impl FromRequestParts<App> for Ready {
    type Rejection = Error;

    async fn from_request_parts(_: &mut Parts, app: &App) -> Result<Self, Error> {
        let coordinator = app.coordinator().cloned().map(Ready);
        let starting = "the server is starting and still reading its sets; try again in a moment";
        coordinator.ok_or_else(|| Error::new(Code::Busy, starting))
    }
}

impl App {
    /// Runs what may take seconds on a separate thread: a limited number at a time, in total and per
    /// caller.
    pub(super) async fn search<T: Send + 'static>(
        &self,
        charge: Charge,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.0.searches.run_for(charge, work).await
    }

    /// Like [`search`](Self::search), for what takes milliseconds.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        charge: Charge,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.0.work.run_for(charge, work).await
    }

    /// Runs what takes almost no time once the locks it waits for are free.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.0.looks.run(work).await
    }

    /// Makes a snapshot: one at a time, whatever else is running.
    pub(super) async fn snapshot<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.0.snapshots.run(work).await
    }

    /// Decodes a filter. A few bytes can expand to many, which are charged before the filter is allocated; and as many again for
    /// what is stored.
    pub(super) async fn filter(
        &self,
        coordinator: &Arc<Coordinator>,
        bytes: Bytes,
        charge: &Charge,
    ) -> Result<Upload, Error> {
        let size = coordinator.filter_bytes(&bytes)?;
        charge.wait(size.saturating_mul(2)).await?;
        if size.max(bytes.len() as u64) <= AT_ONCE {
            return coordinator.read_upload(bytes);
        }
        let reader = coordinator.clone();
        let upload = self.work(charge.clone(), move || reader.read_upload(bytes));
        upload.await?
    }

    pub(super) fn examples(&self) -> &[String] {
        &self.0.examples
    }
}

/// Finishes a change even if the client disconnects, so that its memory stays charged until the writer is done with
/// it.
pub(super) async fn to_the_end<T: Send + 'static>(
    charge: Charge,
    change: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let change = tokio::spawn(async move {
        let _paid = charge;
        change.await
    });
    change.await.map_err(|_| Error::broken_off())?
}

/// The set in a path.
pub(super) struct Name(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(name) = path.map_err(|error| Error::new(Code::Invalid, error.body_text()))?;
        Ok(Self(name))
    }
}

/// The set in a path, if the caller may change it; checked before any body is read.
pub(super) struct Writable(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Writable {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let Name(name) = Name::from_request_parts(parts, state).await?;
        caller(parts)?.may_write(&name)?;
        Ok(Self(name))
    }
}

/// A body of keys: JSON of a type that contains them, or plain text with one key per line.
pub(super) struct Keys<T>(pub(super) T);

impl<T, S> FromRequest<S> for Keys<T>
where
    T: DeserializeOwned + From<Vec<Key>> + Send + 'static,
    S: Send + Sync,
{
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let parse = parser(request.headers())?;
        parsed(request, parse).await.map(Self)
    }
}

/// Parses a body.
pub(super) type Parse<T> = fn(&[u8]) -> Result<T, Error>;

/// What parses a body of keys, by its media type.
pub(super) fn parser<T: DeserializeOwned + From<Vec<Key>>>(
    headers: &HeaderMap,
) -> Result<Parse<T>, Error> {
    match media_type(headers).as_str() {
        "application/json" => Ok(json),
        "text/plain" => Ok(|body| Ok(lines(body)?.into())),
        _ => {
            let detail = "send keys as JSON (`Content-Type: application/json`) or one per line \
                          (`Content-Type: text/plain`)";
            Err(Error::new(Code::MediaType, detail))
        }
    }
}

/// One key per line, without the line ending.
fn lines(body: &[u8]) -> Result<Vec<Key>, Error> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    // The end of the last line does not start another.
    let body = body.strip_suffix(b"\n").unwrap_or(body);
    let lines = body.split(|&byte| byte == b'\n');
    // Counted first: a key takes more memory than a short line.
    if lines.clone().count() > MOST_KEYS {
        let detail =
            format!("the request has more than {MOST_KEYS} keys; send them in several requests");
        return Err(Error::new(Code::TooLarge, detail));
    }
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    Ok(lines.map(|line| Key::from(line.to_vec())).collect())
}

/// A body of text.
pub(super) async fn text(request: Request) -> Result<Bytes, Error> {
    if media_type(request.headers()) != "text/plain" {
        let detail =
            "`extract` applies only to plain text; send the body with `Content-Type: text/plain`";
        return Err(Error::new(Code::MediaType, detail));
    }
    read_body(request.into_body()).await
}

/// A binary body.
pub(super) struct Binary(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for Binary {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let media = media_type(request.headers());
        let ours = media.starts_with("application/vnd.bloomgrove.");
        if !ours && media != "application/octet-stream" && !media.is_empty() {
            let detail = format!(
                "send a filter as bytes, with `Content-Type: application/octet-stream`, not \
                 as {media}"
            );
            return Err(Error::new(Code::MediaType, detail));
        }
        Ok(Self(read_body(request.into_body()).await?))
    }
}
