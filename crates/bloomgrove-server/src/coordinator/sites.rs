//! The sites of a federation: their URLs, access keys and heartbeats.
//!
//! ```text
//!   on disk     name -> url, key, period     written when one of them changes
//!   in memory   name -> last heartbeat,      at every heartbeat
//!                       pending, versions
//! ```
//!
//! A site registers again in every period, which is its heartbeat; a registration without news is not written to disk. A
//! site counts as offline if there was no heartbeat for three of its periods; after a start of the coordinator, counted
//! from then, since what happened before is unknown. While it is online, and for three periods after such a start, no one
//! with another access key can register under its name: the two sites would replace each other's sets.
//!
//! The sets of the site `galway` are those whose names start with `galway/ids/` ([`sets_of_site`]), whether it is
//! registered or not.

mod life;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bloomgrove::raw::tune;
use bloomgrove_client::api::{self, Code, sets_of_site, site_of_set};
use bloomgrove_client::normalize;

use super::Coordinator;
use super::change::Change;
use super::store::SiteRecord;
use super::text::plain;
use crate::Error;
use life::Sign;
pub(super) use life::{Life, Registration};

/// Maximum number of sites; a batch of the writer may exceed it slightly.
pub(super) const MOST_SITES: usize = 10_000;
const MOST_NAME: usize = 200;
const MOST_URL: usize = 2048;
const MOST_KEY: usize = 512;
/// Seconds: a day.
const MOST_PERIOD: u64 = 86_400;
/// The largest integer that every JSON parser reads exactly.
const MOST_NUMBER: u64 = (1 << 53) - 1;
/// Maximum number of sets reported to a site when it registers.
const MOST_SETS: usize = 10_000;
/// Ids looked up while the lock is held.
const CHUNK: usize = 4096;
/// Maximum number of names of unregistered sites in one answer.
const MOST_OTHERS: usize = 1000;
/// Maximum number of sets that a site may list when it registers, and of the bytes of their names.
const MOST_BELIEVED: usize = 4000;
const MOST_SET_NAME: usize = 500;

/// A set that accepts more than this share of all ids says nothing about any of them, and is ignored: its site would be
/// queried in every trace. A set sized for a rate of 1% reaches this with 3.5 times as many ids. Sets that are less full
/// cause a needless query now and then, and nothing is lost.
const OVERFULL: f64 = 0.5;

/// Which sites may know ids, according to the index.
#[derive(Debug, Default)]
pub struct Named {
    /// For each id, the sites whose sets may contain it, in order.
    pub sites: Vec<Vec<u32>>,
    /// Unregistered sites with such sets.
    pub unregistered: BTreeSet<String>,
    /// Sites for which only an overfull set matches, and the share of all ids that it accepts.
    pub overfull: BTreeMap<u32, f64>,
}

/// What is needed to query a site.
#[derive(Clone)]
pub struct KnownSite {
    /// Its name.
    pub name: Arc<str>,
    /// Its URL.
    pub url: String,
    /// The access key for it.
    pub key: Option<String>,
    /// Why the index may lack some of its ids, if it may.
    pub behind: Option<String>,
}

impl std::fmt::Debug for KnownSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the access key.
        f.debug_struct("KnownSite")
            .field("name", &self.name)
            .field("url", &self.url)
            .field("behind", &self.behind)
            .finish_non_exhaustive()
    }
}

impl Coordinator {
    /// Registers a site, or records its heartbeat; returns the versions of its sets.
    ///
    /// # Errors
    /// If the name, URL, key or period is invalid, there are too many sites, or another site with this name is
    /// online.
    pub async fn register(
        &self,
        name: &str,
        site: api::RegisterSite,
    ) -> Result<api::Registered, Error> {
        check_name(name)?;
        check_sets(name, &site.sets)?;
        let store = self.shared.store.id();
        let sign = Sign::new(name, &site, site.store == Some(store));
        let record = record(site)?;
        if !self.hear(name, Some(&record), &sign) {
            let change = Change::Site {
                name: name.into(),
                site: Some(record),
            };
            self.change(change).await?;
            self.hear(name, None, &sign);
        }
        Ok(api::Registered {
            store: Some(store),
            sets: self.versions(name),
        })
    }

    /// Records a heartbeat of a site, if it is registered (with this record, if given).
    fn hear(&self, name: &str, record: Option<&SiteRecord>, sign: &Sign) -> bool {
        let catalog = self.shared.read();
        let known = catalog.sites.get(name);
        let known = known.filter(|known| record.is_none_or(|record| *record == known.record));
        known.inspect(|known| known.hear(sign)).is_some()
    }

