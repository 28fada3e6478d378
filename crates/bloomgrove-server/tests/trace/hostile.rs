//! Sites that lie, stall, flood and disconnect: a trace ends in time, reports it, and contains what the others
//! returned.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bloomgrove_client::api::{Code, LineageQuery, Link, Relation, Trace, TraceQuery};

use crate::fake::{Fake, publish, raw, register, write_json};
use crate::support::Running;

pub(crate) fn used(effect: &str, cause: &str) -> Link {
    Link {
        effect: effect.into(),
        relation: Relation::Used,
        cause: cause.into(),
    }
}

pub(crate) fn request(id: &str) -> TraceQuery {
    TraceQuery {
        ids: vec![id.into()],
        ..TraceQuery::default()
    }
}

/// A trace of `a`, with an honest site that knows `a -> b`, and another site that knows `a`, too, and serves like this.
async fn beside(
    request: TraceQuery,
    serve: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static,
) -> Trace {
    beside_within(Duration::from_secs(1), request, serve).await
}

/// Like [`beside`], with this time limit for an answer.
async fn beside_within(
    time: Duration,
    request: TraceQuery,
    serve: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static,
) -> Trace {
    let running = Running::start_with(|config| config.trace.site_time = time).await;
    let client = &running.client;
    let _honest = Fake::with(client, "honest", &[used("a", "b")]).await;
    register(client, "liar", &raw(serve), "x").await;
    publish(client, "liar", &["a"], 10_000).await;
    let started = Instant::now();
    let trace = client.trace(&request).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(8));
    assert!(
        trace.links.iter().any(|link| link.link == used("a", "b")),
        "{trace:?}"
    );
    running.stop().await;
    trace
}

fn problem(trace: &Trace) -> &str {
    assert!(!trace.complete);
    let site = trace.sites.iter().find(|site| site.name == "liar").unwrap();
    let problem = site.problem.as_deref().unwrap();
    let told = trace
        .missing
        .iter()
        .find(|missing| missing.site.as_deref() == Some("liar"));
    assert_eq!(told.unwrap().why, problem);
    problem
}

