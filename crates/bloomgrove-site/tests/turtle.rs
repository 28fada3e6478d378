//! A trace as Turtle is what a site can take in: the same links between the same ids.

use std::collections::BTreeSet;

use bloomgrove_client::api::{Link, Node, Relation, Trace, TraceLink, TraceNode};
use bloomgrove_render as render;
use bloomgrove_site::id::id;
use bloomgrove_site::import::{Format, read};
use oxigraph::model::{NamedOrBlankNode, Term};
use proptest::prelude::*;

/// Links of a Turtle document, by their ids.
fn links(turtle: &str) -> BTreeSet<Link> {
    let triples =
        read(turtle.as_bytes(), Format::Turtle).unwrap_or_else(|e| panic!("{e}\n{turtle}"));
    let link = |triple: oxigraph::model::Triple| {
        let mut relations = Relation::ALL.into_iter();
        let relation = relations.find(|one| one.iri() == triple.predicate.as_str())?;
        let (NamedOrBlankNode::NamedNode(effect), Term::NamedNode(cause)) =
            (triple.subject, triple.object)
        else {
            return None;
        };
        Some(Link {
            effect: id(effect.as_ref()).into_owned(),
            relation,
            cause: id(cause.as_ref()).into_owned(),
        })
    };
    triples.into_iter().filter_map(link).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_told_is_what_is_read(
        ids in proptest::collection::vec("\\PC{1,20}|[a-z]{1,4}:[ -~]{0,12}|https?://[ -~]{1,12}", 2..6),
        pairs in proptest::collection::vec((0usize..6, 0usize..13, 0usize..6), 1..12),
        label in "\\PC{0,20}",
    ) {
        let wanted: BTreeSet<Link> = pairs
            .into_iter()
            .map(|(effect, relation, cause)| Link {
                effect: ids[effect % ids.len()].clone(),
                relation: Relation::ALL[relation],
                cause: ids[cause % ids.len()].clone(),
            })
            .collect();
        let node = |id: &String| TraceNode {
            node: Node { id: id.clone(), label: Some(label.clone()), ..Node::default() },
            distance: 0,
            sites: vec!["galway".into()],
        };
        let link = |link: &Link| TraceLink { link: link.clone(), sites: vec!["pu\nne".into()] };
        let trace = Trace {
            nodes: ids.iter().map(node).collect(),
            links: wanted.iter().map(link).collect(),
            ..Trace::default()
        };
        prop_assert_eq!(links(&render::turtle(&trace)), wanted);
    }
}
