//! The filters of a site: one for each window of the log that is kept.
//!
//! A filter is made for so many ids; when more come it is made anew for twice as many, from the
//! log, and sent whole. Sizes come in steps, so that the filters of many sites have few different
//! ones.
//!
//! A clock may jump ahead and come back. Windows that were over meanwhile are then kept again, and
//! are made from the log ([`Sets::lost`], [`Revived`]): a set with only what was recorded since
//! would take the place of the whole one at the coordinator.
//!
//! A clock may also be behind, or the coordinator away for longer than a window is kept. What was recorded meanwhile
//! and was never acknowledged is then in a window that is over, and is filed in the current one as
//! well ([`Sets::unpublished`]): every id is published once at least.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use anyhow::Result;
#[cfg(test)]
use bloomgrove::Filter;
use bloomgrove_client::api::{PublishedSet, SetVersion};
use xxhash_rust::xxh3::xxh3_64;

use super::set::{Acknowledged, Message, Note, Set, State};
use super::spec::{FilterSpec, Regrown, Revived};
use super::window::set_name;

/// Sets that the coordinator is told of at most.
const MOST_BELIEVED: usize = 4000;

/// All filters of a site.
#[derive(Debug)]
pub(crate) struct Sets {
    spec: FilterSpec,
    sets: BTreeMap<u64, Set>,
    /// Windows with ids in the log, kept or not, by their beginnings.
    windows: BTreeMap<u64, Entries>,
    /// Entries of the log before this one are in.
    position: u64,
    /// With windows: all ids, hashed.
    known: HashSet<u64>,
    notes: BTreeMap<String, Note>,
    /// Sets of other windows than those of now, which the coordinator still has.
    outdated: Vec<String>,
    /// Entries of the log before this one were acknowledged by a coordinator once.
    settled: u64,
}

/// The entries of a window.
#[derive(Clone, Copy, Debug, Default)]
struct Entries {
    /// The number of the last one.
    last: u64,
    /// Those before this one are in a later window as well.
    filed: u64,
}

impl Sets {
    /// None yet. `notes` are what the log says of sets; entries before `settled` were acknowledged.
    pub(crate) fn new(spec: FilterSpec, mut notes: BTreeMap<String, Note>, settled: u64) -> Self {
        // Without windows, what that one set has is all that was acknowledged.
        let all = notes.get(&set_name(&spec.site, None, 0));
        let settled = all.map_or(settled, |note| note.position.max(settled));
        // Made with another seal, for another rate or for other windows, it says nothing of the
        // filters here.
        let of_others = |note: &Note| note.length != spec.length();
        let outdated = notes.iter().filter(|(_, note)| of_others(note));
        let outdated = outdated.map(|(name, _)| name.clone()).collect();
        notes.retain(|_, note| {
            let params = spec.params(note.items);
            (note.length, note.keep) == (spec.length(), spec.keep())
                && note.cipher == spec.key_check()
                && params.is_ok_and(|params| {
                    (params.bits(), params.hashes()) == (note.bits, note.hashes)
                })
        });
        Self {
            spec,
            sets: BTreeMap::new(),
            windows: BTreeMap::new(),
            position: 0,
            known: HashSet::new(),
            notes,
            outdated,
            settled,
        }
    }

