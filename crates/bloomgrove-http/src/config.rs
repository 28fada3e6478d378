//! What can be set of any server: limits, certificates, logs; and what it is when it is not set.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::observe::process::machine_memory;

/// The certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain of certificates, the server's first, in PEM.
    pub cert: PathBuf,
    /// The private key, in PEM.
    pub key: PathBuf,
}

/// How much is too much.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of one request's body.
    pub body: u64,
    /// Bytes of memory for what is served; requests get a part of what that leaves
    /// ([`budget`](crate::budget)).
    pub memory: u64,
    /// From the end of a request's head to its answer.
    pub request_time: Duration,
    /// From the first byte of a request's head to its last; also for a TLS handshake.
    pub header_time: Duration,
    /// How long a connection may do nothing, or an answer lie unread.
    pub idle_time: Duration,
    /// Connections at a time.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            memory: Amount::Share(0.5).bytes(),
            request_time: Duration::from_secs(30),
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(75),
            connections: 20_000,
        }
    }
}

impl Limits {
    /// What would refuse everything.
    ///
    /// # Errors
    ///
    /// Which limit it is.
    pub fn check(&self) -> Result<(), String> {
        not_zero(&[
            ("body", self.body == 0),
            ("memory", self.memory == 0),
            ("request_time", self.request_time.is_zero()),
            ("header_time", self.header_time.is_zero()),
            ("idle_time", self.idle_time.is_zero()),
            ("connections", self.connections == 0),
        ])
    }
}

/// That none of these limits is zero.
///
/// # Errors
///
/// Which one is.
pub fn not_zero(limits: &[(&str, bool)]) -> Result<(), String> {
    match limits.iter().find(|(_, is_zero)| *is_zero) {
        Some((name, _)) => Err(format!(
            "the limit `{name}` is 0, which would refuse everything"
        )),
        None => Ok(()),
    }
}

/// An amount of memory: bytes, or a share of what the machine has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many bytes: `4GiB`.
    Bytes(u64),
    /// A share of the machine's memory: `50%`.
    Share(f64),
}

impl Amount {
    /// How many bytes that is here.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Share(share) => (machine_memory() as f64 * share) as u64,
        }
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = "write memory as 4GiB or 500MB, or as a share of the machine's such as 50%";
        let Some(percent) = text.trim().strip_suffix('%') else {
            return bloomgrove_units::bytes(text)
                .map(Self::Bytes)
                .map_err(|_| help.into());
        };
        let percent: f64 = percent.trim().parse().map_err(|_| help)?;
        (percent > 0.0 && percent <= 100.0)
            .then_some(Self::Share(percent / 100.0))
            .ok_or_else(|| help.into())
    }
}

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct LogOptions {
    /// `error`, `warn`, `info`, `debug`, `trace`, or directives such as
    /// `info,bloomgrove_http=debug`.
    pub level: String,
    /// For people or for programs.
    pub format: LogFormat,
    /// Requests that take longer are logged.
    pub slow: Duration,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            level: "info".into(),
            format: LogFormat::Pretty,
            slow: Duration::from_secs(1),
        }
    }
}

/// For people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// A line of text for each event.
    Pretty,
    /// A JSON object for each event.
    Json,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "pretty" => Ok(Self::Pretty),
            "json" => Ok(Self::Json),
            other => Err(format!(
                "{other:?} is no format of logs; write pretty or json"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bytes_or_a_share() {
        assert_eq!("4GiB".parse(), Ok(Amount::Bytes(4 << 30)));
        assert_eq!("50%".parse(), Ok(Amount::Share(0.5)));
        for text in ["0%", "101%", "-1%", "much", "%"] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
        let half = Amount::Share(0.5).bytes();
        assert!(half >= 1 << 20 && half <= machine_memory() / 2 + 1);
    }
}
