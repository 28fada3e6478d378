//! Traces: the lineage of documents across all sites, found in rounds.
//!
//! ```text
//!   ids to trace
//!        |
//!        v
//!   new ids --> index: whose sets may contain them? --> one query to each such site
//!        ^                                                 | all at the same time
//!        `--- merge: links, nodes, shorter distances <-----' checked
//! ```
//!
//! Each site follows its own links as far as they go, so a round takes a trace to the next sites, not to the next link. A
//! site is queried only for what it may know and has not returned yet.
//!
//! | file | contents |
//! |---|---|
//! | `mod.rs` | `Tracer`: checks queries, and limits how many run at a time |
//! | `run.rs` | the rounds, and their limits |
//! | `graph.rs` | what is known so far; which sites to query for what |
//! | `check.rs` | checks an answer against its query |
//! | `site_query.rs`, `pool.rs` | one query to one site; connections |
//! | `share.rs` | how much of a trace one site may take |
//! | `report.rs` | what a trace cost, and what may be missing |
//!
//! Source: section 4 of the Bloofi paper (Crainiceanu), which sends one query for each id. We differ in that all ids of a
//! round are sent to a site in one request, that a site returns all it can reach, and that the result says what may be
//! missing.
//!
//! Cost: as many rounds as the longest path has changes of sites; memory for the links found and the answers in progress
//! ([`TraceOptions`](crate::config::TraceOptions) and the constants in these files).
//! Invariant: however triples are distributed over sites, the result is that of one store with all of them, or `missing`
//! says why it may not be.

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

/// Maximum number of traces at a time, and of their requests in progress.
const TRACES: usize = 16;
const REQUESTS: usize = 64;
/// Maximum number of ids to start from.
const MOST_IDS: usize = 1000;
/// Maximum number of links of one trace.
const MOST_LINKS: u64 = 100_000;

/// Queries sites for traces.
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
    /// If certificates cannot be read.
    pub fn new(config: &Config) -> Result<Self> {
        // The rest of the time is for sending the response.
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

    /// Like [`new`](Self::new), with sites that are reached through `carrier`.
    ///
    /// # Errors
    /// Like [`new`](Self::new).
    pub fn carried(config: &Config, carrier: Arc<dyn Carrier>) -> Result<Self> {
        let tracer = Self::new(config)?;
        let pool = Pool::carried(config, carrier)?;
        Ok(Self { pool, ..tracer })
    }

    /// Whether a site may be at this host.
    ///
    /// # Errors
    /// Why not.
    pub fn may_query(&self, host: &str) -> Result<(), String> {
        self.sites.may_be_at(host)
    }

    /// A client for the site. Whether it may be at its host is checked again: it may have been registered under other
    /// settings.
    fn site(&self, site: &KnownSite) -> Result<Site, String> {
        let host = host_of(&site.url).map_err(|error| error.to_string())?;
        self.may_query(&host)?;
        self.pool.site(site)
    }

    /// The lineage of documents across all sites. Aborted when dropped. Answers of sites are charged while they arrive, and as
    /// long as the trace keeps them.
    ///
    /// # Errors
    /// If the query is invalid, or there are too many traces at a time.
    pub async fn trace(
        &self,
        coordinator: &Arc<Coordinator>,
        request: &TraceQuery,
        charge: &Charge,
    ) -> Result<Trace, Error> {
        check(request)?;
        let _permit = self.traces.try_acquire().map_err(|_| {
            let detail = format!("{TRACES} traces are already running; try again in a moment");
            Error::new(Code::Busy, detail)
        })?;
        let mut run = Run::new(self, coordinator, request, charge);
        run.rounds().await?;
        let trace = run.finish().await?;
        metrics::counter!(names::TRACES, "complete" => trace.complete.to_string()).increment(1);
        Ok(trace)
    }
}

/// Checks a query.
fn check(request: &TraceQuery) -> Result<(), Error> {
    let wrong = |detail: String| Err(Error::new(Code::Invalid, detail));
    let ids = request.ids.len();
    if !(1..=MOST_IDS).contains(&ids) {
        return wrong(format!(
            "the query has {ids} ids; a trace must start from 1 to {MOST_IDS} ids"
        ));
    }
    let is_id = |id: &&String| !(1..=LONGEST_ENCRYPTED_ID).contains(&id.len());
    if let Some(id) = request.ids.iter().find(is_id) {
        return wrong(format!(
            "an id is {} bytes long; it must have 1 to {LONGEST_ENCRYPTED_ID} bytes",
            id.len()
        ));
    }
    if let Some(seconds) = request.seconds
        && (seconds <= 0.0 || seconds.is_nan())
    {
        return wrong(format!("seconds is {seconds}; it must be above 0"));
    }
    match request.links {
        Some(links) if !(1..=MOST_LINKS).contains(&links) => wrong(format!(
            "links is {links}; it must be from 1 to {MOST_LINKS}"
        )),
        _ => Ok(()),
    }
}
