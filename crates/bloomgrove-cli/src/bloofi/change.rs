//! `bloomgrove bloofi add`, `remove` and `update`: the file is read, changed and replaced as a whole.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use anyhow::{Result, bail};
use bloomgrove::{Error, Filter, MappedFilter};

use super::{Changing, sets};
use crate::shared::keys::{self, Column, KeyKind};
use crate::shared::output::{Output, complain};
use crate::shared::sizing::{OVERFULL, Sizing, is_overfull, sets_have};
use crate::shared::sources::{self, How, SourceKind};
use crate::shared::{Outcome, notes, units};

/// Add sets to a Bloofi tree.
///
/// Takes what `bloofi build` takes. Each set goes beside the most similar one, as in the paper. A set
/// that cannot be added is reported, and the others still are. The file is replaced once, at the end: a
/// crash leaves the tree as it was.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove bloofi add sites.bloofi.grove tunis.txt\n  \
    bloomgrove bloofi add sites.bloofi.grove oslo.txt --replace --costs")]
pub(crate) struct Add {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// Files of keys, filters, indexes, or directories
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The name of the set, if it is only one
    #[arg(long)]
    name: Option<String>,
    /// Replace sets that are there, instead of refusing
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    column: Option<Column>,
    /// Show how many nodes were accessed for each set
    #[arg(long)]
    costs: bool,
}

/// Remove sets from a Bloofi tree.
///
/// Exit code 0 if all were there, 2 if one was not (the others are removed).
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove bloofi remove sites.bloofi.grove oslo.txt --costs")]
pub(crate) struct Remove {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// Names of sets
    #[arg(value_name = "SET", required = true)]
    sets: Vec<OsString>,
    /// Show how many nodes were accessed for each set
    #[arg(long)]
    costs: bool,
}

/// Add keys to a set of a Bloofi tree, or rename it.
///
/// The set stays where it is in the tree, as in the paper; `bloofi rebuild` arranges the sets anew after
/// many updates. To replace what a set contains, use `bloofi add --replace`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove bloofi update sites.bloofi.grove oslo.txt doc-00042 doc-00043\n  \
    bloomgrove bloofi update sites.bloofi.grove oslo.txt --keys-from new.txt --costs\n  \
    bloomgrove bloofi update sites.bloofi.grove oslo.txt --rename bergen.txt")]
pub(crate) struct Update {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// The set
    #[arg(value_name = "SET")]
    set: OsString,
    /// Keys to add
    #[arg(value_name = "KEY")]
    keys: Vec<OsString>,
    /// More keys, one per line or from a column; - is standard input
    #[arg(long, value_name = "FILE")]
    keys_from: Vec<PathBuf>,
    #[command(flatten)]
    column: Option<Column>,
    /// Add everything that this filter contains; it must have the parameters of the tree
    #[arg(long, value_name = "FILTER")]
    filter: Option<PathBuf>,
    /// Give the set another name
    #[arg(long, value_name = "NAME")]
    rename: Option<OsString>,
    /// Show how many nodes were accessed
    #[arg(long)]
    costs: bool,
}

/// What a change took, if that was asked for.
fn cost(nodes: u64, shown: bool) -> String {
    match shown {
        true => format!(", {} accessed", units::counted(nodes, "node")),
        false => String::new(),
    }
}

pub(crate) fn add(args: Add) -> Result<Outcome> {
    let (mut sources, found) = sources::find(&args.paths);
    if let Some(name) = args.name {
        match &mut sources[..] {
            [one] if one.kind != SourceKind::Index => one.name = name.into_bytes(),
            _ => bail!("--name is for one set, and {} were given", sources.len()),
        }
    }
    let mut file = Changing::open(&args.tree)?;
    let how = How {
        sizing: Sizing::Equal(file.tree.tree().params().clone()),
        kind: notes::key_kind(&file.notes).unwrap_or(KeyKind::Text),
        column: args.column,
    };
    let (mut lines, mut overfull) = (Vec::new(), 0);
    let read = sets::read(&sources, &how, |name, filter| {
        let nodes = match file.tree.insert(name.clone(), &filter) {
            Err(Error::DuplicateSet { .. }) if args.replace => file.tree.replace(&name, &filter),
            inserted => inserted,
        }?;
        overfull += u64::from(is_overfull(&filter));
        lines.push([b"added ", &*name, cost(nodes, args.costs).as_bytes()].concat());
        Ok(())
    })?;
    file.save()?;
    print(&lines)?;
    if overfull > 0 {
        complain(format_args!(
            "{} more keys than the filters of this tree are made for, and will often be listed by \
             mistake; `bloofi widen` makes them larger",
            sets_have(overfull)
        ));
    }
    Ok(Outcome::of(found && read))
}

pub(crate) fn remove(args: Remove) -> Result<Outcome> {
    let mut file = Changing::open(&args.tree)?;
    let mut complete = true;
    let mut lines = Vec::new();
    for name in args.sets {
        let name = name.into_vec();
        match file.tree.remove(&name) {
            Ok(nodes) => {
                lines.push([b"removed ", &*name, cost(nodes, args.costs).as_bytes()].concat());
            }
            Err(error) => {
                complain(format_args!("{}: {error}", args.tree.display()));
                complete = false;
            }
        }
    }
    file.save()?;
    print(&lines)?;
    Ok(Outcome::of(complete))
}

/// What was done, once it is on disk.
fn print(lines: &[Vec<u8>]) -> Result<()> {
    let mut output = Output::new();
    for line in lines {
        output.bytes(&[line, b"\n"])?;
    }
    output.finish()
}

pub(crate) fn update(args: Update) -> Result<Outcome> {
    let has_keys = !args.keys.is_empty() || !args.keys_from.is_empty();
    if !has_keys && args.filter.is_none() && args.rename.is_none() {
        bail!("nothing to update: name keys, or give --keys-from, --filter or --rename");
    }
    let mut file = Changing::open(&args.tree)?;
    let kind = notes::key_kind(&file.notes).unwrap_or(KeyKind::Text);
    let name = args.set.into_vec();
    // Refused before any file is read.
    file.tree.filter(&name)?;
    let mut more = Filter::new(file.tree.tree().params().clone())?;
    let mut count = 0;
    let mut insert = |lines: &[&[u8]]| -> Result<()> {
        count += lines.len() as u64;
        for line in lines {
            more.insert(&kind.key(line)?);
        }
        Ok(())
    };
    let given: Vec<Vec<u8>> = args.keys.into_iter().map(keys::from_argument).collect();
    insert(&given.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    for keys in &args.keys_from {
        keys::read(keys, args.column.as_ref(), None, &mut insert)?;
    }
    if let Some(filter) = &args.filter {
        more.union_with(&MappedFilter::map(filter)?)?;
    }
    let nodes = match has_keys || args.filter.is_some() {
        true => file.tree.update(&name, &more)?,
        false => 0,
    };
    let fill = file.tree.filter(&name)?.fill();
    let mut line = [b"updated ", &*name].concat();
    if let Some(new) = args.rename {
        let new = new.into_vec();
        line.extend([b", now ", &*new].concat());
        file.tree.rename(&name, new)?;
    }
    file.save()?;
    if count > 0 {
        line.extend(format!(": {}", units::counted(count, "key")).into_bytes());
    }
    line.extend(cost(nodes, args.costs).into_bytes());
    print(&[line])?;
    if fill > OVERFULL {
        complain(format_args!(
            "{} now has more keys than its filter is made for, and will often be listed by mistake; \
             `bloofi widen` makes the filters larger",
            String::from_utf8_lossy(&name)
        ));
    }
    Ok(Outcome::Yes)
}
