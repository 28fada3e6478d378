//! `bloomgrove serve --demo`: a dozen sites, in the same process as the coordinator.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use bloomgrove_http::access::{KeyEntry, Role, hash_of, new_key};
use bloomgrove_server::Config;
use bloomgrove_site::CoordinatorConfig;
use bloomgrove_site::demo::Demo;

/// The sites of the demo: where their directories are, and their access key for the coordinator.
pub(super) struct DemoSites {
    folder: PathBuf,
    key: Option<String>,
}

impl DemoSites {
    pub(super) fn of(config: &mut Config) -> Result<Self> {
        // If the coordinator requires access keys, the sites need one, too.
        let key = match config.keys.is_empty() {
            true => None,
            false => Some(new_key().map_err(|error| anyhow!(error))?),
        };
        if let Some(key) = &key {
            let entry = KeyEntry::new("sites of the demo", Role::Write, hash_of(key), "");
            config.keys.push(entry.into());
        }
        if config.tls.is_some() {
            bail!("the demo's sites use plain HTTP; leave out --demo or the certificate");
        }
        let folder = config.data.join("sites");
        Ok(Self { folder, key })
    }

    /// Creates them, for the coordinator at this port.
    pub(super) async fn bind(self, port: u16) -> Result<Demo> {
        let coordinator = CoordinatorConfig {
            url: format!("http://127.0.0.1:{port}"),
            key: self.key,
            ca: None,
        };
        let sites = Demo::bind(coordinator, &self.folder).await;
        sites.context("the sites of the demo")
    }
}
