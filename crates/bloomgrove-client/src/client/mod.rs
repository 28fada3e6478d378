//! The client: one method for each operation of a server.
//!
//! ```text
//!   sets.rs     listing, creating, changing and removing sets
//!   filters.rs  uploading and downloading filters, whole or as deltas; adding keys
//!   query.rs    which sets contain a key, what is in them, the status of the server
//!   mod.rs      sending a request, and reading and checking its response
//! ```
//!
//! Nothing is retried. The caller can repeat queries and updates, but uploading a whole filter again
//! discards what others have added since.

mod filters;
mod query;
mod sets;

use std::fmt;
use std::sync::Arc;

use percent_encoding::utf8_percent_encode;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;

pub use filters::PutOptions;
pub use sets::{ListQuery, Listing};

use crate::api::Problem;
use crate::iri::ENCODED;
use crate::{Carrier, ClientBuilder, Error, LONGEST_DETAIL, shorten};

/// A connection to a server. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    /// Replaces the network, if set.
    pub(crate) carrier: Option<Arc<dyn Carrier>>,
    pub(crate) server: Arc<str>,
    /// What it is, for messages: a server or a site.
    pub(crate) peer: &'static str,
    /// The access key, as a header. It differs between siblings: see `sibling`.
    pub(crate) key: Option<HeaderValue>,
    pub(crate) answer_limit: u64,
    pub(crate) filter_limit: u64,
}

/// How much of a response that is not JSON an error shows.
const SHOWN: usize = 200;

impl Client {
    /// A client for the server at this address, such as `http://127.0.0.1:7117`. Nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the address is invalid.
    pub fn new(url: impl Into<String>) -> Result<Self, Error> {
        Self::builder(url).build()
    }

    /// A builder, to set an access key, certificate authorities and limits.
    pub fn builder(url: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(url)
    }

    /// The address of the server.
    pub fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.server));
        match &self.key {
            Some(key) => request.header(AUTHORIZATION, key.clone()),
            None => request,
        }
    }

    /// A request for a set; `rest` is the path after its name.
    fn about(&self, method: Method, name: &str, rest: &str) -> Result<RequestBuilder, Error> {
        Ok(self.request(method, &format!("/v1/sets/{}{rest}", in_path(name)?)))
    }

    /// Sends a request; turns a problem into an error.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let sent = match &self.carrier {
            None => request.send().await,
            Some(carrier) => match request.build() {
                Ok(request) => carrier.carry(request).await,
                Err(error) => Err(error),
            },
        };
        let response = sent.map_err(|source| self.transport(source))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let is_problem = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/problem+json"));
        let body = self.body(response, self.answer_limit).await?;
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) if is_problem => Err(Error::Problem(Problem {
                detail: shorten(&problem.detail, LONGEST_DETAIL).into_owned(),
                ..problem
            })),
            _ => Err(self.answer(status.as_u16(), start_of(&body))),
        }
    }

    /// Sends a request whose response is JSON.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, Error> {
        let response = self.send(request).await?;
        self.read(response).await
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, Error> {
        let status = response.status().as_u16();
        let body = self.body(response, self.answer_limit).await?;
        serde_json::from_slice(&body)
            .map_err(|error| self.answer(status, format!("{error}, in: {}", start_of(&body))))
    }

    /// The body, unless it is larger than allowed. Memory use is limited, whatever length the server
    /// declares.
    pub(crate) async fn body(&self, mut response: Response, limit: u64) -> Result<Vec<u8>, Error> {
        let status = response.status().as_u16();
        let too_large = || {
            self.answer(
                status,
                format!("the response is larger than the allowed {limit} bytes"),
            )
        };
        let expected = response.content_length().unwrap_or(0);
        if expected > limit {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(part) = response
            .chunk()
            .await
            .map_err(|source| self.transport(source))?
        {
            if (body.len() + part.len()) as u64 > limit {
                return Err(too_large());
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }

    fn transport(&self, source: reqwest::Error) -> Error {
        Error::Transport {
            url: self.server.to_string(),
            peer: self.peer,
            source,
        }
    }

    pub(crate) fn answer(&self, status: u16, what: impl Into<String>) -> Error {
        Error::Answer {
            url: self.server.to_string(),
            status,
            what: what.into(),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// A name as one path segment.
fn in_path(name: &str) -> Result<String, Error> {
    if matches!(name, "" | "." | "..") {
        // In a URL these mean nothing, this directory, and its parent.
        return Err(Error::invalid(format!(
            "{name:?} cannot be the name of a set; choose another"
        )));
    }
    Ok(utf8_percent_encode(name, ENCODED).to_string())
}

/// The start of a response, in printable form.
fn start_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match text.trim() {
        "" => "an empty response".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::in_path;

    #[test]
    fn names_are_one_part_of_a_path() {
        for (name, path) in [
            ("galway", "galway"),
            ("site/galway", "site%2Fgalway"),
            ("100% sure?", "100%25%20sure%3F"),
            ("%2F", "%252F"),
            ("göl", "g%C3%B6l"),
            ("a.b-c_d~e", "a.b-c_d~e"),
            ("...", "..."),
            ("../x", "..%2Fx"),
        ] {
            assert_eq!(in_path(name).unwrap(), path);
        }
        for name in ["", ".", ".."] {
            assert!(in_path(name).is_err(), "{name}");
        }
    }
}
