//! `bloomgrove sample index` and `sample info`: names, ordered by the bits that they set in filters.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::format::Content;
use bloomgrove::raw::format::check_target;
use bloomgrove::sample::{Form, NameIndex, NameIndexOptions, Spelling};
use bloomgrove::{Error, Params};
use serde_json::{Value, json};

use super::check_spelling;
use super::expression::Expression;
use super::names::{Held, Reading};
use crate::shared::keys::KeyKind;
use crate::shared::output::Output;
use crate::shared::progress::Progress;
use crate::shared::{Outcome, interrupt, params, units};

/// What names are made of, as far as it is listed.
const LISTED: usize = 8;

/// Index names, to find members of filters faster.
///
/// An index given as --namespace leads to the names on set bits: for a filter that is 1% full, only
/// one name in a hundred is examined. An index works for all filters of the same size, hashes, layout,
/// family and seed; --for takes these from a filter, and the other options are those of `filter
/// build`. NAMES is as in `bloomgrove sample`, and can be another name index.
///
/// --add-to adds names to an existing index.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove sample index 0..10M --for users.grove -o users.names.grove\n  \
    bloomgrove sample index new.txt --add-to users.names.grove")]
pub(super) struct Index {
    /// The names: a range, a file, or a name index
    #[arg(value_name = "NAMES")]
    names: OsString,
    /// The index to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE", required_unless_present = "add_to")]
    output: Option<PathBuf>,
    /// Index the names for filters like this one
    #[arg(long = "for", value_name = "FILTER", conflicts_with_all = params::IDS)]
    like: Option<OsString>,
    /// Add the names to this index instead of creating one
    #[arg(
        long,
        value_name = "INDEX",
        conflicts_with_all = params::IDS,
        conflicts_with_all = ["output", "like", "lean", "names_as"]
    )]
    add_to: Option<PathBuf>,
    /// Leave out second positions: the index is smaller, but more names are tested
    #[arg(long)]
    lean: bool,
    /// How much memory to use in addition to names and index [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    memory: Option<u64>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    params: params::ParamsArgs,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Show the names of an index, and the filters that it is for.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove sample info users.names.grove")]
pub(super) struct Info {
    /// The name index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Also check the index for damage, and that every name is in its place
    #[arg(long)]
    verify: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Index) -> Result<Outcome> {
    match (&args.add_to, &args.output) {
        (Some(index), _) => add(&args, index),
        (None, Some(output)) => build(&args, output),
        (None, None) => {
            bail!("name the index to write with -o, or the index to add to with --add-to")
        }
    }
}

