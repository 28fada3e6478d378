//! RDF terms: those of PROV-O that are used here, and our own.
//!
//! An event recorded here is stored like this. Terms that start with `bg:` are ours (`urn:x-bloomgrove:`), and tools that
//! know PROV-O can ignore them:
//!
//! ```text
//! <event>   a prov:Activity, bg:Bundled ;        bg:Created, bg:Derived, bg:Split, bg:Sent, bg:Received
//!           prov:endedAtTime "2026-11-16T09:30:00Z"^^xsd:dateTime ;
//!           rdfs:label "the quarter's invoices" ;
//!           bg:agent "books" ;  bg:peer "pune" ;
//!           prov:used <part one>, <part two> .
//! <bundle>  prov:wasGeneratedBy <event> .
//!
//! <document> bg:transferredBy <event> .          for Sent and Received, instead of prov:used
//! ```
//!
//! [`Relation`](bloomgrove_client::api::Relation) has the properties that link an effect to its cause.

use oxigraph::model::NamedNodeRef;

/// The namespace of PROV-O.
pub const PROV: &str = "http://www.w3.org/ns/prov#";
/// Our namespace.
pub const OURS: &str = "urn:x-bloomgrove:";
/// The prefix of nodes that had no name in the document they came from.
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
