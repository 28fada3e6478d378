//! Many connections.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bloomgrove_client::api::Code;
use bloomgrove_http::config::Limits;
use bloomgrove_http::listen::raise_file_limit;
use tokio::io::AsyncWriteExt;

use crate::support::{Wanted, closes, read_answer, start};

#[tokio::test]
async fn connections_beyond_the_limit_are_told_to_come_back() {
    let server = start(Wanted {
        limits: Limits {
            connections: 2,
            ..Limits::default()
        },
        ..Wanted::default()
    })
    .await;
    let request = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut inside = Vec::new();
    for _ in 0..2 {
        let mut stream = server.connect().await;
        stream.write_all(request).await.unwrap();
        assert_eq!(read_answer(&mut stream).await.unwrap().status, 200);
        inside.push(stream);
    }
    let mut third = server.connect().await;
    third.write_all(request).await.unwrap();
    let answer = read_answer(&mut third).await.unwrap();
    assert_eq!(answer.status, 503);
    assert_eq!(answer.problem().code, Code::Busy);
    assert!(closes(&mut third).await);
    // Existing connections are not affected.
    for stream in &mut inside {
        stream.write_all(request).await.unwrap();
        assert_eq!(read_answer(stream).await.unwrap().status, 200);
    }
    // A connection that closes makes room for another.
    inside.pop();
    let start = Instant::now();
    while server.get("/livez").await.status != 200 {
        assert!(start.elapsed() < Duration::from_secs(15));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

const ADDR: &str = "BLOOMGROVE_TEST_CONNECT_TO";
const COUNT: &str = "BLOOMGROVE_TEST_CONNECTIONS";

/// Both ends of ten thousand connections may need more files than one process is allowed, so the clients are in another
/// process: this program, running only the test below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_idle_connections_keep_nobody_waiting() {
    raise_file_limit();
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let files = usize::try_from(files.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    assert!(
        files >= 10_500,
        "this test needs 10,500 open files and the system allows {files}: raise `ulimit -Hn`"
    );
    let server = start(Wanted::default()).await;
    let mut clients = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crowd::clients_in_another_process"])
        .args(["--ignored", "--nocapture"])
        .env(ADDR, server.addr.to_string())
        .env(COUNT, "10000")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = clients.stdout.take().unwrap();
    let connected = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("connected"));
        // Kept open: the end of the test is printed there, too.
        (line, lines)
    });
    let connected = tokio::time::timeout(Duration::from_secs(30), connected).await;
    let (line, _output) = connected.unwrap().unwrap();
    assert!(line.is_some(), "all are connected");

    let mut times = Vec::new();
    for _ in 0..100 {
        let start = Instant::now();
        assert_eq!(server.get("/livez").await.status, 200);
        times.push(start.elapsed());
    }
    times.sort();
    // Well below a millisecond on an idle machine; this one may be busy.
    assert!(times[50] < Duration::from_millis(100), "{:?}", times[50]);

    let text = server.get("/metrics").await.body;
    let open = text.lines().find_map(|line| {
        let value = line.strip_prefix("bloomgrove_connections ")?;
        value.parse::<f64>().ok()
    });
    assert!(open.is_some_and(|open| open >= 10_000.0), "{open:?}");
    // It exits when its standard input ends.
    drop(clients.stdin.take());
    assert!(clients.wait().unwrap().success());
}

#[test]
#[ignore = "the clients of ten_thousand_idle_connections_keep_nobody_waiting, which starts it"]
fn clients_in_another_process() {
    let (Ok(addr), Ok(count)) = (std::env::var(ADDR), std::env::var(COUNT)) else {
        return;
    };
    raise_file_limit();
    let count = count.parse().unwrap();
    let mut streams: Vec<TcpStream> = Vec::with_capacity(count);
    while streams.len() < count {
        streams.push(TcpStream::connect(&addr).unwrap());
    }
    println!("connected {count}");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    // They were open all the time: none was closed by the other side.
    for stream in &mut streams {
        stream.set_nonblocking(true).unwrap();
        let read = stream.read(&mut [0]);
        assert_eq!(read.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}
