//! Random and hostile traces in all three formats; golden files; speed.

mod read;

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{svg, turtle};
use bloomgrove_client::api::{
    Direction, Link, Missing, Node, Relation, Trace, TraceLink, TraceNode,
};
use read::{check_dot, check_svg, check_turtle};

const HOSTILE: [&str; 10] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(2)>",
    "'; drop \\",
    "]]>&amp;&#0;",
    "\u{202e}gnitirw\u{2066}",
    "a\0b\x1b[31m\r\n\tc\u{ffff}\u{fffe}",
    "-->\\N\\G\\\"",
    "日本語のとても長い書類の名前と番号四千七百十一",
    "urn:uuid:6f9619ff-8b86-d011-b42d-00c04fc964ff",
    "> .\n<a> <b> <c",
];

fn node(id: &str, distance: u32, site: &str) -> TraceNode {
    TraceNode {
        node: Node {
            id: id.to_owned(),
            ..Node::default()
        },
        distance,
        sites: vec![site.to_owned()],
    }
}

fn link(effect: &str, relation: Relation, cause: &str, site: &str) -> TraceLink {
    TraceLink {
        link: Link {
            effect: effect.to_owned(),
            relation,
            cause: cause.to_owned(),
        },
        sites: vec![site.to_owned()],
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..HOSTILE.len()).prop_map(|at| HOSTILE[at].to_owned()),
        "\\PC{0,40}",
        "[a-z ]{1,300}",
        any::<String>(),
    ]
}

