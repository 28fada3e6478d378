//! Traces: the lineage of documents across all sites, found in rounds.
//!
//! ```text
//!   ids asked for
//!        |
//!        v
//!   new ids --> index: whose sets may hold them? --> one question to each such site
//!        ^                                                 | all at the same time
//!        `--- merge: links, nodes, what is nearer now <----' checked
//! ```
//!
//! Each site follows its own links as far as they go, so a round takes a trace to the next
//! sites, not to the next link. A site is asked only for what it may know and has not told.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | `Tracer`: what can be asked, and how many at a time |
//! | `run.rs` | the rounds, and their limits |
//! | `graph.rs` | what is known so far; who is to be asked for what |
//! | `check.rs` | what an answer tells, as far as it was asked |
//! | `site_query.rs`, `pool.rs` | one question to one site; connections |
//! | `share.rs` | how much of it one site may take |
//! | `report.rs` | what it took, and what may be missing |
//!
//! Source: section 4 of the Bloofi paper (Crainiceanu), which sends one query for each id.
//! We differ in that all ids of a round go to a site in one message, that a site tells all it can reach, and
//! in that what may be missing is told.
//!
//! Cost: as many rounds as the longest way has changes of sites; memory for the links found and the
//! answers on their way ([`TraceOptions`](crate::config::TraceOptions) and the constants of these files).
//! Invariant: however triples are spread over sites, the result is that of one store with all of
//! them, or `missing` tells why it may not be.

mod check;
mod graph;
mod pool;
mod report;
mod run;
mod share;
mod site_query;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bloomgrove_client::api::{Code, LONGEST_ENCRYPTED_ID, Trace, TraceQuery};
use bloomgrove_client::{Carrier, Site, host_of};
use bloomgrove_http::budget::Charge;
use tokio::sync::Semaphore;

use crate::Error;
use crate::config::{Config, SiteOptions};
use crate::coordinator::{Coordinator, KnownSite};
use crate::http::metrics as names;
use pool::Pool;
use run::Run;

/// Traces at a time, and their questions that are on their way.
const TRACES: usize = 16;
const REQUESTS: usize = 64;
/// Ids to begin with.
const MOST_IDS: usize = 1000;
/// Links of one trace.
const MOST_LINKS: u64 = 100_000;

/// Asks sites on behalf of who traces.
#[derive(Debug)]
pub struct Tracer {
    sites: SiteOptions,
    pool: Pool,
    time: Duration,
    site_time: Duration,
    links: u64,
    traces: Arc<Semaphore>,
    requests: Arc<Semaphore>,
}

impl Tracer {
    /// With the settings of a server.
    ///
    /// # Errors
    /// Certificates that cannot be read.
    pub fn new(config: &Config) -> Result<Self> {
        // The rest is for sending it.
        let most = config.limits.request_time.mul_f64(0.8);
        Ok(Self {
            sites: config.sites.clone(),
            pool: Pool::new(config)?,
            time: config.trace.time.min(most),
            site_time: config.trace.site_time,
            links: config.trace.links,
            traces: Arc::new(Semaphore::new(TRACES)),
            requests: Arc::new(Semaphore::new(REQUESTS)),
        })
    }

    /// As [`new`](Self::new), with sites that are reached by `carrier`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn carried(config: &Config, carrier: Arc<dyn Carrier>) -> Result<Self> {
        let tracer = Self::new(config)?;
        let pool = Pool::carried(config, carrier)?;
        Ok(Self { pool, ..tracer })
    }

    /// Whether a site may be at this host.
    ///
    /// # Errors
    /// Why not.
    pub fn may_ask(&self, host: &str) -> Result<(), String> {
        self.sites.may_be_at(host)
    }

    /// The site, to be asked. Where sites may be is looked at again: it may have been registered when
    /// other settings were in force.
    fn site(&self, site: &KnownSite) -> Result<Site, String> {
        let host = host_of(&site.url).map_err(|error| error.to_string())?;
        self.may_ask(&host)?;
        self.pool.site(site)
    }

    /// The lineage of documents across all sites. Ends when it is dropped. Answers of sites are charged
    /// while they come, and as long as the trace keeps them.
    ///
    /// # Errors
    /// What cannot be asked; too many traces at a time.
    pub async fn trace(
        &self,
        coordinator: &Arc<Coordinator>,
        request: &TraceQuery,
        charge: &Charge,
    ) -> Result<Trace, Error> {
        check(request)?;
        let _permit = self.traces.try_acquire().map_err(|_| {
            let detail = format!("{TRACES} traces are under way; try again in a moment");
            Error::new(Code::Busy, detail)
        })?;
        let mut run = Run::new(self, coordinator, request, charge);
        run.rounds().await?;
        let trace = run.finish().await?;
        metrics::counter!(names::TRACES, "complete" => trace.complete.to_string()).increment(1);
        Ok(trace)
    }
}

/// Whether this can be asked.
fn check(request: &TraceQuery) -> Result<(), Error> {
    let wrong = |detail: String| Err(Error::new(Code::Invalid, detail));
    let ids = request.ids.len();
    if !(1..=MOST_IDS).contains(&ids) {
        return wrong(format!("{ids} ids; a trace begins with 1 to {MOST_IDS}"));
    }
    let is_id = |id: &&String| !(1..=LONGEST_ENCRYPTED_ID).contains(&id.len());
    if let Some(id) = request.ids.iter().find(is_id) {
        return wrong(format!(
            "an id has {} bytes; it may have 1 to {LONGEST_ENCRYPTED_ID}",
            id.len()
        ));
    }
    if let Some(seconds) = request.seconds
        && (seconds <= 0.0 || seconds.is_nan())
    {
        return wrong(format!("seconds is {seconds}; a trace needs some time"));
    }
    match request.links {
        Some(links) if !(1..=MOST_LINKS).contains(&links) => {
            wrong(format!("links is {links}; it may be 1 to {MOST_LINKS}"))
        }
        _ => Ok(()),
    }
}
