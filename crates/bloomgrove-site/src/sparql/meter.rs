//! What a query holds in memory, and how long it has run.
//!
//! The evaluator keeps rows of terms: to sort them, to join them, to see each once. All that it keeps
//! are clones of [`Held`], whose clones are counted while they live. Whoever makes one more than the
//! limit allows, or makes one after the deadline, does not return: the thread of the query unwinds up to
//! [`Meter::run`]. An error would not do, since the evaluator gathers errors and goes on, or takes them
//! for a "no"; and a clone cannot fail in another way.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use oxigraph::model::Term;
use oxigraph::sparql::CancellationToken;

/// Bytes that a query may hold, as they are counted here. The process grows by up to twice as much: a table
/// that doubles is there twice.
pub(super) const MEMORY: usize = 192 << 20;
/// Bytes of a text in an expression.
pub(super) const LONGEST_TEXT: usize = 1 << 20;
/// What a term takes besides its text: itself, its parts, and what an allocator adds to each.
const TERM: usize = 160;
/// What a clone takes in a row: its part of the row and of the table that the row is in...
const CLONE: usize = 64;
/// ...and for each variable of the query, which has its place in a row whether it is bound or not.
const PLACE: usize = 8;

/// Why a query was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It is past its deadline, or nobody waits for it any more.
    Late,
    /// It holds too much.
    Memory,
    /// A text has more than [`LONGEST_TEXT`] bytes.
    Text,
    /// A regular expression is too expensive for the text it is matched with.
    Pattern,
}

/// Counts for one query. Only its own thread changes it: atomic because custom functions must be `Sync`.
#[derive(Clone)]
pub(super) struct Meter(Arc<Inner>);

struct Inner {
    held: AtomicUsize,
    ticks: AtomicUsize,
    clone: usize,
    deadline: Instant,
    cancel: CancellationToken,
}

impl Meter {
    /// For a query with so many variables.
    pub(super) fn new(variables: usize, deadline: Instant, cancel: CancellationToken) -> Self {
        Self(Arc::new(Inner {
            held: AtomicUsize::new(0),
            ticks: AtomicUsize::new(0),
            clone: CLONE + PLACE * variables,
            deadline,
            cancel,
        }))
    }

    /// Does the work, and says why if it was ended.
    pub(super) fn run<T>(work: impl FnOnce() -> T) -> Result<T, Stop> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Stop>() {
            Ok(stop) => *stop,
            Err(payload) => resume_unwind(payload),
        })
    }

    /// Ends the query.
    pub(super) fn stop(stop: Stop) {
        // Never while it is being ended: that would end the program.
        if !thread::panicking() {
            resume_unwind(Box::new(stop));
        }
    }

    /// Ends the query if its time is over.
    pub(super) fn check_time(&self) {
        if self.0.cancel.is_cancelled() || Instant::now() > self.0.deadline {
            Self::stop(Stop::Late);
        }
    }

    /// Counts bytes as held; looks at the clock now and then.
    pub(super) fn hold(&self, bytes: usize) {
        let held = self.0.held.load(Relaxed).saturating_add(bytes);
        self.0.held.store(held, Relaxed);
        if held > MEMORY {
            Self::stop(Stop::Memory);
        }
        let ticks = self.0.ticks.load(Relaxed).wrapping_add(1);
        self.0.ticks.store(ticks, Relaxed);
        if ticks.is_multiple_of(64) {
            self.check_time();
        }
    }

    fn release(&self, bytes: usize) {
        let held = self.0.held.load(Relaxed).saturating_sub(bytes);
        self.0.held.store(held, Relaxed);
    }

    /// A term that counts.
    pub(super) fn term(&self, term: Term) -> Held {
        self.term_that_weighs(term, 0)
    }

    /// A term each of whose clones counts as so many bytes more.
    pub(super) fn term_that_weighs(&self, term: Term, weight: usize) -> Held {
        let bytes = TERM + bytes(&term);
        let weight = self.0.clone.saturating_add(weight);
        self.hold(bytes.saturating_add(weight));
        Held(Rc::new(Shared {
            term,
            bytes,
            weight,
            meter: self.clone(),
        }))
    }
}

/// The bytes of the texts of a term.
pub(super) fn bytes(term: &Term) -> usize {
    match term {
        Term::NamedNode(node) => node.as_str().len(),
        Term::BlankNode(node) => node.as_str().len(),
        Term::Literal(literal) => {
            let class = literal.language().unwrap_or(literal.datatype().as_str());
            literal.value().len() + class.len()
        }
        #[allow(
            unreachable_patterns,
            reason = "a feature of oxrdf that others may enable"
        )]
        _ => 0,
    }
}

/// A term that a query holds.
pub(super) struct Held(Rc<Shared>);

struct Shared {
    term: Term,
    bytes: usize,
    weight: usize,
    meter: Meter,
}

impl Held {
    pub(super) fn term(&self) -> &Term {
        &self.0.term
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        self.0.meter.hold(self.0.weight);
        Self(Rc::clone(&self.0))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.meter.release(self.0.weight);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.meter.release(self.bytes);
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0) || self.0.term == other.0.term
    }
}

impl Eq for Held {}

impl Hash for Held {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.term.hash(state);
    }
}