/// Shows progress, and stops after Ctrl-C.
fn told(progress: &Progress) -> impl FnMut(u64, u64) -> Result<(), Error> {
    |done, total| {
        progress.at(done, total);
        match interrupt::was_asked() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}

fn build(args: &Index, output: &Path) -> Result<Outcome> {
    // Fail before minutes of work.
    check_target(output, Content::Names)?;
    let (params, held) = match &args.like {
        Some(filter) => {
            let filter = Expression::open(filter)?;
            let held = args.reading.open(&args.names, filter.kind())?;
            if args.reading.names_as().is_none() {
                check_spelling(&filter, held.namespace())?;
            }
            (filter.params().clone(), held)
        }
        None => {
            let held = args.reading.open(&args.names, args.params.usual_keys());
            (decided(args)?, held?)
        }
    };
    let options = NameIndexOptions {
        second: !args.lean,
        memory: args.memory.unwrap_or(NameIndexOptions::default().memory),
    };
    let progress = Progress::share("indexing names");
    let names = held.namespace();
    let index = NameIndex::build_to(output, &params, names, options, &mut told(&progress))?;
    drop(progress);
    report(args, output, &index, None)
}

fn decided(args: &Index) -> Result<Params> {
    args.params.decided()?.context(
        "the parameters of the filters are not known; pass --for FILTER, --items N, or --bits and \
         --hashes",
    )
}

fn add(args: &Index, path: &Path) -> Result<Outcome> {
    let usual = match NameIndex::open(path)?.namespace().spelling() {
        Spelling::Text => KeyKind::Text,
        // However they are spelled, a list of more is one of integers.
        Spelling::Binary | Spelling::Decimal => KeyKind::Integer,
    };
    let Held::Namespace(names) = args.reading.open(&args.names, usual)? else {
        bail!(
            "{}: an index cannot be added to another; pass the names",
            args.names.to_string_lossy()
        );
    };
    let memory = args.memory.unwrap_or(NameIndexOptions::default().memory);
    let progress = Progress::share("indexing names");
    let added = NameIndex::add_to(path, names, memory, &mut told(&progress))?;
    drop(progress);
    report(args, path, &NameIndex::open(path)?, Some(added))
}

fn report(args: &Index, path: &Path, index: &NameIndex, added: Option<u64>) -> Result<Outcome> {
    let mut output = Output::new();
    if args.json {
        let mut facts = json(path, index);
        if let Some(added) = added {
            facts["added"] = json!(added);
        }
        output.json(&facts)?;
    } else {
        let new = added.map_or(String::new(), |added| {
            format!("{} added, ", units::counted(added, "new name"))
        });
        let (size, each) = sizes(path, index);
        output.line(format_args!(
            "{}: {new}{}, {}, {each:.1} bytes per name",
            path.display(),
            units::counted(index.namespace().len(), "name"),
            units::size(size),
        ))?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// Bytes on disk, in all and per name.
fn sizes(path: &Path, index: &NameIndex) -> (u64, f64) {
    let size = std::fs::metadata(path).map_or(0, |about| about.len());
    (size, size as f64 / index.namespace().len() as f64)
}

pub(super) fn info(args: Info) -> Result<Outcome> {
    let index = NameIndex::open(&args.index)?;
    let report = match args.verify {
        true => Some(bloomgrove::verify(&args.index)?),
        false => None,
    };
    let mut output = Output::new();
    if args.json {
        let mut facts = json(&args.index, &index);
        facts["verified"] = json!(args.verify);
        output.json(&facts)?;
    } else {
        let (size, each) = sizes(&args.index, &index);
        let names = index.namespace();
        let spelled = match names.spelling() {
            Spelling::Binary => "integers",
            Spelling::Decimal => "integers, queried as text",
            Spelling::Text => "strings",
        };
        let second = match index.has_second() {
            true => "kept",
            false => "left out",
        };
        let mut facts = vec![
            ("file", args.index.display().to_string()),
            (
                "on disk",
                format!("{}, {each:.1} bytes per name", units::size(size)),
            ),
            (
                "names",
                format!("{} {spelled}", units::grouped(names.len())),
            ),
            ("built from", forms(&names.forms())),
            ("for filters", index.params().to_string()),
            ("second positions", second.into()),
        ];
        if let Some(report) = report {
            facts.push(("checked", "every name is in its place".into()));
            if report.unfinished > 0 {
                let size = units::size(report.unfinished);
                facts.push(("unfinished", format!("{size} at the end, not used")));
            }
        }
        output.facts(&facts)?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

fn forms(forms: &[Form]) -> String {
    let mut shown: Vec<String> = forms
        .iter()
        .take(LISTED)
        .map(|form| match form {
            Form::Range(range) => format!("{}..{}", range.start, range.end),
            Form::Integers(count) => format!("a list of {}", units::counted(*count, "integer")),
            Form::Texts(count) => format!("a list of {}", units::counted(*count, "string")),
            other => format!("{other:?}"),
        })
        .collect();
    if forms.len() > LISTED {
        shown.push(format!("and {} more", forms.len() - LISTED));
    }
    shown.join(", ")
}

fn json(path: &Path, index: &NameIndex) -> Value {
    let names = index.namespace();
    let (size, each) = sizes(path, index);
    let forms: Vec<Value> = names
        .forms()
        .iter()
        .map(|form| match form {
            Form::Range(range) => json!({ "range": [range.start, range.end] }),
            Form::Integers(count) => json!({ "integers": count }),
            Form::Texts(count) => json!({ "texts": count }),
            other => json!(format!("{other:?}")),
        })
        .collect();
    let spelling = match names.spelling() {
        Spelling::Binary => "integer",
        Spelling::Decimal => "decimal",
        Spelling::Text => "text",
    };
    let params = index.params();
    json!({
        "file": path.to_string_lossy(),
        "names": names.len(),
        "spelling": spelling,
        "forms": forms,
        "bytes": size,
        "bytes_per_name": each,
        "second_positions": index.has_second(),
        "bits": params.bits(),
        "hashes": params.hashes(),
        "layout": params.layout().to_string(),
        "family": params.family().to_string(),
        "derivation": params.derivation().to_string(),
        "seed": params.seed(),
    })
}
