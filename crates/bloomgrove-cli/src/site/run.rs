//! The site itself: settings from flags and environment.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use bloomgrove_client::Seal;
use bloomgrove_http::access::KeyEntry;
use bloomgrove_http::config::{LogFormat, LogOptions, TlsFiles};
use bloomgrove_http::listen::runtime;
use bloomgrove_http::observe::logs;
use bloomgrove_http::private::is_open_to_others;
use bloomgrove_site::{CoordinatorConfig, Site, SiteConfig, Window, run as serve};

use crate::shared::connect::first_line;
use crate::shared::output::{Output, complain};
use crate::shared::{Outcome, units};

#[derive(clap::Args)]
pub(super) struct Flags {
    /// What the site is called; its sets are NAME/ids/...
    #[arg(long, value_name = "NAME", env = "BLOOMGROVE_SITE_NAME")]
    name: Option<String>,
    /// The folder with everything that is recorded [default: NAME-data]
    #[arg(long, value_name = "DIR", env = "BLOOMGROVE_DATA")]
    data: Option<PathBuf>,
    /// Where to listen; may be repeated [default: 127.0.0.1:7118]
    #[arg(
        long,
        value_name = "ADDR",
        env = "BLOOMGROVE_LISTEN",
        value_delimiter = ','
    )]
    listen: Option<Vec<SocketAddr>>,
    /// If the log is damaged, keep a copy, drop the entries that cannot be read, and name them
    #[arg(long)]
    salvage: bool,
    #[command(flatten)]
    publish: Publish,
    #[command(flatten)]
    access: Access,
    /// error, warn, info, debug, trace, or directives for each part
    #[arg(
        long,
        value_name = "LEVEL",
        env = "BLOOMGROVE_LOG",
        default_value = "info",
        help_heading = "Logs"
    )]
    log: String,
    /// pretty or json
    #[arg(
        long,
        value_name = "FORMAT",
        env = "BLOOMGROVE_LOG_FORMAT",
        default_value = "pretty",
        help_heading = "Logs"
    )]
    log_format: LogFormat,
}

#[derive(clap::Args)]
#[command(next_help_heading = "The coordinator")]
struct Publish {
    /// The coordinator to publish to; without one, the site keeps to itself
    #[arg(long, value_name = "URL", env = "BLOOMGROVE_COORDINATOR")]
    coordinator: Option<String>,
    /// The key to show to the coordinator (a write key with the prefix NAME/), in the first line of a file
    #[arg(
        long,
        value_name = "FILE",
        env = "BLOOMGROVE_COORDINATOR_KEY_FILE",
        requires = "coordinator"
    )]
    coordinator_key_file: Option<PathBuf>,
    /// Trust this authority and no other for the coordinator: its certificate, in PEM
    #[arg(
        long,
        value_name = "FILE",
        env = "BLOOMGROVE_COORDINATOR_CA",
        requires = "coordinator"
    )]
    coordinator_ca: Option<PathBuf>,
    /// Where the coordinator reaches this site [default: where it listens]
    #[arg(long, value_name = "URL", env = "BLOOMGROVE_ADVERTISE")]
    advertise: Option<String>,
    /// How often new ids are published
    #[arg(
        long,
        value_name = "TIME",
        env = "BLOOMGROVE_PERIOD",
        default_value = "10s",
        value_parser = units::duration
    )]
    period: Duration,
    /// Publish ids by the period they were recorded in, such as 1h or 24h; old ones expire
    #[arg(
        long,
        value_name = "TIME",
        env = "BLOOMGROVE_WINDOW",
        value_parser = units::duration,
        requires = "keep"
    )]
    window: Option<Duration>,
    /// How long the coordinator keeps the ids of a window after its end
    #[arg(
        long,
        value_name = "TIME",
        env = "BLOOMGROVE_KEEP",
        value_parser = units::duration,
        requires = "window"
    )]
    keep: Option<Duration>,
    /// Ids to make room for at first, in a filter (of a window); it grows by itself
    #[arg(
        long,
        value_name = "COUNT",
        env = "BLOOMGROVE_EXPECT",
        default_value = "10000",
        value_parser = units::count
    )]
    expect: u64,
    /// How often an id that is not known here may bring the coordinator all the same
    #[arg(
        long,
        value_name = "RATE",
        env = "BLOOMGROVE_FPR",
        default_value = "0.0001",
        value_parser = units::rate
    )]
    fpr: f64,
    /// Seal all ids that leave the site, by the secret in the first line of this file
    #[arg(long, value_name = "FILE", env = "BLOOMGROVE_SECRET_FILE")]
    secret_file: Option<PathBuf>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Access")]
