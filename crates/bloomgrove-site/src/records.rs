//! What a site has recorded: on disk, in memory, and in filters, always in this order.
//!
//! ```text
//!   triples --> log (disk) --> store (memory) --> filters
//!                    |  read at the start, and when a filter grows
//!                    +--------> store, filters
//! ```
//!
//! One batch is written at a time. A batch that cannot be written changes nothing, and queries never wait for the
//! disk.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use bloomgrove_client::IdCipher;
use bloomgrove_client::api::{Code, Lineage, LineageQuery};
use bloomgrove_http::Error;
use oxigraph::model::Triple;

use crate::lineage::lineage;
use crate::log::{AppendError, Log};
use crate::publish::filters::Sets;
use crate::publish::spec::{FilterSpec, Regrown, Revived};
use crate::store::{self, Store};

/// Triples added to memory at a time while the log is read.
const AT_A_TIME: usize = 10_000;

/// Triples whose ids are inserted while the filters are locked.
const LOCKED: usize = 1000;

/// What a batch added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Added {
    /// New triples.
    pub(crate) triples: u64,
    /// Links among them.
    pub(crate) links: u64,
}

/// Everything that a site has recorded.
#[derive(Debug)]
pub(crate) struct Records {
    pub(crate) log: Log,
    pub(crate) store: Store,
    sets: Mutex<Sets>,
    writing: Mutex<()>,
    cipher: Option<IdCipher>,
    /// Maximum number of triples.
    most: u64,
}

impl Records {
    /// Reads the log of a data directory.
    ///
    /// # Errors
    /// If the directory cannot be used.
    pub(crate) fn open(directory: &Path, spec: FilterSpec, most: u64, now: u64) -> Result<Self> {
        let log = Log::open(directory, &spec.site)?;
        let mut notes = BTreeMap::new();
        for (set, note) in log.published()? {
            // One that cannot be read costs sending a whole filter.
            if let Ok(note) = serde_json::from_slice(&note) {
                notes.insert(set, note);
            }
        }
        let settled = log.settled()?;
        let cipher = spec.cipher.clone();
        let records = Self {
            log,
            store: Store::new()?,
            sets: Mutex::new(Sets::new(spec, notes, settled)),
            writing: Mutex::new(()),
            cipher,
            most,
        };
        records.catch_up(now)?;
        records.sets().replayed();
        records.grow()?;
        Ok(records)
    }

    /// The filters.
    pub(crate) fn sets(&self) -> MutexGuard<'_, Sets> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to memory what is only in the log.
    fn catch_up(&self, now: u64) -> Result<()> {
        let mut waiting: Vec<Triple> = Vec::new();
        let from = self.sets().position();
        let scanned = self.log.scan(from, |entry, second, text| {
            let triples = store::from_text(text)?;
            self.take_ids(entry, second, now, &triples)?;
            waiting.extend(triples);
            if waiting.len() >= AT_A_TIME {
                self.store.add(std::mem::take(&mut waiting))?;
            }
            Ok(())
        });
        // Also what came before a failure: the filters contain it.
        self.store.add(waiting)?;
        scanned
    }

    /// Inserts the ids of an entry into the filters, some at a time, so that the filters are not locked for long.
    fn take_ids(&self, entry: u64, second: u64, now: u64, triples: &[Triple]) -> Result<()> {
        for triples in triples.chunks(LOCKED) {
            let ids: Vec<_> = triples.iter().flat_map(store::ids).flatten().collect();
            self.sets().insert(entry, second, now, ids)?;
        }
        self.sets().taken(entry);
        Ok(())
    }

