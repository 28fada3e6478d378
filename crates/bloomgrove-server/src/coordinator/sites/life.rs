//! Signs of life of a site, and whether the index has all that it has published.
//!
//! A site says with every sign of life which versions of its sets it believes to be here. A set is
//! what the site has sent if its filter last came whole at that version or before, and has that
//! version or a later one: deltas only add. One that is gone, that went back, or that somebody else
//! has replaced is not, and the site is behind until it has sent it again and said so.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bloomgrove_client::api::{RegisterSite, sets_of_site};
use bloomgrove_client::clock;

use super::super::catalog::Catalog;
use super::super::store::SiteRecord;

/// So many periods without a sign of life, and it is out of touch.
const PERIODS: u32 = 3;

/// A site that is registered.
#[derive(Clone, Debug)]
pub(in super::super) struct Registration {
    pub(in super::super) record: SiteRecord,
    pub(in super::super) life: Arc<Life>,
}

/// Signs of life.
#[derive(Debug)]
pub(in super::super) struct Life {
    /// What times are counted from: when this coordinator got to know the site.
    since: Duration,
    /// Milliseconds since then, and one more; 0 for not yet.
    heard: AtomicU64,
    /// The time of day then: it goes on while the machine sleeps.
    heard_at: AtomicU64,
    pending: AtomicU64,
    expired: AtomicBool,
    /// How long its log was.
    position: AtomicU64,
    /// What the site believes to be here: the last parts of names, in order, and versions.
    believed: Mutex<Vec<(Box<str>, u64)>>,
}

/// What comes with a sign of life.
#[derive(Debug, Default)]
pub(super) struct Sign {
    pub(super) pending: u64,
    pub(super) expired: bool,
    pub(super) position: u64,
    /// As [`Life::believed`].
    pub(super) believed: Vec<(Box<str>, u64)>,
}

impl Sign {
    /// Of sets of a site; versions of another store are none of here.
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

    /// How long ago it was heard of, if it was.
    pub(super) fn heard(&self) -> Option<Duration> {
        let heard = self.heard.load(Relaxed).checked_sub(1)?;
        Some(
            self.known_for()
                .saturating_sub(Duration::from_millis(heard)),
        )
    }

    /// The same, also by the time of day, if that is longer: a machine that was asleep, or a clock that
    /// was set.
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

    /// How many of its sets are not what it has sent, or came whole after this version.
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
    /// Takes a sign of life, unless one that was sent later has come before it. From a site that is out
    /// of touch every one is taken: its log may have been put back.
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

    /// Whether its name is its own: while it is in touch, and after a start of the coordinator until
    /// it had time to be heard of.
    pub(in super::super) fn holds_its_name(&self) -> bool {
        let allowed = Duration::from_secs(self.record.period) * PERIODS;
        let silent = self.life.heard();
        silent.unwrap_or_else(|| self.life.known_for()) <= allowed
    }

    /// Why what it has recorded may not be in the index, or not always since this version, if so. Of
    /// one that was not heard of since the start nobody can tell what it did meanwhile.
    pub(super) fn behind(&self, name: &str, catalog: &Catalog, since: u64) -> Option<String> {
        let Some(silent) = self.life.silent() else {
            return Some(format!(
                "not heard of since the coordinator was started {:.0} s ago: what it recorded \
                 meanwhile is in no index",
                self.life.known_for().as_secs_f64()
            ));
        };
        if !self.is_online() {
            return Some(format!(
                "out of touch for {:.0} s: anything it has recorded since then is not indexed",
                silent.as_secs_f64()
            ));
        }
        let differing = self.life.differing(name, catalog, since);
        match (self.life.pending(), differing) {
            (0, 0) if self.life.expired.load(Relaxed) => Some(
                "some of its windows have expired: ids that are only in these are not indexed (a trace \
                 that queries all sites, `broadcast`, finds them)"
                    .into(),
            ),
            (0, 0) => None,
            (0, sets) => Some(format!(
                "{sets} of its sets are not what it sent: their ids may not be indexed"
            )),
            (pending, _) => Some(format!(
                "could not publish {pending} of its ids: these are not indexed"
            )),
        }
    }
}
