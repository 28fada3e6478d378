//! How a client is made: where the server is, who asks, how long and how much to wait for.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Certificate, Url, redirect};

use crate::{Client, Error};

/// Makes a [`Client`].
///
/// ```
/// use std::time::Duration;
/// use bloomgrove_client::Client;
///
/// let client = Client::builder("https://groves.example.org:7117")
///     .key("a-secret")
///     .timeout(Duration::from_secs(10))
///     .build()?;
/// assert_eq!(client.server(), "https://groves.example.org:7117");
/// # Ok::<(), bloomgrove_client::Error>(())
/// ```
#[derive(Clone)]
pub struct ClientBuilder {
    url: String,
    key: Option<String>,
    authorities: Vec<u8>,
    timeout: Duration,
    answer_limit: u64,
    filter_limit: u64,
}

/// How long it may take to reach the server; the answer may take longer.
const CONNECT: Duration = Duration::from_secs(10);
/// Shorter than a server keeps a connection that nobody uses, so that no request is sent on one
/// that is just being closed.
const IDLE: Duration = Duration::from_secs(30);

impl ClientBuilder {
    pub(crate) fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            key: None,
            authorities: Vec::new(),
            timeout: Duration::from_secs(60),
            answer_limit: 256 << 20,
            filter_limit: 1 << 30,
        }
    }

    /// Shows this key to the server.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Trusts this authority, and no other: its certificate, or several, in PEM.
    pub fn ca_certificate(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.authorities.extend_from_slice(pem.as_ref());
        self
    }

    /// Waits for a whole answer for so long; a minute by default.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = time;
        self
    }

    /// Takes answers of up to so many bytes, without filters; 256 MiB by default.
    pub fn answer_limit(mut self, bytes: u64) -> Self {
        self.answer_limit = bytes;
        self
    }

    /// Takes filters of up to so many bytes; 1 GiB by default.
    pub fn filter_limit(mut self, bytes: u64) -> Self {
        self.filter_limit = bytes;
        self
    }

    /// The client. Nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the address, the key or a certificate is none.
    pub fn build(self) -> Result<Client, Error> {
        let url = address(&self.url)?;
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let value = HeaderValue::from_str(&format!("Bearer {key}"));
            let mut value = value.map_err(|_| {
                Error::invalid("the key has characters that no key has, such as a line break")
            })?;
            // Never shown in a log.
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        // One for the process, unless its author has chosen another.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("bloomgrove/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            // A key is for the server named, not for one that it points to.
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT.min(self.timeout))
            .pool_idle_timeout(IDLE)
            .timeout(self.timeout);
        if is_loopback(&url) {
            http = http.no_proxy();
        }
        if url.scheme() == "http" {
            // The machine's authorities are not even read.
            http = http.tls_certs_only([]);
        } else if !self.authorities.is_empty() {
            let authorities = Certificate::from_pem_bundle(&self.authorities);
            let authorities = authorities.ok().filter(|found| !found.is_empty());
            http = http.tls_certs_only(authorities.ok_or_else(|| {
                Error::invalid(
                    "no certificate in what was given as that of an authority: PEM \
                                begins with -----BEGIN CERTIFICATE-----",
                )
            })?);
        }
        let http = http.build().map_err(|source| Error::Transport {
            url: url.to_string(),
            source,
        })?;
        Ok(Client {
            http,
            server: Arc::from(url.as_str().trim_end_matches('/')),
            answer_limit: self.answer_limit,
            filter_limit: self.filter_limit,
        })
    }
}

impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the key.
        f.debug_struct("ClientBuilder")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

fn address(text: &str) -> Result<Url, Error> {
    let wrong = |what: &str| {
        Error::invalid(format!(
            "{text}: {what}; write the server as http://127.0.0.1:7117 or https://its.name"
        ))
    };
    let url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("this is no address of a web server"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("an address has no user; give a key instead"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("an address ends before ? and #"));
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let number = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || number.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_before_anything_is_sent() {
        for text in [
            "http://127.0.0.1:7117",
            "https://[::1]:1/",
            "http://a/grove/",
        ] {
            let client = Client::new(text).unwrap();
            assert_eq!(client.server(), text.trim_end_matches('/'));
        }
        for (text, part) in [
            ("127.0.0.1:7117", "write the server as"),
            ("localhost:7117", "no address of a web server"),
            ("ftp://a", "no address of a web server"),
            ("http://me:secret@a", "no user"),
            ("http://a/?x=1", "ends before"),
            ("", "write the server as"),
        ] {
            let error = Client::new(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn keys_and_certificates_are_checked_and_keys_are_not_shown() {
        let builder = Client::builder("https://a").key("s3cret");
        assert!(!format!("{builder:?}").contains("s3cret"));
        let client = builder.build().unwrap();
        assert!(!format!("{client:?}").contains("s3cret"));
        let error = Client::builder("https://a").key("two\nlines").build();
        assert!(error.unwrap_err().to_string().contains("line break"));
        for pem in [
            "nonsense",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            assert!(
                Client::builder("https://a")
                    .ca_certificate(pem)
                    .build()
                    .is_err(),
                "{pem}"
            );
        }
    }

    #[test]
    fn loopback_needs_no_proxy() {
        for (text, loopback) in [
            ("http://127.0.0.1:7117", true),
            ("http://127.8.8.8", true),
            ("http://localhost", true),
            ("http://[::1]:7117", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example.org", false),
        ] {
            assert_eq!(is_loopback(&address(text).unwrap()), loopback, "{text}");
        }
    }
}
