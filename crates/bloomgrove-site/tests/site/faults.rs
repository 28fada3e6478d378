//! Whatever happens between a site and its coordinator, no id is missed.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bloomgrove_client::api::{Code, TraceQuery};
use bloomgrove_server::Error;
use bloomgrove_site::{Handle, Site, SiteConfig};
use http::StatusCode;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::support::*;

/// What happens to the next requests.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// The request is lost.
    LostRequest,
    /// The response is lost.
    LostAnswer,
    /// The same, for deltas only.
    LostDelta,
    /// Rejected, as if it were made for other bits.
    SendWhole,
    /// Rejected, as if the disk were full: heartbeats need none.
    NoRoom,
    /// The connection breaks after the next one.
    Breaks,
}

/// The connection between a site and its coordinator.
#[derive(Clone)]
struct Line {
    url: String,
    there: String,
    fault: Arc<Mutex<Fault>>,
    client: reqwest::Client,
}

impl Line {
    async fn new(there: String) -> Self {
        let _ = rustls_provider();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let line = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            there,
            fault: Arc::new(Mutex::new(Fault::None)),
            client: reqwest::Client::builder()
                .no_proxy()
                .tls_certs_only([])
                .build()
                .unwrap(),
        };
        let router = axum::Router::new().fallback(pass).with_state(line.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        line
    }

    fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }
}

/// Creating one of our clients selects the cryptography for the process.
fn rustls_provider() -> bloomgrove_client::Client {
    bloomgrove_client::Client::new("http://127.0.0.1:1").unwrap()
}

async fn pass(State(line): State<Line>, request: Request) -> Response {
    let fault = *line.fault.lock().unwrap();
    if fault == Fault::Breaks {
        line.set(Fault::LostRequest);
    }
    let refuse = |code| Error::new(code, "by the test").into_response();
    match fault {
        Fault::LostRequest => return StatusCode::BAD_GATEWAY.into_response(),
        Fault::SendWhole if request.method() == "POST" => {
            return refuse(Code::SendWhole);
        }
        Fault::NoRoom if !request.uri().path().starts_with("/v1/sites/") => {
            return refuse(Code::Storage);
        }
        _ => {}
    }
    let is_delta = request.method() == "POST";
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let mut headers = parts.headers;
    headers.remove("host");
    let to = format!("{}{}", line.there, parts.uri);
    let sent = line
        .client
        .request(parts.method, to)
        .headers(headers)
        .body(body);
    let Ok(answer) = sent.send().await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    if fault == Fault::LostAnswer || (fault == Fault::LostDelta && is_delta) {
        return StatusCode::GATEWAY_TIMEOUT.into_response();
    }
    let (status, kind) = (
        answer.status(),
        answer.headers().get("content-type").cloned(),
    );
    let mut response = Response::new(Body::from(answer.bytes().await.unwrap()));
    *response.status_mut() = status;
    if let Some(kind) = kind {
        response.headers_mut().insert("content-type", kind);
    }
    response
}

/// A lost response does not cost a whole filter.
#[tokio::test]
async fn a_delta_whose_answer_was_lost_is_sent_again() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let coordinator = coordinator(far.path(), 0).await;
    let line = Line::new(coordinator.url.clone()).await;
    let (running, site) = site(config(near.path(), &line.url)).await;
    site.record(vec![derived(&["a"], "b")]).await.unwrap();
    site.publish().await.unwrap();
    line.set(Fault::LostDelta);
    site.record(vec![derived(&["b"], "c")]).await.unwrap();
    assert!(site.publish().await.is_err());
    site.record(vec![derived(&["c"], "d")]).await.unwrap();
    assert!(site.publish().await.is_err());
    line.set(Fault::None);
    site.publish().await.unwrap();
    let ids = ["a", "b", "c", "d"].map(str::to_owned);
    assert!(
        missing(&coordinator.client(), "galway", &ids)
            .await
            .is_empty()
    );
    let status = site.status();
    assert_eq!(status.sets[0].pending, 0);
    let sent = status.coordinator.unwrap();
    assert_eq!((sent.whole, sent.deltas), (1, 4));
    running.stop().await;
    coordinator.stop().await;
}

/// Restores an older copy of a store without its head file, so that it is taken for current.
fn put_back(copy: &Path, store: &Path) {
    std::fs::copy(copy, store).unwrap();
    std::fs::remove_file(store.with_extension("head")).unwrap();
}

