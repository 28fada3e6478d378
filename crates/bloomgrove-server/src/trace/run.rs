//! A trace under way: rounds of looking up, asking and merging, until nothing is new or a limit is reached.

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

/// Seconds, unless others are asked for.
const SECONDS: f64 = 10.0;
/// Questions of one trace that are on their way: half of all, so that sites that stall cannot hold up
/// every other trace.
const AT_A_TIME: usize = 32;
/// What an answer takes while the trace keeps it, for each of its bytes.
const KEPT: u64 = 3;
/// Ids that are looked up together: a site's number for each that may know one is kept.
const LOOKED_UP: usize = 256;

/// Sites that are to answer, and whether the question has gone out.
type Waiting = BTreeMap<SiteNo, Arc<AtomicBool>>;

/// A trace under way.
pub(super) struct Run<'a> {
    tracer: &'a Tracer,
    coordinator: &'a Arc<Coordinator>,
    request: &'a TraceQuery,
    charge: &'a Charge,
    sites: Vec<KnownSite>,
    /// The coordinator's, when it began.
    version: u64,
    numbers: Arc<HashMap<Arc<str>, SiteNo>>,
    shares: Shares,
    /// Sites that are not asked any more.
    gone: HashSet<SiteNo>,
    /// For questions of this trace that are on their way.
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

    /// Until nobody is to be asked any more, or a limit is reached.
    pub(super) async fn rounds(&mut self) -> Result<(), Error> {
        loop {
            let fresh = self.graph.take_fresh();
            for fresh in fresh.chunks(LOOKED_UP) {
                self.name(fresh).await?;
            }
            let (gone, shares) = (&self.gone, &self.shares);
            let most = |site| shares.size(site).ids;
            let questions = self.graph.questions(|site| gone.contains(&site), most);
            if fresh.is_empty() && questions.is_empty() {
                return Ok(());
            }
            let new = fresh.iter().map(|(place, id)| Start {
                id: id.to_string(),
                depth: self.graph.to_go(*place).flatten(),
            });
            let direction = self.request.direction;
            self.report
                .round(new.collect(), questions.values(), direction);
            if Instant::now() >= self.deadline {
                self.late(Waiting::new());
                return Ok(());
            }
            if let Some(why) = self.graph.full() {
                self.report.miss(None, format!("ended early: {why}"));
                return Ok(());
            }
            if !questions.is_empty() && !self.ask(questions).await {
                return Ok(());
            }
        }
    }

    /// Finds out who may know these ids.
    async fn name(&mut self, fresh: &[(Place, Arc<str>)]) -> Result<(), Error> {
        let started = Instant::now();
        if self.graph.full().is_some() || started >= self.deadline {
            // It ends before anybody is asked.
            return Ok(());
        }
        // Not instead: sites that are not registered are only found by their sets.
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
        // On a thread of its own: an id may be in every set.
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

    /// Asks all of them at the same time, and takes what they tell; says whether to go on.
    async fn ask(&mut self, questions: BTreeMap<SiteNo, Starts>) -> bool {
        let mut waiting: Waiting = questions
            .keys()
            .map(|number| (*number, Arc::default()))
            .collect();
        // Dropped with this, they end.
        let mut asking: JoinSet<SiteAnswer> = JoinSet::new();
        for (number, question) in questions {
            let Some(site) = self.sites.get(number as usize) else {
                continue;
            };
            let sent = waiting.get(&number).cloned().unwrap_or_default();
            let ask = SiteQuery {
                number,
                sent,
                site: self.tracer.site(site),
                question,
                direction: self.request.direction,
                size: self.shares.size(number),
                // Not what is left of the trace: its end is not the site's fault.
                time: self.tracer.site_time,
                charge: self.charge.part(),
            };
            asking.spawn(ask.ask(self.room.clone(), self.tracer.requests.clone()));
        }
        let deadline = self.deadline.into();
        loop {
            match timeout_at(deadline, asking.join_next()).await {
                Ok(None) => {
                    self.unanswered(waiting, "could not be asked; the server's log tells more");
                    return true;
                }
                // It panicked, and stays among those who are waited for.
                Ok(Some(Err(error))) => tracing::error!(%error, "asking a site"),
                Ok(Some(Ok(asked))) => {
                    waiting.remove(&asked.number);
                    if !self.take(asked) {
                        return false;
                    }
                }
                Err(_) => return self.late(waiting),
            }
        }
    }

    /// Takes an answer; says whether to go on.
    fn take(&mut self, mut asked: SiteAnswer) -> bool {
        let number = asked.number;
        let Some(site) = self.sites.get(number as usize) else {
            return true;
        };
        metrics::counter!(names::SITE_REQUESTS).increment(asked.requests);
        asked.leave_cut_open();
        if asked.answer.is_ok()
            && let Err(why) = self.shares.take(number, asked.size, asked.bytes)
        {
            asked.answer = Err(why);
        }
        if asked.answer.is_ok() && self.charge.take(asked.bytes * KEPT).is_err() {
            asked.answer = Err("this server has no memory left for its answer".into());
        }
        self.report.asked(&site.name, &asked);
        match asked.answer {
            Ok(answer) => {
                let taken = self.graph.take(number, answer);
                self.graph.ask_again(&asked.left);
                self.report.took(number, &taken);
            }
            Err(why) => {
                metrics::counter!(names::SITE_FAILURES).increment(1);
                tracing::warn!(site = %site.name, why, "a site did not answer a trace");
                self.gone.insert(number);
            }
        }
        let Some(why) = self.graph.full() else {
            return true;
        };
        self.report.miss(None, format!("ended early: {why}"));
        false
    }

    /// The time is over.
    fn late(&mut self, waiting: Waiting) -> bool {
        let why = format!("ended early: {} s were over", self.seconds);
        self.report.miss(None, why);
        let (asked, unasked): (Waiting, Waiting) = waiting
            .into_iter()
            .partition(|(_, sent)| sent.load(Relaxed));
        self.unanswered(asked, "had not answered when the time was over");
        // Others took all the time, which is not their fault.
        for number in unasked.into_keys() {
            if let Some(site) = self.sites.get(number as usize) {
                self.report.miss(Some(&site.name), "was not asked in time");
            }
        }
        false
    }

    /// These sites have not answered, and are not asked any more.
    fn unanswered(&mut self, sites: Waiting, why: &str) {
        for number in sites.into_keys() {
            if let Some(site) = self.sites.get(number as usize) {
                self.report.unanswered(number, &site.name, why);
            }
            self.gone.insert(number);
        }
    }

    pub(super) async fn finish(mut self) -> Result<Trace, Error> {
        // Sets may have gone while it looked for them.
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
