//! The whole server: the middleware and the handlers.

use std::time::{Duration, Instant};

use bloomgrove_client::api::Code;
use bloomgrove_http::access::KeyEntry;
use bloomgrove_http::config::Limits;
use bloomgrove_server::{Config, Server};

#[path = "../../bloomgrove-http/tests/operate/support.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod support;

use support::{Answer, PATIENCE, Running, key};

/// Starts it, and waits until it is ready.
async fn start(directory: &std::path::Path, keys: Vec<KeyEntry>, config: Config) -> Running {
    let server = Server::bind(Config {
        data: directory.into(),
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        keys: keys.into_iter().map(KeyEntry::into).collect(),
        ..config
    })
    .await
    .unwrap();
    let addr = server.addresses()[0];
    let stop = server.stopper();
    let task = tokio::spawn(async move { server.run().await.map_err(std::io::Error::other) });
    let running = Running { addr, stop, task };
    let start = Instant::now();
    while running.get("/readyz").await.status != 200 {
        assert!(start.elapsed() < PATIENCE, "it gets ready");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running
}

async fn stop(server: Running) {
    server.stop.send_replace(true);
    let ended = tokio::time::timeout(PATIENCE, server.task).await;
    ended.expect("it ends").unwrap().unwrap();
}

/// Sends a JSON body, or bytes for a filter, with an access key.
async fn send(server: &Running, who: &str, method: &str, path: &str, body: &str) -> Answer {
    let media = match path.ends_with("/filter") {
        true => "application/octet-stream",
        false => "application/json",
    };
    let text = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer key of {who}\r\n\
         content-type: {media}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    server.send(&text).await
}

fn keys() -> Vec<KeyEntry> {
    vec![
        key("page", "read", ""),
        key("galway", "write", "site/galway/"),
        key("boss", "admin", ""),
    ]
}

#[tokio::test]
async fn every_command_asks_whether_the_key_allows_it() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), keys(), Config::default()).await;
    let inside = r#"{"name":"site/galway/1","items":1000,"fpr":0.01}"#;
    let outside = r#"{"name":"site/cork/1","items":1000,"fpr":0.01}"#;
    let add = r#"{"keys":["ada"]}"#;
    let ask = r#"{"keys":["ada"]}"#;
    let rename = r#"{"name":"site/cork/2"}"#;
    let galway = "/v1/sets/site%2Fgalway%2F1";
    let cork = "/v1/sets/site%2Fcork%2F1";
    let add_galway = format!("{galway}/items");
    let add_cork = format!("{cork}/items");
    for (who, method, path, body, status) in [
        ("nobody", "GET", "/v1/status", "", 401),
        ("nobody", "GET", "/metrics", "", 401),
        ("nobody", "GET", "/openapi.json", "", 401),
        ("page", "POST", "/v1/sets", inside, 403),
        ("galway", "POST", "/v1/sets", outside, 403),
        ("galway", "POST", "/v1/sets", inside, 201),
        ("boss", "POST", "/v1/sets", outside, 201),
        ("page", "POST", &add_galway, add, 403),
        ("galway", "POST", &add_galway, add, 200),
        ("galway", "POST", &add_cork, add, 403),
        ("galway", "PATCH", galway, rename, 403),
        ("galway", "PATCH", cork, r#"{"name":"site/galway/2"}"#, 403),
        ("galway", "DELETE", cork, "", 403),
        ("page", "DELETE", galway, "", 403),
        ("page", "POST", "/v1/which", ask, 200),
        ("page", "GET", "/v1/which?key=ada", "", 200),
        ("page", "GET", "/v1/status", "", 200),
        ("page", "GET", "/metrics", "", 200),
        ("galway", "POST", "/v1/snapshots", "", 403),
        ("galway", "GET", "/v1/snapshots", "", 403),
        ("boss", "POST", "/v1/snapshots", "", 201),
        ("boss", "GET", "/v1/snapshots", "", 200),
    ] {
        let answer = send(&server, who, method, path, body).await;
        assert_eq!(answer.status, status, "{who} {method} {path}: {answer:?}");
        match status {
            401 => assert_eq!(answer.problem().code, Code::Unauthorized),
            403 => assert_eq!(answer.problem().code, Code::Forbidden),
            _ => (),
        }
    }
    // Filters, too, in every form.
    for method in ["PUT", "POST"] {
        let path = format!("{cork}/filter");
        assert_eq!(
            send(&server, "galway", method, &path, "x").await.status,
            403
        );
        assert_eq!(send(&server, "page", method, &path, "x").await.status, 403);
    }
    for path in ["/", "/app.js", "/style.css", "/page/server.js", "/livez"] {
        assert_eq!(server.get(path).await.status, 200, "{path} is open");
    }
    stop(server).await;
}

