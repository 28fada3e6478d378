//! The whole: binds, reads the store, serves, and ends in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::http::header;
use anyhow::{Context, Result, bail};
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bloomgrove_client::api::Code;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::access::{self, Access};
use crate::budget::Budget;
use crate::config::Config;
use crate::coordinator::{Coordinator, Limits, salvage};
use crate::http::App;
use crate::observe::health::Health;
use crate::observe::metrics;
use crate::tls::Tls;
use crate::trace::Tracer;
use crate::{Error, demo, front, http, listen, page};

/// How often sets are looked at whose time has come, and certificates that have changed.
const EXPIRE: Duration = Duration::from_secs(1);
const RELOAD: Duration = Duration::from_secs(5);

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// A data folder that cannot be used.
pub async fn run(server: Server) -> Result<()> {
    let stop = server.stopper();
    let signals = tokio::spawn(listen::stop_on_signals(stop));
    let ended = server.run().await;
    signals.abort();
    ended
}

/// A server that has its addresses.
pub struct Server {
    config: Config,
    access: Arc<Access>,
    tls: Option<Tls>,
    tracer: Tracer,
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    stop: watch::Sender<bool>,
}

impl Server {
    /// Checks the configuration and takes the addresses; connections wait until [`run`](Self::run).
    ///
    /// # Errors
    /// What is wrong with the configuration; an address that cannot be had.
    pub async fn bind(config: Config) -> Result<Self> {
        config.check().map_err(anyhow::Error::msg)?;
        let access = Access::new(&config.keys).map_err(anyhow::Error::msg)?;
        let tls = config.tls.as_ref().map(Tls::load).transpose();
        let tls = tls.map_err(anyhow::Error::msg)?;
        let tracer = Tracer::new(&config)?;
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for address in &config.listen {
            let listener = listen::bind(*address).with_context(|| {
                format!("cannot listen on {address}; is another server there? take another port")
            })?;
            addresses.push(listener.local_addr()?);
            listeners.push(listener);
        }
        Ok(Self {
            access: Arc::new(access),
            tls,
            tracer,
            listeners,
            addresses,
            stop: watch::channel(false).0,
            config,
        })
    }

    /// Where it listens: the real ports, where 0 was asked for.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What ends it: send true.
    #[must_use]
    pub fn stopper(&self) -> watch::Sender<bool> {
        self.stop.clone()
    }

    /// Where to point a browser.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let url = |address: &SocketAddr| format!("{scheme}://{address}");
        self.addresses.iter().map(url).collect()
    }

    /// Serves until it is stopped. Whoever asks while the store is read is told so.
    ///
    /// # Errors
    /// A data folder that cannot be used.
    pub async fn run(self) -> Result<()> {
        metrics::start();
        listen::raise_file_limit();
        for url in self.urls() {
            tracing::info!(url, "listening");
        }
        let config = Arc::new(self.config);
        if config.shows_keys() {
            tracing::warn!(
                "keys travel unencrypted: configure TLS, or put a proxy with TLS before"
            );
        }
        let examples = if config.demo {
            demo::examples()
        } else {
            Vec::new()
        };
        let (app, health) = (App::new(examples, self.tracer), Health::default());
        let budget = Budget::new(config.limits.memory);
        let router = front::before(
            router(app.clone(), &health),
            self.access,
            &config.limits,
            budget.clone(),
            config.log.slow,
        );
        let mut beside = JoinSet::new();
        beside.spawn(metrics::sum_up());
        if let Some(tls) = &self.tls {
            beside.spawn(tls.clone().keep_fresh(RELOAD));
        }
        let limits = config.limits.clone();
        let stopped = self.stop.subscribe();
        let serving = listen::serve_all(self.listeners, router, self.tls, &limits, stopped);

        let started = start(config, app.clone(), budget, health, self.stop.subscribe());
        let stop = self.stop.clone();
        let started = async move {
            let ended = started.await;
            // Without a store there is nothing to serve.
            stop.send_replace(true);
            ended
        };
        let (served, started) = tokio::join!(serving, started);
        beside.shutdown().await;
        if let Some(coordinator) = app.coordinator().cloned() {
            tokio::task::spawn_blocking(move || coordinator.close()).await?;
            tracing::info!("stopped; everything is on disk");
        }
        started?;
        Ok(served?)
    }
}

/// Reads the store, is ready then, and looks after expiry until the server is stopped.
async fn start(
    config: Arc<Config>,
    app: App,
    budget: Budget,
    health: Health,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    let opened = tokio::task::spawn_blocking(move || open(&config)).await?;
    let coordinator = Arc::new(opened?);
    budget.beside(coordinator.bytes());
    if app.is_demo() && coordinator.is_empty() {
        fill(&coordinator).await?;
    }
    app.start(coordinator.clone());
    health.set_ready(true);
    loop {
        tokio::select! {
            () = async { drop(stop.wait_for(|stop| *stop).await) } => break,
            () = tokio::time::sleep(EXPIRE) => {
                let gone = coordinator.expire().await;
                if gone > 0 {
                    tracing::info!(sets = gone, "expired");
                }
            }
        }
    }
    // From the first sign of the end on, while requests are finished.
    health.set_ready(false);
    Ok(())
}

/// Reads the store; seconds, for a hundred thousand sets.
fn open(config: &Config) -> Result<Coordinator> {
    let started = Instant::now();
    let limits = Limits {
        keys: config.limits.keys,
        memory: config.limits.memory,
        filter: config.limits.filter,
        // The rest is for sending it.
        time: config.limits.request_time.mul_f64(0.8),
        quotas: access::quotas(&config.keys, config.limits.memory),
    };
    if config.salvage {
        for line in salvage(&config.data)? {
            tracing::warn!("salvage: {line}");
        }
    }
    let coordinator = Coordinator::open(&config.data, config.restore.as_deref(), limits)?;
    if config.demo && !coordinator.is_empty() && coordinator.info(&demo::first_name()).is_err() {
        bail!(
            "{}: holds sets already, which are not those of the demo; take another folder",
            config.data.display()
        );
    }
    let seconds = started.elapsed().as_secs_f64();
    tracing::info!(sets = coordinator.len(), seconds, "read the store");
    Ok(coordinator)
}

/// Data to explore.
async fn fill(coordinator: &Arc<Coordinator>) -> Result<()> {
    let mut puts = JoinSet::new();
    for set in demo::sets() {
        let (set, coordinator) = (set?, coordinator.clone());
        puts.spawn(async move {
            let tags = Some(set.tags);
            coordinator
                .put(&set.name, set.filter, tags, None, None)
                .await
        });
    }
    while let Some(put) = puts.join_next().await {
        put??;
    }
    tracing::info!(sets = coordinator.len(), "made the sets of the demo");
    Ok(())
}

/// All paths.
fn router(app: App, health: &Health) -> Router {
    let metrics = Router::new()
        .route("/metrics", get(prometheus))
        .with_state(app.clone());
    http::router(app)
        .merge(health.router())
        .merge(page::router())
        .merge(metrics)
}

async fn prometheus(State(app): State<App>) -> Response {
    let Some(coordinator) = app.coordinator().cloned() else {
        return Error::new(Code::Busy, "the server is starting").into_response();
    };
    match app.look(move || coordinator.status()).await {
        Ok(status) => {
            let text = metrics::render(&status);
            ([(header::CONTENT_TYPE, metrics::MEDIA)], text).into_response()
        }
        Err(error) => error.into_response(),
    }
}
