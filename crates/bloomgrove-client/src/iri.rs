//! Ids as IRIs, for RDF: an id that is an absolute IRI is used unchanged; any other becomes
//! `urn:x-bloomgrove:id:` followed by its percent-encoded bytes.

use std::borrow::Cow;

use oxiri::Iri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The prefix of the IRIs of ids that are not IRIs themselves.
pub const PLAIN: &str = "urn:x-bloomgrove:id:";

/// What is percent-encoded: everything except the characters that RFC 3986 calls unreserved.
pub(crate) const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The IRI of an id.
#[must_use]
pub fn iri(id: &str) -> Cow<'_, str> {
    match Iri::parse(id) {
        Ok(_) => Cow::Borrowed(id),
        Err(_) => Cow::Owned(format!("{PLAIN}{}", utf8_percent_encode(id, ENCODED))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iris_are_unchanged() {
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
