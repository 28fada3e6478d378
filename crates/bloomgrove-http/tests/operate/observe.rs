//! Request ids and metrics.

use crate::support::{Wanted, start};

#[tokio::test]
async fn every_answer_has_an_id_and_refusals_repeat_it() {
    let server = start(Wanted::default()).await;
    let own = server.ask("GET", "/read", &["x-request-id: mine-7"]).await;
    assert_eq!(own.header("x-request-id"), Some("mine-7"));
    let made = server.get("/read").await;
    assert_eq!(made.header("x-request-id").map(str::len), Some(16));
    let refused = server.ask("GET", "/read", &["host: evil.example"]).await;
    let id = refused.header("x-request-id").unwrap();
    assert_eq!(refused.problem().request, id);
}

#[tokio::test]
async fn metrics_count_requests_by_route_and_tell_of_the_process() {
    let server = start(Wanted::default()).await;
    server.get("/slow/1").await;
    server.get("/slow/2").await;
    server.get("/made/up/by/a/client").await;
    server.ask("BREW", "/slow/1", &[]).await;
    let text = server.get("/metrics").await.body;
    let value = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start));
        let value = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        value.unwrap_or_else(|| panic!("{start} is not in {text}"))
    };
    // Other tests in this process send requests, too, but not to this path with this status.
    let slow = r#"bloomgrove_http_requests_total{route="/slow/{ms}",method="GET",status="200"}"#;
    assert!(value(slow) >= 2.0);
    let other = r#"bloomgrove_http_requests_total{route="other",method="GET",status="404"}"#;
    assert!(value(other) >= 1.0);
    assert!(
        !text.contains("made/up") && !text.contains("BREW"),
        "{text}"
    );
    let bucket =
        r#"bloomgrove_http_request_seconds_bucket{route="/slow/{ms}",method="GET",le="30"}"#;
    assert!(value(bucket) >= 2.0);
    assert!(value("process_cpu_seconds_total ") > 0.0);
    assert!(value("process_resident_memory_bytes ") > 1e5);
    assert!(value("process_open_fds ") > 3.0);
    assert!(value("bloomgrove_connections ") >= 1.0);
}
