//! The loop that keeps the coordinator up to date.
//!
//! ```text
//!   every period   what is new in each set    as a delta to what was acknowledged
//!                  PUT /v1/sites/NAME         heartbeat with the expected versions; returns the actual ones
//!                  what differs, what is new  whole
//!                  PUT /v1/sites/NAME         again, if anything was missing the first time
//!   on failure     retry after a moment, then after twice as long, up to 20 s
//! ```
//!
//! Deltas are sent first, so that the heartbeat covers everything recorded before the round, and traces stay complete
//! during it. Whole filters are sent after it: a site that is rejected sends none, because if another site with its name
//! is online, the two would replace each other's sets.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bloomgrove_client::api::{Code, CoordinatorStatus, MEDIA_MESSAGE, RegisterSite, Registered};
use bloomgrove_client::clock::now;
use bloomgrove_client::{Client, Error, PutOptions};
use tokio::sync::watch;

use super::set::Message;
use crate::records::Records;

/// Longest time between two attempts: until the next heartbeat, traces are incomplete.
const LONGEST: Duration = Duration::from_secs(20);
/// How long to wait for the site's own stop before a failure is reported.
const NOTICE: Duration = Duration::from_millis(200);
/// Time limit for the last round when the site shuts down.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often a set is sent in one round before giving up: a delta, the whole filter, and once more if someone else has
/// changed it meanwhile.
const ATTEMPTS: usize = 4;

/// What a site reports about itself.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) period: Duration,
}

/// Keeps one coordinator up to date.
#[derive(Debug)]
pub(crate) struct Publisher {
    records: Arc<Records>,
    client: Client,
    site: About,
    /// One round at a time.
    round: tokio::sync::Mutex<()>,
    last: Mutex<Last>,
    whole: AtomicU64,
    whole_bytes: AtomicU64,
    deltas: AtomicU64,
    delta_bytes: AtomicU64,
}

/// In which form sets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Only as deltas.
    Delta,
    /// As deltas or whole.
    Any,
}

/// The result of the last round.
#[derive(Debug, Default)]
struct Last {
    succeeded: Option<Instant>,
    problem: Option<String>,
    /// It was logged that the coordinator does not support sites.
    told_old: bool,
    /// The store of the coordinator.
    store: Option<u64>,
}

