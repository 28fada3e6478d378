//! Random graphs over random sites: a trace finds exactly what one merged graph contains.

use std::collections::{BTreeMap, VecDeque};

use bloomgrove_client::api::{
    Direction, Link, Node, Relation, Trace, TraceLink, TraceNode, TraceQuery,
};

use crate::fake::{Fake, Holds};
use crate::support::Running;

/// Pseudorandom numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

fn id(number: usize) -> String {
    match number % 7 {
        0 => format!("urn:uuid:{number}"),
        1 => format!("http://a/b?c={number}&d=%20#e"),
        2 => format!("a \"quoted\" \\ one {number}"),
        3 => format!("göl-日本-{number}"),
        4 => format!("line\nbreak\t{number}"),
        5 => format!("<{number}>'\u{0}"),
        _ => format!("{number}{}", "x".repeat(200)),
    }
}

/// What each site contains.
fn spread(dice: &mut Dice, sites: usize) -> Vec<Holds> {
    let mut held = vec![Holds::default(); sites];
    let ids = 2 + dice.below(28);
    let any = |dice: &mut Dice| 1 + if dice.one_in(4) { dice.below(sites) } else { 0 };
    for _ in 0..dice.below(60) {
        let link = Link {
            effect: id(dice.below(ids)),
            relation: Relation::ALL[dice.below(Relation::ALL.len())],
            // Self links and cycles are among them.
            cause: id(dice.below(ids)),
        };
        for _ in 0..any(dice) {
            held[dice.below(sites)].links.insert(link.clone());
        }
    }
    for _ in 0..dice.below(30) {
        let said = |dice: &mut Dice, word: &str| {
            let word = format!("{word} {}", dice.below(3));
            (!dice.one_in(3)).then_some(word)
        };
        let node = Node {
            id: id(dice.below(ids)),
            kind: said(dice, "kind"),
            label: said(dice, "label"),
            time: said(dice, "time"),
            agent: said(dice, "agent"),
            peer: said(dice, "peer"),
        };
        for _ in 0..any(dice) {
            let at = dice.below(sites);
            held[at].nodes.insert(node.id.clone(), node.clone());
        }
    }
    for holds in &mut held {
        // All links of one id fit, in both directions.
        let mut most: BTreeMap<(&str, bool), usize> = BTreeMap::new();
        for link in &holds.links {
            *most.entry((&link.effect, true)).or_default() += 1;
            *most.entry((&link.cause, false)).or_default() += 1;
        }
        let both = most.values().max().copied().unwrap_or(1) * 2;
        holds.limit = match dice.one_in(2) {
            true => both + dice.below(4),
            false => 10_000,
        };
    }
    held
}

/// The expected result, from a graph with everything.
fn naive(
    held: &[Holds],
    names: &[String],
    request: &TraceQuery,
) -> (Vec<TraceNode>, Vec<TraceLink>) {
    let mut all: BTreeMap<&Link, Vec<String>> = BTreeMap::new();
    for (holds, name) in held.iter().zip(names) {
        for link in &holds.links {
            all.entry(link).or_default().push(name.clone());
        }
    }
    let mut distances: BTreeMap<&str, u32> = BTreeMap::new();
    let mut queue: VecDeque<&str> = VecDeque::new();
    for id in &request.ids {
        distances.insert(id, 0);
        queue.push_back(id);
    }
    let mut links = BTreeMap::new();
    while let Some(id) = queue.pop_front() {
        let distance = distances[id];
        if request.depth.is_some_and(|depth| distance >= depth) {
            continue;
        }
        for (link, sites) in &all {
            if let Some(there) = link.from(id, request.direction) {
                links.insert(*link, sites.clone());
                distances.entry(there).or_insert_with(|| {
                    queue.push_back(there);
                    distance + 1
                });
            }
        }
    }
    let mut nodes = Vec::new();
    for (id, distance) in distances {
        let mut node: Option<Node> = None;
        let mut sites = Vec::new();
        for (holds, name) in held.iter().zip(names) {
            if let Some(said) = holds.node(id) {
                sites.push(name.clone());
                match &mut node {
                    Some(node) => node.merge(said),
                    None => node = Some(said),
                }
            }
        }
        nodes.extend(node.map(|node| TraceNode {
            node,
            distance,
            sites,
        }));
    }
    nodes.sort_by(|one, other| (one.distance, &one.node.id).cmp(&(other.distance, &other.node.id)));
    let links = links.into_iter().map(|(link, sites)| TraceLink {
        link: link.clone(),
        sites,
    });
    (nodes, links.collect())
}

