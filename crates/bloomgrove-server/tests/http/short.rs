//! Short queries are answered without the router; a body that is padded with blanks is too long for that.

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::support::{Running, filter};

#[tokio::test(flavor = "multi_thread")]
async fn short_and_long_queries_get_the_same_answers() {
    let running = Running::start().await;
    for name in ["a-1", "a-2", "a-3", "b-1"] {
        let filter = filter(&["heron", name]);
        let client = &running.client;
        client.put_filter(name, &filter).await.unwrap();
    }
    let json = Some("application/json");
    let ask = async |media: Option<&str>, body: String| {
        let response = running.send(Method::POST, "/v1/which", media, body).await;
        let status = response.status();
        let mut answer: Value = response.json().await.unwrap();
        // Every request has its own.
        answer.as_object_mut().unwrap().remove("request");
        (status, answer)
    };
    let padding = " ".repeat(5000);
    for query in [
        r#"{"keys":["heron"]}"#,
        r#"{"keys":["heron","none","a-2"]}"#,
        r#"{"keys":["heron"],"prefix":"a-"}"#,
        r#"{"keys":["heron"],"prefix":"a-","limit":2}"#,
        r#"{"keys":["heron","a-2"],"prefix":"c","count_only":true}"#,
        r#"{"keys":["heron"],"limit":1}"#,
        r#"{"keys":["heron"],"limit":100001}"#,
        r#"{"keys":["heron"],"count_only":true}"#,
        r#"{"keys":["heron"],"extract":"tokens"}"#,
        r#"{"keys":[]}"#,
        r#"{"keys":[7]}"#,
        r#"{"keys":["heron"],"unknown":1}"#,
        r#"["heron"]"#,
    ] {
        let short = ask(json, query.to_owned()).await;
        let long = ask(json, format!("{query}{padding}")).await;
        assert_eq!(short, long, "{query}");
        if short.0 == StatusCode::OK {
            // Never answered at once.
            let explained = query.replace('}', r#","explain":true}"#);
            let (_, explained) = ask(json, explained).await;
            assert_eq!(short.1["answers"], explained["answers"], "{query}");
        }
        let (status, _) = ask(None, query.to_owned()).await;
        assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let text = Some("text/plain");
    let (_, posted) = ask(text, "heron\n".into()).await;
    for path in ["/v1/which?key=heron", "/v1/which?key=h%65ron"] {
        let got = running.send(Method::GET, path, None, "").await;
        assert_eq!(got.json::<Value>().await.unwrap(), posted, "{path}");
    }
    for wrong in ["/v1/which", "/v1/which?key=%ff", "/v1/which?key=a&other=b"] {
        running.refused(Method::GET, wrong, None, "").await;
    }
    running.stop().await;
}
