//! What handlers give: what was asked for, or a problem.

use axum::response::{IntoResponse, Response};
use bloomgrove_client::api::{Code, Problem};
use http::StatusCode;
use utoipa::IntoResponses;

use crate::access::Denied;
use crate::coordinator::Refusal;
use crate::refusal::{problem, respond};

/// A problem as an answer.
#[derive(Debug)]
pub struct Refused(Problem);

impl Refused {
    /// A refusal of this kind.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self(problem(status(code), code, detail))
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        respond(self.0)
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        refused.0
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let version = refusal.version;
        let mut refused = Self::new(refusal.code, refusal.detail);
        refused.0.version = version;
        refused
    }
}

impl From<Denied> for Refused {
    fn from(denied: Denied) -> Self {
        Self(denied.into())
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

/// All refusals, for the document.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "only described, never made")]
pub(super) enum Refusals {
    /// The request cannot be understood, or asks for what cannot be
    #[response(status = 400, content_type = "application/problem+json")]
    Invalid(Problem),
    /// No key, or none that is known
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(Problem),
    /// The key does not allow this
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// There is no such set, or site
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(Problem),
    /// The body did not come in time
    #[response(status = 408, content_type = "application/problem+json")]
    Slow(Problem),
    /// The name is taken, or the update does not fit what is there
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(Problem),
    /// Larger than the server takes
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(Problem),
    /// A body of another type than is understood here
    #[response(status = 415, content_type = "application/problem+json")]
    MediaType(Problem),
    /// Starting, stopping, or too much to do
    #[response(status = 503, content_type = "application/problem+json")]
    Busy(Problem),
    /// No room in memory or on disk
    #[response(status = 507, content_type = "application/problem+json")]
    Storage(Problem),
}
