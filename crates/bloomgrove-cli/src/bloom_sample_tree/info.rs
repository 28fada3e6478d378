//! `bloomgrove bloom-sample-tree info`.

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove_trees::bloom_sample_tree::BloomSampleTree;
use serde_json::{Value, json};

use crate::shared::output::Output;
use crate::shared::{Outcome, units};

/// Show a BloomSampleTree's names and shape, and the parameters of its filters.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove bloom-sample-tree info users.bst.grove")]
pub(crate) struct Args {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let tree = BloomSampleTree::load(&args.tree)?;
    let mut output = Output::new();
    if args.json {
        let mut facts = json(&tree);
        facts["file"] = json!(args.tree.to_string_lossy());
        output.json(&facts)?;
    } else {
        let on_disk = std::fs::metadata(&args.tree).map_or(0, |about| about.len());
        let range = tree.names();
        output.facts(&[
            ("file", args.tree.display().to_string()),
            ("on disk", units::size(on_disk)),
            ("kind", kind(&tree).to_owned()),
            ("namespace", format!("{}..{}", range.start, range.end)),
            ("names", units::grouped(tree.len())),
            ("filters", tree.params().to_string()),
            ("depth", tree.depth().to_string()),
            ("nodes", units::grouped(tree.nodes())),
            (
                "leaf",
                format!(
                    "{} of the namespace",
                    units::counted(tree.leaf_size(), "name")
                ),
            ),
            ("memory", units::size(tree.bytes())),
        ])?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

fn kind(tree: &BloomSampleTree) -> &'static str {
    match tree.is_pruned() {
        true => "pruned",
        false => "complete",
    }
}

/// A tree in one line.
pub(super) fn line(tree: &BloomSampleTree) -> String {
    format!(
        "{} tree of {}, {}, {} below the root, {}",
        kind(tree),
        units::counted(tree.len(), "name"),
        units::counted(tree.nodes(), "node"),
        units::counted(tree.depth().into(), "level"),
        units::size(tree.bytes()),
    )
}

pub(super) fn json(tree: &BloomSampleTree) -> Value {
    json!({
        "kind": kind(tree), "start": tree.names().start, "end": tree.names().end,
        "names": tree.len(), "depth": tree.depth(), "nodes": tree.nodes(),
        "leaf_size": tree.leaf_size(), "bytes": tree.bytes(),
        "filter_bytes": tree.filter_bytes(), "name_bytes": tree.name_bytes(),
        "bits": tree.params().bits(), "hashes": tree.params().hashes(),
    })
}
