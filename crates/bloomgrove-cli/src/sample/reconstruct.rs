//! `bloomgrove reconstruct`: all members, as they are found.

use std::ffi::OsString;
use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::sample::{Name, Query, Reconstruction, SampleOptions, Way};
use serde_json::{Value, json};

use super::Question;
use super::draw::json_name;
use super::explain::{Facts, warn_of_endless, warn_of_poor_accuracy};
use super::names::Reading;
use crate::shared::output::Output;
use crate::shared::progress::Progress;
use crate::shared::whole_file::{ListArgs, WholeFile};
use crate::shared::{Outcome, interrupt, range, units};

/// List all members of a filter, given the names that may be in it.
///
/// Prints every name that the filter accepts: all items that are among the names, and some false
/// positives (--explain prints how many to expect). A scan prints them in the order of the names,
/// the other methods in another order.
///
/// FILTER and NAMES are as in `bloomgrove sample`. Exit code: 0, or 1 if the filter accepts no
/// name.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove reconstruct users.grove --namespace 0..10M -o users.txt\n  \
    bloomgrove reconstruct 'a.grove & b.grove' --namespace names.txt --count")]
pub(crate) struct Reconstruct {
    /// The filter, or an expression such as 'a.grove & b.grove'
    #[arg(value_name = "FILTER")]
    filter: OsString,
    /// The names that may be in it: a range, a file, or a name index
    #[arg(long, value_name = "NAMES")]
    namespace: OsString,
    #[command(flatten)]
    list: ListArgs,
    /// List only integers in this range
    #[arg(long, value_name = "A..B", value_parser = range::parse)]
    within: Option<Range<u64>>,
    /// How to find them [default: the fastest]
    #[arg(long, value_enum)]
    method: Option<WayArg>,
    #[command(flatten)]
    reading: Reading,
    /// The number of threads [default: one per processor]
    #[arg(long, value_name = "COUNT", value_parser = units::within::<u16>(1..=65_535))]
    threads: Option<u16>,
    /// Report on standard error the method, why it was chosen, and its cost
    #[arg(short, long)]
    explain: bool,
    /// Print one JSON object per member; with --explain, a last one with the cost
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum WayArg {
    /// Test every name
    Scan,
    /// Test the names on set bits, found with a name index
    Index,
    /// Test the names on set bits, found by inverting affine functions
    Invert,
}

impl From<WayArg> for Way {
    fn from(way: WayArg) -> Self {
        match way {
            WayArg::Scan => Way::Scan,
            WayArg::Index => Way::Index,
            WayArg::Invert => Way::Invert,
        }
    }
}

pub(crate) fn run(args: Reconstruct) -> Result<Outcome> {
    let way = args.method.map(Way::from);
    check_output(&args)?;
    let question = Question::open(
        &args.filter,
        &args.namespace,
        &args.reading,
        args.within.clone(),
    )?;
    if way == Some(Way::Index) && question.held.index().is_none() {
        bail!(question.needs_index());
    }
    if way == Some(Way::Invert) {
        question.check_invertible()?;
    }
    let query = question.query()?;
    let options = SampleOptions {
        within: args.within.clone(),
        way,
        threads: args.threads.map(usize::from),
        ..SampleOptions::default()
    };

    let mut task = Task {
        args: &args,
        question: &question,
        query: &query,
        facts: Facts::default(),
        sink: Sink::new(&args)?,
        line: Vec::new(),
        count: 0,
    };
    let names = task.list(&options)?;
    task.finish(names)
}

/// Ensures that the output does not replace the names.
fn check_output(args: &Reconstruct) -> Result<()> {
    let Some(output) = &args.list.output else {
        return Ok(());
    };
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let output = real(output);
    if output.is_some() && output == real(Path::new(&args.namespace)) {
        bail!(
            "{}: the output would overwrite the names; choose another --output",
            args.namespace.to_string_lossy()
        );
    }
    Ok(())
}

/// Where members go.
enum Sink {
    Nowhere,
    Printed(Output),
    File(WholeFile, PathBuf),
}

impl Sink {
    fn new(args: &Reconstruct) -> Result<Self> {
        Ok(match (args.list.create()?, &args.list.output) {
            _ if args.list.count => Sink::Nowhere,
            (Some(file), Some(path)) => Sink::File(file, path.clone()),
            _ => Sink::Printed(Output::new()),
        })
    }
}

/// One run.
struct Task<'t> {
    args: &'t Reconstruct,
    question: &'t Question,
    query: &'t Query<'t>,
    facts: Facts,
    sink: Sink,
    line: Vec<u8>,
    count: u64,
}

