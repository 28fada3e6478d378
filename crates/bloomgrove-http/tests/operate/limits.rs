//! Too large, too slow, too many.

use std::time::{Duration, Instant};

use bloomgrove_client::api::Code;
use bloomgrove_http::config::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Running, Wanted, closes, read_answer, start};

async fn with(limits: Limits) -> Running {
    start(Wanted {
        limits,
        ..Wanted::default()
    })
    .await
}

fn post(path: &str, rest: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{rest}")
}

#[tokio::test]
async fn a_declared_body_that_is_too_large_is_refused_before_it_comes() {
    let server = with(Limits {
        body: 1000,
        ..Limits::default()
    })
    .await;
    // Not a byte of the body is sent.
    let answer = server
        .send(&post("/length", "content-length: 1001\r\n\r\n"))
        .await;
    assert_eq!(answer.status, 413);
    assert_eq!(answer.problem().code, Code::TooLarge);
    assert!(answer.problem().detail.contains("1000 bytes"));

    let fits = post("/length", "content-length: 1000\r\n\r\n") + &"x".repeat(1000);
    let answer = server.send(&fits).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "1000"));
}

#[tokio::test]
async fn a_client_that_sends_a_large_body_all_the_same_sees_the_refusal() {
    let server = with(Limits {
        body: 1000,
        ..Limits::default()
    })
    .await;
    // More than the system's buffers can hold: the server must read it for the client to proceed.
    let large = 16 << 20;
    let text = post("/length", &format!("content-length: {large}\r\n\r\n"));
    let text = text + &"x".repeat(large);
    let answer = server.send(&text).await;
    assert_eq!(answer.status, 413);
}

#[tokio::test]
async fn a_chunked_body_is_cut_off_at_the_limit() {
    let server = with(Limits {
        body: 1000,
        ..Limits::default()
    })
    .await;
    let head = post("/length", "transfer-encoding: chunked\r\n\r\n");
    let chunk = format!("1f4\r\n{}\r\n", "x".repeat(500));
    let answer = server.send(&format!("{head}{chunk}{chunk}0\r\n\r\n")).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "1000"));
    // The end never comes: the response must not wait for it.
    let answer = server.send(&format!("{head}{chunk}{chunk}{chunk}")).await;
    assert_eq!(answer.status, 413);
    assert_eq!(answer.problem().code, Code::TooLarge);
}

