//! What of a trace is drawn, and where: between the trace and the SVG.
//!
//! ```text
//!   (A created)----[A| offer 12      ]----(B bundled)      documents are boxes, events are pills
//!                  [ | galway +1     ]
//!                   |- (A ↗ sent to pune)                  transfers hang below their document:
//!                   `- (B ↙ received from galway)          they are not followed further
//! ```
//!
//! Causes are on the left, effects on the right, in both directions of a trace.

use std::collections::HashMap;

use super::layout::{Block, Point, Tie, Way, place};
use super::{Known, text};
use bloomgrove_client::api::{Direction, Relation, Trace, TraceLink};

/// Maximum number of nodes drawn: of a larger trace, the nearest.
pub(super) const MOST_NODES: usize = 400;
/// Maximum number of edges drawn.
pub(super) const MOST_EDGES: usize = 2_000;
/// Maximum number of edges up to which they are labelled.
const MOST_LABELLED: usize = 100;

/// Font sizes: for names, for notes, for labels.
pub(super) const LARGE: f64 = 12.5;
pub(super) const SMALL: f64 = 10.5;
pub(super) const TINY: f64 = 9.5;
/// The width of the part of a document's box that shows its site.
pub(super) const BAND: f64 = 24.0;
/// How far a transfer is indented from its document.
pub(super) const INDENT: f64 = 16.0;
const PAD: f64 = 9.0;
const DOCUMENT: f64 = 44.0;
const EVENT: f64 = 28.0;
pub(super) const CHIP: f64 = 22.0;
const CHIP_GAP: f64 = 6.0;
const NARROWEST: f64 = 120.0;
const WIDEST: f64 = 230.0;
const WIDEST_TRANSFER: f64 = 270.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Document,
    Event,
    /// The event of sending or receiving a document.
    Transfer,
}

/// A document or an event as it is drawn.
pub(super) struct DrawnNode {
    /// Its index in the trace.
    pub(super) node: usize,
    pub(super) form: Form,
    /// The upper left corner.
    pub(super) at: Point,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Its name, and a note in smaller letters.
    pub(super) name: String,
    pub(super) note: String,
}

/// All links between two nodes, drawn as one line.
pub(super) struct Edge<'a> {
    pub(super) cause: usize,
    pub(super) effect: usize,
    pub(super) links: Vec<&'a TraceLink>,
    /// Its label, if it is not obvious and there is room.
    pub(super) label: String,
    /// From the cause to the effect.
    pub(super) points: Vec<Point>,
}

impl Edge<'_> {
    /// Whether all its links are transfers.
    pub(super) fn is_transfer(&self) -> bool {
        let mut links = self.links.iter();
        links.all(|one| one.link.relation == Relation::TransferredBy)
    }
}

pub(super) struct Scene<'a> {
    pub(super) nodes: Vec<DrawnNode>,
    pub(super) edges: Vec<Edge<'a>>,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Number of nodes, and of edges between drawn nodes, that are left out.
    pub(super) nodes_left_out: usize,
    pub(super) edges_left_out: usize,
}