impl Task<'_> {
    /// Finds the members; returns how many names there were.
    fn list(&mut self, options: &SampleOptions) -> Result<u64> {
        let names = self.question.held.names();
        let members = Reconstruction::with(self.query, names, options)?;
        let plan = members.plan();
        self.question.check_names(plan.names)?;
        self.facts.plan(self.question, self.query, plan, None);
        self.explain();
        if self.query.fill() == 0.0 {
            return Ok(plan.names);
        }
        warn_of_endless(plan, 1);
        warn_of_poor_accuracy(self.question, self.query, plan.estimate);
        let expected = units::estimate(members.plan().estimate.members);
        let progress = Progress::share(format!("members {expected}"));
        let mut failed = None;
        let work = members.run(|found| {
            progress.at(found.done, found.pieces);
            let taken = match interrupt::was_asked() {
                true => Err(self.interrupted()),
                false => found.names().try_for_each(|name| self.take(&name)),
            };
            match taken {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        self.facts.work(work, None);
        Ok(plan.names)
    }

    fn interrupted(&self) -> anyhow::Error {
        anyhow::anyhow!(match self.sink {
            Sink::Printed(_) => "interrupted; the list is not complete",
            _ => "interrupted; nothing was changed",
        })
    }

    fn explain(&mut self) {
        if self.args.explain && !self.args.json {
            self.facts.say();
        }
    }

    fn take(&mut self, name: &Name) -> Result<()> {
        self.count += 1;
        if matches!(self.sink, Sink::Nowhere) {
            return Ok(());
        }
        self.line.clear();
        match name {
            name if self.args.json => {
                let object = json!({ "name": json_name(name) });
                serde_json::to_writer(&mut self.line, &object)?;
            }
            Name::Integer(number) => write!(self.line, "{number}")?,
            Name::Text(text) => self.line.extend_from_slice(text),
        }
        self.line.push(b'\n');
        match &mut self.sink {
            Sink::Nowhere => Ok(()),
            Sink::Printed(output) => output.bytes(&[&self.line]),
            Sink::File(file, path) => file
                .write_all(&self.line)
                .with_context(|| format!("{}: writing", path.display())),
        }
    }

    fn finish(mut self, names: u64) -> Result<Outcome> {
        let members = units::counted(self.count, "member");
        self.facts.field("count", json!(self.count));
        if self.args.explain && !self.args.json {
            self.facts.line("found", members.clone());
        }
        let (mut output, said) = match self.sink {
            Sink::Nowhere => (Output::new(), Some(self.count.to_string())),
            Sink::Printed(output) => (output, None),
            Sink::File(file, path) => {
                let size = units::size(file.finish()?);
                let said = format!("{}: {members}, {size}", path.display());
                (Output::new(), Some(said))
            }
        };
        if self.args.json && (self.args.explain || said.is_some()) {
            let fields = match self.args.explain {
                true => Value::Object(std::mem::take(&mut self.facts).into_fields()),
                false => json!({ "count": self.count }),
            };
            output.json_line(&fields)?;
        } else if let Some(said) = said {
            output.line(said)?;
        }
        output.finish()?;
        if self.args.explain && !self.args.json {
            self.facts.say();
        }
        match self.count {
            0 => self.question.no_member(self.query, names),
            _ => Ok(Outcome::Yes),
        }
    }
}
