//! The filters of a site: one per window that is kept.
//!
//! A filter is sized for a number of ids. If more come, it is rebuilt from the log for twice as many, and sent whole.
//! Sizes are rounded up in steps, so that the filters of many sites have few different sizes.
//!
//! A clock may jump ahead and be set back. Windows that seemed expired meanwhile are then kept again, and rebuilt from the
//! log ([`Sets::lost`], [`Revived`]): a set with only what was recorded since would replace the complete one at the
//! coordinator.
//!
//! A clock may also be behind, or the coordinator out of reach for longer than a window is kept. What was recorded
//! meanwhile and never acknowledged is then in an expired window, and is added to the current one as well
//! ([`Sets::unpublished`]): every id is published at least once.

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

/// Maximum number of sets reported to the coordinator.
const MOST_BELIEVED: usize = 4000;

/// All filters of a site.
#[derive(Debug)]
pub(crate) struct Sets {
    spec: FilterSpec,
    sets: BTreeMap<u64, Set>,
    /// Windows with ids in the log, kept or not, by start time.
    windows: BTreeMap<u64, Entries>,
    /// Entries of the log before this one are included.
    position: u64,
    /// With windows: hashes of all ids.
    known: HashSet<u64>,
    notes: BTreeMap<String, Note>,
    /// Sets of windows of another length, which the coordinator still has.
    outdated: Vec<String>,
    /// Entries of the log before this one were once acknowledged by a coordinator.
    settled: u64,
}

/// The entries of a window.
#[derive(Clone, Copy, Debug, Default)]
struct Entries {
    /// The number of the last entry.
    last: u64,
    /// Entries before this one are in a later window as well.
    filed: u64,
}

impl Sets {
    /// No filters yet. `notes` are the log's notes on sets; entries before `settled` were acknowledged.
    pub(crate) fn new(spec: FilterSpec, mut notes: BTreeMap<String, Note>, settled: u64) -> Self {
        // Without windows, the only set contains everything that was acknowledged.
        let all = notes.get(&set_name(&spec.site, None, 0));
        let settled = all.map_or(settled, |note| note.position.max(settled));
        // Notes of another cipher, rate or division into windows do not apply to these filters.
        let of_others = |note: &Note| note.length != spec.length();
        let outdated = notes.iter().filter(|(_, note)| of_others(note));
        let outdated = outdated.map(|(name, _)| name.clone()).collect();
        notes.retain(|_, note| {
            let params = spec.params(note.items);
            (note.length, note.keep) == (spec.length(), spec.keep())
                && note.key_check == spec.key_check()
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

    /// Total number of ids.
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

    /// Inserts ids of an entry of the log, which was written at `second`; the entry is complete when
    /// [`taken`](Self::taken) is called.
    ///
    /// # Errors
    /// If there is not enough memory.
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
            // If it was expired meanwhile, the log has more ids: see `lost`.
            if let Some(set) = self.sets.get_mut(&begin) {
                set.recall(entry);
                set.insert(&self.spec, id)?;
            }
        }
        Ok(())
    }

    /// All ids of an entry are inserted.
    pub(crate) fn taken(&mut self, entry: u64) {
        self.position = entry + 1;
    }

    fn make(&mut self, begin: u64) -> Result<Set> {
        let name = set_name(&self.spec.site, self.spec.window.as_ref(), begin);
        let note = self.notes.remove(&name);
        Set::new(&self.spec, begin, note)
    }

    /// Windows of the log that are kept but have no set here, because they seemed expired while the clock was ahead.
    pub(crate) fn lost(&self, now: u64) -> Vec<u64> {
        let live = self.windows.keys().rev();
        let live = live.take_while(|begin| self.spec.is_live(**begin, now));
        live.filter(|begin| !self.sets.contains_key(begin))
            .copied()
            .collect()
    }

    /// Expired windows with entries that no coordinator has acknowledged, and from which entry on.
    pub(crate) fn unpublished(&self, now: u64) -> BTreeMap<u64, u64> {
        let over = self.windows.iter();
        let over = over.take_while(|(begin, _)| !self.spec.is_live(**begin, now));
        let from = over.map(|(begin, entries)| (*begin, entries, entries.filed.max(self.settled)));
        let unpublished = from.filter(|(_, entries, from)| entries.last >= *from);
        unpublished.map(|(begin, _, from)| (begin, from)).collect()
    }

    /// What was unpublished is now in a later window as well.
    pub(crate) fn filed(&mut self, windows: &BTreeMap<u64, u64>) {
        for begin in windows.keys() {
            if let Some(entries) = self.windows.get_mut(begin) {
                entries.filed = entries.last + 1;
            }
        }
    }

    /// A round succeeded that started when the log was read up to this position; returns whether to record that.
    pub(crate) fn settle(&mut self, position: u64) -> bool {
        // Without windows, the note on the only set says as much.
        let is_new = position > self.settled && self.spec.window.is_some();
        self.settled = self.settled.max(position);
        is_new
    }

    /// Whether windows with ids have expired: the site is no longer queried for ids that are only in these.
    pub(crate) fn has_expired(&self, now: u64) -> bool {
        let first = self.windows.keys().next();
        first.is_some_and(|begin| !self.spec.is_live(*begin, now))
    }

    /// Adds sets that were rebuilt from the log; nothing may have been recorded meanwhile.
    pub(crate) fn revived(&mut self, revived: Revived) {
        self.sets.extend(revived.sets);
    }

    /// The whole log has been read.
    pub(crate) fn replayed(&mut self) {
        let position = self.position;
        for set in self.sets.values_mut() {
            set.recall(position);
            // It belongs to another log.
            set.note = None;
        }
    }

    /// Sets with more ids than they are sized for: their windows, and the number of ids to size them for.
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

    /// Replaces filters by larger ones, each of which must contain everything that is recorded.
    pub(crate) fn grown(&mut self, grown: Regrown) {
        for (begin, (items, filter)) in grown.filters {
            if let Some(set) = self.sets.get_mut(&begin) {
                set.items = items;
                set.current = Arc::new(filter);
                (set.sent, set.whole) = (None, true);
            }
        }
    }

    /// Removes expired windows; returns the names of their sets.
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
        // Notes on sets that have had no ids since the start.
        gone.extend(std::mem::take(&mut self.notes).into_keys());
        gone
    }