/// A set that was dropped from a salvaged store is restored by its site.
#[tokio::test]
async fn a_coordinator_that_was_salvaged_gets_what_it_dropped() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let there = coordinator(far.path(), 0).await;
    let port: u16 = there.url.rsplit(':').next().unwrap().parse().unwrap();
    let (running, site) = site(config(near.path(), &there.url)).await;
    let ids = ["a", "b"].map(str::to_owned);
    site.record(vec![derived(&["a"], "b")]).await.unwrap();
    site.publish().await.unwrap();
    there.stop().await;
    let store = far.path().join("store.redb");
    let mut bytes = std::fs::read(&store).unwrap();
    let name = b"galway/ids/all";
    for at in 0..bytes.len() - name.len() {
        if bytes[at..].starts_with(name) {
            bytes[at] ^= 1;
        }
    }
    std::fs::write(&store, bytes).unwrap();
    let told = bloomgrove_server::coordinator::salvage(far.path()).unwrap();
    assert!(
        told.join(" ").contains("names are lost, too: 1"),
        "{told:?}"
    );

    let there = coordinator(far.path(), port).await;
    let client = there.client();
    assert_eq!(missing(&client, "galway", &ids).await, ids);
    site.publish().await.unwrap();
    assert!(missing(&client, "galway", &ids).await.is_empty());
    running.stop().await;
    there.stop().await;
}

/// Also if the site has nothing new.
#[tokio::test]
async fn a_coordinator_that_went_back_or_lost_a_set_gets_it_whole() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let there = coordinator(far.path(), 0).await;
    let port: u16 = there.url.rsplit(':').next().unwrap().parse().unwrap();
    let (running, site) = site(config(near.path(), &there.url)).await;
    let ids = ["a", "b", "c"].map(str::to_owned);
    site.record(vec![derived(&["a"], "b")]).await.unwrap();
    site.publish().await.unwrap();
    there.stop().await;
    let (store, copy) = (far.path().join("store.redb"), far.path().join("copy"));
    std::fs::copy(&store, &copy).unwrap();

    let there = coordinator(far.path(), port).await;
    site.record(vec![derived(&["b"], "c")]).await.unwrap();
    site.publish().await.unwrap();
    assert!(missing(&there.client(), "galway", &ids).await.is_empty());
    there.stop().await;
    put_back(&copy, &store);

    let there = coordinator(far.path(), port).await;
    let client = there.client();
    assert_eq!(missing(&client, "galway", &ids).await, ["c"]);
    site.publish().await.unwrap();
    assert!(missing(&client, "galway", &ids).await.is_empty());
    client.remove("galway/ids/all").await.unwrap();
    assert_eq!(missing(&client, "galway", &ids).await, ids);
    site.publish().await.unwrap();
    assert!(missing(&client, "galway", &ids).await.is_empty());
    assert_eq!(site.status().coordinator.unwrap().whole, 3);
    running.stop().await;
    there.stop().await;
}

/// No trace is complete while the coordinator lacks something, and all are from the end of the round that sends
/// it.
#[tokio::test]
async fn a_coordinator_that_lacks_something_knows_it() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let coordinator = coordinator(far.path(), 0).await;
    let line = Line::new(coordinator.url.clone()).await;
    let (running, site) = site(config(near.path(), &line.url)).await;
    let client = coordinator.client();
    let lacks = async || {
        let question = TraceQuery {
            ids: vec!["nobody".into()],
            ..TraceQuery::default()
        };
        let mut missing = client.trace(&question).await.unwrap().missing;
        missing.pop().map_or(String::new(), |missing| missing.why)
    };
    site.record(vec![derived(&["a"], "b")]).await.unwrap();
    site.publish().await.unwrap();
    assert_eq!(lacks().await, "");
    client.remove("galway/ids/all").await.unwrap();
    assert!(lacks().await.starts_with("1 of its sets"));
    site.publish().await.unwrap();
    assert_eq!(lacks().await, "");
    // A delta needs no second heartbeat.
    site.record(vec![derived(&["b"], "c")]).await.unwrap();
    site.publish().await.unwrap();
    assert_eq!(lacks().await, "");
    line.set(Fault::NoRoom);
    site.record(vec![derived(&["c"], "d")]).await.unwrap();
    assert!(site.publish().await.is_err());
    assert!(
        lacks()
            .await
            .starts_with("2 of its ids could not be published")
    );
    line.set(Fault::None);
    site.publish().await.unwrap();
    assert_eq!(lacks().await, "");
    running.stop().await;
    coordinator.stop().await;
}

