//! Building a client: the server's address, the access key, time and size limits.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::Resolve;
use reqwest::header::HeaderValue;
use reqwest::{Certificate, Url, redirect};

use crate::{Client, Error, shorten};

/// Delivers requests instead of a network, for example to a server in the same process.
pub trait Carrier: Send + Sync {
    /// Sends a request and returns its response.
    fn carry(&self, request: reqwest::Request) -> Carried;
}

/// A response that is still to come.
pub type Carried = Pin<Box<dyn Future<Output = Result<reqwest::Response, reqwest::Error>> + Send>>;

/// Builds a [`Client`].
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
    proxies: bool,
    resolver: Option<Arc<dyn Resolve>>,
    carrier: Option<Arc<dyn Carrier>>,
}

/// Time limit for connecting to the server; the response may take longer.
const CONNECT: Duration = Duration::from_secs(10);
/// Shorter than the time for which a server keeps an idle connection open, so that no request is sent on
/// a connection that is just being closed.
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
            proxies: true,
            resolver: None,
            carrier: None,
        }
    }

    /// Authenticates with this access key.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Trusts only these certificate authorities: one or more certificates in PEM.
    pub fn ca_certificate(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.authorities.extend_from_slice(pem.as_ref());
        self
    }

    /// Time limit for a whole response; one minute by default.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = time;
        self
    }

    /// Maximum size of a response in bytes, except for filters; 256 MiB by default.
    pub fn answer_limit(mut self, bytes: u64) -> Self {
        self.answer_limit = bytes;
        self
    }

    /// Maximum size of a filter in bytes; 1 GiB by default.
    pub fn filter_limit(mut self, bytes: u64) -> Self {
        self.filter_limit = bytes;
        self
    }

    /// Connects to the server directly, ignoring proxies set in the environment.
    pub fn direct(mut self) -> Self {
        self.proxies = false;
        self
    }

    /// Resolves host names with this, to limit which addresses can be reached. Numeric addresses are not
    /// resolved.
    pub fn resolver(mut self, resolver: impl Resolve + 'static) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// Sends requests through this instead of the network.
    pub fn carrier(mut self, carrier: Arc<dyn Carrier>) -> Self {
        self.carrier = Some(carrier);
        self
    }

    /// Builds the client. Nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the address, the access key or a certificate is invalid.
    pub fn build(self) -> Result<Client, Error> {
        let url = address(&self.url)?;
        let key = self.key.as_deref().map(bearer).transpose()?;
        // Once per process, unless the application has installed another.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("bloomgrove/", env!("CARGO_PKG_VERSION")))
            // The access key is for this server, not for one that it redirects to.
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT.min(self.timeout))
            .pool_idle_timeout(IDLE)
            .timeout(self.timeout);
        if is_loopback_host(url.host_str().unwrap_or_default()) || !self.proxies {
            http = http.no_proxy();
        }
        if let Some(resolver) = self.resolver {
            http = http.dns_resolver(resolver);
        }
        if url.scheme() == "http" {
            // The system's certificate authorities are not even read.
            http = http.tls_certs_only([]);
        } else if !self.authorities.is_empty() {
            let authorities = Certificate::from_pem_bundle(&self.authorities);
            let authorities = authorities.ok().filter(|found| !found.is_empty());
            http = http.tls_certs_only(authorities.ok_or_else(|| {
                Error::invalid(
                    "no certificate found for the certificate authority: a PEM file contains \
                                -----BEGIN CERTIFICATE-----",
                )
            })?);
        }
        let http = http.build().map_err(|source| Error::Transport {
            url: url.to_string(),
            peer: "server",
            source,
        })?;
        Ok(Client {
            http,
            carrier: self.carrier,
            server: as_server(&url),
            peer: "server",
            key,
            answer_limit: self.answer_limit,
            filter_limit: self.filter_limit,
        })
    }
}

