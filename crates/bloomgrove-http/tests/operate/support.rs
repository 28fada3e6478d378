//! A server with a few handlers, and clients that do as they are told.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bloomgrove_client::api::Problem;
use bloomgrove_http::access::{Access, Caller, KeyEntry, hash_of};
use bloomgrove_http::budget::Budget;
use bloomgrove_http::config::Limits;
use bloomgrove_http::front::{self, Shortcut};
use bloomgrove_http::guard::Guard;
use bloomgrove_http::observe::health::Health;
use bloomgrove_http::tls::Tls;
use bloomgrove_http::{Error, listen, observe};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Longer than anything here takes, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) task: JoinHandle<std::io::Result<()>>,
}

/// What a test changes of the defaults.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(crate) limits: Limits,
    pub(crate) keys: Vec<KeyEntry>,
    pub(crate) tls: Option<Tls>,
}

pub(crate) async fn start(wanted: Wanted) -> Running {
    observe::metrics::start();
    let guard = Guard {
        is_page: |path| matches!(path, "/" | "/app.js" | "/style.css" | "/page/server.js"),
        ..Guard::new(Access::new(&wanted.keys).unwrap())
    };
    let health = Health::default();
    health.set_ready(true);
    let front = front::with_shortcut(
        handlers().merge(health.router()),
        Some(shortcut()),
        guard,
        &wanted.limits,
        Budget::new(wanted.limits.memory),
        Duration::from_secs(1),
    );
    let listener = listen::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    let task = tokio::spawn(async move {
        listen::serve(listener, front, wanted.tls, &wanted.limits, stopped).await
    });
    Running { addr, stop, task }
}

fn allowed(result: Result<(), Error>) -> Response {
    result.map(|()| "allowed").into_response()
}

/// Answers `short` itself, panics on `panic`, and leaves the rest to the router.
fn shortcut() -> Shortcut {
    Shortcut {
        path: "/short",
        answer: Box::new(|_, body, _, _| match &body[..] {
            b"short" => Some("by the shortcut".into_response()),
            b"panic" => panic!("a test asked for it"),
            _ => None,
        }),
    }
}

fn handlers() -> Router {
    let slow = |Path(ms): Path<u64>| async move {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        "done"
    };
    let read = |Extension(caller): Extension<Caller>| async move { allowed(caller.may_read()) };
    let write = |Path(name): Path<String>, Extension(caller): Extension<Caller>| async move {
        allowed(caller.may_write(&name))
    };
    let manage =
        |Extension(caller): Extension<Caller>| async move { allowed(caller.may_administer()) };
    let large = |Path(bytes): Path<usize>| async move { vec![b'x'; bytes] };
    async fn panics() -> &'static str {
        panic!("a test asked for it")
    }
    Router::new()
        .route(
            "/length",
            post(|body: String| async move { body.len().to_string() }),
        )
        .route(
            "/short",
            post(|body: String| async move { format!("by the router: {body}") }),
        )
        .route("/slow/{ms}", get(slow))
        .route("/read", get(read))
        .route("/write/{name}", post(write))
        .route("/manage", post(manage))
        .route("/large/{bytes}", get(large))
        .route("/panics", get(panics))
        .route("/metrics", get(async || observe::metrics::of_process()))
}

pub(crate) fn key(name: &str, role: &str, prefix: &str) -> KeyEntry {
    let hash = hash_of(&format!("key of {name}"));
    format!("{name}:{role}:{hash}:{prefix}").parse().unwrap()
}

/// A parsed response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn problem(&self) -> Problem {
        assert!(self.head.contains("application/problem+json"), "{self:?}");
        serde_json::from_str(&self.body).unwrap()
    }

    /// The value of a header; names are in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let start = format!("{name}: ");
        let value = |line: &'_ str| line.strip_prefix(&start).map(str::len);
        let line = self.head.lines().find(|line| value(line).is_some())?;
        line.get(start.len()..)
    }
}

/// Reads one response with a declared length.
pub(crate) async fn read_answer(stream: &mut (impl AsyncRead + Unpin)) -> Option<Answer> {
    let read = async {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut answer = Answer {
            status: head.split(' ').nth(1)?.parse().ok()?,
            head,
            body: String::new(),
        };
        let length: usize = answer.header("content-length")?.parse().ok()?;
        let mut body = bytes[end + 4..].to_vec();
        while body.len() < length {
            if stream.read_buf(&mut body).await.ok()? == 0 {
                return None;
            }
        }
        answer.body = String::from_utf8(body).unwrap();
        Some(answer)
    };
    tokio::time::timeout(PATIENCE, read)
        .await
        .expect("an answer in time")
}

/// Whether the other side closes the connection without sending anything else.
pub(crate) async fn closes(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let mut byte = [0];
    let read = tokio::time::timeout(PATIENCE, stream.read(&mut byte)).await;
    matches!(read.expect("closed in time"), Ok(0) | Err(_))
}

impl Running {
    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.addr).await.unwrap()
    }

    /// Sends these bytes on a separate connection, and reads the response.
    pub(crate) async fn send(&self, text: &str) -> Answer {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        read_answer(&mut stream).await.expect("an answer")
    }

    /// A request without a body, with further header lines.
    pub(crate) async fn ask(&self, method: &str, path: &str, headers: &[&str]) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|line| line.starts_with("host:")) {
            text.push_str("host: localhost\r\n");
        }
        for line in headers {
            text.push_str(line);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        self.send(&text).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[]).await
    }
}
