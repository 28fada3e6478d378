//! A site over HTTP: what it accepts, what it rejects, and who may do what.

use std::path::Path;

use bloomgrove_client::api::{
    Code, Event, LONGEST_ID, Lineage, LineageQuery, Link, Relation, Start,
};
use bloomgrove_client::{Client, Error, IdCipher, Site as Remote};
use bloomgrove_http::access::{KeyEntry, Role, hash_of};
use bloomgrove_http::disk::Meta;
use bloomgrove_site::{MOST_AT_A_TIME, SiteConfig};
use redb::ReadableDatabase;
use reqwest::{Method, StatusCode};

use crate::support::*;

fn alone(data: &Path) -> SiteConfig {
    SiteConfig {
        coordinator: None,
        ..config(data, "http://127.0.0.1:1")
    }
}

fn from(ids: &[&str]) -> LineageQuery {
    let start = |&id: &&str| Start {
        id: id.into(),
        depth: None,
    };
    LineageQuery {
        ids: ids.iter().map(start).collect(),
        ..LineageQuery::default()
    }
}

fn code<T: std::fmt::Debug>(answer: Result<T, Error>) -> Code {
    answer.unwrap_err().code().expect("a problem of a server")
}

fn http() -> reqwest::Client {
    let builder = reqwest::Client::builder().no_proxy().tls_certs_only([]);
    builder.build().unwrap()
}

#[tokio::test]
async fn what_is_recorded_is_told_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let (running, _) = site(alone(directory.path())).await;
    let remote = running.remote();
    let events = vec![derived(&["a b", "urn:x:1"], "c"), derived(&["c"], "d")];
    let recorded = remote.record(events.clone()).await.unwrap();
    assert_eq!(recorded.ids, ["urn:event:c", "urn:event:d"]);
    assert!(recorded.triples > 6);
    // Without a time in the event, recording it later adds another time.
    let again = Event {
        time: Some("2026-11-16T09:30:00Z".into()),
        ..events[0].clone()
    };
    assert_eq!(remote.record(vec![again.clone()]).await.unwrap().triples, 1);
    assert_eq!(remote.record(vec![again]).await.unwrap().triples, 0);
    let turtle = "<urn:x:1> <http://www.w3.org/ns/prov#wasDerivedFrom> <urn:x:0> .";
    let imported = remote.import("text/turtle", turtle.into()).await.unwrap();
    assert_eq!((imported.read, imported.triples, imported.links), (1, 1, 1));
    let imported = remote.import("text/turtle", turtle.into()).await.unwrap();
    assert_eq!((imported.triples, imported.links), (0, 0));

    let (lineage, traffic) = remote.lineage_counted(&from(&["d"])).await.unwrap();
    assert!(traffic.sent > 10 && traffic.received > 100);
    let link = |effect: &str, relation, cause: &str| Link {
        effect: effect.into(),
        relation,
        cause: cause.into(),
    };
    assert_eq!(
        lineage.links,
        [
            link("c", Relation::GeneratedBy, "urn:event:c"),
            link("d", Relation::GeneratedBy, "urn:event:d"),
            link("urn:event:c", Relation::Used, "a b"),
            link("urn:event:c", Relation::Used, "urn:x:1"),
            link("urn:event:d", Relation::Used, "c"),
            link("urn:x:1", Relation::DerivedFrom, "urn:x:0"),
        ]
    );
    assert_eq!(lineage.nodes.len(), 7);
    let status = remote.status().await.unwrap();
    assert_eq!((status.name.as_str(), status.ids), ("galway", 7));
    assert!(status.bytes_on_disk > 0 && status.coordinator.is_none() && !status.encrypts_ids);
    let metrics = running.client().metrics().await.unwrap();
    assert!(metrics.contains("\nbloomgrove_site_ids 7\n"), "{metrics}");
    running.stop().await;

    let (running, handle) = site(alone(directory.path())).await;
    let again = running.remote();
    assert_eq!(again.lineage(&from(&["d"])).await.unwrap(), lineage);
    assert_eq!(handle.lineage(from(&["d"])).await.unwrap(), lineage);
    let later = again.status().await.unwrap();
    assert_eq!((later.triples, later.ids), (status.triples, status.ids));
    running.stop().await;
    // A remaining handle can query, but not record.
    assert_eq!(handle.lineage(from(&["d"])).await.unwrap(), lineage);
    let late = handle.record(vec![derived(&["d"], "e")]).await;
    assert_eq!(late.unwrap_err().code, Code::Storage);
}