    /// Sets of an earlier division into windows: obsolete once everything that is kept has been sent.
    pub(crate) fn outdated(&self) -> Vec<String> {
        let is_used = |name: &String| self.sets.values().any(|set| set.name == *name);
        let outdated = self.outdated.iter().filter(|name| !is_used(name));
        outdated.cloned().collect()
    }

    /// One of them was removed.
    pub(crate) fn dropped(&mut self, name: &str) {
        self.outdated.retain(|outdated| outdated != name);
    }

    /// What the coordinator has acknowledged of a set, by its name: the version, and the store.
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

    /// The sets that the coordinator is believed to have if this is its store: the versions of all acknowledged sets. Those of
    /// another store have the version 0, which does not exist.
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

    /// Names of all sets, latest first: most traces concern recent ids.
    pub(crate) fn names(&self) -> Vec<String> {
        let sets = self.sets.values().rev();
        sets.map(|set| set.name.clone()).collect()
    }

    /// Whether the last delta of a set was not answered, so that its version is unknown.
    pub(crate) fn is_unanswered(&self, set: &str) -> bool {
        let mut sets = self.sets.values();
        sets.any(|own| own.name == set && own.sent.is_some())
    }

    /// Ids that the coordinator does not have yet.
    pub(crate) fn pending(&self) -> u64 {
        self.sets.values().map(Set::pending).sum()
    }

    /// The number of ids of each set now, for [`pending_of`](Self::pending_of) later.
    pub(crate) fn counts(&self) -> BTreeMap<u64, u64> {
        let count = |(begin, set): (&u64, &Set)| (*begin, set.seen.len() as u64);
        self.sets.iter().map(count).collect()
    }

    /// How many of the ids at that time the coordinator does not have yet.
    pub(crate) fn pending_of(&self, counts: &BTreeMap<u64, u64>) -> u64 {
        let pending = |(begin, set): (&u64, &Set)| {
            let then = counts.get(begin).copied().unwrap_or(0);
            then.saturating_sub(set.told())
        };
        self.sets.iter().map(pending).sum()
    }

    /// The next message of a set, if there is anything to send.
    pub(crate) fn next(&mut self, set: &str, now: u64) -> Option<Message> {
        let (&begin, set) = self.sets.iter_mut().find(|(_, own)| own.name == set)?;
        let current = State {
            filter: set.current.clone(),
            position: self.position,
            ids: set.seen.len() as u64,
        };
        let (base, state) = match &set.acknowledged {
            Some(old) if !set.whole => {
                // What was not answered is sent again unchanged: if it had arrived, nothing happens.
                let new = set.sent.clone().unwrap_or(current);
                let had = &old.state.filter;
                if Arc::ptr_eq(had, &new.filter) || *had == new.filter {
                    // By false positives, all ids seem to be in it.
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

    /// The filter of an existing set.
    #[cfg(test)]
    pub(crate) fn filter(&self, set: &str) -> Arc<Filter> {
        let set = self.sets.values().find(|own| own.name == set);
        set.map(|set| set.current.clone()).unwrap()
    }

    /// The coordinator, with this store, has accepted a message; returns the note to record.
    pub(crate) fn acknowledge(
        &mut self,
        message: &Message,
        version: u64,
        store: Option<u64>,
    ) -> Option<Note> {
        let set = self.sets.get_mut(&message.begin)?;
        // If it was rebuilt for more ids meanwhile, it is sent whole next.
        if set.items != message.items {
            return None;
        }
        // It may have belonged to other windows; now it belongs to these.
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
            key_check: self.spec.key_check(),
            length: self.spec.length(),
            keep: self.spec.keep(),
            store,
        })
    }

    /// The coordinator has something else than was assumed: the set is sent whole next.
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
