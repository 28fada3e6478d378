//! What must be found: everything that was recorded, and when.

use std::collections::{BTreeMap, BTreeSet};

use bloomgrove_client::api::{Direction, Event, EventKind, Trace};

use crate::PERIOD;

/// An effect and its cause.
pub(crate) type Pair = (String, String);

/// An event that was recorded at a site.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    /// The machine.
    pub(crate) site: usize,
    /// When: the number of the act, and the second.
    pub(crate) act: u64,
    pub(crate) time: u64,
    /// Whether the site has acknowledged it. If not, it may be there or not.
    pub(crate) is_acknowledged: bool,
    /// Whether it was seen in the index.
    pub(crate) was_published: bool,
    pub(crate) event: Event,
}

impl Fact {
    pub(crate) fn ids(&self) -> impl Iterator<Item = &String> {
        let ends = self.event.inputs.iter().chain(&self.event.outputs);
        ends.chain(&self.event.id)
    }

    /// Outputs by the event, the event by inputs.
    fn pairs(&self) -> impl Iterator<Item = Pair> {
        let id = self.event.id.clone().unwrap_or_default();
        let outputs = self.event.outputs.iter().cloned();
        let inputs = self.event.inputs.iter().cloned();
        let by_event = outputs.map({
            let id = id.clone();
            move |output| (output, id.clone())
        });
        by_event.chain(inputs.map(move |input| (id.clone(), input)))
    }
}

/// Everything that was recorded.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    pub(crate) facts: Vec<Fact>,
    /// For each machine, the act at which its last successful round started.
    pub(crate) rounds: BTreeMap<usize, u64>,
}

impl Truth {
    /// A random document, if there is one.
    pub(crate) fn document(&self, number: usize) -> Option<&String> {
        let fact = self.facts.get(number.checked_rem(self.facts.len())?)?;
        fact.event.outputs.first()
    }

    /// An event that makes a new document from others.
    pub(crate) fn event(&self, number: usize, inputs: Vec<String>) -> Event {
        Event {
            id: Some(format!("urn:event:{number}")),
            kind: if inputs.is_empty() {
                EventKind::Created
            } else {
                EventKind::Derived
            },
            inputs,
            outputs: vec![format!("document {number}")],
            ..Event::default()
        }
    }

    /// What a complete trace must have found: recorded before a successful round, or so long ago that its site has sent a heartbeat
    /// since, or counts as offline.
    pub(crate) fn due(&self, now: u64, by_age: bool) -> Vec<bool> {
        let due = self.facts.iter().map(|fact| {
            let round = self.rounds.get(&fact.site);
            let is_published = round.is_some_and(|round| fact.act < *round);
            fact.is_acknowledged && (is_published || by_age && fact.time + 4 * PERIOD < now)
        });
        due.collect()
    }

    /// What can be reached from a document through some facts.
    pub(crate) fn reached(
        &self,
        from: &str,
        direction: Direction,
        counts: impl Fn(usize, &Fact) -> bool,
    ) -> BTreeSet<Pair> {
        let mut links: BTreeMap<String, Vec<Pair>> = BTreeMap::new();
        let facts = self.facts.iter().enumerate();
        for (_, fact) in facts.filter(|(number, fact)| counts(*number, fact)) {
            for (effect, cause) in fact.pairs() {
                let here = match direction {
                    Direction::Ancestors => &effect,
                    Direction::Descendants => &cause,
                };
                links
                    .entry(here.clone())
                    .or_default()
                    .push((effect.clone(), cause.clone()));
            }
        }
        let (mut reached, mut ahead) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(id) = ahead.pop() {
            for pair in links.get(&id).into_iter().flatten() {
                if reached.insert(pair.clone()) {
                    ahead.push(match direction {
                        Direction::Ancestors => pair.1.clone(),
                        Direction::Descendants => pair.0.clone(),
                    });
                }
            }
        }
        reached
    }
}

/// All links of a trace between documents and events.
pub(crate) fn told(trace: &Trace) -> BTreeSet<Pair> {
    let links = trace.links.iter().map(|link| &link.link);
    let is_event = |id: &String| id.starts_with("urn:event:");
    let links = links.filter(|link| is_event(&link.effect) || is_event(&link.cause));
    links
        .map(|link| (link.effect.clone(), link.cause.clone()))
        .collect()
}
