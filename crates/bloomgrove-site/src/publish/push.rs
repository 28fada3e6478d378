//! The loop that keeps the coordinator up to date.
//!
//! ```text
//!   every period   what is new of each set    a delta on what was acknowledged, or the whole
//!                  PUT /v1/sites/NAME         here I am; what do you have of me?
//!                  what differs               whole
//!   no answer      again after a moment, then after twice as long, up to 20 s
//! ```

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bloomgrove_client::api::{Code, CoordinatorStatus, MEDIA_MESSAGE, RegisterSite, Registered};
use bloomgrove_client::{Client, Error, PutOptions};
use tokio::sync::watch;

use super::set::Message;
use crate::records::{Records, now};

/// Longest time between two attempts: until a site is heard of again, traces are not complete.
const LONGEST: Duration = Duration::from_secs(20);
/// How long the last round may take when the site stops.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often a set is sent in one round until it is given up: a delta, the whole, and once more if
/// somebody else has written to it meanwhile.
const ATTEMPTS: usize = 4;

/// What a site says of itself.
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

/// How the last round went.
#[derive(Debug, Default)]
struct Last {
    heard: Option<Instant>,
    problem: Option<String>,
    /// It was said once that the coordinator knows no sites.
    told_old: bool,
}

impl Publisher {
    pub(crate) fn new(records: Arc<Records>, client: Client, site: About) -> Self {
        Self {
            records,
            client,
            site,
            round: tokio::sync::Mutex::default(),
            last: Mutex::default(),
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
                // A coordinator that does not answer keeps nobody from stopping.
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
                        tracing::info!(coordinator = self.client.server(), "in touch again");
                    }
                    failures = 0;
                    self.site.period
                }
                Err(error) => {
                    if failures == 0 {
                        let coordinator = self.client.server();
                        tracing::warn!(coordinator, "not published, will try again: {error:#}");
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

    /// What is not out when the site stops, and is not out then, goes out after the next start.
    async fn farewell(&self) {
        let pending = self.records.sets().pending();
        if pending > 0 {
            let _ = self.round().await;
        }
    }

    /// One round: everything that is new goes out, and the coordinator hears of the site.
    ///
    /// # Errors
    /// What went wrong; what did not go out goes out in the next round.
    pub(crate) async fn round(&self) -> Result<()> {
        let _one_at_a_time = self.round.lock().await;
        let done = self.publish().await;
        let mut last = self.last();
        match &done {
            Ok(()) => {
                last.heard = Some(Instant::now());
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
        let names = self.records.sets().names();
        let mut failed = None;
        for set in &names {
            // One that is refused must not keep the others back.
            if let Err(error) = self.send(set).await {
                let unreachable = matches!(error.downcast_ref(), Some(Error::Transport { .. }));
                failed.get_or_insert(error);
                if unreachable {
                    break;
                }
            }
        }
        if let Some(error) = failed {
            // It may still be glad to hear of the site.
            let pending = self.records.sets().pending();
            let _ = self.register(pending).await;
            return Err(error);
        }
        // What was recorded since goes out in the next round; nothing keeps it back.
        let Some(registered) = self.register(0).await? else {
            return Ok(());
        };
        for set in &names {
            if self.differs(set, &registered) {
                tracing::info!(set, "the coordinator has another state; sending it whole");
                self.records.sets().forget(set);
                self.send(set).await?;
            }
        }
        Ok(())
    }

    /// Whether the coordinator has another state of a set than it has acknowledged.
    fn differs(&self, set: &str, registered: &Registered) -> bool {
        let mut theirs = registered.sets.iter();
        let theirs = theirs.find(|own| own.name == set).map(|own| own.version);
        let sets = self.records.sets();
        // One without ids is not there either; one that is under way will be seen next time.
        let ours = sets.version(set);
        ours.is_some() && ours != theirs && !sets.is_unanswered(set)
    }

    /// Says that the site is there; none if the coordinator knows no sites.
    async fn register(&self, pending: u64) -> Result<Option<Registered>> {
        let site = RegisterSite {
            url: self.site.url.clone(),
            key: Some(self.site.key.clone()),
            period: self.site.period.as_secs().clamp(1, 86_400),
            pending,
        };
        match self.client.register_site(&self.site.name, &site).await {
            Ok(registered) => Ok(Some(registered)),
            Err(error) if error.code() == Some(Code::NotFound) => {
                if !std::mem::replace(&mut self.last().told_old, true) {
                    tracing::warn!(
                        "the coordinator knows nothing of sites: it is too old; publishing goes on"
                    );
                }
                Ok(None)
            }
            Err(error) => Err(error).context("registering"),
        }
    }

    /// Sends all that is new of a set.
    async fn send(&self, set: &str) -> Result<()> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let message = self.records.sets().next(set, now());
            let Some(message) = message else {
                return Ok(());
            };
            match self.send_message(&message).await {
                Ok(version) => {
                    let note = self.records.sets().acknowledge(&message, version);
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
                        return Err(error).with_context(|| format!("sending {set}"));
                    }
                    tracing::debug!(set, "sending it whole: {error}");
                    self.records.sets().forget(set);
                    last = Some(error);
                }
            }
        }
        match last {
            Some(error) => Err(error).with_context(|| format!("sending {set}")),
            // Ids come faster than they go out; the rest goes in the next round.
            None => Ok(()),
        }
    }

    async fn send_message(&self, message: &Message) -> Result<u64, Error> {
        // Of a large filter that takes a while.
        let coding = message.clone();
        let coded = tokio::task::spawn_blocking(move || coding.bytes()).await;
        let coded = coded.unwrap_or_else(|error| Err(error.into()));
        let bytes = coded.map_err(|error| Error::Invalid {
            what: format!("the filter cannot be coded: {error:#}"),
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
        // It is known in memory; without the note the next start costs a whole filter.
        if let Err(error) = noted.await? {
            tracing::warn!("what was published is not noted: {error:#}");
        }
        Ok(())
    }

    /// How it goes.
    pub(crate) fn status(&self) -> CoordinatorStatus {
        let last = self.last();
        CoordinatorStatus {
            url: self.client.server().to_owned(),
            in_touch: last.heard.is_some() && last.problem.is_none(),
            heard: last.heard.map(|at| at.elapsed().as_secs_f64()),
            problem: last.problem.clone(),
            whole: self.whole.load(Relaxed),
            whole_bytes: self.whole_bytes.load(Relaxed),
            deltas: self.deltas.load(Relaxed),
            delta_bytes: self.delta_bytes.load(Relaxed),
        }
    }
}

/// How long to wait after so many failures: not all sites of a federation at the same time.
fn back_off(period: Duration, failures: u32) -> Duration {
    let first = period.min(Duration::from_secs(1));
    let doubled = first.saturating_mul(1 << (failures - 1).min(10));
    doubled
        .min(LONGEST)
        .mul_f64(0.5 + 0.5 * rand::random::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_limit() {
        for period in [Duration::from_millis(50), Duration::from_secs(10)] {
            for failures in 1..100 {
                let wait = back_off(period, failures);
                assert!(wait <= LONGEST && wait >= period.min(Duration::from_secs(1)) / 2);
            }
            assert!(back_off(period, 50) >= LONGEST / 2 || period < Duration::from_secs(1));
        }
    }
}
