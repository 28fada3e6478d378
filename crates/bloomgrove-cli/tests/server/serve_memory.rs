//! `bloomgrove serve` against clients that make it hold memory: whatever one of them does, the process
//! stays within `--memory` and a fifth, and others are answered.
//!
//! Before there was one budget for all that requests hold: 30 downloads that nobody read took 2 GB under
//! 1 GiB, 60 batches of keys 2.9 GB under 256 MiB, and a list in JSON 888 MB.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::Shop;

const MIB: u64 = 1 << 20;

/// A server in a process of its own, which is ended with the test.
struct Served {
    child: Child,
    address: String,
    memory: u64,
}

impl Served {
    fn start(shop: &Shop, memory: u64) -> Self {
        let memory_text = memory.to_string();
        let mut child = shop
            .command(&["serve", "--data", "data", "--listen", "127.0.0.1:0"])
            .args(["--memory", &memory_text])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("it said {line:?}"));
        let served = Self {
            address: address.to_owned(),
            child,
            memory,
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while served.request("GET", "/readyz", "", b"").0 != 200 {
            assert!(Instant::now() < deadline, "it does not become ready");
            std::thread::sleep(Duration::from_millis(5));
        }
        served
    }

    /// Sends a request, and does not wait for the answer.
    fn send(&self, method: &str, path: &str, media: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: {media}\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses may not read all of it.
        let _ = stream.write_all(body);
        stream
    }

    fn request(&self, method: &str, path: &str, media: &str, body: &[u8]) -> (u16, String) {
        answer(self.send(method, path, media, body))
    }

    fn json(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        self.request(method, path, "application/json", body.as_bytes())
    }

    fn set(&self, name: &str, bits: u64, hashes: u32) {
        let body =
            format!(r#"{{"name": "{name}", "params": {{"bits": {bits}, "hashes": {hashes}}}}}"#);
        let (status, text) = self.json("POST", "/v1/sets", &body);
        assert_eq!(status, 201, "{text}");
    }

    /// The most memory that it ever had.
    fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kib: u64 = line
            .and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
            .unwrap();
        kib << 10
    }

    fn assert_within(&self) {
        let (peak, most) = (self.peak(), self.memory + self.memory / 5);
        assert!(
            peak <= most,
            "{} MiB under {} MiB",
            peak / MIB,
            self.memory / MIB
        );
        assert_eq!(self.request("GET", "/livez", "", b"").0, 200);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(mut stream: TcpStream) -> (u16, String) {
    let timeout = Some(Duration::from_secs(60));
    stream.set_read_timeout(timeout).unwrap();
    let mut bytes = Vec::new();
    // What came before the end is enough.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    (status.unwrap_or(0), text)
}

#[test]
fn answers_that_nobody_reads_are_counted() {
    let shop = Shop::new();
    let served = Served::start(&shop, 1024 * MIB);
    served.set("large", 64 * 8 * MIB, 4);
    served.set("small", 1000, 4);
    let stalled: Vec<TcpStream> = (0..30)
        .map(|_| served.send("GET", "/v1/sets/large/filter?form=grove", "", b""))
        .collect();
    // Until all of them that fit have their answers.
    std::thread::sleep(Duration::from_secs(4));
    let (status, text) = served.json("POST", "/v1/which", r#"{"keys": ["a"]}"#);
    assert_eq!(status, 200, "{text}");
    assert_eq!(
        served.request("GET", "/v1/sets/small/filter", "", b"").0,
        200
    );
    served.assert_within();
    drop(stalled);
    // Whoever reads gets all of it, once there is room again.
    let (status, text) = served.request("GET", "/v1/sets/large/filter?form=grove", "", b"");
    assert_eq!(status, 200);
    assert!(text.len() as u64 > 64 * MIB);
}

#[test]
fn batches_of_keys_are_counted() {
    let shop = Shop::new();
    let served = Served::start(&shop, 256 * MIB);
    served.set("many", 64 * 8 * MIB / 4, 64);
    let keys: String = (0..100_000).map(|key| format!("{key}\n")).collect();
    let sent: Vec<TcpStream> = (0..60)
        .map(|_| served.send("POST", "/v1/sets/many/items", "text/plain", keys.as_bytes()))
        .collect();
    let (status, text) = served.json("POST", "/v1/which", r#"{"keys": ["a"]}"#);
    assert_eq!(status, 200, "{text}");
    let answers: Vec<(u16, String)> = sent.into_iter().map(answer).collect();
    assert!(answers.iter().any(|(status, _)| *status == 200));
    for (status, text) in &answers {
        assert!([200, 503].contains(status), "{text}");
    }
    served.assert_within();
}

#[test]
fn lists_of_every_kind_are_counted_before_they_are_read() {
    let shop = Shop::new();
    let served = Served::start(&shop, 256 * MIB);
    served.set("a", 1000, 4);
    let list = |first: &str, element: &str, last: &str| {
        let elements = element.repeat(25 * MIB as usize / element.len());
        format!("{first}{elements}0{last}")
    };
    for (path, body) in [
        ("/v1/which", list(r#"{"keys": ["#, "[],", "]}")),
        ("/v1/which", list(r#"{"keys": ["#, "\"\",", "]}")),
        (
            "/v1/reconstruct",
            list(
                r#"{"expression": "a", "names": {"integers": ["#,
                "1,",
                "]}}",
            ),
        ),
        (
            "/v1/sample",
            list(
                r#"{"count": 1, "expression": "a", "names": {"texts": ["#,
                "\"x\",",
                "]}}",
            ),
        ),
        ("/v1/trace", list(r#"{"ids": ["#, "\"x\",", "]}")),
        (
            "/v1/sets",
            list(r#"{"name": "b", "items": 1, "tags": ["#, "\"x\",", "]}"),
        ),
    ] {
        let (status, text) = served.json("POST", path, &body);
        assert!([400, 413].contains(&status), "{path}: {text}");
    }
    served.assert_within();
}

#[test]
fn names_and_tags_are_counted_when_they_change() {
    let shop = Shop::new();
    let served = Served::start(&shop, MIB);
    for set in 0..400 {
        served.set(&format!("set-{set}"), 64, 1);
    }
    let tags: Vec<String> = (0..32).map(|tag| format!("\"{tag:0>100}\"")).collect();
    let body = format!(r#"{{"tags": [{}]}}"#, tags.join(","));
    let patched = (0..400)
        .map(|set| {
            served
                .json("PATCH", &format!("/v1/sets/set-{set}"), &body)
                .0
        })
        .filter(|&status| status == 200)
        .count();
    // 3.9 kB of tags each, beside what the sets take.
    assert!(
        (50..300).contains(&patched),
        "{patched} of 400 got all tags"
    );
    let long = format!(r#"{{"name": "{}"}}"#, "n".repeat(500));
    let status = served.json("PATCH", "/v1/sets/set-399", &long).0;
    assert!([200, 507].contains(&status));
}
