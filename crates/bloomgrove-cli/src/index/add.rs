//! `bloomgrove index add`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bloomgrove::Error;
use serde_json::json;

use super::take_in::{Added, MEMORY, Read, merge, take_in};
use crate::shared::keys::{Column, KeyKind};
use crate::shared::output::{self, Output, complain};
use crate::shared::sizing::Sizing;
use crate::shared::sources::{self, How, SourceKind};
use crate::shared::{Outcome, interrupt, notes, open, stamp};

/// Added sets are made safe, and reported, as often as takes no more than a tenth of the time.
const SHARE: u32 = 10;

/// Add sets to an index.
///
/// Takes what `index build` takes. Filters are made as large as those that are there. Every
/// set is named when it is safely on disk; a crash loses nothing that was named, and nothing
/// that was there before.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove index add logs.grove today.log\n  \
    bloomgrove index add sites.grove north.txt --slice 20261115")]
pub(crate) struct Args {
    /// The index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Files of keys, filters, indexes, or folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Call the set this, if it is only one
    #[arg(long)]
    name: Option<String>,
    /// Replace sets that are there, instead of refusing
    #[arg(long, conflicts_with = "slice")]
    replace: bool,
    /// Add as a slice of time, numbered as you like but rising: a set holds what any of its
    /// slices holds, and `index remove --before` drops old ones
    #[arg(long, value_name = "NUMBER")]
    slice: Option<u64>,
    #[command(flatten)]
    column: Option<Column>,
    /// Print one JSON object for each set
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let (mut sources, complete) = sources::find(&args.paths);
    let mut file = open::to_change(&args.index)?;
    if let Some(name) = args.name {
        match &mut sources[..] {
            [one] if one.kind != SourceKind::Index => one.name = name.into_bytes(),
            _ => bail!("--name is for one set, and {} were given", sources.len()),
        }
    }
    let how = How {
        sizing: Sizing::of(&file)?,
        kind: notes::key_kind(file.notes()).unwrap_or(KeyKind::Text),
        column: args.column,
    };
    let mut output = Output::new();
    let mut added = Added::new(complete);
    let mut last = Instant::now();
    let mut pause = Duration::ZERO;
    let mut waiting: Vec<Vec<u8>> = Vec::new();
    let mut report = |names: &mut Vec<Vec<u8>>| -> Result<()> {
        for name in names.drain(..) {
            if args.json {
                output.json_line(&json!({ "added": output::json_bytes(&name) }))?;
            } else {
                output.bytes(&[b"added ", &name, b"\n"])?;
            }
        }
        output.flush()
    };
    let base = stamp::base_of(&args.index).with_context(|| args.index.display().to_string())?;
    let taken = take_in(&mut file, &sources, &how, &base, |file, source, read| {
        let Read { tag, filter } = &read;
        let name = &source.name;
        let outcome = match (source.kind, args.slice) {
            (SourceKind::Index, None) => merge(file, source, &base, MEMORY),
            (SourceKind::Index, Some(_)) => {
                let what = "an index cannot be a slice; add its sets one by one";
                complain(format_args!("{}: {what}", source.path.display()));
                added.complete = false;
                return Ok(());
            }
            // What a file had at that time stays so, whatever becomes of the file.
            (_, Some(slice)) => file
                .add_slice(name, slice, filter)
                .map(|_| vec![name.clone()]),
            (_, None) => match file.add_tagged(name, tag, filter) {
                Err(Error::DuplicateSet { .. }) if args.replace => {
                    file.replace_tagged(name, tag, filter)
                }
                done => done,
            }
            .map(|_| vec![name.clone()]),
        };
        match outcome {
            Ok(names) => {
                waiting.extend(names);
                added.look_at(filter);
            }
            Err(error) => added.count(source, Err(error))?,
        }
        if file.pending_bytes() > MEMORY || last.elapsed() >= pause {
            let started = Instant::now();
            file.commit()?;
            report(&mut waiting)?;
            (last, pause) = (Instant::now(), started.elapsed() * SHARE);
        }
        Ok(())
    });
    // What was taken in before it failed, or was interrupted, is worth keeping.
    file.commit()?;
    report(&mut waiting)?;
    added.complete &= taken?;
    if interrupt::was_asked() {
        bail!("interrupted; what was named as added is there");
    }
    added.warn_of_overfull();
    output.finish()?;
    Ok(added.outcome())
}
