//! What is in memory: the index of all filters, and the properties of each set.
//!
//! ```text
//!   catalog   name -> version, tags, times, what is in the store      sorted by name
//!   sites     name -> URL, last heartbeat                             sorted by name
//!   index     name -> bits                                            queried all at once
//! ```
//!
//! Only the writer changes them, and only after the change is in the store: the bits first, so that a set never has a
//! version whose bits are missing. The catalog's lock is held only for reading a few entries; the index has its own
//! ([`SharedIndex`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use bloomgrove::index::SharedIndex;
use bloomgrove::raw::tune;
use bloomgrove::{Error, Filter, Params};
use bloomgrove_client::api;

use super::quota::Quota;
use super::sites::{Life, Registration};
use super::store::SiteRecord;

/// The properties of a set, apart from its bits.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its key in the store; does not change when it is renamed.
    pub(super) id: u64,
    pub(super) params: Arc<Params>,
    /// Number of set bits.
    pub(super) ones: u64,
    pub(super) tags: Vec<String>,
    pub(super) version: u64,
    /// The version at which its whole filter was last replaced: updates that were made for an
    /// earlier one must not be applied.
    pub(super) whole: u64,
    pub(super) created: u64,
    pub(super) changed: u64,
    pub(super) expires: Option<u64>,
    pub(super) stored: Stored,
}

/// How a set's bits are stored: a filter, and the bits that were set since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stored {
    pub(super) filter_bytes: u64,
    pub(super) deltas: u64,
    pub(super) delta_bytes: u64,
}

/// A change to memory, which is already in the store.
#[derive(Debug)]
pub(super) enum Effect {
    Add(Arc<str>, Filter, Entry),
    Replace(Arc<str>, Filter, Entry),
    SetBits(Arc<str>, Vec<u64>, Entry),
    /// New properties, possibly a new name.
    Describe(Arc<str>, Arc<str>, Entry),
    Remove(Arc<str>),
    /// A site is registered or removed.
    Site(Arc<str>, Option<SiteRecord>),
}

impl Effect {
    /// Changes the bits. It can only fail for lack of memory. Returns what is to be recorded in the catalog.
    pub(super) fn apply(self, index: &SharedIndex) -> Result<Noted, Error> {
        Ok(match self {
            Effect::Add(name, filter, entry) => {
                index.add(name.as_bytes(), filter)?;
                Noted::Set(name.clone(), name, entry)
            }
            Effect::Replace(name, filter, entry) => {
                index.replace(name.as_bytes(), filter)?;
                Noted::Set(name.clone(), name, entry)
            }
            Effect::SetBits(name, positions, entry) => {
                index.set_bits(name.as_bytes(), &positions)?;
                Noted::Set(name.clone(), name, entry)
            }
            Effect::Describe(old, new, entry) => {
                if old != new {
                    index.rename(old.as_bytes(), new.as_bytes())?;
                }
                Noted::Set(old, new, entry)
            }
            Effect::Remove(name) => {
                index.remove(name.as_bytes())?;
                Noted::Gone(name)
            }
            Effect::Site(name, site) => Noted::Site(name, site),
        })
    }
}

/// What is to be recorded in the catalog once the index has changed.
#[derive(Debug)]
pub(super) enum Noted {
    /// A set, with its old and its new name.
    Set(Arc<str>, Arc<str>, Entry),
    Gone(Arc<str>),
    Site(Arc<str>, Option<SiteRecord>),
}

#[derive(Debug)]
pub(super) struct Catalog {
    entries: BTreeMap<Arc<str>, Entry>,
    pub(super) sites: BTreeMap<Arc<str>, Registration>,
    /// Sets that expire, by time.
    expiring: BTreeSet<(u64, Arc<str>)>,
    /// Memory of all sets, by [`size_of_set`].
    bytes: u64,
    kinds: Kinds,
    /// Memory of sets below prefixes with a quota.
    tallies: Vec<Tally>,
}

/// Parameters in use, and the number of sets that use them: most sets share theirs.
#[derive(Debug, Default)]
struct Kinds(Vec<(Arc<Params>, usize)>);

impl Kinds {
    fn find(&self, params: &Params) -> Option<&Arc<Params>> {
        let known = self.0.iter().find(|(known, _)| **known == *params);
        known.map(|(known, _)| known)
    }

    fn add(&mut self, params: &Arc<Params>) {
        match self.0.iter_mut().find(|(known, _)| known == params) {
            Some((_, sets)) => *sets += 1,
            None => self.0.push((params.clone(), 1)),
        }
    }

    fn remove(&mut self, params: &Arc<Params>) {
        if let Some((_, sets)) = self.0.iter_mut().find(|(known, _)| known == params) {
            *sets -= 1;
        }
        self.0.retain(|(_, sets)| *sets > 0);
    }
}

/// A quota, and how much of it is used.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) quota: Quota,
    pub(super) sets: u64,
    pub(super) bytes: u64,
    kinds: Kinds,
}

impl Tally {
    /// The number of different parameters if these are added.
    pub(super) fn kinds_with(&self, params: &Params) -> usize {
        self.kinds.0.len() + usize::from(self.kinds.find(params).is_none())
    }
}

