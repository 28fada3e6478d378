//! The options of `bloomgrove serve`, and what they say together with the environment and the file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use bloomgrove_http::config::{Amount, LogFormat};
use bloomgrove_server::config::{
    Key, LimitSettings, LogSettings, Settings, SiteSettings, TlsSettings, TraceSettings,
};

use crate::shared::units;

#[derive(clap::Args)]
pub(super) struct Flags {
    /// The configuration file (TOML); deploy/bloomgrove.toml has every setting
    #[arg(long, value_name = "FILE", env = "BLOOMGROVE_CONFIG")]
    config: Option<PathBuf>,
    /// The folder with everything that is kept [default: bloomgrove-data]
    #[arg(long, value_name = "DIR", env = "BLOOMGROVE_DATA")]
    data: Option<PathBuf>,
    /// Where to listen; may be repeated [default: 127.0.0.1:7117]
    #[arg(
        long,
        value_name = "ADDR",
        env = "BLOOMGROVE_LISTEN",
        value_delimiter = ','
    )]
    listen: Option<Vec<SocketAddr>>,
    /// Begin with data to explore, kept only if --data says where
    #[arg(
        long,
        value_name = "BOOL",
        env = "BLOOMGROVE_DEMO",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    demo: Option<bool>,
    /// Begin with what is in this snapshot
    #[arg(long, value_name = "SNAPSHOT", env = "BLOOMGROVE_RESTORE")]
    restore: Option<PathBuf>,
    /// If the store is damaged, keep a copy, drop the sets that cannot be read, and name them
    #[arg(long, conflicts_with = "restore")]
    salvage: bool,
    #[command(flatten)]
    limits: LimitFlags,
    #[command(flatten)]
    tls: TlsFlags,
    /// A key that is let in, by its hash; may be repeated
    #[arg(
        long = "key",
        value_name = "NAME:ROLE:SHA256[:PREFIX]",
        env = "BLOOMGROVE_KEYS",
        value_delimiter = ',',
        help_heading = "Access"
    )]
    keys: Option<Vec<Key>>,
    #[command(flatten)]
    trace: TraceFlags,
    #[command(flatten)]
    log: LogFlags,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitFlags {
    /// Memory for filters: bytes, or a share of the machine's [default: 50%]
    #[arg(long, value_name = "SIZE", env = "BLOOMGROVE_MEMORY")]
    memory: Option<Amount>,
    /// Memory for one filter [default: 256MiB]
    #[arg(long, value_name = "SIZE", env = "BLOOMGROVE_MAX_FILTER", value_parser = units::bytes)]
    max_filter: Option<u64>,
    /// Bytes of one request's body [default: 64MiB]
    #[arg(long, value_name = "SIZE", env = "BLOOMGROVE_MAX_BODY", value_parser = units::bytes)]
    max_body: Option<u64>,
    /// Keys in one request [default: 100000]
    #[arg(long, value_name = "COUNT", env = "BLOOMGROVE_MAX_KEYS", value_parser = units::count)]
    max_keys: Option<u64>,
    /// Connections at a time [default: 20000]
    #[arg(
        long,
        value_name = "COUNT",
        env = "BLOOMGROVE_MAX_CONNECTIONS",
        value_parser = units::count
    )]
    max_connections: Option<u64>,
    /// From the end of a request's head to its answer [default: 30s]
    #[arg(
        long,
        value_name = "TIME",
        env = "BLOOMGROVE_REQUEST_TIME",
        value_parser = units::duration
    )]
    request_time: Option<Duration>,
    /// For a request's head to come [default: 10s]
    #[arg(
        long,
        value_name = "TIME",
        env = "BLOOMGROVE_HEADER_TIME",
        value_parser = units::duration
    )]
    header_time: Option<Duration>,
    /// For a connection on which nothing happens [default: 75s]
    #[arg(
        long,
        value_name = "TIME",
        env = "BLOOMGROVE_IDLE_TIME",
        value_parser = units::duration
    )]
    idle_time: Option<Duration>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "TLS")]
struct TlsFlags {
    /// The chain of certificates, PEM; read again when it changes
    #[arg(long, value_name = "FILE", env = "BLOOMGROVE_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// The private key, PEM
    #[arg(long, value_name = "FILE", env = "BLOOMGROVE_TLS_KEY")]
    tls_key: Option<PathBuf>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Sites and traces")]
struct TraceFlags {
    /// Hosts that sites may be at, or ends of their names; may be repeated [default: any]
    #[arg(
        long = "site-host",
        value_name = "HOST",
        env = "BLOOMGROVE_SITE_HOSTS",
        value_delimiter = ','
    )]
    site_hosts: Option<Vec<String>>,
    /// Trust this authority and no other for sites: its certificate, in PEM
    #[arg(long, value_name = "FILE", env = "BLOOMGROVE_SITE_CA")]
    site_ca: Option<PathBuf>,
    /// For one site to answer in a trace [default: 5s]
    #[arg(
        long,
        value_name = "TIME",
        env = "BLOOMGROVE_SITE_TIME",
        value_parser = units::duration
    )]
    site_time: Option<Duration>,
    /// The longest that a trace may take [default: 20s]
    #[arg(
        long,
        value_name = "TIME",
        env = "BLOOMGROVE_TRACE_TIME",
        value_parser = units::duration
    )]
    trace_time: Option<Duration>,
    /// Links at which a trace ends [default: 100000]
    #[arg(
        long,
        value_name = "COUNT",
        env = "BLOOMGROVE_TRACE_LINKS",
        value_parser = units::count
    )]
    trace_links: Option<u64>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Logs")]
