//! A coordinator and its sites in this process, filled with a day's events, and traces in them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bloomgrove_client::Client;
use bloomgrove_client::api::{Event, Trace, TraceQuery};
use bloomgrove_http::config::Limits;
use bloomgrove_server::config::TraceOptions;
use bloomgrove_server::{Config, Server};
use bloomgrove_site::generate::{Ancestry, Workload};
use bloomgrove_site::{CoordinatorConfig, Handle, Site, SiteConfig};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::truth::{Truth, of_trace};
use crate::Progress;

/// Events that a site records at a time.
const AT_A_TIME: usize = 2000;
/// Sites that record at the same time.
const AT_ONCE: usize = 4;
/// Longer than any run: sites publish when told to, and count as connected meanwhile.
const PERIOD: Duration = Duration::from_secs(6 * 3600);
/// No trace may time out, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(600);
/// One in this many documents has a long history.
const LONG: usize = 100;
const SEED: u64 = 8;

/// How documents are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sampled {
    /// Each with the same probability.
    Any,
    /// From the hundredth with the most ancestors.
    Long,
}

impl Sampled {
    pub(super) const ALL: [Self; 2] = [Self::Any, Self::Long];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Long => "long",
        }
    }
}

/// A coordinator and its sites.
pub(super) struct Federation {
    runtime: Runtime,
    client: Client,
    sites: Vec<Handle>,
    stops: Vec<watch::Sender<bool>>,
    running: JoinSet<Result<()>>,
    pub(super) truth: Truth,
    /// Documents with their number of ancestors, in descending order of that.
    by_ancestors: Vec<(u64, u32)>,
    // Last, so that it is removed when nothing in it is open any more.
    _directory: tempfile::TempDir,
}

impl Federation {
    /// Starts everything, records all events, and publishes.
    pub(super) fn new(workload: Workload, fpr: f64, progress: &mut Progress<'_>) -> Result<Self> {
        progress(&format!("{} sites: events", workload.sites))?;
        let truth = Truth::new(workload);
        let ancestry = Ancestry::new(workload.steps());
        let documents = 0..ancestry.documents();
        let ancestors = |document| (ancestry.history(document).ancestors, document);
        let mut by_ancestors: Vec<(u64, u32)> = documents.map(ancestors).collect();
        by_ancestors.sort_unstable_by(|one, other| other.cmp(one));

        let runtime = Runtime::new()?;
        let directory = tempfile::tempdir()?;
        let (mut running, mut stops) = (JoinSet::new(), Vec::new());
        progress(&format!("{} sites: starting", workload.sites))?;
        let (client, sites) = runtime.block_on(async {
            let server = Server::bind(Config {
                data: directory.path().join("coordinator"),
                listen: vec!["127.0.0.1:0".parse()?],
                limits: Limits {
                    request_time: PATIENCE,
                    ..Limits::default()
                },
                trace: TraceOptions {
                    time: PATIENCE,
                    site_time: PATIENCE,
                    ..TraceOptions::default()
                },
                ..Config::default()
            })
            .await?;
            let url = format!("http://{}", server.addresses()[0]);
            stops.push(server.stopper());
            running.spawn(server.run());
            let client = Client::builder(&*url).timeout(PATIENCE).build()?;
            while !client.is_ready().await.unwrap_or(false) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let mut sites = Vec::new();
            for (number, ids) in (0..).zip(truth.ids()) {
                let name = workload.site(number);
                let site = Site::bind(SiteConfig {
                    data: directory.path().join(&name),
                    name,
                    listen: vec!["127.0.0.1:0".parse()?],
                    coordinator: Some(CoordinatorConfig::new(&*url)),
                    period: PERIOD,
                    expect: ids.max(1),
                    fpr,
                    ..SiteConfig::default()
                })
                .await?;
                sites.push(site.handle());
                stops.push(site.stopper());
                running.spawn(site.run());
            }
            anyhow::Ok((client, sites))
        })?;
        let this = Self {
            runtime,
            client,
            sites,
            stops,
            running,
            truth,
            by_ancestors,
            _directory: directory,
        };
        this.fill(progress)?;
        Ok(this)
    }

    fn fill(&self, progress: &mut Progress<'_>) -> Result<()> {
        let workload = self.truth.workload;
        let mut waiting: Vec<Vec<Event>> = vec![Vec::new(); self.sites.len()];
        let mut recording = JoinSet::new();
        let mut record = |site: usize, events: Vec<Event>| {
            self.runtime.block_on(async {
                if recording.len() == AT_ONCE
                    && let Some(done) = recording.join_next().await
                {
                    recorded(done)?;
                }
                let handle = self.sites[site].clone();
                recording.spawn(async move { handle.record(events).await.map(drop) });
                anyhow::Ok(())
            })
        };
        for (count, (site, event)) in workload.events().enumerate() {
            if count % 50_000 == 0 {
                progress(&format!("{} sites: {count} events", workload.sites))?;
            }
            let site = site as usize;
            waiting[site].push(event);
            if waiting[site].len() == AT_A_TIME {
                record(site, std::mem::take(&mut waiting[site]))?;
            }
        }
        for (site, events) in waiting.into_iter().enumerate() {
            if !events.is_empty() {
                record(site, events)?;
            }
        }
        self.runtime.block_on(async {
            while let Some(done) = recording.join_next().await {
                recorded(done)?;
            }
            for site in &self.sites {
                let published = site.publish().await;
                published.map_err(|refusal| anyhow::anyhow!("{}: {refusal:?}", site.name()))?;
            }
            let known = self.client.sites().await?.sites;
            let all = known.len() == self.sites.len();
            ensure!(all, "{} of {} sites", known.len(), self.sites.len());
            anyhow::Ok(())
        })
    }