    /// Removes expired windows, restores those that only seemed expired because the clock was ahead, and adds what was
    /// never published to the current one; returns the names of the removed sets.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub(crate) fn settle(&self, now: u64) -> Result<Vec<String>> {
        let gone = self.sets().expire(now);
        // Rarely needed, so that rounds do not wait for a slow disk.
        if !self.sets().lost(now).is_empty() {
            let _one_at_a_time = self.writing();
            self.revive(now)?;
        }
        self.file_again(now)?;
        Ok(gone)
    }

    /// Records again, in the current window, what no coordinator has acknowledged and is in expired windows: because the
    /// clock was behind, or the coordinator could not be reached for that long.
    fn file_again(&self, now: u64) -> Result<()> {
        let (spec, windows) = {
            let sets = self.sets();
            (sets.spec().clone(), sets.unpublished(now))
        };
        let Some(first) = windows.values().min() else {
            return Ok(());
        };
        tracing::warn!(
            "windows expired before they were published; adding their ids to the current one"
        );
        let mut waiting: Vec<Triple> = Vec::new();
        let add = |triples: Vec<Triple>| self.add(triples, now).map_err(anyhow::Error::from);
        self.log.scan(*first, |entry, second, text| {
            let from = windows.get(&spec.begin(second));
            if from.is_some_and(|from| entry >= *from) {
                waiting.extend(store::from_text(text)?);
                if waiting.len() >= AT_A_TIME {
                    add(std::mem::take(&mut waiting))?;
                }
            }
            Ok(())
        })?;
        add(waiting)?;
        self.sets().filed(&windows);
        Ok(())
    }

    /// All entries before this one were acknowledged, and are not recorded again.
    ///
    /// # Errors
    /// If writing fails; then they may be.
    pub(crate) fn settled(&self, position: u64) -> Result<()> {
        let is_new = self.sets().settle(position);
        if is_new {
            self.log.settle(position)?;
        }
        Ok(())
    }

    /// Rebuilds from the log sets that are kept but missing; nothing may be written meanwhile.
    fn revive(&self, now: u64) -> Result<()> {
        let (spec, lost) = {
            let sets = self.sets();
            (sets.spec().clone(), sets.lost(now))
        };
        if lost.is_empty() {
            return Ok(());
        }
        tracing::warn!("the clock was set back; rebuilding expired sets from the log");
        let mut revived = Revived::new(&spec, lost)?;
        let end = self.sets().position();
        self.log.scan(0, |entry, second, text| {
            // Entries that memory has missed are read like all others.
            if entry < end && revived.wants(second) {
                for triple in store::from_text(text)? {
                    for id in store::ids(&triple).into_iter().flatten() {
                        revived.insert(second, &id)?;
                    }
                }
            }
            Ok(())
        })?;
        self.sets().revived(revived);
        self.grow()
    }

    /// Rebuilds filters that contain more ids than they were sized for.
    fn grow(&self) -> Result<()> {
        let (spec, overfull) = {
            let sets = self.sets();
            (sets.spec().clone(), sets.overfull())
        };
        if overfull.is_empty() {
            return Ok(());
        }
        let mut grown = Regrown::new(&spec, overfull)?;
        self.log.scan(0, |_, second, text| {
            if grown.wants(second) {
                for triple in store::from_text(text)? {
                    for id in store::ids(&triple).into_iter().flatten() {
                        grown.insert(second, &id);
                    }
                }
            }
            Ok(())
        })?;
        self.sets().grown(grown);
        Ok(())
    }

    /// Records a batch, all of it or nothing; when this returns, it is on disk.
    ///
    /// # Errors
    /// `storage` if writing fails, `memory` if there are too many triples.
    pub(crate) fn add(&self, triples: Vec<Triple>, now: u64) -> Result<Added, Error> {
        let _one_at_a_time = self.writing();
        self.revive(now).map_err(refused)?;
        let mut added = Added::default();
        let (mut batch, mut seen) = (Vec::new(), HashSet::new());
        let windowed = self.sets().spec().window.is_some();
        let mut triples = triples.into_iter().peekable();
        while triples.peek().is_some() {
            let some = triples.by_ref().take(LOCKED);
            let some = some.filter(|triple| seen.insert(triple.clone()));
            let some = some.map(|triple| (self.store.contains(&triple), triple));
            let some: Vec<(bool, Triple)> = some.collect();
            let sets = windowed.then(|| self.sets());
            for (is_known, triple) in some {
                if !is_known {
                    added.triples += 1;
                    added.links += u64::from(store::link(&triple).is_some());
                }
                // What is recorded again belongs to this window as well.
                let elsewhere = |sets: &MutexGuard<'_, Sets>| {
                    let mut ids = store::ids(&triple).into_iter().flatten();
                    ids.any(|id| !sets.has(now, &id))
                };
                if !is_known || sets.as_ref().is_some_and(elsewhere) {
                    batch.push(triple);
                }
            }
        }
        if batch.is_empty() {
            return Ok(added);
        }
        if self.store.len() + added.triples > self.most {
            let detail = format!(
                "the site has {} triples, and its limit is {} (`limits.triples` in its configuration); \
                 nothing was recorded",
                self.store.len(),
                self.most
            );
            return Err(Error::new(Code::Memory, detail));
        }
        let text = store::to_text(&batch);
        let entry = loop {
            match self.log.append(now, &text) {
                Ok(entry) => break entry,
                Err(AppendError::Behind) => self.catch_up(now).map_err(refused)?,
                Err(AppendError::Storage(error)) => return Err(refused(error)),
            }
        };
        let take = || -> Result<()> {
            if self.sets().position() < entry {
                // Memory was behind, and could not catch up when that was found.
                return self.catch_up(now);
            }
            self.take_ids(entry, now, now, &batch)?;
            self.store.add(batch.clone())?;
            self.grow()
        };
        take().map_err(|error| {
            let detail =
                format!("recorded on disk, but not in memory; restart the site: {error:#}");
            tracing::error!("{detail}");
            Error::new(Code::Internal, detail)
        })?;
        Ok(added)
    }

    /// What is known about some ids.
    pub(crate) fn lineage(&self, query: &LineageQuery) -> Lineage {
        lineage(&self.store, query, self.cipher.as_ref())
    }

    /// Whether ids leave this site only in encrypted form.
    pub(crate) fn encrypts_ids(&self) -> bool {
        self.cipher.is_some()
    }
}

fn refused(error: anyhow::Error) -> Error {
    tracing::error!("cannot write to the log: {error:#}");
    let detail = format!("the site cannot write to its disk: {error:#}; nothing was recorded");
    Error::new(Code::Storage, detail)
}

#[cfg(test)]
mod tests;
