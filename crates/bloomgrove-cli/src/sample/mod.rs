//! `bloomgrove sample` and `bloomgrove reconstruct`: items back out of a filter.
//!
//! ```text
//!   FILTER  --expression-->  a query  --+
//!                                       +--> draw, reconstruct --> names, and what it took
//!   NAMES   --names------->  the names  +                          (explain)
//! ```

mod draw;
mod explain;
mod expression;
mod index;
pub(crate) mod names;
mod reconstruct;

use std::ffi::OsStr;
use std::ops::Range;

use anyhow::{Context, Result, bail};
use bloomgrove::Family;
use bloomgrove::sample::{Namespace, Query, Spelling};
use clap::Subcommand;

pub(crate) use reconstruct::{Reconstruct, run as reconstruct};

use self::expression::Expression;
use self::names::{Held, Reading};
use crate::shared::keys::KeyKind;
use crate::shared::output::complain;
use crate::shared::{Outcome, units};

/// Draw random members of a filter, given the names that may be in it.
///
/// FILTER is a file, or an expression of filters with & (members of both), | (members of either) and
/// parentheses, in one argument; & binds tighter.
///
/// NAMES is a range of integers (0..10M, or 0..=9, including its end), a file with one name per line (.gz
/// and .zst are decompressed, - is standard input), or a name index made by `sample index`. Lists
/// must be sorted, text by bytes (LC_ALL=C sort -u), integers by value (sort -n -u); --sort sorts in
/// memory.
///
/// A member is a name that the filter accepts. All members are equally likely to be drawn, however full the
/// filter is, and may be drawn repeatedly. Some may be false positives (--explain prints how many
/// to expect). Exit code: 0, or 1 if the filter accepts no name.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  \
    bloomgrove sample users.grove --namespace 0..10M -n 5 --seed 1\n  \
    bloomgrove sample 'north.grove & south.grove' --namespace names.txt --distinct --explain"
)]
pub(crate) struct Sample {
    #[command(flatten)]
    draw: draw::Draw,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    Index(Box<index::Index>),
    Info(index::Info),
}

pub(crate) fn run(args: Sample) -> Result<Outcome> {
    match args.verb {
        Some(Verb::Index(args)) => index::run(*args),
        Some(Verb::Info(args)) => index::info(args),
        None => draw::run(args.draw),
    }
}

/// Whose members are wanted, among which names.
struct Question {
    expression: Expression,
    /// NAMES as written.
    written: String,
    held: Held,
    within: Option<Range<u64>>,
}

impl Question {
    fn open(
        filter: &OsStr,
        names: &OsStr,
        reading: &Reading,
        within: Option<Range<u64>>,
    ) -> Result<Self> {
        let expression = Expression::open(filter)?;
        let held = reading.open(names, expression.kind())?;
        let question = Self {
            expression,
            written: names.to_string_lossy().into_owned(),
            held,
            within,
        };
        if reading.names_as().is_none() {
            check_spelling(&question.expression, question.held.namespace())?;
        }
        if question.within.is_some() && question.held.namespace().spelling() == Spelling::Text {
            bail!("--within applies only to integers, but the names are strings");
        }
        question.check_index()?;
        Ok(question)
    }

    /// Ensures that a name index is for filters like these.
    fn check_index(&self) -> Result<()> {
        let Some(index) = self.held.index() else {
            return Ok(());
        };
        if index.params() == self.expression.params() {
            return Ok(());
        }
        let file = self.expression.first_file().display();
        bail!(
            "{} is a name index for other filters than {file}:\n  the index is for {}\n  the \
             filter has {}\nbuild another with `bloomgrove sample index {} --for {file} -o FILE`",
            self.written,
            index.params(),
            self.expression.params(),
            self.written,
        )
    }

    /// The error for --method index without an index.
    fn needs_index(&self) -> String {
        format!(
            "--method index needs a name index; build one with `bloomgrove sample index {} \
             --for {} -o FILE` and pass it as --namespace",
            self.written,
            self.expression.first_file().display(),
        )
    }

    /// Ensures that the functions of the filter can be inverted.
    fn check_invertible(&self) -> Result<()> {
        match self.expression.params().family() {
            Family::Affine(_) => Ok(()),
            other => bail!(
                "--method invert requires a filter built with --hash affine; this one uses {other}",
            ),
        }
    }

    fn query(&self) -> Result<Query<'_>> {
        let query = self.expression.query();
        query.with_context(|| self.expression.shown().to_owned())
    }

    /// An error if no name is in the given range.
    fn check_names(&self, names: u64) -> Result<()> {
        match &self.within {
            Some(within) if names == 0 => bail!(
                "--within {}..{}: no name of {} is in this range",
                within.start,
                within.end,
                self.written
            ),
            _ => Ok(()),
        }
    }

    /// Reports that there is no member, and possible reasons.
    fn no_member(&self, query: &Query, names: u64) -> Result<Outcome> {
        self.check_names(names)?;
        let filter = self.expression.shown();
        if query.fill() == 0.0 {
            match self.expression.only() {
                Some(_) => complain(format_args!("{filter}: the filter is empty")),
                None => complain(format_args!(
                    "{filter}: the filters have no bit in common, so they accept no name"
                )),
            }
            return Ok(Outcome::No);
        }
        let spelling = self.held.namespace().spelling();
        let (kind, other) = match names::kind_of(spelling).name() {
            "text" => ("text", "integer"),
            _ => ("integers", "text"),
        };
        complain(format_args!(
            "{filter} accepts none of the {}, queried as {kind}; was it built from other names, or \
             from names encoded differently (--names-as {other})?",
            units::counted(names, "name")
        ));
        Ok(Outcome::No)
    }
}

/// Ensures that names are written like the keys of filters that note how theirs were read.
fn check_spelling(expression: &Expression, names: &Namespace) -> Result<()> {
    let (filter, names) = (expression.kind(), names::kind_of(names.spelling()));
    if filter == names || !expression.kind_is_noted() {
        return Ok(());
    }
    bail!(
        "{}: contains {} keys, but the names in the index are {}; build another with `bloomgrove \
         sample index NAMES --for {} -o FILE`",
        expression.first_file().display(),
        filter.name(),
        match names {
            KeyKind::Text => "text",
            KeyKind::Integer => "integers",
        },
        expression.first_file().display(),
    )
}
