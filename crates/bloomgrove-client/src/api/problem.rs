//! Errors, in the format of RFC 9457 (`application/problem+json`).

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// Why a request failed, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// A machine-readable error code.
    pub code: Code,
    /// A human-readable description of what is wrong, where, and what to do about it.
    pub detail: String,
    /// The id of the request; look it up in the server's log for details.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request: String,
    /// For an update that is based on a different version: the current version of the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.detail)
    }
}

impl std::error::Error for Problem {}

/// An error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub enum Code {
    /// The request is malformed or cannot be fulfilled: 400.
    Invalid,
    /// The access key is missing or unknown: 401.
    Unauthorized,
    /// The access key does not permit this: 403.
    Forbidden,
    /// The set, site, snapshot or path does not exist: 404.
    NotFound,
    /// This path does not support this method: 405.
    Method,
    /// Receiving or processing the request took too long: 408 or 503.
    Timeout,
    /// There is already a set with this name, or a site that is online: 409.
    Exists,
    /// The update is based on a version that the set does not have: send the whole filter. 409.
    SendWhole,
    /// The set no longer has the version that the filter was meant to replace: 409.
    Changed,
    /// The parameters of the filter differ from those of the set: 409.
    Incompatible,
    /// The body or the batch is larger than the server allows: 413.
    TooLarge,
    /// The media type of the body is not supported by this endpoint: 415.
    MediaType,
    /// The server is overloaded: 429 or 503.
    Busy,
    /// An internal error of the server: 500.
    Internal,
    /// The disk is full or failing; nothing was changed, and queries still work: 507.
    Storage,
    /// Filters would take more memory than is allowed: 507.
    Memory,
}
