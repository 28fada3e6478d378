//! What handlers may answer instead of what was asked for: for the document.

use bloomgrove_client::api::Problem;
use utoipa::IntoResponses;

/// All problems.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "only described, never made")]
pub(super) enum Problems {
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
