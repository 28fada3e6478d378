//! Checks the answer of a site: parses it within limits, and walks it from the ids in the query.
//!
//! A site is trusted only for what it was queried about. Links that cannot be reached are dropped and counted; an answer that
//! contains more or longer values than allowed is rejected as a whole.

use std::collections::{BinaryHeap, HashMap, HashSet};

use bloomgrove_client::api::list::{TOO_LONG, at_most};
use bloomgrove_client::api::{Direction, LONGEST_ENCRYPTED_ID, Link, MOST_LINKS, Node, Start};
use serde::Deserialize;

/// All ends of all links, and all ids in the query.
const MOST_NODES: usize = 3 * MOST_LINKS as usize;

/// What a site has returned about an id; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    Nothing,
    /// Its description.
    Itself,
    /// Also all its links.
    Links,
}

impl Told {
    /// What is needed of an id with this many links to go.
    pub(super) fn needed(to_go: Option<u32>) -> Self {
        match to_go {
            Some(0) => Self::Itself,
            _ => Self::Links,
        }
    }
}

/// A parsed answer.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    #[serde(deserialize_with = "at_most::<{ MOST_LINKS as usize }, _, _>")]
    links: Vec<Link>,
    #[serde(deserialize_with = "at_most::<MOST_NODES, _, _>")]
    nodes: Vec<Node>,
    #[serde(default, deserialize_with = "at_most::<MOST_NODES, _, _>")]
    open: Vec<String>,
}

/// The part of an answer that was queried.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) links: Vec<Link>,
    pub(super) nodes: Vec<Node>,
    /// All ids that were queried or reached, and what was returned about each.
    pub(super) reached: Vec<(String, Told)>,
    /// Ids with more links than fit into an answer.
    pub(super) cut: Vec<String>,
    /// Number of links that were not queried.
    pub(super) dropped: u64,
    /// Whether the answer was empty.
    pub(super) is_empty: bool,
}

impl Checked {
    /// Ids with more links than fit have to be queried again.
    pub(super) fn leave_cut_open(&mut self) {
        let cut: HashSet<String> = self.cut.drain(..).collect();
        for (id, told) in &mut self.reached {
            if cut.contains(id) {
                *told = Told::Itself;
            }
        }
    }
}

/// The answer in these bytes to a query for these ids.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check(
    bytes: &[u8],
    starts: &[Start],
    direction: Direction,
) -> Result<Checked, String> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| {
        // Without quoting it: it may come from a server that is not a site.
        match error.to_string().starts_with(TOO_LONG) {
            true => format!("it returned more links than requested (the maximum is {MOST_LINKS})"),
            false => "its response is not that of a site".to_owned(),
        }
    })?;
    let ends = answer
        .links
        .iter()
        .flat_map(|link| [&link.effect, &link.cause]);
    let ids = ends
        .chain(answer.nodes.iter().map(|node| &node.id))
        .chain(&answer.open);
    for id in ids {
        if id.is_empty() || id.len() > LONGEST_ENCRYPTED_ID {
            return Err(format!(
                "it returned an id of {} bytes; an id has 1 to {LONGEST_ENCRYPTED_ID} bytes",
                id.len()
            ));
        }
    }
    walk(answer, starts, direction)
}

/// Links to go as a number, so that unlimited is the largest.
fn reach(depth: Option<u32>) -> u64 {
    depth.map_or(u64::MAX, u64::from)
}

fn walk(answer: Answer, starts: &[Start], direction: Direction) -> Result<Checked, String> {
    let is_empty = answer.links.is_empty() && answer.nodes.is_empty();
    let mut leaving: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, link) in answer.links.iter().enumerate() {
        let here = match link.from(&link.effect, direction) {
            Some(_) => &link.effect,
            None => &link.cause,
        };
        leaving.entry(here).or_default().push(at);
    }
    let mut to_go: HashMap<&str, u64> = HashMap::new();
    let mut queried: HashSet<&str> = HashSet::new();
    let mut ahead: BinaryHeap<(u64, &str)> = BinaryHeap::new();
    for start in starts {
        queried.insert(&start.id);
        ahead.push((reach(start.depth), &start.id));
    }
    let mut told = vec![false; answer.links.len()];
    // Those with most links to go first, so that each id is left once.
    while let Some((left, id)) = ahead.pop() {
        if to_go.contains_key(id) {
            continue;
        }
        to_go.insert(id, left);
        if left == 0 {
            continue;
        }
        for &at in leaving.get(id).into_iter().flatten() {
            told[at] = true;
            if let Some(there) = answer.links[at].from(id, direction) {
                let left = if left == u64::MAX { left } else { left - 1 };
                ahead.push((left, there));
            }
        }
    }
    let open: HashSet<&str> = answer.open.iter().map(String::as_str).collect();
    let (mut reached, mut cut) = (Vec::with_capacity(to_go.len()), Vec::new());
    let mut is_progress = false;
    for (&id, &left) in &to_go {
        let was_queried = queried.contains(id);
        let is_open = left > 0 && open.contains(id);
        let is_cut = is_open && was_queried && leaving.contains_key(id);
        if is_cut {
            cut.push(id.to_owned());
        }
        let is_told = match (left, is_open && !is_cut) {
            (0, _) | (_, true) => Told::Itself,
            _ => Told::Links,
        };
        is_progress |= was_queried && (left == 0 || is_told == Told::Links);
        reached.push((id.to_owned(), is_told));
    }
    if !is_progress {
        return Err("its response makes no progress on any of the ids".into());
    }
    let nodes = answer.nodes.iter();
    let nodes = nodes.filter(|node| to_go.contains_key(node.id.as_str()));
    let nodes = nodes.cloned().collect();
    let mut links = answer.links;
    let dropped = told.iter().filter(|told| !**told).count() as u64;
    let mut told = told.into_iter();
    links.retain(|_| told.next().unwrap_or_default());
    cut.sort_unstable();
    Ok(Checked {
        links,
        nodes,
        reached,
        cut,
        dropped,
        is_empty,
    })
}
