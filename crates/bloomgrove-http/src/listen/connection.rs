//! One connection: its stream, its bodies, its time limits.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics::gauge;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until};

use super::Shared;
use super::pulse::{Phase, Pulse};
use crate::observe::metrics::CONNECTIONS;
use crate::observe::request::Peer;

/// The longest head of a request: a key in the URL may be long.
const LONGEST_HEAD: usize = 64 << 10;

/// How long the rest of a rejected body is read, so that the client receives the response.
const LINGER: Duration = Duration::from_secs(2);

pub(super) struct Connection {
    stream: Watched,
    peer: SocketAddr,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, peer: SocketAddr, place: OwnedSemaphorePermit) -> Self {
        // Responses are small, and a client is waiting. If this fails, it is just slower.
        let _ = stream.set_nodelay(true);
        gauge!(CONNECTIONS).increment(1.0);
        let stream = Watched {
            inner: Some((stream, place)),
            pulse: Arc::new(Pulse::new()),
        };
        Self { stream, peer }
    }

    pub(super) async fn run(self, shared: Arc<Shared>) {
        let Self { stream, peer } = self;
        let pulse = stream.pulse.clone();
        let Some(tls) = &shared.tls else {
            return converse(stream, peer, pulse, &shared).await;
        };
        let acceptor = tls.acceptor();
        let mut stop = shared.stop.clone();
        let handshake = tokio::time::timeout(shared.limits.header_time, acceptor.accept(stream));
        let stream = tokio::select! {
            handshake = handshake => match handshake {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => {
                    tracing::debug!(%peer, %error, "TLS handshake failed");
                    return;
                }
                Err(_) => {
                    tracing::debug!(%peer, "TLS handshake took too long");
                    return;
                }
            },
            _ = stop.wait_for(|stop| *stop) => return,
        };
        pulse.enter(Phase::Idle);
        converse(stream, peer, pulse, &shared).await;
    }
}

/// Handles requests until one side closes the connection.
async fn converse<S>(stream: S, peer: SocketAddr, pulse: Arc<Pulse>, shared: &Shared)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let pulse = pulse.clone();
        async move {
            pulse.enter(Phase::Busy);
            // Whatever the handler does not read is unread.
            pulse.set_unread(!request.body().is_end_stream());
            let request = request.map(|body| RequestBody {
                body,
                pulse: pulse.clone(),
            });
            let response = shared.front.answer(request, Some(Peer(peer))).await;
            pulse.enter(Phase::Answer);
            Ok::<_, Infallible>(response.map(|body| ResponseBody { body, pulse }))
        }
    });
    // `Pulse` limits the time for the head: hyper's own limit would include idle time. Without
    // `pipeline_flush`, with which hyper copies a whole response into its own buffer, however large.
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let (mut stop, mut ended) = (shared.stop.clone(), shared.ended.clone());
    let mut stop = pin!(stop.wait_for(|stop| *stop));
    let mut ended = pin!(ended.wait_for(|ended| *ended));
    let mut stopping = false;
    let mut armed = pulse.deadline(&shared.limits);
    let mut timer = pin!(sleep_until(armed.unwrap_or_else(Instant::now)));
    poll_fn(|cx| {
        if let Poll::Ready(result) = connection.as_mut().poll(cx) {
            if let Err(error) = result {
                tracing::debug!(%peer, %error, "connection broke");
            }
            return Poll::Ready(());
        }
        if ended.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if !stopping && stop.as_mut().poll(cx).is_ready() {
            stopping = true;
            // Otherwise hyper would wait for the first request.
            if pulse.phase() == Phase::Idle && !pulse.was_asked() {
                return Poll::Ready(());
            }
            connection.as_mut().graceful_shutdown();
            // Poll it again.
            cx.waker().wake_by_ref();
        }
        let deadline = pulse.deadline(&shared.limits);
        if deadline != armed {
            armed = deadline;
            if let Some(deadline) = deadline {
                timer.as_mut().reset(deadline);
            }
        }
        if armed.is_some() && timer.as_mut().poll(cx).is_ready() {
            tracing::debug!(%peer, phase = ?pulse.phase(), "connection took too long");
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}

/// The stream, which reports progress to the pulse. It occupies the connection's place.
struct Watched {
    /// None after it was dropped.
    inner: Option<(TcpStream, OwnedSemaphorePermit)>,
    pulse: Arc<Pulse>,
}

impl Watched {
    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        match &mut self.inner {
            Some((stream, _)) => Ok(Pin::new(stream)),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn wrote(&self, written: &Poll<io::Result<usize>>) {
        // Also when idle: the end of a response may still be in buffers when its body is gone.
        let answers = matches!(self.pulse.phase(), Phase::Answer | Phase::Idle);
        if answers && matches!(written, Poll::Ready(Ok(1..))) {
            self.pulse.touch();
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = self.stream()?.poll_read(cx, buffer);
        if buffer.filled().len() > before && self.pulse.phase() == Phase::Idle {
            self.pulse.enter(Phase::Head);
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream()?.poll_write(cx, data);
        self.wrote(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream()?.poll_write_vectored(cx, data);
        self.wrote(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(cx)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        gauge!(CONNECTIONS).decrement(1.0);
        let Some((stream, place)) = self.inner.take() else {
            return;
        };
        // Outside of a runtime (at shutdown) no task can linger.
        if self.pulse.is_unread()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                linger(stream, LINGER).await;
                drop(place);
            });
        }
    }
}

/// Closes a connection whose client is still sending. If it were closed immediately, the system would only
/// report a reset to the client, and discard the response that says why.
pub(super) async fn linger(mut stream: TcpStream, time: Duration) {
    let rest = async {
        stream.shutdown().await?;
        let mut buffer = vec![0; 16 << 10];
        while stream.read(&mut buffer).await? > 0 {}
        io::Result::Ok(())
    };
    // However this ends, the stream is closed.
    let _ = tokio::time::timeout(time, rest).await;
}

/// The body of a request, which reports to the pulse when it is complete.
struct RequestBody {
    body: Incoming,
    pulse: Arc<Pulse>,
}

impl hyper::body::Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.pulse.set_unread(false);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response, which reports to the pulse when it has been sent.
struct ResponseBody {
    body: Body,
    pulse: Arc<Pulse>,
}

impl hyper::body::Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.pulse.enter(Phase::Idle);
    }
}
