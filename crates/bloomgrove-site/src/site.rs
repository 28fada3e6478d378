//! A whole site: binding, reading the log, serving, publishing, shutting down.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use bloomgrove_http::access::{Access, KeyEntry, Role, hash_of};
use bloomgrove_http::budget::Budget;
use bloomgrove_http::config::Limits;
use bloomgrove_http::front;
use bloomgrove_http::guard::Guard;
use bloomgrove_http::listen::{Listeners, until_signals};
use bloomgrove_http::observe::health::Health;
use tokio::sync::watch;

use crate::config::SiteConfig;
use crate::handle::Handle;
use crate::http::{self, COORDINATOR};

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// None at present; see [`Site::run`].
pub async fn run(site: Site) -> Result<()> {
    until_signals(site.stopper(), site.run()).await
}

/// A site that has bound its addresses and read its log.
pub struct Site {
    handle: Handle,
    access: Access,
    limits: Limits,
    slow: Duration,
    listeners: Listeners,
}

impl Site {
    /// Checks the configuration, binds the addresses and reads the log; connections wait until [`run`](Self::run).
    ///
    /// # Errors
    /// If the configuration is invalid, an address is not available, or the data directory cannot be used.
    pub async fn bind(config: SiteConfig) -> Result<Self> {
        config.check().map_err(anyhow::Error::msg)?;
        let listeners = Listeners::bind(&config.listen, config.tls.as_ref())?;
        let url = config.advertise.clone();
        let url = url.or_else(|| listeners.urls().into_iter().next());
        let client = config.coordinator.as_ref();
        let client = client.map(|coordinator| coordinator.client()).transpose()?;
        let own = config.clone();
        let open = move || Handle::open(&own, url.unwrap_or_default(), client);
        let handle = tokio::task::spawn_blocking(open).await??;
        let access = access(&config.keys, handle.key()).map_err(anyhow::Error::msg)?;
        Ok(Self {
            handle,
            access,
            limits: config.limits,
            slow: config.log.slow,
            listeners,
        })
    }

    /// The addresses it listens on, with the actual ports where 0 was given.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.listeners.addresses()
    }

    /// The URLs at which it can be reached.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.listeners.urls()
    }

    /// Stops the site when true is sent.
    #[must_use]
    pub fn stopper(&self) -> watch::Sender<bool> {
        self.listeners.stopper()
    }

    /// For recording and querying without HTTP.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Serves and publishes until it is stopped.
    ///
    /// # Errors
    /// None at present: an error on one connection does not stop the site.
    pub async fn run(self) -> Result<()> {
        for url in self.urls() {
            tracing::info!(site = self.handle.name(), url, "listening");
        }
        let health = Health::default();
        let router = http::router(self.handle.clone()).merge(health.router());
        let budget = Budget::new(self.limits.memory);
        let guard = Guard::new(self.access);
        let router = front::before(router, guard, &self.limits, budget, self.slow);
        let stop = self.listeners.stopper();
        let mut stopped = stop.subscribe();
        let publisher = self.handle.publisher().cloned();
        health.set_ready(true);
        let not_ready = async {
            drop(stopped.wait_for(|stop| *stop).await);
            // From the start of the shutdown, while requests are finished.
            health.set_ready(false);
        };
        let publishing = async {
            if let Some(publisher) = publisher {
                publisher.run(stop.subscribe()).await;
            }
        };
        let serving = self.listeners.serve(router, &self.limits);
        let (served, (), ()) = tokio::join!(serving, not_ready, publishing);
        let handle = self.handle.clone();
        tokio::task::spawn_blocking(move || handle.close()).await?;
        tracing::info!(site = self.handle.name(), "stopped; all data is on disk");
        Ok(served?)
    }
}

/// The access keys of the configuration, and that of the coordinator. Without any in the configuration, every
/// client may do everything.
fn access(keys: &[KeyEntry], coordinator: &str) -> Result<Access, String> {
    if keys.is_empty() {
        return Ok(Access::open());
    }
    let mut keys = keys.to_vec();
    let sha256 = hash_of(coordinator);
    keys.push(KeyEntry::new(COORDINATOR, Role::Read, sha256, ""));
    Access::new(&keys)
}
