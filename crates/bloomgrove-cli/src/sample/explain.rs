//! What --explain reports: the method, why it was chosen, and its cost.

use bloomgrove::Family;
use bloomgrove::sample::{
    Estimate, Method, NameIndex, NameIndexOptions, Plan, Query, Spelling, Way, Work,
};
use serde_json::{Map, Value, json};

use super::Question;
use crate::shared::output::{self, complain};
use crate::shared::units;

/// An index is suggested if it saves three looks in four, of at least this many.
const MANY: f64 = 1e6;
/// From this many draws on, they tell how many members there are, within a tenth or so.
const TELLING: u64 = 100;
/// A note is printed if a smaller share of the members than this are items.
const POOR: f64 = 0.5;
/// Work of more tests than this takes minutes or more.
const ENDLESS: f64 = 1e11;
/// Approximate tests per second, on one processor.
const SPEED: f64 = 2e8;

/// Facts, as lines for people and as fields for programs.
#[derive(Default)]
pub(super) struct Facts {
    lines: Vec<(&'static str, String)>,
    fields: Map<String, Value>,
}

impl Facts {
    pub(super) fn line(&mut self, name: &'static str, text: impl Into<String>) {
        self.lines.push((name, text.into()));
    }

    pub(super) fn field(&mut self, name: &str, value: Value) {
        self.fields.insert(name.to_owned(), value);
    }

    /// What is known of filter and names before the work starts.
    pub(super) fn question(&mut self, question: &Question, query: &Query, names: u64) {
        let namespace = question.held.namespace();
        // A range has its share of what is expected of all names.
        let share = names as f64 / namespace.len() as f64;
        let estimate = query.estimate(namespace.len());
        let (members, items) = (estimate.members * share, estimate.items * share);
        let full = query.fill() == 1.0;
        let spelled = match namespace.spelling() {
            Spelling::Binary => "integers",
            Spelling::Decimal => "integers, queried as text",
            Spelling::Text => "strings",
        };
        self.line("filter", question.expression.shown());
        self.line("fill", units::percent(query.fill()));
        self.line(
            "names",
            format!(
                "{} {spelled}, from {}",
                units::grouped(names),
                question.written
            ),
        );
        if full {
            self.line(
                "members",
                "every name: all bits are set, so the filter accepts everything",
            );
        } else {
            self.line(
                "members",
                format!(
                    "{}, of which {} ({}) are items",
                    units::estimate(members),
                    units::estimate(items),
                    units::percent(estimate.accuracy),
                ),
            );
        }
        self.field("filter", json!(question.expression.shown()));
        self.field("namespace", json!(question.written));
        self.field("names", json!(names));
        self.field("names_are", json!(spelled));
        self.field("fill", json!(query.fill()));
        self.field("expected_members", json!(members));
        // A full filter has no information about its items.
        let known = |value: f64| json!((!full).then_some(value));
        self.field("expected_items", known(items));
        self.field("expected_accuracy", known(estimate.accuracy));
    }

    /// The plan; `draws` is None for a reconstruction.
    pub(super) fn plan(
        &mut self,
        question: &Question,
        query: &Query,
        plan: &Plan,
        draws: Option<u64>,
    ) {
        self.question(question, query, plan.names);
        let (name, each) = match draws {
            Some(_) => (plan.method.to_string(), " per draw"),
            None => (plan.way.to_string(), ""),
        };
        let by = match plan.method {
            Method::List if draws.is_some() => format!(" by {}", plan.way),
            _ => String::new(),
        };
        self.line("method", format!("{name}{by}: {}", plan.why));
        self.line(
            "expected",
            format!(
                "{} names examined{each}, {} tested",
                short(plan.looks),
                short(plan.tests)
            ),
        );
        self.line(
            "memory",
            format!(
                "filters {}, names {}, members {}",
                units::size(question.expression.bytes()),
                units::size(names_bytes(question)),
                units::size(plan.bytes),
            ),
        );
        self.field("method", json!(name));
        self.field("way", json!(plan.way.to_string()));
        self.field("why", json!(plan.why));
        self.field("expected_looks", json!(plan.looks));
        self.field("expected_tests", json!(plan.tests));
        self.field("filter_bytes", json!(question.expression.bytes()));
        self.field("name_bytes", json!(names_bytes(question)));
        self.field("member_bytes", json!(plan.bytes));
        self.index_hint(question, query, plan, draws.unwrap_or(1));
    }