#[tokio::test]
async fn sparql_is_answered_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (running, handle) = site(alone(directory.path())).await;
    let remote = running.remote();
    handle
        .record(vec![derived(&["urn:a"], "urn:b")])
        .await
        .unwrap();
    let triples = handle.status().triples;
    let query = "SELECT ?d { ?d <http://www.w3.org/ns/prov#wasGeneratedBy> ?e }";
    let table = remote.sparql(query, "text/csv").await.unwrap();
    assert_eq!(table, b"d\r\nurn:b\r\n");
    let get = http().get(format!("{}/v1/sparql", running.url));
    let answer = get.query(&[("query", query)]).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let media = answer.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(media, "application/sparql-results+json");
    assert!(answer.text().await.unwrap().contains("urn:b"));
    let update = "INSERT DATA { <urn:a> <urn:b> <urn:c> }";
    assert_eq!(code(remote.sparql(update, "*/*").await), Code::Invalid);
    for kind in ["application/sparql-update", "text/plain"] {
        let post = http().post(format!("{}/v1/sparql", running.url));
        let answer = post.header("content-type", kind).body(update).send().await;
        assert!(answer.unwrap().status().is_client_error());
    }
    assert_eq!(handle.status().triples, triples);
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_is_refused_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (running, handle) = site(alone(directory.path())).await;
    let remote = running.remote();
    let wrong = Event {
        outputs: vec![String::new()],
        ..Event::default()
    };
    let events = vec![derived(&["a"], "b"), wrong];
    let refused = remote.record(events).await.unwrap_err();
    assert_eq!(refused.code(), Some(Code::Invalid));
    let message = refused.to_string();
    assert!(message.contains("event 2: "), "{message}");
    let many = vec![derived(&["a"], "b"); MOST_AT_A_TIME + 1];
    assert_eq!(code(remote.record(many).await), Code::TooLarge);
    let ids = vec!["x"; MOST_AT_A_TIME + 1];
    assert_eq!(code(remote.lineage(&from(&ids)).await), Code::TooLarge);
    for links in [0, 10_001] {
        let mut question = from(&["a"]);
        question.links = Some(links);
        assert_eq!(code(remote.lineage(&question).await), Code::Invalid);
    }
    assert_eq!(
        code(remote.import("text/turtle", b"nonsense".into()).await),
        Code::Invalid
    );
    assert_eq!(
        code(remote.import("image/png", Vec::new()).await),
        Code::MediaType
    );
    // What cannot be an id is unknown, but not an error.
    let long = "x".repeat(LONGEST_ID + 1);
    let unknown = from(&["", &long, "urn:x-bloomgrove:id:a", "never seen"]);
    assert_eq!(remote.lineage(&unknown).await.unwrap(), Lineage::default());
    for (method, path, body, status) in [
        (Method::POST, "/v1/events", "[]", 400),
        (
            Method::POST,
            "/v1/events",
            "{\"events\":[{\"kind\":\"lost\"}]}",
            400,
        ),
        (
            Method::POST,
            "/v1/lineage",
            "{\"ids\":[{\"id\":\"a\",\"depth\":-1}]}",
            400,
        ),
        (Method::GET, "/v1/events", "", 405),
        (Method::GET, "/v1/sets", "", 404),
        (Method::GET, "/", "", 404),
        (Method::GET, "/livez", "", 200),
        (Method::GET, "/readyz", "", 200),
    ] {
        let request = http().request(method, format!("{}{path}", running.url));
        let request = request.header("content-type", "application/json");
        let answer = request.body(body).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path} {body}");
    }
    assert_eq!(handle.status().triples, 0);
    running.stop().await;
}

