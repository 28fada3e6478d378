//! Questions: which sets hold a key, what sets are there, how they lie.
//!
//! A question restricted by prefix or tag asks all sets and drops the others from the answer: asking
//! a hundred thousand takes microseconds, and choosing among them first would take longer.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use bloomgrove::index;
use bloomgrove_client::api::{self, Code};

use super::Coordinator;
use super::catalog::{Catalog, Entry};
use super::refusal::Refusal;
use crate::observe::process;

/// Keys asked for while the lock is held: a change waits for so many at most.
const CHUNK: usize = 512;
/// Names in the answer to one key, usually and at most, and to all keys of a request.
const NAMES: u64 = 1000;
const MOST_NAMES: u64 = 100_000;
const MOST_NAMES_IN_ALL: usize = 1_000_000;
/// Sets in a list.
const LIST: usize = 100;
const MOST_LIST: usize = 1000;
const CELLS: usize = 2000;
const MOST_CELLS: usize = 20_000;

/// Which sets a question is about.
#[derive(Clone, Copy, Debug, Default)]
struct Only<'a> {
    prefix: &'a str,
    tag: Option<&'a str>,
}

impl Only<'_> {
    fn is_all(&self) -> bool {
        self.prefix.is_empty() && self.tag.is_none()
    }

    fn has_tag(&self, entry: &Entry) -> bool {
        self.tag
            .is_none_or(|tag| entry.tags.iter().any(|own| own == tag))
    }

    fn takes(&self, catalog: &Catalog, name: &str) -> bool {
        name.starts_with(self.prefix)
            && (self.tag.is_none() || catalog.get(name).is_some_and(|entry| self.has_tag(entry)))
    }
}

fn in_time(deadline: Instant) -> Result<(), Refusal> {
    match Instant::now() < deadline {
        true => Ok(()),
        false => Err(Refusal::new(
            Code::Timeout,
            "it took longer than the server allows; ask for fewer keys at a time",
        )),
    }
}

/// A set's name, which was text when it came.
pub(super) fn text<'a>(set: &index::Set<'a>) -> &'a str {
    std::str::from_utf8(set.name()).unwrap_or_default()
}

impl Coordinator {
    /// Which sets may hold each of the keys.
    ///
    /// # Errors
    /// Too many keys.
    pub fn which(&self, request: &api::WhichRequest) -> Result<api::Which, Refusal> {
        self.check_keys(request.keys.len())?;
        let only = Only {
            prefix: request.prefix.as_deref().unwrap_or_default(),
            tag: request.tag.as_deref(),
        };
        let limit = request.limit.unwrap_or(NAMES);
        if limit > MOST_NAMES {
            let detail = format!("limit is {limit}; it may be {MOST_NAMES} at most");
            return Err(Refusal::invalid(detail));
        }
        let limit = limit as usize;
        let mut answers = Vec::with_capacity(request.keys.len());
        let mut left = MOST_NAMES_IN_ALL;
        let started = Instant::now();
        let deadline = started + self.shared.limits.time;
        for keys in request.keys.chunks(CHUNK) {
            in_time(deadline)?;
            let catalog = self.shared.read();
            for sets in catalog.index.which_many(keys).iter() {
                let names = sets.iter().map(text);
                let names = names.filter(|name| only.is_all() || only.takes(&catalog, name));
                let (count, sets) = if request.count_only {
                    (names.count(), None)
                } else {
                    let mut names: Vec<&str> = names.collect();
                    names.sort_unstable();
                    let shown = names.iter().take(limit.min(left));
                    let shown: Vec<String> = shown.map(|name| name.to_string()).collect();
                    left -= shown.len();
                    (names.len(), Some(shown))
                };
                answers.push(api::Answer {
                    count: count as u64,
                    sets,
                });
            }
        }
        let microseconds = started.elapsed().as_secs_f64() * 1e6;
        let totals = &self.shared.totals;
        let keys = request.keys.len() as u64;
        totals.keys_asked.fetch_add(keys, Relaxed);
        let named = answers.iter().map(|answer| answer.count).sum();
        totals.sets_named.fetch_add(named, Relaxed);
        let mut cost = None;
        if request.explain {
            cost = Some(api::Cost {
                microseconds,
                ..self.cost(&request.keys, only, deadline)?
            });
        }
        Ok(api::Which { answers, cost })
    }

