//! Forward triples for links that are stated in another form than `effect property cause`.
//!
//! ```text
//! <event> prov:qualifiedUsage [ prov:entity <document> ; prov:atTime ... ]
//!                                             implies  <event> prov:used <document>
//! <event> prov:generated <document>           implies  <document> prov:wasGeneratedBy <event>
//! ```
//!
//! According to PROV-O the one implies the other, and most documents state both; a store without inference needs the plain
//! form.

use std::collections::{HashMap, HashSet};

use bloomgrove_client::api::Relation;
use oxigraph::model::{NamedNode, NamedNodeRef, NamedOrBlankNode, Term, Triple};

use super::{Allowance, WrongDocument, bytes};
use crate::vocabulary::{ASSOCIATED, ATTRIBUTED, PROV};

const ENTITY: &[&str] = &["entity", "influencer"];
const ACTIVITY: &[&str] = &["activity", "influencer"];
const AGENT: &[&str] = &["agent", "influencer"];
const ANYTHING: &[&str] = &["entity", "activity", "agent", "influencer"];

/// Qualified properties, which properties of the intermediate node name the cause, and what they imply.
const QUALIFIED: [(&str, &[&str], &str); 12] = [
    ("qualifiedUsage", ENTITY, Relation::Used.iri()),
    ("qualifiedGeneration", ACTIVITY, Relation::GeneratedBy.iri()),
    ("qualifiedDerivation", ENTITY, Relation::DerivedFrom.iri()),
    ("qualifiedRevision", ENTITY, Relation::RevisionOf.iri()),
    ("qualifiedQuotation", ENTITY, Relation::QuotedFrom.iri()),
    (
        "qualifiedPrimarySource",
        ENTITY,
        Relation::PrimarySource.iri(),
    ),
    (
        "qualifiedCommunication",
        ACTIVITY,
        Relation::InformedBy.iri(),
    ),
    ("qualifiedStart", ENTITY, Relation::StartedBy.iri()),
    ("qualifiedEnd", ENTITY, Relation::EndedBy.iri()),
    ("qualifiedInfluence", ANYTHING, Relation::InfluencedBy.iri()),
    ("qualifiedAttribution", AGENT, ATTRIBUTED.as_str()),
    ("qualifiedAssociation", AGENT, ASSOCIATED.as_str()),
];

/// Inverse properties, and the forward ones.
const BACKWARD: [(&str, &str); 2] = [
    ("generated", Relation::GeneratedBy.iri()),
    ("influenced", Relation::InfluencedBy.iri()),
];

/// Adds the forward triples that are implied by these, which come from a document of this many bytes, and are not among
/// them. A thousand effects that share a node with a thousand causes imply a million triples.
///
/// # Errors
/// If all triples together become too large.
pub fn add(triples: &mut Vec<Triple>, document: usize) -> Result<(), WrongDocument> {
    let mut implied = Vec::new();
    let allowance = &mut Allowance::new(document);
    for triple in triples.iter() {
        allowance.take(bytes(triple))?;
    }
    {
        // The causes named by intermediate nodes.
        let mut causes: HashMap<&NamedOrBlankNode, Vec<(&str, &NamedNode)>> = HashMap::new();
        let mut qualified = Vec::new();
        for triple in triples.iter() {
            let Some(local) = triple.predicate.as_str().strip_prefix(PROV) else {
                continue;
            };
            let Term::NamedNode(object) = &triple.object else {
                continue;
            };
            if ANYTHING.contains(&local) {
                causes
                    .entry(&triple.subject)
                    .or_default()
                    .push((local, object));
            } else if let Some((_, forward)) = BACKWARD.iter().find(|(name, _)| *name == local) {
                if let NamedOrBlankNode::NamedNode(cause) = &triple.subject {
                    let effect = NamedOrBlankNode::from(object.clone());
                    let link = link(&effect, forward, cause);
                    allowance.take(bytes(&link))?;
                    implied.push(link);
                }
            } else if let Some(row) = QUALIFIED.iter().find(|(name, ..)| *name == local) {
                qualified.push((&triple.subject, row, object));
            }
        }
        for (effect, (_, names, forward), between) in qualified {
            let between = NamedOrBlankNode::from(between.clone());
            for (name, cause) in causes.get(&between).into_iter().flatten() {
                if names.contains(name) {
                    let link = link(effect, forward, cause);
                    allowance.take(bytes(&link))?;
                    implied.push(link);
                }
            }
        }
    }
    if implied.is_empty() {
        return Ok(());
    }
    let wanted: HashSet<&Triple> = implied.iter().collect();
    let stated: HashSet<Triple> = triples
        .iter()
        .filter(|triple| wanted.contains(triple))
        .cloned()
        .collect();
    let mut added = HashSet::new();
    for triple in implied {
        if !stated.contains(&triple) && added.insert(triple.clone()) {
            triples.push(triple);
        }
    }
    Ok(())
}

fn link(effect: &NamedOrBlankNode, property: &'static str, cause: &NamedNode) -> Triple {
    let property = NamedNodeRef::new_unchecked(property);
    Triple::new(effect.clone(), property, cause.clone())
}
