//! The memory that a query uses, and its time limit.
//!
//! The evaluator keeps rows of terms: for sorting, for joining, for finding duplicates. Everything it keeps is a clone of
//! [`Held`], and existing clones are counted. Making a clone that exceeds the limit, or after the deadline, does not
//! return: the thread of the query unwinds to [`Meter::run`]. An error would not do, since the evaluator collects errors
//! and continues, or treats them as "no"; and there is no other way for a clone to fail.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use oxigraph::model::Term;
use oxigraph::sparql::CancellationToken;

/// Maximum number of bytes that a query may use, as counted here. The process grows by up to twice as much: a table
/// that grows exists twice for a moment.
pub(super) const MEMORY: usize = 192 << 20;
/// Maximum length of a text in an expression, in bytes.
pub(super) const LONGEST_TEXT: usize = 1 << 20;
/// What a term takes in addition to its text: itself, its parts, and the allocator's overhead for each.
const TERM: usize = 160;
/// What a clone takes in a row: its share of the row and of the table that contains the row...
const CLONE: usize = 64;
/// ...and for each variable of the query, which takes space in a row whether it is bound or not.
const PLACE: usize = 8;

/// Why a query was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its deadline has passed, or the client has disconnected.
    Late,
    /// It uses too much memory.
    Memory,
    /// A text is longer than [`LONGEST_TEXT`].
    Text,
    /// A regular expression is too expensive for the text it is matched against.
    Pattern,
}

/// Counters of one query. Only its own thread changes them; atomic because custom functions must be `Sync`.
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
    /// For a query with this many variables.
    pub(super) fn new(variables: usize, deadline: Instant, cancel: CancellationToken) -> Self {
        Self(Arc::new(Inner {
            held: AtomicUsize::new(0),
            ticks: AtomicUsize::new(0),
            clone: CLONE + PLACE * variables,
            deadline,
            cancel,
        }))
    }

    /// Runs the work; returns why, if it was stopped.
    pub(super) fn run<T>(work: impl FnOnce() -> T) -> Result<T, Stop> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Stop>() {
            Ok(stop) => *stop,
            Err(payload) => resume_unwind(payload),
        })
    }

    /// Stops the query.
    pub(super) fn stop(stop: Stop) {
        // Not while unwinding: that would abort the process.
        if !thread::panicking() {
            resume_unwind(Box::new(stop));
        }
    }

    /// Stops the query if its deadline has passed.
    pub(super) fn check_time(&self) {
        if self.0.cancel.is_cancelled() || Instant::now() > self.0.deadline {
            Self::stop(Stop::Late);
        }
    }

    /// Counts bytes as used; checks the time now and then.
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

    /// A term whose clones are counted.
    pub(super) fn term(&self, term: Term) -> Held {
        self.term_that_weighs(term, 0)
    }

    /// A term each of whose clones counts as this many bytes more.
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

/// Length of the texts of a term, in bytes.
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

/// A term that a query keeps.
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
