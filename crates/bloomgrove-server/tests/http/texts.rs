//! Texts that the server cuts into keys, and queries cut in the same way.

use bloomgrove_client::api::{Code, CreateSet, WhichQuery};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Running;

const TEXT: Option<&str> = Some("text/plain; charset=utf-8");

async fn server() -> Running {
    let running = Running::start().await;
    for name in ["monday", "tuesday"] {
        let set = CreateSet {
            name: name.into(),
            items: Some(5000),
            fpr: Some(1e-6),
            tags: vec![name.into()],
            ..CreateSet::default()
        };
        running.client.create(&set).await.unwrap();
    }
    running
}

async fn add(running: &Running, set: &str, extract: &str, text: &str) {
    let path = format!("/v1/sets/{set}/items?extract={extract}");
    let response = running
        .send(Method::POST, &path, TEXT, text.to_owned())
        .await;
    let (status, said) = (response.status(), response.text().await.unwrap());
    assert!(status.is_success(), "{path}: {said}");
}

/// The sets of a query by GET, and by POST, which must agree.
async fn which(running: &Running, extract: &str, key: &str, more: &str) -> Vec<String> {
    let request = reqwest::Client::builder().no_proxy().build().unwrap();
    let got = request
        .get(format!("{}/v1/which?{more}", running.url()))
        .query(&[("key", key), ("extract", extract)]);
    let got: Value = got.send().await.unwrap().json().await.unwrap();
    let query = WhichQuery {
        keys: vec![key.into()],
        extract: Some(extract.into()),
        explain: true,
        ..WhichQuery::default()
    };
    let posted = running.client.which(&query).await.unwrap();
    assert!(posted.cost.unwrap().sets == 2);
    let sets = posted.answers[0].sets.clone().unwrap();
    assert_eq!(posted.answers[0].count as usize, sets.len());
    if more.is_empty() {
        assert_eq!(got["answers"][0]["sets"], json!(sets));
    }
    let sets = got["answers"][0]["sets"].as_array().unwrap();
    sets.iter()
        .map(|set| set.as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_filled_by_words_is_found_by_all_of_them() {
    let running = server().await;
    add(
        &running,
        "monday",
        "tokens",
        "\u{feff}GET /order/4711 200\r\nPOST /user 500\n",
    )
    .await;
    add(
        &running,
        "tuesday",
        "tokens",
        "GET /order/4712 200\nPOST /order/x 500\n",
    )
    .await;
    for (key, sets) in [
        ("order/4711", &["monday"][..]),
        ("  Order 4712\t", &["tuesday"]),
        ("get ORDER", &["monday", "tuesday"]),
        ("4711 4712", &[]),
        ("471", &[]),
    ] {
        assert_eq!(which(&running, "tokens", key, "").await, sets, "{key}");
    }
    assert_eq!(
        which(&running, "tokens", "order", "tag=tuesday").await,
        ["tuesday"]
    );
    assert_eq!(
        which(&running, "tokens", "order", "prefix=mon").await,
        ["monday"]
    );
    // More words than are looked up are no false negative.
    let many: String = (0..3000).map(|i| format!("word{i} ")).collect();
    add(&running, "monday", "tokens", &many).await;
    assert_eq!(
        which(&running, "tokens", &many[..2000], "").await,
        ["monday"]
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_extraction_fills_a_set() {
    let running = server().await;
    let long = "x".repeat(200_000);
    add(
        &running,
        "monday",
        "ngrams=4",
        &format!("{long}\nRequest-ID 7f\n"),
    )
    .await;
    assert_eq!(
        which(&running, "ngrams=4", "quest-id", "").await,
        ["monday"]
    );
    add(
        &running,
        "tuesday",
        "regex=id%3D(%5Cw%2B)",
        "a id=7 id=8\nid=9",
    )
    .await;
    add(
        &running,
        "tuesday",
        "json=user.id",
        "{\"user\":{\"id\":\"u-1\"}}\n\n{\"user\":[{\"id\":2}]}",
    )
    .await;
    add(&running, "tuesday", "lines", "one line\r\nanother\n").await;
    for (kind, key) in [
        (r"regex=id=(\w+)", "8"),
        ("json=user.id", "u-1"),
        ("json=user.id", "2"),
        ("lines", "one line"),
    ] {
        assert_eq!(
            which(&running, kind, key, "").await,
            ["tuesday"],
            "{kind} {key}"
        );
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_cut_is_refused() {
    let running = Running::start_with(|config| config.max_keys = 1000).await;
    let set = CreateSet {
        name: "a".into(),
        items: Some(100),
        ..CreateSet::default()
    };
    running.client.create(&set).await.unwrap();
    let many: String = (0..1001).map(|i| format!("{i} ")).collect();
    let bad_line = "{}\n".repeat(50_000) + "{\n";
    let pattern = format!("regex={}", "a".repeat(300));
    for (extract, media, body, code, says) in [
        (
            "words",
            TEXT,
            "x",
            Code::Invalid,
            "is not a way to extract keys",
        ),
        ("column=a", TEXT, "x", Code::Invalid, "does not read tables"),
        ("regex=(", TEXT, "x", Code::Invalid, "unclosed group"),
        (&pattern, TEXT, "x", Code::Invalid, "longer than 200 bytes"),
        (
            "json=a",
            TEXT,
            &bad_line,
            Code::Invalid,
            "line 50001 is not valid JSON",
        ),
        ("tokens", TEXT, &many, Code::TooLarge, "the maximum is 1000"),
        (
            "tokens",
            Some("application/json"),
            "{}",
            Code::MediaType,
            "text/plain",
        ),
    ] {
        let path = format!("/v1/sets/a/items?extract={extract}");
        let refused = running.refused(Method::POST, &path, media, body.to_owned());
        let refused = refused.await;
        assert_eq!(refused.code, code, "{extract}: {refused:?}");
        assert!(
            refused.detail.contains(says),
            "{extract}: {}",
            refused.detail
        );
    }
    let path = "/v1/which?extract=tokens&key=%21%21";
    let refused = running.refused(Method::GET, path, None, "").await;
    assert!(
        refused
            .detail
            .contains("contains no keys of the kind extract=tokens"),
        "{}",
        refused.detail
    );
    running.stop().await;
}