struct LogFlags {
    /// error, warn, info, debug, trace, or directives for each part [default: info]
    #[arg(long, value_name = "LEVEL", env = "BLOOMGROVE_LOG")]
    log: Option<String>,
    /// pretty or json [default: pretty]
    #[arg(long, value_name = "FORMAT", env = "BLOOMGROVE_LOG_FORMAT")]
    log_format: Option<LogFormat>,
    /// Log requests that take longer than this [default: 1s]
    #[arg(long, value_name = "TIME", env = "BLOOMGROVE_SLOW", value_parser = units::duration)]
    slow: Option<Duration>,
}

impl Flags {
    /// What flags and environment say, and the file where they say nothing.
    pub(super) fn settings(self) -> Result<Settings> {
        let file = match &self.config {
            Some(path) => Settings::from_file(path).map_err(anyhow::Error::msg)?,
            None => Settings::default(),
        };
        let flags = Settings {
            data: self.data,
            listen: self.listen,
            demo: self.demo,
            restore: self.restore,
            salvage: self.salvage,
            limits: LimitSettings {
                body: self.limits.max_body,
                keys: self.limits.max_keys,
                memory: self.limits.memory,
                filter: self.limits.max_filter,
                request_time: self.limits.request_time,
                header_time: self.limits.header_time,
                idle_time: self.limits.idle_time,
                connections: self.limits.max_connections,
            },
            tls: TlsSettings {
                cert: self.tls.tls_cert,
                key: self.tls.tls_key,
            },
            log: LogSettings {
                level: self.log.log,
                format: self.log.log_format,
                slow: self.log.slow,
            },
            keys: self.keys,
            sites: SiteSettings {
                hosts: self.trace.site_hosts,
                ca: self.trace.site_ca,
            },
            trace: TraceSettings {
                time: self.trace.trace_time,
                site_time: self.trace.site_time,
                links: self.trace.trace_links,
            },
        };
        Ok(flags.or(file))
    }
}

#[cfg(test)]
mod tests {
    use bloomgrove_http::access::hash_of;
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: Flags,
    }

    fn settings(line: &[&str]) -> Result<Settings> {
        let line = Line::try_parse_from([&["serve"], line].concat())?;
        line.flags.settings()
    }

    #[test]
    fn every_setting_has_a_flag_that_wins_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b.toml");
        let text =
            "data = 'file'\ndemo = true\n[limits]\nbody = 7\nkeys = 8\n[log]\nlevel = 'warn'";
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let key = format!("a:write:{}:site/", hash_of("k"));
        let got = settings(&[
            "--config",
            file,
            "--data",
            "flag",
            "--listen",
            "127.0.0.1:1,[::1]:2",
            "--demo=false",
            "--restore",
            "s",
            "--memory",
            "25%",
            "--max-filter",
            "2MiB",
            "--max-body",
            "1MiB",
            "--max-connections",
            "1k",
            "--request-time",
            "5s",
            "--header-time",
            "6",
            "--idle-time",
            "1min",
            "--tls-cert",
            "c",
            "--tls-key",
            "k",
            "--key",
            &key,
            "--site-host",
            ".example.org,a",
            "--site-ca",
            "ca",
            "--site-time",
            "3s",
            "--trace-time",
            "4s",
            "--trace-links",
            "9",
            "--log-format",
            "json",
            "--slow",
            "2s",
        ])
        .unwrap();
        let seconds = |count| Some(Duration::from_secs(count));
        let wanted = Settings {
            data: Some("flag".into()),
            listen: Some(vec![
                "127.0.0.1:1".parse().unwrap(),
                "[::1]:2".parse().unwrap(),
            ]),
            demo: Some(false),
            restore: Some("s".into()),
            salvage: false,
            limits: LimitSettings {
                body: Some(1 << 20),
                keys: Some(8),
                memory: Some(Amount::Share(0.25)),
                filter: Some(2 << 20),
                request_time: seconds(5),
                header_time: seconds(6),
                idle_time: seconds(60),
                connections: Some(1000),
            },
            tls: TlsSettings {
                cert: Some("c".into()),
                key: Some("k".into()),
            },
            log: LogSettings {
                level: Some("warn".into()),
                format: Some(LogFormat::Json),
                slow: seconds(2),
            },
            keys: Some(vec![key.parse().unwrap()]),
            sites: SiteSettings {
                hosts: Some(vec![".example.org".into(), "a".into()]),
                ca: Some("ca".into()),
            },
            trace: TraceSettings {
                time: seconds(4),
                site_time: seconds(3),
                links: Some(9),
            },
        };
        assert_eq!(got, wanted);
        assert_eq!(settings(&["--demo"]).unwrap().demo, Some(true));
    }

    #[test]
    fn wrong_flags_say_what_to_write() {
        for (line, word) in [
            (&["--max-body", "much"][..], "1GiB"),
            (&["--listen", "localhost"], "socket address"),
            (&["--log-format", "xml"], "pretty or json"),
            (&["--key", "a:b"], "NAME:ROLE:SHA256"),
            (&["--config", "no/such.toml"], "no/such.toml"),
        ] {
            let error = format!("{:#}", settings(line).err().unwrap());
            assert!(error.contains(word), "{error}");
        }
    }
}