    /// When an index of the names would help, how, and how to get it.
    fn index_hint(&mut self, question: &Question, query: &Query, plan: &Plan, draws: u64) {
        let by_scan = match plan.method {
            Method::Probe => true,
            Method::List => plan.way == Way::Scan,
            _ => false,
        };
        let saves = plan.tests * draws as f64 >= MANY && query.fill() <= 0.25;
        let namespace = question.held.namespace();
        let small_enough = namespace.len() <= u64::from(u32::MAX);
        let size = NameIndex::size(query.params(), namespace, NameIndexOptions::default());
        if let Ok(bytes) = size
            && by_scan
            && saves
            && small_enough
            && question.held.index().is_none()
        {
            let command = format!(
                "bloomgrove sample index {} --for {} -o FILE",
                question.written,
                question.expression.first_file().display(),
            );
            self.line(
                "index",
                format!(
                    "an index of these names ({}) would examine {} instead: {command}",
                    units::size(bytes),
                    units::percent(query.fill()),
                ),
            );
            self.field("index_bytes", json!(bytes));
            self.field("index_command", json!(command));
        }
    }

    /// The cost: per draw, or in all.
    pub(super) fn work(&mut self, work: Work, draws: Option<u64>) {
        let (each, of) = per_draw(draws);
        let (looks, tests) = (work.looks as f64 / each, work.tests as f64 / each);
        self.line(
            "actual",
            format!(
                "{} names examined{of}, {} tested",
                short(looks),
                short(tests)
            ),
        );
        self.field("looks", json!(looks));
        self.field("tests", json!(tests));
    }

    /// How many members there are, estimated from the names examined for the draws.
    pub(super) fn measured(&mut self, members: Option<f64>, draws: u64) {
        if let Some(members) = members
            && draws >= TELLING
        {
            self.line(
                "members",
                format!("{}, from the names examined", units::estimate(members)),
            );
            self.field("measured_members", json!(members));
        }
    }

    /// Prints to standard error what has been gathered since the last time.
    pub(super) fn say(&mut self) {
        output::explain(&self.lines);
        self.lines.clear();
    }

    pub(super) fn into_fields(self) -> Map<String, Value> {
        self.fields
    }
}

/// Warns when most members are not items.
pub(super) fn warn_of_poor_accuracy(question: &Question, query: &Query, estimate: Estimate) {
    let filter = question.expression.shown();
    if query.fill() == 1.0 {
        complain(format_args!(
            "note: {filter}: all bits are set, so every name is accepted, whether it was inserted \
             or not"
        ));
        return;
    }
    if let Family::Affine(functions) = query.params().family()
        && let Some(span) = question.held.namespace().span()
        && span.end > functions.modulus()
    {
        complain(format_args!(
            "note: {filter} distinguishes names only up to its modulus {}; a larger name is \
             accepted if its remainder is",
            functions.modulus()
        ));
    }
    if estimate.accuracy < POOR {
        complain(format_args!(
            "note: about {} of the members are false positives; `bloomgrove tune accuracy` finds a \
             filter size with fewer",
            units::percent(1.0 - estimate.accuracy)
        ));
    }
}

/// Warns when the work takes hours.
pub(super) fn warn_of_endless(plan: &Plan, draws: u64) {
    let tests = plan.tests.max(plan.looks) * draws as f64;
    if tests > ENDLESS {
        let hours = tests / SPEED / 3600.0;
        output::complain(format_args!(
            "note: about {} names have to be tested, which takes about {} hours; fewer names \
             (--within) or a name index are faster",
            short(tests),
            short(hours),
        ));
    }
}

fn per_draw(draws: Option<u64>) -> (f64, &'static str) {
    match draws {
        Some(draws) => (draws.max(1) as f64, " per draw"),
        None => (1.0, ""),
    }
}

/// Bytes of the names, with their index.
fn names_bytes(question: &Question) -> u64 {
    match question.held.index() {
        Some(index) => index.bytes(),
        None => question.held.namespace().bytes(),
    }
}

/// A mean number of things.
fn short(number: f64) -> String {
    match number {
        number if number >= 1e16 => format!("{number:.1e}"),
        number if number >= 10.0 => units::grouped(number.round() as u64),
        number => format!("{number:.1}"),
    }
}