impl<'a> Scene<'a> {
    pub(super) fn new(trace: &'a Trace, known: &Known<'_>) -> Self {
        let nearest = nearest(trace, known);
        let drawn: HashMap<usize, usize> = nearest
            .iter()
            .enumerate()
            .map(|(at, &node)| (node, at))
            .collect();
        let (mut edges, edges_left_out) = edges(trace, known, &drawn);
        let form = forms(known, &nearest, &edges);
        // The document that each transfer is drawn below: the nearest that it concerns.
        let mut hangs: Vec<Option<usize>> = vec![None; nearest.len()];
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); nearest.len()];
        for edge in &edges {
            if form[edge.cause] == Form::Transfer {
                let holder = hangs[edge.cause].get_or_insert(edge.effect);
                *holder = edge.effect.min(*holder);
            }
        }
        for (transfer, holder) in hangs.iter().enumerate() {
            if let Some(holder) = *holder {
                below[holder].push(transfer);
            }
        }
        // In chronological order.
        for transfers in &mut below {
            transfers.sort_by_key(|&one| trace.nodes[nearest[one]].node.time.as_deref());
        }
        let mut nodes: Vec<DrawnNode> = nearest
            .iter()
            .zip(&form)
            .map(|(&node, &form)| drawn_node(trace, known, node, form))
            .collect();
        let roots: Vec<usize> = (0..nodes.len()).filter(|&at| hangs[at].is_none()).collect();
        let mut block_of = vec![usize::MAX; nodes.len()];
        for (block, &root) in roots.iter().enumerate() {
            block_of[root] = block;
            for &transfer in &below[root] {
                block_of[transfer] = block;
            }
        }
        let blocks: Vec<Block> = roots
            .iter()
            .map(|&root| block(&nodes, root, &below))
            .collect();
        // Away from the ids traced, since levels are counted from there.
        let away = |edge: &Edge<'_>| match trace.direction {
            Direction::Ancestors => (edge.effect, edge.cause),
            Direction::Descendants if edge.is_transfer() => (edge.effect, edge.cause),
            Direction::Descendants => (edge.cause, edge.effect),
        };
        let laid: Vec<usize> = (0..edges.len())
            .filter(|&at| form[edges[at].cause] != Form::Transfer)
            .collect();
        let ties: Vec<Tie> = laid
            .iter()
            .map(|&at| {
                let (near, far) = away(&edges[at]);
                Tie {
                    from: block_of[near],
                    to: block_of[far],
                    room: text::width(&edges[at].label, TINY) + 24.0,
                }
            })
            .collect();
        let starts: Vec<usize> = (0..nodes.len())
            .filter(|&at| known.traced[nearest[at]])
            .map(|at| block_of[at])
            .collect();
        let way = match trace.direction {
            Direction::Ancestors => Way::Left,
            Direction::Descendants => Way::Right,
        };
        let placed = place(&blocks, &ties, &starts, way);
        for (&root, corner) in roots.iter().zip(&placed.corners) {
            nodes[root].at = *corner;
            let mut y = corner.y + nodes[root].height + CHIP_GAP;
            for &transfer in &below[root] {
                nodes[transfer].at = Point {
                    x: corner.x + INDENT,
                    y,
                };
                y += CHIP + CHIP_GAP;
            }
        }
        for (&at, route) in laid.iter().zip(placed.routes) {
            let from_effect = away(&edges[at]).0 == edges[at].effect;
            edges[at].points = route;
            if from_effect {
                edges[at].points.reverse();
            }
        }
        for edge in &mut edges {
            if form[edge.cause] == Form::Transfer && hangs[edge.cause] != Some(edge.effect) {
                edge.points = across(&nodes[edge.cause], &nodes[edge.effect]);
            }
        }
        Self {
            nodes_left_out: trace.nodes.len() - nodes.len(),
            nodes,
            edges,
            width: placed.width,
            height: placed.height,
            edges_left_out,
        }
    }
}

/// The nodes to draw, nearest first.
fn nearest(trace: &Trace, known: &Known<'_>) -> Vec<usize> {
    let mut all: Vec<usize> = (0..trace.nodes.len())
        // Of two with the same id, the first: there should not be two, but this does not rely on it.
        .filter(|&at| known.index.get(trace.nodes[at].node.id.as_str()) == Some(&at))
        .collect();
    all.sort_by_key(|&at| (!known.traced[at], trace.nodes[at].distance));
    all.truncate(MOST_NODES);
    all
}

/// One edge for each pair of nodes with links between them, and the number of edges left out.
fn edges<'a>(
    trace: &'a Trace,
    known: &Known<'_>,
    drawn: &HashMap<usize, usize>,
) -> (Vec<Edge<'a>>, usize) {
    let end = |id: &str| {
        known
            .index
            .get(id)
            .and_then(|node| drawn.get(node))
            .copied()
    };
    let mut pairs: HashMap<(usize, usize), usize> = HashMap::new();
    let mut edges: Vec<Edge<'a>> = Vec::new();
    for link in &trace.links {
        let (Some(effect), Some(cause)) = (end(&link.link.effect), end(&link.link.cause)) else {
            continue;
        };
        let at = *pairs.entry((effect, cause)).or_insert_with(|| {
            edges.push(Edge {
                cause,
                effect,
                links: Vec::new(),
                label: String::new(),
                points: Vec::new(),
            });
            edges.len() - 1
        });
        edges[at].links.push(link);
    }
    // Nearest first here, too; a fixed order, whatever the order of the links.
    edges.sort_by_key(|edge| (edge.effect.max(edge.cause), edge.effect.min(edge.cause)));
    let left_out = edges.len().saturating_sub(MOST_EDGES);
    edges.truncate(MOST_EDGES);
    if edges.len() <= MOST_LABELLED {
        for edge in &mut edges {
            edge.label = label(&edge.links);
        }
    }
    (edges, left_out)
}

/// The label of links that are not only those of events.
fn label(links: &[&TraceLink]) -> String {
    use Relation::{GeneratedBy, TransferredBy, Used};
    let mut words: Vec<&str> = links
        .iter()
        .map(|one| one.link.relation)
        .filter(|relation| !matches!(relation, GeneratedBy | TransferredBy | Used))
        .map(Relation::words)
        .collect();
    words.dedup();
    match words.len() {
        0 | 1 => words.concat(),
        more => format!("{} +{}", words[0], more - 1),
    }
}

