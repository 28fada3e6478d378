//! `bloomgrove bloofi info`.

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove::format::Notes;
use bloomgrove_trees::bloofi::NamedBloofi;
use serde_json::{Value, json};

use crate::shared::output::{self, Output};
use crate::shared::{Outcome, notes, units};

/// Show a Bloofi tree's sets, shape, options, and the fill of its root.
///
/// A saturated root, with every bit set, rules out no query. `bloofi widen` gives all sets larger
/// filters.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove bloofi info sites.bloofi.grove --sets")]
pub(crate) struct Args {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// List the sets instead, in the order of the leaves
    #[arg(long)]
    sets: bool,
    /// Print JSON; with --sets, one object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let tree = NamedBloofi::load(&args.tree)?;
    let notes = Notes::of_file(&args.tree)?;
    let mut output = Output::new();
    if args.sets {
        for name in tree.names() {
            if args.json {
                let ones = tree.filter(name)?.count_ones();
                let fill = tree.tree().params().fill(ones);
                output.json_line(&json!({ "name": output::json_bytes(name), "fill": fill }))?;
            } else {
                output.bytes(&[name, b"\n"])?;
            }
        }
    } else if args.json {
        let mut facts = json(&tree);
        facts["file"] = json!(args.tree.to_string_lossy());
        facts["notes"] = notes::json(&notes);
        output.json(&facts)?;
    } else {
        let on_disk = std::fs::metadata(&args.tree).map_or(0, |about| about.len());
        let (bloofi, options) = (tree.tree(), tree.tree().options());
        let saturated = match bloofi.is_saturated() {
            true => ", saturated: it rules out no query",
            false => "",
        };
        let mut facts = vec![
            ("file", args.tree.display().to_string()),
            ("on disk", units::size(on_disk)),
            ("sets", units::grouped(bloofi.len() as u64)),
            ("filters", bloofi.params().to_string()),
            ("nodes", units::grouped(bloofi.node_count() as u64)),
            ("height", bloofi.height().to_string()),
            ("memory", units::size(bloofi.bytes())),
            (
                "fill of the root",
                format!("{}{saturated}", units::percent(root_fill(&tree))),
            ),
            ("order", options.order.to_string()),
            ("metric", options.metric.name().to_owned()),
            (
                "full nodes",
                match options.split_full {
                    true => "split".to_owned(),
                    false => "not split".to_owned(),
                },
            ),
        ];
        facts.extend(notes::facts(&notes));
        output.facts(&facts)?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// A tree in one line.
pub(super) fn line(tree: &NamedBloofi) -> String {
    let tree = tree.tree();
    format!(
        "{}, {}, height {}, {}",
        units::counted(tree.len() as u64, "set"),
        units::counted(tree.node_count() as u64, "node"),
        tree.height(),
        units::size(tree.bytes()),
    )
}

pub(super) fn json(tree: &NamedBloofi) -> Value {
    let (bloofi, options) = (tree.tree(), tree.tree().options());
    json!({
        "sets": bloofi.len(), "nodes": bloofi.node_count(), "height": bloofi.height(),
        "bytes": bloofi.bytes(),
        "bits": bloofi.params().bits(), "hashes": bloofi.params().hashes(),
        "root_fill": root_fill(tree), "saturated": bloofi.is_saturated(),
        "order": options.order, "metric": options.metric.name(), "split_full": options.split_full,
    })
}

fn root_fill(tree: &NamedBloofi) -> f64 {
    tree.tree().root().map_or(0.0, |root| root.fill())
}
