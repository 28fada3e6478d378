//! One filter of a site: what is recorded, what is being sent, and what the coordinator has.
//!
//! ```text
//!   ids --insert--> current        what was recorded
//!                   sent           what is being sent; the response may be lost
//!                   acknowledged   what the coordinator has, and its version there
//! ```
//!
//! The three share their bits until one changes.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::Result;
use bloomgrove::{Filter, codec, raw::tune};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::spec::FilterSpec;
use super::window::set_name;

/// What the coordinator has acknowledged of a set, as recorded in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The version that the coordinator assigned to it.
    pub(crate) version: u64,
    /// It includes the entries of the log before this one.
    pub(crate) position: u64,
    /// Number of ids.
    pub(crate) ids: u64,
    /// Number of ids that the filter was sized for, its bits and hashes.
    pub(crate) items: u64,
    pub(crate) bits: u64,
    pub(crate) hashes: u32,
    /// Key check value of the cipher; 0 without one.
    pub(crate) key_check: u64,
    /// Length of its window in seconds, and how long it is kept; 0 without windows.
    #[serde(default)]
    pub(crate) length: u64,
    #[serde(default)]
    pub(crate) keep: u64,
    /// The store of the coordinator, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<u64>,
}

/// The bits of a set at one time.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) filter: Arc<Filter>,
    pub(super) position: u64,
    pub(super) ids: u64,
}

/// What the coordinator has.
#[derive(Clone, Debug)]
pub(super) struct Acknowledged {
    pub(super) state: State,
    pub(super) version: u64,
    /// The store that the version belongs to.
    pub(super) store: Option<u64>,
}

/// One filter, and what the coordinator has of it.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) name: String,
    /// Number of ids that it is sized for.
    pub(super) items: u64,
    /// Hashes of all ids, to count them.
    pub(super) seen: HashSet<u64>,
    pub(super) current: Arc<Filter>,
    /// Sent as a delta to what is acknowledged, and not answered yet.
    pub(super) sent: Option<State>,
    /// Kept until something else is acknowledged, whatever is sent next: every heartbeat reports it to the
    /// coordinator, which therefore notices if it is gone.
    pub(super) acknowledged: Option<Acknowledged>,
    /// It is sent whole next: it was rebuilt for more ids, or the coordinator has other bits.
    pub(super) whole: bool,
    /// The log's note on it, until that much of the log has been read.
    pub(super) note: Option<Note>,
}

impl Set {
    /// An empty set. A note of the log applies if it was sized for as many ids.
    pub(super) fn new(spec: &FilterSpec, begin: u64, note: Option<Note>) -> Result<Self> {
        let least = tune::step(spec.expect);
        let items = note.as_ref().map_or(least, |note| note.items.max(least));
        Ok(Self {
            name: set_name(&spec.site, spec.window.as_ref(), begin),
            items,
            seen: HashSet::new(),
            current: Arc::new(spec.filter(items)?),
            sent: None,
            acknowledged: None,
            whole: false,
            note: note.filter(|note| note.items == items),
        })
    }

    /// Its filter for changing; others that share its bits keep them.
    fn change(&mut self) -> Result<&mut Filter> {
        if Arc::get_mut(&mut self.current).is_none() {
            self.current = Arc::new(Filter::to_owned(&self.current)?);
        }
        Arc::get_mut(&mut self.current)
            .ok_or_else(|| anyhow::anyhow!("internal error: a new filter is already shared"))
    }

    pub(super) fn insert(&mut self, spec: &FilterSpec, id: &str) -> Result<()> {
        self.seen.insert(xxh3_64(id.as_bytes()));
        let key = spec.key(id);
        if !self.current.contains(&key) {
            self.change()?.insert(&key);
        }
        Ok(())
    }

    /// Ids that the coordinator does not have yet.
    pub(super) fn pending(&self) -> u64 {
        (self.seen.len() as u64).saturating_sub(self.told())
    }

    /// Ids that the coordinator has.
    pub(super) fn told(&self) -> u64 {
        self.acknowledged.as_ref().map_or(0, |own| own.state.ids)
    }

    /// The log's note describes what is in it now.
    pub(super) fn recall(&mut self, position: u64) {
        if let Some(note) = self.note.take_if(|note| note.position <= position) {
            let state = State {
                filter: self.current.clone(),
                position: note.position,
                ids: note.ids,
            };
            self.acknowledged = Some(Acknowledged {
                state,
                version: note.version,
                store: note.store,
            });
        }
    }
}

/// A message to send.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) set: String,
    /// For a delta: the version that it builds on, and its bits. None for a whole filter.
    pub(super) base: Option<(u64, Arc<Filter>)>,
    /// Seconds until the set expires.
    pub(crate) expires_in: Option<u64>,
    pub(super) begin: u64,
    pub(super) items: u64,
    pub(super) state: State,
}

impl Message {
    /// The version that it builds on, if it is a delta.
    pub(crate) fn base(&self) -> Option<u64> {
        self.base.as_ref().map(|(version, _)| *version)
    }

    /// The encoded message.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match &self.base {
            Some((_, old)) => codec::delta(old, &self.state.filter, &mut bytes)?,
            None => codec::compress(&*self.state.filter, &mut bytes)?,
        };
        Ok(bytes)
    }
}
