//! The API over real HTTP: everything that can be asked, by the typed client; everything that can be
//! asked wrong, by hand; and the stored document.

use std::time::{Duration, Instant};

use bloomgrove::{Filter, Params, codec};
use bloomgrove_client::api::{
    ChangeSet, Code, CreateSet, Key, MEDIA_GROVE, Names, Problem, ReconstructRequest,
    SampleRequest, Spelling, WhichRequest,
};
use bloomgrove_client::{Client, ListRequest, PutOptions};
use bloomgrove_server::{Config, Server, http};
use reqwest::{Method, StatusCode};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A server in this process, and a client of it.
struct Running {
    url: String,
    client: Client,
    stop: watch::Sender<bool>,
    server: JoinHandle<anyhow::Result<()>>,
    folder: TempDir,
}

impl Running {
    async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), change).await
    }

    async fn start_in(folder: TempDir, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config {
            data: folder.path().join("data"),
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            ..Config::default()
        };
        change(&mut config);
        let server = Server::bind(config).await.unwrap();
        let url = server.urls().remove(0);
        let running = Self {
            client: Client::new(&url).unwrap(),
            stop: server.stopper(),
            server: tokio::spawn(server.run()),
            url,
            folder,
        };
        let deadline = Instant::now() + Duration::from_secs(30);
        while !running.client.is_ready().await.unwrap_or(false) {
            assert!(
                Instant::now() < deadline,
                "the server does not become ready"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        running
    }

    async fn stop(self) -> TempDir {
        self.stop.send_replace(true);
        drop(self.client);
        self.server.await.unwrap().unwrap();
        self.folder
    }

    /// A request by hand.
    async fn send(
        &self,
        method: Method,
        path: &str,
        media: Option<&str>,
        body: impl Into<reqwest::Body>,
    ) -> reqwest::Response {
        let request = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut request = request
            .request(method, format!("{}{path}", self.url))
            .body(body);
        if let Some(media) = media {
            request = request.header("content-type", media);
        }
        request.send().await.unwrap()
    }

    /// The problem that a request by hand is answered with.
    async fn refused(
        &self,
        method: Method,
        path: &str,
        media: Option<&str>,
        body: impl Into<reqwest::Body>,
    ) -> Problem {
        let response = self.send(method, path, media, body).await;
        let status = response.status();
        assert!(
            status.is_client_error() || status.as_u16() == 507,
            "{path}: {status}"
        );
        let media = response.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        assert_eq!(media, "application/problem+json", "{path}");
        let problem: Problem = response.json().await.unwrap();
        assert_eq!(problem.status, status.as_u16(), "{path}");
        assert!(
            !problem.detail.is_empty() && !problem.request.is_empty(),
            "{problem:?}"
        );
        problem
    }
}

fn filter(keys: &[&str]) -> Filter {
    let mut filter = Filter::new(Params::builder(10_000, 5).build().unwrap()).unwrap();
    filter.insert_batch(keys);
    filter
}

async fn holders(client: &Client, key: &str) -> Vec<String> {
    client.which_one(key).await.unwrap().sets.unwrap()
}

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
    // 7 as a number is another key than 7 as text.
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
        expires_in: None,
    };
    let one = filter(&["one"]);
    let (first, made) = client
        .put_filter_with("coded", &one, &options)
        .await
        .unwrap();
    assert!(made);
    assert_eq!(client.set("coded").await.unwrap().tags, ["a b", "c&d"]);

    let path = running.folder.path().join("f.grove");
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
    let folder = running.stop().await;
    // Nothing is left beside the store.
    let left: Vec<_> = std::fs::read_dir(folder.path().join("data"))
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    assert_eq!(left, ["store.redb"]);
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
    let before = running.client.list(&ListRequest::default()).await.unwrap();
    let folder = running.stop().await;
    let again = Running::start_in(folder, |_| {}).await;
    assert_eq!(
        again.client.list(&ListRequest::default()).await.unwrap(),
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
            expires_in: None,
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
    // An empty line is a key as others are.
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
    let many = WhichRequest {
        keys: (0..5000)
            .map(|i| Key::from(format!("k{i}")))
            .chain(["key".into()])
            .collect(),
        count_only: true,
        ..WhichRequest::default()
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
    let sample = SampleRequest {
        expression: "\"b/1\"".into(),
        names: Names::Texts(["key", "none", "other"].map(str::to_owned).to_vec()),
        spelling: Spelling::Decimal,
        count: 20,
        distinct: false,
        seed: Some(1),
    };
    assert_eq!(client.sample(&sample).await.unwrap().members.len(), 20);
    let all = ReconstructRequest {
        expression: sample.expression,
        names: sample.names,
        spelling: sample.spelling,
        limit: None,
    };
    assert_eq!(client.reconstruct(&all).await.unwrap().members.len(), 2);
    let status = client.status().await.unwrap();
    assert_eq!(status.sets, 3);
    assert!(status.totals.keys_asked >= 5001 && status.cpu_seconds > 0.0);
    assert_eq!(client.picture(10).await.unwrap().cells.len(), 3);
    assert!(
        client
            .metrics()
            .await
            .unwrap()
            .contains("bloomgrove_keys_asked_total")
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
    let folder = running.stop().await;
    let file = folder.path().join("data/snapshots").join(&snapshot.file);
    let restored = Running::start_with(|config| config.restore = Some(file)).await;
    assert_eq!(holders(&restored.client, "one").await, ["a"]);
    restored.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_wrong_is_refused_with_what_to_do() {
    use Method as M;
    let running = Running::start_with(|config| {
        config.limits.keys = 10;
        config.limits.filter = 1 << 20;
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
    // More lines than are ever taken.
    let lines = "k\n".repeat(1_000_001);
    let problem = running
        .refused(M::POST, "/v1/which", Some("text/plain"), lines)
        .await;
    assert_eq!(problem.code, Code::TooLarge);
    // A few bytes that stand for more than the server takes: of a filter of zeros.
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
            .list(&ListRequest::default())
            .await
            .unwrap()
            .total,
        1
    );
    assert_eq!(holders(&running.client, "one").await, ["set"]);
    running.stop().await;
}

/// Every length of a message and of a file, and a bit of damage at every byte.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_uploads_change_nothing() {
    let running = Running::start().await;
    let mut message = Vec::new();
    codec::compress(&filter(&["one", "two"]), &mut message).unwrap();
    let path = running.folder.path().join("f.grove");
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
                // Padding of a file is the only thing that nobody looks at.
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
