use std::collections::BTreeSet;

use bloomgrove_client::api::Start;
use oxigraph::model::{Literal, NamedNodeRef};
use oxigraph::sparql::{QueryResults, SparqlEvaluator};
use proptest::prelude::*;

use super::*;

type Edge = (u8, u8, u8);

fn name(number: u8) -> String {
    // Some of them are not IRIs.
    match number % 2 {
        0 => format!("urn:d:{number}"),
        _ => format!("doc {number}"),
    }
}

fn node(text: &str) -> NamedNode {
    id::iri(text).unwrap()
}

fn triple(effect: &str, relation: Relation, cause: &str) -> Triple {
    let property = NamedNodeRef::new_unchecked(relation.iri());
    Triple::new(node(effect), property, node(cause))
}

fn said(id: &str, property: NamedNodeRef<'_>, object: impl Into<Term>) -> Triple {
    Triple::new(node(id), property, object)
}

fn store_of(triples: Vec<Triple>) -> Store {
    let store = Store::new().unwrap();
    store.add(triples).unwrap();
    store
}

fn graph(edges: &[Edge]) -> (Store, Vec<Link>) {
    let relations = Relation::ALL;
    let links: Vec<Link> = edges
        .iter()
        .map(|(effect, relation, cause)| Link {
            effect: name(*effect),
            relation: relations[*relation as usize % relations.len()],
            cause: name(*cause),
        })
        .collect();
    let triples = links
        .iter()
        .map(|l| triple(&l.effect, l.relation, &l.cause));
    (store_of(triples.collect()), links)
}

fn ask(store: &Store, ids: &[(String, Option<u32>)], direction: Direction, links: u64) -> Lineage {
    let start = |(id, depth): &(String, Option<u32>)| Start {
        id: id.clone(),
        depth: *depth,
    };
    let question = LineageQuery {
        ids: ids.iter().map(start).collect(),
        direction,
        links: Some(links),
    };
    lineage(store, &question, None)
}

/// Each id at each distance, one link at a time, until nothing changes.
fn naive(
    all: &[Link],
    ids: &[(String, Option<u32>)],
    direction: Direction,
) -> (BTreeSet<Link>, BTreeSet<String>) {
    let ends = |id: &str| all.iter().any(|link| link.effect == id || link.cause == id);
    let mut states: BTreeSet<(String, u32)> = BTreeSet::new();
    for (id, depth) in ids {
        // No path without a repetition is longer.
        states.insert((id.clone(), depth.unwrap_or(1000)));
    }
    let mut links = BTreeSet::new();
    loop {
        let mut more = states.clone();
        for (id, left) in states.iter().filter(|(_, left)| *left > 0) {
            for link in all {
                if let Some(there) = link.from(id, direction) {
                    links.insert(link.clone());
                    // Those with a limit of 1000 never reach it.
                    let left = if *left > 500 { *left } else { left - 1 };
                    more.insert((there.to_owned(), left));
                }
            }
        }
        if more == states {
            break;
        }
        states = more;
    }
    let reached = states.into_iter().map(|(id, _)| id).filter(|id| ends(id));
    (links, reached.collect())
}

