//! The configuration of a site: its settings, their defaults, and checks.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bloomgrove_client::{Client, IdCipher, host_of, is_loopback_host};
use bloomgrove_http::access::{self, KeyEntry, Role};
use bloomgrove_http::config::{Limits, LogOptions, TlsFiles};
use bloomgrove_http::settings;
use bloomgrove_units as units;
use clap::Args;

use crate::publish::Window;

/// The heading of the settings for publishing in --help.
const PUBLISH: &str = "The coordinator";
/// Maximum length of a site's name, in bytes.
const LONGEST_NAME: usize = 200;
/// Maximum number of expected ids per window.
const MOST_EXPECTED: u64 = 1 << 32;

/// The configuration of a site.
#[derive(Args, Clone, Debug)]
pub struct SiteConfig {
    /// Name of the site; its sets are named NAME/ids/...
    #[arg(
        id = "name",
        long,
        value_name = "NAME",
        env = "BLOOMGROVE_SITE_NAME",
        default_value = "site",
        hide_default_value = true
    )]
    pub name: String,
    /// Directory for the site's data
    #[arg(
        id = "data",
        long,
        value_name = "DIR",
        env = "BLOOMGROVE_DATA",
        default_value = "NAME-data"
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
        default_value = "127.0.0.1:7118"
    )]
    pub listen: Vec<SocketAddr>,
    /// URL at which the coordinator reaches this site [default: the address it listens on]
    #[arg(
        id = "advertise",
        long,
        value_name = "URL",
        env = "BLOOMGROVE_ADVERTISE"
    )]
    pub advertise: Option<String>,
    /// The coordinator to publish to; none if omitted.
    #[arg(skip)]
    pub coordinator: Option<CoordinatorConfig>,
    /// How often new ids are published
    #[arg(
        id = "publish.period",
        long = "period",
        value_name = "TIME",
        env = "BLOOMGROVE_PERIOD",
        default_value = "10s",
        value_parser = units::duration,
        help_heading = PUBLISH
    )]
    pub period: Duration,
    /// How ids are divided by time; not at all if omitted.
    #[arg(skip)]
    pub window: Option<Window>,
    /// Expected number of ids per filter (per window, if there are windows); filters grow when needed
    #[arg(
        id = "publish.expect",
        long = "expect",
        value_name = "COUNT",
        env = "BLOOMGROVE_EXPECT",
        default_value = "10000",
        value_parser = units::count,
        help_heading = PUBLISH
    )]
    pub expect: u64,
    /// False-positive rate: the probability that the coordinator queries this site for an id that the
    /// site does not know
    #[arg(
        id = "publish.fpr",
        long = "fpr",
        value_name = "RATE",
        env = "BLOOMGROVE_FPR",
        default_value = "0.0001",
        value_parser = units::rate,
        help_heading = PUBLISH
    )]
    pub fpr: f64,
    /// Encrypts ids, if the coordinator must not read them.
    #[arg(skip)]
    pub cipher: Option<IdCipher>,
    /// Access key to accept, given by its hash (create one with `bloomgrove serve key`) (repeatable)
    #[arg(
        id = "keys",
        long = "key",
        value_name = "NAME:ROLE:SHA256",
        env = "BLOOMGROVE_KEYS",
        value_delimiter = ',',
        help_heading = "Access"
    )]
    pub keys: Vec<KeyEntry>,
    /// Limits.
    #[command(flatten)]
    pub limits: Limits,
    /// Maximum number of triples; each takes about 400 bytes of memory
    #[arg(
        id = "limits.triples",
        long = "max-triples",
        value_name = "COUNT",
        env = "BLOOMGROVE_MAX_TRIPLES",
        default_value = "20000000",
        value_parser = units::count
    )]
    pub triples: u64,
    /// The certificate and its private key; plain HTTP if omitted.
    #[command(flatten)]
    pub tls: Option<TlsFiles>,
    /// What is logged, and in which format.
    #[command(flatten)]
    pub log: LogOptions,
    /// If the log is damaged, keep what is readable.
    #[arg(skip)]
    pub salvage: bool,
}

/// How to reach the coordinator.
#[derive(Clone, PartialEq, Eq)]
pub struct CoordinatorConfig {
    /// Its URL.
    pub url: String,
    /// A write key with the prefix `NAME/`, if the coordinator requires access keys.
    pub key: Option<String>,
    /// The certificate authority of its certificate, in PEM, if the system does not trust it.
    pub ca: Option<Vec<u8>>,
}

impl CoordinatorConfig {
    /// The coordinator at this URL, without an access key.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            key: None,
            ca: None,
        }
    }

    /// A client for it.
    ///
    /// # Errors
    /// If the URL, the access key or the certificate authority is invalid.
    pub fn client(&self) -> Result<Client, bloomgrove_client::Error> {
        let mut builder = Client::builder(&*self.url).timeout(Duration::from_secs(30));
        if let Some(key) = &self.key {
            builder = builder.key(key);
        }
        if let Some(ca) = &self.ca {
            builder = builder.ca_certificate(ca);
        }
        builder.build()
    }
}

impl std::fmt::Debug for CoordinatorConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the access key.
        f.debug_struct("CoordinatorConfig")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Default for SiteConfig {
    fn default() -> Self {
        Self {
            data: "bloomgrove-site".into(),
            ..settings::defaults()
        }
    }
}

