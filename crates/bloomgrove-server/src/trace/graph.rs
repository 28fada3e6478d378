//! What is known so far: the graph that the answers of all sites make together.
//!
//! ```text
//!   id -> distance          links from the nearest of the ids asked for
//!         node, who knows   what is said of it, by whom
//!         told by a site    nothing yet < itself < its links, too
//!   link -> who says so
//! ```
//!
//! An id `d` links away, of a trace of depth `D`, has `D - d` links to go. Each site that may know it
//! must tell what it says of the id, and its links if there is one to go. That alone makes the result
//! exact, whatever the sites told on the way: when nobody is to be asked any more, everything within
//! the depth was told by everybody. An id that is found nearer than before is looked at again.
//!
//! Cost: every answer is merged in time about linear in its size, and in what it brings nearer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;

use bloomgrove_client::api::{Direction, Link, Node, Relation, Start, TraceLink, TraceNode};

use super::check::{Checked, Told};

/// The place of an id in the graph.
pub(super) type Place = usize;
/// The place of a site in the list of sites, which is by name.
pub(super) type SiteNo = u32;

/// Who may have to be asked for what at most: a few bytes each.
const MOST_NAMED: usize = 4_000_000;
/// Of one question: ids, as sites take them, and their bytes.
pub(super) const MOST_ASKED: usize = 10_000;
const MOST_ASKED_BYTES: usize = 4 << 20;

/// Ids to ask one site for.
pub(super) type Starts = Vec<Start>;

#[derive(Debug)]
struct Spot {
    id: Arc<str>,
    /// None until a link leads there.
    distance: Option<u32>,
    node: Option<Node>,
    /// Sites that know it, in order.
    known_to: Vec<SiteNo>,
    /// Sites that may know it, in order, and what each has told.
    told: Vec<(SiteNo, Told)>,
    /// Where its links lead.
    next: Vec<Place>,
}

#[derive(Debug)]
pub(super) struct Graph {
    direction: Direction,
    depth: Option<u32>,
    /// Links at most.
    limit: usize,
    places: HashMap<Arc<str>, Place>,
    spots: Vec<Spot>,
    links: HashMap<(Place, Relation, Place), Vec<SiteNo>>,
    /// Reached, and the index was not asked yet.
    fresh: BTreeSet<Place>,
    /// To be looked at: somebody may have to be asked.
    open: BTreeSet<Place>,
    named: usize,
    /// Why it takes no more.
    full: Option<String>,
}

/// What an answer brought.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) nodes: u64,
    pub(super) links: u64,
}

impl Graph {
    pub(super) fn new(
        ids: &[String],
        direction: Direction,
        depth: Option<u32>,
        limit: usize,
    ) -> Self {
        let mut graph = Self {
            direction,
            depth,
            limit,
            places: HashMap::new(),
            spots: Vec::new(),
            links: HashMap::new(),
            fresh: BTreeSet::new(),
            open: BTreeSet::new(),
            named: 0,
            full: None,
        };
        for id in ids {
            let place = graph.place(id);
            graph.spots[place].distance = Some(0);
            graph.fresh.insert(place);
            graph.open.insert(place);
        }
        graph
    }

    fn place(&mut self, id: &str) -> Place {
        if let Some(place) = self.places.get(id) {
            return *place;
        }
        let (id, place): (Arc<str>, _) = (id.into(), self.spots.len());
        self.places.insert(id.clone(), place);
        self.spots.push(Spot {
            id,
            distance: None,
            node: None,
            known_to: Vec::new(),
            told: Vec::new(),
            next: Vec::new(),
        });
        place
    }

    /// Links to go from an id: none if it is too far, `Some(None)` for as far as it goes.
    pub(super) fn to_go(&self, place: Place) -> Option<Option<u32>> {
        let distance = self.spots[place].distance?;
        match self.depth {
            None => Some(None),
            Some(depth) => depth.checked_sub(distance).map(Some),
        }
    }

    /// Ids that the index was not asked for yet; they count as asked for.
    pub(super) fn take_fresh(&mut self) -> Vec<(Place, Arc<str>)> {
        let fresh = std::mem::take(&mut self.fresh);
        fresh
            .into_iter()
            .map(|place| (place, self.spots[place].id.clone()))
            .collect()
    }

    /// This site may know the id.
    pub(super) fn name(&mut self, place: Place, site: SiteNo) {
        if self.named >= MOST_NAMED {
            self.full
                .get_or_insert_with(|| format!("more than {MOST_NAMED} questions would be asked"));
            return;
        }
        let told = &mut self.spots[place].told;
        if let Err(at) = told.binary_search_by_key(&site, |(site, _)| *site) {
            told.insert(at, (site, Told::Nothing));
            self.named += 1;
        }
    }

    /// Whom to ask for what now, without those who are `gone`, and for `most` ids at once.
    pub(super) fn questions(
        &mut self,
        gone: impl Fn(SiteNo) -> bool,
        most: impl Fn(SiteNo) -> usize,
    ) -> BTreeMap<SiteNo, Starts> {
        let mut questions: BTreeMap<SiteNo, (Starts, usize)> = BTreeMap::new();
        let mut later = BTreeSet::new();
        for place in std::mem::take(&mut self.open) {
            let spot = &self.spots[place];
            let Some(to_go) = self.to_go(place) else {
                continue;
            };
            let needed = Told::needed(to_go);
            let lacking = spot.told.iter().filter(|(_, told)| *told < needed);
            for (site, _) in lacking.filter(|(site, _)| !gone(*site)) {
                let (question, bytes) = questions.entry(*site).or_default();
                if question.len() >= most(*site) || *bytes + spot.id.len() > MOST_ASKED_BYTES {
                    later.insert(place);
                    continue;
                }
                *bytes += spot.id.len();
                question.push(Start {
                    id: spot.id.to_string(),
                    depth: to_go,
                });
            }
        }
        self.open = later;
        let questions = questions.into_iter();
        questions.map(|(site, (ids, _))| (site, ids)).collect()
    }

