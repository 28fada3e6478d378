//! The filters of a site: one for each window that is kept, and what the coordinator has of each.
//!
//! ```text
//!   ids --insert--> current        what was recorded
//!                   sent           what is on its way; its answer may be lost
//!                   acknowledged   what the coordinator has, and its version there
//! ```
//!
//! The three share their bits until one changes. A filter is made for so many ids; when more come
//! it is made anew for twice as many, from the log, and sent whole. Sizes come in steps, so that the
//! filters of many sites have few different ones.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use anyhow::Result;
use bloomgrove::{Filter, codec, tune};
use bloomgrove_client::api::PublishedSet;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::plan::{Plan, Regrown};
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
    pub(crate) seal: u64,
}

/// The bits of a set at one time.
#[derive(Clone, Debug)]
struct State {
    filter: Arc<Filter>,
    position: u64,
    ids: u64,
}

#[derive(Debug)]
struct Set {
    name: String,
    /// Ids that it is made for.
    items: u64,
    /// Of all ids, hashed: to count them.
    seen: HashSet<u64>,
    current: Arc<Filter>,
    /// Sent as a delta on what is acknowledged, and not answered.
    sent: Option<State>,
    acknowledged: Option<(State, u64)>,
    /// What the log says of it, until as much of the log is read.
    note: Option<Note>,
}

impl Set {
    /// Its filter, to be changed; who shares its bits keeps them.
    fn change(&mut self) -> Result<&mut Filter> {
        if Arc::get_mut(&mut self.current).is_none() {
            self.current = Arc::new(Filter::to_owned(&self.current)?);
        }
        Arc::get_mut(&mut self.current)
            .ok_or_else(|| anyhow::anyhow!("a filter that was just made is shared"))
    }

    fn insert(&mut self, plan: &Plan, id: &str) -> Result<()> {
        self.seen.insert(xxh3_64(id.as_bytes()));
        let key = plan.key(id);
        if !self.current.contains(&key) {
            self.change()?.insert(&key);
        }
        Ok(())
    }

    fn pending(&self) -> u64 {
        let told = self.acknowledged.as_ref().map_or(0, |(state, _)| state.ids);
        (self.seen.len() as u64).saturating_sub(told)
    }

    /// What the log says of it is what is in it now.
    fn recall(&mut self, position: u64) {
        if let Some(note) = self.note.take_if(|note| note.position <= position) {
            let state = State {
                filter: self.current.clone(),
                position: note.position,
                ids: note.ids,
            };
            self.acknowledged = Some((state, note.version));
        }
    }
}

/// Something to send.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) set: String,
    /// Of a delta: the version that it builds on, and its bits. A whole filter builds on nothing.
    base: Option<(u64, Arc<Filter>)>,
    /// Seconds until the set goes.
    pub(crate) expires_in: Option<u64>,
    begin: u64,
    items: u64,
    state: State,
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

/// All filters of a site.
#[derive(Debug)]
pub(crate) struct Sets {
    plan: Plan,
    sets: BTreeMap<u64, Set>,
    /// Entries of the log before this one are in.
    position: u64,
    /// With windows: all ids, hashed.
    known: HashSet<u64>,
    notes: BTreeMap<String, Note>,
}

