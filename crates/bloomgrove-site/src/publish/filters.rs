//! The filters of a site: one for each window of the log that is kept.
//!
//! A filter is made for so many ids; when more come it is made anew for twice as many, from the
//! log, and sent whole. Sizes come in steps, so that the filters of many sites have few different
//! ones.
//!
//! A clock may jump ahead and come back. Windows that were over meanwhile are then kept again, and
//! are made from the log ([`Sets::lost`], [`Revived`]): a set with only what was recorded since
//! would take the place of the whole one at the coordinator.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use anyhow::Result;
#[cfg(test)]
use bloomgrove::Filter;
use bloomgrove_client::api::PublishedSet;
use xxhash_rust::xxh3::xxh3_64;

use super::plan::{Plan, Regrown};
use super::set::{Message, Note, Set, State};
use super::window::set_name;

/// All filters of a site.
#[derive(Debug)]
pub(crate) struct Sets {
    plan: Plan,
    sets: BTreeMap<u64, Set>,
    /// Windows with ids in the log, kept or not.
    windows: BTreeSet<u64>,
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
            windows: BTreeSet::new(),
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
            let is_first = self.windows.insert(begin);
            if !live {
                continue;
            }
            if is_first {
                let set = self.make(begin)?;
                self.sets.insert(begin, set);
            }
            // One that was over meanwhile has more ids in the log: see `lost`.
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
        Set::new(&self.plan, begin, note)
    }

    /// Windows of the log that are kept, and have no set here: by a clock that was ahead they were
    /// over.
    pub(crate) fn lost(&self, now: u64) -> Vec<u64> {
        let live = self.windows.iter().rev();
        let live = live.take_while(|begin| self.plan.is_live(**begin, now));
        live.filter(|begin| !self.sets.contains_key(begin))
            .copied()
            .collect()
    }

    /// Takes sets that were made from the log; nothing may have been recorded meanwhile.
    pub(crate) fn revived(&mut self, revived: Revived) {
        self.sets.extend(revived.sets);
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

/// Sets of windows that were over and are kept again, from the log.
#[derive(Debug)]
pub(crate) struct Revived {
    plan: Plan,
    sets: BTreeMap<u64, Set>,
}

impl Revived {
    /// Empty ones of these windows.
    ///
    /// # Errors
    /// Not enough memory.
    pub(crate) fn new(plan: &Plan, windows: Vec<u64>) -> Result<Self> {
        let set = |begin| Ok((begin, Set::new(plan, begin, None)?));
        Ok(Self {
            plan: plan.clone(),
            sets: windows.into_iter().map(set).collect::<Result<_>>()?,
        })
    }

    /// Whether the entries of this second are wanted.
    pub(crate) fn wants(&self, second: u64) -> bool {
        self.sets.contains_key(&self.plan.begin(second))
    }

    /// Takes in an id of an entry.
    ///
    /// # Errors
    /// Not enough memory.
    pub(crate) fn insert(&mut self, second: u64, id: &str) -> Result<()> {
        match self.sets.get_mut(&self.plan.begin(second)) {
            Some(set) => set.insert(&self.plan, id),
            None => Ok(()),
        }
    }
}
