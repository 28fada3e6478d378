//! `bloomgrove bloom-tree check`: is this key in?

use std::path::PathBuf;

use anyhow::Result;

use super::open;
use crate::shared::keys::KeyKind;
use crate::shared::questions::Questions;
use crate::shared::{Outcome, notes, units};

/// Ask a tree for keys
///
/// Prints each key and "maybe" or "no". A no is certain; a maybe is wrong at the tree's
/// expected rate, which `bloom-tree info` tells. The tree may be compressed. Exit code 0 if any
/// may be in, 1 if none is.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove bloom-tree check users.tree ada grace")]
pub(crate) struct Args {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    #[command(flatten)]
    questions: Questions,
    /// Check every checksum first, as is always done up to 64 MB
    #[arg(long)]
    verify: bool,
    /// The most memory that a compressed tree may take when it is expanded
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = units::bytes)]
    memory: u64,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    args.questions.check()?;
    let opened = open(&args.tree, args.verify, args.memory)?;
    let kind = notes::key_kind(&opened.notes).unwrap_or(KeyKind::Text);
    args.questions
        .ask(kind, |keys| opened.tree.contains_batch(keys))
}
