//! What one source says: flags and environment, or a file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bloomgrove_http::config::{Amount, Limits, LogFormat, LogOptions, TlsFiles};
use serde::Deserialize;

use super::{Config, Key, SiteOptions, TraceOptions, read};

/// What one source says; see [`Config`] for the meaning of each.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are those of Config")]
pub struct Settings {
    pub data: Option<PathBuf>,
    pub listen: Option<Vec<SocketAddr>>,
    pub demo: Option<bool>,
    /// Not of a file: every start but the first would find a store there already.
    #[serde(skip)]
    pub restore: Option<PathBuf>,
    /// Not of a file: whoever drops something has looked at what.
    #[serde(skip)]
    pub salvage: bool,
    pub limits: LimitSettings,
    pub tls: TlsSettings,
    pub sites: SiteSettings,
    pub trace: TraceSettings,
    pub log: LogSettings,
    pub keys: Option<Vec<Key>>,
}

/// What one source says of [`Limits`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are those of Limits")]
pub struct LimitSettings {
    #[serde(deserialize_with = "read::bytes")]
    pub body: Option<u64>,
    #[serde(deserialize_with = "read::count")]
    pub keys: Option<u64>,
    #[serde(deserialize_with = "read::amount")]
    pub memory: Option<Amount>,
    #[serde(deserialize_with = "read::bytes")]
    pub filter: Option<u64>,
    #[serde(deserialize_with = "read::duration")]
    pub request_time: Option<Duration>,
    #[serde(deserialize_with = "read::duration")]
    pub header_time: Option<Duration>,
    #[serde(deserialize_with = "read::duration")]
    pub idle_time: Option<Duration>,
    #[serde(deserialize_with = "read::count")]
    pub connections: Option<u64>,
}

/// What one source says of [`TlsFiles`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are those of TlsFiles")]
pub struct TlsSettings {
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

/// What one source says of [`SiteOptions`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are those of SiteOptions")]
pub struct SiteSettings {
    pub hosts: Option<Vec<String>>,
    pub ca: Option<PathBuf>,
}

/// What one source says of [`TraceOptions`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are those of TraceOptions")]
pub struct TraceSettings {
    #[serde(deserialize_with = "read::duration")]
    pub time: Option<Duration>,
    #[serde(deserialize_with = "read::duration")]
    pub site_time: Option<Duration>,
    #[serde(deserialize_with = "read::count")]
    pub links: Option<u64>,
}

/// What one source says of [`LogOptions`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are those of LogOptions")]
pub struct LogSettings {
    pub level: Option<String>,
    pub format: Option<LogFormat>,
    #[serde(deserialize_with = "read::duration")]
    pub slow: Option<Duration>,
}

impl Settings {
    /// What this file says.
    ///
    /// # Errors
    ///
    /// The file, the line and what is wrong there.
    pub fn from_file(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("configuration {}: {error}", path.display()))?;
        Self::from_toml(&text).map_err(|error| format!("configuration {}{error}", path.display()))
    }

    /// What this text says; errors begin with the line.
    pub(super) fn from_toml(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().and_then(|span| text.get(..span.start));
            let line = line.map(|before| format!(", line {}", before.matches('\n').count() + 1));
            format!("{}: {}", line.unwrap_or_default(), error.message())
        })
    }

    /// What this says, and what `other` says where this says nothing. Lists are not mixed.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            data: self.data.or(other.data),
            listen: self.listen.or(other.listen),
            demo: self.demo.or(other.demo),
            restore: self.restore.or(other.restore),
            salvage: self.salvage || other.salvage,
            limits: LimitSettings {
                body: self.limits.body.or(other.limits.body),
                keys: self.limits.keys.or(other.limits.keys),
                memory: self.limits.memory.or(other.limits.memory),
                filter: self.limits.filter.or(other.limits.filter),
                request_time: self.limits.request_time.or(other.limits.request_time),
                header_time: self.limits.header_time.or(other.limits.header_time),
                idle_time: self.limits.idle_time.or(other.limits.idle_time),
                connections: self.limits.connections.or(other.limits.connections),
            },
            tls: TlsSettings {
                cert: self.tls.cert.or(other.tls.cert),
                key: self.tls.key.or(other.tls.key),
            },
            sites: SiteSettings {
                hosts: self.sites.hosts.or(other.sites.hosts),
                ca: self.sites.ca.or(other.sites.ca),
            },
            trace: TraceSettings {
                time: self.trace.time.or(other.trace.time),
                site_time: self.trace.site_time.or(other.trace.site_time),
                links: self.trace.links.or(other.trace.links),
            },
            log: LogSettings {
                level: self.log.level.or(other.log.level),
                format: self.log.format.or(other.log.format),
                slow: self.log.slow.or(other.log.slow),
            },
            keys: self.keys.or(other.keys),
        }
    }

    /// The whole configuration, checked.
    ///
    /// # Errors
    ///
    /// What does not go together.
    pub fn into_config(self) -> Result<Config, String> {
        let usual = Config::default();
        let many = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let tls = match (self.tls.cert, self.tls.key) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
            (Some(_), None) => return Err("TLS needs the key of the certificate, too".into()),
            (None, Some(_)) => return Err("TLS needs the certificate of the key, too".into()),
        };
        let limits = self.limits;
        let config = Config {
            data: self.data.unwrap_or(usual.data),
            listen: self.listen.unwrap_or(usual.listen),
            limits: Limits {
                body: limits.body.unwrap_or(usual.limits.body),
                memory: limits.memory.map_or(usual.limits.memory, Amount::bytes),
                request_time: limits.request_time.unwrap_or(usual.limits.request_time),
                header_time: limits.header_time.unwrap_or(usual.limits.header_time),
                idle_time: limits.idle_time.unwrap_or(usual.limits.idle_time),
                connections: limits.connections.map_or(usual.limits.connections, many),
            },
            max_keys: limits.keys.map_or(usual.max_keys, many),
            max_filter: limits.filter.unwrap_or(usual.max_filter),
            tls,
            keys: self.keys.unwrap_or(usual.keys),
            sites: SiteOptions {
                hosts: self.sites.hosts.unwrap_or(usual.sites.hosts),
                ca: self.sites.ca.or(usual.sites.ca),
            },
            trace: TraceOptions {
                time: self.trace.time.unwrap_or(usual.trace.time),
                site_time: self.trace.site_time.unwrap_or(usual.trace.site_time),
                links: self.trace.links.unwrap_or(usual.trace.links),
            },
            log: LogOptions {
                level: self.log.level.unwrap_or(usual.log.level),
                format: self.log.format.unwrap_or(usual.log.format),
                slow: self.log.slow.unwrap_or(usual.log.slow),
            },
            demo: self.demo.unwrap_or(usual.demo),
            restore: self.restore.or(usual.restore),
            salvage: self.salvage,
        };
        config.check()?;
        Ok(config)
    }
}
