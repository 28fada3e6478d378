//! Configuration: what can be set, what it is when it is not set, and what is refused.
//!
//! ```text
//! flags  >  environment  >  file  >  defaults
//! ```
//!
//! Each setting is declared once, as an option of [`Config`] or of what it contains
//! ([`settings`]). `deploy/bloomgrove.toml` is a file with every setting.

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

/// All that the server needs to know before it starts.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct Config {
    /// The directory with everything that is kept
    ///
    /// Nothing else is written.
    #[arg(
        id = "data",
        long,
        value_name = "DIR",
        env = "BLOOMGROVE_DATA",
        default_value = "bloomgrove-data"
    )]
    pub data: PathBuf,
    /// Where to listen; may be repeated
    ///
    /// Beyond loopback (127.0.0.1, ::1) only with keys.
    #[arg(
        id = "listen",
        long,
        value_name = "ADDR",
        env = "BLOOMGROVE_LISTEN",
        value_delimiter = ',',
        default_value = "127.0.0.1:7117"
    )]
    pub listen: Vec<SocketAddr>,
    /// Begin with data to explore, kept only if --data says where
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
    /// Begin with what is in this snapshot.
    #[arg(skip)]
    pub restore: Option<PathBuf>,
    /// If the store is damaged, keep what can be read of it.
    #[arg(skip)]
    pub salvage: bool,
    /// How much is too much.
    #[command(flatten)]
    pub limits: Limits,
    /// Keys in one request
    ///
    /// More are refused (413).
    #[arg(
        id = "limits.keys",
        long = "max-keys",
        value_name = "COUNT",
        env = "BLOOMGROVE_MAX_KEYS",
        default_value = "100000",
        value_parser = units::many
    )]
    pub max_keys: usize,
    /// Memory for one filter
    ///
    /// A few bytes on the wire can stand for many. Larger ones are refused (413).
    #[arg(
        id = "limits.filter",
        long = "max-filter",
        value_name = "SIZE",
        env = "BLOOMGROVE_MAX_FILTER",
        default_value = "256MiB",
        value_parser = units::bytes
    )]
    pub max_filter: u64,
    /// The certificate and its key; without them, plain HTTP.
    #[command(flatten)]
    pub tls: Option<TlsFiles>,
    /// A key that is let in, by its hash; may be repeated
    #[arg(
        id = "keys",
        long = "key",
        value_name = "NAME:ROLE:SHA256[:PREFIX]",
        env = "BLOOMGROVE_KEYS",
        value_delimiter = ',',
        help_heading = "Access"
    )]
    pub keys: Vec<Key>,
    /// Which sites of a federation are asked, and how.
    #[command(flatten)]
    pub sites: SiteOptions,
    /// How far traces go.
    #[command(flatten)]
    pub trace: TraceOptions,
    /// What is logged, and how.
    #[command(flatten)]
    pub log: LogOptions,
}

impl Default for Config {
    fn default() -> Self {
        settings::defaults()
    }
}

impl Config {
    /// What flags and environment say (`given`, by the options of this type), and the file where they say
    /// nothing; and whether any of them names a data directory.
    ///
    /// # Errors
    /// The file, the line and what is wrong there; what does not go together.
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
///
/// Sites register themselves with their addresses, and traces ask them there.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Sites and traces")]
pub struct SiteOptions {
    /// Hosts that sites may be at, or ends of their names; may be repeated [default: any]
    ///
    /// A name, or the end of one with its dot (".example.org" for all hosts below it). Set it where
    /// whoever has a write key should not have this server send requests to hosts that only it can reach.
    /// Holds for sites that are registered already, too; link-local addresses (169.254.0.0/16, fe80::/10)
    /// are never asked.
    #[arg(
        id = "sites.hosts",
        long = "site-host",
        value_name = "HOST",
        env = "BLOOMGROVE_SITE_HOSTS",
        value_delimiter = ','
    )]
    pub hosts: Vec<String>,
    /// Trust this authority and no other for sites: its certificate, in PEM
    ///
    /// Without it, the authorities that the system trusts.
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
#[derive(Args, Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// The longest that a trace may take
    ///
    /// Never more than four fifths of the request time. What was found until then is the answer.
    #[arg(
        id = "trace.time",
        long = "trace-time",
        value_name = "TIME",
        env = "BLOOMGROVE_TRACE_TIME",
        default_value = "20s",
        value_parser = units::duration
    )]
    pub time: Duration,
    /// For one site to answer in a trace
    #[arg(
        id = "trace.site_time",
        long = "site-time",
        value_name = "TIME",
        env = "BLOOMGROVE_SITE_TIME",
        default_value = "5s",
        value_parser = units::duration
    )]
    pub site_time: Duration,
    /// Links at which a trace ends, 100000 at most
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
