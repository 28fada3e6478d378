//! Where the server is, who asks, and how long to wait.

use std::future::Future;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bloomgrove_client::api::Key;
use bloomgrove_client::{Client, Error};
use tokio::runtime::{Builder, Runtime};

use crate::keys::{self, KeyKind};
use crate::output::complain;
use crate::{interrupt, units};

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(super) struct Connection {
    /// The address of the server
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "BLOOMGROVE_SERVER",
        default_value = "http://127.0.0.1:7117",
        help_heading = "Server"
    )]
    server: String,
    /// The key to show; better in the environment or a file, as others see command lines
    #[arg(
        long,
        global = true,
        value_name = "KEY",
        env = "BLOOMGROVE_KEY",
        hide_env_values = true,
        help_heading = "Server"
    )]
    key: Option<String>,
    /// The key to show, from the first line of a file; instead of --key
    #[arg(long, global = true, value_name = "FILE", help_heading = "Server")]
    key_file: Option<PathBuf>,
    /// Trust this authority and no other: its certificate, in PEM
    #[arg(long, global = true, value_name = "FILE", help_heading = "Server")]
    ca: Option<PathBuf>,
    /// How long to wait for an answer
    #[arg(
        long,
        global = true,
        value_name = "TIME",
        default_value = "1min",
        value_parser = units::duration,
        help_heading = "Server"
    )]
    timeout: Duration,
}

impl Connection {
    pub(super) fn open(self) -> Result<Remote> {
        let mut client = Client::builder(&self.server).timeout(self.timeout);
        let key = match &self.key_file {
            None => self.key,
            Some(path) => {
                let text = std::fs::read_to_string(path);
                let text = text.with_context(|| path.display().to_string())?;
                let line = text.lines().next().unwrap_or_default().trim();
                if line.is_empty() {
                    bail!("{}: its first line is empty, and no key", path.display());
                }
                Some(line.to_owned())
            }
        };
        if let Some(key) = key {
            if let Some(host) = self.server.strip_prefix("http://")
                && !is_here(host)
            {
                complain(format_args!(
                    "the key goes to {} unencrypted, for all on the way to read; use https",
                    self.server
                ));
            }
            client = client.key(key);
        }
        if let Some(path) = &self.ca {
            let pem = std::fs::read(path);
            client = client.ca_certificate(pem.with_context(|| path.display().to_string())?);
        }
        Ok(Remote {
            client: client.build()?,
            runtime: Builder::new_current_thread().enable_all().build()?,
        })
    }
}

/// Whether an address without its scheme is of this machine.
fn is_here(address: &str) -> bool {
    let host = address.split('/').next().unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|c| c.is_ascii_digit()) => host,
        _ => host,
    };
    let number = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || number.is_ok_and(|number| number.is_loopback())
}

/// A server, and what waits for it.
pub(super) struct Remote {
    pub(super) client: Client,
    runtime: Runtime,
}

impl Remote {
    /// Waits for an answer. Nothing is half written here meanwhile, so Ctrl-C ends it at once.
    pub(super) fn wait<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T> {
        Ok(self.wait_for(answer)?)
    }

    /// As [`wait`](Self::wait), with the error as it is.
    pub(super) fn wait_for<T>(&self, answer: impl Future<Output = T>) -> T {
        let _waiting = interrupt::Waiting::new();
        self.runtime.block_on(answer)
    }

    /// Begins something that goes on whenever anything is waited for.
    pub(super) fn start<F>(&self, work: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.runtime.spawn(work)
    }
}

/// The key that a line stands for.
pub(super) fn key(kind: KeyKind, line: &[u8]) -> Result<Key> {
    match kind {
        KeyKind::Text => Ok(Key::from(line.to_vec())),
        KeyKind::Integer => Ok(Key::from(keys::number(line)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::is_here;

    #[test]
    fn a_key_may_go_unencrypted_only_to_this_machine() {
        for address in [
            "127.0.0.1:7117",
            "localhost",
            "localhost:1/",
            "[::1]:7117",
            "[::1]",
        ] {
            assert!(is_here(address), "{address}");
        }
        for address in [
            "10.0.0.1:7117",
            "localhost.example.org",
            "[2001:db8::1]:1",
            "a:1",
        ] {
            assert!(!is_here(address), "{address}");
        }
    }
}
