//! Configuration: the settings of a server, their defaults, and checks.
//!
//! ```text
//! flags  >  environment  >  file  >  defaults
//! ```
//!
//! Each setting is declared once, as an option of [`Config`] or of one of its parts ([`settings`]).
//! `deploy/bloomgrove.toml` is a file with every setting.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bloomgrove_client::api::MOST_KEYS;
use bloomgrove_http::access::{self, KeyEntry, Role};
use bloomgrove_http::config::{Limits, LogOptions, TlsFiles, not_zero};
use bloomgrove_http::settings::{self, Settings};
use bloomgrove_units as units;
use clap::{ArgMatches, Args};

mod key;

pub use key::{Key, quotas};

/// The configuration of a server.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct Config {
    /// Directory for the server's data
    ///
    /// Nothing is written elsewhere.
    #[arg(
        id = "data",
        long,
        value_name = "DIR",
        env = "BLOOMGROVE_DATA",
        default_value = "bloomgrove-data"
    )]
    pub data: PathBuf,
    /// Address to listen on (repeatable)
    ///
    /// Addresses other than loopback (127.0.0.1, ::1) require access keys.
    #[arg(
        id = "listen",
        long,
        value_name = "ADDR",
        env = "BLOOMGROVE_LISTEN",
        value_delimiter = ',',
        default_value = "127.0.0.1:7117"
    )]
    pub listen: Vec<SocketAddr>,
    /// Start with demo data, which is discarded at exit unless --data is given
    #[arg(
        id = "demo",
        long,
        value_name = "BOOL",
        env = "BLOOMGROVE_DEMO",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value = "false",
        action = clap::ArgAction::Set
    )]
    pub demo: bool,
    /// A snapshot to start from.
    #[arg(skip)]
    pub restore: Option<PathBuf>,
    /// If the store is damaged, keep what is readable.
    #[arg(skip)]
    pub salvage: bool,
    /// Limits.
    #[command(flatten)]
    pub limits: Limits,
    /// Maximum number of keys in one request
    ///
    /// Requests with more are rejected (413).
    #[arg(
        id = "limits.keys",
        long = "max-keys",
        value_name = "COUNT",
        env = "BLOOMGROVE_MAX_KEYS",
        default_value = "100000",
        value_parser = units::many
    )]
    pub max_keys: usize,
    /// Maximum size of a filter in memory
    ///
    /// Larger filters are rejected (413). A compressed filter of a few bytes can expand to a large one.
    #[arg(
        id = "limits.filter",
        long = "max-filter",
        value_name = "SIZE",
        env = "BLOOMGROVE_MAX_FILTER",
        default_value = "256MiB",
        value_parser = units::bytes
    )]
    pub max_filter: u64,
    /// The certificate and its private key; plain HTTP if omitted.
    #[command(flatten)]
    pub tls: Option<TlsFiles>,
    /// Access key to accept, given by its hash (repeatable)
    #[arg(
        id = "keys",
        long = "key",
        value_name = "NAME:ROLE:SHA256[:PREFIX]",
        env = "BLOOMGROVE_KEYS",
        value_delimiter = ',',
        help_heading = "Access"
    )]
    pub keys: Vec<Key>,
    /// Which sites of a federation may be queried, and how.
    #[command(flatten)]
    pub sites: SiteOptions,
    /// Limits of traces.
    #[command(flatten)]
    pub trace: TraceOptions,
    /// What is logged, and in which format.
    #[command(flatten)]
    pub log: LogOptions,
}

impl Default for Config {
    fn default() -> Self {
        settings::defaults()
    }
}

impl Config {
    /// Flags and environment (`given`, parsed by the options of this type), and the file for what they do not set;
    /// and whether any of them sets the data directory.
    ///
    /// # Errors
    /// The file, the line and what is wrong there; settings that contradict each other.
    pub fn read(given: &ArgMatches, file: Option<&Path>) -> Result<(Self, bool), String> {
        Self::from_settings(Settings::read(given, file)?)
    }

    fn from_settings(settings: Settings<Self, Key>) -> Result<(Self, bool), String> {
        let names_data = settings.says("data");
        let mut config = settings.value;
        if let Some(keys) = settings.keys {
            config.keys = keys;
        }
        config.check()?;
        Ok((config, names_data))
    }