    /// Documents of this kind, each with its number of ancestors; always the same ones.
    pub(super) fn sample(&self, sampled: Sampled, count: usize) -> Vec<(u32, u64)> {
        let all = match sampled {
            Sampled::Any => &self.by_ancestors[..],
            Sampled::Long => {
                let long = self.by_ancestors.len().div_ceil(LONG);
                &self.by_ancestors[..long]
            }
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        (0..count.min(all.len()))
            .map(|_| all[random.random_range(0..all.len() as u64) as usize])
            .map(|(ancestors, document)| (document, ancestors))
            .collect()
    }

    /// Traces a document to its ancestors; also returns whether the answer is that of a single store.
    pub(super) fn trace(
        &self,
        document: u32,
        depth: Option<u32>,
        broadcast: bool,
    ) -> Result<Traced> {
        let id = self.truth.workload.document(document);
        let question = TraceQuery {
            ids: vec![id.clone()],
            depth,
            seconds: Some(PATIENCE.as_secs_f64() / 2.0),
            broadcast,
            ..TraceQuery::default()
        };
        let begun = Instant::now();
        let trace = self.runtime.block_on(self.client.trace(&question));
        let trace = trace.with_context(|| id.clone())?;
        let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
        let exact = trace.complete && of_trace(&trace) == self.truth.lineage(document, depth);
        Ok(Traced {
            trace,
            milliseconds,
            exact,
        })
    }

    /// Bytes of all filters.
    pub(super) fn filter_bytes(&self) -> u64 {
        let sets = self.sites.iter().flat_map(|site| site.status().sets);
        sets.map(|set| set.bits.div_ceil(8)).sum()
    }
}

type Done = Result<Result<(), bloomgrove_http::Error>, tokio::task::JoinError>;

fn recorded(done: Done) -> Result<()> {
    done?.map_err(|error| anyhow::anyhow!("not recorded: {error:?}"))
}

impl Drop for Federation {
    fn drop(&mut self) {
        for stop in &self.stops {
            stop.send_replace(true);
        }
        let running = &mut self.running;
        self.runtime.block_on(async {
            // An error at the end does not affect the measurements.
            while running.join_next().await.is_some() {}
        });
    }
}

/// A trace, and whether it is correct.
pub(super) struct Traced {
    pub(super) trace: Trace,
    /// As seen by the client.
    pub(super) milliseconds: f64,
    pub(super) exact: bool,
}

/// Sums over traces.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) traces: u64,
    pub(super) wrong: u64,
    pub(super) nodes: f64,
    pub(super) sites: f64,
    pub(super) rounds: f64,
    pub(super) messages: f64,
    pub(super) questions: f64,
    pub(super) empty_answers: f64,
    pub(super) bytes: f64,
    pub(super) milliseconds: f64,
    pub(super) index_milliseconds: f64,
    pub(super) all_messages: f64,
    pub(super) all_questions: f64,
    pub(super) all_bytes: f64,
    /// The messages of each trace as a share of those of a broadcast.
    pub(super) shares: Vec<f64>,
}

impl Sums {
    pub(super) fn add(&mut self, traced: &Traced) {
        let (trace, cost) = (&traced.trace, &traced.trace.cost);
        self.traces += 1;
        self.wrong += u64::from(!traced.exact);
        self.nodes += trace.nodes.len() as f64;
        let telling = trace.sites.iter().filter(|site| site.nodes > 0);
        self.sites += telling.count() as f64;
        self.rounds += cost.rounds as f64;
        self.messages += cost.requests as f64;
        self.questions += cost.lookups as f64;
        self.empty_answers += cost.empty_answers as f64;
        self.bytes += (cost.bytes_sent + cost.bytes_received) as f64;
        self.milliseconds += traced.milliseconds;
        self.index_milliseconds += cost.index_milliseconds;
        self.all_messages += cost.broadcast.requests as f64;
        self.all_questions += cost.broadcast.lookups as f64;
        self.all_bytes += cost.broadcast.bytes as f64;
        let share = cost.requests as f64 / cost.broadcast.requests.max(1) as f64;
        self.shares.push(share);
    }

    /// A sum divided by the number of traces.
    pub(super) fn mean(&self, of: fn(&Self) -> f64) -> f64 {
        of(self) / self.traces.max(1) as f64
    }

    /// The messages of all traces, in % of those of a broadcast.
    pub(super) fn share(&self) -> f64 {
        100.0 * self.messages / self.all_messages.max(1.0)
    }

    /// The share of traces with at most 5 %, in %.
    pub(super) fn within(&self) -> f64 {
        let within = self.shares.iter().filter(|share| **share <= 0.05).count();
        100.0 * within as f64 / self.shares.len().max(1) as f64
    }
}
