//! `bloomgrove bloofi add`, `remove` and `update`: read the file, change the tree, and replace the file.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use anyhow::{Result, bail};
use bloomgrove::{Error, Filter, MappedFilter};
use serde_json::json;

use super::{Changing, sets};
use crate::shared::keys::{KeyKind, KeysArgs};
use crate::shared::output::{self, Output, complain};
use crate::shared::read_sets::How;
use crate::shared::sizing::{OVERFULL, Sizing, is_overfull, sets_have};
use crate::shared::sources;
use crate::shared::update::UpdateArgs;
use crate::shared::{Outcome, notes, open, units};

/// Add sets to a Bloofi tree.
///
/// Takes the same inputs as `bloofi build`. Each set is placed next to the most similar one, as in the
/// paper. A set that cannot be added is reported, and the others are still added. The file is
/// replaced once, at the end: a crash leaves the tree as it was.
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
    /// The name of the set, if there is only one
    #[arg(long)]
    name: Option<String>,
    /// Replace existing sets instead of failing
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    from: KeysArgs,
    /// Report how many nodes were accessed for each set
    #[arg(long)]
    costs: bool,
    /// Print one JSON object per set
    #[arg(long)]
    json: bool,
}

/// Remove sets from a Bloofi tree.
///
/// Exit code: 0 if all sets were found, 2 if one was not (the others are removed).
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove bloofi remove sites.bloofi.grove oslo.txt --costs")]
pub(crate) struct Remove {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// Names of sets
    #[arg(value_name = "SET", required = true)]
    sets: Vec<OsString>,
    /// Report how many nodes were accessed for each set
    #[arg(long)]
    costs: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Add keys to a set of a Bloofi tree, or rename it.
///
/// The set keeps its place in the tree, as in the paper; after many updates, `bloofi rebuild` groups
/// similar sets again. To replace the contents of a set, use `bloofi add --replace`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove bloofi update sites.bloofi.grove oslo.txt doc-00042 doc-00043\n  \
    bloomgrove bloofi update sites.bloofi.grove oslo.txt --keys-from new.txt --costs\n  \
    bloomgrove bloofi update sites.bloofi.grove oslo.txt --rename bergen.txt")]
pub(crate) struct Update {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    #[command(flatten)]
    update: UpdateArgs,
    /// Report how many nodes were accessed
    #[arg(long)]
    costs: bool,
}

/// The cost of a change, if --costs was given.
fn cost(nodes: u64, shown: bool) -> String {
    match shown {
        true => format!(", {} accessed", units::counted(nodes, "node")),
        false => String::new(),
    }
}

pub(crate) fn add(args: Add) -> Result<Outcome> {
    let (mut sources, found) = sources::find(&args.paths);
    sources::rename_only(&mut sources, args.name)?;
    let mut file = Changing::open(&args.tree)?;
    let how = How {
        sizing: Sizing::Equal(file.tree.tree().params().clone()),
        kind: notes::key_kind(&file.notes).unwrap_or(KeyKind::Text),
        from: args.from,
    };
    let (mut added, mut overfull) = (Vec::new(), 0);
    let duplicate = "--replace replaces it, and --name gives the new one another name";
    let read = sets::read(&sources, &how, duplicate, |name, filter| {
        let nodes = match file.tree.insert(name.clone(), &filter) {
            Err(Error::DuplicateSet { .. }) if args.replace => file.tree.replace(&name, &filter),
            inserted => inserted,
        }?;
        overfull += u64::from(is_overfull(&filter));
        added.push((name, nodes));
        Ok(())
    })?;
    file.save()?;
    let mut output = Output::new();
    for (name, nodes) in &added {
        if args.json {
            let mut line = json!({ "added": output::json_bytes(name) });
            if args.costs {
                line["nodes_accessed"] = json!(nodes);
            }
            output.json_line(&line)?;
        } else {
            let cost = cost(*nodes, args.costs);
            output.bytes(&[b"added ", name, cost.as_bytes(), b"\n"])?;
        }
    }
    output.finish()?;
    if overfull > 0 {
        complain(format_args!(
            "{} more keys than the filters of this tree were sized for, so expect many false positives; `bloofi widen` makes the filters larger",
            sets_have(overfull)
        ));
    }
    Ok(Outcome::of(found && read))
}

pub(crate) fn remove(args: Remove) -> Result<Outcome> {
    let mut file = Changing::open(&args.tree)?;
    let mut complete = true;
    let mut removed = Vec::new();
    for name in args.sets {
        let name = name.into_vec();
        match file.tree.remove(&name) {
            Ok(nodes) => removed.push((name, nodes)),
            Err(error) => {
                let way_out = open::LIST_LEAVES;
                complain(format_args!("{}: {error}{way_out}", args.tree.display()));
                complete = false;
            }
        }
    }
    file.save()?;
    let mut output = Output::new();
    if args.json {
        let names = removed.iter().map(|(name, _)| output::json_bytes(name));
        let mut answer = json!({ "removed": names.collect::<Vec<_>>() });
        if args.costs {
            let nodes = removed.iter().map(|(_, nodes)| nodes);
            answer["nodes_accessed"] = json!(nodes.collect::<Vec<_>>());
        }
        output.json(&answer)?;
    } else {
        for (name, nodes) in &removed {
            let cost = cost(*nodes, args.costs);
            output.bytes(&[b"removed ", name, cost.as_bytes(), b"\n"])?;
        }
    }
    output.finish()?;
    Ok(Outcome::of(complete))
}

pub(crate) fn update(args: Update) -> Result<Outcome> {
    let update = &args.update;
    update.check()?;
    let mut file = Changing::open(&args.tree)?;
    let kind = notes::key_kind(&file.notes).unwrap_or(KeyKind::Text);
    let mut name = update.set.clone().into_vec();
    // Fail before any file is read.
    if let Err(error) = file.tree.filter(&name) {
        let way_out = open::LIST_LEAVES;
        bail!("{}: {error}{way_out}", args.tree.display());
    }
    let mut more = Filter::new(file.tree.tree().params().clone())?;
    let mut count = 0;
    update.keys.each(None, |lines| {
        count += lines.len() as u64;
        for line in lines {
            more.insert(&kind.key(line)?);
        }
        Ok(())
    })?;
    if let Some(filter) = &update.filter {
        more.union_with(&MappedFilter::map(filter)?)?;
    }
    let nodes = match !update.keys.is_empty() || update.filter.is_some() {
        true => file.tree.update(&name, &more)?,
        false => 0,
    };
    let fill = file.tree.filter(&name)?.fill();
    let old = name.clone();
    if let Some(new) = &update.rename {
        name = new.clone().into_vec();
        file.tree.rename(&old, name.clone())?;
    }
    file.save()?;
    let costs = args
        .costs
        .then(|| ("nodes_accessed".to_owned(), json!(nodes)));
    let more = (cost(nodes, args.costs), costs.into_iter().collect());
    update.report((&old, &name), count, more)?;
    if fill > OVERFULL {
        complain(format_args!(
            "{} now has more keys than its filter was sized for, so expect many false positives; \
             `bloofi widen` makes the filters larger",
            String::from_utf8_lossy(&name)
        ));
    }
    Ok(Outcome::Yes)
}
