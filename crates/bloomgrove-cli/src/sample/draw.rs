//! `bloomgrove sample`: random members.

use std::ffi::OsString;
use std::ops::{ControlFlow, Range};

use anyhow::{Context, Result, bail};
use bloomgrove::Error;
use bloomgrove::sample::{Method, Name, Query, SampleOptions, Sampler};
use serde_json::{Value, json};

use super::Question;
use super::explain::{Facts, warn_of_endless, warn_of_poor_accuracy};
use super::names::Reading;
use crate::shared::output::{Output, complain, json_bytes};
use crate::shared::progress::Progress;
use crate::shared::{Outcome, any_seed, interrupt, range, units};

/// Draws between two updates of the progress.
const CHUNK: u64 = 4096;

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(super) struct Draw {
    /// The filter, or an expression such as '(a.grove | b.grove) & c.grove'
    // None when there is a verb.
    #[arg(value_name = "FILTER", required = true)]
    filter: Vec<OsString>,
    /// The names that may be in it: a range such as 0..10M (0..=9 includes its end), a file, or a
    /// name index
    #[arg(long, value_name = "NAMES", required = true)]
    namespace: Option<OsString>,
    /// The number of members to draw [default: 10]
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = units::count)]
    draws: Option<u64>,
    /// Draw without repetition; all members, if there are fewer
    #[arg(long)]
    distinct: bool,
    /// The random seed: the same seed draws the same members [default: random]
    #[arg(long, value_name = "NUMBER", value_parser = units::count)]
    seed: Option<u64>,
    /// Draw only integers in this range
    #[arg(long, value_name = "A..B", value_parser = range::parse)]
    within: Option<Range<u64>>,
    /// How to draw [default: the fastest]
    #[arg(long, value_enum)]
    method: Option<MethodArg>,
    #[command(flatten)]
    reading: Reading,
    /// How much memory to use in addition to filter and names [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    memory: Option<u64>,
    /// Report on standard error the method, why it was chosen, and its cost
    #[arg(short, long)]
    explain: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum MethodArg {
    /// Try random names until one is a member
    Probe,
    /// Try random names on set bits, found with a name index
    Index,
    /// Try random names on set bits, found by inverting affine functions
    Invert,
    /// List all members once, and draw from them
    List,
}

impl From<MethodArg> for Method {
    fn from(method: MethodArg) -> Self {
        match method {
            MethodArg::Probe => Method::Probe,
            MethodArg::Index => Method::Index,
            MethodArg::Invert => Method::Invert,
            MethodArg::List => Method::List,
        }
    }
}

pub(super) fn run(args: Draw) -> Result<Outcome> {
    let draws = args.draws.unwrap_or(10);
    if draws == 0 {
        bail!("-n must be at least 1");
    }
    let method = args.method.map(Method::from);
    let [filter] = &args.filter[..] else {
        bail!(
            "name one filter, or combine several in one argument: 'a.grove & b.grove' for members \
             of both, 'a.grove | b.grove' for members of either"
        );
    };
    let names = args.namespace.as_ref().context("no --namespace")?;
    let question = Question::open(filter, names, &args.reading, args.within.clone())?;
    if method == Some(Method::Index) && question.held.index().is_none() {
        bail!(question.needs_index());
    }
    if method == Some(Method::Invert) {
        question.check_invertible()?;
    }
    let query = question.query()?;
    let options = SampleOptions {
        draws,
        seed: args.seed.unwrap_or_else(any_seed),
        within: args.within.clone(),
        method,
        memory: args.memory.unwrap_or(SampleOptions::default().memory),
        ..SampleOptions::default()
    };

    let mut task = Task {
        args: &args,
        question: &question,
        query: &query,
        options,
        facts: Facts::default(),
        output: Output::new(),
        drawn: Vec::new(),
        count: 0,
    };
    let outcome = task.draw()?;
    task.finish(outcome)
}

