//! `bloomgrove bloom-tree ...`: one set as a BloomTree.

mod build;
mod check;
mod combine;
mod info;
mod wire;

use std::path::Path;

use anyhow::Result;
use bloomgrove::format::Notes;
use bloomgrove::raw::codec::Kind;
use bloomgrove_trees::bloom_tree::{BloomTree, MappedBloomTree};
use clap::Subcommand;

use crate::shared::message_file::{self, ExpandArgs};
use crate::shared::{Outcome, open};

#[derive(Subcommand)]
pub(crate) enum Verb {
    Build(build::Args),
    Check(check::Args),
    Info(info::Args),
    /// Write the intersection of trees: the keys that all of them contain
    #[command(
        after_help = "Example:\n  bloomgrove bloom-tree intersect north.grove south.tree -o both.grove"
    )]
    Intersect(combine::Args),
    /// Write the union of trees: all keys of all of them
    #[command(
        after_help = "Example:\n  bloomgrove bloom-tree union north.grove south.grove -o all.grove"
    )]
    Union(combine::Args),
    Compress(wire::CompressArgs),
    /// Decompress a tree into a .grove file
    #[command(after_help = "Example:\n  bloomgrove bloom-tree expand users.tree -o users.grove")]
    Expand(ExpandArgs),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Build(args) => build::run(args),
        Verb::Check(args) => check::run(args),
        Verb::Info(args) => info::run(args),
        Verb::Intersect(args) => combine::intersect(args),
        Verb::Union(args) => combine::union(args),
        Verb::Compress(args) => wire::compress(args),
        Verb::Expand(args) => wire::expand(args),
    }
}

/// The words of a tree, wherever they are.
pub(crate) struct Bits(Box<dyn AsRef<[u64]> + Send + Sync>);

impl AsRef<[u64]> for Bits {
    fn as_ref(&self) -> &[u64] {
        (*self.0).as_ref()
    }
}

/// A tree from a file: mapped from a .grove file, or expanded from a message.
pub(crate) struct Opened {
    pub(crate) tree: BloomTree<Bits>,
    pub(crate) notes: Notes,
    /// The bytes of the message, if it was one.
    pub(crate) message: Option<u64>,
}

/// Opens a tree, and checks all checksums if the file is small or `verify` is set. A compressed tree
/// is expanded, and must fit into `limit` bytes.
pub(crate) fn open(path: &Path, verify: bool, limit: u64) -> Result<Opened> {
    let size = std::fs::metadata(path).map_or(0, |about| about.len());
    if message_file::is_stream(path) || message_file::kind_of(path)?.is_some() {
        let (tree, notes) = expand(path, limit)?;
        let (shape, words) = tree.into_parts();
        return Ok(Opened {
            tree: BloomTree::from_words(shape, Bits(Box::new(words)))?,
            notes,
            message: Some(size),
        });
    }
    open::check(path, verify)?;
    let (shape, words) = MappedBloomTree::map(path)?.into_parts();
    Ok(Opened {
        tree: BloomTree::from_words(shape, Bits(Box::new(words)))?,
        notes: Notes::of_file(path)?,
        message: None,
    })
}

fn expand(path: &Path, limit: u64) -> Result<(BloomTree, Notes)> {
    message_file::read(path, Kind::Tree, "expanding", |input| {
        BloomTree::expand_within(input, limit)
    })
}
