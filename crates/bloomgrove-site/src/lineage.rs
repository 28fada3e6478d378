//! Lineage: everything that can be reached from some ids through the links of this site alone.
//!
//! ```text
//!   ancestors of x      all links with the effect x
//!   descendants of x    all links with the cause x, but transferred_by with the effect x
//! ```
//!
//! Ids are processed one after another: those with the greatest remaining depth first, otherwise in the order in which
//! they were reached. All links of an id are returned, or none: the first id whose links do not fit ends the walk, and
//! that id and all ids still waiting are `open`. Only if the very first id has more links than are allowed, the first of
//! them in order are returned, and it is `open` as well: querying it again returns no more. The same applies when the
//! time limit is reached.
//!
//! Every link belongs to exactly one id, so each is returned once, and repeating the query for what is open yields what
//! one large answer would have contained.
//!
//! Cost: reading the triples of each id. SPARQL is not used: a path query finds the same (the tests compare), but has no
//! depth, limits or open ids.

use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use bloomgrove_client::IdCipher;
use bloomgrove_client::api::{
    Direction, Lineage, LineageQuery, Link, MOST_LINKS, Node, Relation, is_event_kind,
};
use oxigraph::model::vocab::{rdf, rdfs};
use oxigraph::model::{NamedNode, Quad, Term, Triple};

use crate::id;
use crate::store::{Store, link};
use crate::vocabulary::{AGENT, ASSOCIATED, ATTRIBUTED, ENDED, GENERATED, OURS, PEER, STARTED};

/// Maximum length of a text in the answer, in characters.
const LONGEST_TEXT: usize = 1000;
/// Time limit; what is left is open.
const LONGEST_TIME: Duration = Duration::from_secs(10);
/// Triples of one id between two checks of the time limit.
const BETWEEN_LOOKS: usize = 10_000;

/// What the store knows about these ids. With a cipher, the ids of the query are decrypted (one that cannot be decrypted
/// is unknown), and the answer is encrypted.
pub(crate) fn lineage(store: &Store, query: &LineageQuery, cipher: Option<&IdCipher>) -> Lineage {
    until(store, query, cipher, Instant::now() + LONGEST_TIME)
}

/// Like [`lineage`]; ids that are not processed by then are `open`.
fn until(
    store: &Store,
    query: &LineageQuery,
    cipher: Option<&IdCipher>,
    deadline: Instant,
) -> Lineage {
    let limit = query.links.unwrap_or(MOST_LINKS).min(MOST_LINKS) as usize;
    let mut walk = Walk::new(store, query.direction, deadline);
    // An id that is given twice is looked up once.
    let mut looked_up: HashMap<&str, Option<String>> = HashMap::new();
    for start in &query.ids {
        let id = looked_up.entry(&start.id).or_insert_with(|| {
            let id = match cipher {
                Some(cipher) => cipher.decrypt(&start.id).ok()?,
                None => start.id.clone(),
            };
            let is_known = queried_iri(&id).is_some_and(|iri| store.knows(&iri));
            is_known.then_some(id)
        });
        if let Some(id) = id {
            walk.reach(id.clone(), start.depth.map_or(u64::MAX, u64::from));
        }
    }
    walk.go(limit);
    walk.tell(cipher)
}

/// The IRI of an id in the query, if it can be an id.
fn queried_iri(text: &str) -> Option<NamedNode> {
    match id::iri(text) {
        Ok(iri) => Some(iri),
        // In an imported document it may be used as it is.
        Err(id::WrongId::Reserved) => NamedNode::new(text)
            .ok()
            .filter(|iri| id::id(iri.as_ref()) == text),
        Err(_) => None,
    }
}

/// The remaining depth of each id, and what was found.
struct Walk<'a> {
    store: &'a Store,
    direction: Direction,
    deadline: Instant,
    /// The remaining depth of all ids that were reached.
    reached: HashMap<String, u64>,
    /// Ids to process, by remaining depth.
    waiting: BTreeMap<u64, VecDeque<String>>,
    /// Ids that were processed.
    done: HashSet<String>,
    links: Vec<Link>,
    open: Vec<String>,
}

impl<'a> Walk<'a> {
    fn new(store: &'a Store, direction: Direction, deadline: Instant) -> Self {
        Self {
            store,
            direction,
            deadline,
            reached: HashMap::new(),
            waiting: BTreeMap::new(),
            done: HashSet::new(),
            links: Vec::new(),
            open: Vec::new(),
        }
    }

    fn reach(&mut self, id: String, further: u64) {
        let before = self.reached.get(&id).copied();
        if before.is_some_and(|before| before >= further) {
            return;
        }
        self.reached.insert(id.clone(), further);
        if further > 0 {
            self.waiting.entry(further).or_default().push_back(id);
        }
    }

    /// The next id to process, and its remaining depth.
    fn next(&mut self) -> Option<(String, u64)> {
        loop {
            let mut furthest = self.waiting.last_entry()?;
            let further = *furthest.key();
            let Some(id) = furthest.get_mut().pop_front() else {
                furthest.remove();
                continue;
            };
            // An id that was reached again on a shorter path waits twice.
            if !self.done.contains(&id) {
                return Some((id, further));
            }
        }
    }

