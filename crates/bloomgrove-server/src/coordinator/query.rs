//! Queries: which sets contain a key, which sets exist, and how they are laid out.
//!
//! A query that is restricted by prefix or tag searches all sets and drops the others from the answer: searching a hundred
//! thousand takes microseconds, and selecting them first would take longer.
//!
//! No query locks the index for longer than [`KEYS`] keys or [`NAMES_AT_ONCE`] names take, and the answer to a key in every
//! set costs its count and the names that are listed, not all names.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use bloomgrove::index::{self, Index};
use bloomgrove_client::api::{self, Code};
use bloomgrove_http::observe::process;

use super::Coordinator;
use super::catalog::{Catalog, Entry};
use super::text::not_found;
use super::texts::{extraction, needed};
use crate::Error;

/// Keys looked up, and names copied, while the index is locked: a change waits for these at most.
const KEYS: usize = 32;
const NAMES_AT_ONCE: usize = 4096;
/// Names in the answer to one key: default and maximum.
const NAMES: u64 = 1000;
const MOST_NAMES: u64 = 100_000;
/// Maximum size of all names in one answer.
const MOST_TEXT: usize = 16 << 20;
/// What a name takes in an answer in addition to its bytes: in a list, and in JSON.
const AROUND_NAME: usize = 40;
/// Keys and names of an answer that is found immediately, without a separate thread.
const FEW: usize = 32;
const FEW_NAMES: usize = 1000;
/// Sets in a list: default and maximum.
const LIST: usize = 100;
const MOST_LIST: usize = 1000;
const CELLS: usize = 2000;
const MOST_CELLS: usize = 20_000;
/// Sets read for a list or a picture while the catalog is locked.
const LOOKED_AT: usize = 1000;

/// Which sets a query is restricted to.
#[derive(Clone, Copy, Debug, Default)]
struct Only<'a> {
    prefix: &'a str,
    tag: Option<&'a str>,
}

impl<'a> Only<'a> {
    fn of(request: &'a api::WhichQuery) -> Self {
        Self {
            prefix: request.prefix.as_deref().unwrap_or_default(),
            tag: request.tag.as_deref(),
        }
    }

    fn is_all(&self) -> bool {
        self.prefix.is_empty() && self.tag.is_none()
    }

    fn has_tag(&self, entry: &Entry) -> bool {
        self.tag
            .is_none_or(|tag| entry.tags.iter().any(|own| own == tag))
    }

    /// Whether a set in the index matches. One that the catalog does not know by this name is being created or renamed, and
    /// may match.
    fn takes(&self, catalog: &Catalog, name: &str) -> bool {
        let entry = catalog.get(name);
        name.starts_with(self.prefix) && entry.is_none_or(|entry| self.has_tag(entry))
    }
}

pub(super) fn in_time(deadline: Instant) -> Result<(), Error> {
    match Instant::now() < deadline {
        true => Ok(()),
        false => Err(Error::new(
            Code::Timeout,
            "this took longer than the server allows; query fewer keys at a time",
        )),
    }
}

/// A set's name, which is always text.
pub(super) fn text<'a>(set: &index::Set<'a>) -> &'a str {
    std::str::from_utf8(set.name()).unwrap_or_default()
}

/// The keys of some answers.
#[derive(Clone, Copy)]
enum Wanted<'k> {
    /// One answer for each: the sets that may contain it.
    Each(&'k [api::Key]),
    /// One answer: the sets that may contain all of them.
    All(&'k [api::Key]),
}

impl Wanted<'_> {
    fn answers(self) -> usize {
        match self {
            Wanted::Each(keys) => keys.len(),
            Wanted::All(_) => 1,
        }
    }
}

/// The names for some keys, copied at once while the index is locked: all in one text, as every key would otherwise take
/// several allocations.
#[derive(Default)]
struct Found {
    text: String,
    /// Where each name ends in the text.
    ends: Vec<usize>,
    /// For each key, the number of sets, and where its names end in `ends`.
    keys: Vec<(usize, usize)>,
}