/// Documents, events, and events that only transfer.
fn forms(known: &Known<'_>, nearest: &[usize], edges: &[Edge<'_>]) -> Vec<Form> {
    let mut transfers = vec![None; nearest.len()];
    for edge in edges {
        let only = edge.is_transfer() && edge.cause != edge.effect;
        let cause = &mut transfers[edge.cause];
        *cause = Some(cause.unwrap_or(true) && only);
        transfers[edge.effect] = Some(false);
    }
    nearest
        .iter()
        .zip(transfers)
        .map(|(&node, transfer)| match (known.event[node], transfer) {
            // The ids traced are drawn separately.
            (true, Some(true)) if !known.traced[node] => Form::Transfer,
            (true, _) => Form::Event,
            (false, _) => Form::Document,
        })
        .collect()
}

/// The texts of a node, and its size.
fn drawn_node(trace: &Trace, known: &Known<'_>, at: usize, form: Form) -> DrawnNode {
    let node = &trace.nodes[at].node;
    let day = node
        .time
        .as_deref()
        .map(|time| text::seen(time.split('T').next().unwrap_or(time)));
    let kind = node.kind.as_deref().filter(|&kind| kind != "Activity");
    let own = node.label.as_deref().unwrap_or(&node.id);
    let (name, mut note) = match (form, kind) {
        (Form::Transfer, Some(kind)) => {
            let (arrow, other) = match kind {
                "sent" => ("↗ ", " to "),
                "received" => ("↙ ", " from "),
                _ => ("", ", "),
            };
            let peer = node
                .peer
                .as_deref()
                .map(|peer| format!("{other}{}", text::seen(peer)));
            (
                format!("{arrow}{kind}{}", peer.unwrap_or_default()),
                String::new(),
            )
        }
        (Form::Event, Some(kind)) => (kind.to_owned(), String::new()),
        (Form::Document, _) => {
            let others = trace.nodes[at].sites.len().saturating_sub(1);
            let count = if others > 0 {
                format!(" +{others}")
            } else {
                String::new()
            };
            let site = known.teller[at].map(|site| text::shorten(&text::seen(site), 90.0, SMALL));
            (own.to_owned(), site.unwrap_or_default() + &count)
        }
        _ => (own.to_owned(), String::new()),
    };
    if let Some(day) = day {
        let dot = if note.is_empty() { "" } else { " · " };
        note = format!("{note}{dot}{}", text::shorten(&day, 80.0, SMALL));
    }
    let size = if form == Form::Transfer { SMALL } else { LARGE };
    let widest = if form == Form::Transfer {
        WIDEST_TRANSFER
    } else {
        WIDEST
    };
    let room = widest - BAND - 2.0 * PAD;
    let note = text::shorten(&note, room, SMALL);
    let beside = match form {
        Form::Document => 0.0,
        _ if note.is_empty() => 0.0,
        _ => text::width(&note, SMALL) + 6.0,
    };
    let name = text::shorten(&text::seen(&name), room - beside, size);
    let written = match form {
        Form::Document => text::width(&name, size).max(text::width(&note, SMALL)),
        _ => text::width(&name, size) + beside,
    };
    let width = BAND + 2.0 * PAD + written;
    DrawnNode {
        node: at,
        form,
        at: Point { x: 0.0, y: 0.0 },
        width: match form {
            Form::Document => width.max(NARROWEST),
            _ => width,
        },
        height: match form {
            Form::Document => DOCUMENT,
            Form::Event => EVENT,
            Form::Transfer => CHIP,
        },
        name,
        note,
    }
}

/// A node with the transfers below it.
fn block(nodes: &[DrawnNode], root: usize, below: &[Vec<usize>]) -> Block {
    let own = &nodes[root];
    let under = below[root].iter().map(|&one| INDENT + nodes[one].width);
    Block {
        width: under.fold(own.width, f64::max),
        face: own.width,
        height: own.height + below[root].len() as f64 * (CHIP + CHIP_GAP),
        port: own.height / 2.0,
    }
}

/// From a transfer to another document that was part of it.
fn across(transfer: &DrawnNode, document: &DrawnNode) -> Vec<Point> {
    let to_right = document.at.x >= transfer.at.x;
    let middle = |node: &DrawnNode, right: bool| Point {
        x: node.at.x + if right { node.width } else { 0.0 },
        y: node.at.y + node.height / 2.0,
    };
    vec![middle(transfer, to_right), middle(document, !to_right)]
}
