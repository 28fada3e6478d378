//! The heartbeats of a site, and whether the index contains all that it has published.
//!
//! With every heartbeat a site reports which versions of its sets it believes to be here. A set is what the site has sent if
//! its whole filter was last replaced at that version or before, and if it now has that version or a later one: deltas
//! only add. If a set is gone, was reset, or was replaced by someone else, the site is behind until it has sent it again
//! and reported so.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bloomgrove_client::api::{RegisterSite, sets_of_site};
use bloomgrove_client::clock;

use super::super::catalog::Catalog;
use super::super::store::SiteRecord;

/// After this many periods without a heartbeat, a site is offline.
const PERIODS: u32 = 3;

/// A registered site.
#[derive(Clone, Debug)]
pub(in super::super) struct Registration {
    pub(in super::super) record: SiteRecord,
    pub(in super::super) life: Arc<Life>,
}

/// Heartbeats.
#[derive(Debug)]
pub(in super::super) struct Life {
    /// The start of times: when this coordinator first saw the site.
    since: Duration,
    /// Milliseconds from then to the last heartbeat, plus one; 0 for none yet.
    heard: AtomicU64,
    /// The time of day at the last heartbeat: it advances while the machine sleeps.
    heard_at: AtomicU64,
    pending: AtomicU64,
    expired: AtomicBool,
    /// The length of its log.
    position: AtomicU64,
    /// The sets that the site believes to be here: the last parts of their names, sorted, and versions.
    believed: Mutex<Vec<(Box<str>, u64)>>,
}

/// The contents of a heartbeat.
#[derive(Debug, Default)]
pub(super) struct Sign {
    pub(super) pending: u64,
    pub(super) expired: bool,
    pub(super) position: u64,
    /// Like [`Life::believed`].
    pub(super) believed: Vec<(Box<str>, u64)>,
}

impl Sign {
    /// From a registration; versions of another store are ignored.
    pub(super) fn new(name: &str, site: &RegisterSite, is_of_here: bool) -> Self {
        let prefix = sets_of_site(name);
        let believed = site.sets.iter().filter_map(|set| {
            let label = set.name.strip_prefix(&prefix)?;
            Some((label.into(), if is_of_here { set.version } else { 0 }))
        });
        let mut believed: Vec<(Box<str>, u64)> = believed.collect();
        believed.sort_unstable();
        Self {
            pending: site.pending,
            expired: site.expired,
            position: site.position,
            believed,
        }
    }
}

impl Life {
    pub(in super::super) fn new() -> Self {
        Self {
            since: clock::passed(),
            heard: AtomicU64::new(0),
            heard_at: AtomicU64::new(0),
            pending: AtomicU64::new(0),
            expired: AtomicBool::new(false),
            position: AtomicU64::new(0),
            believed: Mutex::default(),
        }
    }

    fn believed(&self) -> MutexGuard<'_, Vec<(Box<str>, u64)>> {
        self.believed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, sign: &Sign) {
        let mut believed = self.believed();
        let now = u64::try_from(self.known_for().as_millis()).unwrap_or(u64::MAX - 1);
        self.heard.store(now + 1, Relaxed);
        self.heard_at.store(clock::now(), Relaxed);
        self.pending.store(sign.pending, Relaxed);
        self.expired.store(sign.expired, Relaxed);
        self.position.store(sign.position, Relaxed);
        if *believed != sign.believed {
            believed.clone_from(&sign.believed);
        }
    }

    /// How long ago the last heartbeat was, if there was one.
    pub(super) fn heard(&self) -> Option<Duration> {
        let heard = self.heard.load(Relaxed).checked_sub(1)?;
        Some(
            self.known_for()
                .saturating_sub(Duration::from_millis(heard)),
        )
    }

    /// The same, or the difference of the times of day if that is longer: the machine was asleep, or the clock was set.
    fn silent(&self) -> Option<Duration> {
        let by_day = clock::now().saturating_sub(self.heard_at.load(Relaxed));
        Some(self.heard()?.max(Duration::from_secs(by_day)))
    }

    fn known_for(&self) -> Duration {
        clock::passed().saturating_sub(self.since)
    }

    /// Ids that it could not publish.
    pub(super) fn pending(&self) -> u64 {
        self.pending.load(Relaxed)
    }

    /// How many of its sets are not what it has sent, or were replaced after this version.
    fn differing(&self, name: &str, catalog: &Catalog, since: u64) -> usize {
        let believed = self.believed();
        if believed.is_empty() {
            return 0;
        }
        let prefix = sets_of_site(name);
        let mut present = catalog.range(&prefix, None).peekable();
        let differs = |(label, version): &&(Box<str>, u64)| {
            let of = |name: &str| name.strip_prefix(&prefix).unwrap_or(name) < &**label;
            while present.next_if(|(name, _)| of(name)).is_some() {}
            let here = present.peek();
            let here = here.filter(|(name, _)| name.strip_prefix(&prefix) == Some(label));
            here.is_none_or(|(_, entry)| {
                entry.whole > since || !(entry.whole..=entry.version).contains(version)
            })
        };
        believed.iter().filter(differs).count()
    }
}

impl Registration {
    /// Records a heartbeat, unless it was overtaken by one that was sent later. From a site that is offline every one is
    /// accepted: its log may have been restored from a backup.
    pub(super) fn hear(&self, sign: &Sign) {
        let is_late = sign.position < self.life.position.load(Relaxed);
        if !(is_late && self.is_online()) {
            self.life.hear(sign);
        }
    }

    pub(super) fn is_online(&self) -> bool {
        let allowed = Duration::from_secs(self.record.period) * PERIODS;
        self.life.silent().is_some_and(|silent| silent <= allowed)
    }

    /// Whether its name is reserved: while it is online, and after a start of the coordinator until it had time for a
    /// heartbeat.
    pub(in super::super) fn holds_its_name(&self) -> bool {
        let allowed = Duration::from_secs(self.record.period) * PERIODS;
        let silent = self.life.heard();
        silent.unwrap_or_else(|| self.life.known_for()) <= allowed
    }

    /// Why the index may lack some of its ids, or may have lacked some since this version, if so. What a site did before its
    /// first heartbeat after a start is unknown.
    pub(super) fn behind(&self, name: &str, catalog: &Catalog, since: u64) -> Option<String> {
        let Some(silent) = self.life.silent() else {
            return Some(format!(
                "no heartbeat since the coordinator started {:.0} s ago: anything it has recorded \
                 since then is not indexed",
                self.life.known_for().as_secs_f64()
            ));
        };
        if !self.is_online() {
            return Some(format!(
                "offline for {:.0} s: anything it has recorded since then is not indexed",
                silent.as_secs_f64()
            ));
        }
        let differing = self.life.differing(name, catalog, since);
        match (self.life.pending(), differing) {
            (0, 0) if self.life.expired.load(Relaxed) => Some(
                "some of its windows have expired: ids that are only in these are not indexed (a trace that \
                 queries all sites, `broadcast`, finds them)"
                    .into(),
            ),
            (0, 0) => None,
            (0, sets) => Some(format!(
                "{sets} of its sets are not what it sent: their ids may not be indexed"
            )),
            (pending, _) => Some(format!(
                "{pending} of its ids could not be published and are not indexed"
            )),
        }
    }
}
