//! Why a command was not done, whatever protocol it came by.

use std::fmt;

use bloomgrove::Error;
use bloomgrove_client::api::Code;

/// Why a command was not done: a kind for programs, words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which kind of problem.
    pub code: Code,
    /// What is wrong, where, and the way out.
    pub detail: String,
    /// Of an update that does not fit: the version that the set has.
    pub version: Option<u64>,
}

impl Refusal {
    /// A refusal of this kind.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            version: None,
        }
    }

    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Code::Invalid, detail)
    }

    pub(super) fn not_found(name: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no set called {name}"))
    }

    pub(super) fn exists(name: &str) -> Self {
        let detail = format!(
            "there is a set called {name} already; update or replace that, or take another name"
        );
        Self::new(Code::Exists, detail)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Refusal {}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            Error::Incompatible { .. } => Code::Incompatible,
            Error::TooLarge { .. } => Code::TooLarge,
            Error::OtherVersion { .. } => Code::SendWhole,
            Error::OutOfMemory { .. } | Error::Budget { .. } => Code::Memory,
            Error::UnknownSet { .. } => Code::NotFound,
            Error::DuplicateSet { .. } => Code::Exists,
            Error::Interrupted => Code::Timeout,
            Error::Io { .. } => Code::Storage,
            _ => Code::Invalid,
        };
        let detail = match error.kind() {
            // The library speaks of an option of the command line.
            Error::TooLarge { bytes, limit } => format!(
                "the filter takes {bytes} bytes once it is expanded, and this server takes filters \
                 of {limit} at most (`limits.filter` in its configuration)"
            ),
            // The path is of a file that the client never saw.
            error => error.to_string(),
        };
        Self::new(code, detail)
    }
}
