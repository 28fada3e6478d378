//! The settings that all servers share: limits, certificates, logs, with their defaults.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bloomgrove_units as units;
use clap::Args;

use crate::observe::process::machine_memory;
use crate::settings::defaults;

/// The certificate and its private key.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(next_help_heading = "TLS")]
pub struct TlsFiles {
    /// File with the certificate chain in PEM, the server's own certificate first; reloaded when it changes
    #[arg(
        id = "tls.cert",
        long = "tls-cert",
        value_name = "FILE",
        env = "BLOOMGROVE_TLS_CERT",
        required = false
    )]
    pub cert: PathBuf,
    /// File with the private key in PEM; reloaded when it changes
    #[arg(
        id = "tls.key",
        long = "tls-key",
        value_name = "FILE",
        env = "BLOOMGROVE_TLS_KEY",
        required = false
    )]
    pub key: PathBuf,
}

/// Limits.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Maximum size of a request body
    ///
    /// Larger ones are rejected (413).
    #[arg(
        id = "limits.body",
        long = "max-body",
        value_name = "SIZE",
        env = "BLOOMGROVE_MAX_BODY",
        default_value = "64MiB",
        value_parser = units::bytes
    )]
    pub body: u64,
    /// Memory for stored data: a size, or a share of the machine's memory
    ///
    /// Changes that need more are rejected (507), while queries still work. Requests in progress
    /// together may use an additional eighth of this limit, plus half of its unused part.
    #[arg(
        id = "limits.memory",
        long = "memory",
        value_name = "SIZE",
        env = "BLOOMGROVE_MEMORY",
        default_value = "50%",
        value_parser = Amount::bytes_of
    )]
    pub memory: u64,
    /// Time limit for a request, from the end of its headers to the response
    ///
    /// If the body does not arrive within this time, the request is rejected with 408; if the response
    /// is not ready, with 503.
    #[arg(
        id = "limits.request_time",
        long = "request-time",
        value_name = "TIME",
        env = "BLOOMGROVE_REQUEST_TIME",
        default_value = "30s",
        value_parser = units::duration
    )]
    pub request_time: Duration,
    /// Time limit for receiving the headers of a request
    ///
    /// Measured from the first byte to the last. Also applies to the TLS handshake.
    #[arg(
        id = "limits.header_time",
        long = "header-time",
        value_name = "TIME",
        env = "BLOOMGROVE_HEADER_TIME",
        default_value = "10s",
        value_parser = units::duration
    )]
    pub header_time: Duration,
    /// How long a connection may stay idle, or a response may remain unread
    #[arg(
        id = "limits.idle_time",
        long = "idle-time",
        value_name = "TIME",
        env = "BLOOMGROVE_IDLE_TIME",
        default_value = "75s",
        value_parser = units::duration
    )]
    pub idle_time: Duration,
    /// Maximum number of connections
    ///
    /// Additional connections are rejected (503). The limit is lower if the system allows fewer open
    /// files.
    #[arg(
        id = "limits.connections",
        long = "max-connections",
        value_name = "COUNT",
        env = "BLOOMGROVE_MAX_CONNECTIONS",
        default_value = "20000",
        value_parser = units::many
    )]
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        defaults()
    }
}

impl Limits {
    /// Checks for limits that would reject everything.
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

/// Checks that none of these limits is zero.
///
/// # Errors
///
/// Which one is.
pub fn not_zero(limits: &[(&str, bool)]) -> Result<(), String> {
    match limits.iter().find(|(_, is_zero)| *is_zero) {
        Some((name, _)) => Err(format!(
            "the limit `{name}` is 0, which would reject every request"
        )),
        None => Ok(()),
    }
}

/// An amount of memory: bytes, or a share of the machine's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A number of bytes: `4GiB`.
    Bytes(u64),
    /// A share of the machine's memory: `50%`.
    Share(f64),
}

impl Amount {
    /// Parses a text into bytes.
    ///
    /// # Errors
    ///
    /// What to write instead.
    pub fn bytes_of(text: &str) -> Result<u64, String> {
        text.parse().map(Self::bytes)
    }

    /// The number of bytes on this machine.
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
        let help =
            "write memory as 4GiB or 500MB, or as a share of the machine's memory such as 50%";
        let Some(percent) = text.trim().strip_suffix('%') else {
            return units::bytes(text).map(Self::Bytes).map_err(|_| help.into());
        };
        let percent: f64 = percent.trim().parse().map_err(|_| help)?;
        (percent > 0.0 && percent <= 100.0)
            .then_some(Self::Share(percent / 100.0))
            .ok_or_else(|| help.into())
    }
}

/// What is logged, and in which format.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Logs")]
pub struct LogOptions {
    /// error, warn, info, debug, trace, or per-module directives such as info,bloomgrove_http=debug
    ///
    /// info logs start and stop, new certificates, and requests that failed or were slow. debug logs every
    /// request.
    #[arg(
        id = "log.level",
        long = "log",
        value_name = "LEVEL",
        env = "BLOOMGROVE_LOG",
        default_value = "info"
    )]
    pub level: String,
    /// pretty (one line of text per event) or json (one object per event)
    #[arg(
        id = "log.format",
        long = "log-format",
        value_name = "FORMAT",
        env = "BLOOMGROVE_LOG_FORMAT",
        default_value = "pretty"
    )]
    pub format: LogFormat,
    /// Log requests that take longer than this
    #[arg(
        id = "log.slow",
        long = "slow",
        value_name = "TIME",
        env = "BLOOMGROVE_SLOW",
        default_value = "1s",
        value_parser = units::duration
    )]
    pub slow: Duration,
}

impl Default for LogOptions {
    fn default() -> Self {
        defaults()
    }
}

/// The format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// A line of text per event.
    Pretty,
    /// A JSON object per event.
    Json,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "pretty" => Ok(Self::Pretty),
            "json" => Ok(Self::Json),
            other => Err(format!("unknown log format {other:?}; use pretty or json")),
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