impl Publisher {
    pub(crate) fn new(records: Arc<Records>, client: Client, site: About) -> Self {
        let store = records.sets().store();
        Self {
            records,
            client,
            site,
            round: tokio::sync::Mutex::default(),
            last: Mutex::new(Last {
                store,
                ..Last::default()
            }),
            whole: AtomicU64::new(0),
            whole_bytes: AtomicU64::new(0),
            deltas: AtomicU64::new(0),
            delta_bytes: AtomicU64::new(0),
        }
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes in every period until the site is stopped, and what is left then.
    pub(crate) async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut failures: u32 = 0;
        let mut stopped = stop.clone();
        loop {
            let mut round = std::pin::pin!(self.round());
            let done = tokio::select! {
                done = &mut round => done,
                // A coordinator that does not respond does not delay shutdown.
                () = async { drop(stopped.wait_for(|stop| *stop).await) } => {
                    let rest = async {
                        let _ = round.await;
                        self.farewell().await;
                    };
                    let _ = tokio::time::timeout(FAREWELL, rest).await;
                    return;
                }
            };
            let wait = match done {
                Ok(()) => {
                    if failures > 0 {
                        tracing::info!(
                            coordinator = self.client.server(),
                            "coordinator reachable again"
                        );
                    }
                    failures = 0;
                    self.site.period
                }
                Err(error) => {
                    // A demo stops its coordinator together with its sites, which may be seen here first.
                    let stopped = stop.wait_for(|stop| *stop);
                    if tokio::time::timeout(NOTICE, stopped).await.is_ok() {
                        break;
                    }
                    if failures == 0 {
                        let coordinator = self.client.server();
                        tracing::warn!(coordinator, "publishing failed, will retry: {error:#}");
                    }
                    failures = failures.saturating_add(1);
                    back_off(self.site.period, failures)
                }
            };
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => break,
                () = tokio::time::sleep(wait) => {}
            }
        }
        let _ = tokio::time::timeout(FAREWELL, self.farewell()).await;
    }

    /// Publishes what is left at shutdown; what cannot be sent is sent after the next start.
    async fn farewell(&self) {
        let pending = self.records.sets().pending();
        if pending > 0 {
            let _ = self.round().await;
        }
    }

    /// One round: sends everything that is new, and a heartbeat.
    ///
    /// # Errors
    /// What went wrong; what was not sent is sent in the next round.
    pub(crate) async fn round(&self) -> Result<()> {
        let _one_at_a_time = self.round.lock().await;
        let done = self.publish().await;
        let mut last = self.last();
        match &done {
            Ok(()) => {
                last.succeeded = Some(Instant::now());
                last.problem = None;
            }
            Err(error) => last.problem = Some(format!("{error:#}")),
        }
        done
    }

    async fn publish(&self) -> Result<()> {
        let records = self.records.clone();
        let gone = tokio::task::spawn_blocking(move || records.settle(now())).await??;
        for set in gone {
            self.note(set, None).await?;
        }
        let (mut names, counts, position) = {
            let sets = self.records.sets();
            (sets.names(), sets.counts(), sets.position())
        };
        // What is recorded from now on is sent in the next round.
        let pending = || self.records.sets().pending_of(&counts);
        let mut failed = None;
        self.send_all(&mut names, Form::Delta, &mut failed).await;
        let unsent = pending();
        let registered = self.register(unsent, position).await?;
        let mut again = unsent > 0;
        for set in &names {
            if self.differs(set, registered.as_ref()) {
                tracing::info!(
                    set,
                    "the coordinator has another version; sending the whole filter"
                );
                self.records.sets().forget(set);
                again = true;
            }
        }
        again |= self.send_all(&mut names, Form::Any, &mut failed).await;
        if let Some(error) = failed {
            // The heartbeat is useful nevertheless.
            let _ = self.register(pending(), position).await;
            return Err(error);
        }
        if again {
            self.register(pending(), position).await?;
        }
        let records = self.records.clone();
        let settled = tokio::task::spawn_blocking(move || records.settled(position));
        if let Err(error) = settled.await? {
            tracing::warn!("cannot record that everything was published: {error:#}");
        }
        self.remove_outdated().await
    }

    /// Sends everything that is new in these sets; returns whether one was sent whole. A set that cannot be sent is removed
    /// from the list, and does not hold up the others.
    async fn send_all(
        &self,
        sets: &mut Vec<String>,
        form: Form,
        failed: &mut Option<anyhow::Error>,
    ) -> bool {
        let (mut whole, mut sent) = (false, Vec::new());
        for set in std::mem::take(sets) {
            match self.send(&set, form).await {
                Ok(went_whole) => {
                    whole |= went_whole;
                    sent.push(set);
                }
                Err(error) => {
                    let unreachable = matches!(error.downcast_ref(), Some(Error::Transport { .. }));
                    failed.get_or_insert(error);
                    if unreachable {
                        return whole;
                    }
                }
            }
        }
        *sets = sent;
        whole
    }

    /// Removes sets of an earlier division into windows.
    async fn remove_outdated(&self) -> Result<()> {
        let outdated = self.records.sets().outdated();
        for set in outdated {
            match self.client.remove(&set).await {
                Err(error) if error.code() != Some(Code::NotFound) => {
                    return Err(error).with_context(|| format!("cannot remove {set}"));
                }
                _ => tracing::info!(set, "removed, because the windows have changed"),
            }
            self.records.sets().dropped(&set);
            self.note(set, None).await?;
        }
        Ok(())
    }

    /// Whether the coordinator's version of a set differs from the one it has acknowledged.
    fn differs(&self, set: &str, registered: Option<&Registered>) -> bool {
        let Some(registered) = registered else {
            return false;
        };
        let sets = self.records.sets();
        // A set without ids is not there either.
        let Some((ours, store)) = sets.version(set) else {
            return false;
        };
        let mut theirs = registered.sets.iter();
        let theirs = theirs.find(|own| own.name == set).map(|own| own.version);
        // One that is being sent will be seen next time; but not at another coordinator, where versions may be equal by
        // chance.
        store != registered.store || (theirs != Some(ours) && !sets.is_unanswered(set))
    }

    /// Sends a heartbeat; none if the coordinator does not support sites.
    async fn register(&self, pending: u64, position: u64) -> Result<Option<Registered>> {
        let store = self.last().store;
        let (sets, expired) = {
            let sets = self.records.sets();
            (sets.believed(store), sets.has_expired(now()))
        };
        let site = RegisterSite {
            url: self.site.url.clone(),
            key: Some(self.site.key.clone()),
            period: self.site.period.as_secs().clamp(1, 86_400),
            pending,
            store,
            sets,
            expired,
            position,
        };
        match self.client.register_site(&self.site.name, &site).await {
            Ok(registered) => {
                self.last().store = registered.store;
                Ok(Some(registered))
            }
            Err(error) if error.code() == Some(Code::NotFound) => {
                if !std::mem::replace(&mut self.last().told_old, true) {
                    tracing::warn!(
                        "the coordinator is too old to support sites; publishing continues"
                    );
                }
                Ok(None)
            }
            Err(error) => Err(error).context("cannot register"),
        }
    }

    /// Sends everything that is new in a set; returns whether it was sent whole.
    async fn send(&self, set: &str, form: Form) -> Result<bool> {
        let (mut last, mut whole) = (None, false);
        for _ in 0..ATTEMPTS {
            let message = self.records.sets().next(set, now());
            let Some(message) = message else {
                return Ok(whole);
            };
            if form == Form::Delta && message.base().is_none() {
                return Ok(whole);
            }
            match self.send_message(&message).await {
                Ok(version) => {
                    whole |= message.base().is_none();
                    let store = self.last().store;
                    let note = self.records.sets().acknowledge(&message, version, store);
                    if let Some(note) = note {
                        let note = serde_json::to_vec(&note)?;
                        self.note(set.to_owned(), Some(note)).await?;
                    }
                    last = None;
                }
                Err(error) => {
                    let fits_not = matches!(
                        error.code(),
                        Some(Code::SendWhole | Code::NotFound | Code::Incompatible)
                    );
                    if message.base().is_none() || !fits_not {
                        return Err(error).with_context(|| format!("cannot send {set}"));
                    }
                    tracing::debug!(set, "sending the whole filter: {error}");
                    self.records.sets().forget(set);
                    last = Some(error);
                }
            }
        }
        match last {
            Some(error) => Err(error).with_context(|| format!("cannot send {set}")),
            // Ids come faster than they can be sent; the rest is sent in the next round.
            None => Ok(whole),
        }
    }

    async fn send_message(&self, message: &Message) -> Result<u64, Error> {
        // Takes a while for a large filter.
        let coding = message.clone();
        let coded = tokio::task::spawn_blocking(move || coding.bytes()).await;
        let coded = coded.unwrap_or_else(|error| Err(error.into()));
        let bytes = coded.map_err(|error| Error::Invalid {
            what: format!("cannot compress the filter: {error:#}"),
        })?;
        let size = bytes.len() as u64;
        let (count, sum) = match message.base() {
            Some(_) => (&self.deltas, &self.delta_bytes),
            None => (&self.whole, &self.whole_bytes),
        };
        count.fetch_add(1, Relaxed);
        sum.fetch_add(size, Relaxed);
        match message.base() {
            Some(base) => {
                let sent = self.client.merge_bytes(&message.set, bytes, Some(base));
                Ok(sent.await?.version)
            }
            None => {
                let options = PutOptions {
                    expires_in: message.expires_in,
                    ..PutOptions::default()
                };
                let (set, client) = (&message.set, &self.client);
                let sent = client.put_bytes(set, MEDIA_MESSAGE, bytes, &options);
                Ok(sent.await?.0.version)
            }
        }
    }

    async fn note(&self, set: String, note: Option<Vec<u8>>) -> Result<()> {
        let records = self.records.clone();
        let noted =
            tokio::task::spawn_blocking(move || records.log.note_published(&set, note.as_deref()));
        // It is in memory; without the note, the next start costs a whole filter.
        if let Err(error) = noted.await? {
            tracing::warn!("cannot record what was published: {error:#}");
        }
        Ok(())
    }

    /// The status of the connection.
    pub(crate) fn status(&self) -> CoordinatorStatus {
        let last = self.last();
        CoordinatorStatus {
            url: self.client.server().to_owned(),
            connected: last.succeeded.is_some() && last.problem.is_none(),
            last_success: last.succeeded.map(|at| at.elapsed().as_secs_f64()),
            problem: last.problem.clone(),
            whole: self.whole.load(Relaxed),
            whole_bytes: self.whole_bytes.load(Relaxed),
            deltas: self.deltas.load(Relaxed),
            delta_bytes: self.delta_bytes.load(Relaxed),
        }
    }
}

/// How long to wait after this many failures, with jitter so that the sites of a federation do not retry all at once.
fn back_off(period: Duration, failures: u32) -> Duration {
    let first = period.min(Duration::from_secs(1));
    let doubled = first.saturating_mul(1 << (failures - 1).min(10));
    doubled
        .min(LONGEST)
        .mul_f64(0.5 + 0.5 * rand::random::<f64>())
}

#[cfg(test)]
mod tests;