fn check(trace: &Trace, wanted: &(Vec<TraceNode>, Vec<TraceLink>), told: &str) {
    assert!(trace.complete, "{told}: {:?}", trace.missing);
    assert_eq!(trace.nodes, wanted.0, "{told}");
    assert_eq!(trace.links, wanted.1, "{told}");
    assert!(trace.sites.iter().all(|site| site.dropped == 0), "{told}");
    let cost = &trace.cost;
    assert!(cost.requests <= cost.broadcast.requests, "{told}: {cost:?}");
    assert!(
        cost.lookups <= cost.broadcast.lookups + cost.requests * 60,
        "{told}"
    );
    assert!(
        cost.rounds >= 1 && cost.broadcast.bytes > 0,
        "{told}: {cost:?}"
    );
    assert!(
        cost.bytes_sent + cost.bytes_received <= cost.broadcast.bytes,
        "{told}: {cost:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_finds_what_one_merged_graph_has() {
    let running = Running::start().await;
    let client = &running.client;
    let mut fakes = Vec::new();
    for number in 0..8 {
        let fake = Fake::start(&format!("site {number}")).await;
        fake.register(client).await;
        fakes.push(fake);
    }
    let names: Vec<String> = fakes.iter().map(|fake| fake.name.clone()).collect();
    let (mut empty_answers, mut rounds, mut found) = (0, 0, 0);
    for seed in 0..48 {
        let mut dice = Dice(seed);
        let sites = 1 + dice.below(fakes.len());
        let held = spread(&mut dice, sites);
        // The other sites are empty, and their filters have many false positives, too.
        let bits = [64, 256, 4096][dice.below(3)];
        for (number, fake) in fakes.iter().enumerate() {
            fake.hold(held.get(number).cloned().unwrap_or_default());
            fake.publish(client, bits).await;
        }
        let mut ids = vec![id(dice.below(30))];
        if dice.one_in(3) {
            ids.extend([id(dice.below(30)), "nobody knows it".into(), ids[0].clone()]);
        }
        for direction in [Direction::Ancestors, Direction::Descendants] {
            for depth in [None, Some(0), Some(1), Some(2), Some(5)] {
                let request = TraceQuery {
                    ids: ids.clone(),
                    direction,
                    depth,
                    broadcast: seed % 8 == 7,
                    ..TraceQuery::default()
                };
                let trace = client.trace(&request).await.unwrap();
                let wanted = naive(&held, &names, &request);
                check(
                    &trace,
                    &wanted,
                    &format!("seed {seed}, {direction:?}, {depth:?}"),
                );
                empty_answers += trace.cost.empty_answers;
                rounds = rounds.max(trace.cost.rounds);
                found += trace.nodes.len();
            }
        }
    }
    // Checks that the test tests something.
    assert!(
        empty_answers > 0 && rounds > 3 && found > 500,
        "{empty_answers} {rounds} {found}"
    );
    for fake in &fakes {
        let keys: Vec<String> = fake.keys().into_iter().collect();
        assert_eq!(keys, [format!("Bearer {}", fake.key())], "its own key only");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_saves_what_it_says_against_asking_everybody() {
    const SITES: usize = 60;
    const HOPS: usize = 20;
    let running = Running::start().await;
    let client = &running.client;
    let mut dice = Dice(7);
    let mut links: Vec<Vec<Link>> = vec![Vec::new(); SITES];
    for hop in 0..HOPS {
        let link = Link {
            effect: format!("document {hop}"),
            relation: Relation::DerivedFrom,
            cause: format!("document {}", hop + 1),
        };
        links[dice.below(SITES)].push(link);
    }
    let mut sites = Vec::new();
    for (number, links) in links.iter().enumerate() {
        sites.push(Fake::with(client, &format!("site {number}"), links).await);
    }
    let mut request = TraceQuery {
        ids: vec!["document 0".into()],
        ..TraceQuery::default()
    };
    let by_index = client.trace(&request).await.unwrap();
    request.broadcast = true;
    let by_all = client.trace(&request).await.unwrap();
    assert!(by_index.complete && by_all.complete);
    assert_eq!(by_index.links.len(), HOPS);
    assert_eq!(
        (&by_index.nodes, &by_index.links),
        (&by_all.nodes, &by_all.links)
    );
    // Sites that know a document, and hardly any others.
    assert!(
        by_index.cost.requests <= 2 * HOPS as u64,
        "{:?}",
        by_index.cost
    );
    assert!(
        by_all.cost.requests > 10 * by_index.cost.requests,
        "{:?}",
        by_all.cost
    );
    assert_eq!(by_index.cost.broadcast, by_all.cost.broadcast);
    // The reported cost of querying all sites is what it really costs, except that no site is queried for what it has already
    // returned.
    let (told, took) = (&by_index.cost.broadcast, &by_all.cost);
    assert_eq!(told.requests, by_index.cost.rounds * SITES as u64);
    for (told, took) in [
        (told.requests, took.requests),
        (told.lookups, took.lookups),
        (told.bytes, took.bytes_sent + took.bytes_received),
    ] {
        assert!(took <= told && took * 10 >= told * 9, "{took} of {told}");
    }
    running.stop().await;
}