#[tokio::test]
async fn bodies_that_together_take_too_much_memory_wait_or_are_refused() {
    // A budget of 32 MiB, half of it for one caller, a quarter of that for bodies.
    let server = with(Limits {
        body: 8 << 20,
        memory: 1000,
        ..Limits::default()
    })
    .await;
    const LENGTH: usize = 3 << 20;
    let declared = post("/length", &format!("content-length: {LENGTH}\r\n\r\n"));
    let body = "x".repeat(LENGTH);
    // This one withholds its last byte.
    let mut first = server.connect().await;
    first.write_all(declared.as_bytes()).await.unwrap();
    first.write_all(&body.as_bytes()[1..]).await.unwrap();
    // The next one waits for memory.
    let mut second = server.connect().await;
    second.write_all(declared.as_bytes()).await.unwrap();
    // One without a declared length cannot wait: it is rejected once it is too large.
    let chunked = post("/length", "transfer-encoding: chunked\r\n\r\n");
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "x".repeat(1 << 20));
    let chunked = format!("{chunked}{}", chunk.repeat(8));
    let mut answer = server.send(&chunked).await;
    for _ in 0..100 {
        // The server may not have read all of the first yet.
        if answer.status == 503 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        answer = server.send(&chunked).await;
    }
    assert_eq!(answer.status, 503);
    assert_eq!(answer.problem().code, Code::Busy);
    assert_eq!(answer.header("retry-after"), Some("1"));
    // Small bodies are always accepted.
    let little = post("/length", "content-length: 1000\r\n\r\n") + &body[..1000];
    assert_eq!(server.send(&little).await.status, 200);
    first.write_all(b"x").await.unwrap();
    assert_eq!(read_answer(&mut first).await.unwrap().status, 200);
    second.write_all(body.as_bytes()).await.unwrap();
    assert_eq!(read_answer(&mut second).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_body_that_trickles_is_cut_off() {
    let server = with(Limits {
        request_time: Duration::from_millis(300),
        ..Limits::default()
    })
    .await;
    let start = Instant::now();
    let mut stream = server.connect().await;
    let head = post("/length", "content-length: 1000\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    // Never idle for long.
    let trickle = tokio::spawn(async move {
        while to.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let answer = read_answer(&mut from).await.unwrap();
    assert_eq!(answer.status, 408);
    assert_eq!(answer.problem().code, Code::Timeout);
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert!(closes(&mut from).await);
    trickle.abort();
}

#[tokio::test]
async fn an_answer_that_is_not_ready_in_time_is_given_up() {
    let server = with(Limits {
        request_time: Duration::from_millis(100),
        ..Limits::default()
    })
    .await;
    let answer = server.get("/slow/60000").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.problem().code, Code::Timeout);
}

#[tokio::test]
async fn a_head_that_trickles_is_cut_off() {
    let server = with(Limits {
        header_time: Duration::from_millis(300),
        ..Limits::default()
    })
    .await;
    let mut stream = server.connect().await;
    let start = Instant::now();
    stream.write_all(b"GET /livez HTTP/1.1\r\n").await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let trickle = tokio::spawn(async move {
        while to.write_all(b"x: y\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert!(closes(&mut from).await);
    // Long before the 75 s that a connection may idle.
    assert!(start.elapsed() < Duration::from_secs(15));
    trickle.abort();
}

#[tokio::test]
async fn idle_connections_are_closed_and_busy_ones_are_not() {
    let server = with(Limits {
        idle_time: Duration::from_millis(300),
        ..Limits::default()
    })
    .await;
    let mut fresh = server.connect().await;
    let mut used = server.connect().await;
    // Processing takes longer than the idle time.
    let request = b"GET /slow/900 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    used.write_all(request).await.unwrap();
    assert!(closes(&mut fresh).await);
    assert_eq!(read_answer(&mut used).await.unwrap().body, "done");
    assert!(closes(&mut used).await);
}

#[tokio::test]
async fn an_answer_that_nobody_reads_is_given_up() {
    let server = with(Limits {
        idle_time: Duration::from_millis(300),
        connections: 1,
        ..Limits::default()
    })
    .await;
    let mut stream = server.connect().await;
    // More than the system's buffers can hold.
    let request = b"GET /large/67108864 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request).await.unwrap();
    // There is one place, so another connection is accepted only after this one was closed.
    let start = Instant::now();
    while server.get("/livez").await.status != 200 {
        assert!(start.elapsed() < Duration::from_secs(15));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(stream);
}

#[tokio::test]
async fn a_slow_reader_gets_a_large_answer() {
    let server = with(Limits {
        idle_time: Duration::from_secs(1),
        ..Limits::default()
    })
    .await;
    let mut stream = server.connect().await;
    let request = b"GET /large/67108864 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request).await.unwrap();
    // The pauses together are longer than the idle time, but there is progress all the time.
    let (start, mut read, mut pauses) = (Instant::now(), 0, 0);
    let mut buffer = vec![0; 64 << 10];
    while read < 67_108_864 {
        let bytes = stream.read(&mut buffer).await.unwrap();
        assert!(bytes > 0, "cut off after {read} bytes");
        read += bytes;
        if read > pauses * 4_000_000 {
            pauses += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    assert!(start.elapsed() > Duration::from_secs(1));
}

#[tokio::test]
async fn a_panic_is_one_request_that_failed() {
    let server = with(Limits::default()).await;
    let answer = server.get("/panics").await;
    assert_eq!(answer.status, 500);
    assert_eq!(answer.problem().code, Code::Internal);
    assert!(!answer.body.contains("a test asked for it"));
    assert_eq!(server.get("/livez").await.status, 200);
}