impl Client {
    /// A client for another server, with its own access key or none, that shares this client's connections,
    /// certificate authorities and limits: for talking to very many servers. Both must use the same scheme,
    /// because a client for `http` loads no certificate authorities.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the address or the access key is invalid, or the scheme differs.
    pub fn sibling(&self, url: &str, key: Option<&str>) -> Result<Self, Error> {
        let url = address(url)?;
        if self.server.split_once(':').map(|(scheme, _)| scheme) != Some(url.scheme()) {
            let what = format!(
                "{url}: the scheme differs from that of {}; build a separate client for it",
                self.server
            );
            return Err(Error::invalid(what));
        }
        Ok(Self {
            server: as_server(&url),
            key: key.map(bearer).transpose()?,
            ..self.clone()
        })
    }
}

/// The host name in a server's address, in lower case.
///
/// # Errors
/// [`Error::Invalid`] if it is not a valid address for a [`Client`].
pub fn host_of(url: &str) -> Result<String, Error> {
    let url = address(url)?;
    let host = url.host_str().unwrap_or_default();
    Ok(host.trim_matches(['[', ']']).to_ascii_lowercase())
}

/// The normal form of a server's address: scheme and host in lower case, without a trailing slash.
///
/// # Errors
/// [`Error::Invalid`] if it is not a valid address for a [`Client`].
pub fn normalize(url: &str) -> Result<String, Error> {
    Ok(as_server(&address(url)?).to_string())
}

fn as_server(url: &Url) -> Arc<str> {
    Arc::from(url.as_str().trim_end_matches('/'))
}

/// An access key as an `Authorization` header.
fn bearer(key: &str) -> Result<HeaderValue, Error> {
    let value = HeaderValue::from_str(&format!("Bearer {key}"));
    let mut value = value.map_err(|_| {
        Error::invalid("the access key contains invalid characters, such as a line break")
    })?;
    // Never shown in a log.
    value.set_sensitive(true);
    Ok(value)
}

impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the access key.
        f.debug_struct("ClientBuilder")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

fn address(text: &str) -> Result<Url, Error> {
    let wrong = |what: &str| {
        Error::invalid(format!(
            "{}: {what}; write the server as http://127.0.0.1:7117 or https://its.name",
            shorten(text, 200)
        ))
    };
    let url = Url::parse(text).map_err(|error| match text.contains("://") {
        true => wrong(&error.to_string()),
        false => wrong("this is not a URL: http:// or https:// is missing"),
    })?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("only http:// and https:// addresses are supported"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "user names are not supported; use an access key instead",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("remove everything from ? or # on"));
    }
    Ok(url)
}

/// Whether a host name (without a port) is this machine: `localhost`, `127.0.0.1`, `[::1]`.
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let number = bare.unwrap_or(host).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || number.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_spelling() {
        for (text, normal) in [
            ("HTTPS://Galway.Example:443/", "https://galway.example"),
            ("Http://127.0.0.1:7118", "http://127.0.0.1:7118"),
            ("https://a/Grove/", "https://a/Grove"),
        ] {
            assert_eq!(normalize(text).unwrap(), normal);
        }
        normalize("FTP://a").unwrap_err();
    }

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
            ("localhost:7117", "only http:// and https:// addresses"),
            ("ftp://a", "only http:// and https:// addresses"),
            ("http://me:secret@a", "user names"),
            ("http://a/?x=1", "remove everything"),
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
    fn siblings_have_their_own_address_and_key() {
        let one = Client::builder("https://a").key("of-a").build().unwrap();
        let other = one.sibling("https://b:1/x/", Some("of-b")).unwrap();
        assert_eq!(
            (one.server(), other.server()),
            ("https://a", "https://b:1/x")
        );
        assert_eq!(other.key, Some(bearer("of-b").unwrap()));
        assert_eq!(one.sibling("https://b", None).unwrap().key, None);
        for (url, key) in [("http://b", None), ("https://b", Some("a\nb")), ("b", None)] {
            assert!(one.sibling(url, key).is_err(), "{url}");
        }
        assert_eq!(
            host_of("https://Galway.Example:7118/x").unwrap(),
            "galway.example"
        );
        assert_eq!(host_of("http://[::1]:1").unwrap(), "::1");
        assert!(host_of("http://user@a").is_err());
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
            assert_eq!(
                is_loopback_host(address(text).unwrap().host_str().unwrap()),
                loopback,
                "{text}"
            );
        }
    }
}
