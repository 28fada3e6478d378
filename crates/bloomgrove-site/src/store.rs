//! The triples of a site in memory, and which ids are in them.
//!
//! They are in the default graph of an oxigraph store, which has them sorted by subject, property and object: links to
//! and from an id are found without reading others.
//!
//! An id may be in millions of triples that do not make it known, such as a type. So the hashes of known ids are kept
//! separately, in about 30 bytes each.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use anyhow::Result;
use bloomgrove_client::api::Relation;
use oxigraph::io::{RdfFormat, RdfParser};
use oxigraph::model::vocab::{rdf, rdfs};
use oxigraph::model::{
    GraphName, GraphNameRef, NamedNode, NamedNodeRef, NamedOrBlankNode, NamedOrBlankNodeRef, Quad,
    Term, TermRef, Triple,
};
use xxhash_rust::xxh3::xxh3_128;

use crate::id;
use crate::vocabulary::{AGENT, ASSOCIATED, ATTRIBUTED, ENDED, GENERATED, PEER, STARTED};

/// Properties that describe an id.
const DESCRIBING: [NamedNodeRef<'_>; 9] = [
    rdf::TYPE,
    rdfs::LABEL,
    ENDED,
    STARTED,
    GENERATED,
    ATTRIBUTED,
    ASSOCIATED,
    AGENT,
    PEER,
];

/// The triples of a site.
pub(crate) struct Store {
    pub(crate) triples: oxigraph::store::Store,
    count: AtomicU64,
    /// Hashes of all ids in triples that make them known.
    known: RwLock<HashSet<u128>>,
    /// Locked while triples are added, and while a snapshot starts.
    changes: Mutex<Changes>,
    /// Triples that were added while there was a snapshot, with the number of the change.
    fresh: RwLock<HashMap<Triple, u64>>,
}

#[derive(Default)]
struct Changes {
    /// Number of changes.
    count: u64,
    /// Existing snapshots: after which change, and how many.
    snapshots: BTreeMap<u64, usize>,
}

impl Store {
    /// An empty store.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            triples: oxigraph::store::Store::new()?,
            count: AtomicU64::new(0),
            known: RwLock::default(),
            changes: Mutex::default(),
            fresh: RwLock::default(),
        })
    }

    /// The number of triples.
    pub(crate) fn len(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Whether it contains this triple.
    pub(crate) fn contains(&self, triple: &Triple) -> bool {
        let quad = triple.as_ref().in_graph(GraphNameRef::DefaultGraph);
        // Cannot fail in memory.
        self.triples.contains(quad).unwrap_or(false)
    }

    /// Adds triples, all at once; returns how many are new. Calls must not overlap.
    ///
    /// # Errors
    /// None in practice: the store is in memory.
    pub(crate) fn add(&self, triples: Vec<Triple>) -> Result<u64> {
        let mut unseen = HashSet::new();
        for triple in triples {
            if !self.contains(&triple) {
                unseen.insert(triple);
            }
        }
        let new = unseen.len() as u64;
        {
            let ids = unseen.iter().flat_map(ids).flatten();
            let hashes: Vec<u128> = ids.map(|id| xxh3_128(id.as_bytes())).collect();
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.extend(hashes);
        }
        let mut changes = self.changes();
        changes.count += 1;
        if !changes.snapshots.is_empty() {
            let fresh = unseen.iter().map(|triple| (triple.clone(), changes.count));
            let mut all = self.fresh.write().unwrap_or_else(PoisonError::into_inner);
            all.extend(fresh);
        }
        let quads = unseen
            .into_iter()
            .map(|triple| triple.in_graph(GraphName::DefaultGraph));
        self.triples.extend(quads)?;
        self.count.fetch_add(new, Relaxed);
        Ok(new)
    }

    /// The triples that exist now, whatever is added later.
    pub(crate) fn snapshot(&self) -> Snapshot<'_> {
        let mut changes = self.changes();
        let after = changes.count;
        *changes.snapshots.entry(after).or_default() += 1;
        Snapshot { store: self, after }
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All triples with this subject.
    pub(crate) fn of_subject(&self, id: &NamedNode) -> impl Iterator<Item = Quad> + use<> {
        let subject = Some(NamedOrBlankNodeRef::from(id));
        self.triples
            .quads_for_pattern(subject, None, None, Some(GraphNameRef::DefaultGraph))
            .filter_map(Result::ok)
    }

    /// All triples with this object.
    pub(crate) fn of_object(&self, id: &NamedNode) -> impl Iterator<Item = Quad> + use<> {
        let object = Some(TermRef::from(id));
        self.triples
            .quads_for_pattern(None, None, object, Some(GraphNameRef::DefaultGraph))
            .filter_map(Result::ok)
    }

    /// Whether the id is in a triple that makes it known.
    pub(crate) fn knows(&self, id: &NamedNode) -> bool {
        let hash = xxh3_128(id::id(id.as_ref()).as_bytes());
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.contains(&hash)
    }
}

