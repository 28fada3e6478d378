//! The API over real HTTP: every operation through the typed client; malformed requests by hand (`refusals.rs`); short queries (`short.rs`); texts cut
//! into keys by the server (`texts.rs`); and the stored OpenAPI document.

mod refusals;
mod short;
mod support;
mod texts;

use std::collections::HashSet;

use bloomgrove::Filter;
use bloomgrove_client::api::{
    ChangeSet, Code, CreateSet, Key, MEDIA_GROVE, Names, ReconstructQuery, SampleQuery, Spelling,
    WhichQuery,
};
use bloomgrove_client::{ListQuery, PutOptions};
use bloomgrove_server::http;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use support::{Running, filter, holders};

#[tokio::test(flavor = "multi_thread")]
async fn a_set_lives_by_the_typed_client() {
    let running = Running::start().await;
    let client = &running.client;
    let odd = "site/galway ö%?#&+ 100";
    let wanted = CreateSet {
        name: odd.into(),
        items: Some(1000),
        tags: vec!["eu".into()],
        ..CreateSet::default()
    };
    let made = client.create(&wanted).await.unwrap();
    assert_eq!(
        (made.name.as_str(), made.tags.as_slice()),
        (odd, &["eu".to_owned()][..])
    );
    let keys: Vec<Key> = vec!["heron".into(), 7u64.into(), vec![0xff, 0].into()];
    let updated = client
        .insert(odd, keys.clone(), Some(made.version))
        .await
        .unwrap();
    assert!(updated.version > made.version && updated.changed_bits > 0);
    for key in keys {
        let answer = client.which_one(key).await.unwrap();
        assert_eq!(answer.sets.unwrap(), [odd]);
    }
    // The number 7 and the text 7 are different keys.
    assert!(holders(client, "7").await.is_empty());

    let (held, version) = client.filter(odd).await.unwrap();
    assert_eq!(version, updated.version);
    assert!(held.contains("heron"));
    let change = ChangeSet {
        name: Some("galway".into()),
        tags: Some(vec!["ie".into()]),
        expires_in: Some(3600),
    };
    let changed = client.change(odd, &change).await.unwrap();
    assert_eq!(
        (changed.name.as_str(), changed.version),
        ("galway", changed.version)
    );
    assert!(changed.version > version);
    assert!(changed.expires.unwrap() > changed.created);
    assert_eq!(client.set("galway").await.unwrap(), changed);
    assert_eq!(
        client.set(odd).await.unwrap_err().code(),
        Some(Code::NotFound)
    );
    client.remove("galway").await.unwrap();
    assert!(holders(client, "heron").await.is_empty());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_go_up_and_down_in_every_form() {
    let running = Running::start().await;
    let client = &running.client;
    let options = PutOptions {
        tags: vec!["a b".into(), "c&d".into()],
        ..PutOptions::default()
    };
    let one = filter(&["one"]);
    let (first, made) = client
        .put_filter_with("coded", &one, &options)
        .await
        .unwrap();
    assert!(made);
    assert_eq!(client.set("coded").await.unwrap().tags, ["a b", "c&d"]);

    let path = running.directory.path().join("f.grove");
    one.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let (_, made) = client
        .put_bytes("file", MEDIA_GROVE, bytes.clone(), &PutOptions::default())
        .await
        .unwrap();
    assert!(made);
    let download = running
        .send(Method::GET, "/v1/sets/file/filter?form=grove", None, "")
        .await;
    assert_eq!(download.headers()["content-type"], MEDIA_GROVE);
    std::fs::write(&path, download.bytes().await.unwrap()).unwrap();
    assert!(Filter::load(&path).unwrap() == one);

    let both = filter(&["one", "two"]);
    let second = client
        .send_delta("coded", &one, &both, Some(first.version))
        .await
        .unwrap();
    assert!(client.filter("coded").await.unwrap().0 == both);
    let repeated = client
        .send_delta("coded", &one, &both, Some(first.version))
        .await
        .unwrap();
    assert_eq!(
        (repeated.version, repeated.changed_bits),
        (second.version, 0)
    );
    client
        .merge("coded", &filter(&["three"]), Some(second.version))
        .await
        .unwrap();
    for key in ["one", "two", "three"] {
        assert!(
            holders(client, key).await.contains(&"coded".to_owned()),
            "{key}"
        );
    }
    let late = client
        .merge("coded", &one, Some(u64::MAX))
        .await
        .unwrap_err();
    let problem = late.problem().unwrap();
    assert_eq!(problem.code, Code::SendWhole);
    assert_eq!(
        problem.version,
        Some(client.set("coded").await.unwrap().version)
    );
    let directory = running.stop().await;
    // No other file is left in the directory of the store.
    let mut left: Vec<_> = std::fs::read_dir(directory.path().join("data"))
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["store.head", "store.redb"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_is_there_after_a_restart() {
    let running = Running::start().await;
    for i in 0..50 {
        let name = format!("set-{i:02}");
        running
            .client
            .put_filter(&name, &filter(&[&name, "all"]))
            .await
            .unwrap();
        running
            .client
            .insert(&name, vec!["more".into()], None)
            .await
            .unwrap();
    }
    let before = running.client.list(&ListQuery::default()).await.unwrap();
    let directory = running.stop().await;
    let again = Running::start_in(directory, |_| {}).await;
    assert_eq!(
        again.client.list(&ListQuery::default()).await.unwrap(),
        before
    );
    assert_eq!(holders(&again.client, "more").await.len(), 50);
    assert!(
        holders(&again.client, "set-07")
            .await
            .contains(&"set-07".to_owned())
    );
    again.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_in_json_in_lines_and_in_the_path() {
    let running = Running::start().await;
    let client = &running.client;
    for (name, tag) in [("a/1", "x"), ("a/2", "y"), ("b/1", "x")] {
        let options = PutOptions {
            tags: vec![tag.into()],
            ..PutOptions::default()
        };
        client
            .put_filter_with(name, &filter(&["key", "other"]), &options)
            .await
            .unwrap();
    }
    let text = running
        .send(
            Method::POST,
            "/v1/which",
            Some("text/plain"),
            "key\r\nnone\n\nother",
        )
        .await;
    let text: serde_json::Value = text.json().await.unwrap();
    let counts: Vec<u64> = (0..4)
        .map(|i| text["answers"][i]["count"].as_u64().unwrap())
        .collect();
    // An empty line is a key like any other.
    assert_eq!(counts, [3, 0, 0, 3]);
    let path = "/v1/which?key=key&prefix=a%2F&tag=x&explain=true";
    let one: serde_json::Value = running
        .send(Method::GET, path, None, "")
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(one["answers"][0]["sets"], serde_json::json!(["a/1"]));
    assert_eq!(one["cost"]["sets"], 1);
    let many = WhichQuery {
        keys: (0..5000)
            .map(|i| Key::from(format!("k{i}")))
            .chain(["key".into()])
            .collect(),
        count_only: true,
        ..WhichQuery::default()
    };
    let many = client.which(&many).await.unwrap();
    assert_eq!((many.answers.len(), many.answers[5000].count), (5001, 3));
    let lines = running
        .send(
            Method::POST,
            "/v1/sets/a%2F1/items",
            Some("text/plain"),
            "l1\nl2\n",
        )
        .await;
    assert_eq!(lines.status(), StatusCode::OK);
    assert_eq!(holders(client, "l2").await, ["a/1"]);

    let estimate = client.estimate("\"a/1\" & \"b/1\"").await.unwrap();
    assert!((estimate.items.unwrap() - 2.0).abs() < 0.2, "{estimate:?}");
    let sample = SampleQuery {
        expression: "\"b/1\"".into(),
        names: Names::Texts(["key", "none", "other"].map(str::to_owned).to_vec()),
        spelling: Spelling::Decimal,
        count: 20,
        distinct: false,
        seed: Some(1),
    };
    assert_eq!(client.sample(&sample).await.unwrap().members.len(), 20);
    let all = ReconstructQuery {
        expression: sample.expression,
        names: sample.names,
        spelling: sample.spelling,
        limit: None,
    };
    assert_eq!(client.reconstruct(&all).await.unwrap().members.len(), 2);
    let status = client.status().await.unwrap();
    assert_eq!(status.sets, 3);
    assert!(status.totals.keys_queried >= 5001 && status.cpu_seconds > 0.0);
    assert_eq!(client.picture(10).await.unwrap().cells.len(), 3);
    assert!(
        client
            .metrics()
            .await
            .unwrap()
            .contains("bloomgrove_keys_queried_total")
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_are_made_while_serving_and_restored_at_the_start() {
    let running = Running::start().await;
    running
        .client
        .put_filter("a", &filter(&["one"]))
        .await
        .unwrap();
    let snapshot = running.client.snapshot().await.unwrap();
    assert_eq!(
        running.client.snapshots().await.unwrap().snapshots,
        std::slice::from_ref(&snapshot)
    );
    running.client.remove("a").await.unwrap();
    let directory = running.stop().await;
    let file = directory.path().join("data/snapshots").join(&snapshot.file);
    let restored = Running::start_with(|config| config.restore = Some(file)).await;
    assert_eq!(holders(&restored.client, "one").await, ["a"]);
    restored.stop().await;
}

#[test]
fn the_stored_document_is_that_of_the_handlers() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let now = http::document_text().unwrap();
    if std::env::var_os("BLOOMGROVE_WRITE_OPENAPI").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored == now,
        "docs/openapi.json is not what the handlers say; BLOOMGROVE_WRITE_OPENAPI=1 writes it"
    );
}

#[test]
fn operation_ids_are_unique_and_parameters_are_described() {
    let document: Value = serde_json::from_str(&http::document_text().unwrap()).unwrap();
    let mut ids = HashSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(
                ids.insert(id),
                "{method} {path}: another operation is called {id}"
            );
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(
                    parameter["description"].is_string(),
                    "{method} {path}: {parameter}"
                );
            }
        }
    }
}

/// A read key that reconstructs in a loop keeps all threads for searches busy, but snapshots have their own.
#[tokio::test(flavor = "multi_thread")]
async fn snapshots_do_not_wait_for_searches() {
    let running = Running::start().await;
    let client = &running.client;
    client.put_filter("a", &filter(&["heron"])).await.unwrap();
    let searches: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                // More names than the server can try before its deadline.
                let request = ReconstructQuery {
                    expression: "a".into(),
                    names: Names::Range(0, 1 << 40),
                    spelling: Spelling::U64,
                    limit: None,
                };
                client.reconstruct(&request).await
            })
        })
        .collect();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(searches.iter().all(|search| !search.is_finished()));
    client.snapshot().await.unwrap();
    assert!(
        searches.iter().all(|search| !search.is_finished()),
        "it came only after a search"
    );
    searches.iter().for_each(|search| search.abort());
}
