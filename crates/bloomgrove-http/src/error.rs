//! Why a request failed: one error type, from the disk to the response.
//!
//! Everything in a server reports [`Error`]. On the wire it is an
//! [`api::Problem`](bloomgrove_client::api::Problem) as `application/problem+json`, with the status
//! that belongs to its code and the id of the request.

use std::fmt;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bloomgrove_client::api::{Code, Problem};
use bloomgrove_client::{LONGEST_DETAIL, shorten};
use http::{HeaderValue, StatusCode, header};

use crate::observe::request;

/// Why a request failed: a code for programs, a message for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of problem.
    pub code: Code,
    /// What is wrong, where, and what to do about it.
    pub detail: String,
    /// For an update that is based on a different version: the current version of the set.
    pub version: Option<u64>,
}

impl Error {
    /// An error of this kind.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            version: None,
        }
    }

    /// The request is malformed or impossible.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Code::Invalid, detail)
    }

    /// Work that did not finish: it panicked, or the process is shutting down.
    #[must_use]
    pub fn broken_off() -> Self {
        Self::new(Code::Internal, "processing was interrupted")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Error {}

impl From<bloomgrove::Error> for Error {
    fn from(error: bloomgrove::Error) -> Self {
        use bloomgrove::Error as Library;
        let code = match error.kind() {
            Library::Incompatible { .. } => Code::Incompatible,
            Library::TooLarge { .. } => Code::TooLarge,
            Library::OtherVersion { .. } => Code::SendWhole,
            Library::OutOfMemory { .. } | Library::Budget { .. } => Code::Memory,
            Library::UnknownSet { .. } => Code::NotFound,
            Library::DuplicateSet { .. } => Code::Exists,
            Library::Interrupted => Code::Timeout,
            Library::Io { .. } => Code::Storage,
            _ => Code::Invalid,
        };
        // Only the kind: a path would mean nothing to the client.
        Self::new(code, error.kind().to_string())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Problem {
            status: status(error.code).as_u16(),
            code: error.code,
            detail: error.detail,
            request: request::current_id(),
            version: error.version,
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        respond(self.into())
    }
}

fn status(code: Code) -> StatusCode {
    match code {
        Code::Invalid => StatusCode::BAD_REQUEST,
        Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Method => StatusCode::METHOD_NOT_ALLOWED,
        Code::Exists | Code::SendWhole | Code::Changed | Code::Incompatible => StatusCode::CONFLICT,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::Timeout | Code::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Code::Storage | Code::Memory => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The problem as a response. All problems pass through here, so that none is longer than
/// [`LONGEST_DETAIL`], and the log can show it: it finds the problem in the extensions.
pub(crate) fn respond(mut problem: Problem) -> Response {
    problem.detail = shorten(&problem.detail, LONGEST_DETAIL).into_owned();
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let text = serde_json::to_vec(&problem).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    );
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"bloomgrove\""),
        );
    }
    if problem.code == Code::Busy {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response.extensions_mut().insert(problem);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_status_on_the_wire() {
        for (code, status) in [
            (Code::Invalid, 400),
            (Code::Unauthorized, 401),
            (Code::Forbidden, 403),
            (Code::NotFound, 404),
            (Code::Method, 405),
            (Code::Timeout, 503),
            (Code::Exists, 409),
            (Code::SendWhole, 409),
            (Code::Changed, 409),
            (Code::Incompatible, 409),
            (Code::TooLarge, 413),
            (Code::MediaType, 415),
            (Code::Busy, 503),
            (Code::Internal, 500),
            (Code::Storage, 507),
            (Code::Memory, 507),
        ] {
            let response = Error::new(code, "why").into_response();
            assert_eq!(response.status().as_u16(), status, "{code:?}");
            let has = |name: header::HeaderName| response.headers().contains_key(name);
            assert_eq!(has(header::RETRY_AFTER), code == Code::Busy);
            assert_eq!(has(header::WWW_AUTHENTICATE), code == Code::Unauthorized);
        }
        let changed = Error {
            version: Some(7),
            ..Error::new(Code::SendWhole, "why")
        };
        assert_eq!(
            serde_json::to_string(&Problem::from(changed)).unwrap(),
            r#"{"status":409,"code":"send_whole","detail":"why","version":7}"#
        );
    }
}
