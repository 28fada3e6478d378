//! Traces as drawings and as text for other tools: shown on the page, printed by the command line.
//!
//! | For | use |
//! |---|---|
//! | a drawing, for a browser or a report | [`svg`] |
//! | drawing it with Graphviz | [`dot`] |
//! | triples, for any tool that knows RDF and PROV-O | [`turtle`] |
//!
//! ```
//! use bloomgrove_client::api::{Node, Trace, TraceNode};
//! use bloomgrove_render as render;
//!
//! let node = Node { id: "report <1>".into(), ..Node::default() };
//! let trace = Trace {
//!     ids: vec![node.id.clone()],
//!     nodes: vec![TraceNode { node, distance: 0, sites: vec!["galway".into()] }],
//!     ..Trace::default()
//! };
//! assert!(render::svg(&trace).contains("report &lt;1&gt;"));
//! assert!(render::turtle(&trace).contains("<urn:x-bloomgrove:id:report%20%3C1%3E>"));
//! ```
//!
//! Ids, labels and names come from others, and are harmless in all three formats whatever they contain.
//!
//! | file | contents |
//! |---|---|
//! | `layout.rs`, `layout/walk.rs` | a layered drawing of any directed graph: cycles, levels, crossings, heights |
//! | `scene.rs` | what of a trace is drawn and where: documents, events, transfers below their documents |
//! | `svg.rs`, `svg/heading.rs` | the drawing, for files and for the page; the query, what is left out, the legend |
//! | `dot.rs`, `turtle.rs` | for Graphviz; as PROV-O |
//! | `text.rs` | texts from others: escaped, shortened, measured |

mod dot;
mod layout;
mod scene;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod turtle;

use std::collections::{BTreeSet, HashMap};

pub use dot::dot;

pub use svg::svg;
pub use turtle::turtle;

use bloomgrove_client::api::{Relation, Trace, TraceNode, is_event_kind};

/// What is known about the nodes of a trace once all its links have been read.
struct Known<'a> {
    /// The index of each id in the trace.
    index: HashMap<&'a str, usize>,
    /// Which nodes are events; the others are documents.
    event: Vec<bool>,
    /// Which nodes were traced.
    traced: Vec<bool>,
    /// The site that reports how each was made, otherwise the first that knows it.
    teller: Vec<Option<&'a str>>,
    /// All sites, by name.
    sites: Vec<&'a str>,
}

impl<'a> Known<'a> {
    fn new(trace: &'a Trace) -> Self {
        let mut index = HashMap::with_capacity(trace.nodes.len());
        for (at, one) in trace.nodes.iter().enumerate() {
            index.entry(one.node.id.as_str()).or_insert(at);
        }
        let mut event: Vec<bool> = trace.nodes.iter().map(named_event).collect();
        let mut traced = vec![false; trace.nodes.len()];
        for id in &trace.ids {
            mark(&mut traced, index.get(id.as_str()).copied());
        }
        let mut teller = vec![None; trace.nodes.len()];
        let mut sites: BTreeSet<&str> = BTreeSet::new();
        for one in &trace.links {
            use Relation::*;
            sites.extend(one.sites.iter().map(String::as_str));
            let effect = index.get(one.link.effect.as_str()).copied();
            let cause = index.get(one.link.cause.as_str()).copied();
            match one.link.relation {
                Used | StartedBy | EndedBy => mark(&mut event, effect),
                GeneratedBy | TransferredBy => mark(&mut event, cause),
                InformedBy => {
                    mark(&mut event, effect);
                    mark(&mut event, cause);
                }
                _ => {}
            }
            if one.link.relation != TransferredBy
                && let Some(effect) = effect
                && teller[effect].is_none()
            {
                teller[effect] = one.sites.first().map(String::as_str);
            }
        }
        for (one, teller) in trace.nodes.iter().zip(&mut teller) {
            sites.extend(one.sites.iter().map(String::as_str));
            *teller = teller.or(one.sites.first().map(String::as_str));
        }
        Self {
            index,
            event,
            traced,
            teller,
            sites: sites.into_iter().collect(),
        }
    }
}

fn mark(nodes: &mut [bool], at: Option<usize>) {
    if let Some(at) = at {
        nodes[at] = true;
    }
}

fn named_event(one: &TraceNode) -> bool {
    let kind = one.node.kind.as_deref().unwrap_or("");
    kind == "Activity" || is_event_kind(kind)
}
