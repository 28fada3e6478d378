//! Why a document cannot be read.

use std::fmt;

use bloomgrove_client::api::LONGEST_ID;
use bloomgrove_client::shorten;

use super::{DEEPEST, Format};

/// Bytes of the document that are repeated in a message at most.
const SHOWN: usize = 80;

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrongDocument {
    /// It breaks the rules of its format.
    Syntax {
        /// The format that it was read as.
        format: Format,
        /// Line and column, from 1 on, where they are known.
        place: Option<(u64, u64)>,
        /// What is wrong there.
        what: String,
    },
    /// An IRI is relative, and nothing says to what.
    Relative(String),
    /// It needs a context from elsewhere.
    Context(String),
    /// It is nested too deep.
    Deep(Format),
    /// An IRI, or what one is put together of, has so many bytes.
    Long(usize),
    /// Its triples are far larger than it is.
    Large {
        /// Bytes of the document.
        document: usize,
        /// Bytes of its triples that are allowed.
        allowed: usize,
    },
    /// A context defines so many terms.
    Terms(usize),
    /// It has more than so many contexts.
    Contexts(usize),
    /// A term brings a context of its own with it.
    Scoped,
    /// Reading it takes longer than so many seconds.
    Slow(u64),
    /// It has triples about triples.
    Quoted,
    /// It has a document type, which may declare entities that grow without bound.
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

    /// Line and column, from 1 on, where they are known.
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
                write!(f, "this is no {}", format.name())?;
                if let Some((line, column)) = place {
                    write!(f, ": line {line}, column {column}")?;
                }
                write!(
                    f,
                    ": {what}; correct it there, or say which format it is written in"
                )
            }
            Self::Relative(iri) => write!(
                f,
                "<{}> is relative, and the document does not say to what; write it out, or begin \
                 with a base (@base in Turtle, xml:base in RDF/XML, @base in a JSON-LD context)",
                shorten(iri, SHOWN)
            ),
            Self::Context(url) => write!(
                f,
                "the document needs the JSON-LD context at {}, and nothing is fetched from \
                 elsewhere; put that context into the document, or send it as N-Quads",
                shorten(url, SHOWN)
            ),
            Self::Deep(format) => write!(
                f,
                "this {} is nested more than {DEEPEST} deep; give inner nodes a name and write \
                 them one after the other",
                format.name()
            ),
            Self::Long(bytes) => write!(
                f,
                "an IRI, or the prefix of one, has {bytes} bytes; {LONGEST_ID} are allowed: use \
                 shorter ones"
            ),
            Self::Large { document, allowed } => write!(
                f,
                "the triples of this document of {document} bytes take more than {allowed} bytes \
                 when all is written out; use shorter prefixes, or send it in parts"
            ),
            Self::Terms(terms) => write!(
                f,
                "a JSON-LD context defines {terms} terms or more, or all of them do; leave out \
                 those that are not used"
            ),
            Self::Contexts(most) => write!(
                f,
                "the document has more than {most} JSON-LD contexts; put one at its beginning"
            ),
            Self::Scoped => write!(
                f,
                "a term of a JSON-LD context has a context of its own, which is not taken; put all \
                 terms into one context, or send the document as N-Quads"
            ),
            Self::Slow(seconds) => write!(
                f,
                "reading this document takes more than {seconds} seconds; send it in parts, or as \
                 N-Quads"
            ),
            Self::Quoted => write!(
                f,
                "the document has triples about triples (RDF 1.2, << >>), which are not taken; \
                 say it with PROV's qualified forms instead"
            ),
            Self::Doctype => write!(
                f,
                "this RDF/XML contains a DOCTYPE, which is not accepted because its entities can grow without \
                 bound; convert the document first (`riot --output=turtle FILE`, or `rapper -o turtle \
                 FILE`), and where <!DOCTYPE is part of a text, write &lt;!DOCTYPE"
            ),
        }
    }
}

impl std::error::Error for WrongDocument {}