/// The coordinator also had a set that was rebuilt: if it is deleted before the new one is sent whole, no trace is complete,
/// whatever happens to the connection.
#[tokio::test]
async fn a_set_that_grew_and_is_gone_is_missed() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let coordinator = coordinator(far.path(), 0).await;
    let line = Line::new(coordinator.url.clone()).await;
    let (running, site) = site(config(near.path(), &line.url)).await;
    let client = coordinator.client();
    let trace = async || {
        let question = TraceQuery {
            ids: vec!["b".into()],
            ..TraceQuery::default()
        };
        client.trace(&question).await.unwrap()
    };
    site.record(vec![derived(&["a"], "b")]).await.unwrap();
    site.publish().await.unwrap();
    assert!(trace().await.complete);
    let bits = site.status().sets[0].bits;
    let many = (0..100).map(|n| derived(&[], &format!("doc {n}")));
    let many = many.map(|event| bloomgrove_client::api::Event {
        kind: bloomgrove_client::api::EventKind::Created,
        ..event
    });
    site.record(many.collect()).await.unwrap();
    assert!(site.status().sets[0].bits > bits);
    client.remove("galway/ids/all").await.unwrap();
    line.set(Fault::Breaks);
    assert!(site.publish().await.is_err());
    let found = trace().await;
    assert!(found.links.is_empty() && !found.complete, "{found:?}");
    line.set(Fault::None);
    site.publish().await.unwrap();
    let found = trace().await;
    assert!(!found.links.is_empty() && found.complete, "{found:?}");
    running.stop().await;
    coordinator.stop().await;
}

/// Random events, restarts and crashes of the site, lost requests and responses, rejections, a coordinator that disappears,
/// comes back in the same or an older state, or has lost a set: after one undisturbed round every id is found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_id_is_ever_missed() {
    let (mut whole, mut deltas) = (0, 0);
    for seed in 0..8 {
        let sent = chaos(seed).await;
        (whole, deltas) = (whole + sent.0, deltas + sent.1);
    }
    // Otherwise it would only show that whole filters work.
    assert!(whole > 10 && deltas > 10, "{whole} whole, {deltas} deltas");
}

async fn chaos(seed: u64) -> (u64, u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let backup = tempfile::tempdir().unwrap();
    let mut coordinator = Some(coordinator(far.path(), 0).await);
    let url = coordinator.as_ref().unwrap().url.clone();
    let port: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
    let line = Line::new(url).await;
    let config = config(near.path(), &line.url);
    let (mut running, mut site) = self::site(config.clone()).await;
    let (mut ids, mut saved, mut sent) = (Vec::new(), false, (0, 0));
    for step in 0..80 {
        line.set(match random.random_range(0..8) {
            0 => Fault::LostRequest,
            1 => Fault::LostAnswer,
            2 => Fault::SendWhole,
            3 => Fault::NoRoom,
            _ => Fault::None,
        });
        match random.random_range(0..12) {
            0..=3 => {
                let count = random.random_range(1..8);
                let names: Vec<String> = (0..count).map(|n| format!("{step} {n}")).collect();
                let events = names.iter().map(|name| derived(&["root"], name)).collect();
                site.record(events).await.unwrap();
                ids.extend(names);
            }
            4..=7 => drop(site.publish().await),
            8 => {
                sent = add(sent, &site);
                match random.random_range(0..2) {
                    0 => running.stop().await,
                    _ => running.crash().await,
                }
                drop(site);
                (running, site) = restart(&config).await;
            }
            9 => {
                // Gone, or back again.
                coordinator = match coordinator {
                    Some(there) => {
                        there.stop().await;
                        None
                    }
                    None => Some(self::coordinator(far.path(), port).await),
                };
            }
            10 => {
                if let Some(there) = coordinator.take() {
                    there.stop().await;
                }
                let (store, copy) = (far.path().join("store.redb"), backup.path().join("copy"));
                match saved && random.random_range(0..2) == 0 {
                    true => put_back(&copy, &store),
                    false => drop(std::fs::copy(&store, &copy).unwrap()),
                }
                saved = true;
                coordinator = Some(self::coordinator(far.path(), port).await);
            }
            _ => {
                if let Some(there) = &coordinator {
                    let _ = there.client().remove("galway/ids/all").await;
                }
            }
        }
    }
    if coordinator.is_none() {
        coordinator = Some(self::coordinator(far.path(), port).await);
    }
    let coordinator = coordinator.unwrap();
    line.set(Fault::None);
    site.publish().await.unwrap();
    assert_eq!(
        site.status()
            .sets
            .iter()
            .map(|set| set.pending)
            .sum::<u64>(),
        0
    );
    let lost = missing(&coordinator.client(), "galway", &ids).await;
    assert!(lost.is_empty(), "seed {seed}: {lost:?} of {}", ids.len());
    let sent = add(sent, &site);
    running.stop().await;
    coordinator.stop().await;
    sent
}

fn add(sent: (u64, u64), site: &Handle) -> (u64, u64) {
    let status = site.status().coordinator.unwrap();
    (sent.0 + status.whole, sent.1 + status.deltas)
}

/// The log of a crashed site is free once its last work is done.
async fn restart(config: &SiteConfig) -> (Running, Handle) {
    for _ in 0..500 {
        match Site::bind(config.clone()).await {
            Ok(bound) => {
                drop(bound);
                return site(config.clone()).await;
            }
            Err(error) if format!("{error:#}").contains("another process") => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Err(error) => panic!("{error:#}"),
        }
    }
    panic!("the log stays open");
}
