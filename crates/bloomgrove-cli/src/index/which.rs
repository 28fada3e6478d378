//! `bloomgrove index which`: which sets may contain a key.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use bloomgrove::index::{Figures, Index, Scope, Set, View};
use serde_json::{Map, json};

use super::stale::Stale;
use crate::shared::answers::{Enough, Form, short};
use crate::shared::key_args::KeyArgs;
use crate::shared::keys::KeyKind;
use crate::shared::output::{self, Output, complain};
use crate::shared::{Outcome, lookup, notes, open, units};

/// Find the sets of an index that may contain a key.
///
/// A set that is not listed does not contain the key. A listed set contains it, except for false
/// positives at the rate of its filter (--explain prints how many to expect).
///
/// The files that sets were read from are checked for changes, by size, times and inode (a copy or
/// a chmod counts as a change). A changed file may contain any key, so it is listed for every key; a
/// deleted one is not listed. Files added to an indexed directory since then are not searched. Standard
/// error reports how many of each there are; --json has them as changed, deleted and
/// not_searched. `index add --replace` reads files again. Sets added as filters, and slices, have
/// no file to check.
///
/// Paths of files in or below the directory of the index are relative to it, so that both can be
/// moved together; others are absolute.
///
/// Exit code: 0 if any set may contain any key, 1 if none does, 2 if something went wrong.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove index which sites.grove doc-00042\n  \
    bloomgrove index which sites.grove --keys-from wanted.txt --at-least 3")]
pub(crate) struct Args {
    /// The index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    #[command(flatten)]
    keys: KeyArgs,
    /// List the sets that may contain at least this many of the keys, with the number
    #[arg(long, value_name = "COUNT", value_parser = units::many)]
    at_least: Option<usize>,
    /// Search only sets whose name begins with this
    #[arg(long, value_name = "TEXT")]
    prefix: Option<OsString>,
    /// Search only slices from this number on; sets without slices are always searched
    #[arg(long, value_name = "SLICE", value_parser = units::count)]
    from: Option<u64>,
    /// Search only slices up to this number
    #[arg(long, value_name = "SLICE", value_parser = units::count)]
    to: Option<u64>,
    #[command(flatten)]
    form: Form,
    /// Answer from the index alone, without checking its files for changes
    #[arg(long)]
    trust: bool,
    /// Report on standard error what the query cost, and how many false positives to expect
    #[arg(long)]
    explain: bool,
}

/// Keys per batch: their answers are kept in memory.
const CHUNK: usize = 10_000;

pub(crate) fn run(mut args: Args) -> Result<Outcome> {
    args.keys.check()?;
    if args.at_least == Some(0) {
        bail!("--at-least 0 would list every set; pass 1 or more");
    }
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from > to
    {
        bail!("--from {from} is after --to {to}; no slice is in this range");
    }
    let index = open::to_query(&args.index)?;
    let kind = notes::key_kind(index.notes()).unwrap_or(KeyKind::Text);
    let extraction = notes::extraction(index.notes())?;
    if args.at_least.is_some() && extraction.is_searched() {
        bail!(
            "--at-least counts keys that were looked up whole; those of this index are {extraction}"
        );
    }
    let scope = scope(&index, &args);
    let view = match &scope {
        Some(scope) => index.within(scope)?,
        None => index.view(),
    };
    let prefix = args
        .prefix
        .as_ref()
        .map_or(&b""[..], |text| text.as_bytes());
    let stale = match args.trust {
        true => Stale::default(),
        false => Stale::look(&index, &args.index, prefix)?,
    };
    stale.warn(&args.index);
    let mut output = Output::new();
    let mut any = false;
    args.form.many = args.keys.are_many();
    // With --at-least, all keys are one query.
    let mut together: Vec<Vec<u8>> = Vec::new();
    args.keys.each(None, |lines| {
        for lines in lines.chunks(CHUNK) {
            if extraction.is_searched() {
                for line in lines {
                    let sets = lookup::meeting(&view, &lookup::needed(&extraction, line)?);
                    any |= print_one(&mut output, args.form, line, sets.into_iter(), &stale)?;
                }
                continue;
            }
            let keys = lines.iter().map(|line| kind.key(line));
            let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
            if args.at_least.is_some() {
                together.extend(keys);
                continue;
            }
            let started = Instant::now();
            let answers = view.which_many(&keys);
            let took = started.elapsed();
            for (line, sets) in lines.iter().zip(answers.iter()) {
                any |= print_one(&mut output, args.form, line, sets, &stale)?;
            }
            if args.explain {
                explain(&view, &keys, took);
            }
            if args.form.quiet && any {
                bail!(Enough);
            }
        }
        Ok(())
    })?;
    if let Some(least) = args.at_least {
        if least > together.len() {
            let keys = units::counted(together.len() as u64, "key");
            complain(format_args!("--at-least {least} cannot be met with {keys}"));
        }
        let found = view.at_least(least, &together);
        let found: Vec<_> = found
            .iter()
            .map(|(set, keys)| (set.name(), *keys))
            .collect();
        let found = stale.counted(found, least, together.len());
        any = !found.is_empty();
        print_counts(&mut output, args.form, &found, &stale)?;
    }
    output.finish()?;
    Ok(if any { Outcome::Yes } else { Outcome::No })
}