    /// These were not asked for in the end: somebody still has to be.
    pub(super) fn ask_again(&mut self, left: &[Start]) {
        let places = left.iter().filter_map(|start| self.places.get(&*start.id));
        self.open.extend(places);
    }

    /// Takes an answer in.
    pub(super) fn take(&mut self, site: SiteNo, answer: Checked) -> Taken {
        let mut taken = Taken::default();
        let mut nearer = BinaryHeap::new();
        for link in answer.links {
            let (effect, cause) = (self.place(&link.effect), self.place(&link.cause));
            let key = (effect, link.relation, cause);
            let is_new = !self.links.contains_key(&key);
            if is_new && self.links.len() >= self.limit {
                let limit = self.limit;
                self.full
                    .get_or_insert_with(|| format!("there are more than {limit} links"));
                continue;
            }
            taken.links += u64::from(insert(self.links.entry(key).or_default(), site));
            // Whoever says so knows both.
            for place in [effect, cause] {
                taken.nodes += u64::from(self.know(place, site, None));
            }
            if is_new {
                let (here, there) = match link.from(&link.effect, self.direction).is_some() {
                    true => (effect, cause),
                    false => (cause, effect),
                };
                self.spots[here].next.push(there);
                if let Some(distance) = self.spots[here].distance {
                    nearer.push(Reverse((distance.saturating_add(1), there)));
                }
            }
        }
        self.bring_nearer(nearer);
        for node in answer.nodes {
            let place = self.place(&node.id);
            taken.nodes += u64::from(self.know(place, site, Some(node)));
        }
        for (id, told) in answer.reached {
            let place = self.place(&id);
            let all = &mut self.spots[place].told;
            match all.binary_search_by_key(&site, |(site, _)| *site) {
                Ok(at) => all[at].1 = all[at].1.max(told),
                Err(at) => {
                    all.insert(at, (site, told));
                    self.named += 1;
                }
            }
            // What it has left open it is asked for again.
            self.open.insert(place);
        }
        taken
    }

    /// A site knows this id; says whether that is new.
    fn know(&mut self, place: Place, site: SiteNo, said: Option<Node>) -> bool {
        let spot = &mut self.spots[place];
        let node = spot.node.get_or_insert_with(|| Node {
            id: spot.id.to_string(),
            ..Node::default()
        });
        if let Some(said) = said {
            node.merge(said);
        }
        insert(&mut spot.known_to, site)
    }

    /// Ids that are reached by a shorter way than before, and all behind them.
    fn bring_nearer(&mut self, mut nearer: BinaryHeap<Reverse<(u32, Place)>>) {
        while let Some(Reverse((distance, place))) = nearer.pop() {
            let spot = &mut self.spots[place];
            if spot.distance.is_some_and(|known| known <= distance) {
                continue;
            }
            if spot.distance.is_none() {
                self.fresh.insert(place);
            }
            spot.distance = Some(distance);
            self.open.insert(place);
            let next = spot.next.iter();
            nearer.extend(next.map(|next| Reverse((distance.saturating_add(1), *next))));
        }
    }

    /// Why it takes no more, if so.
    pub(super) fn full(&self) -> Option<&str> {
        self.full.as_deref()
    }

    /// Documents and events, the nearest first, and links, in order; with the names of sites.
    pub(super) fn finish(self, names: &[Arc<str>]) -> (Vec<TraceNode>, Vec<TraceLink>) {
        let told_by = |sites: &[SiteNo]| -> Vec<String> {
            let names = sites.iter().filter_map(|site| names.get(*site as usize));
            names.map(|name| name.to_string()).collect()
        };
        let text = |place: Place| self.spots[place].id.to_string();
        let mut links = Vec::with_capacity(self.links.len());
        for ((effect, relation, cause), sites) in &self.links {
            let link = Link {
                effect: text(*effect),
                relation: *relation,
                cause: text(*cause),
            };
            let here = match link.from(&link.effect, self.direction).is_some() {
                true => *effect,
                false => *cause,
            };
            // Only a link that was taken from beyond the depth would be none of these.
            let to_go = self.to_go(here);
            if to_go.is_some_and(|to_go| to_go != Some(0)) {
                links.push(TraceLink {
                    link,
                    sites: told_by(sites),
                });
            }
        }
        links.sort_unstable_by(|one, other| one.link.cmp(&other.link));
        let mut nodes = Vec::with_capacity(self.spots.len());
        for (place, spot) in self.spots.iter().enumerate() {
            if self.to_go(place).is_some()
                && let (Some(distance), Some(node)) = (spot.distance, &spot.node)
            {
                nodes.push(TraceNode {
                    node: node.clone(),
                    distance,
                    sites: told_by(&spot.known_to),
                });
            }
        }
        nodes.sort_unstable_by(|one: &TraceNode, other: &TraceNode| {
            (one.distance, &one.node.id).cmp(&(other.distance, &other.node.id))
        });
        (nodes, links)
    }
}

/// Puts a site in its place; says whether it was not there.
fn insert(sites: &mut Vec<SiteNo>, site: SiteNo) -> bool {
    let place = sites.binary_search(&site);
    if let Err(at) = place {
        sites.insert(at, site);
    }
    place.is_err()
}
