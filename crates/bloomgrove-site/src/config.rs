//! Configuration of a site: what can be set, what it is when it is not set, and what is refused.

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

/// Where --help lists what is about publishing.
const PUBLISH: &str = "The coordinator";
/// Bytes of the name of a site.
const LONGEST_NAME: usize = 200;
/// Ids that a window can be made for.
const MOST_EXPECTED: u64 = 1 << 32;

/// All that a site needs to know before it starts.
#[derive(Args, Clone, Debug)]
pub struct SiteConfig {
    /// What the site is called; its sets are NAME/ids/...
    #[arg(
        id = "name",
        long,
        value_name = "NAME",
        env = "BLOOMGROVE_SITE_NAME",
        default_value = "site",
        hide_default_value = true
    )]
    pub name: String,
    /// The directory with everything that is recorded
    #[arg(
        id = "data",
        long,
        value_name = "DIR",
        env = "BLOOMGROVE_DATA",
        default_value = "NAME-data"
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
        default_value = "127.0.0.1:7118"
    )]
    pub listen: Vec<SocketAddr>,
    /// Where the coordinator reaches this site [default: where it listens]
    #[arg(
        id = "advertise",
        long,
        value_name = "URL",
        env = "BLOOMGROVE_ADVERTISE"
    )]
    pub advertise: Option<String>,
    /// Who gets to know which ids are here; nobody, if it is left out.
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
    /// How ids are divided by time; not at all, if it is left out.
    #[arg(skip)]
    pub window: Option<Window>,
    /// Ids to make room for at first, in a filter (of a window); it grows by itself
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
    /// How often an id that is not known here may bring the coordinator all the same
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
    /// What keeps ids from the coordinator, if anything does.
    #[arg(skip)]
    pub cipher: Option<IdCipher>,
    /// A key that is let in, by its hash (`bloomgrove serve key` makes one); may be repeated
    #[arg(
        id = "keys",
        long = "key",
        value_name = "NAME:ROLE:SHA256",
        env = "BLOOMGROVE_KEYS",
        value_delimiter = ',',
        help_heading = "Access"
    )]
    pub keys: Vec<KeyEntry>,
    /// How much is too much.
    #[command(flatten)]
    pub limits: Limits,
    /// Triples at most: each takes some 400 bytes of memory
    #[arg(
        id = "limits.triples",
        long = "max-triples",
        value_name = "COUNT",
        env = "BLOOMGROVE_MAX_TRIPLES",
        default_value = "20000000",
        value_parser = units::count
    )]
    pub triples: u64,
    /// The certificate and its key; without them, plain HTTP.
    #[command(flatten)]
    pub tls: Option<TlsFiles>,
    /// What is logged, and how.
    #[command(flatten)]
    pub log: LogOptions,
    /// If the log is damaged, keep what can be read of it.
    #[arg(skip)]
    pub salvage: bool,
}

/// Where the coordinator is.
#[derive(Clone, PartialEq, Eq)]
pub struct CoordinatorConfig {
    /// Its address.
    pub url: String,
    /// A write key with the prefix `NAME/`, if the coordinator wants keys.
    pub key: Option<String>,
    /// The authority of its certificate, in PEM, if the machine does not know it.
    pub ca: Option<Vec<u8>>,
}

impl CoordinatorConfig {
    /// The one at this address, without a key.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            key: None,
            ca: None,
        }
    }

    /// A client that talks to it.
    ///
    /// # Errors
    /// What is wrong with the address, the key or the authority.
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
        // Without the key.
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
    /// What does not go together.
    ///
    /// # Errors
    /// What is wrong, and the way out.
    pub fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        let could = "record events and read everything";
        access::check(&self.listen, &self.keys, could, Role::Write)?;
        if let Some(coordinator) = &self.coordinator {
            let client = coordinator.client();
            client.map_err(|error| format!("the coordinator: {error}"))?;
            let unreachable = self
                .listen
                .first()
                .is_some_and(|addr| addr.ip().is_unspecified());
            if unreachable && self.advertise.is_none() {
                return Err(
                    "the site listens on all addresses of this machine; say with `advertise` at \
                     which one the coordinator reaches it, such as https://galway.example.org:7118"
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
                    "the site listens on {addr}, where only this machine reaches it, and the \
                     coordinator is elsewhere; say with `advertise` at which address it reaches the \
                     site, such as https://galway.example.org:7118"
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
                "a period of {:?}; it is at least 10 ms and at most a day",
                self.period
            ));
        }
        if self.expect == 0 || self.expect > MOST_EXPECTED {
            return Err(format!(
                "`expect` is {}; it is a number of ids from 1 to {MOST_EXPECTED}",
                self.expect
            ));
        }
        if !(self.fpr > 0.0 && self.fpr <= 0.5) {
            return Err(format!(
                "`fpr` is {}; it is a rate above 0 and up to 0.5, such as 0.001",
                self.fpr
            ));
        }
        if self.triples == 0 {
            return Err("`triples` is 0, so nothing could be recorded".into());
        }
        self.limits.check()
    }
}

/// Whether an address is one of this machine.
fn is_here(url: &str) -> bool {
    host_of(url).is_ok_and(|host| is_loopback_host(&host) || host.ends_with(".localhost"))
}

/// What can be the name of a site: the names of its sets begin with it.
///
/// # Errors
/// What is wrong with it.
pub fn check_name(name: &str) -> Result<(), String> {
    let wrong = if name.is_empty() {
        "is empty".to_owned()
    } else if name.len() > LONGEST_NAME {
        format!("has {} bytes, and {LONGEST_NAME} are the most", name.len())
    } else if let Some(control) = name.chars().find(|c| c.is_control()) {
        format!("has the control character {control:?} in it")
    } else if name.starts_with('/') || name.ends_with('/') {
        "begins or ends with a slash".to_owned()
    } else if name.contains("/ids/") || name.starts_with("ids/") || name.ends_with("/ids") {
        "has /ids/ in it, which stands between a site and its sets".to_owned()
    } else if name == "." || name == ".." {
        "means a directory in every address".to_owned()
    } else {
        return Ok(());
    };
    Err(format!("the name of the site, {name:?}, {wrong}"))
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
    fn what_does_not_go_together_is_refused() {
        let good = SiteConfig::default();
        assert_eq!(good.check(), Ok(()));
        let elsewhere = || vec!["0.0.0.0:7118".parse().unwrap()];
        let entry = || KeyEntry::new("me", Role::Write, "0".repeat(64), "");
        let coordinator = |url: &str| Some(CoordinatorConfig::new(url));
        let hours = |hours: u64| Duration::from_secs(3600 * hours);
        let window = |length, keep| Some(Window { length, keep });
        type Change = Box<dyn Fn(&mut SiteConfig)>;
        let cases: [(&str, Change); 11] = [
            ("no address", Box::new(|c| c.listen = Vec::new())),
            ("without keys", Box::new(move |c| c.listen = elsewhere())),
            (
                "advertise",
                Box::new(move |c| {
                    (c.listen, c.keys) = (elsewhere(), vec![entry()]);
                    c.coordinator = coordinator("http://127.0.0.1:1");
                }),
            ),
            (
                "only this machine",
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
                "whole seconds",
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
