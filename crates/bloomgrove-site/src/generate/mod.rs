//! Made-up provenance of a federation, to try and to measure: a day in which sites create, send,
//! derive, bundle and split documents.
//!
//! ```text
//!   oslo     created a ---- derived b of a ---- sent b to pune
//!                                                      \  minutes later
//!   pune                                      received b ---- bundled d of b, c
//! ```
//!
//! * Few sites are busy and many quiet (Zipf's law).
//! * A site sends mostly to a few partners, most of them in its own region of eight; few documents
//!   go anywhere else.
//! * What is worked on, or sent, is mostly what lately came to the site, from wherever: how far back
//!   it lies is spread evenly over the powers of two.
//! * A new document has 0.9 inputs on average. Were it more than one, the history of nearly every
//!   document would grow with the age of the federation and end up holding nearly everything; so
//!   histories are like a family that dies out in the end: most are short, some go back tens of
//!   steps, and a few have hundreds of ancestors. [`Ancestry`] measures it.
//!
//! Only integers are drawn and compared, so that the events are the same on every machine.

mod ancestry;
mod draw;
mod events;

pub use ancestry::{Ancestry, History};
pub use events::{Events, Step, Steps};

use bloomgrove_client::api::EventKind;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The first sites are called like this; further ones `site-013` and so on.
const CITIES: [&str; 12] = [
    "bergen", "cadiz", "dakar", "galway", "hobart", "izmir", "kyoto", "lagos", "lima", "oslo",
    "pune", "quito",
];

/// What documents are, for people.
const DOCUMENTS: [&str; 8] = [
    "invoice", "order", "offer", "letter", "claim", "permit", "report", "contract",
];

/// Who does it, for people.
const AGENTS: [&str; 6] = [
    "books",
    "claims desk",
    "legal",
    "orders",
    "post room",
    "sales",
];

/// What is to be made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// How many sites there are: 1 at least, 65,536 at most.
    pub sites: u32,
    /// How many events there are in the day.
    pub events: u64,
    /// Other seeds make other events.
    pub seed: u64,
    /// Whether events have labels and agents for people, and documents are known by their names.
    pub labels: bool,
    /// The day, as `2026-11-16`.
    pub day: &'static str,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            sites: 12,
            events: 5000,
            seed: 8,
            labels: false,
            day: "2026-11-16",
        }
    }
}

impl Workload {
    /// The name of a site, counted from 0.
    #[must_use]
    pub fn site(&self, number: u32) -> String {
        match CITIES.get(number as usize) {
            Some(city) => (*city).to_owned(),
            None => format!("site-{:03}", u64::from(number) + 1),
        }
    }

    /// The id of a document, counted from 0 in the order in which they come to be.
    #[must_use]
    pub fn document(&self, number: u32) -> String {
        crate::event::uuid(self.hash(number.into(), 1))
    }

    /// The id of an event, counted from 0.
    #[must_use]
    pub fn event(&self, number: u64) -> String {
        crate::event::uuid(self.hash(number, 2))
    }

    /// What people call a document, such as `invoice 0042`.
    #[must_use]
    pub fn document_name(&self, number: u32) -> String {
        let kind = (self.hash(number.into(), 3) % DOCUMENTS.len() as u128) as usize;
        format!("{} {number:04}", DOCUMENTS[kind])
    }

    /// What a document is known by: what people call it, if they shall read it.
    fn id(&self, number: u32) -> String {
        match self.labels {
            true => self.document_name(number),
            false => self.document(number),
        }
    }

    /// Who records the event of this number.
    fn agent(&self, number: u64) -> &'static str {
        AGENTS[(self.hash(number, 4) % AGENTS.len() as u128) as usize]
    }

    fn hash(&self, number: u64, what: u64) -> u128 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[8..].copy_from_slice(&what.to_le_bytes());
        xxh3_128_with_seed(&bytes, self.seed)
    }

    /// What a step is called for people.
    fn label(&self, step: &Step) -> String {
        let first = |documents: &[u32]| match documents {
            [] => String::new(),
            [one] => self.document_name(*one),
            [one, rest @ ..] => format!("{} and {} more", self.document_name(*one), rest.len()),
        };
        let (inputs, outputs) = (first(&step.inputs), first(&step.outputs));
        let peer = step.peer.map(|peer| self.site(peer)).unwrap_or_default();
        match step.kind {
            EventKind::Created => outputs,
            EventKind::Derived => format!("{outputs} from {inputs}"),
            EventKind::Bundled => format!("{outputs} with {inputs}"),
            EventKind::Split => format!("{outputs} out of {inputs}"),
            EventKind::Sent => format!("{inputs} to {peer}"),
            EventKind::Received => format!("{inputs} from {peer}"),
        }
    }

    /// The events in the order of time, each with the number of its site.
    #[must_use]
    pub fn events(self) -> Events {
        Events::new(self)
    }

    /// The same in numbers, without texts: for those who count.
    #[must_use]
    pub fn steps(self) -> Steps {
        Steps::new(self)
    }
}

#[cfg(test)]
mod tests;
