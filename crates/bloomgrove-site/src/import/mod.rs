//! Provenance that others have written: RDF in its usual formats, and PROV-JSON, as triples.
//!
//! ```text
//!  Turtle  N-Triples  TriG  N-Quads  JSON-LD  RDF/XML      PROV-JSON
//!        \      \       |      |       /       /               |
//!         parser, which stops at the first mistake        prov_json
//!                            \                              /
//!          blank nodes named, graphs flattened, every link as a forward triple
//! ```
//!
//! * A blank node becomes `urn:x-bloomgrove:blank:HASH:bN`: the hash of the document, and the number
//!   of the node in the order in which it appears. So the same document gives the same triples
//!   whenever it is read, and two documents never share a blank node.
//! * Named graphs, and the bundles of PROV-JSON, are taken as one graph.
//! * Links that are written in another way than `effect property cause` are added as that:
//!   [`qualified`].
//! * Nothing is fetched: a JSON-LD context must be in the document.
//! * Without a base, an IRI must be absolute.
//!
//! A document comes from outside, and may be made to harm: how deep it nests, how long an IRI is and
//! how much it becomes when its abbreviations are written out are all bounded, so that reading takes
//! time and memory in proportion to its bytes.

mod blank;
mod guard;
mod prov_json;
pub mod qualified;
mod rdf;
mod wrong;

use oxigraph::model::{NamedOrBlankNode, Term, Triple};

pub use bloomgrove_client::rdf::Format;
pub use wrong::WrongDocument;

/// How deep brackets, braces or elements may be nested in a document.
pub const DEEPEST: usize = 128;
/// The triples of a document may take this many times as many bytes in memory as it has itself: in a list of
/// objects, each triple may be written in 5 bytes.
const EXPANSION: usize = 128;
/// And this many more, for small documents.
const EXPANSION_FREE: usize = 1 << 20;
/// And never more than this.
const LARGEST: usize = 512 << 20;
/// What a triple takes besides its texts: in a list that may have doubled, and an allocator's share of each text.
const TRIPLE: usize = 256;

/// The triples of a document, and those that say its links forward.
///
/// # Errors
/// What is wrong with it, where, and what to do.
pub fn read(document: &[u8], format: Format) -> Result<Vec<Triple>, WrongDocument> {
    read_from(document, format, None)
}

/// As [`read`]; relative IRIs are relative to `base`. PROV-JSON has none.
///
/// # Errors
/// As [`read`].
pub fn read_from(
    document: &[u8],
    format: Format,
    base: Option<&str>,
) -> Result<Vec<Triple>, WrongDocument> {
    // Some editors begin a file with this mark, which no grammar knows.
    let document = document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document);
    guard::check(document, format)?;
    let mut triples = match format {
        Format::ProvJson => prov_json::read(document)?,
        _ => rdf::read(document, format, base)?,
    };
    qualified::add(&mut triples, document.len())?;
    Ok(triples)
}

/// What the triples of a document may still have in bytes.
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
