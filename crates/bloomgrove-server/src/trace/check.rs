//! What a site has told, as far as it was asked: read within bounds, and walked from the ids asked for.
//!
//! A site is not trusted further than that it speaks of what it was asked about. What its links do not lead to
//! is dropped and counted; what is longer, or more, than a site may tell makes the whole answer bad.

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::fmt;
use std::marker::PhantomData;

use bloomgrove_client::api::{Direction, LONGEST_ENCRYPTED_ID, Link, MOST_LINKS, Node, Start};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};

/// All ends of all links, and all ids asked for.
const MOST_NODES: usize = 3 * MOST_LINKS as usize;

/// What a site has told of an id; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    Nothing,
    /// What is said of the id itself.
    Itself,
    /// And all its links.
    Links,
}

impl Told {
    /// What must be told of an id from which there are so many links to go.
    pub(super) fn needed(to_go: Option<u32>) -> Self {
        match to_go {
            Some(0) => Self::Itself,
            _ => Self::Links,
        }
    }
}

/// An answer that was read.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    #[serde(deserialize_with = "up_to::<_, _, { MOST_LINKS as usize }>")]
    links: Vec<Link>,
    #[serde(deserialize_with = "up_to::<_, _, MOST_NODES>")]
    nodes: Vec<Node>,
    #[serde(default, deserialize_with = "up_to::<_, _, MOST_NODES>")]
    open: Vec<String>,
}

/// An answer, as far as it was asked for.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) links: Vec<Link>,
    pub(super) nodes: Vec<Node>,
    /// All ids asked for and reached, and what is told of each.
    pub(super) reached: Vec<(String, Told)>,
    /// Ids with more links than fit into an answer.
    pub(super) cut: Vec<String>,
    /// Links that nobody asked for.
    pub(super) dropped: u64,
    /// Whether the site knew nothing of it.
    pub(super) empty_answers: bool,
}

impl Checked {
    /// Ids with more links than fit are to be asked for again.
    pub(super) fn leave_cut_open(&mut self) {
        let cut: HashSet<String> = self.cut.drain(..).collect();
        for (id, told) in &mut self.reached {
            if cut.contains(id) {
                *told = Told::Itself;
            }
        }
    }
}

/// The answer in these bytes to this question.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check(
    bytes: &[u8],
    question: &[Start],
    direction: Direction,
) -> Result<Checked, String> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| {
        // Not what it says: that may be of a server that is no site at all.
        match error.to_string().contains(TOO_MANY) {
            true => format!("it told more links than it was asked for ({MOST_LINKS} at most)"),
            false => "its answer is none that a site gives".to_owned(),
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
                "it told an id of {} bytes, and an id has 1 to {LONGEST_ENCRYPTED_ID}",
                id.len()
            ));
        }
    }
    walk(answer, question, direction)
}

/// Links to go, so that more is further.
fn reach(depth: Option<u32>) -> u64 {
    depth.map_or(u64::MAX, u64::from)
}

fn walk(answer: Answer, question: &[Start], direction: Direction) -> Result<Checked, String> {
    let empty_answers = answer.links.is_empty() && answer.nodes.is_empty();
    let mut leaving: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, link) in answer.links.iter().enumerate() {
        let here = match link.from(&link.effect, direction) {
            Some(_) => &link.effect,
            None => &link.cause,
        };
        leaving.entry(here).or_default().push(at);
    }
    let mut to_go: HashMap<&str, u64> = HashMap::new();
    let mut asked: HashSet<&str> = HashSet::new();
    let mut ahead: BinaryHeap<(u64, &str)> = BinaryHeap::new();
    for start in question {
        asked.insert(&start.id);
        ahead.push((reach(start.depth), &start.id));
    }
    let mut told = vec![false; answer.links.len()];
    // The furthest first, so that each id is left once.
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
        let was_asked = asked.contains(id);
        let is_open = left > 0 && open.contains(id);
        let is_cut = is_open && was_asked && leaving.contains_key(id);
        if is_cut {
            cut.push(id.to_owned());
        }
        let is_told = match (left, is_open && !is_cut) {
            (0, _) | (_, true) => Told::Itself,
            _ => Told::Links,
        };
        is_progress |= was_asked && (left == 0 || is_told == Told::Links);
        reached.push((id.to_owned(), is_told));
    }
    if !is_progress {
        return Err("it leaves open all that it was asked for".into());
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
        empty_answers,
    })
}

const TOO_MANY: &str = "too many";

/// A list of at most so many: few bytes of JSON can stand for much memory.
fn up_to<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MOST: usize>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    struct UpTo<T, const MOST: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for UpTo<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST}")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(next) = from.next_element()? {
                if list.len() == MOST {
                    return Err(A::Error::custom(TOO_MANY));
                }
                list.push(next);
            }
            Ok(list)
        }
    }

    from.deserialize_seq(UpTo::<T, MOST>(PhantomData))
}
