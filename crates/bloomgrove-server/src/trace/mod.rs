//! Traces: the lineage of documents across all sites.

mod pool;

use anyhow::Result;

use crate::config::{Config, SiteOptions};
use pool::Pool;

/// Asks sites on behalf of who traces.
#[derive(Debug)]
pub struct Tracer {
    sites: SiteOptions,
    pool: Pool,
}

impl Tracer {
    /// With the settings of a server.
    ///
    /// # Errors
    /// Certificates that cannot be read.
    pub fn new(config: &Config) -> Result<Self> {
        Ok(Self {
            sites: config.sites.clone(),
            pool: Pool::new(config)?,
        })
    }

    /// Whether a site may be at this host.
    #[must_use]
    pub fn may_ask(&self, host: &str) -> bool {
        self.sites.allows(host)
    }
}
