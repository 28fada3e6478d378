//! A server from its addresses to its end.

use std::io;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{bind, raise_file_limit, serve_all, stop_on_signals};
use crate::config::{Limits, TlsFiles};
use crate::observe::metrics;
use crate::tls::{LOOK_EVERY, Tls};

/// Addresses that a server has; connections wait there until [`serve`](Self::serve).
pub struct Listeners {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    tls: Option<Tls>,
    stop: watch::Sender<bool>,
}

impl Listeners {
    /// Takes these addresses, and loads the certificate.
    ///
    /// # Errors
    /// An address that cannot be had; a certificate that is no good.
    pub fn bind(wanted: &[SocketAddr], tls: Option<&TlsFiles>) -> Result<Self> {
        let tls = tls.map(Tls::load).transpose().map_err(anyhow::Error::msg)?;
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for address in wanted {
            let listener = bind(*address).with_context(|| {
                format!("cannot listen on {address}; is another server there? take another port")
            })?;
            addresses.push(listener.local_addr()?);
            listeners.push(listener);
        }
        Ok(Self {
            listeners,
            addresses,
            tls,
            stop: watch::channel(false).0,
        })
    }

    /// Where it listens: the real ports, where 0 was asked for.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where to point a browser.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let url = |address: &SocketAddr| format!("{scheme}://{address}");
        self.addresses.iter().map(url).collect()
    }

    /// What ends it: send true.
    #[must_use]
    pub fn stopper(&self) -> watch::Sender<bool> {
        self.stop.clone()
    }

    /// Serves until it is stopped, and finishes the requests under way.
    ///
    /// # Errors
    /// None for now: what goes wrong with one connection does not end the server.
    pub async fn serve(self, router: Router, limits: &Limits) -> io::Result<()> {
        metrics::start();
        raise_file_limit();
        let is_remote = |address: &SocketAddr| !address.ip().is_loopback();
        if self.tls.is_none() && self.addresses.iter().any(is_remote) {
            tracing::warn!(
                "keys travel unencrypted: configure TLS, or put a proxy with TLS before"
            );
        }
        let mut beside = JoinSet::new();
        beside.spawn(metrics::sum_up());
        if let Some(tls) = &self.tls {
            beside.spawn(tls.clone().keep_fresh(LOOK_EVERY));
        }
        let stop = self.stop.subscribe();
        let served = serve_all(self.listeners, router, self.tls, limits, stop).await;
        beside.shutdown().await;
        served
    }
}

/// Runs a server, and stops it on SIGTERM or SIGINT.
pub async fn until_signals<T>(stop: watch::Sender<bool>, running: impl Future<Output = T>) -> T {
    let signals = tokio::spawn(stop_on_signals(stop));
    let ended = running.await;
    signals.abort();
    ended
}
