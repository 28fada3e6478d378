//! Importing provenance: the usual formats of RDF, and PROV-JSON, as triples.
//!
//! ```text
//!  Turtle  N-Triples  TriG  N-Quads  JSON-LD  RDF/XML      PROV-JSON
//!        \      \       |      |       /       /               |
//!         parser, which stops at the first error          prov_json
//!                            \                              /
//!          blank nodes named, graphs merged, every link as a forward triple
//! ```
//!
//! * A blank node becomes `urn:x-bloomgrove:blank:HASH:bN`: the hash of the document, and the number of the node in order
//!   of appearance. So the same document always yields the same triples, and two documents never share a blank node.
//! * Named graphs, and the bundles of PROV-JSON, are merged into one graph.
//! * Links that are stated in another form than `effect property cause` are added in this form: [`qualified`].
//! * Nothing is fetched: a JSON-LD context must be in the document.
//! * Without a base, IRIs must be absolute.
//!
//! A document comes from outside, and may be malicious. Its depth of nesting, the length of IRIs and the size of its
//! triples are limited, so that reading takes time and memory proportional to its size.

mod blank;
mod guard;
mod prov_json;
pub mod qualified;
mod rdf;
mod wrong;

use oxigraph::model::{NamedOrBlankNode, Term, Triple};

pub use bloomgrove_client::rdf::Format;
pub use wrong::WrongDocument;

/// How deeply brackets, braces or elements may be nested in a document.
pub const DEEPEST: usize = 128;
/// The triples of a document may take this many times the bytes of the document: in a list of
/// objects, a triple may need only 5 bytes.
const EXPANSION: usize = 128;
/// And this many bytes in addition, for small documents.
const EXPANSION_FREE: usize = 1 << 20;
/// But never more than this.
const LARGEST: usize = 512 << 20;
/// What a triple takes in addition to its texts: in a list that may have doubled, with the allocator's overhead for each text.
const TRIPLE: usize = 256;

/// The triples of a document, with all links as forward triples.
///
/// # Errors
/// What is wrong with it, where, and what to do about it.
pub fn read(document: &[u8], format: Format) -> Result<Vec<Triple>, WrongDocument> {
    read_from(document, format, None)
}

/// Like [`read`], resolving relative IRIs against `base`. PROV-JSON has none.
///
/// # Errors
/// Like [`read`].
pub fn read_from(
    document: &[u8],
    format: Format,
    base: Option<&str>,
) -> Result<Vec<Triple>, WrongDocument> {
    // Some editors write a byte order mark, which is not part of any of the grammars.
    let document = document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document);
    guard::check(document, format)?;
    let mut triples = match format {
        Format::ProvJson => prov_json::read(document)?,
        _ => rdf::read(document, format, base)?,
    };
    qualified::add(&mut triples, document.len())?;
    Ok(triples)
}

/// How many bytes the triples of a document may still take.
struct Allowance {
    document: usize,
    allowed: usize,
    left: usize,
}

impl Allowance {
    const fn new(document: usize) -> Self {
        let allowed = document
            .saturating_mul(EXPANSION)
            .saturating_add(EXPANSION_FREE);
        let allowed = if allowed < LARGEST { allowed } else { LARGEST };
        Self {
            document,
            allowed,
            left: allowed,
        }
    }

    fn take(&mut self, bytes: usize) -> Result<(), WrongDocument> {
        let (document, allowed) = (self.document, self.allowed);
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or(WrongDocument::Large { document, allowed })?;
        Ok(())
    }
}

/// The bytes that a triple takes in memory.
fn bytes(triple: &Triple) -> usize {
    let subject = match &triple.subject {
        NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
        NamedOrBlankNode::BlankNode(node) => node.as_str().len(),
    };
    let object = match &triple.object {
        Term::NamedNode(node) => node.as_str().len(),
        Term::Literal(literal) => {
            let class = literal.language().unwrap_or(literal.datatype().as_str());
            literal.value().len() + class.len()
        }
        _ => 0,
    };
    TRIPLE + subject + triple.predicate.as_str().len() + object
}

#[cfg(test)]
mod tests;