struct Access {
    /// A key that is let in, by its hash (`bloomgrove serve key` makes one); may be repeated
    #[arg(
        long = "key",
        value_name = "NAME:ROLE:SHA256",
        env = "BLOOMGROVE_KEYS",
        value_delimiter = ','
    )]
    keys: Vec<KeyEntry>,
    /// The chain of certificates, PEM; read again when it changes
    #[arg(
        long,
        value_name = "FILE",
        env = "BLOOMGROVE_TLS_CERT",
        requires = "tls_key"
    )]
    tls_cert: Option<PathBuf>,
    /// The private key, PEM
    #[arg(
        long,
        value_name = "FILE",
        env = "BLOOMGROVE_TLS_KEY",
        requires = "tls_cert"
    )]
    tls_key: Option<PathBuf>,
}

pub(super) fn run(flags: Flags) -> Result<Outcome> {
    let log = LogOptions {
        level: flags.log.clone(),
        format: flags.log_format,
        ..LogOptions::default()
    };
    let config = config(flags)?;
    let coordinator = config.coordinator.as_ref().map(|one| one.url.clone());
    let period = config.period;
    logs::start(&log).map_err(|error| anyhow!(error))?;
    let runtime = runtime().context("threads for the site")?;
    let result = runtime.block_on(async {
        let site = Site::bind(config).await?;
        let mut output = Output::new();
        for url in site.urls() {
            output.line(format_args!("listening on {url}"))?;
        }
        match &coordinator {
            Some(url) => output.line(format_args!("publishing to {url} every {period:?}"))?,
            None => output.line("publishing to nobody: there is no --coordinator")?,
        }
        output.finish()?;
        serve(site).await
    });
    runtime.shutdown_background();
    result.map(|()| Outcome::Yes)
}

fn config(flags: Flags) -> Result<SiteConfig> {
    let name = flags.name.context(
        "a site needs a name: `bloomgrove site --name galway`; `bloomgrove site --help` has the verbs",
    )?;
    let usual = SiteConfig::default();
    let read = |path: PathBuf| std::fs::read(&path).with_context(|| path.display().to_string());
    let publish = flags.publish;
    let secrets = [&publish.coordinator_key_file, &publish.secret_file];
    for path in secrets.into_iter().flatten() {
        if let Some(said) = is_open_to_others(path) {
            complain(format_args!("{said}"));
        }
    }
    let coordinator = match publish.coordinator {
        None => None,
        Some(url) => Some(CoordinatorConfig {
            url,
            key: publish
                .coordinator_key_file
                .map(|path| first_line(&path, "key"))
                .transpose()?,
            ca: publish.coordinator_ca.map(read).transpose()?,
        }),
    };
    let seal = publish.secret_file.map(|path| {
        let secret = first_line(&path, "secret")?;
        Seal::new(&secret).with_context(|| path.display().to_string())
    });
    Ok(SiteConfig {
        data: flags
            .data
            .unwrap_or_else(|| format!("{}-data", name.replace('/', "-")).into()),
        name,
        listen: flags.listen.unwrap_or(usual.listen),
        salvage: flags.salvage,
        advertise: publish.advertise,
        coordinator,
        period: publish.period,
        window: publish
            .window
            .zip(publish.keep)
            .map(|(length, keep)| Window { length, keep }),
        expect: publish.expect,
        fpr: publish.fpr,
        seal: seal.transpose()?,
        keys: flags.access.keys,
        tls: flags
            .access
            .tls_cert
            .zip(flags.access.tls_key)
            .map(|(cert, key)| TlsFiles { cert, key }),
        ..usual
    })
}