impl Sets {
    /// None yet. `notes` are what the log says of sets.
    pub(crate) fn new(plan: Plan, mut notes: BTreeMap<String, Note>) -> Self {
        // Made with another seal or for another rate, it says nothing of the filters here.
        notes.retain(|_, note| {
            let params = plan.params(note.items);
            note.seal == plan.seal_mark()
                && params.is_ok_and(|params| {
                    (params.bits(), params.hashes()) == (note.bits, note.hashes)
                })
        });
        Self {
            plan,
            sets: BTreeMap::new(),
            position: 0,
            known: HashSet::new(),
            notes,
        }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// How many ids there are in all.
    pub(crate) fn ids(&self) -> u64 {
        let all = match self.plan.window {
            Some(_) => self.known.len(),
            None => self.sets.get(&0).map_or(0, |set| set.seen.len()),
        };
        all as u64
    }

    /// Whether an id is in the window of this second.
    pub(crate) fn has(&self, second: u64, id: &str) -> bool {
        let set = self.sets.get(&self.plan.begin(second));
        set.is_some_and(|set| set.seen.contains(&xxh3_64(id.as_bytes())))
    }

    /// Takes in the ids of an entry of the log, which was written at `second`.
    ///
    /// # Errors
    /// Not enough memory.
    pub(crate) fn insert<T: AsRef<str>>(
        &mut self,
        entry: u64,
        second: u64,
        now: u64,
        ids: impl IntoIterator<Item = T>,
    ) -> Result<()> {
        let begin = self.plan.begin(second);
        let live = self.plan.is_live(begin, now);
        for id in ids {
            let id = id.as_ref();
            if self.plan.window.is_some() {
                self.known.insert(xxh3_64(id.as_bytes()));
            }
            if !live {
                continue;
            }
            if !self.sets.contains_key(&begin) {
                let set = self.make(begin)?;
                self.sets.insert(begin, set);
            }
            if let Some(set) = self.sets.get_mut(&begin) {
                set.recall(entry);
                set.insert(&self.plan, id)?;
            }
        }
        self.position = entry + 1;
        Ok(())
    }

    fn make(&mut self, begin: u64) -> Result<Set> {
        let name = set_name(&self.plan.site, self.plan.window.as_ref(), begin);
        let note = self.notes.remove(&name);
        let least = tune::step(self.plan.expect);
        let items = note.as_ref().map_or(least, |note| note.items.max(least));
        Ok(Set {
            name,
            items,
            seen: HashSet::new(),
            current: Arc::new(self.plan.filter(items)?),
            sent: None,
            acknowledged: None,
            note: note.filter(|note| note.items == items),
        })
    }

    /// The whole log was read.
    pub(crate) fn replayed(&mut self) {
        let position = self.position;
        for set in self.sets.values_mut() {
            set.recall(position);
            // Of another log than this one.
            set.note = None;
        }
    }

    /// Sets with more ids than they are made for: the windows, and for how many ids to make them.
    pub(crate) fn overfull(&self) -> BTreeMap<u64, u64> {
        let overfull = |(begin, set): (&u64, &Set)| {
            let ids = set.seen.len() as u64;
            let mut items = set.items;
            while items < ids {
                items = items.saturating_mul(2);
            }
            (items > set.items).then_some((*begin, items))
        };
        self.sets.iter().filter_map(overfull).collect()
    }

    /// Takes filters that were made anew for more ids; each must hold all that is recorded.
    pub(crate) fn grown(&mut self, grown: Regrown) {
        for (begin, (items, filter)) in grown.filters {
            if let Some(set) = self.sets.get_mut(&begin) {
                set.items = items;
                set.current = Arc::new(filter);
                (set.sent, set.acknowledged) = (None, None);
            }
        }
    }

    /// Forgets windows whose time is over; gives the names of their sets.
    pub(crate) fn expire(&mut self, now: u64) -> Vec<String> {
        let mut gone = Vec::new();
        let plan = &self.plan;
        self.sets.retain(|begin, set| {
            let live = plan.is_live(*begin, now);
            if !live {
                gone.push(set.name.clone());
            }
            live
        });
        // Of sets that nobody has asked for since the start.
        gone.extend(std::mem::take(&mut self.notes).into_keys());
        gone
    }

    /// What the coordinator has said of a set, by its name.
    pub(crate) fn version(&self, set: &str) -> Option<u64> {
        let set = self.sets.values().find(|own| own.name == set)?;
        set.acknowledged.as_ref().map(|(_, version)| *version)
    }

    /// Names of all sets, the latest first: traces ask for what is new.
    pub(crate) fn names(&self) -> Vec<String> {
        let sets = self.sets.values().rev();
        sets.map(|set| set.name.clone()).collect()
    }

    /// Sets whose last delta was not answered: their versions are not known.
    pub(crate) fn is_unanswered(&self, set: &str) -> bool {
        let mut sets = self.sets.values();
        sets.any(|own| own.name == set && own.sent.is_some())
    }

    /// Ids that the coordinator does not have yet.
    pub(crate) fn pending(&self) -> u64 {
        self.sets.values().map(Set::pending).sum()
    }

    /// The next thing to send of a set, if there is something.
    pub(crate) fn next(&mut self, set: &str, now: u64) -> Option<Message> {
        let (&begin, set) = self.sets.iter_mut().find(|(_, own)| own.name == set)?;
        let current = State {
            filter: set.current.clone(),
            position: self.position,
            ids: set.seen.len() as u64,
        };
        let (base, state) = match &set.acknowledged {
            Some((old, version)) => {
                // What was not answered is sent again as it was: if it had come, nothing happens.
                let new = set.sent.clone().unwrap_or(current);
                if Arc::ptr_eq(&old.filter, &new.filter) || old.filter == new.filter {
                    // All ids look as if they were there.
                    let version = *version;
                    set.acknowledged = Some((new, version));
                    set.sent = None;
                    return None;
                }
                (Some((*version, old.filter.clone())), new)
            }
            None => (None, current),
        };
        if base.is_some() {
            set.sent = Some(state.clone());
        }
        Some(Message {
            set: set.name.clone(),
            base,
            expires_in: self
                .plan
                .end(begin)
                .map(|end| end.saturating_sub(now).max(1)),
            begin,
            items: set.items,
            state,
        })
    }

    /// The filter of a set that there is.
    #[cfg(test)]
    pub(crate) fn filter(&self, set: &str) -> Arc<Filter> {
        let set = self.sets.values().find(|own| own.name == set);
        set.map(|set| set.current.clone()).unwrap()
    }

    /// The coordinator has taken a message; gives what to note of it.
    pub(crate) fn acknowledge(&mut self, message: &Message, version: u64) -> Option<Note> {
        let set = self.sets.get_mut(&message.begin)?;
        // Made anew for more ids meanwhile: it goes out whole next.
        if set.items != message.items {
            return None;
        }
        set.sent = None;
        set.acknowledged = Some((message.state.clone(), version));
        Some(Note {
            version,
            position: message.state.position,
            ids: message.state.ids,
            items: set.items,
            bits: message.state.filter.params().bits(),
            hashes: message.state.filter.params().hashes(),
            seal: self.plan.seal_mark(),
        })
    }

    /// The coordinator has something else than was thought: the set goes out whole next.
    pub(crate) fn forget(&mut self, set: &str) {
        if let Some(set) = self.sets.values_mut().find(|own| own.name == set) {
            (set.sent, set.acknowledged) = (None, None);
        }
    }

    /// For the status.
    pub(crate) fn published(&self) -> Vec<PublishedSet> {
        let about = |set: &Set| PublishedSet {
            name: set.name.clone(),
            ids: set.seen.len() as u64,
            bits: set.current.params().bits(),
            pending: set.pending(),
            version: set.acknowledged.as_ref().map(|(_, version)| *version),
        };
        self.sets.values().map(about).collect()
    }
}
