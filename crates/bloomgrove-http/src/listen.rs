//! Listening: connections come in, are served, and end when they should.
//!
//! ```text
//! accept ── room? ──no──▶ 503, closed
//!             │yes
//!             ▼
//!        TLS handshake ──▶ requests, one after the other ──▶ closed
//!        (connection.rs)   by the client, for idling, for dawdling, or when we stop
//! ```
//!
//! Nothing that a client does or omits may keep others waiting: every connection is a task of
//! its own with a time limit in every phase, and when the system has no more files, accepting
//! waits a moment and goes on.
//!
//! To stop: no more connections are accepted, idle ones are closed, requests under way have
//! [`GRACE`] to finish.

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use metrics::counter;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use crate::config::Limits;
use crate::observe::metrics::REFUSED;
use crate::tls::Tls;

mod connection;
mod listeners;
mod pulse;

use connection::Connection;
pub use listeners::{Listeners, until_signals};

/// How long requests under way may take once the server stops.
pub const GRACE: Duration = Duration::from_secs(10);

/// Files that the server needs beside its connections: the store, snapshots, logs.
const OTHER_FILES: u64 = 128;

/// How many refused connections are told why at a time; further ones are just closed.
const TOLD_WHY: usize = 64;

/// How many connections may wait to be accepted. Where there is no room the system drops them
/// without a word, and the client tries again a second later.
const WAITING: u32 = 4096;

/// Listens on this address.
///
/// # Errors
///
/// When the address is taken, or not of this machine.
pub fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // Else a restart would have to wait for the connections of before.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(WAITING)
}

/// Serves one listener until `stop` says true, or its sender is gone.
///
/// # Errors
///
/// None for now: what goes wrong with one connection does not end the server.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<Tls>,
    limits: &Limits,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    serve_all(vec![listener], router, tls, limits, stop).await
}

/// Serves several listeners, which share the limit on connections.
///
/// # Errors
///
/// None for now: what goes wrong with one connection does not end the server.
pub async fn serve_all(
    listeners: Vec<TcpListener>,
    router: Router,
    tls: Option<Tls>,
    limits: &Limits,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let places = places(limits.connections);
    let (end, ended) = watch::channel(false);
    let house = Arc::new(House {
        room: Arc::new(Semaphore::new(places)),
        refusals: Arc::new(Semaphore::new(TOLD_WHY)),
        router,
        tls,
        limits: limits.clone(),
        stop,
        ended,
    });
    let mut doors = JoinSet::new();
    for listener in listeners {
        doors.spawn(house.clone().accept(listener));
    }
    while doors.join_next().await.is_some() {}

    // Everybody has left when all places are free.
    let all = u32::try_from(places).unwrap_or(u32::MAX);
    let empty = house.room.acquire_many(all);
    if tokio::time::timeout(GRACE, empty).await.is_err() {
        let left = places - house.room.available_permits();
        tracing::warn!(connections = left, "cut off after the time of grace");
        // A send fails only when nobody is left.
        let _ = end.send(true);
        let _ = tokio::time::timeout(Duration::from_secs(1), house.room.acquire_many(all)).await;
    }
    Ok(())
}

/// What all connections share.
struct House {
    room: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    router: Router,
    tls: Option<Tls>,
    limits: Limits,
    /// No more requests.
    stop: watch::Receiver<bool>,
    /// Nor those under way.
    ended: watch::Receiver<bool>,
}

impl House {
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
                    // No more files or memory, most likely. Others will close theirs.
                    if complained.is_none_or(|at| at.elapsed() > Duration::from_secs(10)) {
                        tracing::warn!(%error, "cannot accept connections; trying again");
                        complained = Some(Instant::now());
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Too many: say so, if that is cheap.
    fn refuse(&self, stream: TcpStream) {
        counter!(REFUSED).increment(1);
        let Ok(turn) = self.refusals.clone().try_acquire_owned() else {
            return;
        };
        if self.tls.is_none() {
            tokio::spawn(tell_why(stream, turn));
        }
    }
}

async fn tell_why(stream: TcpStream, _turn: OwnedSemaphorePermit) {
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

/// The client went away before we came to it.
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    )
}

/// As many connections as are wanted and the system has files for.
fn places(wanted: usize) -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let allowed = usize::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX);
    let places = wanted.min(allowed.max(1)).min(Semaphore::MAX_PERMITS);
    // Some files fewer are nothing to tell at every start.
    if places < wanted / 10 * 9 {
        tracing::warn!(
            wanted,
            places,
            "fewer connections than configured: the system allows {files} open files"
        );
    }
    places
}

/// Threads for a server: a worker per processor. Sockets are looked at after every few steps, not only
/// when there is nothing else to do: a step that reads or writes a large body takes a tenth of a
/// millisecond, and whoever sends a small request must not wait for 61 of them, Tokio's default.
///
/// # Errors
///
/// When there are no threads to be had.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .event_interval(4)
        .enable_all()
        .build()
}

/// Allows as many open files as the system lets us: each connection takes one.
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
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// Says true on the first SIGTERM or SIGINT, and ends the process on the second. Run it beside
/// the server. SIGHUP means that the terminal is gone, if there is one; else it is for
/// [certificates](crate::tls).
///
/// # Errors
///
/// When signals cannot be heard.
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
            tracing::warn!(signal = name, "ending at once");
            std::process::exit(130);
        }
        tracing::info!(signal = name, "stopping; once more to end at once");
        stop.send_replace(true);
    }
    Ok(())
}