    fn versions(&self, site: &str) -> Vec<api::SetVersion> {
        let catalog = self.shared.read();
        let prefix = sets_of_site(site);
        let sets = catalog.range(&prefix, None).take(MOST_SETS);
        let sets = sets.map(|(name, entry)| api::SetVersion {
            name: name.to_string(),
            version: entry.version,
        });
        sets.collect()
    }

    /// Removes a site; its sets stay.
    ///
    /// # Errors
    /// If there is no such site.
    pub async fn forget_site(&self, name: &str) -> Result<(), Error> {
        let name = name.into();
        self.change(Change::Site { name, site: None }).await?;
        Ok(())
    }

    /// All sites, by name, without their access keys.
    #[must_use]
    pub fn sites(&self) -> api::SiteList {
        let catalog = self.shared.read();
        let sites = catalog.sites.iter().map(|(name, site)| api::SiteInfo {
            name: name.to_string(),
            url: site.record.url.clone(),
            last_heartbeat: site.life.heard().map(|heard| heard.as_secs_f64()),
            period: site.record.period,
            pending: site.life.pending(),
            online: site.is_online(),
            sets: catalog.range(&sets_of_site(name), None).count() as u64,
        });
        api::SiteList {
            sites: sites.collect(),
        }
    }

    /// All sites, by name, with what is needed to query them.
    #[must_use]
    pub fn known_sites(&self) -> Vec<KnownSite> {
        let catalog = self.shared.read();
        let sites = catalog.sites.iter().map(|(name, site)| KnownSite {
            name: name.clone(),
            url: site.record.url.clone(),
            key: site.record.key.clone(),
            behind: site.behind(name, &catalog, u64::MAX),
        });
        sites.collect()
    }

    /// The version most recently assigned, for [`behind_since`](Self::behind_since).
    #[must_use]
    pub fn version(&self) -> u64 {
        self.shared.version.load(Relaxed)
    }

    /// Sites of which the index may lack something now, or may have lacked something at some time since this version, and why.
    #[must_use]
    pub fn behind_since(&self, version: u64) -> Vec<(Arc<str>, String)> {
        let catalog = self.shared.read();
        let behind = catalog.sites.iter().filter_map(|(name, site)| {
            let why = site.behind(name, &catalog, version)?;
            Some((name.clone(), why))
        });
        behind.collect()
    }

    /// For each id the sites whose sets may contain it, by their numbers in `known`.
    #[must_use]
    pub fn sites_of(&self, ids: &[Arc<str>], known: &HashMap<Arc<str>, u32>) -> Named {
        let mut found = Named::default();
        let mut named = 0;
        for id in ids {
            let (mut of_id, mut full) = (Vec::new(), Vec::new());
            // First the names, then what they mean: the index is locked for the names only.
            let names = self.names_of(id);
            for names in names.chunks(CHUNK) {
                let catalog = self.shared.read();
                named += names.len() as u64;
                for name in names {
                    let Some(site) = site_of_set(name) else {
                        continue;
                    };
                    let rate = catalog
                        .get(name)
                        .map_or(0.0, |entry| tune::fpr_of_ones(&entry.params, entry.ones));
                    let others = &mut found.unregistered;
                    match known.get(site) {
                        Some(number) if rate > OVERFULL => full.push((*number, rate)),
                        Some(number) => of_id.push(*number),
                        None if others.len() < MOST_OTHERS => drop(others.insert(site.to_owned())),
                        None => {}
                    }
                }
            }
            of_id.sort_unstable();
            of_id.dedup();
            full.retain(|(number, _)| of_id.binary_search(number).is_err());
            full.dedup_by_key(|(number, _)| *number);
            found.overfull.extend(full);
            found.sites.push(of_id);
        }
        let totals = &self.shared.totals;
        totals.keys_queried.fetch_add(ids.len() as u64, Relaxed);
        totals.sets_listed.fetch_add(named, Relaxed);
        found
    }
}

