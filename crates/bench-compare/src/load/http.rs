//! Requests on idle connections or new ones: as many at a time as necessary.

use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::server::wire::Result;

pub(super) const JSON: &str = "application/json";
pub(super) const TEXT: &str = "text/plain";

#[derive(Clone)]
pub(super) struct Http {
    client: Client<HttpConnector, Full<Bytes>>,
    pub(super) address: SocketAddr,
}

impl Http {
    pub(super) fn new(address: SocketAddr) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        // A body of 60 MB is sent in small steps: in a single one, it would block all others here.
        connector.set_send_buffer_size(Some(64 << 10));
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            address,
        }
    }

    /// Sends a request and reads the complete answer: the status and the body.
    pub(super) async fn ask(
        &self,
        method: &str,
        path: &str,
        media: &str,
        body: impl Into<Bytes>,
    ) -> Result<(u16, Bytes)> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("content-type", media)
            .body(Full::new(body.into()))?;
        let answer = self.client.request(request).await?;
        let status = answer.status().as_u16();
        Ok((status, answer.into_body().collect().await?.to_bytes()))
    }

    /// Like [`ask`](Self::ask), but an answer other than success is an error.
    pub(super) async fn get_done(
        &self,
        method: &str,
        path: &str,
        media: &str,
        body: impl Into<Bytes>,
    ) -> Result<Bytes> {
        let (status, body) = self.ask(method, path, media, body).await?;
        match status {
            200..300 => Ok(body),
            _ => {
                let text = String::from_utf8_lossy(&body[..body.len().min(300)]);
                Err(format!("{method} {path}: status {status}: {text}").into())
            }
        }
    }
}
