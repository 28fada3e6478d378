//! `bloomgrove bloom-tree compress` and `expand`: trees as messages.

use std::path::{Path, PathBuf};

use anyhow::Result;
use bloomgrove::format::Notes;
use bloomgrove::raw::codec::Kind;
use bloomgrove_trees::bloom_tree::{BloomTree, Coding};
use serde_json::{Value, json};

use super::{expand as read, info, open};
use crate::shared::message_file::ExpandArgs;
use crate::shared::output::{self, Output};
use crate::shared::{Outcome, message_file, units};

/// Compress a tree for sending.
///
/// `bloom-tree check`, `info`, `intersect` and `union` also read compressed trees.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove bloom-tree compress users.grove -o users.tree")]
pub(crate) struct CompressArgs {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// The message to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How to code the bits: context uses the filters above each filter, levels codes all bits of a
    /// level together, as in the paper
    #[arg(long, value_enum, default_value = "context")]
    coding: CodingArg,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum CodingArg {
    Context,
    Levels,
}

pub(crate) fn compress(args: CompressArgs) -> Result<Outcome> {
    // The message gets a valid checksum, so the tree must be undamaged.
    let opened = open(&args.tree, true, u64::MAX)?;
    let coding = match args.coding {
        CodingArg::Context => Coding::Context,
        CodingArg::Levels => Coding::Levels,
    };
    let tree = &opened.tree;
    let bytes = save(tree, &opened.notes, coding, &args.output)?;
    if message_file::is_stream(&args.output) {
        return Ok(Outcome::Yes);
    }
    let before = tree.shape().words() as u64 * 8;
    let items = tree.estimated_items();
    let per_item = items
        .is_finite()
        .then(|| bytes as f64 * 8.0 / items.max(1.0));
    let mut output = Output::new();
    if args.json {
        output.json(&json!({
            "file": args.output.to_string_lossy(),
            "coding": coding.name(),
            "bytes_before": before,
            "bytes": bytes,
            "share": bytes as f64 / before as f64,
            "bits_per_item": per_item,
        }))?;
    } else {
        let per_item =
            per_item.map_or_else(String::new, |bits| format!(", {bits:.2} bits per key"));
        output.line(format_args!(
            "{}: {} (from {}, {}){per_item}",
            args.output.display(),
            units::size(bytes),
            units::size(before),
            units::percent(bytes as f64 / before as f64),
        ))?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

pub(crate) fn expand(args: ExpandArgs) -> Result<Outcome> {
    let (tree, notes) = read(&args.message, args.memory)?;
    tree.save_with(&args.output, &notes)?;
    let size = tree.shape().words() as u64 * 8;
    let facts = args.json.then(|| json!({ "bytes": size }));
    output::summary(&args.output, facts, || units::size(size))?;
    Ok(Outcome::Yes)
}

/// A tree just written, as it is or compressed.
pub(super) struct Written<'t> {
    tree: &'t BloomTree,
    /// The size of the message, if it is compressed.
    message: Option<u64>,
}

impl<'t> Written<'t> {
    pub(super) fn save(
        tree: &'t BloomTree,
        notes: &Notes,
        path: &Path,
        compressed: bool,
    ) -> Result<Self> {
        let message = match compressed {
            true => Some(save(tree, notes, Coding::default(), path)?),
            false => tree.save_with(path, notes).map(|()| None)?,
        };
        Ok(Self { tree, message })
    }

    /// The facts of the tree, and how many keys or items it has under which name.
    pub(super) fn json(&self, name: &str, count: Value) -> Result<Value> {
        let mut facts = info::json(self.tree, 0)?;
        facts["estimated_items"] = count.clone();
        facts[name] = count;
        facts["message_bytes"] = json!(self.message);
        Ok(facts)
    }

    /// Its size and rate.
    pub(super) fn line(&self) -> String {
        let size = match self.message {
            Some(bytes) => format!("{} compressed", units::size(bytes)),
            None => units::size(self.tree.shape().words() as u64 * 8),
        };
        let rate = units::percent(self.tree.expected_fpr());
        format!("{size}, false-positive rate {rate}")
    }
}

/// Writes a tree as a message, and returns its size in bytes.
fn save<S: AsRef<[u64]> + Sync>(
    tree: &BloomTree<S>,
    notes: &Notes,
    coding: Coding,
    path: &Path,
) -> Result<u64> {
    message_file::write(path, Kind::Tree, "compressing", |out| {
        tree.compress_with(coding, notes, out)
    })
}