impl Catalog {
    pub(super) fn new(quotas: &[Quota]) -> Self {
        let tallies = quotas.iter().map(|quota| Tally {
            quota: quota.clone(),
            sets: 0,
            bytes: 0,
            kinds: Kinds::default(),
        });
        Self {
            tallies: tallies.collect(),
            entries: BTreeMap::new(),
            sites: BTreeMap::new(),
            expiring: BTreeSet::new(),
            bytes: 0,
            kinds: Kinds::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// Sets by name, from the first after `after`, or from the first with this prefix.
    pub(super) fn range<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Entry)> {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let range = self.entries.range::<str, _>((start, Bound::Unbounded));
        range.take_while(move |(name, _)| name.starts_with(prefix))
    }

    /// Sets that have expired.
    pub(super) fn due(&self, now: u64) -> Vec<Arc<str>> {
        let due = self.expiring.iter().take_while(|(at, _)| *at <= now);
        due.map(|(_, name)| name.clone()).collect()
    }

    /// Memory of all sets, by [`size_of_set`].
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of different parameters.
    pub(super) fn kinds(&self) -> usize {
        self.kinds.0.len()
    }

    /// The quotas that apply to a set with this name.
    pub(super) fn tallies(&self, name: &str) -> impl Iterator<Item = &Tally> {
        let tallies = self.tallies.iter();
        tallies.filter(move |tally| name.starts_with(&tally.quota.prefix))
    }

    /// The same parameters, shared with the sets that have them.
    pub(super) fn share(&self, params: &Params) -> Arc<Params> {
        let known = self.kinds.find(params).cloned();
        known.unwrap_or_else(|| Arc::new(params.clone()))
    }

    /// Announces that bits will go: a removed set is gone, and a replaced one has no known version until it gets its new
    /// one.
    pub(super) fn announce(&mut self, effect: &Effect) {
        match effect {
            Effect::Remove(name) => self.forget(name),
            Effect::Replace(name, _, new) => {
                if let Some(entry) = self.entries.get_mut(name) {
                    entry.whole = new.whole;
                }
            }
            _ => {}
        }
    }

    /// Records a change that the index has made.
    pub(super) fn note(&mut self, noted: Noted) {
        match noted {
            Noted::Set(old, new, entry) => {
                self.forget(&old);
                self.insert(new, entry);
            }
            Noted::Gone(name) => self.forget(&name),
            Noted::Site(name, None) => drop(self.sites.remove(&name)),
            Noted::Site(name, Some(record)) => {
                let known = self.sites.get(&name);
                let life = known.map_or_else(|| Life::new().into(), |known| known.life.clone());
                self.sites.insert(name, Registration { record, life });
            }
        }
    }

    pub(super) fn insert(&mut self, name: Arc<str>, entry: Entry) {
        if let Some(at) = entry.expires {
            self.expiring.insert((at, name.clone()));
        }
        self.kinds.add(&entry.params);
        let bytes = size_of_set(&name, &entry.params, &entry.tags);
        self.bytes += bytes;
        for tally in &mut self.tallies {
            if name.starts_with(&tally.quota.prefix) {
                tally.sets += 1;
                tally.bytes += bytes;
                tally.kinds.add(&entry.params);
            }
        }
        self.entries.insert(name, entry);
    }

    fn forget(&mut self, name: &Arc<str>) {
        let Some(entry) = self.entries.remove(name) else {
            return;
        };
        let bytes = size_of_set(name, &entry.params, &entry.tags);
        self.bytes -= bytes;
        for tally in &mut self.tallies {
            if name.starts_with(&tally.quota.prefix) {
                tally.sets -= 1;
                tally.bytes -= bytes;
                tally.kinds.remove(&entry.params);
            }
        }
        if let Some(at) = entry.expires {
            self.expiring.remove(&(at, name.clone()));
        }
        self.kinds.remove(&entry.params);
    }
}

impl Entry {
    /// The description of a set.
    pub(super) fn describe(&self, name: &str) -> api::Set {
        let (entry, ones) = (self, self.ones);
        let params = &entry.params;
        let fill = params.fill(ones);
        let items = bloomgrove::raw::math::items_for_fill(params.bits(), params.hashes(), fill);
        api::Set {
            name: name.to_owned(),
            tags: entry.tags.clone(),
            version: entry.version,
            params: spell(params),
            ones,
            fill,
            items: finite(items),
            expected_fpr: tune::fpr_of_ones(params, ones),
            bytes: params.words() as u64 * 8,
            created: entry.created,
            changed: entry.changed,
            expires: entry.expires,
        }
    }
}

/// The memory that a set is charged for: its bits, its texts, and its entry. The layout of all sets takes somewhat more or
/// less, and does not change with every set.
pub(super) fn size_of_set(name: &str, params: &Params, tags: &[String]) -> u64 {
    const AROUND: usize = 400;
    let texts = name.len() + tags.iter().map(|tag| tag.len() + 24).sum::<usize>();
    params.words() as u64 * 8 + (texts + AROUND) as u64
}

/// Parameters for JSON. The keys of keyed hashes are omitted.
pub(super) fn spell(params: &Params) -> api::Params {
    api::Params {
        bits: params.bits(),
        hashes: params.hashes(),
        layout: Some(params.layout().to_string()),
        family: Some(params.family().to_string()),
        derivation: Some(params.derivation().to_string()),
        seed: Some(params.seed()),
    }
}

/// JSON has no infinity.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