/// What is stored of a registration, if it is valid.
fn record(site: api::RegisterSite) -> Result<SiteRecord, Error> {
    let api::RegisterSite {
        url,
        key,
        period,
        pending,
        position,
        store,
        ..
    } = site;
    if url.len() > MOST_URL {
        let detail = format!(
            "the url is {} bytes long; the maximum is {MOST_URL}",
            url.len()
        );
        return Err(Error::invalid(detail));
    }
    let url = normalize(&url).map_err(|error| Error::invalid(error.to_string()))?;
    let is_key = |key: &String| {
        (1..=MOST_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if !key.as_ref().is_none_or(is_key) {
        return Err(Error::invalid(format!(
            "the access key for the coordinator must be 1 to {MOST_KEY} visible ASCII \
             characters"
        )));
    }
    if !(1..=MOST_PERIOD).contains(&period) {
        return Err(Error::invalid(format!(
            "period is {period}; it must be a number of seconds from 1 to {MOST_PERIOD}"
        )));
    }
    let numbers = [
        ("pending", pending),
        ("position", position),
        ("store", store.unwrap_or(0)),
    ];
    for (name, number) in numbers {
        if number > MOST_NUMBER {
            let detail = format!("{name} is {number}; the maximum is {MOST_NUMBER}");
            return Err(Error::invalid(detail));
        }
    }
    Ok(SiteRecord { url, key, period })
}

/// Checks the sets that a site lists: they must be its own.
fn check_sets(site: &str, sets: &[api::SetVersion]) -> Result<(), Error> {
    if sets.len() > MOST_BELIEVED {
        let detail = format!(
            "the site lists {} sets; the maximum is {MOST_BELIEVED}",
            sets.len()
        );
        return Err(Error::new(Code::TooLarge, detail));
    }
    let prefix = sets_of_site(site);
    let is_own =
        |set: &api::SetVersion| set.name.len() <= MOST_SET_NAME && set.name.starts_with(&prefix);
    match sets.iter().all(is_own) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "a set does not belong to this site: names of its sets start with {prefix}, and have \
             at most {MOST_SET_NAME} bytes"
        ))),
    }
}

/// Why no other site can have this name now.
pub(super) fn taken(name: &str) -> Error {
    let detail = format!(
        "another site named {name} is online, or was recently, with another key: two sites with one name would replace \
         each other's sets. Choose another name for this site. If the other one is gone for good, wait until it \
         counts as offline, or remove it from the coordinator (DELETE /v1/sites/NAME)"
    );
    Error::new(Code::Exists, detail)
}

fn check_name(name: &str) -> Result<(), Error> {
    plain("the name of a site", name, MOST_NAME)?;
    let set = format!("{}all", sets_of_site(name));
    // "a/ids" has its sets in "a/ids/ids/", which are those of "a".
    let is_ambiguous = site_of_set(&set) != Some(name);
    if is_ambiguous || name.starts_with('/') || name.ends_with('/') || matches!(name, "." | "..") {
        return Err(Error::invalid(format!(
            "{name:?} cannot be the name of a site: it must not start or end with a slash, nor \
             contain \"ids\" after a slash"
        )));
    }
    Ok(())
}

pub(super) fn too_many() -> Error {
    let detail = format!(
        "there are already {MOST_SITES} sites, the maximum; remove obsolete ones (DELETE /v1/sites/NAME)"
    );
    Error::new(Code::Memory, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sites_are_those_that_their_sets_tell() {
        for name in ["galway", "a/b", "ids", "a ö?", "idsx/y", "x.ids"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "x".repeat(MOST_NAME + 1);
        for name in [
            "", "/a", "a/", "a/ids/b", "a/ids", "ids/ids", ".", "..", "a\nb", &long,
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn registrations_are_checked() {
        let good = api::RegisterSite {
            url: "https://galway.example:7118".into(),
            key: Some("bg_x".into()),
            period: 60,
            pending: 7,
            ..api::RegisterSite::default()
        };
        assert!(record(good.clone()).is_ok());
        for url in ["galway", "ftp://a", "http://me@a", "http://a/?x=1", ""] {
            let url = url.to_owned();
            assert!(
                record(api::RegisterSite {
                    url,
                    ..good.clone()
                })
                .is_err()
            );
        }
        for key in ["", "two words", "line\nbreak", "ö"] {
            let key = Some(key.to_owned());
            assert!(
                record(api::RegisterSite {
                    key,
                    ..good.clone()
                })
                .is_err()
            );
        }
        for store in [1 << 53, u64::MAX] {
            let store = Some(store);
            assert!(
                record(api::RegisterSite {
                    store,
                    ..good.clone()
                })
                .is_err()
            );
        }
        for period in [0, 86_401, u64::MAX] {
            assert!(
                record(api::RegisterSite {
                    period,
                    ..good.clone()
                })
                .is_err()
            );
        }
    }
}
