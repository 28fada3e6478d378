//! One filter of a site: what is recorded, what is on its way, and what the coordinator has.
//!
//! ```text
//!   ids --insert--> current        what was recorded
//!                   sent           what is on its way; its answer may be lost
//!                   acknowledged   what the coordinator has, and its version there
//! ```
//!
//! The three share their bits until one changes.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::Result;
use bloomgrove::{Filter, codec, tune};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::spec::FilterSpec;
use super::window::set_name;

/// What the coordinator has acknowledged of a set, as the log keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The version that the coordinator gave it.
    pub(crate) version: u64,
    /// Entries of the log before this one are in it.
    pub(crate) position: u64,
    /// Ids in it.
    pub(crate) ids: u64,
    /// Ids that the filter was made for, its bits and hashes.
    pub(crate) items: u64,
    pub(crate) bits: u64,
    pub(crate) hashes: u32,
    /// Of the seal; 0 without one.
    pub(crate) cipher: u64,
    /// Seconds of its window, and those that it is kept for; 0 without windows.
    #[serde(default)]
    pub(crate) length: u64,
    #[serde(default)]
    pub(crate) keep: u64,
    /// The store of the coordinator, if it has told.
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
    /// The store whose version it is.
    pub(super) store: Option<u64>,
}

/// One filter, and what the coordinator has of it.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) name: String,
    /// Ids that it is made for.
    pub(super) items: u64,
    /// Of all ids, hashed: to count them.
    pub(super) seen: HashSet<u64>,
    pub(super) current: Arc<Filter>,
    /// Sent as a delta on what is acknowledged, and not answered.
    pub(super) sent: Option<State>,
    /// Kept until something else is acknowledged, whatever is to be sent next: the coordinator is told
    /// of it at every sign of life, and so notices when it is gone.
    pub(super) acknowledged: Option<Acknowledged>,
    /// Next it is sent whole: it was made anew for more ids, or the coordinator has other bits.
    pub(super) whole: bool,
    /// What the log says of it, until as much of the log is read.
    pub(super) note: Option<Note>,
}

impl Set {
    /// One without ids. What the log says of it counts if it is made for as many.
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

    /// Its filter, to be changed; who shares its bits keeps them.
    fn change(&mut self) -> Result<&mut Filter> {
        if Arc::get_mut(&mut self.current).is_none() {
            self.current = Arc::new(Filter::to_owned(&self.current)?);
        }
        Arc::get_mut(&mut self.current)
            .ok_or_else(|| anyhow::anyhow!("a filter that was just made is shared"))
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

    /// What the log says of it is what is in it now.
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

/// Something to send.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) set: String,
    /// Of a delta: the version that it builds on, and its bits. A whole filter builds on nothing.
    pub(super) base: Option<(u64, Arc<Filter>)>,
    /// Seconds until the set goes.
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

    /// As it is sent.
    ///
    /// # Errors
    /// Not enough memory.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match &self.base {
            Some((_, old)) => codec::delta(old, &self.state.filter, &mut bytes)?,
            None => codec::compress(&*self.state.filter, &mut bytes)?,
        };
        Ok(bytes)
    }
}
