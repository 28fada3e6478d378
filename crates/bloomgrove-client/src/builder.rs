//! How a client is made: where the server is, who asks, how long and how much to wait for.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::Resolve;
use reqwest::header::HeaderValue;
use reqwest::{Certificate, Url, redirect};

use crate::{Client, Error, shorten};

/// Carries requests in place of a network: to a server in the same process, say.
pub trait Carrier: Send + Sync {
    /// The answer to a request.
    fn carry(&self, request: reqwest::Request) -> Carried;
}

/// An answer that is on its way.
pub type Carried = Pin<Box<dyn Future<Output = Result<reqwest::Response, reqwest::Error>> + Send>>;

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
    proxies: bool,
    resolver: Option<Arc<dyn Resolve>>,
    carrier: Option<Arc<dyn Carrier>>,
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
            proxies: true,
            resolver: None,
            carrier: None,
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

    /// Goes straight to the server, whatever proxies the environment names.
    pub fn direct(mut self) -> Self {
        self.proxies = false;
        self
    }

    /// Has names looked up by this, so that not every address is reached. Addresses that are written as
    /// numbers are not looked up.
    pub fn resolver(mut self, resolver: impl Resolve + 'static) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// Has requests carried by this, and by no network.
    pub fn carrier(mut self, carrier: Arc<dyn Carrier>) -> Self {
        self.carrier = Some(carrier);
        self
    }

    /// The client. Nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the address, the key or a certificate is none.
    pub fn build(self) -> Result<Client, Error> {
        let url = address(&self.url)?;
        let key = self.key.as_deref().map(bearer).transpose()?;
        // One for the process, unless its author has chosen another.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("bloomgrove/", env!("CARGO_PKG_VERSION")))
            // A key is for the server named, not for one that it points to.
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
            carrier: self.carrier,
            server: as_server(&url),
            key,
            answer_limit: self.answer_limit,
            filter_limit: self.filter_limit,
        })
    }
}

impl Client {
    /// Another server, asked with another key or none, over the connections, authorities and limits
    /// of this client: for who talks to very many servers. Both are reached by the same scheme; a
    /// client for `http` trusts no authority, so it cannot be that of one for `https`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the address or the key is none, or the scheme is another.
    pub fn sibling(&self, url: &str, key: Option<&str>) -> Result<Self, Error> {
        let url = address(url)?;
        if self.server.split_once(':').map(|(scheme, _)| scheme) != Some(url.scheme()) {
            let what = format!(
                "{url}: not reached as {} is; make a client for it",
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

/// The host that an address of a server names, in small letters.
///
/// # Errors
/// [`Error::Invalid`] if it is none that a [`Client`] takes.
pub fn host_of(url: &str) -> Result<String, Error> {
    let url = address(url)?;
    let host = url.host_str().unwrap_or_default();
    Ok(host.trim_matches(['[', ']']).to_ascii_lowercase())
}

/// An address of a server as a [`Client`] uses it: scheme and host in lower case, no slash at the end.
///
/// # Errors
/// [`Error::Invalid`] if it is none that a [`Client`] takes.
pub fn normalize(url: &str) -> Result<String, Error> {
    Ok(as_server(&address(url)?).to_string())
}

fn as_server(url: &Url) -> Arc<str> {
    Arc::from(url.as_str().trim_end_matches('/'))
}

/// A key as it is shown to a server.
fn bearer(key: &str) -> Result<HeaderValue, Error> {
    let value = HeaderValue::from_str(&format!("Bearer {key}"));
    let mut value = value.map_err(|_| {
        Error::invalid("the key has characters that no key has, such as a line break")
    })?;
    // Never shown in a log.
    value.set_sensitive(true);
    Ok(value)
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
            "{}: {what}; write the server as http://127.0.0.1:7117 or https://its.name",
            shorten(text, 200)
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

/// Whether a host, without its port, is this machine: `localhost`, `127.0.0.1`, `[::1]`.
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
