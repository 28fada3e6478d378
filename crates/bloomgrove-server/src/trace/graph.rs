//! The graph of a trace, merged from the answers of all sites.
//!
//! ```text
//!   id -> distance          links from the nearest of the ids traced
//!         node, sites       its description, and which sites know it
//!         told by a site    nothing yet < itself < its links, too
//!   link -> sites that report it
//! ```
//!
//! An id at distance `d` in a trace of depth `D` has `D - d` links to go. Each site that may know it must return its
//! description, and its links if there is at least one to go. That alone makes the result exact, whatever the sites returned
//! on the way: when there is nothing left to query, every site has returned everything within the depth. An id that is
//! found nearer than before is processed again.
//!
//! Cost: merging an answer takes time about linear in its size, plus what it brings nearer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;

use bloomgrove_client::api::{Direction, Link, Node, Relation, Start, TraceLink, TraceNode};

use super::check::{Checked, Told};

/// The index of an id in the graph.
pub(super) type Place = usize;
/// The index of a site in the list of sites, which is sorted by name.
pub(super) type SiteNo = u32;

/// Maximum number of pairs of an id and a site that may know it, of a few bytes each.
const MOST_NAMED: usize = 4_000_000;
/// Maximum number of ids of one query, as sites accept them, and of their bytes.
pub(super) const MOST_QUERIED: usize = 10_000;
const MOST_QUERIED_BYTES: usize = 4 << 20;

/// The ids to query one site for.
pub(super) type Starts = Vec<Start>;

#[derive(Debug)]
struct Spot {
    id: Arc<str>,
    /// None until a link leads there.
    distance: Option<u32>,
    node: Option<Node>,
    /// Sites that know it, in order.
    known_to: Vec<SiteNo>,
    /// Sites that may know it, in order, and what each has returned.
    told: Vec<(SiteNo, Told)>,
    /// Where its links lead.
    next: Vec<Place>,
}

#[derive(Debug)]
pub(super) struct Graph {
    direction: Direction,
    depth: Option<u32>,
    /// Maximum number of links.
    limit: usize,
    places: HashMap<Arc<str>, Place>,
    spots: Vec<Spot>,
    links: HashMap<(Place, Relation, Place), Vec<SiteNo>>,
    /// Ids that were reached but not yet looked up in the index.
    fresh: BTreeSet<Place>,
    /// Ids to process: sites may have to be queried for them.
    open: BTreeSet<Place>,
    named: usize,
    /// Why the graph is full.
    full: Option<String>,
}

/// What an answer added.
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

    /// Links to go from an id: none if it is too far away, `Some(None)` if unlimited.
    pub(super) fn to_go(&self, place: Place) -> Option<Option<u32>> {
        let distance = self.spots[place].distance?;
        match self.depth {
            None => Some(None),
            Some(depth) => depth.checked_sub(distance).map(Some),
        }
    }

    /// Ids that were not looked up in the index yet; from now on they count as looked up.
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
            self.full.get_or_insert_with(|| {
                format!("more than {MOST_NAMED} ids would have to be queried")
            });
            return;
        }
        let told = &mut self.spots[place].told;
        if let Err(at) = told.binary_search_by_key(&site, |(site, _)| *site) {
            told.insert(at, (site, Told::Nothing));
            self.named += 1;
        }
    }

    /// Which sites to query for what now, except those that are `gone`, with at most `most` ids each.
    pub(super) fn queries(
        &mut self,
        gone: impl Fn(SiteNo) -> bool,
        most: impl Fn(SiteNo) -> usize,
    ) -> BTreeMap<SiteNo, Starts> {
        let mut queries: BTreeMap<SiteNo, (Starts, usize)> = BTreeMap::new();
        let mut later = BTreeSet::new();
        for place in std::mem::take(&mut self.open) {
            let spot = &self.spots[place];
            let Some(to_go) = self.to_go(place) else {
                continue;
            };
            let needed = Told::needed(to_go);
            let lacking = spot.told.iter().filter(|(_, told)| *told < needed);
            for (site, _) in lacking.filter(|(site, _)| !gone(*site)) {
                let (starts, bytes) = queries.entry(*site).or_default();
                if starts.len() >= most(*site) || *bytes + spot.id.len() > MOST_QUERIED_BYTES {
                    later.insert(place);
                    continue;
                }
                *bytes += spot.id.len();
                starts.push(Start {
                    id: spot.id.to_string(),
                    depth: to_go,
                });
            }
        }
        self.open = later;
        let queries = queries.into_iter();
        queries.map(|(site, (ids, _))| (site, ids)).collect()
    }

    /// These ids were not queried after all, and still have to be.
    pub(super) fn query_again(&mut self, left: &[Start]) {
        let places = left.iter().filter_map(|start| self.places.get(&*start.id));
        self.open.extend(places);
    }

    /// Merges an answer.
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
            // A site that reports a link knows both of its ends.
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
            // What it has left open is queried again.
            self.open.insert(place);
        }
        taken
    }

    /// A site knows this id; returns whether that is new.
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

    /// Updates ids that are reached on a shorter path than before, and all after them.
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

    /// Why the graph is full, if it is.
    pub(super) fn full(&self) -> Option<&str> {
        self.full.as_deref()
    }

    /// Documents and events, nearest first, and links, sorted; with the names of sites.
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
            // Only a link from beyond the depth would be missing here.
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

/// Inserts a site in order; returns whether it was new.
fn insert(sites: &mut Vec<SiteNo>, site: SiteNo) -> bool {
    let place = sites.binary_search(&site);
    if let Err(at) = place {
        sites.insert(at, site);
    }
    place.is_err()
}
