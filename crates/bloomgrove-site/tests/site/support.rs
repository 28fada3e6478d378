//! Sites and coordinators in this process, on ports of their own.

use std::path::Path;
use std::time::Duration;

use bloomgrove_client::api::{Event, EventKind, Key, WhichQuery, site_of_set};
use bloomgrove_client::{Client, Site as Remote};
use bloomgrove_server::{Config, Server};
use bloomgrove_site::{CoordinatorConfig, Handle, Site, SiteConfig};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(crate) struct Running {
    pub(crate) url: String,
    stop: watch::Sender<bool>,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        let ended = tokio::time::timeout(Duration::from_secs(20), self.task).await;
        ended.expect("it ends in time").unwrap().unwrap();
    }

    /// As if the machine went off: nothing more is sent.
    pub(crate) async fn crash(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.url).unwrap()
    }

    pub(crate) fn remote(&self) -> Remote {
        Remote::new(self.client())
    }
}

/// A coordinator on this port, or on any.
pub(crate) async fn coordinator(data: &Path, port: u16) -> Running {
    let config = Config {
        data: data.into(),
        listen: vec![([127, 0, 0, 1], port).into()],
        ..Config::default()
    };
    start_coordinator(config).await
}

pub(crate) async fn start_coordinator(config: Config) -> Running {
    let server = Server::bind(config).await.unwrap();
    let (url, stop) = (server.urls().remove(0), server.stopper());
    let task = tokio::spawn(server.run());
    let running = Running { url, stop, task };
    let client = running.client();
    eventually("the coordinator is ready", async || {
        client.is_ready().await.unwrap_or(false)
    })
    .await;
    running
}

/// A site whose period never ends: it publishes when it is told to.
pub(crate) fn config(data: &Path, coordinator: &str) -> SiteConfig {
    SiteConfig {
        name: "galway".into(),
        data: data.into(),
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        coordinator: Some(CoordinatorConfig::new(coordinator)),
        period: Duration::from_secs(86_400),
        expect: 50,
        ..SiteConfig::default()
    }
}

pub(crate) async fn site(config: SiteConfig) -> (Running, Handle) {
    let site = Site::bind(config).await.unwrap();
    let (url, stop, handle) = (site.urls().remove(0), site.stopper(), site.handle());
    let task = tokio::spawn(site.run());
    (Running { url, stop, task }, handle)
}

/// An event that makes `output` of `inputs`.
pub(crate) fn derived(inputs: &[&str], output: &str) -> Event {
    Event {
        kind: EventKind::Derived,
        id: Some(format!("urn:event:{output}")),
        inputs: inputs.iter().map(|&id| id.into()).collect(),
        outputs: vec![output.into()],
        ..Event::default()
    }
}

/// Which of the ids the coordinator would not come to this site for.
pub(crate) async fn missing(client: &Client, site: &str, ids: &[String]) -> Vec<String> {
    if ids.is_empty() {
        return Vec::new();
    }
    let keys: Vec<Key> = ids.iter().map(|id| Key::from(id.as_str())).collect();
    let question = WhichQuery {
        keys,
        ..WhichQuery::default()
    };
    let which = client.which(&question).await.unwrap();
    let answers = ids.iter().zip(which.answers);
    let unknown = answers.filter(|(_, answer)| {
        let mut sets = answer.sets.iter().flatten();
        !sets.any(|set| site_of_set(set) == Some(site))
    });
    unknown.map(|(id, _)| id.clone()).collect()
}

/// Waits until it is so, ten seconds at most.
pub(crate) async fn eventually(what: &str, so: impl AsyncFn() -> bool) {
    for _ in 0..1000 {
        if so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not in ten seconds: {what}");
}