fn directions() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Ancestors), Just(Direction::Descendants)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn it_is_what_following_each_link_finds(
        edges in prop::collection::vec((0u8..12, 0u8..13, 0u8..12), 0..40),
        ids in prop::collection::vec((0u8..14, prop::option::of(0u32..5)), 0..5),
        direction in directions(),
    ) {
        let (store, links) = graph(&edges);
        let ids: Vec<_> = ids.iter().map(|(id, depth)| (name(*id), *depth)).collect();
        let found = ask(&store, &ids, direction, MOST_LINKS);
        let (wanted, reached) = naive(&links, &ids, direction);
        prop_assert!(found.links.is_sorted());
        prop_assert!(found.open.is_empty());
        prop_assert_eq!(found.links, wanted.into_iter().collect::<Vec<_>>());
        let nodes: Vec<String> = found.nodes.into_iter().map(|node| node.id).collect();
        prop_assert_eq!(nodes, reached.into_iter().collect::<Vec<_>>());
    }

    /// Repeating the query for what is open yields everything, in answers no larger than allowed.
    #[test]
    fn what_is_open_leads_to_the_rest(
        edges in prop::collection::vec((0u8..12, 0u8..13, 0u8..12), 0..40),
        ids in prop::collection::vec(0u8..14, 1..5),
        direction in directions(),
        limit in 1u64..12,
    ) {
        let (store, all) = graph(&edges);
        let ids: Vec<_> = ids.iter().map(|id| (name(*id), None)).collect();
        let (wanted, reached) = naive(&all, &ids, direction);
        let (mut links, mut nodes) = (BTreeSet::new(), BTreeSet::new());
        let mut asked: Vec<(String, Option<u32>)> = ids.clone();
        let (mut too_many, mut done) = (BTreeSet::new(), BTreeSet::new());
        let mut rounds = 0;
        while !asked.is_empty() {
            rounds += 1;
            prop_assert!(rounds < 100, "it does not end");
            let found = ask(&store, &asked, direction, limit);
            prop_assert!(found.links.len() as u64 <= limit);
            prop_assert!(found.open.is_sorted());
            let first = asked.iter().find(|(id, _)| found.nodes.iter().any(|n| n.id == *id));
            if let Some((first, _)) = first && found.open.contains(first) {
                // The first is open only if it has more links than fit, and then the answer is full.
                let own = all.iter().filter(|link| link.from(first, direction).is_some());
                let own: BTreeSet<Link> = own.cloned().collect();
                prop_assert!(own.len() as u64 > limit);
                let wanted: Vec<Link> = own.into_iter().take(limit as usize).collect();
                prop_assert_eq!(&found.links, &wanted);
                too_many.insert(first.clone());
            }
            // All links of an id or none.
            for link in &found.links {
                let here = if link.from(&link.effect, direction).is_some() { &link.effect } else { &link.cause };
                let own = |links: &[Link]| links.iter().filter(|l| l.from(here, direction).is_some()).cloned().collect::<BTreeSet<_>>();
                prop_assert!(found.open.contains(here) || own(&found.links) == own(&all));
            }
            links.extend(found.links);
            for node in found.nodes {
                if !found.open.contains(&node.id) {
                    done.insert(node.id.clone());
                }
                nodes.insert(node.id);
            }
            // In a cycle it reaches what was returned before.
            let fresh = found.open.into_iter().filter(|id| !too_many.contains(id) && !done.contains(id));
            asked = fresh.map(|id| (id, None)).collect();
        }
        if too_many.is_empty() {
            prop_assert_eq!(links, wanted);
            prop_assert_eq!(nodes, reached);
        } else {
            prop_assert!(links.is_subset(&wanted));
        }
    }

    /// A path query over the same store, independent of our walk.
    #[test]
    fn it_is_what_a_path_query_finds(
        edges in prop::collection::vec((0u8..12, 0u8..13, 0u8..12), 1..40),
        start in 0u8..12,
    ) {
        let (store, _) = graph(&edges);
        let (transfer, others): (Vec<Relation>, Vec<_>) =
            Relation::ALL.into_iter().partition(|relation| *relation == Relation::TransferredBy);
        let path = |relations: &[Relation], inverse: &str| {
            let parts: Vec<String> = relations.iter().map(|r| format!("{inverse}<{}>", r.iri())).collect();
            parts.join("|")
        };
        for direction in [Direction::Ancestors, Direction::Descendants] {
            let steps = match direction {
                Direction::Ancestors => path(&Relation::ALL, ""),
                Direction::Descendants => format!("{}|{}", path(&others, "^"), path(&transfer, "")),
            };
            let query = format!("SELECT DISTINCT ?x WHERE {{ {} ({steps})+ ?x }}", node(&name(start)));
            let mut wanted = BTreeSet::new();
            let prepared = SparqlEvaluator::new().parse_query(&query).unwrap();
            let QueryResults::Solutions(rows) = prepared.on_store(&store.triples).execute().unwrap() else {
                panic!("not a table");
            };
            for row in rows {
                let Some(Term::NamedNode(iri)) = row.unwrap().get("x").cloned() else { panic!("no IRI") };
                wanted.insert(id::id(iri.as_ref()).into_owned());
            }
            let found = ask(&store, &[(name(start), None)], direction, MOST_LINKS);
            let far = |link: &Link| {
                let here = if link.from(&link.effect, direction).is_some() { &link.effect } else { &link.cause };
                link.from(here, direction).unwrap().to_owned()
            };
            let ends: BTreeSet<String> = found.links.iter().map(far).collect();
            prop_assert_eq!(ends, wanted);
        }
    }
}

