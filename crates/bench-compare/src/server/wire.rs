//! A minimal HTTP/1.1 client: requests are rendered in advance, and answers are read into one
//! buffer, so that the server is measured and not the client.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The run fails if an answer takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection, kept open.
pub(super) struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// The status and the body.
pub(super) struct Answer<'w> {
    pub(super) status: u16,
    pub(super) body: &'w [u8],
}

impl Wire {
    pub(super) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            buffer: vec![0; 1 << 16],
        })
    }

    /// Sends a request and reads the complete answer.
    pub(super) fn ask(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        self.stream.write_all(request)?;
        let mut len = 0;
        loop {
            if len == self.buffer.len() {
                self.buffer.resize(2 * len, 0);
            }
            let read = match self.stream.read(&mut self.buffer[len..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                return Err("the server closed the connection".into());
            }
            // The end of the head may span two reads.
            let from = len.saturating_sub(3);
            len += read;
            if let Some(end) = find(&self.buffer[from..len], b"\r\n\r\n") {
                return self.rest(from + end + 4, len);
            }
        }
    }

    /// Reads the rest of the answer after a head that ends at `head`, with `len` bytes in the buffer.
    fn rest(&mut self, head: usize, mut len: usize) -> Result<Answer<'_>> {
        let text = std::str::from_utf8(&self.buffer[..head])?;
        let status = text.get(9..12).ok_or("no status")?.parse()?;
        let length = text.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.parse::<usize>())
        });
        let length = match length {
            Some(length) => length?,
            None if status == 204 => 0,
            None => return Err("an answer of unknown length".into()),
        };
        let end = head + length;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        if len < end {
            self.stream.read_exact(&mut self.buffer[len..end])?;
            len = end;
        }
        if len > end {
            return Err("more than one answer".into());
        }
        Ok(Answer {
            status,
            body: &self.buffer[head..end],
        })
    }

    /// Like [`ask`](Self::ask), but any other status is an error.
    pub(super) fn expect(&mut self, status: u16, request: &[u8]) -> Result<&[u8]> {
        let answer = self.ask(request)?;
        if answer.status != status {
            let body = String::from_utf8_lossy(&answer.body[..answer.body.len().min(300)]);
            return Err(format!("status {}, not {status}: {body}", answer.status).into());
        }
        Ok(answer.body)
    }
}

/// The position of the first `wanted` in `bytes`.
pub(crate) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&byte| byte == first) {
        if bytes[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

/// A request, rendered.
pub(crate) fn render(method: &str, path: &str, media: &str, body: &[u8]) -> Vec<u8> {
    let mut request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n").into_bytes();
    if method != "GET" {
        let head = format!(
            "content-type: {media}\r\ncontent-length: {}\r\n",
            body.len()
        );
        request.extend_from_slice(head.as_bytes());
    }
    request.extend_from_slice(b"\r\n");
    request.extend_from_slice(body);
    request
}
