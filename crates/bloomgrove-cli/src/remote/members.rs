//! `bloomgrove remote estimate`, `sample` and `reconstruct`: what the sets contain.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove_client::api::{self, Member, Names, ReconstructQuery, SampleQuery, Spelling};
use serde_json::json;

use crate::shared::connect::Remote;
use crate::shared::keys::{self, KeyKind, KeysArgs};
use crate::shared::output::{Output, complain};
use crate::shared::whole_file::ListArgs;
use crate::shared::{Outcome, range, units};

/// Estimate how many items sets contain, from their bits.
///
/// SETS is a set, or an expression of sets with & (items of both), | (items of either) and
/// parentheses, in one argument; & binds tighter. A name with one of these characters goes in
/// double quotes.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    bloomgrove remote estimate 'site/galway & (site/pune | site/quito)'")]
pub(super) struct Estimate {
    /// The set, or an expression such as 'a & (b | c)'
    #[arg(value_name = "SETS")]
    sets: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn estimate(remote: &Remote, args: Estimate) -> Result<Outcome> {
    let estimate = remote.wait(remote.client.estimate(&args.sets))?;
    let mut output = Output::new();
    match args.json {
        true => output.json(&serde_json::to_value(&estimate)?)?,
        false => output.line(units::estimate(estimate.items.unwrap_or(f64::INFINITY)))?,
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

// A comment here would become the help of the command: these are the names that may be in.
#[derive(clap::Args)]
struct Namespace {
    /// The names that may be in them: a range such as 0..10M (0..=9 includes its end), or a file
    #[arg(long, value_name = "NAMES")]
    namespace: String,
    /// How names are encoded in the filter
    #[arg(long, value_enum, value_name = "KIND", default_value = "text")]
    names_as: KeyKind,
    #[command(flatten)]
    from: KeysArgs,
}

/// Names in one request: a server accepts no more.
const MOST_NAMES: usize = 5_000_000;

impl Namespace {
    fn read(&self) -> Result<(Names, Spelling)> {
        let spelling = match self.names_as {
            KeyKind::Text => Spelling::Decimal,
            KeyKind::Integer => Spelling::U64,
        };
        let path = Path::new(&self.namespace);
        if self.namespace != "-" && !path.exists() {
            if !range::is_range(&self.namespace) {
                bail!(
                    "{}: no such file; pass a range such as 0..10M, or a file with one name per \
                     line",
                    self.namespace
                );
            }
            let range = range::parse(&self.namespace).map_err(anyhow::Error::msg)?;
            return Ok((Names::Range(range.start, range.end), spelling));
        }
        let names = match self.names_as {
            KeyKind::Text => Names::Texts(self.list(path, |line| {
                let text = std::str::from_utf8(line).context("a name is not text in UTF-8")?;
                Ok(text.to_owned())
            })?),
            KeyKind::Integer => {
                let mut numbers = self.list(path, keys::number)?;
                numbers.sort_unstable();
                numbers.dedup();
                Names::Integers(numbers)
            }
        };
        Ok((names, spelling))
    }

    fn list<T>(&self, path: &Path, name: impl Fn(&[u8]) -> Result<T>) -> Result<Vec<T>> {
        let mut names = Vec::new();
        keys::read(path, &self.from, None, |lines| {
            if names.len() + lines.len() > MOST_NAMES {
                bail!(
                    "too many names for a request; download the filter, and use `bloomgrove sample` \
                     or `bloomgrove reconstruct`"
                );
            }
            for line in lines {
                names.push(name(line)?);
            }
            Ok(())
        })?;
        Ok(names)
    }
}

/// Draw random members of sets, given the names that may be in them.
///
/// SETS is as in `bloomgrove remote estimate`. All names that the sets accept are equally
/// likely to be drawn, and may be drawn repeatedly. Exit code: 0, or 1 if no name is accepted.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    bloomgrove remote sample 'site/galway & site/pune' --namespace 0..10M -n 5 --seed 1")]
pub(super) struct Sample {
    /// The set, or an expression such as 'a & (b | c)'
    #[arg(value_name = "SETS")]
    sets: String,
    #[command(flatten)]
    names: Namespace,
    /// The number of members to draw
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = units::count, default_value = "10")]
    draws: u64,
    /// Draw without repetition; all members, if there are fewer
    #[arg(long)]
    distinct: bool,
    /// The random seed: the same seed draws the same members [default: random]
    #[arg(long, value_name = "NUMBER", value_parser = units::count)]
    seed: Option<u64>,
    /// Report on standard error the method, why it was chosen, and its cost
    #[arg(short, long)]
    explain: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn sample(remote: &Remote, args: Sample) -> Result<Outcome> {
    let (names, spelling) = args.names.read()?;
    let sample = remote.wait(remote.client.sample(&SampleQuery {
        expression: args.sets.clone(),
        names,
        spelling,
        count: args.draws,
        distinct: args.distinct,
        seed: args.seed,
    }))?;
    let mut output = Output::new();
    if args.json {
        let mut answer = json!({ "sets": args.sets, "drawn": sample.members });
        if args.explain {
            answer["method"] = json!(sample.method);
            answer["tests"] = json!(sample.tests);
        }
        output.json(&answer)?;
    } else {
        for member in &sample.members {
            output.line(shown(member))?;
        }
    }
    output.finish()?;
    let drawn = sample.members.len() as u64;
    if args.distinct && (1..args.draws).contains(&drawn) {
        let all = units::counted(drawn, "member");
        complain(format_args!("there are only {all}"));
    }
    if args.explain && !args.json {
        explain(&sample.method, sample.tests);
    }
    Ok(found(drawn))
}

fn found(members: u64) -> Outcome {
    match members {
        0 => Outcome::No,
        _ => Outcome::Yes,
    }
}

fn shown(member: &Member) -> String {
    match member {
        Member::Number(number) => number.to_string(),
        Member::Text(text) => text.clone(),
    }
}

fn explain(method: &str, tests: u64) {
    crate::shared::output::explain(&[
        ("method", method.to_owned()),
        ("tests", units::counted(tests, "name")),
    ]);
}

/// List all members of sets, given the names that may be in them.
///
/// Prints every name that the sets accept: all items that are among the names, and some false
/// positives (--explain prints how many to expect). Exit code: 0, 1 if no name is accepted, or 2
/// if there are more than --limit.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    bloomgrove remote reconstruct site/galway --namespace names.txt -o members.txt")]
pub(super) struct Reconstruct {
    /// The set, or an expression such as 'a & (b | c)'
    #[arg(value_name = "SETS")]
    sets: String,
    #[command(flatten)]
    names: Namespace,
    #[command(flatten)]
    list: ListArgs,
    /// List at most this many [default: 100k]
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    limit: Option<u64>,
    /// Report on standard error the method, why it was chosen, and its cost
    #[arg(short, long)]
    explain: bool,
    /// Print one JSON object per member
    #[arg(long)]
    json: bool,
}

pub(super) fn reconstruct(remote: &Remote, args: Reconstruct) -> Result<Outcome> {
    let (names, spelling) = args.names.read()?;
    let answer = remote.wait(remote.client.reconstruct(&ReconstructQuery {
        expression: args.sets.clone(),
        names,
        spelling,
        limit: args.limit,
    }))?;
    let line = |member: &Member| match args.json {
        true => json!({ "member": member }).to_string(),
        false => shown(member),
    };
    match (args.list.create()?, &args.list.output) {
        (Some(mut file), Some(path)) => {
            for member in &answer.members {
                writeln!(file, "{}", line(member)).with_context(|| path.display().to_string())?;
            }
            file.finish()?;
        }
        _ => {
            let mut output = Output::new();
            if args.list.count {
                output.line(answer.members.len())?;
            } else {
                for member in &answer.members {
                    output.line(line(member))?;
                }
            }
            output.finish()?;
        }
    }
    if args.explain {
        explain(&answer.method, answer.tests);
        if let Some(accuracy) = answer.accuracy {
            let share = units::percent(accuracy);
            crate::shared::output::explain(&[("accuracy", format!("about {share} are items"))]);
        }
    }
    Ok(outcome(&answer))
}

fn outcome(answer: &api::Reconstruction) -> Outcome {
    if answer.complete {
        return found(answer.members.len() as u64);
    }
    complain(format_args!(
        "there are more members than these {}; raise --limit, or use `remote download` and \
         `bloomgrove reconstruct` to list all of them",
        units::grouped(answer.members.len() as u64)
    ));
    Outcome::Incomplete
}
