//! The day, event by event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bloomgrove_client::api::{Event, EventKind};

use super::Workload;
use super::draw::{Random, Sites};

/// Milliseconds.
const DAY: u64 = 86_400_000;
/// What a site does next, in thousandths, if it knows documents; what is sent is also received.
const SHARES: [(EventKind, u64); 5] = [
    (EventKind::Created, 250),
    (EventKind::Derived, 370),
    (EventKind::Bundled, 40),
    (EventKind::Split, 60),
    (EventKind::Sent, 280),
];
/// Weights for the number of inputs of a derivation, from 1 on.
const DERIVED_OF: [u64; 3] = [75, 20, 5];
/// Weights for the number of documents created at once, from 1 on.
const CREATED: [u64; 3] = [75, 20, 5];
/// Weights for the number of documents sent at once, from 1 on.
const SENT: [u64; 4] = [80, 12, 5, 3];
/// Number of inputs of a bundle.
const BUNDLED: std::ops::Range<u64> = 3..7;
/// Number of parts that a document is split into.
const SPLIT: std::ops::Range<u64> = 2..5;
/// Milliseconds in transit: half a minute to a quarter of an hour.
const TRANSIT: std::ops::Range<u64> = 30_000..900_000;

/// An event, with sites and documents as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its number, in chronological order.
    pub number: u64,
    /// The site that records it.
    pub site: u32,
    /// What happened.
    pub kind: EventKind,
    /// Documents that it used, or that were transferred.
    pub inputs: Vec<u32>,
    /// Documents that it made.
    pub outputs: Vec<u32>,
    /// Milliseconds since the start of the day.
    pub time: u64,
    /// For a transfer: the site at the other end.
    pub peer: Option<u32>,
}

/// Documents in transit: time of arrival, number of the sending event, receiver, sender, documents.
type InTransit = Reverse<(u64, u64, u32, u32, Vec<u32>)>;

/// Steps in chronological order: [`Workload::steps`].
pub struct Steps {
    workload: Workload,
    random: Random,
    sites: Sites,
    /// The documents that each site knows, newest last.
    known: Vec<Vec<u32>>,
    on_the_way: BinaryHeap<InTransit>,
    documents: u32,
    next: u64,
}

impl Steps {
    pub(super) fn new(workload: Workload) -> Self {
        let workload = Workload {
            sites: workload.sites.clamp(1, 65_536),
            ..workload
        };
        let mut random = Random::new(workload.seed);
        Self {
            sites: Sites::new(workload.sites, &mut random),
            known: vec![Vec::new(); workload.sites as usize],
            on_the_way: BinaryHeap::new(),
            documents: 0,
            next: 0,
            workload,
            random,
        }
    }

    /// New documents of this site.
    fn make(&mut self, site: u32, count: u64) -> Vec<u32> {
        let first = self.documents;
        self.documents = first.saturating_add(count as u32);
        let made: Vec<u32> = (first..self.documents).collect();
        self.known[site as usize].extend(&made);
        made
    }

    /// Distinct documents that this site knows: as many as requested, or almost.
    fn take(&mut self, site: u32, count: u64) -> Vec<u32> {
        let known = &self.known[site as usize];
        let mut taken = Vec::new();
        for _ in 0..count {
            let back = self.random.back(known.len() as u64) as usize;
            let document = known[known.len() - 1 - back];
            if !taken.contains(&document) {
                taken.push(document);
            }
        }
        taken
    }

    fn many(&mut self, weights: &[u64]) -> u64 {
        self.random.weighted(weights) as u64 + 1
    }

    fn between(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.random.below(range.end - range.start)
    }

    fn received(&mut self, time: u64) -> Option<Step> {
        self.on_the_way
            .peek()
            .filter(|Reverse((due, ..))| *due <= time)?;
        let Reverse((_, _, site, peer, inputs)) = self.on_the_way.pop()?;
        self.known[site as usize].extend(&inputs);
        Some(Step {
            number: self.next,
            site,
            kind: EventKind::Received,
            inputs,
            outputs: Vec::new(),
            time,
            peer: Some(peer),
        })
    }

    fn done(&mut self, time: u64) -> Step {
        let site = self.sites.draw(&mut self.random);
        let kind = match self.known[site as usize].is_empty() {
            true => EventKind::Created,
            false => {
                let weights = SHARES.map(|(_, weight)| weight);
                SHARES[self.random.weighted(&weights)].0
            }
        };
        // A single site cannot send to anyone.
        let kind = match kind {
            EventKind::Sent if self.workload.sites == 1 => EventKind::Derived,
            kind => kind,
        };
        let inputs = match kind {
            EventKind::Created | EventKind::Received => 0,
            EventKind::Derived => self.many(&DERIVED_OF),
            EventKind::Bundled => self.between(BUNDLED),
            EventKind::Split => 1,
            EventKind::Sent => self.many(&SENT),
        };
        let outputs = match kind {
            EventKind::Created => self.many(&CREATED),
            EventKind::Derived | EventKind::Bundled => 1,
            EventKind::Split => self.between(SPLIT),
            EventKind::Sent | EventKind::Received => 0,
        };
        let inputs = self.take(site, inputs);
        let outputs = self.make(site, outputs);
        let peer = (kind == EventKind::Sent).then(|| {
            let peer = self.sites.peer(site, &mut self.random);
            let due = time + self.between(TRANSIT);
            self.on_the_way
                .push(Reverse((due, self.next, peer, site, inputs.clone())));
            peer
        });
        Step {
            number: self.next,
            site,
            kind,
            inputs,
            outputs,
            time,
            peer,
        }
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.next == self.workload.events {
            return None;
        }
        let time =
            (u128::from(self.next) * u128::from(DAY) / u128::from(self.workload.events)) as u64;
        let step = match self.received(time) {
            Some(step) => step,
            None => self.done(time),
        };
        self.next += 1;
        Some(step)
    }
}

/// Events in chronological order: [`Workload::events`].
pub struct Events(Steps);

impl Events {
    pub(super) fn new(workload: Workload) -> Self {
        Self(Steps::new(workload))
    }
}

impl Iterator for Events {
    type Item = (u32, Event);

    fn next(&mut self) -> Option<(u32, Event)> {
        let step = self.0.next()?;
        let workload = &self.0.workload;
        let ids = |documents: &[u32]| documents.iter().map(|&one| workload.id(one)).collect();
        let event = Event {
            id: Some(workload.event(step.number)),
            kind: step.kind,
            inputs: ids(&step.inputs),
            outputs: ids(&step.outputs),
            time: Some(clock(workload.day, step.time)),
            label: workload.labels.then(|| workload.label(&step)),
            agent: workload
                .labels
                .then(|| workload.agent(step.number).to_owned()),
            peer: step.peer.map(|peer| workload.site(peer)),
        };
        Some((step.site, event))
    }
}

/// Whole seconds: the store would strip trailing zeros from fractions.
fn clock(day: &str, time: u64) -> String {
    let (hours, minutes, seconds) = (time / 3_600_000, time / 60_000 % 60, time / 1000 % 60);
    format!("{day}T{hours:02}:{minutes:02}:{seconds:02}Z")
}
