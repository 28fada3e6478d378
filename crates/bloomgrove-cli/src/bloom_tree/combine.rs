//! `bloomgrove bloom-tree intersect` and `union`: combines trees.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bloomgrove::Error;
use bloomgrove::format::Notes;
use bloomgrove_trees::bloom_tree::BloomTree;

use super::wire::Written;
use super::{Bits, open};
use crate::shared::output;
use crate::shared::units::{self, Items};
use crate::shared::{Outcome, interrupt, notes};

/// Combine trees that were built with the same levels, hashes, family and seed. They may be compressed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Trees, two or more
    #[arg(required = true, num_args = 2.., value_name = "TREE")]
    trees: Vec<PathBuf>,
    /// The tree to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Compress the tree, for sending
    #[arg(long)]
    compressed: bool,
    /// The maximum memory that a compressed tree may take when expanded
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = units::bytes)]
    memory: u64,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn union(args: Args) -> Result<Outcome> {
    let (tree, notes) = combine(&args, |tree, other| tree.union_with(other))?;
    let items = Items::Of(tree.estimated_items());
    write(&args, &tree, &notes, items)
}

/// An intersection accepts a key exactly if all trees do, so the only gain is a single tree.
pub(crate) fn intersect(args: Args) -> Result<Outcome> {
    // Bits that two trees share by chance look like keys, so the common keys are estimated from the
    // union, before the intersection.
    let mut common = Vec::new();
    let (mut tree, notes) = combine(&args, |tree, other| {
        let sum = tree.estimated_items() + other.estimated_items();
        let mut union = tree.to_owned()?;
        union.union_with(other)?;
        common.push(sum - union.estimated_items());
        tree.intersect_with(other)
    })?;
    tree.prune();
    let items = match common[..] {
        [of_two] if of_two.is_finite() => Items::Common(of_two.max(0.0)),
        _ => Items::CommonAtMost(tree.estimated_items()),
    };
    let notes = notes::of_intersection(notes, args.trees.len(), items);
    write(&args, &tree, &notes, items)
}

/// All trees combined into the first by `with`, and the notes of the result.
fn combine(
    args: &Args,
    mut with: impl FnMut(&mut BloomTree, &BloomTree<Bits>) -> Result<(), Error>,
) -> Result<(BloomTree, Notes)> {
    let (first, rest) = args.trees.split_first().context("no trees")?;
    // The result gets a valid checksum, so the inputs must be undamaged.
    let opened = open(first, true, args.memory)?;
    let mut tree = opened.tree.to_owned()?;
    let keys = opened.notes.get(notes::KEYS).map(str::to_owned);
    for path in rest {
        interrupt::check()?;
        let other = open(path, true, args.memory)?;
        let (one, two) = (keys.as_deref(), other.notes.get(notes::KEYS));
        // A tree made by the library does not record the kind of its keys; it is assumed to match.
        if let (Some(one), Some(two)) = (one, two)
            && one != two
        {
            bail!(
                "{} contains {one} keys, but {} contains {two} keys; they cannot be combined",
                first.display(),
                path.display(),
            );
        }
        with(&mut tree, &other.tree)
            .with_context(|| format!("{} and {}", first.display(), path.display()))?;
    }
    let notes = keys
        .iter()
        .fold(Notes::new(), |notes, keys| notes.with(notes::KEYS, keys));
    Ok((tree, notes))
}

fn write(args: &Args, tree: &BloomTree, notes: &Notes, items: Items) -> Result<Outcome> {
    let written = Written::save(tree, notes, &args.output, args.compressed)?;
    let (name, value) = items.json();
    let facts = args.json.then(|| written.json(name, value));
    output::summary(&args.output, facts.transpose()?, || {
        format!("{items}, {}", written.line())
    })?;
    Ok(Outcome::Yes)
}
