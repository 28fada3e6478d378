//! What the client sends, byte for byte, and how it treats responses: against a listener that records requests and sends
//! prepared responses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use bloomgrove::{Filter, Params, codec};
use bloomgrove_client::api::{ChangeSet, Code, Key, MEDIA_MESSAGE, WhichQuery};
use bloomgrove_client::{Client, Error, ListQuery, PutOptions};

/// A recorded request.
struct Request {
    /// `GET /v1/...`
    line: String,
    headers: Vec<String>,
    body: Vec<u8>,
}

impl Request {
    fn has(&self, header: &str) -> bool {
        self.headers.iter().any(|found| found == header)
    }
}

/// Sends these responses, one per request, and closes the connection after each.
fn fake(answers: Vec<Vec<u8>>) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let request = take(&stream);
            sender.send(request).unwrap();
            // A client that has read enough closes the connection.
            let _ = stream.write_all(&answer);
        }
    });
    (url, requests)
}

fn take(stream: &TcpStream) -> Request {
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let line = lines.remove(0);
    let length = lines
        .iter()
        .find_map(|header| header.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    Request {
        line: line.strip_suffix(" HTTP/1.1").unwrap().to_owned(),
        headers: lines,
        body,
    }
}

fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn json(body: &str) -> Vec<u8> {
    answer("200 OK", "content-type: application/json\r\n", body)
}

fn set(name: &str) -> String {
    format!(
        r#"{{"name":"{name}","tags":[],"version":7,"params":{{"bits":1000,"hashes":3}},"ones":1,
           "fill":0.001,"items":0.3,"expected_fpr":1e-9,"bytes":128,"created":1,"changed":2}}"#
    )
}

fn filter(keys: &[&str]) -> Filter {
    let mut filter = Filter::new(Params::builder(1000, 3).build().unwrap()).unwrap();
    filter.insert_batch(keys);
    filter
}

