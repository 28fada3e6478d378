//! `bloomgrove bloom-sample-tree add`: adds names that have come into use.

use std::path::PathBuf;

use anyhow::{Result, bail};
use bloomgrove::raw::format::lock_to_replace;
use bloomgrove_trees::bloom_sample_tree::BloomSampleTree;
use serde_json::json;

use super::{info, names};
use crate::shared::keys::KeysArgs;
use crate::shared::output;
use crate::shared::{Outcome, open, units};

/// Add names to a pruned BloomSampleTree.
///
/// Names that the tree already has are skipped. All names are added together: if one is outside the
/// namespace of the tree, none is added.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove bloom-sample-tree add ids.bst.grove 4711 4712\n  \
    bloomgrove bloom-sample-tree add ids.bst.grove --names-from new.txt")]
pub(crate) struct Args {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// Names
    #[arg(value_name = "NAME", value_parser = units::count)]
    names: Vec<u64>,
    /// More names, one per line or from a column; - is standard input
    #[arg(long, value_name = "FILE")]
    names_from: Vec<PathBuf>,
    #[command(flatten)]
    from: KeysArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    if args.names.is_empty() && args.names_from.is_empty() {
        bail!("no name given; pass names, or a file of names with --names-from");
    }
    let _lock = open::patiently(|| lock_to_replace(&args.tree))?;
    let mut tree = BloomSampleTree::load(&args.tree)?;
    if !tree.is_pruned() {
        bail!(
            "{}: a complete tree already has every name of its range; to add names over time, \
             build a tree from a list of names, with --within",
            args.tree.display()
        );
    }
    let mut added = 0;
    let mut add = |names: &[u64]| -> Result<()> {
        for &name in names {
            added += u64::from(tree.insert(name)?);
        }
        Ok(())
    };
    add(&args.names)?;
    for file in &args.names_from {
        add(&names::list(file, &args.from)?)?;
    }
    tree.save(&args.tree)?;
    let facts = args.json.then(|| {
        let mut facts = info::json(&tree);
        facts["added"] = json!(added);
        facts
    });
    output::summary(&args.tree, facts, || {
        let names = units::counted(added, "new name");
        format!("{names} added, now a {}", info::line(&tree))
    })?;
    Ok(Outcome::Yes)
}
