//! Sites of a federation: where each is reached, with which key, and when it was last heard of.
//!
//! ```text
//!   on disk     name -> url, key, period     written when one of them changes
//!   in memory   name -> heard, pending,      at every sign of life
//!                       versions it believes
//! ```
//!
//! A site registers again in every period, which is its sign of life: a registration that says
//! nothing new costs no disk. A site counts as out of touch when it was not heard of for three of its
//! periods; after a start of the coordinator, from then on, since nobody can tell what was before.
//! While it is in touch, and for three periods after such a start, nobody with another key can be the
//! site of its name: two sites would replace each other's sets.
//!
//! The sets of the site `galway` are those whose names begin with `galway/ids/`
//! ([`sets_of_site`]), whether it is registered or not.

mod life;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bloomgrove::tune;
use bloomgrove_client::api::{self, Code, sets_of_site, site_of_set};
use bloomgrove_client::normalize;

use super::Coordinator;
use super::change::Change;
use super::store::SiteRecord;
use super::text::plain;
use crate::Error;
use life::Sign;
pub(super) use life::{Life, Registration};

/// Sites at most; a batch of the writer may go a few beyond.
pub(super) const MOST_SITES: usize = 10_000;
const MOST_NAME: usize = 200;
const MOST_URL: usize = 2048;
const MOST_KEY: usize = 512;
/// Seconds: a day.
const MOST_PERIOD: u64 = 86_400;
/// What every reader of JSON takes as a whole number.
const MOST_NUMBER: u64 = (1 << 53) - 1;
/// Sets that a site is told of when it registers.
const MOST_SETS: usize = 10_000;
/// Ids looked up while the lock is held.
const CHUNK: usize = 4096;
/// Names of sites that are not registered, in one answer.
const MOST_OTHERS: usize = 1000;
/// Sets that a site may name when it registers, and bytes of their names.
const MOST_BELIEVED: usize = 4000;
const MOST_SET_NAME: usize = 500;

/// A set that accepts more than this share of all ids says nothing about any of them, and is left out: its site
/// would be queried in every trace. A set made for a rate of 1 % gets there with 3.5 times as many ids; those that
/// are less full cost a query in vain now and then, and nothing is lost.
const OVERFULL: f64 = 0.5;

/// Who may know ids, by the index.
#[derive(Debug, Default)]
pub struct Named {
    /// Of each id, the sites whose sets may hold it, in order.
    pub sites: Vec<Vec<u32>>,
    /// Sites of such sets that are not registered.
    pub unregistered: BTreeSet<String>,
    /// Sites that only an over-full set has named, and the share of all ids that it accepts.
    pub overfull: BTreeMap<u32, f64>,
}

/// A site, for who is about to ask it.
#[derive(Clone)]
pub struct KnownSite {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is reached.
    pub url: String,
    /// What is shown to it.
    pub key: Option<String>,
    /// Why what it has recorded may not be in the index, if so.
    pub behind: Option<String>,
}

impl std::fmt::Debug for KnownSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the key.
        f.debug_struct("KnownSite")
            .field("name", &self.name)
            .field("url", &self.url)
            .field("behind", &self.behind)
            .finish_non_exhaustive()
    }
}

impl Coordinator {
    /// Takes a site in, or its sign of life; tells what there is of it.
    ///
    /// # Errors
    /// A name, an address, a key or a period that cannot be; too many sites; another site of this
    /// name that is in touch.
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

    /// Notes a sign of life of a site, if there is one (of this record, if that is given).
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

    /// Forgets a site; its sets stay.
    ///
    /// # Errors
    /// No such site.
    pub async fn forget_site(&self, name: &str) -> Result<(), Error> {
        let name = name.into();
        self.change(Change::Site { name, site: None }).await?;
        Ok(())
    }

    /// All sites, by name. Their keys are not told.
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

    /// All sites, by name, as they are asked.
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

    /// The version that was last given, for [`behind_since`](Self::behind_since).
    #[must_use]
    pub fn version(&self) -> u64 {
        self.shared.version.load(Relaxed)
    }

    /// Sites of which something may not be in the index now, or was not at some time since this
    /// version, and why.
    #[must_use]
    pub fn behind_since(&self, version: u64) -> Vec<(Arc<str>, String)> {
        let catalog = self.shared.read();
        let behind = catalog.sites.iter().filter_map(|(name, site)| {
            let why = site.behind(name, &catalog, version)?;
            Some((name.clone(), why))
        });
        behind.collect()
    }

    /// Of each id, the sites whose sets may hold it, by the numbers that they have in `known`.
    #[must_use]
    pub fn sites_of(&self, ids: &[Arc<str>], known: &HashMap<Arc<str>, u32>) -> Named {
        let mut found = Named::default();
        let mut named = 0;
        for id in ids {
            let (mut of_id, mut full) = (Vec::new(), Vec::new());
            // Names first, and then what they mean: the index is held for the names only.
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

/// What is kept of a registration, if it can be one.
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
        let detail = format!("the url has {} bytes; {MOST_URL} are the most", url.len());
        return Err(Error::invalid(detail));
    }
    let url = normalize(&url).map_err(|error| Error::invalid(error.to_string()))?;
    let is_key = |key: &String| {
        (1..=MOST_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if !key.as_ref().is_none_or(is_key) {
        return Err(Error::invalid(format!(
            "the key that the coordinator is to show must be 1 to {MOST_KEY} visible ASCII \
             characters"
        )));
    }
    if !(1..=MOST_PERIOD).contains(&period) {
        return Err(Error::invalid(format!(
            "period is {period}; it is a number of seconds from 1 to {MOST_PERIOD}"
        )));
    }
    let numbers = [
        ("pending", pending),
        ("position", position),
        ("store", store.unwrap_or(0)),
    ];
    for (name, number) in numbers {
        if number > MOST_NUMBER {
            let detail = format!("{name} is {number}; it may be {MOST_NUMBER} at most");
            return Err(Error::invalid(detail));
        }
    }
    Ok(SiteRecord { url, key, period })
}

/// What a site believes of its sets must be of its own.
fn check_sets(site: &str, sets: &[api::SetVersion]) -> Result<(), Error> {
    if sets.len() > MOST_BELIEVED {
        let detail = format!(
            "the site names {} of its sets; {MOST_BELIEVED} are the most",
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
            "a set that is not of this site: names of its sets begin with {prefix}, and have \
             {MOST_SET_NAME} bytes at most"
        ))),
    }
}

/// Why nobody else can be a site of this name now.
pub(super) fn taken(name: &str) -> Error {
    let detail = format!(
        "another site called {name} is in touch or was lately, with another key: two of one name would replace \
         each other's sets. Give this one another name; if the other is gone for good, wait until it \
         counts as out of touch, or have the coordinator forget it (DELETE /v1/sites/NAME)"
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
            "{name:?} cannot be the name of a site: one neither begins nor ends with a slash, and \
             has no part \"ids\" behind a slash"
        )));
    }
    Ok(())
}

pub(super) fn too_many() -> Error {
    let detail = format!(
        "there are {MOST_SITES} sites already; remove some that are gone (DELETE /v1/sites/NAME)"
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
