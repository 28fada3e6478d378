//! What is in memory: the index of all filters, and what is known of each set besides its bits.
//!
//! ```text
//!   catalog   name -> version, tags, times, what the store holds      sorted by name
//!   sites     name -> where it is, when it was heard of               sorted by name
//!   index     name -> bits                                            asked all at once
//! ```
//!
//! Only the writer changes it, and only after the store has the change.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use bloomgrove::index::Index;
use bloomgrove::tune;
use bloomgrove::{Error, Filter, Params};
use bloomgrove_client::api;

use super::sites::{Life, Registration};
use super::store::SiteRecord;

/// What is known of a set besides its bits.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// By which the store knows it; stays when it is renamed.
    pub(super) id: u64,
    pub(super) params: Arc<Params>,
    pub(super) tags: Vec<String>,
    pub(super) version: u64,
    /// The version at which its filter last came as a whole: updates that were made for an
    /// earlier one must not be mixed in.
    pub(super) whole: u64,
    pub(super) created: u64,
    pub(super) changed: u64,
    pub(super) expires: Option<u64>,
    pub(super) stored: Stored,
}

/// How a set's bits lie in the store: a filter, and the bits that were set since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stored {
    pub(super) filter_bytes: u64,
    pub(super) deltas: u64,
    pub(super) delta_bytes: u64,
}

/// A change to what is in memory, which the store has already.
#[derive(Debug)]
pub(super) enum Effect {
    Add(Arc<str>, Filter, Entry),
    Replace(Arc<str>, Filter, Entry),
    SetBits(Arc<str>, Vec<u64>, Entry),
    /// Another name, or the same.
    Describe(Arc<str>, Arc<str>, Entry),
    Remove(Arc<str>),
    /// A site is as told, or forgotten.
    Site(Arc<str>, Option<SiteRecord>),
}

#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) index: Index,
    entries: BTreeMap<Arc<str>, Entry>,
    pub(super) sites: BTreeMap<Arc<str>, Registration>,
    /// By time, those that will go by themselves.
    expiring: BTreeSet<(u64, Arc<str>)>,
    /// What all sets take, by [`size_of_set`].
    bytes: u64,
    /// Parameters in use, and by how many sets: most share theirs.
    params: Vec<(Arc<Params>, usize)>,
}

impl Catalog {
    pub(super) fn new() -> Self {
        Self {
            index: Index::mixed(),
            entries: BTreeMap::new(),
            sites: BTreeMap::new(),
            expiring: BTreeSet::new(),
            bytes: 0,
            params: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// Sets by name, from the first behind `after`, or from the first of this prefix.
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

    /// Sets whose time has come.
    pub(super) fn due(&self, now: u64) -> Vec<Arc<str>> {
        let due = self.expiring.iter().take_while(|(at, _)| *at <= now);
        due.map(|(_, name)| name.clone()).collect()
    }

    /// What all sets take, by [`size_of_set`].
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many different parameters there are.
    pub(super) fn kinds(&self) -> usize {
        self.params.len()
    }

    /// The same parameters, shared with the sets that have them.
    pub(super) fn share(&self, params: &Params) -> Arc<Params> {
        let known = self.params.iter().find(|(known, _)| **known == *params);
        known.map_or_else(|| Arc::new(params.clone()), |(known, _)| known.clone())
    }

    /// Makes a change. It cannot fail for want of anything but memory.
    pub(super) fn apply(&mut self, effect: Effect) -> Result<(), Error> {
        match effect {
            Effect::Add(name, filter, entry) => {
                self.index.add(name.as_bytes(), &filter)?;
                self.insert(name, entry);
            }
            Effect::Replace(name, filter, entry) => {
                self.index.replace(name.as_bytes(), &filter)?;
                self.forget(&name);
                self.insert(name, entry);
            }
            Effect::SetBits(name, positions, entry) => {
                self.index.set_bits(name.as_bytes(), &positions)?;
                self.entries.insert(name, entry);
            }
            Effect::Describe(old, new, entry) => {
                if old != new {
                    self.index.rename(old.as_bytes(), new.as_bytes())?;
                }
                self.forget(&old);
                self.insert(new, entry);
            }
            Effect::Site(name, None) => drop(self.sites.remove(&name)),
            Effect::Site(name, Some(record)) => {
                let known = self.sites.get(&name);
                let life = known.map_or_else(|| Life::new().into(), |known| known.life.clone());
                self.sites.insert(name, Registration { record, life });
            }
            Effect::Remove(name) => {
                self.index.remove(name.as_bytes())?;
                self.forget(&name);
            }
        }
        Ok(())
    }

    fn insert(&mut self, name: Arc<str>, entry: Entry) {
        if let Some(at) = entry.expires {
            self.expiring.insert((at, name.clone()));
        }
        match self
            .params
            .iter_mut()
            .find(|(known, _)| *known == entry.params)
        {
            Some((_, sets)) => *sets += 1,
            None => self.params.push((entry.params.clone(), 1)),
        }
        self.bytes += size_of_set(&name, &entry.params, &entry.tags);
        self.entries.insert(name, entry);
    }

    fn forget(&mut self, name: &Arc<str>) {
        let Some(entry) = self.entries.remove(name) else {
            return;
        };
        self.bytes -= size_of_set(name, &entry.params, &entry.tags);
        if let Some(at) = entry.expires {
            self.expiring.remove(&(at, name.clone()));
        }
        if let Some((_, sets)) = self
            .params
            .iter_mut()
            .find(|(known, _)| *known == entry.params)
        {
            *sets -= 1;
        }
        self.params.retain(|(_, sets)| *sets > 0);
    }

    /// A set as it is shown.
    pub(super) fn describe(&self, name: &str, entry: &Entry) -> api::Set {
        let ones = self.index.get(name).map_or(0, |set| set.ones());
        let params = &entry.params;
        let fill = ones as f64 / params.bits() as f64;
        let items = tune::math::items_for_fill(params.bits(), params.hashes(), fill);
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

/// The bytes that a set is charged with: its bits, its texts, and what is kept of it. How the bits of
/// all sets lie takes somewhat more or less, and does not change with every set.
pub(super) fn size_of_set(name: &str, params: &Params, tags: &[String]) -> u64 {
    const AROUND: usize = 400;
    let texts = name.len() + tags.iter().map(|tag| tag.len() + 24).sum::<usize>();
    params.words() as u64 * 8 + (texts + AROUND) as u64
}

/// Parameters as they are written in JSON. Keys of keyed hashes are left out.
pub(super) fn spell(params: &Params) -> api::Params {
    api::Params {
        bits: params.bits(),
        hashes: params.hashes(),
        layout: Some(params.layout().name().into()),
        family: Some(params.family().name().into()),
        derivation: Some(params.derivation().name().into()),
        seed: Some(params.seed()),
    }
}

/// JSON knows no infinity.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
