//! What can go wrong between a client and a server, and what to do about it.

use std::{error, fmt};

use crate::api::{Code, Problem};

/// Why a request failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server refused the request, and says why.
    Problem(Problem),
    /// The server could not be reached, or the connection broke.
    Transport {
        /// The server.
        url: String,
        /// What it is: a server or a site.
        peer: &'static str,
        /// What went wrong.
        source: reqwest::Error,
    },
    /// The response is not one that a Bloomgrove server sends, or is larger than allowed.
    Answer {
        /// The server.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What is wrong with it.
        what: String,
    },
    /// A filter cannot be sent, or the response is not a filter.
    Filter(bloomgrove::Error),
    /// The client cannot be built like this, or the request is invalid.
    Invalid {
        /// What is wrong, and what to do about it.
        what: String,
    },
}

impl Error {
    /// The kind of problem, if the server reported one.
    pub fn code(&self) -> Option<Code> {
        self.problem().map(|problem| problem.code)
    }

    /// The problem, if the server reported one.
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
                // Only for these does the log contain more.
                Code::Internal | Code::Storage => write!(
                    f,
                    "{problem} (for details, look up request {} in the server's log)",
                    problem.request
                ),
                _ => write!(f, "{problem}"),
            },
            Error::Transport { url, peer, source } => {
                let cause = innermost(source);
                if cause.contains("CaUsedAsEndEntity") {
                    write!(
                        f,
                        "{url}: the {peer}'s certificate is a CA certificate, which a server cannot use as its \
                         own; create one with basicConstraints CA:FALSE"
                    )
                } else if cause.contains("certificate") {
                    write!(
                        f,
                        "{url}: {cause}; check that the certificate is valid for this name. If it \
                         was issued by your own certificate authority, trust that one with `--ca`"
                    )
                } else if source.is_timeout() {
                    write!(
                        f,
                        "{url}: timed out; the {peer} is busy or cannot be reached: try again, or \
                         allow more time"
                    )
                } else if cause.contains("failed to lookup address") {
                    match cause.contains("Temporary") {
                        true => write!(
                            f,
                            "{url}: the host name cannot be resolved now; check the address and the \
                             network, or try again"
                        ),
                        false => write!(f, "{url}: the host name is unknown; check the address"),
                    }
                } else if source.is_connect() {
                    write!(f, "{url}: {cause}; is a {peer} running there?")
                } else {
                    write!(f, "{url}: the connection broke: {cause}; try again")
                }
            }
            Error::Answer { url, status, what } => {
                write!(f, "{url}: unexpected response (status {status}): {what}")
            }
            Error::Filter(error) => write!(f, "{error}"),
            Error::Invalid { what } => write!(f, "{what}"),
        }
    }
}

/// The last error in the chain: the others only say who passed it on.
fn innermost(error: &dyn error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

// No source: the messages include what they wrap, so printing the chain would repeat it.
impl error::Error for Error {}
