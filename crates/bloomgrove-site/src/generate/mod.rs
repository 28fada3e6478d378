//! Made-up provenance of a federation, for trying and measuring: a day in which sites create, send, derive, bundle and
//! split documents.
//!
//! ```text
//!   oslo     created a ---- derived b from a ---- sent b to pune
//!                                                      \  minutes later
//!   pune                                      received b ---- bundled d from b, c
//! ```
//!
//! * A few sites are busy and many are quiet (Zipf's law).
//! * A site sends mostly to a few partners, most of them in its own region of eight; few documents go anywhere else.
//! * A site mostly uses or sends documents that it got recently, wherever they come from: how far back they are is
//!   distributed evenly over the powers of two.
//! * A new document has 0.9 inputs on average. With more than one, the history of nearly every document would grow with the
//!   age of the federation and in the end contain nearly everything. As it is, histories are like families that die out
//!   eventually: most are short, some go back tens of steps, and a few have hundreds of ancestors. [`Ancestry`] measures it.
//!
//! Only integers are drawn and compared, so the events are the same on every machine.

mod ancestry;
mod draw;
mod events;

pub use ancestry::{Ancestry, History};
pub use events::{Events, Step, Steps};

use bloomgrove_client::api::EventKind;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Names of the first sites; further ones are `site-013` and so on.
const CITIES: [&str; 12] = [
    "bergen", "cadiz", "dakar", "galway", "hobart", "izmir", "kyoto", "lagos", "lima", "oslo",
    "pune", "quito",
];

/// Kinds of documents, for names.
const DOCUMENTS: [&str; 8] = [
    "invoice", "order", "offer", "letter", "claim", "permit", "report", "contract",
];

/// Names of agents.
const AGENTS: [&str; 6] = [
    "books",
    "claims desk",
    "legal",
    "orders",
    "post room",
    "sales",
];

/// What to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Number of sites, from 1 to 65,536.
    pub sites: u32,
    /// Number of events in the day.
    pub events: u64,
    /// The seed: other seeds generate other events.
    pub seed: u64,
    /// Whether events have human-readable labels and agents, and documents have names as ids.
    pub labels: bool,
    /// The day, such as `2026-11-16`.
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

    /// The id of a document, counted from 0 in the order of creation.
    #[must_use]
    pub fn document(&self, number: u32) -> String {
        crate::event::uuid(self.hash(number.into(), 1))
    }

    /// The id of an event, counted from 0.
    #[must_use]
    pub fn event(&self, number: u64) -> String {
        crate::event::uuid(self.hash(number, 2))
    }

    /// The human-readable name of a document, such as `invoice 0042`.
    #[must_use]
    pub fn document_name(&self, number: u32) -> String {
        let kind = (self.hash(number.into(), 3) % DOCUMENTS.len() as u128) as usize;
        format!("{} {number:04}", DOCUMENTS[kind])
    }

    /// The id of a document, which is its name if there are labels.
    fn id(&self, number: u32) -> String {
        match self.labels {
            true => self.document_name(number),
            false => self.document(number),
        }
    }

    /// The agent of the event with this number.
    fn agent(&self, number: u64) -> &'static str {
        AGENTS[(self.hash(number, 4) % AGENTS.len() as u128) as usize]
    }

    fn hash(&self, number: u64, what: u64) -> u128 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[8..].copy_from_slice(&what.to_le_bytes());
        xxh3_128_with_seed(&bytes, self.seed)
    }

    /// A human-readable label for a step.
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

    /// The events in chronological order, each with the number of its site.
    #[must_use]
    pub fn events(self) -> Events {
        Events::new(self)
    }

    /// The same as numbers, without texts, for counting.
    #[must_use]
    pub fn steps(self) -> Steps {
        Steps::new(self)
    }
}

#[cfg(test)]
mod tests;