impl SiteConfig {
    /// Checks the settings, and that they do not contradict each other.
    ///
    /// # Errors
    /// What is wrong, and what to do about it.
    pub fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        let could = "record events and read everything";
        access::check(&self.listen, &self.keys, could, Role::Write)?;
        if let Some(coordinator) = &self.coordinator {
            let client = coordinator.client();
            client.map_err(|error| format!("invalid coordinator: {error}"))?;
            let unreachable = self
                .listen
                .first()
                .is_some_and(|addr| addr.ip().is_unspecified());
            if unreachable && self.advertise.is_none() {
                return Err(
                    "the site listens on all addresses of this machine; set `advertise` to the URL \
                     at which the coordinator reaches it, such as https://galway.example.org:7118"
                        .into(),
                );
            }
            let here_only = self.listen.first();
            let here_only = here_only.filter(|addr| addr.ip().is_loopback());
            if let Some(addr) = here_only
                && self.advertise.is_none()
                && !is_here(&coordinator.url)
            {
                return Err(format!(
                    "the site listens on {addr}, which can only be reached from this machine, but the \
                     coordinator is elsewhere; set `advertise` to the URL at which it reaches the site, \
                     such as https://galway.example.org:7118"
                ));
            }
        }
        if let Some(url) = &self.advertise {
            Client::new(url.as_str()).map_err(|error| format!("`advertise`: {error}"))?;
        }
        if let Some(window) = &self.window {
            window.check()?;
        }
        if !(Duration::from_millis(10)..=Duration::from_secs(86_400)).contains(&self.period) {
            return Err(format!(
                "the period is {:?}; it must be from 10 ms to one day",
                self.period
            ));
        }
        if self.expect == 0 || self.expect > MOST_EXPECTED {
            return Err(format!(
                "`expect` is {}; it must be a number of ids from 1 to {MOST_EXPECTED}",
                self.expect
            ));
        }
        if !(self.fpr > 0.0 && self.fpr <= 0.5) {
            return Err(format!(
                "`fpr` is {}; it must be above 0 and at most 0.5, such as 0.001",
                self.fpr
            ));
        }
        if self.triples == 0 {
            return Err("the limit `triples` is 0, so nothing could be recorded".into());
        }
        self.limits.check()
    }
}

/// Whether a URL refers to this machine.
fn is_here(url: &str) -> bool {
    host_of(url).is_ok_and(|host| is_loopback_host(&host) || host.ends_with(".localhost"))
}

/// Checks the name of a site, with which the names of its sets start.
///
/// # Errors
/// What is wrong with it.
pub fn check_name(name: &str) -> Result<(), String> {
    let wrong = if name.is_empty() {
        "is empty".to_owned()
    } else if name.len() > LONGEST_NAME {
        format!(
            "is {} bytes long; the maximum is {LONGEST_NAME}",
            name.len()
        )
    } else if let Some(control) = name.chars().find(|c| c.is_control()) {
        format!("contains the control character {control:?}")
    } else if name.starts_with('/') || name.ends_with('/') {
        "starts or ends with a slash".to_owned()
    } else if name.contains("/ids/") || name.starts_with("ids/") || name.ends_with("/ids") {
        "contains /ids/, which separates a site from its sets".to_owned()
    } else if name == "." || name == ".." {
        "means a directory in URLs".to_owned()
    } else {
        return Ok(());
    };
    Err(format!("the site name {name:?} {wrong}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["galway", "eu/galway", "Göl 1", "ids", &"x".repeat(200)] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "/a",
            "a/",
            "a\nb",
            "a/ids/b",
            "a/ids",
            "ids/a",
            ".",
            "..",
            &"x".repeat(201),
        ] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn contradictory_settings_are_rejected() {
        let good = SiteConfig::default();
        assert_eq!(good.check(), Ok(()));
        let elsewhere = || vec!["0.0.0.0:7118".parse().unwrap()];
        let entry = || KeyEntry::new("me", Role::Write, "0".repeat(64), "");
        let coordinator = |url: &str| Some(CoordinatorConfig::new(url));
        let hours = |hours: u64| Duration::from_secs(3600 * hours);
        let window = |length, keep| Some(Window { length, keep });
        type Change = Box<dyn Fn(&mut SiteConfig)>;
        let cases: [(&str, Change); 11] = [
            ("at least one address", Box::new(|c| c.listen = Vec::new())),
            (
                "without access keys",
                Box::new(move |c| c.listen = elsewhere()),
            ),
            (
                "advertise",
                Box::new(move |c| {
                    (c.listen, c.keys) = (elsewhere(), vec![entry()]);
                    c.coordinator = coordinator("http://127.0.0.1:1");
                }),
            ),
            (
                "only be reached from this machine",
                Box::new(move |c| c.coordinator = coordinator("https://hub.example.org")),
            ),
            (
                "coordinator",
                Box::new(move |c| c.coordinator = coordinator("ftp://a")),
            ),
            (
                "advertise",
                Box::new(|c| c.advertise = Some("nonsense".into())),
            ),
            (
                "whole number of seconds",
                Box::new(move |c| c.window = window(Duration::from_millis(1500), hours(1))),
            ),
            ("period", Box::new(|c| c.period = Duration::ZERO)),
            ("expect", Box::new(|c| c.expect = 0)),
            ("fpr", Box::new(|c| c.fpr = f64::NAN)),
            ("triples", Box::new(|c| c.triples = 0)),
        ];
        for url in ["http://localhost:1", "http://127.0.0.9:1", "http://[::1]:1"] {
            let here = SiteConfig {
                coordinator: coordinator(url),
                ..good.clone()
            };
            assert_eq!(here.check(), Ok(()), "{url}");
        }
        let advertised = SiteConfig {
            coordinator: coordinator("https://hub.example.org"),
            advertise: Some("https://galway.example.org".into()),
            ..good.clone()
        };
        assert_eq!(advertised.check(), Ok(()));
        for (word, change) in cases {
            let mut config = good.clone();
            change(&mut config);
            let error = config.check().unwrap_err();
            assert!(error.contains(word), "{word}: {error}");
        }
    }
}
