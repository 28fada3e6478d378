//! Several bad sites together: they take neither the bytes nor the time of the others.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use bloomgrove_client::api::{LineageQuery, Trace};

use crate::fake::{Fake, publish, raw, register, write_json};
use crate::hostile::{link_json, request, used};
use crate::support::Running;

/// A trace of `a` over a chain of honest sites, with three others that serve like this and are queried first.
async fn chain_beside_three(
    serve: impl Fn(&mut TcpStream, &str) + Clone + Send + Sync + 'static,
) -> Trace {
    let time = Duration::from_secs(10);
    let running = Running::start_with(|config| config.trace.site_time = time).await;
    let client = &running.client;
    for (name, effect, cause) in [("h1", "a", "b"), ("h2", "b", "c"), ("h3", "c", "d")] {
        Fake::with(client, name, &[used(effect, cause)]).await;
    }
    for name in ["liar one", "liar two", "liar three"] {
        register(client, name, &raw(serve.clone()), "x").await;
        publish(client, name, &["a"], 10_000).await;
    }
    let mut request = request("a");
    request.seconds = Some(20.0);
    let trace = client.trace(&request).await.unwrap();
    running.stop().await;
    assert!(!trace.complete);
    for link in [used("a", "b"), used("b", "c"), used("c", "d")] {
        assert!(
            trace.links.iter().any(|found| found.link == link),
            "{link:?}"
        );
    }
    for missing in &trace.missing {
        let site = missing.site.as_deref().unwrap_or_default();
        assert!(site.starts_with("liar"), "{missing:?}");
    }
    trace
}

#[tokio::test(flavor = "multi_thread")]
async fn three_sites_that_flood_end_no_trace() {
    let body = format!("{{\"x\":\"{}\"}}", "x".repeat(9 << 20));
    let trace = chain_beside_three(move |stream, _| write_json(stream, &body)).await;
    assert_eq!(trace.missing.len(), 3, "{:?}", trace.missing);
    assert!(
        trace
            .missing
            .iter()
            .all(|missing| missing.why.contains("8 MiB"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn three_sites_that_pad_their_answers_end_no_trace() {
    let trace = chain_beside_three(|stream, body| {
        let question: LineageQuery = serde_json::from_str(body).unwrap();
        let id = &question.ids[0].id;
        let next = format!("{id}.");
        let (link, pad) = (link_json(id, &next), " ".repeat(7 << 20));
        let body = format!("{{\"links\":[{link}],{pad}\"nodes\":[],\"open\":[\"{next}\"]}}");
        write_json(stream, &body);
    })
    .await;
    assert_eq!(trace.missing.len(), 3, "{:?}", trace.missing);
    assert!(
        trace
            .missing
            .iter()
            .all(|missing| missing.why.contains("half of what other sites have left"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sites_that_stall_hold_up_one_trace_and_not_the_others() {
    let time = Duration::from_secs(20);
    let running = Running::start_with(|config| config.trace.site_time = time).await;
    let client = &running.client;
    let url = raw(|_, _| std::thread::sleep(Duration::from_secs(20)));
    for n in 0..70 {
        let name = format!("slow{n:02}");
        register(client, &name, &url, "x").await;
        publish(client, &name, &["a"], 1000).await;
    }
    let _honest = Fake::with(client, "honest", &[used("x", "y")]).await;
    let stalled = {
        let client = client.clone();
        let mut request = request("a");
        request.seconds = Some(3.0);
        tokio::spawn(async move { client.trace(&request).await.unwrap() })
    };
    // While that one waits, other traces succeed.
    let deadline = Instant::now() + Duration::from_secs(2);
    while Instant::now() < deadline {
        let mut request = request("x");
        request.seconds = Some(0.5);
        let found = client.trace(&request).await.unwrap();
        assert!(found.complete, "{:?}", found.missing);
        assert_eq!(found.links.len(), 1);
    }
    let found = stalled.await.unwrap();
    let told = |why: &str| found.missing.iter().filter(|m| m.why.contains(why)).count();
    assert_eq!(told("had not answered by the time limit"), 32);
    assert_eq!(told("was not queried in time"), 38);
    assert_eq!((found.missing.len(), found.cost.requests), (71, 32));
    assert_eq!(found.sites.len(), 32);
    running.stop().await;
}
