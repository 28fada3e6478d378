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
use bloomgrove::sample::{Namespace, Query};
use clap::Subcommand;

pub(crate) use reconstruct::{Reconstruct, run as reconstruct};

use self::expression::Expression;
use self::names::{Held, Reading};
use crate::shared::Outcome;
use crate::shared::output::complain;

/// Draw members of a filter at random, given the names that may be in it.
///
/// FILTER is a file, or filters joined in one argument by & (members of both) and | (members of
/// either), with parentheses; & binds tighter.
///
/// NAMES is a range of integers (0..10M, or 0..=9 with its end), a file with one name to a line
/// (.gz and .zst are unpacked, - is standard input), or an index of names made by `sample
/// index`. Lists must be sorted, texts by bytes (LC_ALL=C sort -u), integers by value (sort -n
/// -u); --sort does it in memory.
///
/// Every name that the filter accepts is drawn with the same chance, however full the filter
/// is; the same one may come again. Some may be false positives: --explain says how many of
/// them are to be expected. Exit code 0, or 1 if the filter accepts no name.
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
    /// Index names, so that members of filters are found faster
    Index(Box<index::Index>),
    /// Say what is in an index of names
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
        question.check_index()?;
        Ok(question)
    }

    /// That an index of names is one for filters like these.
    fn check_index(&self) -> Result<()> {
        let Some(index) = self.held.index() else {
            return Ok(());
        };
        if index.params() == self.expression.params() {
            return Ok(());
        }
        let file = self.expression.first_file().display();
        bail!(
            "{} is an index of names for other filters than {file}:\n  it is for {}\n  and the \
             filter has {}\nbuild another with `bloomgrove sample index {} --for {file} -o FILE`",
            self.written,
            index.params(),
            self.expression.params(),
            self.written,
        )
    }

    /// What to say to somebody who wants an index used and has none.
    fn needs_index(&self) -> String {
        format!(
            "--method index needs an index of names: build one with `bloomgrove sample index {} \
             --for {} -o FILE` and give it as --namespace",
            self.written,
            self.expression.first_file().display(),
        )
    }

    fn query(&self) -> Result<Query<'_>> {
        let query = self.expression.query();
        query.with_context(|| self.expression.shown().to_owned())
    }

    /// An error if no name is in the range asked for.
    fn check_names(&self, names: u64) -> Result<()> {
        match &self.within {
            Some(within) if names == 0 => bail!(
                "--within {}..{}: no name of {} is in it",
                within.start,
                within.end,
                self.written
            ),
            _ => Ok(()),
        }
    }

    /// Says that there is no member, and perhaps why.
    fn no_member(&self, query: &Query, names: u64) -> Result<Outcome> {
        self.check_names(names)?;
        let filter = self.expression.shown();
        if query.fill() == 0.0 {
            match self.expression.only() {
                Some(_) => complain(format_args!("{filter}: it is empty, and accepts no name")),
                None => complain(format_args!(
                    "{filter}: no bit is common to them, so no name is accepted"
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
            "{filter} accepts none of the {names} names, asked as {kind}; was it built from other \
             names, or from names spelled otherwise (--names-as {other})?"
        ));
        Ok(Outcome::No)
    }
}

/// That names are spelled as the keys of filters that say how theirs were read.
fn check_spelling(expression: &Expression, names: &Namespace) -> Result<()> {
    let (filter, names) = (expression.kind(), names::kind_of(names.spelling()));
    if filter == names || !expression.kind_is_noted() {
        return Ok(());
    }
    bail!(
        "the keys of {} were read as {}, and the index spells its names as {}; build another \
         with `bloomgrove sample index NAMES --for {} -o FILE`",
        expression.first_file().display(),
        filter.name(),
        names.name(),
        expression.first_file().display(),
    )
}