#[test]
fn descriptions_are_the_first_of_what_is_said_whoever_has_it() {
    let text = |text: &str| Term::from(Literal::new_simple_literal(text));
    let class = |iri: &str| Term::from(NamedNode::new_unchecked(iri));
    let all = vec![
        said("e", rdf::TYPE, class("http://www.w3.org/ns/prov#Activity")),
        said("e", rdf::TYPE, class("urn:x-bloomgrove:Bundled")),
        said("e", rdfs::LABEL, text("b")),
        said("e", rdfs::LABEL, text("a")),
        said("e", ENDED, text("2026-11-16T10:00:00Z")),
        said("e", STARTED, text("2026-11-16T09:00:00Z")),
        said("e", AGENT, text("books")),
        said("e", ASSOCIATED, class("urn:agent:1")),
        said("e", PEER, text("pune")),
        said("e", NamedNodeRef::new_unchecked("urn:other"), text("x")),
        said("d", rdf::TYPE, class("http://www.w3.org/ns/prov#Entity")),
        said(
            "nobody",
            NamedNodeRef::new_unchecked("urn:other"),
            text("x"),
        ),
    ];
    let ids = ["e", "d", "nobody", "", "unknown"].map(|id| (id.to_owned(), None));
    let whole = ask(&store_of(all.clone()), &ids, Direction::Ancestors, 10).nodes;
    let known: Vec<_> = whole.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(known, ["d", "e"]);
    let e = &whole[1];
    assert_eq!(e.kind.as_deref(), Some("bundled"));
    assert_eq!(e.label.as_deref(), Some("a"));
    assert_eq!(e.time.as_deref(), Some("2026-11-16T09:00:00Z"));
    assert_eq!(e.agent.as_deref(), Some("books"));
    assert_eq!(e.peer.as_deref(), Some("pune"));
    assert_eq!(whole[0].kind.as_deref(), Some("Entity"));

    // Each triple at a separate site, plain and encrypted.
    let cipher = IdCipher::new(&IdCipher::new_secret().unwrap()).unwrap();
    for cipher in [None, Some(&cipher)] {
        let say = |id: &str| cipher.map_or(id.to_owned(), |cipher| cipher.encrypt(id));
        let ask = |triples: Vec<Triple>| {
            let ids = vec![Start {
                id: say("e"),
                depth: None,
            }];
            let question = LineageQuery {
                ids,
                ..LineageQuery::default()
            };
            lineage(&store_of(triples), &question, cipher).nodes
        };
        let whole = ask(all.clone()).remove(0);
        let mut merged = Node {
            id: say("e"),
            ..Node::default()
        };
        for triple in &all {
            for node in ask(vec![triple.clone()]) {
                merged.merge(node);
            }
        }
        assert_eq!(merged, whole);
        let times = ["2026-11-16T09:00:00Z", "2026-11-16T10:00:00Z"];
        assert_eq!(whole.time, times.map(say).into_iter().min());
        assert_eq!(whole.kind.as_deref(), Some("bundled"));
    }
}

