//! Configuration: what can be set, what it is when it is not set, and what is refused.
//!
//! ```text
//! flags  >  environment  >  file  >  defaults
//! ```
//!
//! [`Settings`] is what one of the first three says: every field may be missing. The command
//! line reads flags and environment into one, [`Settings::from_file`] reads a TOML file into
//! another; [`Settings::or`] lays one over the other, and [`Settings::into_config`] fills in
//! the defaults. `deploy/bloomgrove.toml` is a file with every setting.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bloomgrove_client::api::MOST_KEYS;

use crate::access::{Access, KeyEntry};

mod read;
mod settings;

pub use read::Amount;
pub(crate) use read::bytes;
pub use settings::{
    LimitSettings, LogSettings, Settings, SiteSettings, TlsSettings, TraceSettings,
};

/// The port that the server listens on when nobody says otherwise.
pub const PORT: u16 = 7117;

/// All that the server needs to know before it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The folder with everything that is kept.
    pub data: PathBuf,
    /// Where to listen.
    pub listen: Vec<SocketAddr>,
    /// How much is too much.
    pub limits: Limits,
    /// The certificate and its key; without them, plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Who may do what; without keys, everybody everything, from this machine.
    pub keys: Vec<KeyEntry>,
    /// Which sites of a federation are asked, and how.
    pub sites: SiteOptions,
    /// How far traces go.
    pub trace: TraceOptions,
    /// What is logged, and how.
    pub log: LogOptions,
    /// Begin with data to explore.
    pub demo: bool,
    /// Begin with what is in this snapshot.
    pub restore: Option<PathBuf>,
    /// If the store is damaged, keep what can be read of it.
    pub salvage: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: "bloomgrove-data".into(),
            listen: vec![SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT)],
            limits: Limits::default(),
            tls: None,
            keys: Vec::new(),
            sites: SiteOptions::default(),
            trace: TraceOptions::default(),
            log: LogOptions::default(),
            demo: false,
            restore: None,
            salvage: false,
        }
    }
}

impl Config {
    /// What does not go together.
    ///
    /// # Errors
    ///
    /// What is wrong, and the way out.
    pub fn check(&self) -> Result<(), String> {
        Access::new(&self.keys)?;
        if self.listen.is_empty() {
            return Err("`listen` names no address, so nobody could ask".into());
        }
        let elsewhere = self.listen.iter().find(|addr| !addr.ip().is_loopback());
        if let Some(addr) = elsewhere
            && self.keys.is_empty()
        {
            return Err(format!(
                "refusing to listen on {addr} without keys: everybody who reaches it could \
                 change everything. Make a key with `bloomgrove serve key --role admin` and add \
                 its entry to the configuration, or listen on {}",
                SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), addr.port())
            ));
        }
        if self.demo && self.restore.is_some() {
            return Err("begin with the demo or with a snapshot, not with both".into());
        }
        self.sites.check()?;
        self.trace.check()?;
        self.limits.check()
    }

    /// Whether keys would travel in the clear: for a warning.
    #[must_use]
    pub fn shows_keys(&self) -> bool {
        self.tls.is_none() && self.listen.iter().any(|addr| !addr.ip().is_loopback())
    }
}

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
    /// Keys in one request.
    pub keys: usize,
    /// Bytes that all filters may take in memory.
    pub memory: u64,
    /// Bytes that one filter may take in memory: a few bytes on the wire can stand for many.
    pub filter: u64,
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
            keys: 100_000,
            memory: Amount::Share(0.5).bytes(),
            filter: 256 << 20,
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
        for (name, is_zero) in [
            ("body", self.body == 0),
            ("keys", self.keys == 0),
            ("memory", self.memory == 0),
            ("filter", self.filter == 0),
            ("request_time", self.request_time.is_zero()),
            ("header_time", self.header_time.is_zero()),
            ("idle_time", self.idle_time.is_zero()),
            ("connections", self.connections == 0),
        ] {
            if is_zero {
                return Err(format!(
                    "the limit `{name}` is 0, which would refuse everything"
                ));
            }
        }
        if self.keys > MOST_KEYS {
            return Err(format!(
                "the limit `keys` is {}, and no request takes more than {MOST_KEYS}",
                self.keys
            ));
        }
        Ok(())
    }
}