/// One run.
struct Task<'t> {
    args: &'t Draw,
    question: &'t Question,
    query: &'t Query<'t>,
    options: SampleOptions,
    facts: Facts,
    output: Output,
    /// For JSON, which is printed at the end.
    drawn: Vec<Value>,
    count: u64,
}

impl Task<'_> {
    fn draw(&mut self) -> Result<Outcome> {
        let names = self.question.held.names();
        let mut sampler = match Sampler::with(self.query, names, &self.options) {
            Err(error) => return self.failed(error),
            Ok(sampler) => sampler,
        };
        let draws = self.options.draws;
        let plan = sampler.plan();
        self.facts
            .plan(self.question, self.query, plan, Some(draws));
        warn_of_endless(plan, draws);
        warn_of_poor_accuracy(self.question, self.query, plan.estimate);
        self.facts.line("seed", self.options.seed.to_string());
        self.explain();
        // Nothing is half written, so Ctrl-C can end the process at once.
        let waiting = interrupt::Waiting::new();
        let progress = Progress::share("drawing");
        let listing = Progress::share("looking for members");
        sampler.watch(move |done, pieces| {
            listing.at(done, pieces);
            ControlFlow::Continue(())
        });
        let mut left = draws;
        while left > 0 {
            let count = if self.args.distinct {
                left
            } else {
                left.min(CHUNK)
            };
            let drawn = match self.args.distinct {
                true => sampler.draw_distinct(usize::try_from(count)?),
                false => sampler.draw(count as usize),
            };
            match drawn {
                Err(error) => return self.failed(error),
                Ok(drawn) => self.print(drawn)?,
            }
            left -= count;
            progress.at(draws - left, draws);
        }
        drop((progress, waiting));
        self.facts.work(sampler.work(), Some(self.count));
        self.facts.measured(sampler.measured_members(), self.count);
        Ok(Outcome::Yes)
    }

    fn failed(&self, error: Error) -> Result<Outcome> {
        match error.kind() {
            Error::NoMember { names } => self.question.no_member(self.query, *names),
            Error::OutOfMemory { .. } => bail!(
                "all members together take more memory than the {} allowed; allow more with \
                 --memory",
                units::size(self.options.memory)
            ),
            _ => Err(error.into()),
        }
    }

    fn explain(&mut self) {
        if self.args.explain && !self.args.json {
            self.facts.say();
        }
    }

    fn print(&mut self, names: impl IntoIterator<Item = Name>) -> Result<()> {
        for name in names {
            self.count += 1;
            match name {
                name if self.args.json => self.drawn.push(json_name(&name)),
                Name::Integer(number) => self.output.line(number)?,
                Name::Text(text) => self.output.bytes(&[&text, b"\n"])?,
            }
        }
        Ok(())
    }

    /// Reports if there were fewer members than wanted.
    fn tell_if_fewer(&self, outcome: Outcome) {
        if self.args.distinct && self.count < self.options.draws && outcome == Outcome::Yes {
            complain(format_args!("{}", only(self.count)));
        }
    }

    fn finish(mut self, outcome: Outcome) -> Result<Outcome> {
        if self.args.json {
            let mut answer = json!({
                "filter": self.question.expression.shown(),
                "namespace": self.question.written,
                "seed": self.options.seed,
                "drawn": self.drawn,
            });
            if self.args.explain
                && let Some(fields) = answer.as_object_mut()
            {
                fields.extend(self.facts.into_fields());
            }
            self.output.json(&answer)?;
            self.output.finish()?;
            return Ok(outcome);
        }
        self.output.flush()?;
        self.tell_if_fewer(outcome);
        if self.args.explain {
            self.facts.say();
        }
        Ok(outcome)
    }
}

fn only(members: u64) -> String {
    match members {
        1 => "there is only 1 member".to_owned(),
        members => format!("there are only {} members", units::grouped(members)),
    }
}

/// A name as JSON: integers as numbers.
pub(super) fn json_name(name: &Name) -> Value {
    match name {
        Name::Integer(number) => json!(number),
        Name::Text(text) => json_bytes(text),
    }
}
