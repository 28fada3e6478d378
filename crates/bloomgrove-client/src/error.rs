//! What can go wrong between here and a server, and what to do.

use std::{error, fmt};

use crate::api::{Code, Problem};

/// Why a server did not do what it was asked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server refused, and says why.
    Problem(Problem),
    /// The server was not reached, or the connection broke.
    Transport {
        /// The server.
        url: String,
        /// What went wrong.
        source: reqwest::Error,
    },
    /// The answer is none that a Bloomgrove server gives, or is larger than allowed.
    Answer {
        /// The server.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What is wrong with it.
        what: String,
    },
    /// A filter cannot be sent, or what came is none.
    Filter(bloomgrove::Error),
    /// There can be no such client, or no such request.
    Invalid {
        /// What is wrong, and the way out.
        what: String,
    },
}

impl Error {
    /// Which kind of problem the server has, if it has one.
    pub fn code(&self) -> Option<Code> {
        self.problem().map(|problem| problem.code)
    }

    /// What the server says, if it was the server who refused.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Error::Problem(problem) => Some(problem),
            _ => None,
        }
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Error::Invalid { what: what.into() }
    }
}

impl From<bloomgrove::Error> for Error {
    fn from(error: bloomgrove::Error) -> Self {
        Error::Filter(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Problem(problem) if problem.request.is_empty() => write!(f, "{problem}"),
            Error::Problem(problem) => match problem.code {
                // Only of these does the log tell more.
                Code::Internal | Code::Storage => write!(
                    f,
                    "{problem} (the server's log tells more of request {})",
                    problem.request
                ),
                _ => write!(f, "{problem}"),
            },
            Error::Transport { url, source } => {
                let cause = innermost(source);
                if cause.contains("CaUsedAsEndEntity") {
                    write!(
                        f,
                        "{url}: the server's certificate is that of an authority, which cannot be a \
                         server's own; make one with basicConstraints CA:FALSE"
                    )
                } else if cause.contains("certificate") {
                    write!(
                        f,
                        "{url}: {cause}; is this the name that the certificate is for? If it is \
                         from an authority of your own, trust that one (`--ca`)"
                    )
                } else if source.is_timeout() {
                    write!(
                        f,
                        "{url}: no answer in time; the server is busy or out of reach: try again, \
                         or allow more time"
                    )
                } else if source.is_connect() {
                    write!(f, "{url}: {cause}; is a server running there?")
                } else {
                    write!(f, "{url}: the connection broke: {cause}; try again")
                }
            }
            Error::Answer { url, status, what } => write!(
                f,
                "{url}: not what a Bloomgrove server answers (status {status}): {what}"
            ),
            Error::Filter(error) => write!(f, "{error}"),
            Error::Invalid { what } => write!(f, "{what}"),
        }
    }
}

/// What the chain of errors ends with: the others only say who passed it on.
fn innermost(error: &dyn error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

// No source: the messages include what they wrap, and whoever prints the chain reads nothing
// twice.
impl error::Error for Error {}
