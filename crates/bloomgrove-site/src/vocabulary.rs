//! Terms of RDF: those of PROV-O that are read and written here, and ours.
//!
//! An event that is recorded here stands in the store like this; what begins with `bg:` is ours
//! (`urn:x-bloomgrove:`), and any tool that knows PROV-O can do without it:
//!
//! ```text
//! <event>   a prov:Activity, bg:Bundled ;        bg:Created, bg:Derived, bg:Split, bg:Sent, bg:Received
//!           prov:endedAtTime "2026-11-16T09:30:00Z"^^xsd:dateTime ;
//!           rdfs:label "the quarter's invoices" ;
//!           bg:agent "books" ;  bg:peer "pune" ;
//!           prov:used <part one>, <part two> .
//! <bundle>  prov:wasGeneratedBy <event> .
//!
//! <document> bg:transferredBy <event> .          of Sent and Received, in place of prov:used
//! ```
//!
//! What links an effect to its cause is in [`Relation`](bloomgrove_client::api::Relation).

use oxigraph::model::NamedNodeRef;

/// Where PROV-O is.
pub const PROV: &str = "http://www.w3.org/ns/prov#";
/// How all of ours begin.
pub const OURS: &str = "urn:x-bloomgrove:";
/// How nodes are called that had no name in the document they came from.
pub const BLANK: &str = "urn:x-bloomgrove:blank:";

/// `prov:Activity`.
pub const ACTIVITY: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/ns/prov#Activity");
/// `prov:endedAtTime`.
pub const ENDED: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/ns/prov#endedAtTime");
/// `prov:startedAtTime`.
pub const STARTED: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/ns/prov#startedAtTime");
/// `prov:generatedAtTime`.
pub const GENERATED: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/ns/prov#generatedAtTime");
/// `prov:wasAttributedTo`.
pub const ATTRIBUTED: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/ns/prov#wasAttributedTo");
/// `prov:wasAssociatedWith`.
pub const ASSOCIATED: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/ns/prov#wasAssociatedWith");
/// Who did it, as text.
pub const AGENT: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("urn:x-bloomgrove:agent");
/// The site at the other end of a transfer, as text.
pub const PEER: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("urn:x-bloomgrove:peer");