impl Found {
    /// What the index finds for these keys, below the prefix: names of at most `limit` sets for each, and at most `room` bytes
    /// for all.
    fn of(index: &Index, wanted: Wanted<'_>, only: Only<'_>, limit: usize, room: usize) -> Self {
        let (view, below) = (index.view(), |set: &index::Set<'_>| {
            text(set).starts_with(only.prefix)
        });
        let answers = match (wanted, only.prefix) {
            (Wanted::Each(keys), "") => view.which_some(keys, limit, |_| true),
            (Wanted::Each(keys), _) => view.which_some(keys, limit, below),
            // Sets of the server do not consist of slices.
            (Wanted::All(keys), _) => view.which_all(keys, limit, below),
        };
        let mut found = Self::default();
        for (key, sets) in answers.iter().enumerate() {
            for set in sets {
                if !found.add(text(&set), room) {
                    break;
                }
            }
            found.end_key(answers.count(key));
        }
        found
    }

    /// Adds a name for the current key, if all names then take at most `room` bytes.
    fn add(&mut self, name: &str, room: usize) -> bool {
        let fits = self.text.len() + name.len() <= room;
        if fits {
            self.text.push_str(name);
            self.ends.push(self.text.len());
        }
        fits
    }

    fn end_key(&mut self, count: usize) {
        self.keys.push((count, self.ends.len()));
    }

    /// For each key, the number of sets and their names.
    fn iter(&self) -> impl Iterator<Item = (usize, impl ExactSizeIterator<Item = &str>)> {
        let (mut first, mut start) = (0, 0);
        self.keys.iter().map(move |&(count, last)| {
            let ends = &self.ends[first..last];
            let mut from = start;
            first = last;
            start = ends.last().copied().unwrap_or(start);
            let names = ends.iter().map(move |&end| {
                let name = &self.text[from..end];
                from = end;
                name
            });
            (count, names)
        })
    }

    /// Those with a prefix, at most `limit` for each key.
    fn below(&self, prefix: &str, limit: usize) -> Self {
        let mut found = Self::default();
        for (_, names) in self.iter() {
            let mut count = 0;
            for name in names.filter(|name| name.starts_with(prefix)) {
                count += 1;
                if count <= limit {
                    found.add(name, usize::MAX);
                }
            }
            found.end_key(count);
        }
        found
    }

    fn answers(&self, count_only: bool) -> impl Iterator<Item = api::Answer> {
        self.iter().map(move |(count, names)| {
            let sets = (!count_only).then(|| {
                let mut sets: Vec<String> = names.map(str::to_owned).collect();
                sets.sort_unstable();
                sets
            });
            api::Answer {
                count: count as u64,
                sets,
            }
        })
    }
}

impl Coordinator {
    /// Finds the sets that may contain each of the keys. `take` is called with the number of bytes of the answer as it grows,
    /// and may refuse.
    ///
    /// # Errors
    /// If there are too many keys, or it takes too long; the errors of `take`.
    pub fn which(
        &self,
        request: &api::WhichQuery,
        take: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<api::Which, Error> {
        let limit = self.check_which(request)?;
        let mut answers = Vec::with_capacity(request.keys.len());
        let mut room = MOST_TEXT;
        let started = Instant::now();
        let deadline = started + self.shared.limits.time;
        let only = Only::of(request);
        let at_once = match only.is_all() {
            true => (NAMES_AT_ONCE / limit.max(1)).clamp(1, KEYS),
            // All names for a key are read.
            false => 1,
        };
        let mut find = |wanted: Wanted<'_>| {
            in_time(deadline)?;
            let found = match only.tag {
                None => Found::of(&self.shared.index.read(), wanted, only, limit, room),
                Some(_) => self.find_tagged(wanted, only, limit, room),
            };
            room -= found.text.len();
            let values = wanted.answers() + found.ends.len();
            take((2 * found.text.len() + AROUND_NAME * values) as u64)?;
            answers.extend(found.answers(request.count_only));
            Ok::<_, Error>(())
        };
        let mut cut = Vec::new();
        let extraction = request.extract.as_deref().map(extraction).transpose()?;
        match &extraction {
            None => {
                let mut chunks = request.keys.chunks(at_once);
                chunks.try_for_each(|keys| find(Wanted::Each(keys)))?;
            }
            Some(extraction) => {
                for key in &request.keys {
                    let keys = needed(extraction, key)?;
                    find(Wanted::All(&keys))?;
                    if request.explain {
                        cut.extend(keys);
                    }
                }
            }
        }
        self.count(&answers);
        let mut cost = None;
        if request.explain {
            let microseconds = started.elapsed().as_secs_f64() * 1e6;
            let keys = if extraction.is_some() {
                &cut
            } else {
                &request.keys
            };
            cost = Some(api::Cost {
                microseconds,
                ..self.cost(keys, Only::of(request), deadline)?
            });
        }
        Ok(api::Which { answers, cost })
    }

