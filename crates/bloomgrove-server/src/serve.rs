//! A whole server: binding, reading the store, serving, shutting down.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::http::header;
use anyhow::{Result, bail};
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bloomgrove_client::api::Code;
use bloomgrove_http::access::Access;
use bloomgrove_http::budget::Budget;
use bloomgrove_http::front;
use bloomgrove_http::guard::Guard;
use bloomgrove_http::listen::{Listeners, until_signals};
use bloomgrove_http::observe::health::Health;
use bloomgrove_http::observe::metrics::{self, MEDIA};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::config::{Config, quotas};
use crate::coordinator::{Coordinator, Limits, salvage};
use crate::http::App;
use crate::trace::Tracer;
use crate::{Error, demo, http, page};

/// How often expired sets are removed.
const EXPIRE: Duration = Duration::from_secs(1);

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// If the data directory cannot be used.
pub async fn run(server: Server) -> Result<()> {
    until_signals(server.stopper(), server.run()).await
}

/// A server that has bound its addresses.
pub struct Server {
    config: Config,
    access: Access,
    tracer: Tracer,
    listeners: Listeners,
    ready: watch::Sender<bool>,
}

impl Server {
    /// Checks the configuration and binds the addresses; connections wait until [`run`](Self::run).
    ///
    /// # Errors
    /// If the configuration is invalid, or an address is not available.
    pub async fn bind(config: Config) -> Result<Self> {
        config.check().map_err(anyhow::Error::msg)?;
        Ok(Self {
            access: Access::new(&config.entries()).map_err(anyhow::Error::msg)?,
            tracer: Tracer::new(&config)?,
            listeners: Listeners::bind(&config.listen, config.tls.as_ref())?,
            ready: watch::Sender::new(false),
            config,
        })
    }

    /// The addresses it listens on, with the actual ports where 0 was given.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.listeners.addresses()
    }

    /// Stops the server when true is sent.
    #[must_use]
    pub fn stopper(&self) -> watch::Sender<bool> {
        self.listeners.stopper()
    }

    /// Becomes true once the store has been read and queries are answered. If the server fails before, the sender is
    /// dropped.
    #[must_use]
    pub fn ready(&self) -> watch::Receiver<bool> {
        self.ready.subscribe()
    }

    /// The URLs to open in a browser.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.listeners.urls()
    }

    /// Serves until it is stopped. While the store is read, requests are answered with an error that says so.
    ///
    /// # Errors
    /// If the data directory cannot be used.
    pub async fn run(self) -> Result<()> {
        metrics::start();
        http::metrics::describe();
        let urls = self.urls();
        let config = Arc::new(self.config);
        let examples = if config.demo {
            demo::examples()
        } else {
            Vec::new()
        };
        let (app, health) = (App::new(examples, self.tracer), Health::default());
        let budget = Budget::new(config.limits.memory);
        let guard = Guard {
            is_page: page::has,
            ..Guard::new(self.access)
        };
        let front = front::with_shortcut(
            router(app.clone(), &health),
            Some(http::shortcut(app.clone())),
            guard,
            &config.limits,
            budget.clone(),
            config.log.slow,
        );
        let limits = config.limits.clone();
        let stop = self.listeners.stopper();
        let serving = self.listeners.serve(front, &limits);
        let (open, ready) = (app.clone(), self.ready);
        let mut stopped = stop.subscribe();
        let started = async move {
            let ended = async {
                let coordinator = start(config, &open, budget).await?;
                health.set_ready(true);
                for url in urls {
                    tracing::info!(url, "listening");
                }
                ready.send_replace(true);
                expire(&coordinator, &mut stopped).await;
                // From the start of the shutdown, while requests are finished.
                health.set_ready(false);
                Ok(())
            };
            let ended: Result<()> = ended.await;
            drop(ready);
            // Without a store there is nothing to serve.
            stop.send_replace(true);
            ended
        };
        let (served, started) = tokio::join!(serving, started);
        if let Some(coordinator) = app.coordinator().cloned() {
            tokio::task::spawn_blocking(move || coordinator.close()).await?;
            tracing::info!("stopped; all data is on disk");
        }
        started?;
        Ok(served?)
    }
}

/// Reads the store, and starts answering requests.
async fn start(config: Arc<Config>, app: &App, budget: Budget) -> Result<Arc<Coordinator>> {
    let opened = tokio::task::spawn_blocking(move || open(&config)).await?;
    let coordinator = Arc::new(opened?);
    budget.beside(coordinator.bytes());
    if app.is_demo() && coordinator.is_empty() {
        fill(&coordinator).await?;
    }
    app.start(coordinator.clone());
    Ok(coordinator)
}

/// Removes expired sets until the server is stopped.
async fn expire(coordinator: &Coordinator, stop: &mut watch::Receiver<bool>) {
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
}

/// Reads the store, which takes seconds for a hundred thousand sets.
fn open(config: &Config) -> Result<Coordinator> {
    let started = Instant::now();
    let limits = Limits {
        keys: config.max_keys,
        memory: config.limits.memory,
        filter: config.max_filter,
        // The rest of the time is for sending the response.
        time: config.limits.request_time.mul_f64(0.8),
        quotas: quotas(&config.keys, config.limits.memory),
    };
    if config.salvage {
        for line in salvage(&config.data)? {
            tracing::warn!("salvage: {line}");
        }
    }
    let coordinator = Coordinator::open(&config.data, config.restore.as_deref(), limits)?;
    if config.demo && !coordinator.is_empty() && coordinator.info(&demo::first_name()).is_err() {
        bail!(
            "{}: contains sets that are not those of the demo; choose another directory",
            config.data.display()
        );
    }
    let seconds = started.elapsed().as_secs_f64();
    tracing::info!(sets = coordinator.len(), seconds, "store loaded");
    Ok(coordinator)
}

/// Creates the demo data.
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
    tracing::info!(sets = coordinator.len(), "demo data created");
    Ok(())
}

/// All routes.
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
            let text = http::metrics::render(&status);
            ([(header::CONTENT_TYPE, MEDIA)], text).into_response()
        }
        Err(error) => error.into_response(),
    }
}
