//! Stands between two processes, and lets through what the test wants: the network at its worst.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    /// It goes through.
    Fair,
    /// The connection is closed before it gets anywhere.
    Cut,
    /// It goes through, after so long.
    Slow(Duration),
    /// It arrives; its answer is lost.
    NoAnswer,
    /// It arrives twice; the second answer is given.
    Twice,
}

/// A proxy for HTTP/1.1 messages with a length, one to a connection.
pub(crate) struct Proxy {
    pub(crate) url: String,
    weather: Arc<Mutex<Weather>>,
    /// Where it leads; a restarted process may be elsewhere.
    target: Arc<Mutex<String>>,
    requests: Arc<AtomicU64>,
}

impl Proxy {
    pub(crate) fn before(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let weather = Arc::new(Mutex::new(Weather::Fair));
        let target = Arc::new(Mutex::new(String::new()));
        let requests = Arc::new(AtomicU64::new(0));
        let proxy = Self {
            url: format!("http://{address}"),
            weather: weather.clone(),
            target: target.clone(),
            requests: requests.clone(),
        };
        proxy.lead_to(url);
        // It ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (weather, target) = (weather.clone(), target.clone());
                let requests = requests.clone();
                std::thread::spawn(move || {
                    requests.fetch_add(1, SeqCst);
                    let weather = *weather.lock().unwrap();
                    let target = target.lock().unwrap().clone();
                    // What goes wrong here is part of the weather.
                    let _ = pass(&client, &target, weather);
                    let _ = client.shutdown(Shutdown::Both);
                });
            }
        });
        proxy
    }

    pub(crate) fn lead_to(&self, url: &str) {
        *self.target.lock().unwrap() = url.strip_prefix("http://").unwrap().to_owned();
    }

    pub(crate) fn weather(&self, weather: Weather) {
        *self.weather.lock().unwrap() = weather;
    }

    /// Requests that came so far, whatever became of them.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(SeqCst)
    }
}

fn pass(mut client: &TcpStream, target: &str, weather: Weather) -> io::Result<()> {
    if weather == Weather::Cut {
        return Ok(());
    }
    let request = message(client)?;
    if let Weather::Slow(time) = weather {
        std::thread::sleep(time);
    }
    let send = || -> io::Result<Vec<u8>> {
        let mut server = TcpStream::connect(target)?;
        server.write_all(&request)?;
        message(&server)
    };
    if weather == Weather::Twice {
        send()?;
    }
    let answer = send()?;
    if weather == Weather::NoAnswer {
        return Ok(());
    }
    // The client shall not send another request on a connection that ends here.
    let line = answer.iter().position(|&byte| byte == b'\n').unwrap_or(0) + 1;
    client.write_all(&answer[..line])?;
    client.write_all(b"connection: close\r\n")?;
    client.write_all(&answer[line..])
}

/// A whole message: its head, and as much as that announces.
fn message(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 65536];
    let mut whole = None;
    while whole.is_none_or(|whole| bytes.len() < whole) {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..count]);
        if whole.is_none()
            && let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n")
        {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"));
            let length = length.map_or(0, |length| length.trim().parse().unwrap());
            whole = Some(end + 4 + length);
        }
    }
    Ok(bytes)
}