    pub(crate) fn spec(&self) -> &FilterSpec {
        &self.spec
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// How many ids there are in all.
    pub(crate) fn ids(&self) -> u64 {
        let all = match self.spec.window {
            Some(_) => self.known.len(),
            None => self.sets.get(&0).map_or(0, |set| set.seen.len()),
        };
        all as u64
    }

    /// Whether an id is in the window of this second.
    pub(crate) fn has(&self, second: u64, id: &str) -> bool {
        let set = self.sets.get(&self.spec.begin(second));
        set.is_some_and(|set| set.seen.contains(&xxh3_64(id.as_bytes())))
    }

    /// Takes in ids of an entry of the log, which was written at `second`; all have come when
    /// [`taken`](Self::taken) says so.
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
        let begin = self.spec.begin(second);
        let live = self.spec.is_live(begin, now);
        for id in ids {
            let id = id.as_ref();
            if self.spec.window.is_some() {
                self.known.insert(xxh3_64(id.as_bytes()));
            }
            let is_first = !self.windows.contains_key(&begin);
            self.windows.entry(begin).or_default().last = entry;
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
                set.insert(&self.spec, id)?;
            }
        }
        Ok(())
    }

    /// All ids of an entry are in.
    pub(crate) fn taken(&mut self, entry: u64) {
        self.position = entry + 1;
    }

    fn make(&mut self, begin: u64) -> Result<Set> {
        let name = set_name(&self.spec.site, self.spec.window.as_ref(), begin);
        let note = self.notes.remove(&name);
        Set::new(&self.spec, begin, note)
    }

    /// Windows of the log that are kept, and have no set here: by a clock that was ahead they were
    /// over.
    pub(crate) fn lost(&self, now: u64) -> Vec<u64> {
        let live = self.windows.keys().rev();
        let live = live.take_while(|begin| self.spec.is_live(**begin, now));
        live.filter(|begin| !self.sets.contains_key(begin))
            .copied()
            .collect()
    }

    /// Windows that are over, and have entries that no coordinator has acknowledged: from which
    /// entry on.
    pub(crate) fn unpublished(&self, now: u64) -> BTreeMap<u64, u64> {
        let over = self.windows.iter();
        let over = over.take_while(|(begin, _)| !self.spec.is_live(**begin, now));
        let from = over.map(|(begin, entries)| (*begin, entries, entries.filed.max(self.settled)));
        let unpublished = from.filter(|(_, entries, from)| entries.last >= *from);
        unpublished.map(|(begin, _, from)| (begin, from)).collect()
    }

    /// What was unpublished is in a later window as well.
    pub(crate) fn filed(&mut self, windows: &BTreeMap<u64, u64>) {
        for begin in windows.keys() {
            if let Some(entries) = self.windows.get_mut(begin) {
                entries.filed = entries.last + 1;
            }
        }
    }

    /// A round went through that began when the log was read up to this position; says whether that
    /// is to be noted.
    pub(crate) fn settle(&mut self, position: u64) -> bool {
        // Without windows, the note of the only set tells as much.
        let is_new = position > self.settled && self.spec.window.is_some();
        self.settled = self.settled.max(position);
        is_new
    }

    /// Whether windows with ids are over: nobody comes here for what is only in there.
    pub(crate) fn has_expired(&self, now: u64) -> bool {
        let first = self.windows.keys().next();
        first.is_some_and(|begin| !self.spec.is_live(*begin, now))
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
                (set.sent, set.whole) = (None, true);
            }
        }
    }

    /// Forgets windows whose time is over; gives the names of their sets.
    pub(crate) fn expire(&mut self, now: u64) -> Vec<String> {
        let mut gone = Vec::new();
        let spec = &self.spec;
        self.sets.retain(|begin, set| {
            let live = spec.is_live(*begin, now);
            if !live {
                gone.push(set.name.clone());
            }
            live
        });
        // Of sets that nobody has asked for since the start.
        gone.extend(std::mem::take(&mut self.notes).into_keys());
        gone
    }

    /// Sets of windows as they were divided before: once all that is kept has been sent, nobody
    /// needs them.
    pub(crate) fn outdated(&self) -> Vec<String> {
        let is_used = |name: &String| self.sets.values().any(|set| set.name == *name);
        let outdated = self.outdated.iter().filter(|name| !is_used(name));
        outdated.cloned().collect()
    }

    /// One of them is gone.
    pub(crate) fn dropped(&mut self, name: &str) {
        self.outdated.retain(|outdated| outdated != name);
    }

    /// What the coordinator has said of a set, by its name: the version, and the store.
    pub(crate) fn version(&self, set: &str) -> Option<(u64, Option<u64>)> {
        let set = self.sets.values().find(|own| own.name == set)?;
        set.acknowledged
            .as_ref()
            .map(|own| (own.version, own.store))
    }

    /// The store that the latest set was acknowledged for.
    pub(crate) fn store(&self) -> Option<u64> {
        let mut sets = self.sets.values().rev();
        sets.find_map(|set| set.acknowledged.as_ref())?.store
    }

    /// What the coordinator is believed to have, if it is this store: the versions of all sets that
    /// it has acknowledged. Those of another store are 0, which none is.
    pub(crate) fn believed(&self, store: Option<u64>) -> Vec<SetVersion> {
        let version = |set: &Set| {
            let own = set.acknowledged.as_ref()?;
            let version = if own.store == store { own.version } else { 0 };
            let name = set.name.clone();
            Some(SetVersion { name, version })
        };
        let sets = self.sets.values().rev().filter_map(version);
        sets.take(MOST_BELIEVED).collect()
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

    /// How many ids each set has now, for [`pending_of`](Self::pending_of) later.
    pub(crate) fn counts(&self) -> BTreeMap<u64, u64> {
        let count = |(begin, set): (&u64, &Set)| (*begin, set.seen.len() as u64);
        self.sets.iter().map(count).collect()
    }

    /// Of the ids that there were then, how many the coordinator does not have yet.
    pub(crate) fn pending_of(&self, counts: &BTreeMap<u64, u64>) -> u64 {
        let pending = |(begin, set): (&u64, &Set)| {
            let then = counts.get(begin).copied().unwrap_or(0);
            then.saturating_sub(set.told())
        };
        self.sets.iter().map(pending).sum()
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
            Some(old) if !set.whole => {
                // What was not answered is sent again as it was: if it had come, nothing happens.
                let new = set.sent.clone().unwrap_or(current);
                let had = &old.state.filter;
                if Arc::ptr_eq(had, &new.filter) || *had == new.filter {
                    // All ids look as if they were there.
                    set.acknowledged = Some(Acknowledged {
                        state: new,
                        ..old.clone()
                    });
                    set.sent = None;
                    return None;
                }
                (Some((old.version, had.clone())), new)
            }
            _ => (None, current),
        };
        if base.is_some() {
            set.sent = Some(state.clone());
        }
        Some(Message {
            set: set.name.clone(),
            base,
            expires_in: self.spec.expires_in(begin, now),
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

    /// The coordinator, with this store, has taken a message; gives what to note of it.
    pub(crate) fn acknowledge(
        &mut self,
        message: &Message,
        version: u64,
        store: Option<u64>,
    ) -> Option<Note> {
        let set = self.sets.get_mut(&message.begin)?;
        // Made anew for more ids meanwhile: it goes out whole next.
        if set.items != message.items {
            return None;
        }
        // It was of other windows, perhaps; now it is of these.
        self.outdated.retain(|outdated| *outdated != set.name);
        (set.sent, set.whole) = (None, false);
        set.acknowledged = Some(Acknowledged {
            state: message.state.clone(),
            version,
            store,
        });
        Some(Note {
            version,
            position: message.state.position,
            ids: message.state.ids,
            items: set.items,
            bits: message.state.filter.params().bits(),
            hashes: message.state.filter.params().hashes(),
            cipher: self.spec.key_check(),
            length: self.spec.length(),
            keep: self.spec.keep(),
            store,
        })
    }

    /// The coordinator has something else than was thought: the set goes out whole next.
    pub(crate) fn forget(&mut self, set: &str) {
        if let Some(set) = self.sets.values_mut().find(|own| own.name == set) {
            (set.sent, set.whole) = (None, true);
        }
    }

    /// For the status.
    pub(crate) fn published(&self) -> Vec<PublishedSet> {
        let about = |set: &Set| PublishedSet {
            name: set.name.clone(),
            ids: set.seen.len() as u64,
            bits: set.current.params().bits(),
            pending: set.pending(),
            version: set.acknowledged.as_ref().map(|own| own.version),
        };
        self.sets.values().map(about).collect()
    }
}