    /// Like [`which`](Self::which), if that takes almost no time: few keys, few names, and no waiting. For threads that must
    /// not block.
    pub fn which_at_once(&self, request: &api::WhichQuery) -> Option<Result<api::Which, Error>> {
        let (only, is_extracted) = (Only::of(request), request.extract.is_some());
        if request.keys.len() > FEW || request.explain || is_extracted || only.tag.is_some() {
            return None;
        }
        let limit = match self.check_which(request) {
            Ok(limit) => limit,
            Err(error) => return Some(Err(error)),
        };
        // With a prefix, all names are compared.
        let wanted = if only.is_all() { limit } else { usize::MAX };
        let index = self.shared.index.try_read()?;
        // Finding one more than few shows that there are too many.
        let listed = wanted.min(FEW_NAMES / request.keys.len().max(1) + 1);
        let keys = Wanted::Each(&request.keys);
        let mut found = Found::of(&index, keys, Only::default(), listed, MOST_TEXT);
        drop(index);
        let mut keys = found.iter();
        let is_cut = keys.any(|(count, names)| names.len() < wanted.min(count));
        drop(keys);
        if is_cut {
            return None;
        }
        if !only.is_all() {
            found = found.below(only.prefix, limit);
        }
        let answers: Vec<_> = found.answers(request.count_only).collect();
        self.count(&answers);
        let cost = None;
        Some(Ok(api::Which { answers, cost }))
    }

    /// Like [`Found::of`], for sets with a tag, which are looked up after the index is unlocked.
    fn find_tagged(&self, wanted: Wanted<'_>, only: Only<'_>, limit: usize, room: usize) -> Found {
        let all = Found::of(
            &self.shared.index.read(),
            wanted,
            only,
            usize::MAX,
            usize::MAX,
        );
        let mut found = Found::default();
        for (_, mut names) in all.iter() {
            let (mut count, mut listed) = (0, 0);
            while names.len() > 0 {
                let catalog = self.shared.read();
                for name in names.by_ref().take(NAMES_AT_ONCE) {
                    if only.takes(&catalog, name) {
                        count += 1;
                        listed += usize::from(listed < limit && found.add(name, room));
                    }
                }
            }
            found.end_key(count);
        }
        found
    }

    /// The maximum number of names per key.
    fn check_which(&self, request: &api::WhichQuery) -> Result<usize, Error> {
        self.check_keys(request.keys.len())?;
        match request.limit.unwrap_or(NAMES) {
            _ if request.count_only => Ok(0),
            limit if limit > MOST_NAMES => Err(Error::invalid(format!(
                "limit is {limit}; the maximum is {MOST_NAMES}"
            ))),
            limit => Ok(limit as usize),
        }
    }

    /// The names of all sets that may contain one key.
    pub(super) fn names_of(&self, key: &str) -> Vec<String> {
        let index = self.shared.index.read();
        let sets = index.view().which_some(&[key], usize::MAX, |_| true);
        sets.sets(0).map(|set| text(&set).to_owned()).collect()
    }

    fn count(&self, answers: &[api::Answer]) {
        let totals = &self.shared.totals;
        let named = answers.iter().map(|answer| answer.count).sum();
        totals.keys_queried.fetch_add(answers.len() as u64, Relaxed);
        totals.sets_listed.fetch_add(named, Relaxed);
    }

    /// The cost of querying these keys, found by repeating the query on every set.
    fn cost(
        &self,
        keys: &[api::Key],
        only: Only<'_>,
        deadline: Instant,
    ) -> Result<api::Cost, Error> {
        let mut cost = api::Cost::default();
        for key in keys {
            in_time(deadline)?;
            let index = self.shared.index.read();
            let (_, figures) = index.view().explain(key);
            cost.filters_tested += figures.filters_tested;
            cost.words_read += figures.words_read;
        }
        let (index, catalog) = (self.shared.index.read(), self.shared.read());
        let scope = index.scope(|set| {
            let takes = only.is_all() || only.takes(&catalog, text(&set));
            cost.sets += u64::from(takes);
            takes
        });
        // The index is locked, so the scope matches it.
        if let Ok(view) = index.within(&scope) {
            cost.expected_false = view.expected_false();
        }
        Ok(cost)
    }