#[tokio::test]
async fn names_keys_and_questions_arrive_as_they_were() {
    let (url, requests) = fake(vec![
        json(&set("a b/ü%")),
        json(&set("x")),
        json(r#"{"answers":[{"count":1,"sets":["x"]},{"count":0,"sets":[]}]}"#),
        json(r#"{"version":9,"changed_bits":3}"#),
        answer("204 No Content", "", ""),
    ]);
    let client = Client::builder(&url).key("s3cret").build().unwrap();

    assert_eq!(client.set("a b/ü%").await.unwrap().name, "a b/ü%");
    let request = requests.recv().unwrap();
    assert_eq!(request.line, "GET /v1/sets/a%20b%2F%C3%BC%25");
    assert!(request.has("authorization: Bearer s3cret"));

    let change = ChangeSet {
        name: Some("x".into()),
        ..ChangeSet::default()
    };
    client.change("y", &change).await.unwrap();
    let request = requests.recv().unwrap();
    assert_eq!(request.line, "PATCH /v1/sets/y");
    assert_eq!(request.body, br#"{"name":"x"}"#);

    let keys = vec![Key::from("apple"), Key::from(42)];
    let question = WhichQuery {
        keys: keys.clone(),
        ..WhichQuery::default()
    };
    let which = client.which(&question).await.unwrap();
    assert_eq!(which.answers[0].sets.as_deref(), Some(&["x".into()][..]));
    let request = requests.recv().unwrap();
    assert_eq!(request.line, "POST /v1/which");
    assert_eq!(request.body, br#"{"keys":["apple",{"u64":42}]}"#);

    let updated = client.insert("x", keys, Some(8)).await.unwrap();
    assert_eq!((updated.version, updated.changed_bits), (9, 3));
    let request = requests.recv().unwrap();
    assert_eq!(request.line, "POST /v1/sets/x/items?base=8");

    client.remove("x").await.unwrap();
    assert_eq!(requests.recv().unwrap().line, "DELETE /v1/sets/x");
}

#[tokio::test]
async fn filters_go_up_and_come_down_as_messages() {
    let updated = r#"{"version":7,"changed_bits":3}"#;
    let (old, new) = (filter(&["apple"]), filter(&["apple", "pear"]));
    let mut message = Vec::new();
    codec::compress(&new, &mut message).unwrap();
    let (url, requests) = fake(vec![
        answer("201 Created", "content-type: application/json\r\n", updated),
        json(updated),
        json(updated),
        answer("200 OK", "x-bloomgrove-version: 31\r\n", &message),
        answer("200 OK", "", &message),
    ]);
    let client = Client::new(&url).unwrap();

    let options = PutOptions {
        tags: vec!["a".into(), "b&c".into()],
        expires_in: Some(60),
        base: Some(0),
    };
    let (_, made) = client.put_filter_with("x", &new, &options).await.unwrap();
    assert!(made);
    let request = requests.recv().unwrap();
    assert_eq!(
        request.line,
        "PUT /v1/sets/x/filter?tag=a&tag=b%26c&expires_in=60&base=0"
    );
    assert!(request.has(&format!("content-type: {MEDIA_MESSAGE}")));
    assert!(codec::expand(&request.body[..]).unwrap() == new);

    client.merge("x", &new, None).await.unwrap();
    let request = requests.recv().unwrap();
    assert_eq!(request.line, "POST /v1/sets/x/filter");
    assert!(codec::expand(&request.body[..]).unwrap() == new);

    client.send_delta("x", &old, &new, Some(7)).await.unwrap();
    let request = requests.recv().unwrap();
    assert_eq!(request.line, "POST /v1/sets/x/filter?base=7");
    let mut there = old.to_owned().unwrap();
    codec::apply(&mut there, &request.body[..]).unwrap();
    assert!(there == new);

    let (came, version) = client.filter("x").await.unwrap();
    assert!(came == new && version == 31);
    // A filter of unknown version is useless as a base.
    let error = client.filter("x").await.unwrap_err();
    assert!(error.to_string().contains("without its version"), "{error}");
}

#[tokio::test]
async fn pages_follow_one_another_to_the_last() {
    let page = |name: &str, next: &str| {
        json(&format!(
            r#"{{"sets":[{}],"total":2{next}}}"#,
            set(name).as_str()
        ))
    };
    let (url, requests) = fake(vec![page("a&b", r#","next":"a&b""#), page("c", "")]);
    let client = Client::new(&url).unwrap();
    let wanted = ListQuery {
        tag: Some("t 1".into()),
        ..ListQuery::default()
    };
    let mut listing = client.list_all(wanted);
    let mut names = Vec::new();
    while let Some(set) = listing.next().await.unwrap() {
        names.push(set.name);
    }
    assert_eq!(names, ["a&b", "c"]);
    assert_eq!(requests.recv().unwrap().line, "GET /v1/sets?tag=t+1");
    assert_eq!(
        requests.recv().unwrap().line,
        "GET /v1/sets?tag=t+1&after=a%26b"
    );

    // A server that always sends the same page is detected.
    let (url, _requests) = fake(vec![
        page("a", r#","next":"a""#),
        page("a", r#","next":"a""#),
    ]);
    let client = Client::new(&url).unwrap();
    let mut listing = client.list_all(ListQuery::default());
    assert!(listing.next().await.unwrap().is_some());
    let error = listing.next().await.unwrap_err().to_string();
    assert!(error.contains("names itself as the next page"), "{error}");
}

#[tokio::test]
async fn problems_are_told_apart_from_strangers() {
    let problem = r#"{"status":409,"code":"send_whole","detail":"send it whole","version":5}"#;
    let internal = r#"{"status":500,"code":"internal","detail":"it broke","request":"r-17"}"#;
    let kind = "content-type: application/problem+json\r\n";
    let (url, _requests) = fake(vec![
        answer("409 Conflict", kind, problem),
        answer("500 Internal Server Error", kind, internal),
        answer("404 Not Found", "", "<h1>Apache</h1>"),
        answer("302 Found", "location: http://elsewhere.example/\r\n", ""),
        json(r#"{"name":"x""#),
        json(r#"{"answers":[]}"#),
    ]);
    let client = Client::new(&url).unwrap();

    let error = client.set("x").await.unwrap_err();
    assert_eq!(error.code(), Some(Code::SendWhole));
    assert_eq!(error.problem().unwrap().version, Some(5));
    assert_eq!(error.to_string(), "send it whole");
    let error = client.set("x").await.unwrap_err().to_string();
    assert!(
        error.contains("it broke") && error.contains("r-17"),
        "{error}"
    );

    for part in ["404", "302", "EOF"] {
        let error = client.set("x").await.unwrap_err();
        assert!(matches!(error, Error::Answer { .. }), "{error:?}");
        let error = error.to_string();
        assert!(error.contains(part) && error.contains(&url), "{error}");
    }
    let error = client.which_one("x").await.unwrap_err().to_string();
    assert!(error.contains("0 answers to 1 keys"), "{error}");
}

#[tokio::test]
async fn no_answer_takes_more_memory_than_allowed() {
    let long = format!("\"{}\"", "x".repeat(2000));
    // With a declared length, without one, and in parts.
    let unsaid = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{long}");
    let chunk = format!("{:x}\r\n{}\r\n", 100, "x".repeat(100)).repeat(100_000);
    let chunked = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunk}");
    let message = answer("200 OK", "x-bloomgrove-version: 1\r\n", vec![0; 2 << 20]);
    let (url, _requests) = fake(vec![json(&long), unsaid.into(), chunked.into(), message]);
    let client = Client::builder(&url)
        .answer_limit(1000)
        .filter_limit(1000)
        .build()
        .unwrap();
    for _ in 0..3 {
        let error = client.status().await.unwrap_err().to_string();
        assert!(
            error.contains("larger than the allowed 1000 bytes"),
            "{error}"
        );
    }
    let error = client.filter("x").await.unwrap_err().to_string();
    assert!(error.contains("larger than the allowed"), "{error}");

    // A short message that would expand to a large filter.
    let large = Filter::new(Params::builder(1 << 20, 3).build().unwrap()).unwrap();
    let mut message = Vec::new();
    codec::compress(&large, &mut message).unwrap();
    let headers = "x-bloomgrove-version: 1\r\n";
    let (url, _requests) = fake(vec![answer("200 OK", headers, message)]);
    let client = Client::builder(&url).filter_limit(1000).build().unwrap();
    let error = client.filter("x").await.unwrap_err();
    let too_large = matches!(error, Error::Filter(bloomgrove::Error::TooLarge { .. }));
    assert!(too_large, "{error:?}");
}

#[tokio::test]
async fn errors_say_which_server_and_what_to_do() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let error = Client::new(&url).unwrap().status().await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains(&url), "{error}");
    assert!(error.contains("is a server running there?"), "{error}");

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let client = Client::builder(&url).timeout(Duration::from_millis(200));
    let error = client.build().unwrap().status().await.unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains(&url) && error.contains("timed out"),
        "{error}"
    );

    let (url, _requests) = fake(vec![
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec(),
    ]);
    let error = Client::new(&url).unwrap().status().await.unwrap_err();
    assert!(error.to_string().contains("connection broke"), "{error}");
}
