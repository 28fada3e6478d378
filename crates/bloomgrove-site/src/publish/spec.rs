//! What filters are made by, and filters made anew from the log.

use std::collections::BTreeMap;

use anyhow::Result;
use bloomgrove::{Filter, Params, tune};
use bloomgrove_client::IdCipher;
use xxhash_rust::xxh3::xxh3_64;

use super::set::Set;
use super::window::Window;

/// What filters are made by.
#[derive(Clone, Debug)]
pub(crate) struct FilterSpec {
    /// The site.
    pub(crate) site: String,
    pub(crate) window: Option<Window>,
    /// Ids to expect in a window.
    pub(crate) expect: u64,
    pub(crate) fpr: f64,
    pub(crate) cipher: Option<IdCipher>,
}

impl FilterSpec {
    /// The window of a second: its beginning.
    pub(crate) fn begin(&self, second: u64) -> u64 {
        self.window
            .as_ref()
            .map_or(0, |window| window.begin(second))
    }

    /// Seconds of a window; 0 without windows.
    pub(super) fn length(&self) -> u64 {
        self.window.map_or(0, |window| window.length.as_secs())
    }

    /// Seconds that a window is kept for; 0 without windows.
    pub(super) fn keep(&self) -> u64 {
        self.window.map_or(0, |window| window.keep.as_secs())
    }

    /// When the set of a window goes, if it does.
    pub(super) fn end(&self, begin: u64) -> Option<u64> {
        self.window.as_ref().map(|window| window.end(begin))
    }

    /// For how many seconds the coordinator is to keep the set of a window. Of one that is yet to come, by
    /// a clock that was ahead, not longer than any other.
    pub(super) fn expires_in(&self, begin: u64, now: u64) -> Option<u64> {
        let left = self.end(begin)?.saturating_sub(now);
        Some(left.clamp(1, self.length() + self.keep()))
    }

    pub(super) fn is_live(&self, begin: u64, now: u64) -> bool {
        self.end(begin).is_none_or(|end| end > now)
    }

    pub(super) fn params(&self, items: u64) -> Result<Params> {
        Ok(tune::standard(items, self.fpr)?.params()?)
    }

    /// An empty filter for so many ids.
    pub(super) fn filter(&self, items: u64) -> Result<Filter> {
        Ok(Filter::new(self.params(items)?)?)
    }

    /// An id as the coordinator gets to know it.
    pub(super) fn key(&self, id: &str) -> String {
        match &self.cipher {
            Some(cipher) => cipher.encrypt(id),
            None => id.to_owned(),
        }
    }

    /// Tells seals apart without telling them.
    pub(super) fn key_check(&self) -> u64 {
        let mark = |cipher: &IdCipher| xxh3_64(cipher.encrypt("").as_bytes());
        self.cipher.as_ref().map_or(0, mark)
    }
}

/// Filters that are made anew for more ids, from the log.
#[derive(Debug)]
pub(crate) struct Regrown {
    spec: FilterSpec,
    pub(super) filters: BTreeMap<u64, (u64, Filter)>,
}

impl Regrown {
    /// Empty ones, for so many ids in each of these windows.
    ///
    /// # Errors
    /// Not enough memory.
    pub(crate) fn new(spec: &FilterSpec, windows: BTreeMap<u64, u64>) -> Result<Self> {
        let filter = |(begin, items)| Ok((begin, (items, spec.filter(items)?)));
        Ok(Self {
            spec: spec.clone(),
            filters: windows.into_iter().map(filter).collect::<Result<_>>()?,
        })
    }

    /// Whether the entries of this second are wanted.
    pub(crate) fn wants(&self, second: u64) -> bool {
        self.filters.contains_key(&self.spec.begin(second))
    }

    /// Takes in an id of an entry.
    pub(crate) fn insert(&mut self, second: u64, id: &str) {
        let key = self.spec.key(id);
        if let Some((_, filter)) = self.filters.get_mut(&self.spec.begin(second)) {
            filter.insert(&key);
        }
    }
}

/// Sets of windows that were over and are kept again, from the log.
#[derive(Debug)]
pub(crate) struct Revived {
    spec: FilterSpec,
    pub(super) sets: BTreeMap<u64, Set>,
}

impl Revived {
    /// Empty ones of these windows.
    ///
    /// # Errors
    /// Not enough memory.
    pub(crate) fn new(spec: &FilterSpec, windows: Vec<u64>) -> Result<Self> {
        let set = |begin| Ok((begin, Set::new(spec, begin, None)?));
        Ok(Self {
            spec: spec.clone(),
            sets: windows.into_iter().map(set).collect::<Result<_>>()?,
        })
    }

    /// Whether the entries of this second are wanted.
    pub(crate) fn wants(&self, second: u64) -> bool {
        self.sets.contains_key(&self.spec.begin(second))
    }

    /// Takes in an id of an entry.
    ///
    /// # Errors
    /// Not enough memory.
    pub(crate) fn insert(&mut self, second: u64, id: &str) -> Result<()> {
        match self.sets.get_mut(&self.spec.begin(second)) {
            Some(set) => set.insert(&self.spec, id),
            None => Ok(()),
        }
    }
}
