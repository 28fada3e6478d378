//! `bloomgrove index sync`: makes an index equal to the files it was built from.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bloomgrove::index::IndexFile;
use serde_json::json;

use super::add::below_known_roots;
use super::take_in::{Added, MEMORY, take_in};
use crate::shared::keys::KeysArgs;
use crate::shared::output::Output;
use crate::shared::read_sets::How;
use crate::shared::sources::{self, Source, SourceKind};
use crate::shared::stamp::{self, FileTag, Stamp};
use crate::shared::{Outcome, interrupt, notes, open, units};

/// Update an index to match the files in a directory.
///
/// Adds the sets of new files, reads changed files again (judged by size, timestamps and inode) and removes the
/// sets of files that are gone. Sets that were added as filters are kept. A file that was renamed
/// is read again under its new name. Queries can run at the same time; they see the index before
/// or after the change.
///
/// PATH is a directory that the index was built from, or one to add to it.
///
/// Exit code: 0 if the index now matches the files, 2 if some could not be read.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove index sync logs.grove logs/\n  \
    0 * * * *  bloomgrove index sync /srv/logs.grove /srv/logs    (every hour, in a crontab)")]
pub(crate) struct Args {
    /// The index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Directories
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    from: KeysArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    if let Some(missing) = args.paths.iter().find(|path| !path.exists()) {
        bail!("{}: no such directory", missing.display());
    }
    if let Some(file) = args.paths.iter().find(|path| !path.is_dir()) {
        bail!(
            "{}: not a directory; `index add --replace` reads single files again",
            file.display()
        );
    }
    let mut file = open::to_change(&args.index)?;
    let base = stamp::base_of(&args.index).with_context(|| args.index.display().to_string())?;
    let how = How::of_index(&file, &args.index, &args.from)?;
    // Files that are read again must have the keys that they had.
    let (recorded, given) = (
        notes::extraction(file.notes())?,
        args.from.lines().extraction,
    );
    if args.from.is_given() && recorded.is_in_table() && recorded != given {
        bail!(
            "{}: the keys of this index are {recorded}, not {given}; `index sync` needs no --column",
            args.index.display()
        );
    }
    let (mut sources, complete) = sources::find(&args.paths);
    below_known_roots(&mut sources, &file, &base);
    let known = Known::new(&file, &base);
    let (same, read): (Vec<Source>, Vec<Source>) = sources.into_iter().partition(|source| {
        known
            .files
            .get(&source.place.path)
            .is_some_and(|file| file.0 == source.stamp)
            || source.kind != SourceKind::Keys && file.get(&source.name).is_ok()
    });

    let found: HashSet<&PathBuf> = same
        .iter()
        .chain(&read)
        .map(|source| &source.place.path)
        .collect();
    let roots: Vec<PathBuf> = args
        .paths
        .iter()
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    // If a directory could not be listed, its files may be there.
    let is_gone = |path: &PathBuf| {
        complete && !found.contains(path) && roots.iter().any(|root| path.starts_with(root))
    };
    let gone: Vec<&Vec<Vec<u8>>> = known
        .files
        .iter()
        .filter(|(path, _)| is_gone(path))
        .map(|(_, file)| &file.1)
        .collect();
    for name in gone.iter().copied().flatten() {
        file.remove(name)?;
    }
    let mut added = Added::new(complete);
    let mut replaced: HashSet<PathBuf> = HashSet::new();
    let all_read = take_in(&mut file, &read, &how, &base, |file, source, read| {
        // The old sets of a file stay until its new ones are there: a commit has one or the other.
        let path = &source.place.path;
        if let Some((_, names)) = known.files.get(path)
            && replaced.insert(path.clone())
        {
            if file.pending_bytes() > MEMORY {
                file.commit()?;
            }
            names
                .iter()
                .try_for_each(|name| file.remove(name).map(|_| ()))?;
        }
        let outcome = file.add_tagged(&read.name, &read.tag, &read.filter);
        added.count(source, outcome.map(|_| ()))?;
        added.look_at(&read.filter);
        Ok(())
    })?;
    file.commit()?;
    if interrupt::was_asked() {
        bail!("interrupted; run the command again to continue");
    }
    added.complete &= all_read;
    added.warn_of_overfull();

    let (removed, updated) = (gone.len() as u64, replaced.len());
    let is_new = |source: &&Source| !known.files.contains_key(&source.place.path);
    let (new, kept) = (read.iter().filter(is_new).count(), same.len());
    let mut output = Output::new();
    if args.json {
        output.json(
            &json!({ "added": new, "updated": updated, "removed": removed, "unchanged": kept }),
        )?;
    } else {
        output.line(format_args!(
            "{}: {} added, {} updated, {} removed, {} unchanged",
            args.index.display(),
            units::counted(new as u64, "file"),
            units::grouped(updated as u64),
            units::grouped(removed),
            units::grouped(kept as u64),
        ))?;
    }
    output.finish()?;
    Ok(added.outcome())
}

/// What the index has of files.
struct Known {
    /// By their paths: the stamp, and the sets.
    files: HashMap<PathBuf, (Stamp, Vec<Vec<u8>>)>,
}

impl Known {
    fn new(file: &IndexFile, base: &std::path::Path) -> Self {
        let mut files: HashMap<PathBuf, (Stamp, Vec<Vec<u8>>)> = HashMap::new();
        for set in file.sets() {
            if let Some(tag) = FileTag::from_bytes(set.tag()) {
                let place = tag.place(set.name(), base);
                let known = files.entry(place.path).or_insert((tag.stamp, Vec::new()));
                known.1.push(set.name().to_vec());
            }
        }
        Self { files }
    }
}