    /// Checks the settings, and that they do not contradict each other.
    ///
    /// # Errors
    ///
    /// What is wrong, and what to do about it.
    pub fn check(&self) -> Result<(), String> {
        let could = "change everything";
        access::check(&self.listen, &self.entries(), could, Role::Admin)?;
        if self.demo && self.restore.is_some() {
            return Err("start with the demo data or with a snapshot, not with both".into());
        }
        self.sites.check()?;
        self.trace.check()?;
        not_zero(&[
            ("keys", self.max_keys == 0),
            ("filter", self.max_filter == 0),
        ])?;
        if self.max_keys > MOST_KEYS {
            return Err(format!(
                "the limit `keys` is {}; the maximum is {MOST_KEYS}",
                self.max_keys
            ));
        }
        self.limits.check()
    }

    /// The access keys, without the quotas of their prefixes.
    #[must_use]
    pub fn entries(&self) -> Vec<KeyEntry> {
        self.keys.iter().map(|key| key.entry.clone()).collect()
    }
}

/// Which sites of a federation may be queried, and how.
///
/// Sites register with their URLs, and traces query them there.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Sites and traces")]
pub struct SiteOptions {
    /// Host on which sites are allowed, or a host name suffix (repeatable) [default: any]
    ///
    /// A host name, or a suffix that starts with a dot (".example.org" for all hosts in that domain). Set this to
    /// prevent clients with a write key from making the server send requests to hosts that only the server can reach.
    /// It also applies to sites that are already registered. Link-local addresses (169.254.0.0/16, fe80::/10) are never
    /// queried.
    #[arg(
        id = "sites.hosts",
        long = "site-host",
        value_name = "HOST",
        env = "BLOOMGROVE_SITE_HOSTS",
        value_delimiter = ','
    )]
    pub hosts: Vec<String>,
    /// File with the CA certificate to trust for sites, in PEM; no other CA is trusted
    ///
    /// By default, the CAs trusted by the system.
    #[arg(
        id = "sites.ca",
        long = "site-ca",
        value_name = "FILE",
        env = "BLOOMGROVE_SITE_CA"
    )]
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
                "`sites.hosts` contains {host:?}, which is not a host name; write galway.example.org, or \
                 .example.org for all hosts in that domain"
            )),
            None => match self.hosts.iter().find(|host| is_link_local_host(host)) {
                Some(host) => Err(format!("`sites.hosts` contains {host:?}: {NO_LINK_LOCAL}")),
                None => Ok(()),
            },
        }
    }

    /// Whether a site may be at this host.
    ///
    /// # Errors
    /// Why not, and who can change that.
    pub fn may_be_at(&self, host: &str) -> Result<(), String> {
        if is_link_local_host(host) {
            return Err(format!("{host}: {NO_LINK_LOCAL}"));
        }
        match self.allows(host) {
            true => Ok(()),
            false => Err(format!(
                "this server does not query sites at {host}; its operator can allow that (`sites.hosts` in \
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

const NO_LINK_LOCAL: &str =
    "sites at link-local addresses (169.254.0.0/16, fe80::/10) are never queried";

/// Whether a host is a link-local address in numeric form.
fn is_link_local_host(host: &str) -> bool {
    let address: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
    address.is_ok_and(is_link_local)
}

/// Whether an address is link-local. No site is there, but cloud providers serve the secrets of a machine at such an
/// address.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Limits of traces.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// Time limit for a trace
    ///
    /// At most four fifths of the request time. The response contains what has been found by then.
    #[arg(
        id = "trace.time",
        long = "trace-time",
        value_name = "TIME",
        env = "BLOOMGROVE_TRACE_TIME",
        default_value = "20s",
        value_parser = units::duration
    )]
    pub time: Duration,
    /// Time limit for a response from one site in a trace
    #[arg(
        id = "trace.site_time",
        long = "site-time",
        value_name = "TIME",
        env = "BLOOMGROVE_SITE_TIME",
        default_value = "5s",
        value_parser = units::duration
    )]
    pub site_time: Duration,
    /// Number of links after which a trace ends, at most 100000
    #[arg(
        id = "trace.links",
        long = "trace-links",
        value_name = "COUNT",
        env = "BLOOMGROVE_TRACE_LINKS",
        default_value = "100000",
        value_parser = units::count
    )]
    pub links: u64,
}

impl Default for TraceOptions {
    fn default() -> Self {
        settings::defaults()
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
                    "`trace.{name}` is 0, so no trace would find anything"
                ));
            }
        }
        match self.links > 100_000 {
            true => Err(format!(
                "`trace.links` is {}; the maximum is 100000",
                self.links
            )),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
