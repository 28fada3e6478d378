//! The site itself: settings from flags and environment.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use bloomgrove_client::IdCipher;
use bloomgrove_http::access::KeyEntry;
use bloomgrove_http::listen::runtime;
use bloomgrove_http::observe::logs;
use bloomgrove_http::private::is_open_to_others;
use bloomgrove_http::settings::Settings;
use bloomgrove_site::{CoordinatorConfig, Site, SiteConfig, Window, run as serve};

use crate::shared::connect::first_line;
use crate::shared::given::Given;
use crate::shared::output::{Output, complain};
use crate::shared::{Outcome, units};

#[derive(clap::Args)]
pub(super) struct Flags {
    /// The configuration file (TOML); deploy/site.toml lists every setting
    #[arg(long, value_name = "FILE", env = "BLOOMGROVE_SITE_CONFIG")]
    config: Option<PathBuf>,
    /// If the log is damaged, keep a copy, drop unreadable entries, and list them
    #[arg(long)]
    salvage: bool,
    #[command(flatten)]
    settings: Given<SiteSettings>,
}

/// The settings of a site; files that some of them name are read here.
#[derive(clap::Args)]
struct SiteSettings {
    #[command(flatten)]
    site: SiteConfig,
    #[command(flatten)]
    publish: Publish,
}

#[derive(clap::Args)]
#[command(next_help_heading = "The coordinator")]
struct Publish {
    /// URL of the coordinator to publish to; without it, nothing is published
    #[arg(
        id = "coordinator.url",
        long = "coordinator",
        value_name = "URL",
        env = "BLOOMGROVE_COORDINATOR"
    )]
    coordinator: Option<String>,
    /// File whose first line is the access key for the coordinator (a write key with the prefix NAME/)
    #[arg(
        id = "coordinator.key_file",
        long = "coordinator-key-file",
        value_name = "FILE",
        env = "BLOOMGROVE_COORDINATOR_KEY_FILE"
    )]
    coordinator_key_file: Option<PathBuf>,
    /// File with the CA certificate to trust for the coordinator, in PEM; no other CA is trusted
    ///
    /// By default, the CAs trusted by the system.
    #[arg(
        id = "coordinator.ca",
        long = "coordinator-ca",
        value_name = "FILE",
        env = "BLOOMGROVE_COORDINATOR_CA"
    )]
    coordinator_ca: Option<PathBuf>,
    /// Publish ids in windows of this length, such as 1h or 24h; old windows expire
    #[arg(
        id = "window.length",
        long = "window",
        value_name = "TIME",
        env = "BLOOMGROVE_WINDOW",
        value_parser = units::duration
    )]
    window: Option<Duration>,
    /// How long the coordinator keeps the ids of a window after the window has ended
    #[arg(
        id = "window.keep",
        long = "keep",
        value_name = "TIME",
        env = "BLOOMGROVE_KEEP",
        value_parser = units::duration
    )]
    keep: Option<Duration>,
    /// Encrypt all ids that leave the site, with the secret in the first line of this file
    #[arg(
        id = "encryption.secret_file",
        long = "secret-file",
        value_name = "FILE",
        env = "BLOOMGROVE_SECRET_FILE"
    )]
    secret_file: Option<PathBuf>,
}

pub(super) fn run(flags: Flags) -> Result<Outcome> {
    let config = config(flags)?;
    let coordinator = config.coordinator.as_ref().map(|one| one.url.clone());
    let period = config.period;
    logs::start(&config.log).map_err(|error| anyhow!(error))?;
    let runtime = runtime().context("cannot start the threads of the site")?;
    let result = runtime.block_on(async {
        let site = Site::bind(config).await?;
        let mut output = Output::new();
        for url in site.urls() {
            output.line(format_args!("listening on {url}"))?;
        }
        match &coordinator {
            Some(url) => output.line(format_args!(
                "publishing to {url} every {} s",
                period.as_secs_f64()
            ))?,
            None => output.line("not publishing: there is no --coordinator")?,
        }
        output.finish()?;
        serve(site).await
    });
    runtime.shutdown_background();
    result.map(|()| Outcome::Yes)
}

