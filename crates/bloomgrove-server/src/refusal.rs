//! Refusals as HTTP answers: an [`api::Problem`](bloomgrove_client::api::Problem) as
//! `application/problem+json`, with the request's id.

use axum::body::Body;
use axum::response::Response;
use bloomgrove_client::api::{Code, Problem};
use bloomgrove_client::{LONGEST_DETAIL, shorten};
use http::{HeaderValue, StatusCode, header};

use crate::access::Denied;
use crate::observe::request;

/// What was refused and why, beside the answer: the log tells it.
#[derive(Clone, Debug)]
pub(crate) struct Reason(pub(crate) String);

/// A problem; the request's id is filled in by [`respond`].
#[must_use]
pub fn problem(status: StatusCode, code: Code, detail: impl Into<String>) -> Problem {
    Problem {
        status: status.as_u16(),
        code,
        detail: detail.into(),
        request: String::new(),
        version: None,
    }
}

/// The problem as an answer. Every refusal comes through here, so that each has the request's
/// id, is no longer than [`LONGEST_DETAIL`], and the log tells its reason.
#[must_use]
pub fn respond(mut problem: Problem) -> Response {
    if problem.request.is_empty() {
        problem.request = request::current_id();
    }
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
    response.extensions_mut().insert(Reason(problem.detail));
    response
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Self {
        let (status, code) = if denied.is_unauthorized() {
            (StatusCode::UNAUTHORIZED, Code::Unauthorized)
        } else {
            (StatusCode::FORBIDDEN, Code::Forbidden)
        };
        problem(status, code, denied.to_string())
    }
}