/// Which sites of a federation are asked, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteOptions {
    /// Hosts that sites may be at: a name, or the end of one with its dot (`.example.org`). Empty:
    /// any. The server sends requests there.
    pub hosts: Vec<String>,
    /// The certificates of the authority that all sites have theirs from, in PEM; none: those
    /// that the system trusts.
    pub ca: Option<PathBuf>,
}

impl SiteOptions {
    fn check(&self) -> Result<(), String> {
        let is_host = |host: &String| {
            !host.trim_matches('.').is_empty()
                && !host.contains(|c: char| c.is_whitespace() || "/@*".contains(c))
        };
        match self.hosts.iter().find(|host| !is_host(host)) {
            Some(host) => Err(format!(
                "`sites.hosts` has {host:?}, which is no name of a host; write galway.example.org, or \
                 .example.org for all hosts whose names end so"
            )),
            None => match self.hosts.iter().find(|host| is_link_local_host(host)) {
                Some(host) => Err(format!("`sites.hosts` has {host:?}: {NO_LINK_LOCAL}")),
                None => Ok(()),
            },
        }
    }

    /// Whether a site may be at this host.
    ///
    /// # Errors
    /// Why not, and who can change it.
    pub fn may_be_at(&self, host: &str) -> Result<(), String> {
        if is_link_local_host(host) {
            return Err(format!("{host}: {NO_LINK_LOCAL}"));
        }
        match self.allows(host) {
            true => Ok(()),
            false => Err(format!(
                "this server asks no sites at {host}; whoever runs it can allow that (`sites.hosts` in \
                 its configuration)"
            )),
        }
    }

    fn allows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let fits = |allowed: &String| match allowed.starts_with('.') {
            true => host.ends_with(&allowed.to_ascii_lowercase()),
            false => host.eq_ignore_ascii_case(allowed),
        };
        self.hosts.is_empty() || self.hosts.iter().any(fits)
    }
}

const NO_LINK_LOCAL: &str = "no site is asked at a link-local address (169.254.0.0/16, fe80::/10)";

/// Whether this is the number of a link-local address.
fn is_link_local_host(host: &str) -> bool {
    let address: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
    address.is_ok_and(is_link_local)
}

/// Whether this address is of the link that the machine is on, where no site is: clouds tell whoever
/// asks there the secrets of the machine.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// How far traces go.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// The longest that a trace may take; never more than four fifths of
    /// [`Limits::request_time`].
    pub time: Duration,
    /// The longest that one site may take for one answer.
    pub site_time: Duration,
    /// Links at which a trace ends.
    pub links: u64,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(20),
            site_time: Duration::from_secs(5),
            links: 100_000,
        }
    }
}

impl TraceOptions {
    fn check(&self) -> Result<(), String> {
        for (name, is_zero) in [
            ("time", self.time.is_zero()),
            ("site_time", self.site_time.is_zero()),
            ("links", self.links == 0),
        ] {
            if is_zero {
                return Err(format!(
                    "`trace.{name}` is 0, and no trace would find anything"
                ));
            }
        }
        match self.links > 100_000 {
            true => Err(format!(
                "`trace.links` is {}; a trace has 100000 at most",
                self.links
            )),
            false => Ok(()),
        }
    }
}

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct LogOptions {
    /// `error`, `warn`, `info`, `debug`, `trace`, or directives such as
    /// `info,bloomgrove_server=debug`.
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

impl std::str::FromStr for LogFormat {
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

/// The bytes of memory that this process can have: of the machine, or of its container.
pub(crate) fn machine_memory() -> u64 {
    let text = |path: &str| std::fs::read_to_string(Path::new(path)).ok();
    let machine = text("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        kib.checked_mul(1024)
    });
    let container =
        text("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse::<u64>().ok());
    // Where neither can be told (another system): as small as machines are.
    machine
        .into_iter()
        .chain(container)
        .min()
        .unwrap_or(4 << 30)
}

#[cfg(test)]
mod tests;
