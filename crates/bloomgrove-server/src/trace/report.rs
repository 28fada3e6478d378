//! What a trace cost, which sites were queried, and what may be missing.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::time::{Duration, Instant};

use bloomgrove_client::api::{
    BroadcastCost, Direction, LineageQuery, Missing, SiteReport, Start, TraceCost,
};

use super::graph::{SiteNo, Taken};
use super::site_query::SiteAnswer;

/// Number of ids reported as the reason for querying a site.
const WHY: usize = 3;
/// Maximum number of reports of what may be missing for one cause.
const TOLD: usize = 100;
/// The answer of a site that knows nothing.
const NOTHING: &str = "{\"links\":[],\"nodes\":[]}";

#[derive(Debug)]
pub(super) struct Report {
    started: Instant,
    sites: u64,
    queried: BTreeMap<SiteNo, SiteReport>,
    missing: Vec<Missing>,
    unregistered: BTreeSet<String>,
    overfull: BTreeSet<SiteNo>,
    cut: u64,
    cost: TraceCost,
    /// Different ids that were queried.
    ids: u64,
}

impl Report {
    pub(super) fn new(sites: usize) -> Self {
        Self {
            started: Instant::now(),
            sites: sites as u64,
            queried: BTreeMap::new(),
            missing: Vec::new(),
            unregistered: BTreeSet::new(),
            overfull: BTreeSet::new(),
            cut: 0,
            cost: TraceCost::default(),
            ids: 0,
        }
    }

    pub(super) fn miss(&mut self, site: Option<&str>, why: impl Into<String>) {
        self.missing.push(Missing {
            site: site.map(str::to_owned),
            why: why.into(),
        });
    }

    /// Sites of which the index may lack something: some are listed, the others counted.
    pub(super) fn miss_behind<'a>(&mut self, sites: impl Iterator<Item = (&'a str, String)>) {
        let (told, mut more) = (self.missing.len(), 0u64);
        for (name, why) in sites {
            match self.missing.len() - told >= TOLD {
                true => more += 1,
                false => self.miss(Some(name), why),
            }
        }
        if more > 0 {
            let why = format!(
                "{more} more sites are offline or could not publish; see the list of sites"
            );
            self.miss(None, why);
        }
    }

    /// Sets of unregistered sites matched.
    pub(super) fn miss_unregistered(&mut self, names: BTreeSet<String>) {
        for name in names {
            if self.unregistered.len() > TOLD || self.unregistered.contains(&name) {
                continue;
            }
            self.unregistered.insert(name.clone());
            if self.unregistered.len() > TOLD {
                let why = "more sites have sets on this server but are not registered";
                self.miss(None, why);
            } else {
                let why = "has sets on this server but is not registered";
                self.miss(Some(&name), why);
            }
        }
    }

    /// For an id, only an overfull set of this site matched: the site is not queried for it.
    pub(super) fn miss_overfull(&mut self, number: SiteNo, name: &str, rate: f64) {
        if self.overfull.len() > TOLD || !self.overfull.insert(number) {
            return;
        }
        if self.overfull.len() > TOLD {
            self.miss(None, "more sites have overfull sets");
            return;
        }
        let why = format!(
            "not queried: its set is overfull, and accepts {:.0}% of all ids. The site should publish a \
             larger set; to query it anyway, trace with `broadcast`",
            100.0 * rate
        );
        self.miss(Some(name), why);
    }

    pub(super) fn index_took(&mut self, time: Duration) {
        self.cost.index_milliseconds += milliseconds(time);
    }

    /// A round starts: the ids that are new in it, and the queries to be sent.
    pub(super) fn round<'a>(
        &mut self,
        new: Vec<Start>,
        queries: impl Iterator<Item = &'a Vec<Start>>,
        direction: Direction,
    ) {
        self.cost.rounds += 1;
        self.ids += new.len() as u64;
        // Without the index, all sites would be queried for all of these.
        let mut ids = new;
        let mut seen: HashSet<String> = ids.iter().map(|start| start.id.clone()).collect();
        for start in queries.flatten() {
            if seen.insert(start.id.clone()) {
                ids.push(start.clone());
            }
        }
        let query = LineageQuery {
            ids,
            direction,
            links: None,
        };
        self.cost.broadcast.bytes += self.sites * json_bytes(&query);
        self.cost.broadcast.bytes += self.sites * NOTHING.len() as u64;
    }

    /// A site has answered, or failed to.
    pub(super) fn answered(&mut self, name: &str, outcome: &SiteAnswer) {
        self.cost.bytes_received += outcome.bytes_received;
        let site = self.site(outcome.number, name);
        site.requests += outcome.requests;
        site.ids += outcome.starts.len() as u64;
        for start in &outcome.starts {
            if site.why.len() == WHY {
                break;
            }
            if !site.why.contains(&start.id) {
                site.why.push(start.id.clone());
            }
        }
        site.bytes_sent += outcome.bytes_sent;
        site.bytes_received += outcome.bytes_received;
        site.milliseconds += milliseconds(outcome.time);
        match &outcome.answer {
            Ok(answer) => {
                site.dropped += answer.dropped;
                site.empty_answers += u64::from(answer.is_empty);
                // Instead of the answer of a site that knows nothing.
                let bytes = outcome.bytes_received.saturating_sub(NOTHING.len() as u64);
                self.cost.broadcast.bytes += bytes;
                for id in &answer.cut {
                    self.cut += 1;
                    if self.cut <= TOLD as u64 {
                        let why =
                            format!("{id} has more links at this site than fit into an answer");
                        self.miss(Some(name), why);
                    }
                }
            }
            Err(why) => {
                site.problem = Some(why.clone());
                self.miss(Some(name), why.clone());
            }
        }
    }

    /// A site has not answered.
    pub(super) fn unanswered(&mut self, number: SiteNo, name: &str, why: &str) {
        self.site(number, name).requests += 1;
        self.site(number, name).problem = Some(why.into());
        self.miss(Some(name), why);
    }

    fn site(&mut self, number: SiteNo, name: &str) -> &mut SiteReport {
        self.queried.entry(number).or_insert_with(|| SiteReport {
            name: name.to_owned(),
            ..SiteReport::default()
        })
    }

    pub(super) fn took(&mut self, number: SiteNo, taken: &Taken) {
        if let Some(site) = self.queried.get_mut(&number) {
            site.nodes += taken.nodes;
            site.links += taken.links;
        }
    }

    pub(super) fn finish(self) -> (Vec<SiteReport>, Vec<Missing>, TraceCost) {
        let sites: Vec<SiteReport> = self.queried.into_values().collect();
        let sum = |of: fn(&SiteReport) -> u64| sites.iter().map(of).sum();
        let cost = TraceCost {
            sites: self.sites,
            requests: sum(|site| site.requests),
            lookups: sum(|site| site.ids),
            empty_answers: sum(|site| site.empty_answers),
            bytes_sent: sum(|site| site.bytes_sent),
            milliseconds: milliseconds(self.started.elapsed()),
            broadcast: BroadcastCost {
                requests: self.cost.rounds * self.sites,
                lookups: self.ids * self.sites,
                bytes: self.cost.broadcast.bytes,
            },
            ..self.cost
        };
        (sites, self.missing, cost)
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The length of a query as JSON.
fn json_bytes(query: &LineageQuery) -> u64 {
    struct Count(u64);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut count, query);
    count.0
}