/// The sets to search, unless that is all of them.
fn scope(index: &Index, args: &Args) -> Option<Scope> {
    if args.prefix.is_none() && args.from.is_none() && args.to.is_none() {
        return None;
    }
    let prefix = args
        .prefix
        .as_ref()
        .map_or(&b""[..], |text| text.as_bytes());
    let (from, to) = (args.from.unwrap_or(0), args.to.unwrap_or(u64::MAX));
    Some(index.scope(|set| {
        let in_time = set.slice().is_none_or(|slice| (from..=to).contains(&slice));
        in_time && set.name().starts_with(prefix)
    }))
}

/// Returns whether there were any.
fn print_one<'i>(
    output: &mut Output,
    form: Form,
    key: &[u8],
    sets: impl Iterator<Item = Set<'i>>,
    stale: &Stale<'i>,
) -> Result<bool> {
    let mut names: Vec<&[u8]> = sets.map(|set| set.name()).collect();
    let deleted = stale.correct(&mut names);
    let more = match form.json {
        true => stale.json(&deleted),
        false => Map::new(),
    };
    form.print(output, key, names.len() as u64, &names, more)?;
    Ok(!names.is_empty())
}

fn print_counts(
    output: &mut Output,
    form: Form,
    found: &[(&[u8], usize)],
    stale: &Stale<'_>,
) -> Result<()> {
    if form.quiet {
        return Ok(());
    }
    if form.count {
        return output.line(found.len());
    }
    for (name, count) in found {
        if form.json {
            let mut line = json!({ "set": output::json_bytes(name), "keys": count });
            if stale.changed.binary_search(name).is_ok() {
                line["changed"] = json!(true);
            }
            output.json_line(&line)?;
        } else {
            output.bytes(&[name, b"\t"])?;
            output.line(count)?;
        }
    }
    Ok(())
}

/// Keys whose cost is measured.
const SAMPLE: usize = 100;

fn explain(view: &View<'_>, keys: &[Vec<u8>], took: Duration) {
    let figures = keys.iter().take(SAMPLE).map(|key| view.explain(key).1);
    let figures: Vec<Figures> = figures.collect();
    if figures.is_empty() {
        return;
    }
    let mean = |of: fn(&Figures) -> u64, thing| {
        let sum: u64 = figures.iter().map(of).sum();
        units::counted(sum / figures.len() as u64, thing)
    };
    complain(format_args!(
        "{} per key; {} tested and {} read; expect {} false positives for a key that no set contains",
        units::time(took.as_secs_f64() / keys.len() as f64),
        mean(|figures| figures.filters_tested, "filter"),
        mean(|figures| figures.words_read, "word"),
        short(view.expected_false()),
    ));
}