#[tokio::test]
async fn keys_say_who_may_do_what() {
    let directory = tempfile::tempdir().unwrap();
    // Created at the first start.
    site(alone(directory.path())).await.0.stop().await;
    let coordinators = {
        let database = redb::Database::open(directory.path().join("site.redb")).unwrap();
        let read = database.begin_read().unwrap();
        String::from_utf8(Meta::read(&read, "key").unwrap()).unwrap()
    };
    let entry = |name: &str, role, prefix: &str| KeyEntry::new(name, role, hash_of(name), prefix);
    let config = SiteConfig {
        keys: vec![
            entry("writer", Role::Write, ""),
            entry("own", Role::Write, "galway/"),
            entry("other", Role::Write, "pune/"),
            entry("reader", Role::Read, ""),
        ],
        ..alone(directory.path())
    };
    let (running, _) = site(config).await;
    let with = |key: &str| {
        let client = Client::builder(running.url.as_str())
            .key(key)
            .build()
            .unwrap();
        Remote::new(client)
    };
    let all = Ok(());
    let no = Err(Code::Forbidden);
    let unknown = Err(Code::Unauthorized);
    for (key, reads, queries, writes) in [
        ("writer", all, all, all),
        ("own", all, all, all),
        ("other", all, all, no),
        ("reader", all, all, no),
        (coordinators.as_str(), all, no, no),
        ("nobody", unknown, unknown, unknown),
    ] {
        let short = |answer: Result<(), Error>| answer.map_err(|error| error.code().unwrap());
        let remote = with(key);
        assert_eq!(short(remote.status().await.map(drop)), reads, "{key}");
        assert_eq!(
            short(remote.lineage(&from(&["a"])).await.map(drop)),
            reads,
            "{key}"
        );
        assert_eq!(
            short(remote.sparql("ASK {}", "*/*").await.map(drop)),
            queries,
            "{key}"
        );
        let events = vec![derived(&["a"], "b")];
        assert_eq!(
            short(remote.record(events).await.map(drop)),
            writes,
            "{key}"
        );
        let import = remote.import("text/turtle", Vec::new()).await;
        assert_eq!(short(import.map(drop)), writes, "{key}");
    }
    for (path, status) in [
        ("/livez", 200),
        ("/readyz", 200),
        ("/", 401),
        ("/app.js", 401),
        ("/metrics", 401),
    ] {
        let answer = http()
            .get(format!("{}{path}", running.url))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
    }
    // The coordinator's key permits exactly what it is documented to permit.
    let refused = with(&coordinators).sparql("ASK {}", "*/*").await;
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("lineage, status and metrics"), "{told}");
    let metrics = http()
        .get(format!("{}/metrics", running.url))
        .bearer_auth(&coordinators)
        .send()
        .await
        .unwrap();
    assert_eq!(metrics.status().as_u16(), 200);
    running.stop().await;
}

#[tokio::test]
async fn a_full_memory_refuses_and_goes_on_answering() {
    let directory = tempfile::tempdir().unwrap();
    let config = SiteConfig {
        triples: 10,
        ..alone(directory.path())
    };
    let (running, handle) = site(config.clone()).await;
    let remote = running.remote();
    remote.record(vec![derived(&["a"], "b")]).await.unwrap();
    let before = handle.status();
    let events = vec![derived(&["b"], "c"), derived(&["b"], "d")];
    assert_eq!(code(remote.record(events).await), Code::Memory);
    let after = handle.status();
    assert_eq!((after.triples, after.ids), (before.triples, before.ids));
    assert_eq!(remote.lineage(&from(&["b"])).await.unwrap().links.len(), 2);
    assert_eq!(
        remote.lineage(&from(&["c"])).await.unwrap(),
        Lineage::default()
    );
    running.stop().await;
}

#[tokio::test]
async fn encrypted_ids_are_decrypted_and_answers_encrypted() {
    let directory = tempfile::tempdir().unwrap();
    let cipher = IdCipher::new(&IdCipher::new_secret().unwrap()).unwrap();
    let config = SiteConfig {
        cipher: Some(cipher.clone()),
        ..alone(directory.path())
    };
    let (running, _) = site(config).await;
    let remote = running.remote();
    remote.record(vec![derived(&["a"], "b")]).await.unwrap();
    let told = remote
        .lineage(&from(&[&cipher.encrypt("b")]))
        .await
        .unwrap();
    let effects: Vec<_> = told
        .links
        .iter()
        .map(|link| cipher.decrypt(&link.effect).unwrap())
        .collect();
    assert_eq!(effects.len(), 2);
    assert!(effects.contains(&"b".to_owned()) && effects.contains(&"urn:event:b".to_owned()));
    assert_eq!(
        remote.lineage(&from(&["b"])).await.unwrap(),
        Lineage::default()
    );
    running.stop().await;
}
