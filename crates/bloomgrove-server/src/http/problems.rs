//! The problems that handlers may respond with, for the OpenAPI document.

use bloomgrove_client::api::Problem;
use utoipa::IntoResponses;

/// All problems.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "only described, never made")]
pub(super) enum Problems {
    /// The request is malformed or cannot be fulfilled
    #[response(status = 400, content_type = "application/problem+json")]
    Invalid(Problem),
    /// The access key is missing or unknown
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(Problem),
    /// The access key does not permit this
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// The set or site does not exist
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(Problem),
    /// The body did not arrive in time
    #[response(status = 408, content_type = "application/problem+json")]
    Slow(Problem),
    /// The name is taken, or the update does not match the current version
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(Problem),
    /// The request is larger than the server allows
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(Problem),
    /// The media type of the body is not supported by this endpoint
    #[response(status = 415, content_type = "application/problem+json")]
    MediaType(Problem),
    /// The server is starting, shutting down or overloaded
    #[response(status = 503, content_type = "application/problem+json")]
    Busy(Problem),
    /// There is not enough memory or disk space
    #[response(status = 507, content_type = "application/problem+json")]
    Storage(Problem),
}