    fn go(&mut self, limit: usize) {
        let mut is_first = true;
        while let Some((id, further)) = self.next() {
            let room = limit - self.links.len();
            let late = !is_first && Instant::now() > self.deadline;
            let (mut links, all) = match late {
                true => (Vec::new(), false),
                false => self.links(&id, room + 1, is_first),
            };
            let fits = all && links.len() <= room;
            if !fits {
                self.open.push(id.clone());
                links.truncate(if is_first { room } else { 0 });
            }
            self.done.insert(id.clone());
            for link in &links {
                if let Some(there) = link.from(&id, self.direction) {
                    self.reach(there.to_owned(), one_less(further));
                }
            }
            self.links.append(&mut links);
            if !fits {
                while let Some((id, _)) = self.next() {
                    self.done.insert(id.clone());
                    self.open.push(id);
                }
                return;
            }
            is_first = false;
        }
    }

    /// The links from an id, in order, and at most `most` of them: the first in order if `all` are read, otherwise any.
    /// Also returns whether there was time to read all of its triples.
    fn links(&self, id: &str, most: usize, all: bool) -> (Vec<Link>, bool) {
        let Some(iri) = queried_iri(id) else {
            return (Vec::new(), true);
        };
        let up = self.store.of_subject(&iri).map(to_link);
        let down = self.store.of_object(&iri).map(to_link);
        let is_transfer = |link: &Link| link.relation == Relation::TransferredBy;
        let links: Box<dyn Iterator<Item = Option<Link>>> = match self.direction {
            Direction::Ancestors => Box::new(up),
            Direction::Descendants => Box::new(
                down.map(move |link| link.filter(|link| !is_transfer(link)))
                    .chain(up.map(move |link| link.filter(is_transfer))),
            ),
        };
        // Keeps no more than needed: an id may have millions of links.
        let mut first = BinaryHeap::new();
        for (place, link) in links.enumerate() {
            if place % BETWEEN_LOOKS == BETWEEN_LOOKS - 1 && Instant::now() > self.deadline {
                return (first.into_sorted_vec(), false);
            }
            first.extend(link);
            if first.len() > most {
                first.pop();
                if !all {
                    break;
                }
            }
        }
        (first.into_sorted_vec(), true)
    }

    /// Everything that was found, in order.
    fn tell(self, cipher: Option<&IdCipher>) -> Lineage {
        let say =
            |text: &str| cipher.map_or_else(|| text.to_owned(), |cipher| cipher.encrypt(text));
        let ids = self
            .reached
            .keys()
            .filter_map(|id| Some((id, queried_iri(id)?)));
        let mut nodes: Vec<Node> = ids
            .map(|(id, iri)| describe(self.store, id, &iri, cipher))
            .collect();
        nodes.sort_by(|one, other| one.id.cmp(&other.id));
        let mut links = self.links;
        for link in &mut links {
            (link.effect, link.cause) = (say(&link.effect), say(&link.cause));
        }
        links.sort();
        let mut open: Vec<String> = self.open.iter().map(|id| say(id)).collect();
        open.sort();
        Lineage { links, nodes, open }
    }
}

/// The remaining depth of the next id; unlimited stays unlimited.
fn one_less(further: u64) -> u64 {
    match further {
        u64::MAX => u64::MAX,
        further => further - 1,
    }
}

fn to_link(quad: Quad) -> Option<Link> {
    let triple = Triple::from(quad);
    let (effect, relation, cause) = link(&triple)?;
    Some(Link {
        effect: id::id(effect.as_ref()).into_owned(),
        relation,
        cause: id::id(cause.as_ref()).into_owned(),
    })
}

/// The description of an id. Of several texts, the first in the order of the answer, so encrypted if there is a cipher:
/// then it does not matter which site has which of them.
fn describe(store: &Store, id: &str, iri: &NamedNode, cipher: Option<&IdCipher>) -> Node {
    let say = |text: &str| {
        let text: String = text.chars().take(LONGEST_TEXT).collect();
        cipher.map_or(text.clone(), |cipher| cipher.encrypt(&text))
    };
    let mut node = Node {
        id: cipher.map_or_else(|| id.to_owned(), |cipher| cipher.encrypt(id)),
        ..Node::default()
    };
    for quad in store.of_subject(iri) {
        let property = quad.predicate.as_ref();
        let text = match &quad.object {
            Term::NamedNode(iri) => id::id(iri.as_ref()),
            Term::Literal(literal) => literal.value().into(),
            Term::BlankNode(_) => continue,
        };
        let mut said = Node::default();
        if property == rdf::TYPE {
            let kind = kind(&text);
            // The kinds of events are the same everywhere, and reveal nothing about documents.
            said.kind = Some(match is_event_kind(&kind) {
                true => kind,
                false => say(&kind),
            });
        } else if property == rdfs::LABEL {
            said.label = Some(say(&text));
        } else if [ENDED, STARTED, GENERATED].contains(&property) {
            // Whether it is the time of an event may be known only elsewhere: always encrypted, so that all sites return it in
            // the same form.
            said.time = Some(say(&text));
        } else if [AGENT, ATTRIBUTED, ASSOCIATED].contains(&property) {
            said.agent = Some(say(&text));
        } else if property == PEER {
            said.peer = Some(say(&text));
        }
        node.merge(said);
    }
    node
}

/// A type in one word: the kind of an event if it is ours, otherwise the last part.
fn kind(iri: &str) -> String {
    if let Some(name) = iri.strip_prefix(OURS) {
        let name = name.to_ascii_lowercase();
        if is_event_kind(&name) {
            return name;
        }
    }
    let last = iri.rsplit(['#', '/', ':']).find(|part| !part.is_empty());
    last.unwrap_or(iri).to_owned()
}

#[cfg(test)]
mod tests;
