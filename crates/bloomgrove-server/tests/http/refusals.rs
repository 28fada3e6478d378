//! Malformed and impossible requests, by hand.

use bloomgrove::{Filter, Params, codec};
use bloomgrove_client::ListQuery;
use bloomgrove_client::api::Code;
use reqwest::Method;

use crate::support::{Running, filter, holders};

#[tokio::test(flavor = "multi_thread")]
async fn everything_wrong_is_refused_with_what_to_do() {
    use Method as M;
    let running = Running::start_with(|config| {
        config.max_keys = 10;
        config.max_filter = 1 << 20;
    })
    .await;
    running
        .client
        .put_filter("set", &filter(&["one"]))
        .await
        .unwrap();
    let json = Some("application/json");
    let bytes = Some("application/octet-stream");
    let keys = format!("{{\"keys\":[{}]}}", ["\"k\""; 11].join(","));
    for (method, path, media, body, code) in [
        (M::POST, "/v1/which", json, "{", Code::Invalid),
        (M::POST, "/v1/which", json, "[]", Code::Invalid),
        (M::POST, "/v1/which", json, "{\"keys\":[42]}", Code::Invalid),
        (
            M::POST,
            "/v1/which",
            json,
            "{\"keys\":[{\"u64\":-1}]}",
            Code::Invalid,
        ),
        (
            M::POST,
            "/v1/which",
            json,
            "{\"keys\":[{\"base64\":\"?\"}]}",
            Code::Invalid,
        ),
        (
            M::POST,
            "/v1/which",
            json,
            "{\"keys\":[],\"kyes\":[]}",
            Code::Invalid,
        ),
        (M::POST, "/v1/which", json, keys.as_str(), Code::TooLarge),
        (M::POST, "/v1/which", None, "{\"keys\":[]}", Code::MediaType),
        (
            M::POST,
            "/v1/which",
            Some("text/html"),
            "{}",
            Code::MediaType,
        ),
        (M::GET, "/v1/which", None, "", Code::Invalid),
        (M::GET, "/v1/which?key=a&x=1", None, "", Code::Invalid),
        (M::GET, "/v1/which?key=%ff", None, "", Code::Invalid),
        (M::POST, "/v1/which", json, "[[\"key\"]]", Code::Invalid),
        (M::GET, "/v1/sets?limit=many", None, "", Code::Invalid),
        (M::GET, "/v1/sets/none", None, "", Code::NotFound),
        (M::GET, "/v1/sets/%ff", None, "", Code::Invalid),
        (
            M::GET,
            "/v1/sets/set/filter?form=zip",
            None,
            "",
            Code::Invalid,
        ),
        (M::GET, "/v2", None, "", Code::NotFound),
        (M::PUT, "/v1/which", None, "", Code::Method),
        (M::DELETE, "/v1/sets", None, "", Code::Method),
        (M::POST, "/v1/sets", json, "{\"name\":\"x\"}", Code::Invalid),
        (
            M::POST,
            "/v1/sets",
            json,
            "{\"name\":\"set\",\"items\":5}",
            Code::Exists,
        ),
        (
            M::POST,
            "/v1/sets",
            json,
            "{\"name\":\"x\",\"items\":1e99}",
            Code::Invalid,
        ),
        (
            M::POST,
            "/v1/sets",
            json,
            "{\"name\":\"x\",\"params\":{\"bits\":1152921504606846976,\"hashes\":3}}",
            Code::Invalid,
        ),
        (
            M::POST,
            "/v1/sets",
            json,
            "{\"name\":\"x\",\"params\":{\"bits\":8388672,\"hashes\":3}}",
            Code::TooLarge,
        ),
        (
            M::PUT,
            "/v1/sets/x/filter",
            bytes,
            "nothing at all",
            Code::Invalid,
        ),
        (M::PUT, "/v1/sets/x/filter", bytes, "", Code::Invalid),
        (
            M::PUT,
            "/v1/sets/x/filter",
            Some("image/png"),
            "x",
            Code::MediaType,
        ),
        (
            M::PUT,
            "/v1/sets/x/filter?tags=a",
            bytes,
            "x",
            Code::Invalid,
        ),
        (
            M::POST,
            "/v1/sets/set/filter?base=-1",
            bytes,
            "x",
            Code::Invalid,
        ),
        (
            M::POST,
            "/v1/sets/set/items?base=1e3",
            json,
            "{\"keys\":[]}",
            Code::Invalid,
        ),
        (
            M::POST,
            "/v1/estimate",
            json,
            "{\"expression\":\"set &\"}",
            Code::Invalid,
        ),
        (
            M::POST,
            "/v1/estimate",
            json,
            "{\"expression\":\"gone\"}",
            Code::NotFound,
        ),
        (
            M::POST,
            "/v1/sample",
            json,
            "{\"expression\":\"set\",\"names\":{\"range\":[5,5]},\"count\":1}",
            Code::Invalid,
        ),
        (
            M::POST,
            "/v1/sample",
            json,
            "{\"expression\":\"set\",\"names\":{\"range\":[0,9]},\"count\":0}",
            Code::Invalid,
        ),
        (
            M::PATCH,
            "/v1/sets/set",
            json,
            "{\"name\":\"\"}",
            Code::Invalid,
        ),
    ] {
        let told = format!("{method} {path} {body}");
        let problem = running.refused(method, path, media, body.to_owned()).await;
        assert_eq!(problem.code, code, "{told}: {problem:?}");
    }
    // More lines than are ever accepted.
    let lines = "k\n".repeat(1_000_001);
    let problem = running
        .refused(M::POST, "/v1/which", Some("text/plain"), lines)
        .await;
    assert_eq!(problem.code, Code::TooLarge);
    // A few bytes that expand to more than the server accepts: a filter of zeros.
    let huge = Filter::new(Params::builder(1 << 30, 1).build().unwrap()).unwrap();
    let mut message = Vec::new();
    codec::compress(&huge, &mut message).unwrap();
    assert!(message.len() < 100_000);
    let problem = running
        .refused(M::PUT, "/v1/sets/x/filter", bytes, message)
        .await;
    assert_eq!(problem.code, Code::TooLarge);
    assert_eq!(
        running
            .client
            .list(&ListQuery::default())
            .await
            .unwrap()
            .total,
        1
    );
    assert_eq!(holders(&running.client, "one").await, ["set"]);
    running.stop().await;
}

