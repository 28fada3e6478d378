//! Which server or site to connect to, with which key, and how long to wait.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bloomgrove_client::api::{Code, Key};
use bloomgrove_client::{Client, Error, host_of, is_loopback_host, normalize};
use tokio::runtime::{Builder, Runtime};

use super::keys::{self, KeyKind};
use super::output::complain;
use super::{interrupt, units};

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(crate) struct Server {
    /// The address of the server
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "BLOOMGROVE_SERVER",
        default_value = "http://127.0.0.1:7117",
        help_heading = "Connection"
    )]
    server: String,
    #[command(flatten)]
    caller: Caller,
}

impl Server {
    pub(crate) fn open(self) -> Result<Remote> {
        self.caller.open(&self.server)
    }
}

#[derive(clap::Args)]
pub(crate) struct Site {
    /// The address of the site
    #[arg(
        long,
        value_name = "URL",
        env = "BLOOMGROVE_SITE",
        default_value = "http://127.0.0.1:7118",
        help_heading = "Connection"
    )]
    site: String,
    #[command(flatten)]
    caller: Caller,
}

impl Site {
    pub(crate) fn open(self) -> Result<Remote> {
        self.caller.open(&self.site)
    }
}

#[derive(clap::Args)]
struct Caller {
    /// The access key; prefer the environment or a file, as other users can see command lines
    #[arg(
        long,
        global = true,
        value_name = "KEY",
        env = "BLOOMGROVE_KEY",
        hide_env_values = true,
        help_heading = "Connection"
    )]
    key: Option<String>,
    /// Read the access key from the first line of this file
    #[arg(long, global = true, value_name = "FILE", help_heading = "Connection")]
    key_file: Option<PathBuf>,
    /// Trust only this certificate authority (a PEM file)
    #[arg(long, global = true, value_name = "FILE", help_heading = "Connection")]
    ca: Option<PathBuf>,
    /// How long to wait for a response
    #[arg(
        long,
        global = true,
        value_name = "TIME",
        default_value = "1min",
        value_parser = units::duration,
        help_heading = "Connection"
    )]
    timeout: Duration,
}

impl Caller {
    fn open(self, url: &str) -> Result<Remote> {
        let mut client = Client::builder(url).timeout(self.timeout);
        let key = match &self.key_file {
            None => self.key,
            Some(path) => Some(first_line(path, "key").context("--key-file")?),
        };
        if let Some(key) = key {
            if is_exposed(url)? {
                complain(format_args!(
                    "the access key is sent to {url} unencrypted; use https"
                ));
            }
            client = client.key(key);
        }
        if let Some(path) = &self.ca {
            let pem = std::fs::read(path);
            let pem = pem.with_context(|| format!("--ca {}", path.display()))?;
            client = client.ca_certificate(pem);
        }
        Ok(Remote {
            client: client.build()?,
            runtime: Builder::new_current_thread().enable_all().build()?,
        })
    }
}

/// The first line of a file that contains a key or a secret.
pub(crate) fn first_line(path: &Path, what: &str) -> Result<String> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| path.display().to_string())?;
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() {
        bail!(
            "{}: the first line is empty; it must be the {what}",
            path.display()
        );
    }
    if line.contains(char::is_whitespace) {
        bail!(
            "{}: the first line has spaces; it must be the {what} alone",
            path.display()
        );
    }
    Ok(line.to_owned())
}

/// Adds to an error about a missing access key which options give one.
pub(crate) fn ask_for_key(error: anyhow::Error) -> anyhow::Error {
    let client = error.chain().find_map(|error| error.downcast_ref());
    match client.and_then(Error::code) {
        // The server's message names a header; here it is an option.
        Some(Code::Unauthorized) => error.context(
            "the server requires an access key; pass one with --key-file or BLOOMGROVE_KEY",
        ),
        _ => error,
    }
}

/// Whether what is sent to a URL leaves this machine unencrypted.
fn is_exposed(url: &str) -> Result<bool, Error> {
    Ok(normalize(url)?.starts_with("http://") && !is_loopback_host(&host_of(url)?))
}

/// A server, and what waits for it.
pub(crate) struct Remote {
    pub(crate) client: Client,
    runtime: Runtime,
}

impl Remote {
    /// Waits for a response. Nothing is half written meanwhile, so Ctrl-C ends the process at once.
    pub(crate) fn wait<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T> {
        Ok(self.wait_for(answer)?)
    }

    /// As [`wait`](Self::wait), with the client's own error.
    pub(crate) fn wait_for<T>(&self, answer: impl Future<Output = T>) -> T {
        let _waiting = interrupt::Waiting::new();
        self.runtime.block_on(answer)
    }

    /// Starts something that runs whenever anything is waited for.
    pub(crate) fn start<F>(&self, work: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.runtime.spawn(work)
    }
}

/// The key that a line stands for.
pub(crate) fn key(kind: KeyKind, line: &[u8]) -> Result<Key> {
    match kind {
        KeyKind::Text => Ok(Key::from(line.to_vec())),
        KeyKind::Integer => Ok(Key::from(keys::number(line)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::is_exposed;

    #[test]
    fn a_key_may_go_unencrypted_only_to_this_machine() {
        for url in [
            "http://127.0.0.1:7117",
            "http://localhost",
            "HTTP://localhost:1/",
            "http://[::1]:7117",
            "http://[::1]",
            "https://a:1",
        ] {
            assert!(!is_exposed(url).unwrap(), "{url}");
        }
        for url in [
            "http://10.0.0.1:7117",
            "http://localhost.example.org",
            "http://[2001:db8::1]:1",
            "http://a:1",
        ] {
            assert!(is_exposed(url).unwrap(), "{url}");
        }
    }
}