    /// What asking for these keys costs: by asking again, and looking at every set.
    fn cost(
        &self,
        keys: &[api::Key],
        only: Only<'_>,
        deadline: Instant,
    ) -> Result<api::Cost, Refusal> {
        let mut cost = api::Cost::default();
        for keys in keys.chunks(CHUNK) {
            in_time(deadline)?;
            let catalog = self.shared.read();
            for key in keys {
                let (_, figures) = catalog.index.explain(key);
                cost.filters_tested += figures.filters_tested;
                cost.words_read += figures.words_read;
            }
        }
        let catalog = self.shared.read();
        let scope = catalog
            .index
            .scope(|set| only.is_all() || only.takes(&catalog, text(&set)));
        cost.sets = scope.len() as u64;
        // The lock is held, so the scope is of this index.
        if let Ok(view) = catalog.index.within(&scope) {
            cost.expected_false = view.expected_false();
        }
        Ok(cost)
    }

    /// Sets by name: those behind `after`, of this prefix, with this tag.
    pub fn list(
        &self,
        prefix: &str,
        tag: Option<&str>,
        after: Option<&str>,
        limit: Option<usize>,
    ) -> api::SetList {
        let limit = limit.unwrap_or(LIST).clamp(1, MOST_LIST);
        let only = Only { prefix, tag };
        let catalog = self.shared.read();
        let mut matching = catalog
            .range(prefix, after)
            .filter(|(_, entry)| only.has_tag(entry));
        let sets: Vec<api::Set> = matching
            .by_ref()
            .take(limit)
            .map(|(name, entry)| catalog.describe(name, entry))
            .collect();
        let next = matching.next().and(sets.last()).map(|set| set.name.clone());
        api::SetList {
            sets,
            next,
            total: catalog.len() as u64,
        }
    }

    /// One set.
    ///
    /// # Errors
    /// No such set.
    pub fn info(&self, name: &str) -> Result<api::Set, Refusal> {
        let catalog = self.shared.read();
        let entry = catalog.get(name).ok_or_else(|| Refusal::not_found(name))?;
        Ok(catalog.describe(name, entry))
    }

    /// How many sets there are.
    pub fn len(&self) -> usize {
        self.shared.read().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All sets as at most so many cells, neighbours by name together.
    pub fn picture(&self, cells: Option<usize>) -> api::Picture {
        let most = cells.unwrap_or(CELLS).clamp(1, MOST_CELLS);
        let catalog = self.shared.read();
        let each = catalog.len().div_ceil(most).max(1);
        let mut cells: Vec<api::Cell> = Vec::new();
        for (at, (name, entry)) in catalog.range("", None).enumerate() {
            let ones = catalog
                .index
                .get(name.as_bytes())
                .map_or(0, |set| set.ones());
            let fill = ones as f64 / entry.params.bits() as f64;
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
        }
        api::Picture {
            sets: catalog.len() as u64,
            cells,
        }
    }

    /// What was done since the start.
    pub fn totals(&self) -> api::Totals {
        let totals = &self.shared.totals;
        api::Totals {
            keys_asked: totals.keys_asked.load(Relaxed),
            sets_named: totals.sets_named.load(Relaxed),
            changes: totals.changes.load(Relaxed),
            commits: totals.commits.load(Relaxed),
            keys_added: totals.keys_added.load(Relaxed),
        }
    }

    /// The state of it all.
    pub fn status(&self) -> api::Status {
        let catalog = self.shared.read();
        let segments = catalog.index.segments_info().into_iter();
        let segments = segments.map(|segment| api::Segment {
            shape: segment.shape.name().into(),
            reason: segment.plan.reason,
            sets: segment.sets as u64,
            bits: segment.params.bits(),
            hashes: segment.params.hashes(),
            bytes: segment.bytes,
            density: segment.density,
        });
        api::Status {
            program: env!("CARGO_PKG_VERSION").into(),
            uptime: self.shared.started.elapsed().as_secs_f64(),
            sets: catalog.len() as u64,
            bytes: catalog.index.bytes(),
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

    /// The snapshots, the newest last.
    pub fn snapshots(&self) -> api::Snapshots {
        let mut snapshots = Vec::new();
        for file in std::fs::read_dir(self.snapshots_folder())
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
