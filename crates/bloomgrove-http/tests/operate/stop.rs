//! Shutdown.

use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{PATIENCE, Wanted, closes, read_answer, start};

#[tokio::test]
async fn a_request_under_way_is_finished_and_idle_connections_are_closed() {
    let server = start(Wanted::default()).await;
    let mut busy = server.connect().await;
    let mut fresh = server.connect().await;
    let mut used = server.connect().await;
    let request = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";
    used.write_all(request).await.unwrap();
    assert_eq!(read_answer(&mut used).await.unwrap().status, 200);
    let request = b"GET /slow/700 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    busy.write_all(request).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;

    let start = Instant::now();
    server.stop.send(true).unwrap();
    assert!(closes(&mut fresh).await);
    assert!(closes(&mut used).await);
    let answer = read_answer(&mut busy).await.expect("finished");
    assert_eq!((answer.status, answer.body.as_str()), (200, "done"));
    assert_eq!(answer.header("connection"), Some("close"));
    let ended = tokio::time::timeout(PATIENCE, server.task).await;
    ended.expect("it ends").unwrap().unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(9),
        "it waits for nothing else"
    );
    assert!(TcpStream::connect(server.addr).await.is_err());
}

#[tokio::test]
async fn an_answer_that_is_being_written_is_not_cut_off() {
    let server = start(Wanted::default()).await;
    let mut stream = server.connect().await;
    let request = b"GET /large/16777216 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request).await.unwrap();
    // The response is ready, and larger than the system's buffers.
    tokio::time::sleep(Duration::from_millis(200)).await;
    server.stop.send(true).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let answer = read_answer(&mut stream).await.expect("all of it");
    assert_eq!(answer.body.len(), 16_777_216);
    let ended = tokio::time::timeout(PATIENCE, server.task).await;
    ended.expect("it ends").unwrap().unwrap();
}