/// The triples of a store at one point in time. Each read from an oxigraph store is a snapshot of its own; triples that
/// are added between two reads are left out.
pub(crate) struct Snapshot<'a> {
    store: &'a Store,
    after: u64,
}

impl<'a> Snapshot<'a> {
    /// The triples with this subject, property and object, as far as given.
    pub(crate) fn matching(
        &self,
        subject: Option<NamedOrBlankNodeRef<'_>>,
        predicate: Option<NamedNodeRef<'_>>,
        object: Option<TermRef<'_>>,
    ) -> impl Iterator<Item = Quad> + use<'a> {
        let (fresh, after) = (&self.store.fresh, self.after);
        let graph = Some(GraphNameRef::DefaultGraph);
        let quads = (self.store.triples).quads_for_pattern(subject, predicate, object, graph);
        // Cannot fail in memory.
        quads.filter_map(Result::ok).filter_map(move |quad| {
            let fresh = fresh.read().unwrap_or_else(PoisonError::into_inner);
            if fresh.is_empty() {
                return Some(quad);
            }
            let triple = Triple::from(quad);
            let added = fresh.get(&triple).copied().unwrap_or(0);
            (added <= after).then(|| triple.in_graph(GraphName::DefaultGraph))
        })
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        let mut changes = self.store.changes();
        if let Some(count) = changes.snapshots.get_mut(&self.after) {
            *count -= 1;
            if *count == 0 {
                changes.snapshots.remove(&self.after);
            }
        }
        let oldest = changes.snapshots.keys().next().copied();
        let fresh = &self.store.fresh;
        let mut fresh = fresh.write().unwrap_or_else(PoisonError::into_inner);
        match oldest {
            Some(oldest) => fresh.retain(|_, added| *added > oldest),
            None => *fresh = HashMap::new(),
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("triples", &self.len())
            .finish()
    }
}

/// The relation that a property states.
pub(crate) fn relation(property: &str) -> Option<Relation> {
    let mut all = Relation::ALL.into_iter();
    all.find(|relation| relation.iri() == property)
}

/// The relation, if the triple is a link: a relation between two ids.
pub(crate) fn link(triple: &Triple) -> Option<(&NamedNode, Relation, &NamedNode)> {
    match (&triple.subject, &triple.object) {
        (NamedOrBlankNode::NamedNode(effect), Term::NamedNode(cause)) => {
            Some((effect, relation(triple.predicate.as_str())?, cause))
        }
        _ => None,
    }
}

/// The ids that a triple makes known: both ends of a link, or the subject of a description.
pub(crate) fn ids(triple: &Triple) -> [Option<Cow<'_, str>>; 2] {
    if let Some((effect, _, cause)) = link(triple) {
        return [Some(id::id(effect.as_ref())), Some(id::id(cause.as_ref()))];
    }
    match &triple.subject {
        NamedOrBlankNode::NamedNode(subject) if DESCRIBING.contains(&triple.predicate.as_ref()) => {
            [Some(id::id(subject.as_ref())), None]
        }
        _ => [None, None],
    }
}

/// Triples as N-Triples.
pub(crate) fn to_text(triples: &[Triple]) -> Vec<u8> {
    let mut text = String::new();
    for triple in triples {
        text.push_str(&triple.to_string());
        text.push_str(" .\n");
    }
    text.into_bytes()
}

/// Triples from N-Triples that were written by `to_text`.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn from_text(text: &[u8]) -> Result<Vec<Triple>> {
    let parser = RdfParser::from_format(RdfFormat::NTriples).lenient();
    let quads = parser.for_slice(text);
    quads.map(|quad| Ok(Triple::from(quad?))).collect()
}
