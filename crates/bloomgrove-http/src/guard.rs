//! Authentication: turns the access key of a request into a [`Caller`], or rejects the request.
//!
//! The [`Caller`] is an extension of the request; each command checks what it may do. Some paths are open:
//! the health checks, and the page, if there is one, which then prompts for the access key.
//!
//! A server without access keys listens on loopback, where every web page in a browser on this machine can
//! reach it, too. So there the request must name this machine (`Host`; a page that was rebound to 127.0.0.1
//! sends its own name) and, if it comes from a page, that page must be ours (`Origin`, and `Sec-Fetch-Site`
//! where browsers send no origin: images, frames, links). Other pages may link only to the page itself. With
//! access keys there is no such danger, since browsers do not send them on their own.
//!
//! No foreign page can read a response, whatever the browser (`Cross-Origin-Resource-Policy`).

use std::sync::Arc;

use axum::response::Response;
use bloomgrove_client::api::Code;
use bloomgrove_client::is_loopback_host;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};

use crate::Error;
use crate::access::{Access, Caller, no_key, unknown_key};

/// Who is let in, and which paths need no access key.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The access keys.
    pub access: Arc<Access>,
    /// The paths of the page, if there is one: they need no access key, and others may link to them.
    pub is_page: fn(&str) -> bool,
}

impl Guard {
    /// Without a page.
    #[must_use]
    pub fn new(access: Access) -> Self {
        Self {
            access: Arc::new(access),
            is_page: |_| false,
        }
    }
}

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The caller of a request; none if its path needs no access key.
///
/// # Errors
/// If the request is refused.
pub(crate) fn caller<B>(
    guard: &Guard,
    request: &http::Request<B>,
) -> Result<Option<Caller>, Error> {
    let access = &guard.access;
    if access.is_open() {
        // No access key is required, whatever was sent.
        meant_for_us(guard, request.uri(), request.headers())?;
        return Ok(Some(Caller::anonymous()));
    }
    let path = request.uri().path();
    if is_health_path(path) || (guard.is_page)(path) {
        return Ok(None);
    }
    Ok(Some(access.who(key(request.headers())?)?))
}

/// Keeps foreign pages from reading a response.
pub(crate) fn shield(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
}

/// Health checks, which need no access key.
fn is_health_path(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz")
}

/// The access key in `Authorization: Bearer KEY`.
fn key(headers: &HeaderMap) -> Result<Option<&str>, Error> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| unknown_key())?;
    match text.split_once(' ') {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(key.trim())),
        _ => Err(no_key()),
    }
}

/// At a server without access keys: checks that the request names this machine and does not come from a foreign page.
fn meant_for_us(guard: &Guard, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
    let refuse = |detail: String| Err(Error::new(Code::Forbidden, detail));
    let header = headers.get(header::HOST).map(|host| host.to_str());
    let host = match (uri.authority(), header) {
        (Some(authority), _) => authority.as_str(),
        (None, Some(Ok(host))) => host,
        _ => "",
    };
    if !is_loopback(host) {
        return refuse(format!(
            "this server has no access keys, so it only answers requests for localhost, 127.0.0.1 or \
             [::1], not for {host:?}; configure access keys to use other names"
        ));
    }
    let is_foreign = |site: &HeaderValue| {
        let site = site.as_bytes().trim_ascii();
        !site.eq_ignore_ascii_case(b"same-origin") && !site.eq_ignore_ascii_case(b"none")
    };
    if headers.get_all(FETCH_SITE).iter().any(is_foreign) && !(guard.is_page)(uri.path()) {
        return refuse(
            "this server has no access keys, so other web sites may only link to its own page; open that page, or \
             configure access keys"
                .into(),
        );
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return Ok(());
    };
    let origin = origin.to_str().unwrap_or_default();
    let page = origin.split_once("://").map(|(_, page)| page);
    if page.is_some_and(|page| page.eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    refuse(format!(
        "this server has no access keys, so it rejects requests from other web sites, and \
         {origin:?} is not {host:?}; configure access keys to allow them"
    ))
}

/// A name or address of this machine, with or without a port.
fn is_loopback(host: &str) -> bool {
    // The colons of an address are in brackets.
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => {
            if !port.bytes().all(|byte| byte.is_ascii_digit()) {
                return false;
            }
            name
        }
        _ => host,
    };
    is_loopback_host(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a page at `/`.
    fn guard() -> Guard {
        Guard {
            is_page: |path| path == "/",
            ..Guard::new(Access::open())
        }
    }

    #[test]
    fn loopback_has_a_few_names() {
        for good in [
            "localhost",
            "LOCALHOST:7117",
            "127.0.0.1:80",
            "127.1.2.3",
            "[::1]",
            "[::1]:7117",
        ] {
            assert!(is_loopback(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evil.example:127.0.0.1",
            "localhost:80:evil.example",
            "[::1]evil.example",
            "[::2]",
            "[::1",
            "0.0.0.0",
            "192.168.0.1",
            "user@localhost",
        ] {
            assert!(!is_loopback(bad), "{bad}");
        }
    }

    #[test]
    fn pages_of_others_are_refused() {
        let ask = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            meant_for_us(&guard(), &"/v1/sets".parse().unwrap(), &headers).is_ok()
        };
        assert!(ask("localhost:7117", None));
        assert!(ask("localhost:7117", Some("http://localhost:7117")));
        assert!(!ask("localhost:7117", Some("http://localhost:3000")));
        assert!(!ask("localhost:7117", Some("http://evil.example")));
        assert!(!ask("localhost:7117", Some("null")));
        assert!(!ask("evil.example", Some("http://evil.example")));
        assert!(!ask("evil.example", None));
        assert!(meant_for_us(&guard(), &"/".parse().unwrap(), &HeaderMap::new()).is_err());
        let absolute = "http://evil.example/v1/sets".parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "localhost".parse().unwrap());
        assert!(meant_for_us(&guard(), &absolute, &headers).is_err());
    }

    #[test]
    fn pictures_and_frames_of_others_are_refused() {
        let ask = |path: &str, sites: &[&str]| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "localhost:7117".parse().unwrap());
            for site in sites {
                headers.append(FETCH_SITE, site.parse().unwrap());
            }
            meant_for_us(&guard(), &path.parse().unwrap(), &headers).is_ok()
        };
        for path in [
            "/v1/sets",
            "/v1/sparql?query=ASK%20%7B%7D",
            "/metrics",
            "/livez",
        ] {
            for foreign in ["cross-site", "same-site", "Cross-Site", "what comes next"] {
                assert!(!ask(path, &[foreign]), "{path} {foreign}");
                assert!(!ask(path, &["same-origin", foreign]), "{path} {foreign}");
            }
            // Typed, clicked in the page itself, or sent by no browser.
            assert!(ask(path, &["none"]) && ask(path, &["same-origin"]) && ask(path, &[]));
        }
        // Whoever links to the page may.
        assert!(ask("/", &["cross-site"]) && ask("/?trace=x", &["same-site"]));
    }

    #[test]
    fn a_key_is_a_bearer_token() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            key(&headers).map(|key| key.map(str::to_owned))
        };
        assert_eq!(of("Bearer abc"), Ok(Some("abc".into())));
        assert_eq!(of("bearer  abc "), Ok(Some("abc".into())));
        assert_eq!(of("Basic abc"), Err(no_key()));
        assert_eq!(of("abc"), Err(no_key()));
        assert_eq!(key(&HeaderMap::new()), Ok(None));
    }
}