    /// Sets by name: those after `after`, with this prefix, with this tag.
    pub fn list(
        &self,
        prefix: &str,
        tag: Option<&str>,
        after: Option<&str>,
        limit: Option<usize>,
    ) -> api::SetList {
        let limit = limit.unwrap_or(LIST).clamp(1, MOST_LIST);
        let only = Only { prefix, tag };
        let (mut sets, mut next): (Vec<api::Set>, _) = (Vec::new(), None);
        let mut after = after.map(str::to_owned);
        // In parts, so that changes can be made in between.
        'all: loop {
            let catalog = self.shared.read();
            let mut last = None;
            for (name, entry) in catalog.range(prefix, after.as_deref()).take(LOOKED_AT) {
                last = Some(name.to_string());
                if !only.has_tag(entry) {
                    continue;
                }
                if sets.len() == limit {
                    next = sets.last().map(|set| set.name.clone());
                    break 'all;
                }
                sets.push(entry.describe(name));
            }
            match last {
                Some(last) => after = Some(last),
                None => break,
            }
        }
        api::SetList {
            sets,
            next,
            total: self.len() as u64,
        }
    }

    /// One set.
    ///
    /// # Errors
    /// If there is no such set.
    pub fn info(&self, name: &str) -> Result<api::Set, Error> {
        let entry = self.shared.read().get(name).cloned();
        let entry = entry.ok_or_else(|| not_found(name))?;
        Ok(entry.describe(name))
    }

    /// A counter of the memory of all sets.
    pub fn bytes(&self) -> Arc<AtomicU64> {
        self.shared.bytes.clone()
    }

    /// Number of sets.
    pub fn len(&self) -> usize {
        self.shared.read().len()
    }

    /// Whether there are no sets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All sets as at most this many cells, with neighbouring names together.
    pub fn picture(&self, cells: Option<usize>) -> api::Picture {
        let most = cells.unwrap_or(CELLS).clamp(1, MOST_CELLS);
        let sets = self.len();
        let each = sets.div_ceil(most).max(1);
        let mut cells: Vec<api::Cell> = Vec::new();
        let (mut at, mut after) = (0, None);
        loop {
            let catalog = self.shared.read();
            let mut last = None;
            for (name, entry) in catalog.range("", after.as_deref()).take(LOOKED_AT) {
                let fill = entry.params.fill(entry.ones);
                match cells.last_mut().filter(|_| at % each != 0) {
                    Some(cell) => {
                        cell.sets += 1;
                        cell.fill = cell.fill.max(fill);
                    }
                    None => cells.push(api::Cell {
                        first: name.to_string(),
                        sets: 1,
                        fill,
                    }),
                }
                at += 1;
                last = Some(name.to_string());
            }
            match last {
                Some(last) => after = Some(last),
                None => break,
            }
        }
        api::Picture {
            sets: sets as u64,
            cells,
        }
    }

    /// Totals since the start.
    pub fn totals(&self) -> api::Totals {
        let totals = &self.shared.totals;
        api::Totals {
            keys_queried: totals.keys_queried.load(Relaxed),
            sets_listed: totals.sets_listed.load(Relaxed),
            changes: totals.changes.load(Relaxed),
            commits: totals.commits.load(Relaxed),
            keys_added: totals.keys_added.load(Relaxed),
        }
    }

    /// The status of the coordinator.
    pub fn status(&self) -> api::Status {
        let index = self.shared.index.read();
        let segments = index.segments().into_iter();
        let segments = segments.map(|segment| api::Segment {
            shape: segment.shape.to_string(),
            reason: segment.choice.reason,
            sets: segment.sets as u64,
            bits: segment.params.bits(),
            hashes: segment.params.hashes(),
            bytes: segment.bytes,
            density: segment.density,
        });
        api::Status {
            program: env!("CARGO_PKG_VERSION").into(),
            uptime: self.shared.started.elapsed().as_secs_f64(),
            sets: index.len() as u64,
            bytes: index.bytes(),
            memory_limit: self.shared.limits.memory,
            store_bytes: self.shared.store.bytes(),
            version: self.shared.version.load(Relaxed),
            segments: segments.collect(),
            totals: self.totals(),
            cpu_seconds: process::cpu_seconds(),
            resident_bytes: process::resident_bytes(),
            examples: Vec::new(),
            traces: Vec::new(),
        }
    }

    /// The snapshots, newest last.
    pub fn snapshots(&self) -> api::Snapshots {
        let mut snapshots = Vec::new();
        for file in std::fs::read_dir(self.snapshots_directory())
            .into_iter()
            .flatten()
            .flatten()
        {
            let (Ok(name), Ok(about)) = (file.file_name().into_string(), file.metadata()) else {
                continue;
            };
            let created = name.split('-').next().and_then(|time| time.parse().ok());
            if let Some(created) = created.filter(|_| name.ends_with(".redb")) {
                snapshots.push(api::Snapshot {
                    file: name,
                    bytes: about.len(),
                    created,
                });
            }
        }
        snapshots.sort_by(|a, b| (a.created, &a.file).cmp(&(b.created, &b.file)));
        api::Snapshots { snapshots }
    }
}