#[tokio::test]
async fn limits_hold_for_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits {
        body: 2000,
        memory: 10_000,
        ..Limits::default()
    };
    let config = Config {
        limits,
        max_keys: 3,
        ..Config::default()
    };
    let server = start(directory.path(), keys(), config).await;
    let set = |name: &str| format!(r#"{{"name":"{name}","items":1000,"fpr":0.01}}"#);
    // 1,000 keys at a rate of one in a hundred take about 1,200 bytes.
    let first = send(&server, "boss", "POST", "/v1/sets", &set("a")).await;
    assert_eq!(first.status, 201, "{first:?}");
    let four = r#"{"keys":["a","b","c","d"]}"#;
    for path in ["/v1/which", "/v1/sets/a/items"] {
        let answer = send(&server, "boss", "POST", path, four).await;
        assert_eq!(answer.status, 413, "{path}: {answer:?}");
        assert_eq!(answer.problem().code, Code::TooLarge);
    }
    let long = "x".repeat(2001);
    for (method, path) in [
        ("PUT", "/v1/sets/b/filter"),
        ("POST", "/v1/sets/a/filter"),
        ("POST", "/v1/sets/a/items"),
        ("POST", "/v1/which"),
    ] {
        let answer = send(&server, "boss", method, path, &long).await;
        assert_eq!(answer.status, 413, "{method} {path}: {answer:?}");
    }
    let mut full = None;
    for number in 0..20 {
        let name = format!("more-{number}");
        let answer = send(&server, "boss", "POST", "/v1/sets", &set(&name)).await;
        if answer.status != 201 {
            full = Some(answer);
            break;
        }
    }
    let full = full.expect("memory ends before 24,000 bytes");
    assert_eq!(full.status, 507);
    assert_eq!(full.problem().code, Code::Memory);
    let asked = send(&server, "page", "GET", "/v1/which?key=a", "").await;
    assert_eq!(asked.status, 200, "asking goes on");
    stop(server).await;
}

#[tokio::test]
async fn what_was_confirmed_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), Vec::new(), Config::default()).await;
    let set = r#"{"name":"a","items":1000,"fpr":0.01}"#;
    assert_eq!(
        send(&server, "x", "POST", "/v1/sets", set).await.status,
        201
    );
    stop(server).await;
    let server = start(directory.path(), Vec::new(), Config::default()).await;
    assert_eq!(server.get("/v1/sets/a").await.status, 200);
    let text = server.get("/metrics").await.body;
    assert!(
        text.lines().any(|line| line == "bloomgrove_sets 1"),
        "{text}"
    );
    stop(server).await;
}

#[tokio::test]
async fn it_does_not_start_where_it_must_not() {
    let directory = tempfile::tempdir().unwrap();
    let config = |listen: &str| Config {
        data: directory.path().into(),
        listen: vec![listen.parse().unwrap()],
        ..Config::default()
    };
    let elsewhere = Server::bind(config("0.0.0.0:0")).await.err().unwrap();
    assert!(
        elsewhere.to_string().contains("without access keys"),
        "{elsewhere}"
    );
    let first = Server::bind(config("127.0.0.1:0")).await.unwrap();
    let taken = first.addresses()[0].to_string();
    let second = Server::bind(config(&taken)).await.err().unwrap();
    assert!(second.to_string().contains(&taken), "{second}");
}
