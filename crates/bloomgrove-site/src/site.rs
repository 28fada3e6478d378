//! The whole: binds, reads the log, serves, publishes, and ends in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bloomgrove_server::access::{Access, KeyEntry, Role, hash_of};
use bloomgrove_server::budget::Budget;
use bloomgrove_server::config::Limits;
use bloomgrove_server::guard::{self, Door};
use bloomgrove_server::observe::health::Health;
use bloomgrove_server::observe::metrics;
use bloomgrove_server::tls::Tls;
use bloomgrove_server::{front, listen};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::config::SiteConfig;
use crate::handle::Handle;
use crate::http::{self, COORDINATOR};

/// How often certificates are looked at that may have changed.
const RELOAD: Duration = Duration::from_secs(5);
/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// None for now; see [`Site::run`].
pub async fn run(site: Site) -> Result<()> {
    let stop = site.stopper();
    let signals = tokio::spawn(listen::stop_on_signals(stop));
    let ended = site.run().await;
    signals.abort();
    ended
}

/// A site that has its addresses and has read its log.
pub struct Site {
    handle: Handle,
    access: Arc<Access>,
    tls: Option<Tls>,
    limits: Limits,
    slow: Duration,
    shows_keys: bool,
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    stop: watch::Sender<bool>,
}

impl Site {
    /// Checks the configuration, takes the addresses and reads the log; connections wait until
    /// [`run`](Self::run).
    ///
    /// # Errors
    /// What is wrong with the configuration; an address that cannot be had; a data folder that
    /// cannot be used.
    pub async fn bind(config: SiteConfig) -> Result<Self> {
        config.check().map_err(anyhow::Error::msg)?;
        let tls = config.tls.as_ref().map(Tls::load).transpose();
        let tls = tls.map_err(anyhow::Error::msg)?;
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for address in &config.listen {
            let listener = listen::bind(*address).with_context(|| {
                format!("cannot listen on {address}; is another server there? take another port")
            })?;
            addresses.push(listener.local_addr()?);
            listeners.push(listener);
        }
        let url = config.advertise.clone();
        let url = url.or_else(|| urls(&tls, &addresses).into_iter().next());
        let client = config.coordinator.as_ref();
        let client = client.map(|coordinator| coordinator.client()).transpose()?;
        let own = config.clone();
        let open = move || Handle::open(&own, url.unwrap_or_default(), client);
        let handle = tokio::task::spawn_blocking(open).await??;
        let access = access(&config.keys, handle.key()).map_err(anyhow::Error::msg)?;
        Ok(Self {
            shows_keys: config.shows_keys(),
            handle,
            access: Arc::new(access),
            tls,
            limits: config.limits,
            slow: config.slow,
            listeners,
            addresses,
            stop: watch::channel(false).0,
        })
    }

    /// Where it listens: the real ports, where 0 was asked for.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where to reach it.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        urls(&self.tls, &self.addresses)
    }

    /// What ends it: send true.
    #[must_use]
    pub fn stopper(&self) -> watch::Sender<bool> {
        self.stop.clone()
    }

    /// To record and ask without HTTP.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Serves and publishes until it is stopped.
    ///
    /// # Errors
    /// None for now: what goes wrong with one connection does not end the site.
    pub async fn run(self) -> Result<()> {
        metrics::start();
        listen::raise_file_limit();
        for url in self.urls() {
            tracing::info!(site = self.handle.name(), url, "listening");
        }
        if self.shows_keys {
            tracing::warn!(
                "keys travel unencrypted: configure TLS, or put a proxy with TLS before"
            );
        }
        let health = Health::default();
        let door = Door {
            access: self.access,
            is_open: guard::is_health_path,
        };
        let router = http::router(self.handle.clone()).merge(health.router());
        let budget = Budget::new(self.limits.memory);
        let router = front::before_door(router, door, &self.limits, budget, self.slow);
        let mut beside = JoinSet::new();
        beside.spawn(metrics::sum_up());
        if let Some(tls) = &self.tls {
            beside.spawn(tls.clone().keep_fresh(RELOAD));
        }
        let mut stopped = self.stop.subscribe();
        let not_ready = {
            let (health, mut stopped) = (health.clone(), self.stop.subscribe());
            async move {
                drop(stopped.wait_for(|stop| *stop).await);
                // From the first sign of the end on, while requests are finished.
                health.set_ready(false);
            }
        };
        beside.spawn(not_ready);
        health.set_ready(true);
        let publisher = self.handle.publisher().cloned();
        let publishing = async {
            match publisher {
                Some(publisher) => publisher.run(self.stop.subscribe()).await,
                None => drop(stopped.wait_for(|stop| *stop).await),
            }
        };
        let stop = self.stop.subscribe();
        let serving = listen::serve_all(self.listeners, router, self.tls, &self.limits, stop);
        let (served, ()) = tokio::join!(serving, publishing);
        beside.shutdown().await;
        let handle = self.handle.clone();
        tokio::task::spawn_blocking(move || handle.close()).await?;
        tracing::info!(site = self.handle.name(), "stopped; everything is on disk");
        Ok(served?)
    }
}

fn urls(tls: &Option<Tls>, addresses: &[SocketAddr]) -> Vec<String> {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = |address: &SocketAddr| format!("{scheme}://{address}");
    addresses.iter().map(url).collect()
}

/// The keys of the configuration, and that of the coordinator; without any in the configuration,
/// everybody may do everything.
fn access(keys: &[KeyEntry], coordinator: &str) -> Result<Access, String> {
    if keys.is_empty() {
        return Ok(Access::open());
    }
    let mut keys = keys.to_vec();
    let sha256 = hash_of(coordinator);
    keys.push(KeyEntry::new(COORDINATOR, Role::Read, sha256, ""));
    Access::new(&keys)
}
