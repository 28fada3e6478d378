//! Why a document cannot be read.

use std::fmt;

use bloomgrove_client::api::LONGEST_ID;
use bloomgrove_client::shorten;

use super::{DEEPEST, Format};

/// How many bytes of the document a message shows.
const SHOWN: usize = 80;

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrongDocument {
    /// It violates the rules of its format.
    Syntax {
        /// The format that was assumed.
        format: Format,
        /// Line and column, counted from 1, if known.
        place: Option<(u64, u64)>,
        /// What is wrong there.
        what: String,
    },
    /// An IRI is relative, and there is no base.
    Relative(String),
    /// It refers to an external context.
    Context(String),
    /// It is nested too deeply.
    Deep(Format),
    /// An IRI, or a part of one, is too long: this many bytes.
    Long(usize),
    /// Its triples are far larger than the document.
    Large {
        /// Size of the document in bytes.
        document: usize,
        /// Maximum size of its triples in bytes.
        allowed: usize,
    },
    /// A context defines too many terms: this many.
    Terms(usize),
    /// It has too many contexts: more than this many.
    Contexts(usize),
    /// A term has a context of its own.
    Scoped,
    /// Reading it takes longer than this many seconds.
    Slow(u64),
    /// It contains triples about triples.
    Quoted,
    /// It contains a DOCTYPE, which may declare entities that grow without bound.
    Doctype,
}

impl WrongDocument {
    pub(super) fn syntax(
        format: Format,
        place: Option<(u64, u64)>,
        what: impl Into<String>,
    ) -> Self {
        let what = what.into();
        Self::Syntax {
            format,
            place,
            what: shorten(&what, 4 * SHOWN).into_owned(),
        }
    }

    /// Line and column, counted from 1, if known.
    #[must_use]
    pub const fn place(&self) -> Option<(u64, u64)> {
        match self {
            Self::Syntax { place, .. } => *place,
            _ => None,
        }
    }
}

impl fmt::Display for WrongDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax {
                format,
                place,
                what,
            } => {
                write!(f, "not valid {}", format.name())?;
                if let Some((line, column)) = place {
                    write!(f, ": line {line}, column {column}")?;
                }
                write!(f, ": {what}; correct it, or specify the right format")
            }
            Self::Relative(iri) => write!(
                f,
                "<{}> is a relative IRI, but the document has no base; use an absolute IRI, or start \
                 with a base (@base in Turtle, xml:base in RDF/XML, @base in a JSON-LD context)",
                shorten(iri, SHOWN)
            ),
            Self::Context(url) => write!(
                f,
                "the document refers to the JSON-LD context at {}, but external contexts are not \
                 fetched; include the context in the document, or send it as N-Quads",
                shorten(url, SHOWN)
            ),
            Self::Deep(format) => write!(
                f,
                "this {} is nested more than {DEEPEST} levels deep; give inner nodes a name and write \
                 them one after another",
                format.name()
            ),
            Self::Long(bytes) => write!(
                f,
                "an IRI, or the prefix of one, is {bytes} bytes long; the maximum is {LONGEST_ID}: use \
                 shorter ones"
            ),
            Self::Large { document, allowed } => write!(
                f,
                "the triples of this document of {document} bytes take more than the allowed {allowed} bytes \
                 when expanded; use shorter prefixes, or send it in parts"
            ),
            Self::Terms(terms) => write!(
                f,
                "a JSON-LD context defines, or all of them together define, {terms} or more terms; remove \
                 unused terms"
            ),
            Self::Contexts(most) => write!(
                f,
                "the document has more than {most} JSON-LD contexts; use a single one at its start"
            ),
            Self::Scoped => write!(
                f,
                "a term of a JSON-LD context has a context of its own, which is not supported; put all \
                 terms into one context, or send the document as N-Quads"
            ),
            Self::Slow(seconds) => write!(
                f,
                "reading this document takes more than {seconds} seconds; send it in parts, or as \
                 N-Quads"
            ),
            Self::Quoted => write!(
                f,
                "the document contains triples about triples (RDF 1.2, << >>), which are not supported; \
                 use PROV's qualified forms instead"
            ),
            Self::Doctype => write!(
                f,
                "this RDF/XML contains a DOCTYPE, which is not accepted because its entities can grow without \
                 bound; convert the document first (`riot --output=turtle FILE`, or `rapper -o turtle \
                 FILE`), and if <!DOCTYPE is part of a text, write &lt;!DOCTYPE"
            ),
        }
    }
}

impl std::error::Error for WrongDocument {}
