//! The options of `bloomgrove serve`, combined with the environment and the configuration file.

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove_server::Config;

use crate::shared::given::Given;

#[derive(clap::Args)]
pub(super) struct Flags {
    /// The configuration file (TOML); deploy/bloomgrove.toml lists every setting
    #[arg(long, value_name = "FILE", env = "BLOOMGROVE_CONFIG")]
    config: Option<PathBuf>,
    /// Start from this snapshot
    #[arg(long, value_name = "SNAPSHOT", env = "BLOOMGROVE_RESTORE")]
    restore: Option<PathBuf>,
    /// If the store is damaged, keep a copy, drop the sets that cannot be read, and list them
    #[arg(long, conflicts_with = "restore")]
    salvage: bool,
    #[command(flatten)]
    settings: Given<Config>,
}

impl Flags {
    /// The configuration from flags, environment and file, and whether any of them names a data directory.
    pub(super) fn config(self) -> Result<(Config, bool)> {
        let read = Config::read(&self.settings.matches, self.config.as_deref());
        let (mut config, names_data) = read.map_err(anyhow::Error::msg)?;
        config.restore = self.restore;
        config.salvage = self.salvage;
        config.check().map_err(anyhow::Error::msg)?;
        Ok((config, names_data))
    }
}
