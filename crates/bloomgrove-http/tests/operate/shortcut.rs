//! A shortcut is behind the same access keys, limits, logs and metrics as the router.

use bloomgrove_client::api::Code;
use bloomgrove_http::config::Limits;

use crate::support::{Answer, Running, Wanted, key, start};

async fn post(server: &Running, headers: &str, body: &str) -> Answer {
    let length = body.len();
    let head = format!("POST /short HTTP/1.1\r\nhost: localhost\r\n{headers}");
    server
        .send(&format!("{head}content-length: {length}\r\n\r\n{body}"))
        .await
}

#[tokio::test]
async fn what_a_shortcut_leaves_is_left_to_the_router() {
    let server = start(Wanted::default()).await;
    let short = post(&server, "", "short").await;
    assert_eq!((short.status, &*short.body), (200, "by the shortcut"));
    assert_eq!(short.header("x-request-id").map(str::len), Some(16));
    let policy = "cross-origin-resource-policy";
    assert_eq!(short.header(policy), Some("same-origin"));
    for body in ["other", "", &"long".repeat(5000)] {
        let other = post(&server, "", body).await;
        assert_eq!(other.body, format!("by the router: {body}"));
        assert_eq!(other.header(policy), Some("same-origin"));
    }
    // Its length is not declared.
    let head = "POST /short HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunked = server.send(&format!("{head}5\r\nshort\r\n0\r\n\r\n")).await;
    assert_eq!(chunked.body, "by the router: short");
    // A method that the shortcut does not know.
    assert_eq!(server.ask("PUT", "/short", &[]).await.status, 405);
    let metrics = server.get("/metrics").await.body;
    let counted = r#"bloomgrove_http_requests_total{route="/short",method="POST",status="200"}"#;
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn a_shortcut_is_guarded_and_limited() {
    let server = start(Wanted {
        keys: vec![key("page", "read", "")],
        limits: Limits {
            body: 4,
            ..Limits::default()
        },
        ..Wanted::default()
    })
    .await;
    let stranger = post(&server, "", "short").await;
    assert_eq!(stranger.problem().code, Code::Unauthorized);
    let large = post(&server, "authorization: Bearer key of page\r\n", "short").await;
    assert_eq!(large.problem().code, Code::TooLarge);
    let foreign = start(Wanted::default()).await;
    let foreign = post(&foreign, "origin: http://evil.example\r\n", "short").await;
    assert_eq!(foreign.problem().code, Code::Forbidden);
}

#[tokio::test]
async fn a_shortcut_that_panics_is_an_internal_error() {
    let server = start(Wanted::default()).await;
    let answer = post(&server, "", "panic").await;
    assert_eq!(answer.status, 500);
    assert_eq!(
        answer.problem().request,
        answer.header("x-request-id").unwrap()
    );
    assert_eq!(post(&server, "", "short").await.status, 200);
}