fn traces() -> impl Strategy<Value = Trace> {
    let kinds = prop::sample::select(vec![
        "created", "bundled", "sent", "received", "Entity", "x\"y",
    ]);
    let described = (
        texts(),
        prop::option::of(kinds),
        prop::option::of(texts()),
        prop::option::of(texts()),
    );
    let nodes = prop::collection::vec(
        (described, 0..5_u32, prop::collection::vec(0..40_u8, 0..4)),
        0..30,
    );
    let links = prop::collection::vec((0..1000_usize, 0..13_usize, 0..1000_usize, 0..40_u8), 0..60);
    (nodes, links, any::<bool>(), texts()).prop_map(|(nodes, links, down, why)| {
        let site = |number: &u8| match number % 8 {
            0 => HOSTILE[usize::from(*number) % HOSTILE.len()].to_owned(),
            _ => format!("site{number}"),
        };
        let nodes: Vec<TraceNode> = nodes
            .into_iter()
            .enumerate()
            .map(
                |(at, ((id, kind, label, time), distance, sites))| TraceNode {
                    node: Node {
                        id: format!("{id}{at}"),
                        kind: kind.map(str::to_owned),
                        peer: label.clone(),
                        agent: time.clone(),
                        label,
                        time,
                    },
                    distance,
                    sites: sites.iter().map(site).collect(),
                },
            )
            .collect();
        let id = |at: usize| match nodes.is_empty() {
            true => "nobody".to_owned(),
            false => nodes[at % nodes.len()].node.id.clone(),
        };
        let links = links
            .iter()
            .map(|&(effect, relation, cause, by)| TraceLink {
                link: Link {
                    effect: id(effect),
                    relation: Relation::ALL[relation],
                    cause: id(cause),
                },
                sites: vec![site(&by)],
            })
            .collect();
        Trace {
            ids: vec![id(0)],
            direction: if down {
                Direction::Descendants
            } else {
                Direction::Ancestors
            },
            missing: vec![Missing {
                site: Some(why.clone()),
                why,
            }],
            links,
            nodes,
            ..Trace::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn whatever_is_in_a_trace_it_can_be_shown(trace in traces()) {
        prop_assert_eq!(check_svg(&trace).len(), trace.nodes.len());
        let edges = if trace.nodes.is_empty() { 0 } else { trace.links.len() };
        prop_assert_eq!(check_dot(&trace), (trace.nodes.len(), edges));
        check_turtle(&trace);
        prop_assert_eq!(svg(&trace), svg(&trace));
    }
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let trace = Trace {
        ids: vec!["<nobody>".to_owned()],
        complete: true,
        ..Trace::default()
    };
    assert!(check_svg(&trace).is_empty());
    assert!(svg(&trace).contains("No site knows it."));
    assert!(svg(&trace).contains("Where &lt;nobody&gt; comes from"));
    assert_eq!(check_dot(&trace), (0, 0));
}

#[test]
fn of_thousands_the_nearest_are_drawn_and_the_rest_counted() {
    let mut trace = Trace {
        ids: vec!["0".to_owned()],
        ..Trace::default()
    };
    for at in 0..3000_usize {
        trace
            .nodes
            .push(node(&at.to_string(), (at + 1).ilog2(), "galway"));
        for cause in [2 * at + 1, 2 * at + 2, at / 2, at] {
            let (effect, cause) = (at.to_string(), (cause % 3000).to_string());
            trace
                .links
                .push(link(&effect, Relation::DerivedFrom, &cause, "galway"));
        }
    }
    let start = Instant::now();
    let drawn = check_svg(&trace);
    assert!(
        start.elapsed() < Duration::from_secs(4),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(drawn.len(), 400);
    assert!(
        drawn
            .iter()
            .all(|one| one["data-node"].parse::<usize>().unwrap() < 512)
    );
    assert!(
        svg(&trace).contains("The nearest 400 are drawn; 2600 more distant ones are left out.")
    );
}

#[test]
fn transfers_hang_below_their_document_and_lead_nowhere() {
    use Relation::{GeneratedBy, TransferredBy};
    let mut trace = Trace {
        ids: vec!["doc".to_owned()],
        complete: true,
        ..Trace::default()
    };
    trace.nodes = vec![
        node("doc", 0, "pune"),
        node("made", 1, "galway"),
        node("moved", 1, "galway"),
    ];
    trace.links = vec![
        link("doc", GeneratedBy, "made", "galway"),
        link("doc", TransferredBy, "moved", "galway"),
    ];
    for direction in [Direction::Ancestors, Direction::Descendants] {
        trace.direction = direction;
        let classes: Vec<String> = check_svg(&trace)
            .iter()
            .map(|one| one["class"].clone())
            .collect();
        assert_eq!(
            classes,
            ["node document start", "node event", "node event transfer"]
        );
    }
    // The box of a document shows the site that reports how it was made.
    assert!(svg(&trace).contains("aria-label=\"doc, document, galway, traced\""));
}

/// The drawings used by the tests of the page; `BLESS=1` regenerates them.
#[test]
fn the_golden_pictures_are_as_they_were() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/browser/");
    for name in ["trace", "hostile"] {
        let trace = std::fs::read(format!("{directory}{name}.json")).unwrap();
        let trace: Trace = serde_json::from_slice(&trace).unwrap();
        check_svg(&trace);
        check_dot(&trace);
        check_turtle(&trace);
        let drawn = svg(&trace);
        let file = format!("{directory}{name}.svg");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&file, &drawn).unwrap();
        }
        let golden = std::fs::read_to_string(&file).unwrap();
        assert!(drawn == golden, "tests/browser/{name}.svg differs: BLESS=1");
    }
}

#[test]
fn turtle_says_all_that_is_known() {
    let mut event = node("urn:e:1", 1, "galway");
    event.node.kind = Some("bundled".to_owned());
    event.node.time = Some("2026-11-16T09:30:00Z".to_owned());
    event.node.agent = Some("the \"books\"".to_owned());
    let mut document = node("invoice 4711", 0, "pune");
    document.node.label = Some("Invoice\n4711".to_owned());
    document.node.kind = Some("Entity".to_owned());
    document.node.time = Some("last year".to_owned());
    let trace = Trace {
        ids: vec!["invoice 4711".to_owned()],
        complete: true,
        nodes: vec![document, event],
        links: vec![
            link("invoice 4711", Relation::GeneratedBy, "urn:e:1", "galway"),
            link("invoice 4711", Relation::TransferredBy, "urn:e:2", "x\ny"),
        ],
        ..Trace::default()
    };
    let text = turtle(&trace);
    let (_, body) = text.split_once("bloomgrove:> .\n\n").unwrap();
    assert_eq!(
        body,
        "<urn:x-bloomgrove:id:invoice%204711> a prov:Entity ;\n    \
         rdfs:label \"Invoice\\n4711\" ;\n    \
         prov:generatedAtTime \"last year\" ;\n    \
         bg:reportedBy \"pune\" .\n\
         <urn:e:1> a prov:Activity, bg:Bundled ;\n    \
         prov:endedAtTime \"2026-11-16T09:30:00Z\"^^xsd:dateTime ;\n    \
         bg:agent \"the \\\"books\\\"\" ;\n    \
         bg:reportedBy \"galway\" .\n\n\
         <urn:x-bloomgrove:id:invoice%204711> prov:wasGeneratedBy <urn:e:1> . # galway\n\
         <urn:x-bloomgrove:id:invoice%204711> <urn:x-bloomgrove:transferredBy> <urn:e:2> . \
         # x\u{240a}y\n"
    );
}

/// The contrast of two colours, as defined by WCAG.
fn contrast(one: &str, other: &str) -> f64 {
    let light = |colour: &str| {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            match value <= 0.04045 {
                true => value / 12.92,
                false => ((value + 0.055) / 1.055).powf(2.4),
            }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5) + 0.05
    };
    let (one, other) = (light(one), light(other));
    one.max(other) / one.min(other)
}

#[test]
fn letters_can_be_read_on_all_colours_and_colours_seen_on_all_grounds() {
    for colour in super::svg::COLOURS {
        assert!(
            contrast(colour, "#ffffff") >= 4.5,
            "{colour} {}",
            contrast(colour, "#ffffff")
        );
        assert!(
            contrast(colour, "#171f1b") >= 3.0,
            "{colour} {}",
            contrast(colour, "#171f1b")
        );
    }
}
