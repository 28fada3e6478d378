//! What went wrong, in the form of RFC 9457 (`application/problem+json`).

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// Why a request was refused, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// Which kind of problem: for programs.
    pub code: Code,
    /// What is wrong, where, and the way out: for people.
    pub detail: String,
    /// The id of the request, by which the server's log tells more.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request: String,
    /// Of an update that does not fit: the version that the set has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.detail)
    }
}

impl std::error::Error for Problem {}

/// Which kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub enum Code {
    /// The request cannot be understood, or asks for what cannot be: 400.
    Invalid,
    /// There is no key, or none that the server knows: 401.
    Unauthorized,
    /// The key does not allow this: 403.
    Forbidden,
    /// There is no such set, snapshot or path: 404.
    NotFound,
    /// This path does not take this method: 405.
    Method,
    /// It took too long to come, or to do: 408 or 503.
    Timeout,
    /// There is a set of this name already, or a site that is in touch: 409.
    Exists,
    /// The update builds on another version than the set has: send the whole filter. 409.
    SendWhole,
    /// The set is no longer of the version that the filter was to replace: 409.
    Changed,
    /// The filter has other parameters than the set: 409.
    Incompatible,
    /// The body or the batch is larger than the server allows: 413.
    TooLarge,
    /// The body is of a type that is not understood here: 415.
    MediaType,
    /// The server has too much to do: 429 or 503.
    Busy,
    /// Something is wrong inside the server: 500.
    Internal,
    /// The disk is full or broken; nothing was changed, and asking goes on: 507.
    Storage,
    /// Filters would take more memory than is allowed: 507.
    Memory,
}
