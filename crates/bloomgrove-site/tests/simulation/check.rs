//! What is checked: traces that claim to be complete, and what a round has left in the index.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bloomgrove_client::api::{Direction, Trace, TraceQuery};

use crate::PERIOD;
use crate::truth::{Fact, told};
use crate::world::World;

/// The report about a site with expired windows.
const EXPIRED: &str = "windows have expired";

impl World {
    async fn ask(self: &Arc<Self>, id: &str, direction: Direction, all: bool) -> Option<Trace> {
        let question = TraceQuery {
            ids: vec![id.to_owned()],
            direction,
            broadcast: all,
            ..TraceQuery::default()
        };
        self.client().trace(&question).await.ok()
    }

    /// Traces something: what claims to be complete must be.
    pub(crate) async fn trace(self: &Arc<Self>) {
        let number = self.below(1000);
        let Some(id) = self.inner().truth.document(number).cloned() else {
            return;
        };
        let direction = match self.below(3) {
            0 => Direction::Descendants,
            _ => Direction::Ancestors,
        };
        let Some(coordinator) = self.coordinator() else {
            return;
        };
        let is_known = |number: usize, known: &[String]| known.contains(&format!("site{number}"));
        let names = || -> Vec<String> {
            let sites = coordinator.sites().sites.into_iter();
            sites.map(|site| site.name).collect()
        };
        let (before, due) = (names(), {
            let inner = self.inner();
            // A machine that slept and whose clock was set back cannot know for how long.
            let lately = |time: u64| time + 20 * PERIOD > inner.time;
            let by_age = !(lately(inner.slept) && lately(inner.set_back));
            inner.truth.due(inner.time, by_age)
        });
        let all = self.chance(6);
        let done = self.unless_killed(self.ask(&id, direction, all)).await;
        let Some(Some(trace)) = done else { return };
        let after = names();
        let found = told(&trace);
        let inner = self.inner();
        let wanted = inner.truth.reached(&id, direction, |number, fact| {
            // Sites that were removed from the coordinator cannot be missed by it.
            let is_known = is_known(fact.site, &before) && is_known(fact.site, &after);
            due.get(number) == Some(&true) && is_known
        });
        let possible = inner.truth.reached(&id, direction, |_, _| true);
        drop(inner);
        let (complete, missing) = (trace.complete, trace.missing.len());
        let of = wanted.len();
        self.say(format!(
            "trace of {id}: complete: {complete}, {missing} missing, {of} due"
        ));
        if let Some(pair) = wanted.difference(&found).next()
            && trace.complete
        {
            self.wrong(format!("the trace of {id} is complete, without {pair:?}"));
        }
        if let Some(pair) = found.difference(&possible).next() {
            self.wrong(format!("the trace of {id} has {pair:?}, which nobody said"));
        }
    }

    /// After a round of a site the index contains what was recorded before, or did once; unless something interfered.
    pub(crate) fn check_index(self: &Arc<Self>, site: usize, act: u64, is_clean: bool) {
        let Some(coordinator) = self.coordinator() else {
            return;
        };
        let known: HashMap<Arc<str>, u32> = HashMap::from([(format!("site{site}").into(), 0)]);
        let mut wrong = None;
        let mut inner = self.inner();
        let has_windows = inner.machines[site].window.is_some();
        let facts = inner.truth.facts.iter_mut().filter(|fact| {
            let is_before = fact.site == site && fact.is_acknowledged && fact.act < act;
            is_before && !(has_windows && fact.was_published)
        });
        let facts: Vec<&mut Fact> = facts.collect();
        let ids = facts.iter().flat_map(|fact| fact.ids());
        let ids: Vec<Arc<str>> = ids.map(|id| id.as_str().into()).collect();
        let sites = coordinator.sites_of(&ids, &known).sites;
        let mut sites = sites.iter();
        for fact in facts {
            let mut own = sites.by_ref().take(fact.ids().count());
            let is_found = own.all(|sites| !sites.is_empty());
            own.for_each(drop);
            if !is_found && is_clean {
                wrong = Some(format!(
                    "site {site} has published, but not {:?}",
                    fact.event.id
                ));
            }
            fact.was_published |= is_found || !is_clean;
        }
        drop(inner);
        if let Some(wrong) = wrong {
            self.wrong(wrong);
        }
    }

    /// What was recorded just now is found.
    pub(crate) async fn check_found(self: &Arc<Self>, number: usize) {
        let id = self.inner().truth.facts[number].event.outputs[0].clone();
        let trace = self.ask(&id, Direction::Ancestors, false).await;
        let found = trace.as_ref().map(told).unwrap_or_default();
        if !found.iter().any(|(effect, _)| *effect == id) {
            self.wrong(format!("{id} was published, and is not found"));
        }
    }

    /// When nothing fails, everything is found, and traces are complete.
    pub(crate) async fn check_all(self: &Arc<Self>) {
        let documents: BTreeSet<String> = {
            let truth = &self.inner().truth;
            let facts = truth.facts.len();
            let some = (0..facts).step_by(1 + facts / 2);
            some.filter_map(|number| truth.document(number).cloned())
                .collect()
        };
        for id in documents {
            let trace = self.ask(&id, Direction::Ancestors, false).await;
            let Some(mut trace) = trace else {
                return self.wrong("no trace, though nothing is in its way");
            };
            if let Some(other) = trace
                .missing
                .iter()
                .find(|gone| !gone.why.contains(EXPIRED))
            {
                return self.wrong(format!("not complete, though all is well: {other:?}"));
            }
            if !trace.complete {
                let all = self.ask(&id, Direction::Ancestors, true).await;
                trace = all.unwrap_or_default();
            }
            let wanted = {
                let truth = &self.inner().truth;
                truth.reached(&id, Direction::Ancestors, |_, fact| fact.is_acknowledged)
            };
            if !trace.complete || !wanted.is_subset(&told(&trace)) {
                let missing = trace.missing;
                self.wrong(format!("all sites do not tell all of {id}: {missing:?}"));
            }
        }
    }
}
