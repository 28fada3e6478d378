//! How filters are built, and filters rebuilt from the log.

use std::collections::BTreeMap;

use anyhow::Result;
use bloomgrove::{Filter, Params, raw::tune};
use bloomgrove_client::IdCipher;
use xxhash_rust::xxh3::xxh3_64;

use super::set::Set;
use super::window::Window;

/// How filters are built.
#[derive(Clone, Debug)]
pub(crate) struct FilterSpec {
    /// The name of the site.
    pub(crate) site: String,
    pub(crate) window: Option<Window>,
    /// Expected number of ids per window.
    pub(crate) expect: u64,
    pub(crate) fpr: f64,
    pub(crate) cipher: Option<IdCipher>,
}

impl FilterSpec {
    /// The start of the window that a second belongs to.
    pub(crate) fn begin(&self, second: u64) -> u64 {
        self.window
            .as_ref()
            .map_or(0, |window| window.begin(second))
    }

    /// Length of a window in seconds; 0 without windows.
    pub(super) fn length(&self) -> u64 {
        self.window.map_or(0, |window| window.length.as_secs())
    }

    /// How long a window is kept, in seconds; 0 without windows.
    pub(super) fn keep(&self) -> u64 {
        self.window.map_or(0, |window| window.keep.as_secs())
    }

    /// When the set of a window expires, if it does.
    pub(super) fn end(&self, begin: u64) -> Option<u64> {
        self.window.as_ref().map(|window| window.end(begin))
    }

    /// For how many seconds the coordinator keeps the set of a window. If the window is in the future, because the clock was
    /// ahead, not longer than any other.
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

    /// An empty filter for this many ids.
    pub(super) fn filter(&self, items: u64) -> Result<Filter> {
        Ok(Filter::new(self.params(items)?)?)
    }

    /// An id in the form that the coordinator gets.
    pub(super) fn key(&self, id: &str) -> String {
        match &self.cipher {
            Some(cipher) => cipher.encrypt(id),
            None => id.to_owned(),
        }
    }

    /// Identifies the cipher without revealing its secret.
    pub(super) fn key_check(&self) -> u64 {
        let check = |cipher: &IdCipher| xxh3_64(cipher.encrypt("").as_bytes());
        self.cipher.as_ref().map_or(0, check)
    }
}

/// Filters rebuilt from the log for more ids.
#[derive(Debug)]
pub(crate) struct Regrown {
    spec: FilterSpec,
    pub(super) filters: BTreeMap<u64, (u64, Filter)>,
}

impl Regrown {
    /// Empty filters for this many ids in each of these windows.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn new(spec: &FilterSpec, windows: BTreeMap<u64, u64>) -> Result<Self> {
        let filter = |(begin, items)| Ok((begin, (items, spec.filter(items)?)));
        Ok(Self {
            spec: spec.clone(),
            filters: windows.into_iter().map(filter).collect::<Result<_>>()?,
        })
    }

    /// Whether entries of this second are needed.
    pub(crate) fn wants(&self, second: u64) -> bool {
        self.filters.contains_key(&self.spec.begin(second))
    }

    /// Inserts an id of an entry.
    pub(crate) fn insert(&mut self, second: u64, id: &str) {
        let key = self.spec.key(id);
        if let Some((_, filter)) = self.filters.get_mut(&self.spec.begin(second)) {
            filter.insert(&key);
        }
    }
}

/// Sets of windows that had expired and are kept again, rebuilt from the log.
#[derive(Debug)]
pub(crate) struct Revived {
    spec: FilterSpec,
    pub(super) sets: BTreeMap<u64, Set>,
}

impl Revived {
    /// Empty sets for these windows.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn new(spec: &FilterSpec, windows: Vec<u64>) -> Result<Self> {
        let set = |begin| Ok((begin, Set::new(spec, begin, None)?));
        Ok(Self {
            spec: spec.clone(),
            sets: windows.into_iter().map(set).collect::<Result<_>>()?,
        })
    }

    /// Whether entries of this second are needed.
    pub(crate) fn wants(&self, second: u64) -> bool {
        self.sets.contains_key(&self.spec.begin(second))
    }

    /// Inserts an id of an entry.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn insert(&mut self, second: u64, id: &str) -> Result<()> {
        match self.sets.get_mut(&self.spec.begin(second)) {
            Some(set) => set.insert(&self.spec, id),
            None => Ok(()),
        }
    }
}
