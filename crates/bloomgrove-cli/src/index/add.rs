//! `bloomgrove index add`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bloomgrove::Error;
use bloomgrove::index::{Index, Set};
use serde_json::json;

use super::take_in::{Added, MEMORY, Read, merge, take_in};
use crate::shared::keys::KeysArgs;
use crate::shared::output::{self, Output, complain};
use crate::shared::read_sets::How;
use crate::shared::sources::{self, Source, SourceKind};
use crate::shared::stamp::{self, FileTag};
use crate::shared::{Outcome, interrupt, open, units};

/// Added sets are committed and reported at intervals that keep this below a tenth of the time.
const SHARE: u32 = 10;

/// Add sets to an index.
///
/// Takes the same inputs as `index build`. New filters get the size of the existing ones. A set
/// is reported once it is safely on disk: a crash loses neither reported nor existing sets.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove index add logs.grove today.log\n  \
    bloomgrove index add sites.grove north.txt --slice 20261115")]
pub(crate) struct Args {
    /// The index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Files of keys, filters, indexes, or directories
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The name of the set, if there is only one
    #[arg(long)]
    name: Option<String>,
    /// Prefix every set name with this
    #[arg(long, value_name = "TEXT", conflicts_with = "name")]
    prefix: Option<OsString>,
    /// Replace existing sets instead of failing
    #[arg(long, conflicts_with = "slice")]
    replace: bool,
    /// Add the sets as a time slice with this number. Use increasing numbers: a set contains
    /// everything that its slices contain, and `index remove --before` drops old slices
    #[arg(long, value_name = "NUMBER", value_parser = units::count)]
    slice: Option<u64>,
    #[command(flatten)]
    from: KeysArgs,
    /// Print one JSON object per set
    #[arg(long)]
    json: bool,
}

impl Args {
    fn is_named(&self) -> bool {
        self.name.is_some() || self.prefix.is_some()
    }
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let (mut sources, complete) = sources::find(&args.paths);
    let mut file = open::to_change(&args.index)?;
    sources::rename_only(&mut sources, args.name.clone())?;
    let base = stamp::base_of(&args.index).with_context(|| args.index.display().to_string())?;
    if !args.is_named() {
        below_known_roots(&mut sources, &file, &base);
    }
    let prefix = args
        .prefix
        .as_ref()
        .map_or(&b""[..], |text| text.as_bytes());
    for source in &mut sources {
        source.name.splice(..0, prefix.iter().copied());
    }
    let how = How::of_index(&file, &args.index, &args.from)?;
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
    let taken = take_in(&mut file, &sources, &how, &base, |file, source, read| {
        let Read { name, tag, filter } = &read;
        let outcome = match (source.kind, args.slice) {
            (SourceKind::Index, None) => merge(file, source, &base, MEMORY),
            (SourceKind::Index, Some(_)) => {
                let what = "an index cannot be a slice; add its sets one by one";
                complain(format_args!("{}: {what}", source.path.display()));
                added.complete = false;
                return Ok(());
            }
            // A slice keeps what the file contained then, whatever happens to the file.
            (_, Some(slice)) => file
                .add_slice(name, slice, filter)
                .map(|_| vec![name.clone()]),
            (_, None) => match file.add_tagged(name, tag, filter) {
                Err(Error::DuplicateSet { .. }) if args.replace => {
                    let replaced = file.replace(name, filter);
                    replaced.and_then(|_| file.set_tag(name, tag))
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
            Err(Error::DuplicateSet { name }) => {
                let set = format_args!("a set named {name} already exists");
                let way_out =
                    "--replace replaces it, and --name or --prefix gives the new one another name";
                complain(format_args!("{}: {set}; {way_out}", source.path.display()));
                added.complete = false;
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
    // Keep what was added before the failure or the interrupt.
    file.commit()?;
    report(&mut waiting)?;
    added.complete &= taken?;
    if interrupt::was_asked() {
        bail!("interrupted; the sets reported as added are in the index");
    }
    added.warn_of_overfull();
    output.finish()?;
    Ok(added.outcome())
}

/// Names files below a directory that the index was built from as they would have been named then: a
/// part of a directory does not collide with another.
pub(super) fn below_known_roots(sources: &mut [Source], index: &Index, base: &Path) {
    let place = |set: Set<'_>| {
        let tag = FileTag::from_bytes(set.tag())?;
        tag.place(set.name(), base).root
    };
    let roots: BTreeSet<PathBuf> = index.sets().filter_map(place).collect();
    for source in sources {
        let below = roots.iter().find_map(|root| {
            let inside = source.place.path.strip_prefix(root).ok()?;
            Some((root, inside.to_owned()))
        });
        if let Some((root, inside)) = below
            && source.kind == SourceKind::Keys
        {
            source.name = inside.into_os_string().into_vec();
            source.place.root = Some(root.clone());
        }
    }
}
