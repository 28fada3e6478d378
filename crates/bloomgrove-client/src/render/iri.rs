//! Ids as IRIs, as sites write them in RDF: an id that is an absolute IRI stands for itself, any
//! other as `urn:x-bloomgrove:id:` with its bytes percent-encoded.
//!
//! Whether a text is an IRI is decided by the grammar of RFC 3987, part by part:
//!
//! ```text
//! scheme : // user @ host : port / path ? query # fragment
//! ```

use std::borrow::Cow;
use std::fmt::Write;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// How ids begin in RDF that are no IRIs.
const PLAIN: &str = "urn:x-bloomgrove:id:";

/// The IRI of an id.
pub(super) fn iri(id: &str) -> Cow<'_, str> {
    if is_iri(id) {
        return Cow::Borrowed(id);
    }
    let mut out = PLAIN.to_owned();
    for byte in id.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
    Cow::Owned(out)
}

/// Whether this is an absolute IRI.
fn is_iri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut letters = scheme.bytes();
    let scheme = letters.next().is_some_and(|b| b.is_ascii_alphabetic())
        && letters.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    scheme
        && is_authority(authority)
        && consists_of(path, |c| matches!(c, ':' | '@' | '/'))
        && consists_of(query, |c| {
            matches!(c, ':' | '@' | '/' | '?') || is_private(c)
        })
        && consists_of(fragment, |c| matches!(c, ':' | '@' | '/' | '?'))
}

fn is_authority(text: &str) -> bool {
    let (user, host) = match text.find(['@', '[']) {
        Some(at) if text[at..].starts_with('@') => (&text[..at], &text[at + 1..]),
        _ => ("", text),
    };
    let (host, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((ip, "")) if is_ip(ip) => ("", ""),
            Some((ip, port)) if is_ip(ip) && port.starts_with(':') => ("", &port[1..]),
            _ => return false,
        },
        None => host.split_once(':').unwrap_or((host, "")),
    };
    consists_of(user, |c| c == ':')
        && consists_of(host, |_| false)
        && port.bytes().all(|b| b.is_ascii_digit())
}

/// What may stand between brackets: version 6, or one to come.
fn is_ip(text: &str) -> bool {
    let Some(future) = text.strip_prefix(['v', 'V']) else {
        return Ipv6Addr::from_str(text).is_ok();
    };
    let Some((version, address)) = future.split_once('.') else {
        return false;
    };
    !version.is_empty()
        && version.bytes().all(|b| b.is_ascii_hexdigit())
        && !address.is_empty()
        && address
            .chars()
            .all(|c| c.is_ascii() && (is_plain(c) || c == ':'))
}

/// Whether all of it is what may stand anywhere, escapes, or what `also` allows.
fn consists_of(text: &str, also: impl Fn(char) -> bool) -> bool {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let fine = match c {
            '%' => (0..2).all(|_| rest.next().is_some_and(|c| c.is_ascii_hexdigit())),
            c => is_plain(c) || also(c),
        };
        if !fine {
            return false;
        }
    }
    true
}

/// `iunreserved` and `sub-delims`.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || "-._~!$&'()*+,;=".contains(c)
        || matches!(c, '\u{a0}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{ffef}')
        // Above, each plane but its last two; in the first of those for signs, not the tags.
        || (matches!(c, '\u{10000}'..='\u{dffff}' | '\u{e1000}'..='\u{effff}')
            && u32::from(c) & 0xffff < 0xfffe)
}

/// `iprivate`.
fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iris_stand_for_themselves() {
        for id in [
            "urn:uuid:1",
            "https://a.example/x?y#z",
            "a:",
            "http://",
            "http://user:word@host:80/a:b@c/",
            "http://[::1]:80/",
            "http://[v1.a:b]",
            "urn:göl:\u{10000}",
            "a:?\u{e000}",
            "a:%C3%B6//x",
            "urn:x-bloomgrove:blank:ab:c",
        ] {
            assert_eq!(iri(id), id);
        }
    }

    #[test]
    fn all_else_is_encoded() {
        for (id, wanted) in [
            ("invoice 4711", "invoice%204711"),
            ("a/b", "a%2Fb"),
            ("göl", "g%C3%B6l"),
            ("<>\"\n", "%3C%3E%22%0A"),
            ("1a:b", "1a%3Ab"),
            ("a:b c", "a%3Ab%20c"),
            ("a:%g0", "a%3A%25g0"),
            ("a:%", "a%3A%25"),
            ("a:#b#c", "a%3A%23b%23c"),
            ("a://b:c", "a%3A%2F%2Fb%3Ac"),
            ("a://[::1]x", "a%3A%2F%2F%5B%3A%3A1%5Dx"),
            ("a://[", "a%3A%2F%2F%5B"),
            ("a://b@c@d", "a%3A%2F%2Fb%40c%40d"),
            ("a:\u{e000}", "a%3A%EE%80%80"),
            ("a:\\", "a%3A%5C"),
            ("a:^`{|}", "a%3A%5E%60%7B%7C%7D"),
        ] {
            assert_eq!(iri(id), format!("{PLAIN}{wanted}"), "{id:?}");
        }
    }
}