#[test]
fn with_a_cipher_nothing_but_kinds_is_plain() {
    let text = |text: &str| Term::from(Literal::new_simple_literal(text));
    let store = store_of(vec![
        triple("secret doc", Relation::GeneratedBy, "secret event"),
        said(
            "secret event",
            rdf::TYPE,
            Term::from(NamedNode::new_unchecked("urn:x-bloomgrove:Created")),
        ),
        said("secret event", ENDED, text("2026-11-16T10:00:00Z")),
        said("secret event", AGENT, text("secret agent")),
        said("secret event", PEER, text("secret peer")),
        said(
            "secret doc",
            rdf::TYPE,
            Term::from(NamedNode::new_unchecked("urn:my:secretType")),
        ),
        said("secret doc", rdfs::LABEL, text("secret label")),
        said("secret doc", GENERATED, text("secret time")),
    ]);
    let cipher = IdCipher::new(&IdCipher::new_secret().unwrap()).unwrap();
    let ask = |id: &str, links: u64| {
        let ids = vec![Start {
            id: id.into(),
            depth: None,
        }];
        let question = LineageQuery {
            ids,
            links: Some(links),
            ..LineageQuery::default()
        };
        lineage(&store, &question, Some(&cipher))
    };
    let found = ask(&cipher.encrypt("secret doc"), 10);
    assert_eq!((found.links.len(), found.nodes.len()), (1, 2));
    let told = serde_json::to_string(&found).unwrap();
    assert!(!told.contains("secret"), "{told}");
    assert!(told.contains("created") && !told.contains("2026-11-16"));
    let times = found.nodes.iter().filter_map(|node| node.time.as_deref());
    let times: BTreeSet<String> = times.map(|time| cipher.decrypt(time).unwrap()).collect();
    let wanted = ["2026-11-16T10:00:00Z", "secret time"].map(str::to_owned);
    assert_eq!(times, wanted.into());
    assert_eq!(
        cipher.decrypt(&found.links[0].effect).unwrap(),
        "secret doc"
    );
    let other = IdCipher::new(&IdCipher::new_secret().unwrap()).unwrap();
    for unknown in [
        "secret doc",
        &other.encrypt("secret doc"),
        &cipher.encrypt("other"),
    ] {
        assert_eq!(ask(unknown, 10), Lineage::default());
    }
    assert_eq!(
        ask(&cipher.encrypt("secret doc"), 0).open,
        [cipher.encrypt("secret doc")]
    );
}

#[test]
fn what_is_not_reached_in_time_is_open() {
    let edges: Vec<Edge> = (0..20).map(|n| (n, 2, n + 1)).collect();
    let (store, all) = graph(&edges);
    let mut asked = vec![name(0)];
    let mut links = BTreeSet::new();
    for round in 0..=20 {
        let start = |id: &String| Start {
            id: id.clone(),
            depth: None,
        };
        let question = LineageQuery {
            ids: asked.iter().map(start).collect(),
            ..LineageQuery::default()
        };
        // The deadline has passed before it starts: one id is processed nevertheless.
        let found = until(&store, &question, None, Instant::now());
        assert_eq!(found.links.len(), usize::from(round < 20));
        links.extend(found.links);
        asked = found.open;
        assert_eq!(asked.len(), usize::from(round < 20));
    }
    assert_eq!(links, all.into_iter().collect());
}

/// A type of a hundred thousand documents, queried ten thousand times; and an id that is known.
#[test]
fn an_id_that_is_in_many_triples_costs_no_more_than_others() {
    let class = NamedNode::new_unchecked("urn:my:type");
    let of = |n: u32| said(&format!("urn:d:{n}"), rdf::TYPE, class.clone());
    let mut triples: Vec<Triple> = (0..100_000).map(of).collect();
    triples.push(triple("urn:d:0", Relation::DerivedFrom, "urn:d:1"));
    let store = store_of(triples);
    for (id, nodes) in [("urn:my:type", 0), ("urn:d:0", 2)] {
        let ids = vec![(id.to_owned(), None); 10_000];
        let began = Instant::now();
        let found = ask(&store, &ids, Direction::Ancestors, 10);
        assert_eq!(found.nodes.len(), nodes, "{id}");
        assert!(began.elapsed() < Duration::from_secs(2), "{id}");
    }
    // Many unknown ids, each once.
    let began = Instant::now();
    for _ in 0..10_000 {
        assert!(!store.knows(&class));
    }
    assert!(began.elapsed() < Duration::from_secs(2));
}