fn config(flags: Flags) -> Result<SiteConfig> {
    let given = &flags.settings.matches;
    let settings: Settings<SiteSettings, KeyEntry> =
        Settings::read(given, flags.config.as_deref()).map_err(anyhow::Error::msg)?;
    ensure!(
        settings.says("name"),
        "a site needs a name, for example `bloomgrove site --name galway`; for the commands, see `bloomgrove site --help`",
    );
    let names_data = settings.says("data");
    let SiteSettings { mut site, publish } = settings.value;
    if let Some(keys) = settings.keys {
        site.keys = keys;
    }
    if !names_data {
        site.data = format!("{}-data", site.name.replace('/', "-")).into();
    }
    let read = |path: PathBuf| std::fs::read(&path).with_context(|| path.display().to_string());
    let secrets = [&publish.coordinator_key_file, &publish.secret_file];
    for path in secrets.into_iter().flatten() {
        if let Some(said) = is_open_to_others(path) {
            complain(format_args!("{said}"));
        }
    }
    let about_coordinator = [&publish.coordinator_key_file, &publish.coordinator_ca];
    ensure!(
        publish.coordinator.is_some() || about_coordinator.iter().all(|path| path.is_none()),
        "--coordinator-key-file and --coordinator-ca require --coordinator"
    );
    ensure!(
        publish.window.is_some() == publish.keep.is_some(),
        "--window and --keep must be given together: the length of a window, and how long its ids are kept"
    );
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
    let cipher = publish.secret_file.map(|path| {
        let secret = first_line(&path, "secret")?;
        IdCipher::new(&secret).with_context(|| path.display().to_string())
    });
    Ok(SiteConfig {
        coordinator,
        window: publish
            .window
            .zip(publish.keep)
            .map(|(length, keep)| Window { length, keep }),
        cipher: cipher.transpose()?,
        salvage: flags.salvage,
        ..site
    })
}

#[cfg(test)]
mod tests {
    use bloomgrove_http::settings::sample;

    use super::*;

    const SAMPLE: &str = "../../deploy/site.toml";

    /// By hand: renaming a flag breaks people's scripts.
    #[test]
    fn every_setting_has_its_flag() {
        let options = <Publish as clap::Args>::augment_args(clap::Command::new("site"));
        let options = <SiteConfig as clap::Args>::augment_args(options);
        let flags: Vec<_> = options
            .get_arguments()
            .flat_map(|arg| arg.get_long())
            .collect();
        let wanted = "coordinator coordinator-key-file coordinator-ca window keep secret-file name data \
                      listen advertise period expect fpr key max-body memory request-time header-time \
                      idle-time max-connections max-triples tls-cert tls-key log log-format slow";
        assert_eq!(flags.join(" "), wanted);
    }

    /// To regenerate it after a change of the settings:
    /// `BLOOMGROVE_WRITE_SAMPLE=1 cargo test -p bloomgrove-cli sample`.
    #[test]
    fn the_sample_has_every_setting() {
        let head = "# Configuration of `bloomgrove site --config site.toml`.\n\
                    #\n\
                    # All settings are listed here, commented out, with their defaults. A flag overrides an\n\
                    # environment variable, which overrides this file. For access keys, see bloomgrove.toml.\n";
        let made = format!("{head}{}", sample::<SiteSettings>());
        if std::env::var_os("BLOOMGROVE_WRITE_SAMPLE").is_some() {
            std::fs::write(SAMPLE, &made).unwrap();
        }
        assert_eq!(std::fs::read_to_string(SAMPLE).unwrap(), made);
        let uncommented = made.replace("\n#name = \"site\"", "\nname = \"galway\"");
        let read = |text: &str| {
            let options = <SiteSettings as clap::Args>::augment_args(clap::Command::new("site"));
            let given = options
                .mut_args(|arg| arg.env(None))
                .get_matches_from(["site"]);
            Settings::<SiteSettings, KeyEntry>::parse(&given, text)
        };
        let settings = read(&uncommented).unwrap();
        assert!(settings.says("name") && !settings.says("data"));
        assert_eq!(settings.value.site.name, "galway");
    }
}
