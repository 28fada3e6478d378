//! A running trace: rounds of looking up, querying and merging, until nothing is new or a limit is reached.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bloomgrove_client::api::{Start, Trace, TraceQuery};
use bloomgrove_http::budget::Charge;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout_at;

use super::graph::{Graph, Place, SiteNo, Starts};
use super::report::Report;
use super::share::Shares;
use super::site_query::{SiteAnswer, SiteQuery};
use super::{MOST_LINKS, Tracer};
use crate::Error;
use crate::coordinator::{Coordinator, KnownSite};
use crate::http::metrics as names;
use bloomgrove_render as render;

/// The default time limit in seconds.
const SECONDS: f64 = 10.0;
/// Maximum number of queries of one trace in progress: half of the total, so that sites that stall cannot hold up
/// all other traces.
const AT_A_TIME: usize = 32;
/// Memory of an answer while the trace keeps it, per byte.
const KEPT: u64 = 3;
/// Ids that are looked up together: for each, the numbers of the sites that may know it are kept.
const LOOKED_UP: usize = 256;

/// Sites whose answers are pending, and whether the query has been sent.
type Waiting = BTreeMap<SiteNo, Arc<AtomicBool>>;

/// A running trace.
pub(super) struct Run<'a> {
    tracer: &'a Tracer,
    coordinator: &'a Arc<Coordinator>,
    request: &'a TraceQuery,
    charge: &'a Charge,
    sites: Vec<KnownSite>,
    /// The coordinator's version when the trace started.
    version: u64,
    numbers: Arc<HashMap<Arc<str>, SiteNo>>,
    shares: Shares,
    /// Sites that are not queried any more.
    gone: HashSet<SiteNo>,
    /// Limits the queries of this trace in progress.
    room: Arc<Semaphore>,
    graph: Graph,
    report: Report,
    seconds: f64,
    deadline: Instant,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        tracer: &'a Tracer,
        coordinator: &'a Arc<Coordinator>,
        request: &'a TraceQuery,
        charge: &'a Charge,
    ) -> Self {
        let version = coordinator.version();
        let sites = coordinator.known_sites();
        let numbered = sites.iter().zip(0..);
        let numbers = numbered.map(|(site, number)| (site.name.clone(), number));
        let most = tracer.time.as_secs_f64();
        let seconds = request.seconds.unwrap_or(SECONDS).min(most);
        let links = request.links.unwrap_or(MOST_LINKS).min(tracer.links);
        let mut report = Report::new(sites.len());
        if !request.broadcast {
            let behind = sites.iter();
            let behind = behind.filter_map(|site| Some((&*site.name, site.behind.clone()?)));
            report.miss_behind(behind);
        }
        Self {
            tracer,
            coordinator,
            numbers: Arc::new(numbers.collect()),
            graph: Graph::new(
                &request.ids,
                request.direction,
                request.depth,
                usize::try_from(links).unwrap_or(usize::MAX),
            ),
            request,
            charge,
            sites,
            version,
            shares: Shares::default(),
            gone: HashSet::new(),
            room: Arc::new(Semaphore::new(AT_A_TIME)),
            report,
            seconds,
            deadline: Instant::now() + Duration::from_secs_f64(seconds),
        }
    }

    /// Runs rounds until there is nothing left to query, or a limit is reached.
    pub(super) async fn rounds(&mut self) -> Result<(), Error> {
        loop {
            let fresh = self.graph.take_fresh();
            for fresh in fresh.chunks(LOOKED_UP) {
                self.name(fresh).await?;
            }
            let (gone, shares) = (&self.gone, &self.shares);
            let most = |site| shares.size(site).ids;
            let queries = self.graph.queries(|site| gone.contains(&site), most);
            if fresh.is_empty() && queries.is_empty() {
                return Ok(());
            }
            let new = fresh.iter().map(|(place, id)| Start {
                id: id.to_string(),
                depth: self.graph.to_go(*place).flatten(),
            });
            let direction = self.request.direction;
            self.report
                .round(new.collect(), queries.values(), direction);
            if Instant::now() >= self.deadline {
                self.late(Waiting::new());
                return Ok(());
            }
            if let Some(why) = self.graph.full() {
                self.report.miss(None, format!("ended early: {why}"));
                return Ok(());
            }
            if !queries.is_empty() && !self.query(queries).await {
                return Ok(());
            }
        }
    }

    /// Finds the sites that may know these ids.
    async fn name(&mut self, fresh: &[(Place, Arc<str>)]) -> Result<(), Error> {
        let started = Instant::now();
        if self.graph.full().is_some() || started >= self.deadline {
            // It ends before any site is queried.
            return Ok(());
        }
        // In addition: unregistered sites are only found by their sets.
        if self.request.broadcast {
            for (place, _) in fresh {
                for site in 0..self.sites.len() {
                    self.graph.name(*place, site as SiteNo);
                }
            }
        }
        let ids: Vec<Arc<str>> = fresh.iter().map(|(_, id)| id.clone()).collect();
        let (coordinator, numbers) = (self.coordinator.clone(), self.numbers.clone());
        let look = move || coordinator.sites_of(&ids, &numbers);
        // On a separate thread: an id may be in every set.
        let named = tokio::task::spawn_blocking(look)
            .await
            .map_err(|_| Error::broken_off())?;
        for ((place, _), sites) in fresh.iter().zip(named.sites) {
            for site in sites {
                self.graph.name(*place, site);
            }
        }
        self.report.miss_unregistered(named.unregistered);
        for (number, rate) in named.overfull {
            if let Some(site) = self.sites.get(number as usize) {
                self.report.miss_overfull(number, &site.name, rate);
            }
        }
        self.report.index_took(started.elapsed());
        Ok(())
    }

    /// Queries all of these sites at the same time, and merges their answers; returns whether to continue.
    async fn query(&mut self, queries: BTreeMap<SiteNo, Starts>) -> bool {
        let mut waiting: Waiting = queries
            .keys()
            .map(|number| (*number, Arc::default()))
            .collect();
        // Aborted when dropped.
        let mut sending: JoinSet<SiteAnswer> = JoinSet::new();
        for (number, starts) in queries {
            let Some(site) = self.sites.get(number as usize) else {
                continue;
            };
            let sent = waiting.get(&number).cloned().unwrap_or_default();
            let query = SiteQuery {
                number,
                sent,
                site: self.tracer.site(site),
                starts,
                direction: self.request.direction,
                size: self.shares.size(number),
                // Not what is left of the trace's time: its end is not the site's fault.
                time: self.tracer.site_time,
                charge: self.charge.part(),
            };
            sending.spawn(query.send(self.room.clone(), self.tracer.requests.clone()));
        }
        let deadline = self.deadline.into();
        loop {
            match timeout_at(deadline, sending.join_next()).await {
                Ok(None) => {
                    self.unanswered(waiting, "could not be queried; see the server's log");
                    return true;
                }
                // It panicked, and its site stays among the pending ones.
                Ok(Some(Err(error))) => tracing::error!(%error, "querying a site failed"),
                Ok(Some(Ok(outcome))) => {
                    waiting.remove(&outcome.number);
                    if !self.take(outcome) {
                        return false;
                    }
                }
                Err(_) => return self.late(waiting),
            }
        }
    }

    /// Merges an answer; returns whether to continue.
    fn take(&mut self, mut outcome: SiteAnswer) -> bool {
        let number = outcome.number;
        let Some(site) = self.sites.get(number as usize) else {
            return true;
        };
        metrics::counter!(names::SITE_REQUESTS).increment(outcome.requests);
        outcome.leave_cut_open();
        if outcome.answer.is_ok()
            && let Err(why) = self.shares.take(number, outcome.size, outcome.bytes)
        {
            outcome.answer = Err(why);
        }
        if outcome.answer.is_ok() && self.charge.take(outcome.bytes * KEPT).is_err() {
            outcome.answer = Err("the coordinator has no memory left for its answer".into());
        }
        self.report.answered(&site.name, &outcome);
        match outcome.answer {
            Ok(answer) => {
                let taken = self.graph.take(number, answer);
                self.graph.query_again(&outcome.left);
                self.report.took(number, &taken);
            }
            Err(why) => {
                metrics::counter!(names::SITE_FAILURES).increment(1);
                tracing::warn!(site = %site.name, why, "a site failed to answer a trace");
                self.gone.insert(number);
            }
        }
        let Some(why) = self.graph.full() else {
            return true;
        };
        self.report.miss(None, format!("ended early: {why}"));
        false
    }

    /// The time limit is reached.
    fn late(&mut self, waiting: Waiting) -> bool {
        let why = format!(
            "ended early: the time limit of {} s was reached",
            self.seconds
        );
        self.report.miss(None, why);
        let (sent, unsent): (Waiting, Waiting) = waiting
            .into_iter()
            .partition(|(_, sent)| sent.load(Relaxed));
        self.unanswered(sent, "had not answered by the time limit");
        // Others took all the time, which is not the fault of these.
        for number in unsent.into_keys() {
            if let Some(site) = self.sites.get(number as usize) {
                self.report
                    .miss(Some(&site.name), "was not queried in time");
            }
        }
        false
    }

    /// These sites have not answered, and are not queried any more.
    fn unanswered(&mut self, sites: Waiting, why: &str) {
        for number in sites.into_keys() {
            if let Some(site) = self.sites.get(number as usize) {
                self.report.unanswered(number, &site.name, why);
            }
            self.gone.insert(number);
        }
    }

    pub(super) async fn finish(mut self) -> Result<Trace, Error> {
        // Sets may have been removed during the trace.
        if !self.request.broadcast {
            let behind = self.coordinator.behind_since(self.version);
            let behind = behind.into_iter().filter(|(name, _)| {
                let known = self.numbers.get(name);
                let known = known.and_then(|number| self.sites.get(*number as usize));
                known.is_none_or(|site| site.behind.is_none())
            });
            let behind: Vec<(Arc<str>, String)> = behind.collect();
            let behind = behind.iter().map(|(name, why)| (&**name, why.clone()));
            self.report.miss_behind(behind);
        }
        let names: Vec<Arc<str>> = self.sites.iter().map(|site| site.name.clone()).collect();
        let (request, graph, report) = (self.request.clone(), self.graph, self.report);
        // Sorting a hundred thousand links takes a while.
        let work = tokio::task::spawn_blocking(move || {
            let (nodes, links) = graph.finish(&names);
            let (sites, missing, cost) = report.finish();
            let mut trace = Trace {
                ids: request.ids,
                direction: request.direction,
                complete: missing.is_empty(),
                missing,
                nodes,
                links,
                sites,
                cost,
                picture: None,
            };
            if request.picture {
                trace.picture = Some(render::svg(&trace));
            }
            trace
        });
        let broken_off = |_| Error::broken_off();
        work.await.map_err(broken_off)
    }
}
