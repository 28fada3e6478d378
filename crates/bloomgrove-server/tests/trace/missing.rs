//! What a trace reports about what it cannot know: sites that are dead, silent, unknown, or moved.

use std::time::{Duration, Instant};

use bloomgrove_client::api::{Code, Link, Node, RegisterSite, Relation, Trace, TraceQuery};

use crate::fake::{Fake, Holds, publish, register};
use crate::support::Running;

fn used(effect: &str, cause: &str) -> Link {
    Link {
        effect: effect.into(),
        relation: Relation::Used,
        cause: cause.into(),
    }
}

async fn trace(running: &Running, id: &str) -> Trace {
    let request = TraceQuery {
        ids: vec![id.into()],
        // A busy machine is not what is tested.
        seconds: Some(60.0),
        ..TraceQuery::default()
    };
    running.client.trace(&request).await.unwrap()
}

/// Why something of this site is missing.
fn why<'t>(trace: &'t Trace, site: &str) -> Vec<&'t str> {
    let of_site = |site: &str| {
        let site = Some(site.to_owned());
        trace
            .missing
            .iter()
            .filter(move |missing| missing.site == site)
    };
    assert_eq!(trace.complete, trace.missing.is_empty());
    of_site(site).map(|missing| missing.why.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_and_unregistered_sites_are_named() {
    let running = Running::start().await;
    let client = &running.client;
    let _honest = Fake::with(client, "honest", &[used("a", "b"), used("b", "c")]).await;
    assert!(trace(&running, "a").await.complete);
    // A port that was in use a moment ago.
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    register(client, "dead", &format!("http://{gone}"), "k").await;
    publish(client, "dead", &["b"], 10_000).await;
    publish(client, "unknown/of", &["c"], 10_000).await;
    client
        .put_filter("no set of a site", &crate::support::filter(&["a", "b"]))
        .await
        .unwrap();
    let found = trace(&running, "a").await;
    assert_eq!(why(&found, "dead"), ["it cannot be reached"]);
    assert_eq!(
        why(&found, "unknown/of"),
        ["has sets on this server but is not registered"]
    );
    assert_eq!(found.missing.len(), 2);
    assert_eq!(found.links.len(), 2);
    // Traces that do not concern them are complete.
    let _other = Fake::with(client, "other", &[used("x", "y")]).await;
    assert!(trace(&running, "x").await.complete);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_site_is_named_and_a_site_that_moves_is_found() {
    let running = Running::start().await;
    let client = &running.client;
    let old = Fake::with(client, "mover", &[used("a", "old")]).await;
    let silent = RegisterSite {
        url: old.url.clone(),
        key: None,
        period: 1,
        pending: 0,
        ..RegisterSite::default()
    };
    client.register_site("silent", &silent).await.unwrap();
    assert!(trace(&running, "a").await.complete);
    let mut new = Fake::start("mover").await;
    new.name = "mover".into();
    new.hold(Holds {
        links: [used("a", "new")].into(),
        limit: 10,
        ..Holds::default()
    });
    new.register(client).await;
    let found = trace(&running, "a").await;
    assert_eq!(found.links.len(), 1);
    assert_eq!(found.links[0].link, used("a", "new"));

    let deadline = Instant::now() + Duration::from_secs(8);
    while client
        .sites()
        .await
        .unwrap()
        .sites
        .iter()
        .all(|site| site.online)
    {
        assert!(Instant::now() < deadline, "it never falls silent");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let found = trace(&running, "a").await;
    let told = why(&found, "silent");
    assert!(told[0].starts_with("offline"), "{told:?}");
    assert_eq!(found.missing.len(), 1);
    client.register_site("silent", &silent).await.unwrap();
    assert!(trace(&running, "a").await.complete);

    // What a site could not publish is reported as missing.
    let refused = RegisterSite {
        pending: 3,
        ..silent.clone()
    };
    client.register_site("silent", &refused).await.unwrap();
    let found = trace(&running, "a").await;
    assert!(why(&found, "silent")[0].contains("3 of its ids"));
    client.register_site("silent", &silent).await.unwrap();

    // After a start it is unknown what a site did meanwhile, until its first heartbeat.
    let running = Running::start_in(running.stop().await, |_| {}).await;
    let found = trace(&running, "a").await;
    assert!(why(&found, "silent")[0].starts_with("no heartbeat since"));
    running
        .client
        .register_site("silent", &silent)
        .await
        .unwrap();
    let found = trace(&running, "a").await;
    assert!(
        found
            .missing
            .iter()
            .all(|missing| missing.site.as_deref() != Some("silent"))
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_silent_sites_some_are_named_and_the_others_counted() {
    let running = Running::start().await;
    for n in 0..130 {
        register(&running.client, &format!("s{n}"), "http://127.0.0.1:9", "k").await;
    }
    assert!(trace(&running, "a").await.complete);
    // After a start there was no heartbeat yet.
    let running = Running::start_in(running.stop().await, |_| {}).await;
    let found = trace(&running, "a").await;
    assert!(!found.complete);
    assert_eq!(found.missing.len(), 101);
    let rest = &found.missing[100];
    assert_eq!(rest.site, None);
    assert!(rest.why.starts_with("30 more sites"), "{}", rest.why);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_at_a_host_that_is_not_allowed_any_more_is_not_asked() {
    let running = Running::start().await;
    let site = Fake::with(&running.client, "site", &[used("a", "b")]).await;
    // With a host name, which is resolved.
    let by_name = site.url.replace("127.0.0.1", "localhost");
    register(&running.client, "site", &by_name, &site.key()).await;
    assert_eq!(trace(&running, "a").await.links.len(), 1);
    let asked = site.keys();
    let running = Running::start_in(running.stop().await, |config| {
        config.sites.hosts = vec![".ie".into()];
    })
    .await;
    site.forget_keys();
    let found = trace(&running, "a").await;
    assert_eq!((found.links.len(), found.complete), (0, false));
    let told = why(&found, "site");
    let is_told = told
        .iter()
        .any(|why| why.contains("does not query sites at localhost"));
    assert!(is_told, "{told:?}");
    assert_eq!((asked.len(), site.keys().len()), (1, 0));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_with_too_many_links_is_named() {
    let running = Running::start().await;
    let client = &running.client;
    let mut links: Vec<Link> = (0..10).map(|n| used("wide", &format!("n{n}"))).collect();
    links.push(used("a", "wide"));
    let site = Fake::with(client, "site", &links).await;
    site.hold(Holds {
        links: links.into_iter().collect(),
        limit: 4,
        ..Holds::default()
    });
    let found = trace(&running, "a").await;
    assert_eq!(
        why(&found, "site"),
        ["wide has more links at this site than fit into an answer"]
    );
    assert_eq!((found.links.len(), found.missing.len()), (5, 1));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_for_one_answer_comes_in_parts() {
    let time = Duration::from_secs(10);
    let running = Running::start_with(|config| config.trace.site_time = time).await;
    let client = &running.client;
    let mut links = Vec::new();
    for branch in 0..30 {
        links.push(used("root", &format!("branch {branch}")));
        for leaf in 0..10 {
            let leaf = format!("leaf {branch} {leaf}");
            links.push(used(&format!("branch {branch}"), &leaf));
        }
    }
    let site = Fake::with(client, "site", &links).await;
    // 10 MB of texts.
    let nodes = links.iter().map(|link| {
        let node = Node {
            id: link.cause.clone(),
            label: Some("x".repeat(30_000)),
            ..Node::default()
        };
        (node.id.clone(), node)
    });
    site.hold(Holds {
        nodes: nodes.collect(),
        links: links.iter().cloned().collect(),
        limit: 10_000,
    });
    let found = trace(&running, "root").await;
    assert!(found.complete, "{:?}", found.missing);
    assert_eq!(
        (found.links.len(), found.nodes.len()),
        (links.len(), links.len() + 1)
    );
    assert!(
        found.nodes[1..]
            .iter()
            .all(|node| node.node.label.is_some())
    );
    running.stop().await;
}

/// A trace of an id with 300 links, of whose ends a site has 12 MB of texts, and these links.
async fn trace_of_texts(links: Vec<Link>) -> Trace {
    let time = Duration::from_secs(60);
    let running = Running::start_with(|config| config.trace.site_time = time).await;
    let client = &running.client;
    let leaves: Vec<Link> = (0..300)
        .map(|n| used("root", &format!("leaf {n}")))
        .collect();
    let _links = Fake::with(client, "links", &leaves).await;
    let texts = Fake::start("texts").await;
    let nodes = leaves.iter().map(|link| {
        let node = Node {
            id: link.cause.clone(),
            label: Some("x".repeat(40_000)),
            ..Node::default()
        };
        (node.id.clone(), node)
    });
    texts.hold(Holds {
        nodes: nodes.collect(),
        links: links.into_iter().collect(),
        limit: 10_000,
    });
    texts.register(client).await;
    texts.publish(client, 100_000).await;
    let found = trace(&running, "root").await;
    running.stop().await;
    assert!(found.complete, "{:?}", found.missing);
    let texts = found.nodes.iter().filter(|node| node.node.label.is_some());
    assert_eq!(texts.count(), 300);
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_ids_for_one_answer_are_asked_for_in_parts() {
    // No links, so that requesting fewer does not help.
    let found = trace_of_texts(Vec::new()).await;
    assert_eq!(found.links.len(), 300);
    // 300, 18, and then more again: 18 at a time would be 17 requests more.
    let site = found.sites.iter().find(|site| site.name == "texts");
    let site = site.unwrap();
    assert!(site.requests <= 9, "{site:?}");
    assert_eq!(site.ids, 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_with_many_links_among_long_texts_is_asked_for_alone() {
    // More than are requested once an answer was too large.
    let many = (0..2000).map(|n| used("leaf 0", &format!("n{n}")));
    let found = trace_of_texts(many.collect()).await;
    assert_eq!(found.links.len(), 2300);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_traced_is_refused() {
    let running = Running::start().await;
    let client = &running.client;
    let good = TraceQuery {
        ids: vec!["a".into()],
        ..TraceQuery::default()
    };
    let nothing = client.trace(&good).await.unwrap();
    assert!(nothing.complete && nothing.nodes.is_empty() && nothing.sites.is_empty());
    for (ids, seconds, links) in [
        (vec![], None, None),
        (vec!["a".into(); 1001], None, None),
        (vec![String::new()], None, None),
        (vec!["x".repeat(2817)], None, None),
        (vec!["a".into()], Some(0.0), None),
        (vec!["a".into()], Some(-1.0), None),
        (vec!["a".into()], None, Some(0)),
        (vec!["a".into()], None, Some(100_001)),
    ] {
        let request = TraceQuery {
            ids,
            seconds,
            links,
            ..TraceQuery::default()
        };
        let refused = client.trace(&request).await.unwrap_err();
        assert_eq!(refused.code(), Some(Code::Invalid), "{refused}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_is_given_in_every_form() {
    let running = Running::start().await;
    let _site = Fake::with(&running.client, "site", &[used("<a>", "b")]).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for (format, media, part) in [
        ("", "application/json", "\"complete\":true"),
        (
            "&format=json&direction=ancestors&depth=3",
            "application/json",
            "\"<a>\"",
        ),
        ("&format=turtle", "text/turtle", "prov:used"),
        ("&format=dot", "text/vnd.graphviz", "digraph"),
        ("&format=svg", "image/svg+xml", "&lt;a&gt;"),
    ] {
        let url = format!("{}/v1/trace?id=%3Ca%3E{format}", running.url());
        let answer = http.get(url).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{format}");
        let found = answer.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        assert!(found.starts_with(media), "{found}");
        let text = answer.text().await.unwrap();
        assert!(text.contains(part), "{text}");
    }
    for wrong in [
        "",
        "?id=",
        "?id=a&format=png",
        "?id=a&depth=-1",
        "?id=a&up=1",
    ] {
        let url = format!("{}/v1/trace{wrong}", running.url());
        assert_eq!(http.get(url).send().await.unwrap().status(), 400, "{wrong}");
    }
    let request = TraceQuery {
        ids: vec!["<a>".into()],
        picture: true,
        ..TraceQuery::default()
    };
    let picture = running
        .client
        .trace(&request)
        .await
        .unwrap()
        .picture
        .unwrap();
    assert!(picture.starts_with("<svg"), "{picture}");
    let metrics = running.client.metrics().await.unwrap();
    assert!(
        metrics.contains("bloomgrove_traces_total{complete=\"true\"}"),
        "{metrics}"
    );
    assert!(
        metrics.contains("bloomgrove_site_requests_total"),
        "{metrics}"
    );
    running.stop().await;
}

/// A filter that accepts everything must not cause its site to be queried in every trace.
#[tokio::test(flavor = "multi_thread")]
async fn over_full_sets_are_named_and_their_sites_not_queried() {
    let running = Running::start_with(|config| {
        config.trace.site_time = Duration::from_secs(3);
    })
    .await;
    let client = &running.client;
    let _honest = Fake::with(client, "honest", &[used("a", "b"), used("b", "c")]).await;
    // It never answers.
    let url = crate::fake::raw(|_, _| std::thread::sleep(Duration::from_secs(20)));
    register(client, "full", &url, "k").await;
    let many: Vec<String> = (0..2000).map(|n| format!("x{n}")).collect();
    publish(client, "full", &many, 1000).await;
    let started = Instant::now();
    let found = trace(&running, "a").await;
    assert!(started.elapsed() < Duration::from_secs(2), "{found:?}");
    assert_eq!(found.links.len(), 2);
    let [why_full] = why(&found, "full")[..] else {
        panic!("{:?}", found.missing);
    };
    assert!(
        why_full.contains("overfull") && why_full.contains("99%"),
        "{why_full}"
    );
    assert!(found.sites.iter().all(|site| site.name != "full"));
    // To get it nevertheless, query all sites.
    let request = TraceQuery {
        ids: vec!["a".into()],
        broadcast: true,
        ..TraceQuery::default()
    };
    let all = client.trace(&request).await.unwrap();
    assert!(all.sites.iter().any(|site| site.name == "full"), "{all:?}");
    // An honest set with twice as many ids as it was sized for is queried like others.
    client.remove_site("full").await.unwrap();
    client.remove("full/ids/all").await.unwrap();
    let links: Vec<Link> = (0..230).map(|n| used("c", &format!("d{n}"))).collect();
    let fuller = Fake::with(client, "fuller", &links).await;
    fuller.publish(client, 1000).await;
    let found = trace(&running, "a").await;
    assert!(found.complete, "{:?}", found.missing);
    assert_eq!(found.links.len(), 232);
    running.stop().await;
}
