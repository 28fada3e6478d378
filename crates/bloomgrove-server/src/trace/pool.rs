//! Connections to sites: one client for all with HTTP, one for all with HTTPS.
//!
//! Each site only gets its own access key. Proxies are not used, and redirects are not followed. A host name that resolves to
//! a link-local address is not reachable: this is checked on every lookup, since the address may change.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use bloomgrove_client::{Carrier, Client, Site};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::config::{Config, is_link_local};
use crate::coordinator::KnownSite;

/// Maximum size of one answer.
pub(super) const ANSWER: u64 = 8 << 20;

#[derive(Debug)]
pub(super) struct Pool {
    plain: Client,
    /// Created when first needed, unless it has its own certificate authority: a machine without any authorities may well have
    /// sites without TLS.
    secure: OnceLock<Result<Client, String>>,
    time: Duration,
}

impl Pool {
    pub(super) fn new(config: &Config) -> Result<Self> {
        let time = config.trace.time;
        let secure = OnceLock::new();
        if let Some(path) = &config.sites.ca {
            let told = || {
                format!(
                    "{}: invalid certificate authority for sites",
                    path.display()
                )
            };
            let pem = std::fs::read(path).with_context(told)?;
            let client = client("https://localhost", time, Some(&pem)).with_context(told)?;
            // It is still empty.
            let _ = secure.set(Ok(client));
        }
        Ok(Self {
            plain: client("http://localhost", time, None)?,
            secure,
            time,
        })
    }

    /// A pool whose sites are reached through `carrier`, without TLS.
    pub(super) fn carried(config: &Config, carrier: Arc<dyn Carrier>) -> Result<Self> {
        let plain = Client::builder("http://localhost").carrier(carrier);
        Ok(Self {
            plain: plain.answer_limit(ANSWER).build()?,
            secure: OnceLock::new(),
            time: config.trace.time,
        })
    }

    /// A client for the site.
    pub(super) fn site(&self, site: &KnownSite) -> Result<Site, String> {
        let client = match site.url.starts_with("https:") {
            false => &self.plain,
            true => {
                let make = || {
                    client("https://localhost", self.time, None).map_err(|error| error.to_string())
                };
                self.secure.get_or_init(make).as_ref()?
            }
        };
        let client = client.sibling(&site.url, site.key.as_deref());
        client.map(Site::new).map_err(|error| error.to_string())
    }
}

fn client(
    url: &str,
    time: Duration,
    authority: Option<&[u8]>,
) -> Result<Client, bloomgrove_client::Error> {
    let builder = Client::builder(url)
        .direct()
        .resolver(Resolver)
        .timeout(time)
        .answer_limit(ANSWER);
    match authority {
        Some(pem) => builder.ca_certificate(pem).build(),
        None => builder.build(),
    }
}

/// Resolves names like the system does, without addresses that no site has.
struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let of_sites = found.filter(|found| !is_link_local(found.ip()));
            let addresses: Addrs = Box::new(of_sites.collect::<Vec<_>>().into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_name_leads_to_a_link_local_address() {
        for (name, found) in [
            ("localhost", true),
            ("127.0.0.1", true),
            ("169.254.169.254", false),
            ("fe80::1", false),
            ("::ffff:169.254.0.1", false),
        ] {
            let addresses = Resolver.resolve(name.parse().unwrap()).await.unwrap();
            assert_eq!(addresses.count() > 0, found, "{name}");
        }
    }
}
