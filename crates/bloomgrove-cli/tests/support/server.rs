//! A real server: `bloomgrove serve` in a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Said, Shop};

/// A server that takes longer to start or to stop is broken.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Server {
    /// Starts one in the folder of a shop, and waits until it takes requests.
    pub(crate) fn start(shop: &Shop, options: &[&str]) -> Self {
        Self::start_at(shop, "127.0.0.1:0", options)
    }

    /// As [`start`](Self::start), at this address: where another was.
    pub(crate) fn start_at(shop: &Shop, address: &str, options: &[&str]) -> Self {
        let mut args = vec!["serve", "--data", "data", "--listen", address];
        args.extend(options);
        let mut child = shop
            .command(&args)
            .env("BLOOMGROVE_LOG", "info")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        let url = listening(lines);
        let mut server = Self { child, url };
        server.wait_until_ready(shop);
        server
    }

    fn wait_until_ready(&mut self, shop: &Shop) {
        let started = Instant::now();
        // Without a key it would only be told that it has none.
        while let Some(address) = self.url.strip_prefix("http://") {
            if is_ready(address) {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "it does not become ready");
            std::thread::sleep(Duration::from_millis(20));
        }
        loop {
            let said = shop.run(&format!("remote --server {} info", self.url));
            if said.code == Some(0) || said.err.contains("key") {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{said:?}");
            assert!(self.child.try_wait().unwrap().is_none(), "it has ended");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// `bloomgrove remote` with the words of a line.
    pub(crate) fn remote(&self, shop: &Shop, line: &str) -> Said {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.remote_args(shop, &words)
    }

    pub(crate) fn remote_args(&self, shop: &Shop, words: &[&str]) -> Said {
        let mut args = vec!["remote", "--server", &self.url];
        args.extend(words);
        shop.run_args(&args)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_ready(address: &str) -> bool {
    let mut answer = String::new();
    let asked = TcpStream::connect(address).and_then(|mut stream| {
        stream
            .write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        stream.read_to_string(&mut answer)
    });
    asked.is_ok() && answer.starts_with("HTTP/1.1 200")
}

/// The address in what the server says first; the rest is read and dropped, so that it never
/// waits for a reader.
pub(crate) fn listening(mut lines: BufReader<ChildStderr>) -> String {
    let mut all = String::new();
    loop {
        let mut line = String::new();
        let read = lines.read_line(&mut line).unwrap();
        assert!(read > 0, "no address in {all}");
        all.push_str(&line);
        if let Some(at) = line
            .find("http://127.0.0.1:")
            .or(line.find("https://127.0.0.1:"))
        {
            let end = line[at + 8..].find(|c: char| !c.is_ascii_digit() && !".:/".contains(c));
            let url = &line[at..end.map_or(line.len(), |end| at + 8 + end)];
            let url = url.trim_end_matches('/').to_owned();
            std::thread::spawn(move || lines.lines().for_each(drop));
            return url;
        }
    }
}
