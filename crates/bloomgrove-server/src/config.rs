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
use std::path::PathBuf;
use std::time::Duration;

use bloomgrove_client::api::MOST_KEYS;
use bloomgrove_http::access::{self, KeyEntry, Role};
use bloomgrove_http::config::{Limits, LogOptions, TlsFiles, not_zero};

mod key;
mod read;
mod settings;

pub use key::{Key, quotas};
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
    /// Keys in one request.
    pub max_keys: usize,
    /// Bytes that one filter may take in memory: a few bytes on the wire can stand for many.
    pub max_filter: u64,
    /// The certificate and its key; without them, plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Who may do what; without keys, everybody everything, from this machine.
    pub keys: Vec<Key>,
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
            max_keys: 100_000,
            max_filter: 256 << 20,
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
        let could = "change everything";
        access::check(&self.listen, &self.entries(), could, Role::Admin)?;
        if self.demo && self.restore.is_some() {
            return Err("begin with the demo or with a snapshot, not with both".into());
        }
        self.sites.check()?;
        self.trace.check()?;
        not_zero(&[
            ("keys", self.max_keys == 0),
            ("filter", self.max_filter == 0),
        ])?;
        if self.max_keys > MOST_KEYS {
            return Err(format!(
                "the limit `keys` is {}, and no request takes more than {MOST_KEYS}",
                self.max_keys
            ));
        }
        self.limits.check()
    }

    /// The keys, without what sets may take below their prefixes.
    #[must_use]
    pub fn entries(&self) -> Vec<KeyEntry> {
        self.keys.iter().map(|key| key.entry.clone()).collect()
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

#[cfg(test)]
mod tests;