/// A message and a file, truncated to every length, and with a damaged bit in every byte.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_uploads_change_nothing() {
    let running = Running::start().await;
    let mut message = Vec::new();
    codec::compress(&filter(&["one", "two"]), &mut message).unwrap();
    let path = running.directory.path().join("f.grove");
    filter(&["one", "two"]).save(&path).unwrap();
    let file = std::fs::read(&path).unwrap();
    for (whole, step) in [(&message, 1), (&file, 37)] {
        for at in (0..whole.len()).step_by(step) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            for bytes in [whole[..at].to_vec(), damaged] {
                let media = Some("application/octet-stream");
                let sent = running
                    .send(Method::PUT, "/v1/sets/x/filter", media, bytes)
                    .await;
                // The padding of a file is the only part that is not checked.
                let status = sent.status();
                assert!(
                    status.is_client_error() || status.is_success(),
                    "byte {at}: {status}"
                );
                if status.is_success() {
                    let (held, _) = running.client.filter("x").await.unwrap();
                    assert!(held == filter(&["one", "two"]), "byte {at}");
                    running.client.remove("x").await.unwrap();
                }
            }
        }
    }
    assert_eq!(running.client.status().await.unwrap().sets, 0);
    running.stop().await;
}

/// Neither the response nor the log, which has the same text, repeats the whole input.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_refusal_quotes_is_short() {
    let running = Running::start().await;
    let json = Some("application/json");
    let long = "x".repeat(8 << 20);
    let path = "y".repeat(20_000);
    for (method, path, body, part) in [
        // One of our errors, one of the JSON parser, and one of a path.
        (
            Method::POST,
            "/v1/sets",
            format!(r#"{{"name":"a","params":{{"bits":64,"hashes":2,"family":"{long}"}}}}"#),
            "murmur3 or md5",
        ),
        (
            Method::POST,
            "/v1/sets",
            format!(r#"{{"name":"a","{long}":1}}"#),
            "unknown field",
        ),
        (
            Method::POST,
            "/v1/trace",
            format!(r#"{{"ids":["a"],"direction":"{long}"}}"#),
            "expected",
        ),
        (
            Method::PUT,
            "/v1/sites/a",
            format!(r#"{{"url":"ftp://{}","period":60}}"#, &long[..2000]),
            "write the server as",
        ),
        (
            Method::GET,
            &format!("/v1/sets/{path}"),
            String::new(),
            "no set",
        ),
    ] {
        let problem = running.refused(method, path, json, body).await;
        assert!(problem.detail.len() < 2100, "{}", problem.detail.len());
        assert!(problem.detail.contains(part), "{}", problem.detail);
    }
    running.stop().await;
}
