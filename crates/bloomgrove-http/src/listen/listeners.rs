//! Running a server, from binding its addresses to shutdown.

use std::io;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{bind, raise_file_limit, serve_all, stop_on_signals};
use crate::config::{Limits, TlsFiles};
use crate::front::Front;
use crate::observe::metrics;
use crate::tls::{LOOK_EVERY, Tls};

/// The bound addresses of a server; connections wait there until [`serve`](Self::serve).
pub struct Listeners {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    tls: Option<Tls>,
    stop: watch::Sender<bool>,
}

impl Listeners {
    /// Binds these addresses and loads the certificate.
    ///
    /// # Errors
    /// If an address is not available, or the certificate is invalid.
    pub fn bind(wanted: &[SocketAddr], tls: Option<&TlsFiles>) -> Result<Self> {
        let tls = tls.map(Tls::load).transpose().map_err(anyhow::Error::msg)?;
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for address in wanted {
            let listener = bind(*address).with_context(|| {
                format!("cannot listen on {address} (choose another with --listen)")
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

    /// The addresses it listens on, with the actual ports where 0 was given.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The URLs to open in a browser.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let url = |address: &SocketAddr| format!("{scheme}://{address}");
        self.addresses.iter().map(url).collect()
    }

    /// Stops the server when true is sent.
    #[must_use]
    pub fn stopper(&self) -> watch::Sender<bool> {
        self.stop.clone()
    }

    /// Serves until it is stopped, and finishes the requests in progress.
    ///
    /// # Errors
    /// None at present: an error on one connection does not stop the server.
    pub async fn serve(self, front: Front, limits: &Limits) -> io::Result<()> {
        metrics::start();
        raise_file_limit();
        let is_remote = |address: &SocketAddr| !address.ip().is_loopback();
        if self.tls.is_none() && self.addresses.iter().any(is_remote) {
            tracing::warn!(
                "access keys are sent unencrypted; configure TLS, or use a proxy with TLS"
            );
        }
        let mut background = JoinSet::new();
        background.spawn(metrics::aggregate());
        if let Some(tls) = &self.tls {
            background.spawn(tls.clone().keep_fresh(LOOK_EVERY));
        }
        let stop = self.stop.subscribe();
        let served = serve_all(self.listeners, front, self.tls, limits, stop).await;
        background.shutdown().await;
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
