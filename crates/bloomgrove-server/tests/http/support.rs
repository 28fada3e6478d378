//! A server in this process, and requests to it.

use std::time::{Duration, Instant};

use bloomgrove::{Filter, Params};
use bloomgrove_client::Client;
use bloomgrove_client::api::Problem;
use bloomgrove_server::{Config, Server};
use reqwest::Method;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A server in this process, and a client of it.
pub(crate) struct Running {
    url: String,
    pub(crate) client: Client,
    stop: watch::Sender<bool>,
    server: JoinHandle<anyhow::Result<()>>,
    pub(crate) directory: TempDir,
}

impl Running {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), change).await
    }

    pub(crate) async fn start_in(directory: TempDir, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config {
            data: directory.path().join("data"),
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            ..Config::default()
        };
        change(&mut config);
        let server = Server::bind(config).await.unwrap();
        let url = server.urls().remove(0);
        let running = Self {
            client: Client::new(&url).unwrap(),
            stop: server.stopper(),
            server: tokio::spawn(server.run()),
            url,
            directory,
        };
        let deadline = Instant::now() + Duration::from_secs(30);
        while !running.client.is_ready().await.unwrap_or(false) {
            assert!(
                Instant::now() < deadline,
                "the server does not become ready"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        running
    }

    pub(crate) async fn stop(self) -> TempDir {
        self.stop.send_replace(true);
        drop(self.client);
        self.server.await.unwrap().unwrap();
        self.directory
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A request by hand.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        media: Option<&str>,
        body: impl Into<reqwest::Body>,
    ) -> reqwest::Response {
        let request = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut request = request
            .request(method, format!("{}{path}", self.url()))
            .body(body);
        if let Some(media) = media {
            request = request.header("content-type", media);
        }
        request.send().await.unwrap()
    }

    /// The problem that a request by hand is answered with.
    pub(crate) async fn refused(
        &self,
        method: Method,
        path: &str,
        media: Option<&str>,
        body: impl Into<reqwest::Body>,
    ) -> Problem {
        let response = self.send(method, path, media, body).await;
        let status = response.status();
        assert!(
            status.is_client_error() || status.as_u16() == 507,
            "{path}: {status}"
        );
        let media = response.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        assert_eq!(media, "application/problem+json", "{path}");
        let problem: Problem = response.json().await.unwrap();
        assert_eq!(problem.status, status.as_u16(), "{path}");
        assert!(
            !problem.detail.is_empty() && !problem.request.is_empty(),
            "{problem:?}"
        );
        problem
    }
}

pub(crate) fn filter(keys: &[&str]) -> Filter {
    let mut filter = Filter::new(Params::builder(10_000, 5).build().unwrap()).unwrap();
    filter.insert_batch(keys);
    filter
}

pub(crate) async fn holders(client: &Client, key: &str) -> Vec<String> {
    client.which_one(key).await.unwrap().sets.unwrap()
}