pub(crate) fn link_json(effect: &str, cause: &str) -> String {
    format!("{{\"effect\":\"{effect}\",\"relation\":\"used\",\"cause\":\"{cause}\"}}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_asked_for_is_dropped() {
    let trace = beside(request("a"), |stream, _| {
        let links = [
            link_json("a", "c"),
            link_json("x", "y"),
            link_json("b", "a"),
        ];
        let nodes = "{\"id\":\"x\"},{\"id\":\"zzz\"},{\"id\":\"a\",\"label\":\"mine\"}";
        let body = format!("{{\"links\":[{}],\"nodes\":[{nodes}]}}", links.join(","));
        write_json(stream, &body);
    })
    .await;
    assert!(trace.complete, "{:?}", trace.missing);
    let liar = trace.sites.iter().find(|site| site.name == "liar").unwrap();
    assert_eq!((liar.dropped, liar.links), (2, 1));
    let links: Vec<&Link> = trace.links.iter().map(|link| &link.link).collect();
    assert_eq!(links, [&used("a", "b"), &used("a", "c")]);
    let ids: Vec<&str> = trace
        .nodes
        .iter()
        .map(|node| node.node.id.as_str())
        .collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(trace.nodes[0].node.label.as_deref(), Some("mine"));
}

#[tokio::test(flavor = "multi_thread")]
async fn links_beyond_the_depth_are_dropped() {
    let mut request = request("a");
    request.depth = Some(1);
    let trace = beside(request, |stream, _| {
        let links = [link_json("a", "c"), link_json("c", "d")].join(",");
        write_json(stream, &format!("{{\"links\":[{links}],\"nodes\":[]}}"));
    })
    .await;
    let liar = trace.sites.iter().find(|site| site.name == "liar").unwrap();
    assert_eq!((liar.dropped, trace.links.len()), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_answers_are_refused_as_a_whole() {
    let many = |count: usize| {
        let links: Vec<String> = (0..count)
            .map(|n| link_json("a", &format!("n{n}")))
            .collect();
        format!("{{\"links\":[{}],\"nodes\":[]}}", links.join(","))
    };
    let open: Vec<String> = (0..100_000).map(|n| format!("\"o{n}\"")).collect();
    let long = link_json("a", &"x".repeat(2817));
    for (body, part) in [
        (
            "<html>secret of the inside</html>".to_owned(),
            "not that of a site",
        ),
        ("{\"links\":[],\"nodes\":[".to_owned(), "not that of a site"),
        (
            "{\"links\":[7],\"nodes\":[]}".to_owned(),
            "not that of a site",
        ),
        ("[".repeat(100_000), "not that of a site"),
        (String::new(), "not that of a site"),
        (many(10_001), "more links than"),
        (
            format!(
                "{{\"links\":[],\"nodes\":[],\"open\":[{}]}}",
                open.join(",")
            ),
            "more",
        ),
        (format!("{{\"links\":[{long}],\"nodes\":[]}}"), "2817 bytes"),
        (
            format!("{{\"links\":[{}],\"nodes\":[]}}", link_json("a", "")),
            "0 bytes",
        ),
        (
            "{\"links\":[],\"nodes\":[],\"open\":[\"a\"]}".to_owned(),
            "makes no progress",
        ),
        (format!("{{\"x\":\"{}\"}}", "x".repeat(9 << 20)), "8 MiB"),
        (many(200_000), "8 MiB"),
    ] {
        let shown = body.chars().take(40).collect::<String>();
        let trace = beside(request("a"), move |stream, _| write_json(stream, &body)).await;
        let problem = problem(&trace);
        assert!(problem.contains(part), "{shown}: {problem}");
        assert!(!problem.contains("secret"), "{problem}");
        assert_eq!(trace.links.len(), 1, "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sites_that_stall_or_break_off_are_not_waited_for() {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    const FLOOD: &str = "8 MiB";
    type Serve = Box<dyn Fn(&mut TcpStream, &str) + Send + Sync>;
    let serves: [(Serve, &str); 6] = [
        (
            Box::new(|stream, _| {
                // Until the connection is closed.
                let _ = stream.write_all(HEAD);
                while stream.write_all(&[b' '; 65536]).is_ok() {}
            }),
            FLOOD,
        ),
        (
            Box::new(|_, _| std::thread::sleep(Duration::from_secs(20))),
            "no answer within 1.0 s",
        ),
        (
            Box::new(|stream, _| {
                let _ = stream.write_all(HEAD);
                while stream.write_all(b" ").is_ok() {
                    std::thread::sleep(Duration::from_millis(50));
                }
            }),
            "no answer within 1.0 s",
        ),
        (
            Box::new(|stream, _| {
                let _ = stream.write_all(
                    b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\n\
                      content-length: 0\r\n\r\n",
                );
            }),
            "status 307",
        ),
        (Box::new(|_, _| {}), "connection broke"),
        (
            Box::new(|stream, _| {
                let _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                      content-length: 1000\r\n\r\n{\"links\":[",
                );
            }),
            "connection broke",
        ),
    ];
    for (serve, part) in serves {
        let trace = beside(request("a"), serve).await;
        let problem = problem(&trace);
        if part == FLOOD {
            // Queried for less and less, until the time limit is reached or nothing smaller is possible.
            assert!(
                problem.contains(part) || problem.contains("no answer"),
                "{problem}"
            );
            continue;
        }
        assert!(problem.contains(part), "{problem}, not {part}");
        let liar = trace.sites.iter().find(|site| site.name == "liar").unwrap();
        let broke = part == "connection broke";
        assert_eq!(liar.requests, 1 + u64::from(broke), "{part}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_never_comes_to_an_end_is_left_in_time() {
    let mut request = request("a");
    request.seconds = Some(1.0);
    let time = Duration::from_secs(10);
    let trace = beside_within(time, request, |stream, body| {
        let question: LineageQuery = serde_json::from_str(body).unwrap();
        let id = &question.ids[0].id;
        let next = format!("{id}.");
        let links = link_json(id, &next);
        write_json(
            stream,
            &format!("{{\"links\":[{links}],\"nodes\":[],\"open\":[\"{next}\"]}}"),
        );
    })
    .await;
    assert!(!trace.complete);
    assert!(trace.cost.rounds > 1, "{:?}", trace.cost);
    assert!(
        trace
            .missing
            .iter()
            .any(|missing| missing.why.contains("1 s")),
        "{:?}",
        trace.missing
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn links_end_a_trace_at_its_limit() {
    let running = Running::start().await;
    let client = &running.client;
    let links: Vec<Link> = (0..100).map(|n| used("a", &format!("n{n}"))).collect();
    let _site = Fake::with(client, "one", &links).await;
    for (limit, complete) in [(99, false), (100, true), (1, false)] {
        let mut request = request("a");
        request.links = Some(limit);
        let trace = client.trace(&request).await.unwrap();
        assert_eq!(
            (trace.links.len() as u64, trace.complete),
            (limit, complete)
        );
        let told = trace
            .missing
            .iter()
            .any(|missing| missing.why.contains("links"));
        assert_eq!(told, !complete);
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_ends_before_the_time_of_its_request_does() {
    let running = Running::start_with(|config| {
        config.limits.request_time = Duration::from_secs(1);
    })
    .await;
    let client = &running.client;
    let url = raw(|_, _| std::thread::sleep(Duration::from_secs(20)));
    register(client, "slow", &url, "x").await;
    publish(client, "slow", &["a"], 10_000).await;
    let mut request = request("a");
    request.seconds = Some(60.0);
    let trace = client.trace(&request).await.unwrap();
    let told = |word: &str| {
        trace
            .missing
            .iter()
            .any(|missing| missing.why.contains(word))
    };
    assert!(!trace.complete && (told("0.8 s")), "{:?}", trace.missing);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_ends_with_who_asked_and_too_many_are_refused() {
    let running = Running::start().await;
    let client = &running.client;
    let (sender, closed) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let url = raw(move |stream, _| {
        // Nothing more comes except the end.
        let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
        let ended = matches!(std::io::Read::read(stream, &mut [0]), Ok(0));
        let _ = sender.lock().unwrap().send(ended);
    });
    register(client, "slow", &url, "x").await;
    publish(client, "slow", &["a"], 10_000).await;
    let traces: Vec<_> = (0..40)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.trace(&request("a")).await.map(drop) })
        })
        .collect();
    let deadline = Instant::now() + Duration::from_secs(4);
    // 16 of them wait, the others are rejected.
    while traces.iter().filter(|trace| trace.is_finished()).count() < 24 {
        assert!(Instant::now() < deadline, "nobody is refused");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (mut refused, mut waiting) = (0, 0);
    for trace in traces {
        match trace.is_finished() {
            true => {
                let code = trace.await.unwrap().unwrap_err().code();
                assert_eq!(code, Some(Code::Busy));
                refused += 1;
            }
            false => {
                trace.abort();
                waiting += 1;
            }
        }
    }
    assert_eq!((refused, waiting), (24, 16));
    let ended = tokio::task::spawn_blocking(move || {
        (0..16).all(|_| closed.recv_timeout(Duration::from_secs(10)) == Ok(true))
    });
    assert!(ended.await.unwrap(), "sites are asked on behalf of nobody");
    running.stop().await;
}
