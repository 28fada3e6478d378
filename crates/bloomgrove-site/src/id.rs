//! Ids of documents and events, and their form in RDF.
//!
//! Documents can have any id: `urn:uuid:...`, a URL, `invoice 4711`. In RDF, an id that is an absolute IRI is used
//! unchanged; any other becomes `urn:x-bloomgrove:id:` followed by its percent-encoded bytes. Each id has one IRI and
//! each IRI one id.

use std::borrow::Cow;
use std::fmt;

use bloomgrove_client::api::LONGEST_ID;
use bloomgrove_client::iri::{self, PLAIN};
use oxigraph::model::{NamedNode, NamedNodeRef};
use percent_encoding::percent_decode_str;

/// Why a text is not a valid id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongId {
    /// It is empty.
    Empty,
    /// It is too long: this many bytes.
    TooLong(usize),
    /// It starts with the prefix reserved for ids in RDF.
    Reserved,
}

impl fmt::Display for WrongId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "an id is empty"),
            Self::TooLong(bytes) => {
                write!(
                    f,
                    "an id is {bytes} bytes long; the maximum is {LONGEST_ID}"
                )
            }
            Self::Reserved => write!(
                f,
                "an id starts with {PLAIN}, which is reserved for ids in RDF; use \
                 the part after it, percent-decoded"
            ),
        }
    }
}

impl std::error::Error for WrongId {}

/// The IRI of an id.
///
/// # Errors
/// What is wrong with the id.
pub fn iri(id: &str) -> Result<NamedNode, WrongId> {
    if id.is_empty() {
        return Err(WrongId::Empty);
    }
    if id.len() > LONGEST_ID {
        return Err(WrongId::TooLong(id.len()));
    }
    if id.starts_with(PLAIN) {
        return Err(WrongId::Reserved);
    }
    Ok(NamedNode::new_unchecked(iri::iri(id)))
}

/// The id of an IRI.
#[must_use]
pub fn id(iri: NamedNodeRef<'_>) -> Cow<'_, str> {
    let text = iri.as_str();
    match text.strip_prefix(PLAIN) {
        // An IRI with this prefix that was not written here is used unchanged.
        Some(encoded) => percent_decode_str(encoded)
            .decode_utf8()
            .ok()
            .filter(|id| self::iri(id).is_ok_and(|back| back.as_str() == text))
            .unwrap_or(Cow::Borrowed(text)),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn iris_stand_for_themselves_and_others_are_encoded() {
        for (text, wanted) in [
            ("urn:uuid:1", "urn:uuid:1"),
            ("https://a.example/x?y#z", "https://a.example/x?y#z"),
            ("invoice 4711", "urn:x-bloomgrove:id:invoice%204711"),
            ("a/b", "urn:x-bloomgrove:id:a%2Fb"),
            ("göl", "urn:x-bloomgrove:id:g%C3%B6l"),
            ("<>\"\n", "urn:x-bloomgrove:id:%3C%3E%22%0A"),
        ] {
            let iri = iri(text).unwrap();
            assert_eq!(iri.as_str(), wanted);
            assert_eq!(id(iri.as_ref()), text);
        }
        assert_eq!(iri(""), Err(WrongId::Empty));
        assert_eq!(iri(&"x".repeat(2049)), Err(WrongId::TooLong(2049)));
        assert_eq!(iri("urn:x-bloomgrove:id:a"), Err(WrongId::Reserved));
    }

    proptest! {
        #[test]
        fn every_id_comes_back(text in "\\PC{1,40}|[a-z]{1,4}:[ -~]{0,20}") {
            prop_assume!(!text.starts_with(PLAIN));
            let iri = iri(&text).unwrap();
            prop_assert!(NamedNode::new(iri.as_str()).is_ok());
            prop_assert_eq!(id(iri.as_ref()), text);
        }
    }
}
