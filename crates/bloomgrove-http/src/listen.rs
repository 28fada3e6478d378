//! Listening: accepting connections, serving them, and closing them.
//!
//! ```text
//! accept ── room? ──no──▶ 503, closed
//!             │yes
//!             ▼
//!        TLS handshake ──▶ requests, one after another ──▶ closed
//!        (connection.rs)   by the client, for idling, for being too slow, or at shutdown
//! ```
//!
//! Nothing that a client does or fails to do may keep others waiting: every connection is a separate task
//! with a time limit for every phase, and if the system runs out of files, accepting pauses for a moment and
//! continues.
//!
//! To shut down, the server stops accepting connections and closes idle ones; requests in progress have
//! [`GRACE`] to finish.

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::counter;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use crate::config::Limits;
use crate::front::Front;
use crate::observe::metrics::REJECTED;
use crate::tls::Tls;

mod connection;
mod listeners;
mod pulse;

use connection::Connection;
pub use listeners::{Listeners, until_signals};

/// How long requests in progress may take once the server shuts down.
pub const GRACE: Duration = Duration::from_secs(10);

/// Files that the server needs in addition to its connections: the store, snapshots, logs.
const OTHER_FILES: u64 = 128;

/// How many rejected connections at a time are told why; further ones are just closed.
const BUSY_RESPONSES: usize = 64;

/// How many connections may wait to be accepted. If there are more, the system drops them silently, and the
/// client tries again a second later.
const WAITING: u32 = 4096;

/// Listens on this address.
///
/// # Errors
///
/// If the address is in use, or does not belong to this machine.
pub fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // Otherwise a restart would have to wait for earlier connections to end.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(WAITING)
}

/// Serves one listener until `stop` is true, or its sender is gone.
///
/// # Errors
///
/// None at present: an error on one connection does not stop the server.
pub async fn serve(
    listener: TcpListener,
    front: Front,
    tls: Option<Tls>,
    limits: &Limits,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    serve_all(vec![listener], front, tls, limits, stop).await
}

/// Serves several listeners, which share the limit on connections.
///
/// # Errors
///
/// None at present: an error on one connection does not stop the server.
pub async fn serve_all(
    listeners: Vec<TcpListener>,
    front: Front,
    tls: Option<Tls>,
    limits: &Limits,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let places = places(limits.connections);
    let (end, ended) = watch::channel(false);
    let shared = Arc::new(Shared {
        room: Arc::new(Semaphore::new(places)),
        refusals: Arc::new(Semaphore::new(BUSY_RESPONSES)),
        front,
        tls,
        limits: limits.clone(),
        stop,
        ended,
    });
    let mut accepting = JoinSet::new();
    for listener in listeners {
        accepting.spawn(shared.clone().accept(listener));
    }
    while accepting.join_next().await.is_some() {}

    // All connections are closed when all places are free.
    let all = u32::try_from(places).unwrap_or(u32::MAX);
    let empty = shared.room.acquire_many(all);
    if tokio::time::timeout(GRACE, empty).await.is_err() {
        let left = places - shared.room.available_permits();
        tracing::warn!(
            connections = left,
            "closing connections that did not finish in time"
        );
        // Sending fails only if no connection is left.
        let _ = end.send(true);
        let _ = tokio::time::timeout(Duration::from_secs(1), shared.room.acquire_many(all)).await;
    }
    Ok(())
}

/// What all connections share.
struct Shared {
    room: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    front: Front,
    tls: Option<Tls>,
    limits: Limits,
    /// Accept no more requests.
    stop: watch::Receiver<bool>,
    /// Abort those in progress.
    ended: watch::Receiver<bool>,
}

impl Shared {
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        let mut stop = self.stop.clone();
        let mut complained: Option<Instant> = None;
        loop {
            let accepted = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => match self.room.clone().try_acquire_owned() {
                    Ok(place) => {
                        let connection = Connection::new(stream, peer, place);
                        tokio::spawn(connection.run(self.clone()));
                    }
                    Err(_) => self.refuse(stream),
                },
                Err(error) if is_the_clients(&error) => (),
                Err(error) => {
                    // Most likely out of files or memory. Other connections will close.
                    if complained.is_none_or(|at| at.elapsed() > Duration::from_secs(10)) {
                        tracing::warn!(%error, "cannot accept connections; retrying");
                        complained = Some(Instant::now());
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Too many connections: report it, if that is cheap.
    fn refuse(&self, stream: TcpStream) {
        counter!(REJECTED).increment(1);
        let Ok(turn) = self.refusals.clone().try_acquire_owned() else {
            return;
        };
        if self.tls.is_none() {
            tokio::spawn(send_busy(stream, turn));
        }
    }
}

async fn send_busy(stream: TcpStream, _turn: OwnedSemaphorePermit) {
    let body = concat!(
        r#"{"status":503,"code":"busy","#,
        r#""detail":"too many connections; try again in a moment"}"#
    );
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n\
         content-length: {}\r\nretry-after: 1\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    // The buffer of a new connection is empty: this much always fits.
    let _ = stream.try_write(answer.as_bytes());
    connection::linger(stream, Duration::from_millis(200)).await;
}

/// Whether the client disconnected before its connection was accepted.
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    )
}

/// As many connections as configured and as the system has files for.
fn places(wanted: usize) -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let allowed = usize::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX);
    let places = wanted.min(allowed.max(1)).min(Semaphore::MAX_PERMITS);
    // A few files less are not worth a warning at every start.
    if places < wanted / 10 * 9 {
        tracing::warn!(
            wanted,
            places,
            "allowing fewer connections than configured, because the system allows only {files} open files"
        );
    }
    places
}

/// The threads of a server: one worker per processor. Sockets are polled after every few steps, not only when
/// there is nothing else to do: a step that reads or writes a large body takes a tenth of a millisecond, and
/// a small request must not wait for 61 of them, Tokio's default.
///
/// # Errors
///
/// If no threads can be created.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .event_interval(4)
        .enable_all()
        .build()
}

/// Raises the limit on open files as far as the system permits: each connection takes one.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum || limit.maximum.is_none() {
        return;
    }
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "cannot raise the limit on open files");
    }
}

/// Sends true on the first SIGTERM or SIGINT, and exits the process on the second. Run it alongside the
/// server. If the process has a terminal, SIGHUP means that the terminal was closed; otherwise it reloads
/// [certificates](crate::tls).
///
/// # Errors
///
/// If signals cannot be received.
pub async fn stop_on_signals(stop: watch::Sender<bool>) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let at_terminal = io::stderr().is_terminal();
    for again in [false, true] {
        let name = loop {
            tokio::select! {
                _ = terminate.recv() => break "SIGTERM",
                _ = interrupt.recv() => break "SIGINT",
                _ = hangup.recv() => if at_terminal { break "SIGHUP" },
            }
        };
        if again {
            tracing::warn!(signal = name, "exiting immediately");
            std::process::exit(130);
        }
        tracing::info!(
            signal = name,
            "shutting down; repeat the signal to exit immediately"
        );
        stop.send_replace(true);
    }
    Ok(())
}
