//! Made-up sites: honest ones with some links, and others that send arbitrary bytes.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use bloomgrove::{Filter, Params};
use bloomgrove_client::Client;
use bloomgrove_client::api::{Lineage, LineageQuery, Link, Node, RegisterSite};

/// The contents of a site.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holds {
    pub(crate) links: BTreeSet<Link>,
    pub(crate) nodes: BTreeMap<String, Node>,
    /// Links in one answer.
    pub(crate) limit: usize,
}

impl Holds {
    /// Everything that it knows: ends of links, and what is described.
    pub(crate) fn ids(&self) -> BTreeSet<&str> {
        let ends = self
            .links
            .iter()
            .flat_map(|link| [&link.effect, &link.cause]);
        ends.chain(self.nodes.keys()).map(String::as_str).collect()
    }

    /// The description of an id, if it is known.
    pub(crate) fn node(&self, id: &str) -> Option<Node> {
        let bare = || Node {
            id: id.to_owned(),
            ..Node::default()
        };
        let is_end = |link: &Link| link.effect == id || link.cause == id;
        let known = self.nodes.get(id).cloned();
        known.or_else(|| self.links.iter().any(is_end).then(bare))
    }

    /// Answers like a site.
    pub(crate) fn lineage(&self, request: &LineageQuery) -> Lineage {
        let limit = request
            .links
            .map_or(self.limit, |links| self.limit.min(links as usize));
        let mut ahead: BinaryHeap<(u64, &str)> = BinaryHeap::new();
        for start in &request.ids {
            ahead.push((start.depth.map_or(u64::MAX, u64::from), &start.id));
        }
        let (mut links, mut open) = (BTreeSet::new(), BTreeSet::new());
        let mut seen = HashSet::new();
        while let Some((left, id)) = ahead.pop() {
            if !seen.insert(id) || left == 0 {
                continue;
            }
            let own: Vec<(&Link, &str)> = self
                .links
                .iter()
                .filter_map(|link| Some((link, link.from(id, request.direction)?)))
                .collect();
            if links.len() + own.len() > limit {
                open.insert(id.to_owned());
                if !links.is_empty() {
                    continue;
                }
            }
            for (link, there) in own.into_iter().take(limit) {
                links.insert(link.clone());
                ahead.push((left.saturating_sub(u64::from(left != u64::MAX)), there));
            }
        }
        let nodes = seen.iter().filter_map(|id| self.node(id));
        let nodes: BTreeMap<String, Node> = nodes.map(|node| (node.id.clone(), node)).collect();
        Lineage {
            links: links.into_iter().collect(),
            nodes: nodes.into_values().collect(),
            open: open.into_iter().collect(),
        }
    }
}

#[derive(Debug, Default)]
struct Inner {
    holds: Mutex<Holds>,
    /// The access keys that it received.
    keys: Mutex<BTreeSet<String>>,
}

/// An honest site.
#[derive(Clone, Debug)]
pub(crate) struct Fake {
    inner: Arc<Inner>,
    pub(crate) name: String,
    pub(crate) url: String,
}

async fn answer(
    State(inner): State<Arc<Inner>>,
    headers: HeaderMap,
    Json(request): Json<LineageQuery>,
) -> Json<Lineage> {
    let key = headers
        .get("authorization")
        .map(|key| key.to_str().unwrap().to_owned());
    inner.keys.lock().unwrap().insert(key.unwrap_or_default());
    Json(inner.holds.lock().unwrap().lineage(&request))
}

impl Fake {
    pub(crate) async fn start(name: &str) -> Self {
        let inner = Arc::new(Inner::default());
        let router = Router::new()
            .route("/v1/lineage", post(answer))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(inner.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let name = name.to_owned();
        Self { inner, name, url }
    }

    pub(crate) fn key(&self) -> String {
        format!("key-of-{}", self.name.replace(' ', "-"))
    }

    /// The access keys that it received, as headers.
    pub(crate) fn keys(&self) -> BTreeSet<String> {
        self.inner.keys.lock().unwrap().clone()
    }

    pub(crate) fn forget_keys(&self) {
        self.inner.keys.lock().unwrap().clear();
    }

    pub(crate) fn hold(&self, holds: Holds) {
        *self.inner.holds.lock().unwrap() = holds;
    }

    pub(crate) async fn register(&self, client: &Client) {
        register(client, &self.name, &self.url, &self.key()).await;
    }

    /// Its ids in one set of this many bits.
    pub(crate) async fn publish(&self, client: &Client, bits: u64) {
        let ids: Vec<String> = {
            let holds = self.inner.holds.lock().unwrap();
            holds.ids().into_iter().map(str::to_owned).collect()
        };
        publish(client, &self.name, &ids, bits).await;
    }

    /// A site with these links, registered and published.
    pub(crate) async fn with(client: &Client, name: &str, links: &[Link]) -> Self {
        let site = Self::start(name).await;
        site.hold(Holds {
            links: links.iter().cloned().collect(),
            limit: 10_000,
            ..Holds::default()
        });
        site.register(client).await;
        site.publish(client, 10_000).await;
        site
    }
}

pub(crate) async fn register(client: &Client, name: &str, url: &str, key: &str) {
    let site = RegisterSite {
        url: url.into(),
        key: Some(key.into()),
        period: 60,
        pending: 0,
        ..RegisterSite::default()
    };
    client.register_site(name, &site).await.unwrap();
}

pub(crate) async fn publish<S: AsRef<str>>(client: &Client, name: &str, ids: &[S], bits: u64) {
    let mut filter = Filter::new(Params::builder(bits, 3).build().unwrap()).unwrap();
    for id in ids {
        filter.insert(id.as_ref());
    }
    let set = format!("{name}/ids/all");
    client.put_filter(&set, &filter).await.unwrap();
}

/// A server that handles each connection with the given function, after the head of a request has arrived.
pub(crate) fn raw(serve: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serve = Arc::new(serve);
    // Ends with the process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), serve) = (stream, serve.clone()) else {
                return;
            };
            std::thread::spawn(move || {
                let Some(body) = read_request(&mut stream) else {
                    return;
                };
                serve(&mut stream, &body);
            });
        }
    });
    url
}

/// The body of a request.
fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(body.to_owned());
            }
        }
        match stream.read(&mut part) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&part[..read]),
        }
    }
}

/// A whole JSON response.
pub(crate) fn write_json(stream: &mut TcpStream, body: &str) {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // A client that has seen enough does not read the rest.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body.as_bytes());
}
